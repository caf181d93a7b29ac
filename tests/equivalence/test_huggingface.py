"""Models of transformers, imported, compute what they compute there; exported again, they are the same files.

The shapes are odd and the weights large (`published.py`), so that a wrong order, a lost bias or another formula shows.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from published import BERT, GPT, MARIAN, T5, TEXT_CLASSES, VIT, Writer
from safetensors.torch import load_file
from torch import Tensor

from headway.bundle import Bundle, read_bundle
from headway.decoding.options import Options
from headway.decoding.ranking import rank
from headway.decoding.rules import Rules
from headway.decoding.search import beam_search
from headway.export.huggingface import find_largest_difference, write_huggingface
from headway.imports.huggingface import import_huggingface
from headway.imports.tokenizers import write_tokenizer
from headway.models.encoder_decoder import EncoderDecoder
from headway.nn.cache import DecoderCache

pytest.importorskip("transformers")

ALL = MARIAN | T5 | BERT | TEXT_CLASSES | GPT | VIT


@dataclass(frozen=True)
class Pair:
    """A model of theirs, and the bundle that it became."""

    theirs: Any
    directory: Path
    bundle: Bundle
    ours: Any


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Pair]:
    """Of a name, once."""
    made: dict[str, Pair] = {}

    def get(name: str) -> Pair:
        if name not in made:
            place = tmp_path_factory.mktemp("published")
            write: Writer = ALL[name]
            theirs = write(place / "theirs")
            import_huggingface(place / "theirs", place / "ours")
            bundle = read_bundle(place / "ours")
            made[name] = Pair(theirs, place / "theirs", bundle, bundle.build_model())
        return made[name]

    return get


@pytest.fixture(autouse=True)
def without_gradients() -> Any:
    with torch.inference_mode():
        yield


def draw(size: int, *lengths: int, pad: int, seed: int = 3) -> Tensor:
    """Rows of ids from 3 on, filled up with pad."""
    generator = torch.Generator().manual_seed(seed)
    rows = [torch.randint(3, size, (length,), generator=generator) for length in lengths]
    rows = [torch.where(row == pad, 4, row) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)


def assert_close(ours: Tensor, theirs: Tensor) -> None:
    assert ours.shape == theirs.shape
    assert 0.5 < float(theirs.std()) < 20  # clear, and not so large that rounding shows
    assert float((ours - theirs).abs().max()) < 1e-4


LENGTHS = {"short": ((7, 1, 4), (5, 3, 6)), "long": ((300, 40), (2, 280))}


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("name", MARIAN | T5)
def test_translators(name: str, lengths: str, make: Callable[[str], Pair]) -> None:
    pair = make(name)
    config, (read, written) = pair.theirs.config, LENGTHS[lengths]
    pad, begin = config.pad_token_id, config.decoder_start_token_id
    source = draw(config.vocab_size, *read, pad=pad)
    target = draw(getattr(config, "decoder_vocab_size", config.vocab_size), *written, pad=pad, seed=4)
    given = torch.cat([torch.full_like(target[:, :1], begin), target[:, :-1]], dim=1)
    labels = target.masked_fill(target == pad, -100)
    theirs = pair.theirs(
        input_ids=source, attention_mask=(source != pad).long(), decoder_input_ids=given, labels=labels, use_cache=False
    )
    ours = pair.ours(source, given)
    assert_close(ours, theirs.logits)
    loss = F.cross_entropy(ours.flatten(0, 1), labels.flatten(), ignore_index=-100)
    assert float(loss) == pytest.approx(float(theirs.loss), abs=1e-5)

    cache, steps = pair.ours.start(source), []
    for column in given.T:
        x, cache = pair.ours.decode(column[:, None], cache)
        steps.append(pair.ours.output.logits(x))
    assert_close(torch.cat(steps, dim=1), theirs.logits)


@dataclass(frozen=True)
class State:
    cache: DecoderCache

    def select(self, rows: Tensor, sentences: Tensor | None) -> "State":
        return State(self.cache.select(rows, sentences))


def search(model: EncoderDecoder, source: Tensor, never: list[int], eos: int, bos: int, ends: float, options: Options) -> Any:
    def step(tokens: Tensor, state: State) -> tuple[Tensor, State]:
        x, cache = model.decode(tokens[:, None], state.cache)
        logits = model.output.logits(x[:, 0])
        logits[:, never] = -torch.inf
        logits[:, eos] += ends
        return logits.log_softmax(dim=-1), State(cache)

    limits = torch.full((len(source),), 60)
    rules = Rules.of(options, eos)
    found = beam_search(step, State(model.start(source)), bos=bos, eos=eos, limits=limits, options=options, rules=rules)
    if options.beam == 1:
        return [one.tokens for (one,) in found]
    ended = [all(one.log_probability is not None for one in some) for some in found]
    return [
        rank(some, alpha=options.alpha, penalty=options.penalty)[0].tokens if all_ended else None
        for some, all_ended in zip(found, ended, strict=True)
    ]


# Added to the end's logit, so that outputs are neither empty nor endless.
ENDS = dict(zip(MARIAN | T5, [4.5, 6.0, 4.0, 2.0, 1.0, 2.0], strict=True))


@pytest.mark.parametrize(("beam", "alpha"), [(1, 1.0), (2, 0.0), (5, 0.6)])
@pytest.mark.parametrize("name", MARIAN | T5)
def test_searches_find_the_same(name: str, beam: int, alpha: float, make: Callable[[str], Pair]) -> None:
    """Both searches are one under these settings: `early_stopping`, which ends a sentence when as many hypotheses have ended
    as the beam is wide (patience 1); n^alpha (the power penalty); marks as bad words, of which the others take over the
    probability (`renormalize_logits`: ours are ruled out before the softmax).

    No two pieces come twice, and ends are made likelier, so that there is something to compare. Where a hypothesis is cut off
    at the limit, theirs is ranked without its end and ours with it: these sentences are left out.
    """
    pair = make(name)
    config = pair.theirs.config
    pad, eos, bos = config.pad_token_id, config.eos_token_id, config.decoder_start_token_id
    source, ends = draw(config.vocab_size, *range(1, 13), pad=pad), ENDS[name]
    never = sorted({pad, pair.bundle.tokenizers.target.unk})
    written = pair.theirs.generate(
        input_ids=source,
        attention_mask=(source != pad).long(),
        num_beams=beam,
        early_stopping=beam > 1,
        length_penalty=alpha,
        max_new_tokens=60,
        do_sample=False,
        no_repeat_ngram_size=2,
        bad_words_ids=[[mark] for mark in never],
        sequence_bias=[[[eos], ends]],
        renormalize_logits=True,
        use_cache=config.model_type
        != "t5",  # transformers 5.22 loses count of T5's decoder layers if they outnumber the encoder's
    )
    theirs = [row[1 : row.index(eos) if eos in row else None] for row in written.tolist()]
    options = Options(beam=beam, penalty="power", alpha=alpha, patience=1.0, no_repeat_ngram=2)
    ours = search(pair.ours, source, never, eos, bos, ends, options)
    assert [one for one in ours if one is not None] == [one for one, own in zip(theirs, ours, strict=True) if own is not None]
    assert len({tuple(one) for one in ours if one}) > 3


@pytest.mark.parametrize("name", BERT | TEXT_CLASSES)
def test_readers_of_both_directions(name: str, make: Callable[[str], Pair]) -> None:
    pair = make(name)
    config = pair.theirs.config
    tokens = draw(config.vocab_size, 19, 3, 8, 1, pad=0)
    segments = draw(config.type_vocab_size + 3, *(19,) * 4, pad=0) - 3
    theirs = pair.theirs(input_ids=tokens, attention_mask=(tokens != 0).long(), token_type_ids=segments).logits
    ours = pair.ours(tokens, segments)
    if pair.ours.architecture.classes:
        assert_close(ours[:, 0], theirs)
        assert pair.bundle.tokenizers.target.size == config.num_labels
        return
    assert_close(ours[tokens != 0], theirs[tokens != 0])
    theirs = pair.theirs(input_ids=tokens, attention_mask=(tokens != 0).long()).logits
    assert_close(pair.ours(tokens)[tokens != 0], theirs[tokens != 0])


@pytest.mark.parametrize("name", GPT)
def test_writers(name: str, make: Callable[[str], Pair]) -> None:
    pair = make(name)
    tokens = draw(258, 33, 33, pad=-1)
    theirs = pair.theirs(input_ids=tokens, labels=tokens)
    ours = pair.ours(tokens)
    assert_close(ours, theirs.logits)
    loss = F.cross_entropy(ours[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    assert float(loss) == pytest.approx(float(theirs.loss), abs=1e-5)

    prompt = tokens[:, :5]
    wanted = pair.theirs.generate(
        prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=28, eos_token_id=None, pad_token_id=258
    )
    cache, column, written = pair.ours.start(), prompt, [prompt]
    for _ in range(28):
        x, cache = pair.ours.decode(column, cache)
        column = pair.ours.output.logits(x[:, -1:]).argmax(dim=-1)
        written.append(column)
    assert torch.equal(torch.cat(written, dim=1), wanted)
    assert len(set(wanted[0, 5:].tolist())) > 2


@pytest.mark.parametrize("name", VIT)
def test_viewers(name: str, make: Callable[[str], Pair]) -> None:
    pair = make(name)
    config = pair.theirs.config
    pixels = torch.randn(5, config.num_channels, config.image_size, config.image_size)
    assert_close(pair.ours(pixels)[:, 0], pair.theirs(pixels).logits)
    mean = [0.1 * channel + 0.4 for channel in range(config.num_channels)]
    pictures = pair.bundle.manifest.pictures
    assert pictures and pictures.mean == mean and pictures.deviation == mean[::-1]


@pytest.mark.parametrize("name", ALL)
def test_the_way_back_is_the_same_file(name: str, make: Callable[[str], Pair], tmp_path: Path) -> None:
    pair = make(name)
    config = write_huggingface(pair.bundle, tmp_path)
    if config["model_type"] != "vit":
        write_tokenizer(pair.bundle.tokenizers, tmp_path, config)
    before, after = load_file(pair.directory / "model.safetensors"), load_file(tmp_path / "model.safetensors")
    again = {"lm_head.weight"} if name == "t5, not scaled" else set()  # with us such a model has two matrices, here alike
    assert after.keys() - before.keys() == again and not before.keys() - after.keys()
    assert [name for name, tensor in before.items() if not torch.equal(tensor, after[name])] == []
    loaded, found = type(pair.theirs).from_pretrained(tmp_path, output_loading_info=True)
    assert not any(found.values()), found
    state = pair.theirs.state_dict()
    assert loaded.state_dict().keys() == state.keys()
    different = [name for name, tensor in loaded.state_dict().items() if not torch.equal(tensor, state[name])]
    assert [name for name in different if "embed_positions" not in name] == []  # the class's own table; ours has more rows
    told, tells = (json.loads((place / "config.json").read_text()) for place in (pair.directory, tmp_path))
    shape = pair.bundle.manifest.architecture
    import_huggingface(tmp_path, tmp_path / "again", source_language="eng", target_language="deu")
    assert read_bundle(tmp_path / "again").manifest.architecture == shape.model_copy(
        update={"max_positions": 1024} if shape.kind == "transformer" else {}
    )
    same = {"vocab_size", "model_type", "architectures", "decoder_start_token_id", "hidden_act", "activation_function"}
    assert {key: told[key] for key in same & told.keys()} == {key: tells[key] for key in same & told.keys()}


@pytest.mark.parametrize("name", BERT | TEXT_CLASSES | GPT | VIT)
def test_an_export_is_compared(name: str, make: Callable[[str], Pair], tmp_path: Path) -> None:
    pair = make(name)
    write_huggingface(pair.bundle, tmp_path)
    assert find_largest_difference(pair.bundle, tmp_path) < 1e-4
    weights = load_file(tmp_path / "model.safetensors")
    key = next(name for name in weights if "mlp.c_fc.bias" in name or "intermediate.dense.bias" in name)
    from safetensors.torch import save_file

    save_file(weights | {key: weights[key] + 1}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    assert find_largest_difference(pair.bundle, tmp_path) > 1e-2
