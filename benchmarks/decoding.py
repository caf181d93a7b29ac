"""Translation throughput: Headway on CTranslate2 and on torch, CTranslate2 alone, Hugging Face `generate`; the same weights.

    python benchmarks/decoding.py --model runs/multi30k-en-de/best --text train.en --source test.en --references test.de

Every side is a process of its own (engines/sides.py), runs with the size of batches that suits it best, and is timed without
loading; all run one after the other, and all over again each round. Ratios are taken within a round. Tokens are target pieces
and ends, cut by the model's own tokenizer. CTranslate2 alone searches as Headway asks it to, with the same patience; `generate`
stops as early as it can. BLEU is that of `--source` against `--references`. Writes OUT.json, OUT.png and OUT.svg.
"""

import argparse
import importlib.metadata
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engines.sides import SIDES
from machine import describe_run
from peers.chart import draw_chart, name_side

from headway.bundle import Bundle, read_bundle
from headway.data.readers import read_lines
from headway.evaluation.metrics import bleu
from headway.export.ctranslate2 import write_ctranslate2
from headway.export.huggingface import write_huggingface

Speeds = list[dict[str, dict[str, Any]]]  # of each round, seconds, batch and tokens of each side


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="bundle whose weights all sides use")
    parser.add_argument("--text", type=Path, required=True, help="what is translated")
    parser.add_argument("--source", type=Path, help="what BLEU is measured on")
    parser.add_argument("--references", type=Path)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--longest", type=int, default=256, help="pieces of an output, for sides that want one limit for all")
    parser.add_argument("--beams", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--compute-types", nargs="+", default=["float32", "int8"])
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=SIDES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--title", default="tiny", help="what to call the model")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "decoding")
    return parser.parse_args(words)


def main() -> None:
    options = parse()
    bundle = read_bundle(options.model)
    with tempfile.TemporaryDirectory() as work:
        forms = {name: Path(work) / name for name in ("ctranslate2", "huggingface")}
        for form in forms.values():
            form.mkdir()
        write_ctranslate2(bundle, forms["ctranslate2"])
        write_huggingface(bundle, forms["huggingface"])
        measured: dict[int, Speeds] = {beam: [] for beam in options.beams}
        for number in range(1, options.rounds + 1):
            for beam in options.beams:
                measured[beam].append({})
                for name, side, kind in _list_sides(options):
                    print(f"round {number} of {options.rounds}, beam {beam}: {name}", end=" ", flush=True, file=sys.stderr)
                    found = _run(options, forms, side, kind, beam, options.text, options.sentences)
                    found["tokens"] = _count(bundle, found.pop("texts"))
                    measured[beam][-1][name] = found
                    print(f"{found['tokens'] / found['seconds']:,.0f} tokens/s, batch {found['batch']}", file=sys.stderr)
            result = _describe(options) | {
                "rounds": number,
                "beams": {str(beam): _summarise(rounds, options) for beam, rounds in measured.items()},
            }
            _write(result, options)
        if options.source and options.references:
            result["bleu"] = _measure_bleu(options, forms)
            _write(result, options)
    for beam, sides in result["beams"].items():
        print(f"\n{options.title}, beam {beam}\n{_table(sides)}")
    print(json.dumps(result.get("bleu", {}), indent=2))


def _list_sides(options: argparse.Namespace) -> list[tuple[str, str, str]]:
    """(name, side, compute type)"""
    found = []
    for side in options.sides:
        with_torch = side in ("huggingface", "headway-torch")
        found += [(side, side, "float32")] if with_torch else [(f"{side} {kind}", side, kind) for kind in options.compute_types]
    return found


def _run(
    options: argparse.Namespace, forms: dict[str, Path], side: str, kind: str, beam: int, text: Path, sentences: int
) -> dict[str, Any]:
    form = forms["huggingface" if side == "huggingface" else "ctranslate2"]
    command = [sys.executable, str(Path(__file__).parent / "engines" / "sides.py"), side, "--compute-type", kind]
    command += ["--model", str(options.model), "--form", str(form), "--text", str(text), "--beam", str(beam)]
    command += ["--sentences", str(sentences), "--longest", str(options.longest)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{side} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def _count(bundle: Bundle, texts: list[str]) -> int:
    return sum(len(pieces) + 1 for pieces in bundle.tokenizers.target.encode(texts))


def _summarise(rounds: Speeds, options: argparse.Namespace) -> dict[str, Any]:
    """Of each side its speed, and how many times faster Headway is, with the same compute type where the side has one."""
    summary = {}
    for name in rounds[0]:
        speeds = [round_[name]["tokens"] / round_[name]["seconds"] for round_ in rounds]
        side: dict[str, Any] = {"tokens_per_second": _spread(speeds), "batch": rounds[-1][name]["batch"]}
        side["sentences_per_second"] = _spread([options.sentences / round_[name]["seconds"] for round_ in rounds])
        for ours in ("headway float32", "headway int8", "headway-torch"):
            kind = name.partition(" ")[2]
            if ours in rounds[0] and ours != name and kind in ("", ours.partition(" ")[2]):
                ratios = [round_[name]["seconds"] / round_[ours]["seconds"] for round_ in rounds]
                side.setdefault("ratios", {})[ours] = {key: round(value, 2) for key, value in _spread(ratios, 3).items()}
        summary[name] = side
    return summary


def _spread(values: list[float], digits: int = 0) -> dict[str, float]:
    found = {"median": statistics.median(values), "least": min(values), "most": max(values)}
    return {name: round(value, digits) if digits else round(value) for name, value in found.items()}


def _measure_bleu(options: argparse.Namespace, forms: dict[str, Path]) -> dict[str, dict[str, float]]:
    references = [list(read_lines(options.references))]
    sides = [found for found in _list_sides(options) if found[1] in ("headway", "headway-torch", "huggingface")]
    scores: dict[str, dict[str, float]] = {}
    for beam in options.beams:
        for name, side, kind in sides:
            texts = _run(options, forms, side, kind, beam, options.source, len(references[0]))["texts"]
            scores.setdefault(f"beam {beam}", {})[name] = round(bleu(texts, references), 2)
    return scores


def _describe(options: argparse.Namespace) -> dict[str, Any]:
    manifest = read_bundle(options.model).manifest
    versions = {name: importlib.metadata.version(name) for name in ("ctranslate2", "transformers", "torch")}
    return {
        "title": options.title,
        "architecture": manifest.architecture.model_dump(),
        "sentences": options.sentences,
        "versions": versions,
        "auto": manifest.ctranslate2.model_dump() if manifest.ctranslate2 else None,
        **describe_run(MODEL=options.model, DATA=options.text.parent.parent),
    }


def _write(result: dict[str, Any], options: argparse.Namespace) -> None:
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    cores, processor = result["machine"]["cores"], result["machine"]["processor"]
    draw_chart(
        {f"{result['title']}, beam {beam}": _bars(sides) for beam, sides in result["beams"].items()},
        "Translation speed: target tokens a second",
        f"{cores} cores of {processor}; {result['sentences']:,} sentences, {_count_rounds(result['rounds'])}",
        options.out,
    )


def _count_rounds(rounds: int) -> str:
    return "one round" if rounds == 1 else f"median of {rounds} interleaved rounds"


def _bars(sides: dict[str, Any]) -> dict[str, Any]:
    return {
        name_side(name): {"tokens_per_second": side["tokens_per_second"], "ours": name.startswith("headway")}
        for name, side in sides.items()
    }


def _table(sides: dict[str, Any]) -> str:
    rows = ["| side | tokens/s | sentences/s | Headway is faster by |", "|---|---|---|---|"]
    for name, side in sides.items():
        ratios = ", ".join(f"{spread['median']:.2f}× ({ours})" for ours, spread in side.get("ratios", {}).items())
        speeds = f"{side['tokens_per_second']['median']:,} | {side['sentences_per_second']['median']:,}"
        rows.append(f"| {name} | {speeds} | {ratios} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
