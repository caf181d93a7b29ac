"""One side of the decoding benchmark, in a process of its own: load, warm up, translate, print seconds and texts as JSON.

python benchmarks/engines/sides.py headway --model MODEL --form FORM --text FILE --beam 4 --compute-type int8
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from headway.bundle import read_bundle
from headway.cores import count_cores
from headway.data.readers import read_lines

SAMPLE = 40  # sentences at least, or a tenth, that show which size of batch suits a side best

Translate = Callable[[list[str], int], list[str]]  # texts, size of batches -> translations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=SIDES)
    for name in ("--model", "--form", "--text"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--beam", type=int, required=True)
    parser.add_argument("--compute-type", default="float32")
    parser.add_argument("--sentences", type=int, required=True)
    parser.add_argument("--longest", type=int, required=True, help="pieces of an output, for sides that want one limit for all")
    options = parser.parse_args()
    texts = list(islice(read_lines(options.text), options.sentences))
    open_side, sizes = SIDES[options.side]
    translate = open_side(options)
    sample = texts[:: max(1, len(texts) // max(SAMPLE, len(texts) // 10))]
    timed = {size: _time(translate, sample, size)[0] for size in (*sizes[:1], *sizes)}  # the first once more, now warm
    best = min(timed, key=lambda size: timed[size])
    seconds, found = _time(translate, texts, best)
    json.dump({"seconds": seconds, "batch": best, "texts": found}, sys.stdout)


def _time(translate: Translate, texts: list[str], size: int) -> tuple[float, list[str]]:
    start = time.perf_counter()
    found = translate(texts, size)
    return time.perf_counter() - start, found


def open_headway(options: argparse.Namespace) -> Translate:
    """Raw text to raw text, as `headway.load` gives it; its own batches."""
    import headway

    translator = headway.load(options.model, engine="ctranslate2", compute_type=options.compute_type)
    return lambda texts, size: [one.text for one in translator.translate(texts, beam=options.beam)]


def open_headway_torch(options: argparse.Namespace) -> Translate:
    import headway

    translator = headway.load(options.model, engine="torch")
    return lambda texts, size: [one.text for one in translator.translate(texts, beam=options.beam)]


def open_bare(options: argparse.Namespace, **layout: int) -> Translate:
    """CTranslate2 on pieces that were cut before the clock starts, and are not put together before it stops."""
    import ctranslate2

    translator = ctranslate2.Translator(str(options.form), compute_type=options.compute_type, **layout)
    bundle = read_bundle(options.model)
    tokenizers, patience = bundle.tokenizers, bundle.manifest.decoding.patience
    cut: dict[str, list[str]] = {}
    for text in list(islice(read_lines(options.text), options.sentences)):
        cut[text] = tokenizers.source.pieces(tokenizers.source.encode([text])[0])

    def translate(texts: list[str], size: int) -> list[str]:
        found = translator.translate_batch(
            [cut[text] for text in texts],
            beam_size=options.beam,
            length_penalty=0.6,
            patience=patience if options.beam > 1 else 1,
            max_batch_size=size,
            batch_type="tokens",
            max_input_length=0,
            max_decoding_length=options.longest,
        )
        return ["".join(result.hypotheses[0]).replace("\u2581", " ").strip() for result in found]

    return translate


def open_best_bare(options: argparse.Namespace) -> Translate:
    return open_bare(options, inter_threads=count_cores(), intra_threads=1)


def open_huggingface(options: argparse.Namespace) -> Translate:
    """`generate` on the exported model, sentences of like length together; `--form` is the export."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model = AutoModelForSeq2SeqLM.from_pretrained(options.form).eval()
    tokenizer = AutoTokenizer.from_pretrained(options.form)
    search = {"num_beams": options.beam, "do_sample": False, "max_new_tokens": options.longest}
    if options.beam > 1:
        search |= {"length_penalty": 0.6, "early_stopping": True}

    @torch.inference_mode()
    def translate(texts: list[str], size: int) -> list[str]:
        found = [""] * len(texts)
        longest_first = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        for start in range(0, len(texts), size):
            places = longest_first[start : start + size]
            batch = tokenizer([texts[place] for place in places], return_tensors="pt", padding=True)
            written = model.generate(batch["input_ids"], attention_mask=batch["attention_mask"], **search)
            for place, text in zip(places, tokenizer.batch_decode(written, skip_special_tokens=True), strict=True):
                found[place] = text
        return found

    return translate


SIDES: dict[str, tuple[Callable[[argparse.Namespace], Translate], tuple[int, ...]]] = {
    "headway": (open_headway, (0,)),
    "headway-torch": (open_headway_torch, (0,)),
    "best-layout": (open_best_bare, (512, 1024, 2048, 4096)),
    "default-layout": (open_bare, (512, 1024, 2048, 4096)),
    "huggingface": (open_huggingface, (16, 32, 64, 128)),
}

if __name__ == "__main__":
    main()
