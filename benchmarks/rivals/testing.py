"""The test part, translated by a rival exactly as Headway's translator would: the same cutting, beam and ranking."""

from dataclasses import dataclass

from rival import Rival

from headway.bundle import Lines, Provenance
from headway.config import DecodingSettings
from headway.data.prepare import Prepared
from headway.engines.choice import Engines
from headway.progress import Display
from headway.text.sentences import share_of_sentences
from headway.text.tokenizer import Tokenizers
from headway.training.run import SENTENCES
from headway.translator import Translator


@dataclass(frozen=True)
class Facts:
    """What a translator wants to know of a bundle."""

    decoding: DecodingSettings
    lines: Lines
    provenance: Provenance
    scope: None = None
    directions: tuple[()] = ()
    prefixes: tuple[()] = ()


@dataclass(frozen=True)
class RivalBundle:
    """A rival in the place of a bundle; it is not on disk in that form, since no other engine could read it."""

    model: Rival
    manifest: Facts
    tokenizers: Tokenizers

    def build_model(self) -> Rival:
        return self.model.eval()


def translate_test(model: Rival, prepared: Prepared, decoding: DecodingSettings, display: Display) -> list[str]:
    lines = Lines(
        sentences=share_of_sentences([source for source, _ in prepared.valid]) >= SENTENCES,
        longest=max(1, int(prepared.train.source_lengths.max())),
    )
    bundle = RivalBundle(model, Facts(decoding, lines, Provenance()), prepared.tokenizers)
    translator = Translator(Engines([bundle], "torch"))  # type: ignore[list-item]

    def show(done: int, total: int) -> None:
        display.update("Testing", done, total)

    found = translator.translate([source for source, _ in prepared.test], on_progress=show)
    display.close()
    return [one.text for one in found]
