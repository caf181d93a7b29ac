"""The paper's relatives, each at a figure that can be held against others'.

    python benchmarks/family.py --data DATA --work runs/family gpt bert vit t5 denoise cache imported

DATA holds tinyshakespeare/, sst2/, mnist/ and multi30k/; WORK gets a run for each model, and a run that is there goes on where
it stood. Every model is trained by `headway train`, as printed and kept beside its figures in results/family.json. Figures of
runs are those of a test part that is looked at once, at the end; but GPT's is the validation loss, which is what nanoGPT tells.
`cache` and `imported` take a few minutes and want a machine on which nothing else runs.
"""

import argparse
import json
import math
import shlex
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from machine import describe_run

from headway.architectures import Architecture, GptArchitecture
from headway.bundle import Manifest, read_bundle, write_bundle
from headway.data.phrasebook import make_pairs, make_parts
from headway.data.readers import open_labelled, read_lines
from headway.evaluation.metrics import bleu
from headway.export.huggingface import write_huggingface
from headway.imports.huggingface import import_huggingface
from headway.models.build import build
from headway.models.gpt import Gpt
from headway.models.weights import get_weights
from headway.text.tokenizer import SentencePieceTokenizer, Tokenizers
from headway.translator import load

RESULTS = Path(__file__).parent / "results" / "family.json"
Figures = dict[str, Any]


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="+", choices=MEASUREMENTS)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    return parser.parse_args(words)


def main() -> None:
    options = parse()
    options.work.mkdir(parents=True, exist_ok=True)
    for name in options.which:
        found = MEASUREMENTS[name](Runner(options.data, options.work)) | describe_run(DATA=options.data, WORK=options.work)
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(results | {name: found}, indent=2) + "\n")
        print(json.dumps({name: found}, indent=2), flush=True)


class Runner:
    """Runs `headway train`, and remembers how it was told to."""

    def __init__(self, data: Path, work: Path) -> None:
        self.data, self.work = data, work
        self.commands: list[str] = []

    def train(self, name: str, *options: object) -> Figures:
        """The figures of the test part, and what the training took."""
        out = self.work / name
        words = ["headway", "train", *map(str, options), "--out", str(out)]
        told = shlex.join(words).replace(str(self.data), "DATA").replace(str(self.work), "WORK")
        self.commands.append(told)
        print(f"$ {told}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", *words], check=True)
        manifest = read_bundle(out / "best").manifest
        last = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
        figures = {key.removeprefix("test_"): value for key, value in manifest.provenance.metrics.items() if "test" in key}
        return figures | {"updates": last["step"], "minutes": round(last["seconds"] / 60, 1)}


def measure_gpt(run: Runner) -> Figures:
    """nanoGPT's settings for a processor; like there, the first 90 % of the characters are learned and the others judged."""
    text = (run.data / "tinyshakespeare" / "input.txt").read_text()
    parts = {"train": text[: int(0.9 * len(text))], "valid": text[int(0.9 * len(text)) :]}
    for name, part in parts.items():
        (run.work / f"shakespeare-{name}.txt").write_text(part)
    shape = ["--n-layers", 4, "--n-heads", 4, "--d-model", 128, "--d-ff", 512, "--max-length", 64, "--dropout", 0]
    steps = ["--batch-tokens", 12 * 64, "--max-steps", 2000, "--learning-rate", 0.001, "--warmup", 100, "--schedule", "cosine"]
    valid = run.work / "shakespeare-valid.txt"
    corpus = ["--train", run.work / "shakespeare-train.txt", "--valid", valid, "--test", valid]
    found = run.train("gpt", "--task", "lm", "--kind", "char", *corpus, *shape, *steps, "--valid-every", 500)
    return {"validation_loss": found, "wanted_at_most": 1.88, "commands": run.commands}


def measure_bert(run: Runner) -> Figures:
    """Sentiment, with and without pretraining on the same sentences, beside naive Bayes over words and pairs of words."""
    train, dev = run.data / "sst2" / "train.tsv", run.data / "sst2" / "dev.tsv"
    shape = ["--n-layers", 2, "--d-model", 128, "--d-ff", 256, "--n-heads", 4]
    text = ["--vocab-size", 8000, "--max-length", 64]
    classes = ["--task", "classify", "--train", train, "--test", dev, "--max-length", 64, "--batch-tokens", 2048]
    steps = ["--learning-rate", 0.001, "--dropout", 0.3, "--max-epochs", 8]
    gaps = ["--hidden", 0.2, "--batch-tokens", 4096, "--learning-rate", 0.002, "--dropout", 0.1, "--max-epochs", 15]
    scratch = run.train("bert-scratch", *classes, *shape, "--vocab-size", 8000, *steps)
    pretraining = run.train("bert-mlm", "--task", "mlm", "--train", train, *shape, *text, *gaps)
    tuned = run.train("bert", *classes, "--init", run.work / "bert-mlm" / "best", *steps)
    return {
        "pretrained": tuned,
        "not_pretrained": scratch,
        "pretraining": pretraining,
        "naive_bayes_accuracy": round(100 * naive_bayes(train, dev), 2),
        "wanted_at_least": 90.0,
        "commands": run.commands,
    }


def naive_bayes(train: Path, test: Path) -> float:
    """Accuracy of naive Bayes over words and pairs of neighbours, with a count of one added to each."""
    counts: dict[str, Counter[str]] = {}
    texts: Counter[str] = Counter()

    def features(text: str) -> Iterator[str]:
        words = text.split()
        yield from words
        yield from map(" ".join, pairwise(words))

    for text, label in open_labelled(str(train)):
        texts[label] += 1
        counts.setdefault(label, Counter()).update(features(text))
    known = len(set().union(*counts.values()))
    totals = {label: sum(some.values()) + known for label, some in counts.items()}

    def score(text: str, label: str) -> float:
        return math.log(texts[label]) + sum(math.log((counts[label][f] + 1) / totals[label]) for f in features(text))

    pairs = list(open_labelled(str(test)))
    return sum(max(counts, key=lambda one: score(text, one)) == label for text, label in pairs) / len(pairs)


def measure_vit(run: Runner) -> Figures:
    mnist = run.data / "mnist"
    shape = ["--n-layers", 4, "--d-model", 64, "--d-ff", 128, "--n-heads", 4, "--patch-size", 4, "--dropout", 0, "--shift", 2]
    steps = ["--batch-tokens", 6400, "--learning-rate", 0.002, "--max-minutes", 25, "--valid-every", 400]
    corpus = ["--train", mnist / "train", "--test", mnist / "t10k"]
    found = run.train("vit", "--task", "classify", *corpus, *shape, *steps)
    return {"test": found, "wanted_at_least": 99.0, "wanted_minutes_at_most": 30, "commands": run.commands}


def measure_t5(run: Runner) -> Figures:
    """Two tasks on a phrasebook: to translate, and to say the English words backwards. One model for both, or one for each."""
    prefixes = {"translate": "translate English to German: ", "reverse": "reverse: "}
    for part, pairs in vars(make_parts(20_000, 500)).items():
        english = [pair.english for pair in pairs]
        wanted = {"translate": [pair.german for pair in pairs], "reverse": [" ".join(one.split()[::-1]) for one in english]}
        for task, lines in wanted.items():
            _write_pairs(run.work / f"{task}-{part}", english, lines)
    for part in ("valid", "test"):  # of several tasks, each source of a held-out part has its prefix in it
        sources = [prefixes[task] + line for task in prefixes for line in read_lines(run.work / f"{task}-{part}.en")]
        targets = [line for task in prefixes for line in read_lines(run.work / f"{task}-{part}.de")]
        _write_pairs(run.work / f"both-{part}", sources, targets)
    languages = ["--family", "t5", "--from", "en", "--to", "de"]
    shape = ["--n-layers", 2, "--d-model", 128, "--d-ff", 512, "--n-heads", 4, "--dropout", 0.1, "--vocab-size", 1600]
    steps = ["--batch-tokens", 1024, "--learning-rate", 0.003, "--label-smoothing", 0]
    corpora = {task: ["--train", run.work / f"{task}-train", "--prefix", prefix] for task, prefix in prefixes.items()}
    found: dict[str, Figures] = {}
    for task in prefixes:
        held_out = ["--valid", run.work / f"{task}-valid", "--test", run.work / f"{task}-test"]
        alone = run.train(f"t5-{task}", *languages, *corpora[task], *held_out, *shape, *steps, "--max-steps", 1500)
        found[task] = {"alone": alone["bleu"]}
    held_out = ["--valid", run.work / "both-valid", "--test", run.work / "both-test"]
    of_both = [*corpora["translate"], *corpora["reverse"], *held_out]
    run.train("t5-both", *languages, *of_both, *shape, *steps, "--max-steps", 3000)
    translator = load(run.work / "t5-both" / "best", compute_type="float32")
    for task, prefix in prefixes.items():
        sources, references = (list(read_lines(run.work / f"{task}-test.{side}")) for side in ("en", "de"))
        translations = translator.translate([prefix + source for source in sources])
        found[task]["together"] = bleu([one.text for one in translations], [references])
    return {"bleu": found, "wanted": "together within 2 BLEU of alone", "commands": run.commands}


def _write_pairs(stem: Path, sources: list[str], targets: list[str]) -> None:
    for side, lines in (("en", sources), ("de", targets)):
        stem.with_name(f"{stem.name}.{side}").write_text("".join(f"{line}\n" for line in lines))


def measure_denoising(run: Runner) -> Figures:
    """2,000 pairs of Multi30k; the other 27,000 as texts of one language each, with and without learning to mend them first."""
    data = run.data / "multi30k"
    for side in ("en", "de"):
        lines = list(read_lines(data / f"train.{side}"))
        (run.work / f"few.{side}").write_text("".join(f"{line}\n" for line in lines[:2000]))
        (run.work / f"rest.{side}").write_text("".join(f"{line}\n" for line in lines[2000:]))
    pairs = ["--train", run.work / "few", "--valid", data / "val", "--test", data / "test2016", "--from", "en", "--to", "de"]
    steps = ["--batch-tokens", 1024, "--max-epochs", 60, "--dropout", 0.3, "--patience", 6]
    texts = [option for name in ("few.en", "few.de", "rest.en", "rest.de") for option in ("--train", run.work / name)]
    scratch = run.train("denoise-none", *pairs, "--preset", "tiny", *steps)
    mending = run.train("denoise", "--task", "denoise", *texts, "--preset", "tiny", "--dropout", 0.1, "--max-minutes", 15)
    tuned = run.train("denoise-tuned", *pairs, "--init", run.work / "denoise" / "best", "--learning-rate", 0.001, *steps)
    return {
        "pretrained": tuned,
        "not_pretrained": scratch,
        "pretraining": mending,
        "difference": round(tuned["bleu"] - scratch["bleu"], 2),
        "wanted_at_least": 3.0,
        "commands": run.commands,
    }


@torch.inference_mode()
def measure_cache(run: Runner) -> Figures:
    """256 tokens from a model of GPT-2's small size, greedily, with its cache and without, after prompts of two lengths."""
    shape = {"vocab": 50_257, "n_layers": 12, "d_model": 768, "d_ff": 3072, "n_heads": 12, "max_positions": 1024}
    model = build(GptArchitecture(**shape, dropout=0.1, activation="gelu-tanh")).eval()
    assert isinstance(model, Gpt)

    def cached(prompt: torch.Tensor, length: int = 256) -> list[int]:
        tokens, cache, read = prompt, model.start(), prompt
        for _ in range(length):
            x, cache = model.decode(read, cache)
            read = model.output.logits(x[:, -1:]).argmax(dim=-1)
            tokens = torch.cat([tokens, read], dim=1)
        return tokens[0].tolist()

    def uncached(prompt: torch.Tensor) -> list[int]:
        tokens = prompt
        for _ in range(256):
            x = model.states(tokens)
            tokens = torch.cat([tokens, model.output.logits(x[:, -1:]).argmax(dim=-1)], dim=1)
        return tokens[0].tolist()

    found: Figures = {}
    for length in (64, 4):
        prompt = torch.arange(1000, 1000 + length)[None]
        cached(prompt, 8)  # nothing is timed cold
        seconds, written = {}, []
        for name, work in (("cached", cached), ("uncached", uncached)):
            start = time.perf_counter()
            written.append(work(prompt))
            seconds[name] = round(time.perf_counter() - start, 2)
        assert written[0] == written[1]
        found[f"prompt of {length}"] = {"seconds": seconds, "times": round(seconds["uncached"] / seconds["cached"], 1)}
    return found | {"wanted_at_least": 5}


def measure_imported(run: Runner) -> Figures:
    """The same weights as a native model and as one that went to Hugging Face's form and back: tokens a second of each."""
    sentences = [pair.english for pair in make_pairs(2000)]
    tokenizer = SentencePieceTokenizer.train(sentences, kind="bpe", vocab_size=1500)
    shape = {"n_layers": 4, "n_decoder_layers": 4, "d_model": 256, "d_ff": 1024, "n_heads": 4, "d_k": 64, "d_v": 64}
    parts = {
        "dropout": 0.1,
        "norm": "post",
        "positions": "sinusoidal",
        "max_positions": 512,
        "activation": "relu",
        "tie": "all",
    }
    architecture = Architecture(source_vocab=tokenizer.size, target_vocab=tokenizer.size, **shape, **parts)
    manifest = Manifest(architecture=architecture, source_language="en", target_language="de")
    native, form, back = (run.work / name for name in ("native", "form", "back"))
    write_bundle(native, manifest, get_weights(build(architecture)), Tokenizers(tokenizer, tokenizer))
    form.mkdir(exist_ok=True)
    write_huggingface(read_bundle(native), form)
    import_huggingface(form, back, source_language="en", target_language="de")
    speeds: dict[str, dict[str, list[float]]] = {}
    for engine in ("ctranslate2", "torch"):
        sides = {
            name: load(place, engine=engine, compute_type="auto") for name, place in (("native", native), ("imported", back))
        }
        speeds[engine] = {name: [] for name in sides}
        for number in range(4):
            for name, translator in sides.items():
                seconds = _time(lambda t=translator: t.translate(sentences[:200], beam=4, max_extra=10), rounds=1)
                if number:  # the first one is cold
                    speeds[engine][name].append(seconds)
    ratios = {
        engine: round(statistics.median(a / b for a, b in zip(found["native"], found["imported"], strict=True)), 3)
        for engine, found in speeds.items()
    }
    return {"seconds": speeds, "imported_is_faster_by": ratios}


def _time(work: Callable[[], Any], rounds: int = 3) -> float:
    """Seconds, the median of some rounds."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return round(statistics.median(taken), 3)


MEASUREMENTS: dict[str, Callable[[Runner], Figures]] = {
    "gpt": measure_gpt,
    "bert": measure_bert,
    "vit": measure_vit,
    "t5": measure_t5,
    "denoise": measure_denoising,
    "cache": measure_cache,
    "imported": measure_imported,
}

if __name__ == "__main__":
    main()
