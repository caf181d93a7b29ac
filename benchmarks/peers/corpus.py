"""The text that every side trains on, in the forms that they read: one SentencePiece BPE model, and the text cut by it.

Headway reads the raw text and learns a BPE of the same size from it by itself; all others get these files.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import sentencepiece

SOURCE, TARGET = "en", "de"
PIECES = 8000
PAD, UNK, BOS, EOS = range(4)  # the first of the 8,000; every toolkit puts specials of its own in their place
HELD_OUT = 8  # sentences that Headway validates and tests on: it cannot do without, and it is not what is measured


@dataclass(frozen=True)
class Corpus:
    raw: Path  # train.en, train.de, val.en, val.de as given
    cut: Path  # the same cut into pieces with a space between, the vocabulary in each toolkit's form, bpe.model, few.en, few.de


def prepare_corpus(raw: Path, cut: Path) -> Corpus:
    """Learn the model from both sides of the training text, cut the text, write the vocabularies."""
    cut.mkdir(parents=True)
    text = [line for language in (SOURCE, TARGET) for line in read_lines(raw / f"train.{language}")]
    learned = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text),
        model_writer=learned,
        model_type="bpe",
        vocab_size=PIECES,
        character_coverage=1.0,
        pad_id=PAD,
        unk_id=UNK,
        bos_id=BOS,
        eos_id=EOS,
        minloglevel=2,
    )
    (cut / "bpe.model").write_bytes(learned.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_proto=learned.getvalue())
    for language in (SOURCE, TARGET):
        for part in ("train", "val"):
            pieces = processor.encode(read_lines(raw / f"{part}.{language}"), out_type=str)
            write_lines(cut / f"{part}.{language}", [" ".join(sentence) for sentence in pieces])
        write_lines(cut / f"few.{language}", read_lines(raw / f"val.{language}")[:HELD_OUT])
    _write_vocabularies(cut, [processor.id_to_piece(i) for i in range(EOS + 1, len(processor))])
    return Corpus(raw, cut)


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_vocabularies(directory: Path, pieces: list[str]) -> None:
    write_lines(directory / "joeynmt.vocab", pieces)
    write_lines(directory / "eole.vocab", [f"{piece}\t1" for piece in pieces])
    quoted = [piece.replace("\\", "\\\\").replace('"', '\\"') for piece in ("</s>", "<unk>", *pieces)]
    write_lines(directory / "marian.yml", [f'"{piece}": {number}' for number, piece in enumerate(quoted)])
