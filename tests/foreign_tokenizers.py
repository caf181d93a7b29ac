"""Tokenizer files as Hugging Face has them, learned from a little text; and texts that tokenizers stumble over."""

import io
import json
from functools import cache
from pathlib import Path

import sentencepiece
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

ENGLISH = [
    "The quick brown fox jumps over the lazy dog.",
    "A dog runs through the snow; nobody knows why!",
    "Why not? She said: 'I don't know', and left at 10:45.",
    "Translate English to German: the house is wonderful.",
    "Nothing is so simple that it cannot be made harder.",
] * 8
GERMAN = [
    "Der schnelle braune Fuchs springt über den faulen Hund.",
    "Ein Hund läuft durch den Schnee; niemand weiß, warum!",
    "Warum nicht? Sie sagte: „Ich weiß es nicht“ und ging um 10.45 Uhr.",
    "Nichts ist so einfach, dass man es nicht schwerer machen könnte.",
    "Größere Häuser stehen an den Straßen von Köln.",
] * 8
TEXTS = [
    "The quick brown fox.",
    "",
    " ",
    "   two  spaces\tand a tab   ",
    "a line\nand another\r\n",
    "UPPER CASE and MiXeD",
    "Ünïcödé, Straße, ﬁne ½ Å e\u0301 é",
    "日本語 and 中文, русский, العربية, हिन्दी",
    "emoji 👩‍👩‍👧 🎉🎉 \U0001f1e9\U0001f1ea",
    "zero\u200bwidth\u00a0space\u3000wide",
    "Why not? don't can't I'll we've 10:45",
    "<pad> </s> <unk> <s> [CLS] [SEP] [MASK] [PAD] <|endoftext|>",
    "a</s>b",
    "fill <extra_id_0> and <extra_id_12> in<extra_id_1>",
    "a ▁ sign and▁another",
    ">>deu<< The dog runs.",
    ">>fra<<The dog",
    "The >>deu<< dog",
    ">> << x",
    "the dog runs. " * 300,
    "x" * 3000,
    "!!!??...;;--",
    "\x00\x07control\x7f",
]


@cache
def learn_pieces(german: bool, *, kind: str = "unigram", vocab_size: int = 120) -> bytes:
    """Of a Marian translator's side."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(GERMAN if german else ENGLISH),
        model_writer=model,
        model_type=kind,
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def list_pieces(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return [processor.id_to_piece(number) for number in range(processor.get_piece_size())]


def write_marian(directory: Path, *, separate: bool = False) -> dict[str, object]:
    """The pieces of both sides in one list, or one each; hands back what config.json would say."""
    directory.mkdir(parents=True, exist_ok=True)
    english, german = learn_pieces(False), learn_pieces(True)
    (directory / "source.spm").write_bytes(english)
    (directory / "target.spm").write_bytes(german)
    own = [number for number, piece in enumerate(list_pieces(english)) if piece not in ("<s>", "</s>", "<unk>")]
    sides = [
        [list_pieces(english)[number] for number in own],
        [p for p in list_pieces(german) if p not in ("<s>", "</s>", "<unk>")],
    ]
    lists = sides if separate else [[*sides[0], *(piece for piece in sides[1] if piece not in sides[0])]]
    names = ["vocab.json", "target_vocab.json"][: len(lists)]
    sizes = []
    for name, pieces in zip(names, lists, strict=True):
        whole = ["</s>", "<unk>", ">>deu<<", *reversed(pieces)]  # the order is the list's own affair
        if separate:  # both lists end in the same row
            whole += [f"<filler{number}>" for number in range(400 - len(whole))]
        whole.append("<pad>")
        sizes.append(len(whole))
        (directory / name).write_text(json.dumps({piece: number for number, piece in enumerate(whole)}), encoding="utf-8")
    settings = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": separate}
    (directory / "tokenizer_config.json").write_text(json.dumps(settings))
    config = {
        "model_type": "marian",
        "vocab_size": sizes[0],
        "decoder_start_token_id": sizes[0] - 1,
        "pad_token_id": sizes[0] - 1,
    }
    (directory / "config.json").write_text(json.dumps(config))
    return config


def write_t5(directory: Path, *, sentinels: int = 100) -> dict[str, object]:
    directory.mkdir(parents=True, exist_ok=True)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(ENGLISH + GERMAN),
        model_writer=model,
        vocab_size=180,
        hard_vocab_limit=False,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
    )
    (directory / "spiece.model").write_bytes(model.getvalue())
    (directory / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "T5Tokenizer", "extra_ids": sentinels}))
    config = {"model_type": "t5", "vocab_size": 400, "decoder_start_token_id": 0}
    (directory / "config.json").write_text(json.dumps(config))
    return config


def write_bert(directory: Path, **settings: object) -> dict[str, object]:
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=250, special_tokens=marks, show_progress=False)
    both = ENGLISH + GERMAN
    tokenizer.train_from_iterator(both + [line.lower() for line in both], trainer)
    tokenizer.model.save(str(directory))
    (directory / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **settings}))
    config = {"model_type": "bert", "vocab_size": 250}
    (directory / "config.json").write_text(json.dumps(config))
    return config


def write_gpt2(directory: Path, **settings: object) -> dict[str, object]:
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>", "<|pad|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(ENGLISH + GERMAN, trainer)
    tokenizer.model.save(str(directory))
    (directory / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer", **settings}))
    config = {"model_type": "gpt2", "vocab_size": 400}
    (directory / "config.json").write_text(json.dumps(config))
    return config
