"""Classifier: a BERT sorts texts, a ViT pictures. B batch, C channels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from headway.bundle import Bundle, read_bundle
from headway.data.images import read_picture
from headway.errors import BundleError, RequestError
from headway.family.kinds import require
from headway.family.reading import PictureReading, Reading, roll_out
from headway.family.recording import check_length, check_text, read_positions, record
from headway.models.bert import Bert
from headway.models.vit import Vit
from headway.text.labels import label_pieces

BATCH_TOKENS = 2048  # padding included
BATCH_PICTURES = 32

OnProgress = Callable[[int, int], None]  # done, in all


@dataclass(frozen=True)
class Classified:
    """The likeliest labels with their probabilities, best first, as many as asked for."""

    labels: list[tuple[str, float]]
    cut: bool = False  # the text was too long, and only its beginning was read

    @property
    def label(self) -> str:
        return self.labels[0][0]

    @property
    def probability(self) -> float:
        return self.labels[0][1]


class Classifier:
    """A BERT or a ViT with classes. `reads_pictures` tells which."""

    def __init__(self, bundle: Bundle) -> None:
        require(bundle, "classify")
        model, self.directory = bundle.build_model(), bundle.directory
        assert isinstance(model, Bert | Vit)
        self.model, self.tokenizer = model, bundle.tokenizers.source
        self.labels = bundle.tokenizers.target.pieces(range(model.architecture.classes))
        self.pictures = bundle.manifest.pictures
        if self.reads_pictures and self.pictures is None:
            raise BundleError(f"{bundle.directory} does not tell how it takes pixels.", "Take a whole copy of the model.")

    @classmethod
    def load(cls, directory: str | Path) -> "Classifier":
        return cls(read_bundle(Path(directory)))

    @property
    def reads_pictures(self) -> bool:
        return isinstance(self.model, Vit)

    @property
    def longest(self) -> int:
        """The most pieces that are read of a text."""
        return self._bert().architecture.max_positions - 2

    def classify(self, texts: Sequence[str], *, top: int | None = 1, on_progress: OnProgress | None = None) -> list[Classified]:
        """One answer for each text, in order, with its `top` labels, or with all for None. What is too long is cut."""
        if isinstance(texts, str):
            raise TypeError("texts is a list of strings; for one text give [text]")
        model = self._bert()
        rows, cut = zip(*map(self._read, self.tokenizer.encode(texts)), strict=True) if texts else ((), ())
        found: list[Classified] = [Classified([])] * len(texts)
        done = 0
        for places in _batch(rows):
            some = torch.full((len(places), len(rows[places[0]])), model.pad)
            for row, place in zip(some, places, strict=True):
                row[: len(rows[place])] = torch.tensor(rows[place])
            for place, labels in zip(places, self._answer(some, top), strict=True):
                found[place] = Classified(labels, cut[place])
            done += len(places)
            if on_progress:
                on_progress(done, len(texts))
        return found

    def classify_pictures(
        self, pictures: Sequence[str | Path | np.ndarray], *, top: int | None = 1, on_progress: OnProgress | None = None
    ) -> list[Classified]:
        """One answer for each picture, in order: files, or uint8 arrays [C, size, size]."""
        if isinstance(pictures, str | Path):
            raise TypeError("pictures is a list; for one picture give [picture]")
        self._vit()
        found: list[Classified] = []
        for start in range(0, len(pictures), BATCH_PICTURES):
            pixels = [self._look(picture) for picture in pictures[start : start + BATCH_PICTURES]]
            found += [Classified(labels) for labels in self._answer(self._scale(np.stack(pixels)), top)]
            if on_progress:
                on_progress(len(found), len(pictures))
        return found

    def inspect(self, text: str) -> Reading:
        """Where every head looks while `text` is read; the answer is its class."""
        model = self._bert()
        check_text(text)
        (pieces,) = self.tokenizer.encode([text])
        check_length(len(pieces) + 2, model.architecture.max_positions)
        tokens, _ = self._read(pieces)
        return Reading(
            pieces=label_pieces(self.tokenizer, tokens),
            answer=_name(self.classify([text])[0]),
            weights=record(model, torch.tensor([tokens])),
            forwards=False,
            positions=read_positions(model.positions),
        )

    def inspect_picture(self, picture: str | Path | np.ndarray) -> PictureReading:
        """Where every head looks in a picture to tell its class, and what that comes to layer after layer."""
        model, pixels = self._vit(), self._look(picture)
        weights = record(model, self._scale(pixels[None]))  # [L, H, 1 + patches, 1 + patches]
        side = model.architecture.image_size // model.architecture.patch_size
        rolled = roll_out(weights)[:, 0, 1:]
        return PictureReading(
            picture=pixels,
            answer=_name(self.classify_pictures([pixels])[0]),
            looks=weights[:, :, 0, 1:].reshape(*weights.shape[:2], side, side),
            rollout=(rolled / rolled.sum(axis=-1, keepdims=True)).reshape(-1, side, side),
        )

    def _bert(self) -> Bert:
        if not isinstance(self.model, Bert):
            raise RequestError(f"{self.directory} sorts pictures, not texts.", "Give it files of pictures.")
        return self.model

    def _vit(self) -> Vit:
        if not isinstance(self.model, Vit):
            raise RequestError(f"{self.directory} sorts texts, not pictures.", "Give it lines of text.")
        return self.model

    def _read(self, pieces: list[int]) -> tuple[list[int], bool]:
        """What the model reads of a text, and whether that is not all of it."""
        return [self.tokenizer.bos, *pieces[: self.longest], self.tokenizer.eos], len(pieces) > self.longest

    def _look(self, picture: str | Path | np.ndarray) -> np.ndarray:
        a = self._vit().architecture
        if not isinstance(picture, np.ndarray):
            return read_picture(Path(picture), channels=a.channels, size=a.image_size)
        wanted = (a.channels, a.image_size, a.image_size)
        if picture.shape != wanted or picture.dtype != np.uint8:
            raise RequestError(
                f"A picture is {picture.dtype} of {list(picture.shape)}; the model looks at uint8 of {list(wanted)}.",
                "Give files, or what headway.data.images.read_picture makes of them.",
            )
        return picture

    def _scale(self, pixels: np.ndarray) -> Tensor:
        """uint8 [B, C, size, size] -> what the model reads."""
        assert self.pictures is not None
        mean, deviation = (
            torch.tensor(values, dtype=torch.float32)[:, None, None] for values in (self.pictures.mean, self.pictures.deviation)
        )
        return (torch.from_numpy(pixels).float() / 255 - mean) / deviation

    @torch.inference_mode()
    def _answer(self, inputs: Tensor, top: int | None) -> list[list[tuple[str, float]]]:
        if top is not None and top < 1:
            raise RequestError(f"There are no {top} labels to tell.", "Ask for 1 or more.")
        logits = self.model(inputs.to(self.model.device))[:, 0]  # [B, classes]
        best = logits.float().softmax(dim=-1).topk(min(top or len(self.labels), len(self.labels)))
        rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [[(self.labels[n], share) for n, share in zip(*row, strict=True)] for row in rows]


def _batch(rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Places of rows of like length, longest first."""
    order = np.argsort([-len(row) for row in rows], kind="stable").tolist()
    while order:
        size = max(1, BATCH_TOKENS // len(rows[order[0]]))
        yield order[:size]
        order = order[size:]


def _name(found: Classified) -> str:
    return f"{found.label} ({found.probability:.2f})"
