"""The paper's relatives from inside: GPT, BERT and ViT, each with the parts that it has.

What they read is taken from where they read it: the embedding is asked what it was called with.
"""

from pathlib import Path

import torch
from torch import Tensor

from headway.architectures import BertArchitecture, GptArchitecture, VitArchitecture
from headway.family.classifier import Classifier
from headway.family.filler import Filler
from headway.family.generator import Generator
from headway.family.reading import PictureReading, Reading
from headway.glass.embedding import see_input
from headway.glass.limits import check_full
from headway.glass.parts import Glass, Picture, Predictions
from headway.glass.predictions import see_predictions
from headway.glass.recording import Calls, record_calls
from headway.glass.stacks import see_stack
from headway.models.bert import Bert
from headway.models.gpt import Gpt
from headway.models.vit import Vit
from headway.text.labels import label_pieces
from headway.text.tokenizer import Tokenizer


@torch.inference_mode()
def see_generator(generator: Generator, text: str) -> Glass:
    """A text as a GPT reads it: at each piece, what it thinks comes next."""
    model, tokenizer = generator.model, generator.tokenizer
    reading, tokens = _read(generator, model, text)
    check_full(len(reading.pieces))
    with record_calls(model) as calls:
        logits = model(tokens)[0]
    total = calls.last(model.dropout).inputs[0]
    ids = tokens[0].tolist()
    return Glass(
        kind="gpt",
        sentence=text,
        answer=reading.answer,
        facts=_measure(model.architecture, len(model.output.weight)),
        inputs=[see_input("text", model.embedding, model.positions, calls, -1, reading.pieces, tokenizer, total=total)],
        stacks=[see_stack(model.decoder, calls, reading.pieces)],
        predictions=see_predictions(
            model,
            model.decoder,
            logits,
            [calls.last(layer).output[0][0] for layer in model.decoder.layers],
            names=lambda found: [label_pieces(tokenizer, [one])[0] for one in found],
            places=reading.pieces,
            rows=range(len(ids)),
            written=[*ids[1:], None],
            never=[mark for mark in _marks(tokenizer, model.architecture.vocab) if mark != tokenizer.eos],
        ),
        without_beam="A GPT goes on with a text by taking the likeliest piece, or by drawing: there is no beam.",
    )


@torch.inference_mode()
def see_filler(filler: Filler, text: str) -> Glass:
    """A text as a BERT reads it, and what it thinks stands at each mask."""
    model, tokenizer = filler.model, filler.tokenizer
    reading, tokens = _read(filler, model, text)
    check_full(len(reading.pieces))
    with record_calls(model) as calls:
        logits = model(tokens)[0]
    masked = [place for place, token in enumerate(tokens[0].tolist()) if token == tokenizer.mask]
    predictions = see_predictions(
        model,
        model.encoder,
        logits[masked],
        [calls.last(layer).output[0] for layer in model.encoder.layers],
        names=lambda found: [label_pieces(tokenizer, [one])[0] for one in found],
        places=[f"{reading.pieces[place]}, piece {place + 1}" for place in masked],
        rows=masked,
        written=[None] * len(masked),
        hidden=_marks(tokenizer, model.architecture.vocab),
    )
    return _see_bert(model, calls, text, reading, tokenizer, predictions)


@torch.inference_mode()
def see_classifier(classifier: Classifier, text: str) -> Glass:
    """A text as a BERT reads it to tell its class."""
    model = classifier.model
    assert isinstance(model, Bert)
    reading, tokens = _read(classifier, model, text)
    check_full(len(reading.pieces))
    with record_calls(model) as calls:
        logits = model(tokens)[0]
    predictions = see_predictions(
        model,
        model.encoder,
        logits,
        [calls.last(layer).output[0] for layer in model.encoder.layers],
        names=lambda found: [classifier.labels[one] for one in found],
        places=[reading.pieces[0]],
        rows=[0],
        written=[None],
        classes=True,
    )
    return _see_bert(model, calls, text, reading, classifier.tokenizer, predictions)


@torch.inference_mode()
def see_picture(classifier: Classifier, path: Path) -> Glass:
    """A picture as a ViT sees it: patches, and where each head looks for its class."""
    model = classifier.model
    with record_calls(model) as calls:
        reading = classifier.inspect_picture(path)
    assert isinstance(model, Vit) and isinstance(reading, PictureReading)
    pixels = calls.last(model.embedding).inputs[0]
    check_full(1 + model.architecture.patches)
    with record_calls(model) as calls:
        logits = model(pixels)[0]
    a = model.architecture
    side = a.image_size // a.patch_size
    labels = ["‹class›", *(f"{row + 1}, {column + 1}" for row in range(side) for column in range(side))]
    total = calls.last(model.dropout).inputs[0]
    return Glass(
        kind="vit",
        sentence=path.name,
        answer=reading.answer,
        facts=[*_measure(a, a.classes)[:-1], ("patches", a.patches), ("P", a.patch_size), ("classes", a.classes)],
        inputs=[see_input("picture", model.embedding, model.positions, calls, -1, labels, None, total=total)],
        stacks=[see_stack(model.encoder, calls, labels)],
        predictions=see_predictions(
            model,
            model.encoder,
            logits,
            [calls.last(layer).output[0] for layer in model.encoder.layers],
            names=lambda found: [classifier.labels[one] for one in found],
            places=[labels[0]],
            rows=[0],
            written=[None],
            classes=True,
        ),
        without_beam="A class is one choice: there is nothing to search.",
        picture=Picture(reading.picture, a.patch_size, reading.looks, reading.rollout),
    )


def _read(reader: Generator | Filler | Classifier, model: Gpt | Bert, text: str) -> tuple[Reading, Tensor]:
    """What a relative makes of a text, and the tokens that it read of it [1, T]."""
    with record_calls(model) as calls:
        reading = reader.inspect(text)
    return reading, calls.last(model.embedding).inputs[0]


def _see_bert(model: Bert, calls: Calls, text: str, reading: Reading, tokenizer: Tokenizer, predictions: Predictions) -> Glass:
    what = "A class is one choice" if predictions.names == "classes" else "Each mask is filled by itself"
    return Glass(
        kind="bert",
        sentence=text,
        answer=reading.answer,
        facts=_measure(model.architecture, len(model.output.weight)),
        inputs=[
            see_input(
                "text",
                model.embedding,
                model.positions,
                calls,
                -1,
                reading.pieces,
                tokenizer,
                total=calls.last(model.norm).inputs[0],
                segments=model.segments,
                norm=model.norm,
            )
        ],
        stacks=[see_stack(model.encoder, calls, reading.pieces)],
        predictions=predictions,
        without_beam=f"{what}: there is nothing to search.",
    )


def _measure(a: GptArchitecture | BertArchitecture | VitArchitecture, size: int) -> list[tuple[str, int]]:
    width = a.d_model // a.n_heads
    sizes = [("N", a.n_layers), ("d_model", a.d_model), ("d_ff", a.d_ff), ("h", a.n_heads), ("d_k", width), ("d_v", width)]
    classes = isinstance(a, BertArchitecture) and a.classes
    return [*sizes, ("classes" if classes else "vocabulary", size)]


def _marks(tokenizer: Tokenizer, vocabulary: int) -> list[int]:
    """What stands for no text, and rows of the embedding that have no piece."""
    t = tokenizer
    marks = {t.pad, t.bos, t.eos, t.unk, t.mask, *t.sentinels}
    return [*sorted(mark for mark in marks if mark is not None and mark >= 0), *range(t.size, vocabulary)]
