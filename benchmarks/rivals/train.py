"""Train a rival of the Transformer on what a Headway run was trained on: its pieces, batches, loss, Adam, schedule and clock.

    headway train --train multi30k/train --from en --to de --max-minutes 10 --out RUN
    python benchmarks/rivals/train.py --model recurrent --data RUN --out OUT

RUN is a run of Headway or its `data` directory. What is not given is as in the run, but for the peak learning rate, which is
a rival's own, and the layers' width, which is such that it has as many parameters as the run's model.
OUT then holds metrics.jsonl, the best weights by validation BLEU, test.jsonl, gradients.json and, at the very end, result.json;
the same command then does nothing more. An unfinished run begins anew.
"""

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from gradients import measure_reach
from learning import Learning
from processes import is_first, start_processes
from rival import KINDS, SHAPE, WEIGHTS, Shape, build_rival, fit_width, load_rival, save_rival
from testing import translate_test

from headway.amounts import amount
from headway.atomic import write_file
from headway.bundle import read_bundle
from headway.config import Settings, build_settings, read_yaml
from headway.data.objectives import Translation
from headway.data.prepare import Prepared, load_prepared
from headway.errors import HeadwayError, RequestError
from headway.evaluation.metrics import bleu, chrf
from headway.models.model import count_parameters
from headway.models.presets import PRESETS
from headway.progress import Display
from headway.training.choices import count_tokens, resolve
from headway.training.group import Group
from headway.training.log import MetricsLog
from headway.training.loss import Loss
from headway.training.machine import bound_products, choose_division, keep_memory
from headway.training.replicas import Replicas
from headway.training.validation import TranslationValidator

RATES = {"recurrent": 0.01, "convolutional": 0.005}  # peaks; of 0.005 and 0.01 they learned most in three minutes
OWN_FILES = ("metrics.jsonl", "test.jsonl", "gradients.json", SHAPE, WEIGHTS)


@dataclass(frozen=True)
class Request:
    """What is to be trained, complete."""

    settings: Settings
    prepared: Prepared
    shape: Shape
    parameters: int  # those asked for


def main() -> None:
    options = _parse()
    try:
        with Display() if is_first() else Display(Path(os.devnull).open("w")) as display:
            _run(options, display)
    except HeadwayError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, choices=KINDS)
    parser.add_argument("--data", type=Path, required=True, help="a run of Headway, or its data directory")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parameters", type=int, help="those of the run's model if not given")
    parser.add_argument("--d-model", type=int, help="width of the embeddings; the run's if not given")
    parser.add_argument("--minutes", type=float, help="of training with its validations; the run's if not given")
    parser.add_argument("--batch-tokens", type=int)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--warmup", type=int)
    parser.add_argument("--dropout", type=float)
    parser.add_argument("--label-smoothing", type=float)
    parser.add_argument("--valid-sentences", type=int)
    parser.add_argument("--beam", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--processes", type=int)
    return parser.parse_args()


def _run(options: argparse.Namespace, display: Display) -> None:
    asked = {name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items() if name != "out"}
    result = options.out / "result.json"
    if result.exists():
        before = json.loads(result.read_text(encoding="utf-8"))
        if before["asked"] != asked:
            raise RequestError(f"{options.out} holds another run: {before['asked']}.", "Give a new --out, or delete it.")
        display.say(f"{options.out} is complete: BLEU {before['bleu']:.1f}.")
        return
    request = _complete(options)
    training = request.settings.training
    assert isinstance(training.processes, int)
    torch.set_num_threads(training.threads or 1)
    with start_processes(training.processes) as group:
        if group.first:
            _clear(options.out)
        learning = _teach(request, group, options.out, display)
    if group.first:
        found = _finish(request, learning, options.out, display)
        write_file(result, json.dumps({"asked": asked} | found, indent=2, ensure_ascii=False) + "\n")


def _complete(options: argparse.Namespace) -> Request:
    """The run's settings, with what is given and what is a rival's own laid over them."""
    run = options.data if (options.data / "data" / "prepared.json").exists() else options.data.parent
    data = run / "data" if run == options.data else options.data
    if not (data / "prepared.json").exists():
        raise RequestError(f"{options.data} is neither a run of Headway nor its data.", "Train one: headway train --out RUN.")
    settings = build_settings(read_yaml(run / "config.yaml") if (run / "config.yaml").exists() else {})
    prepared = load_prepared(data, settings)
    given = {
        "max_minutes": options.minutes or settings.training.max_minutes,
        "batch_tokens": options.batch_tokens or settings.training.batch_tokens,
        "accumulate": None if options.batch_tokens else settings.training.accumulate,
        "learning_rate": options.learning_rate or RATES[options.model],
        "label_smoothing": settings.training.label_smoothing if options.label_smoothing is None else options.label_smoothing,
        "valid_sentences": options.valid_sentences or settings.training.valid_sentences,
        "seed": settings.training.seed if options.seed is None else options.seed,
        "processes": options.processes or "auto",
        "warmup": options.warmup,
    }
    if given["max_minutes"] is None:
        raise RequestError("Nothing says how long to train, and the run had no budget in minutes.", "Give --minutes.")
    unset = dict.fromkeys(("max_steps", "max_epochs", "valid_every", "checkpoint_every", "threads"))
    content = settings.model_dump(by_alias=True)
    content["training"] |= given | unset
    if options.beam:
        content["decoding"]["beam"] = options.beam
    sizes = Translation(prepared.tokenizers.target, prepared.tokenizers.source).sizes(prepared.train)
    tokens = count_tokens(prepared.train, sizes)
    settings = resolve(build_settings(content), pairs=prepared.pairs_per_epoch, target_tokens=tokens)
    parameters = options.parameters or _count_of_run(run)
    d_model = options.d_model or settings.model.d_model or PRESETS[settings.model.preset or "tiny"].d_model
    settings = settings.model_copy(update={"training": choose_division(settings.training, d_model)})
    shape = Shape(
        kind=options.model,
        source_vocab=prepared.tokenizers.source.size,
        target_vocab=prepared.tokenizers.target.size,
        shared=prepared.tokenizers.shared,
        d_model=d_model,
        width=0,
        dropout=settings.model.dropout or 0.0 if options.dropout is None else options.dropout,
        pad=prepared.tokenizers.source.pad,
    )
    return Request(settings, prepared, fit_width(shape, parameters), parameters)


def _count_of_run(run: Path) -> int:
    if not (run / "best").exists():
        raise RequestError(f"{run} has no model whose parameters could be counted.", "Give --parameters.")
    return count_parameters(read_bundle(run / "best").build_model())


def _clear(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in OWN_FILES:
        (out / name).unlink(missing_ok=True)


def _teach(request: Request, group: Group, out: Path, display: Display) -> Learning:
    keep_memory()
    bound_products()
    settings, prepared, shape = request.settings, request.prepared, request.shape
    training = settings.training
    model = build_rival(shape, seed=training.seed)
    display.say(
        f"The {shape.kind} model: width {shape.width}, d_model {shape.d_model}, {count_parameters(model):,} parameters "
        f"({request.parameters:,} asked for); {training.batch_tokens:,} target tokens an update, dropout {shape.dropout:g}, "
        f"peak rate {training.learning_rate:g}; {group.size} x {training.threads} cores."
    )
    objective = Translation(prepared.tokenizers.target, prepared.tokenizers.source)
    learning = Learning(
        Replicas(Loss(model, smoothing=training.label_smoothing or 0.0), group),
        group,
        training,
        shape.d_model,
        prepared,
        TranslationValidator(prepared.valid, prepared.tokenizers, objective, training, settings.decoding.max_extra, group),
        MetricsLog(out / "metrics.jsonl"),
        display,
        keep=lambda weights: save_rival(out, shape, weights),
    )
    learning.run()
    display.close()
    return learning


def _finish(request: Request, learning: Learning, out: Path, display: Display) -> dict[str, Any]:
    prepared, settings = request.prepared, request.settings
    model = load_rival(out)
    translations = translate_test(model, prepared, settings.decoding, display)
    references = [reference for _, reference in prepared.test]
    tested = [
        {"source": source, "reference": reference, "translation": translation}
        for (source, reference), translation in zip(prepared.test, translations, strict=True)
    ]
    write_file(out / "test.jsonl", "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in tested))
    reach = measure_reach(model, prepared.tokenizers.source, [source for source, _ in prepared.valid])
    write_file(out / "gradients.json", json.dumps(reach) + "\n")
    figures = {"bleu": bleu(translations, [references]), "chrf": chrf(translations, [references])}
    display.say(f"Test part, {amount(len(tested), 'sentence')}: BLEU {figures['bleu']:.1f}, chrF {figures['chrf']:.1f}.")
    assert learning.best
    return figures | {
        "model": request.shape.kind,
        "parameters": count_parameters(model),
        "width": request.shape.width,
        "updates": learning.step,
        "tokens": learning.tokens,
        "seconds": round(learning.seconds, 2),
        "tokens_per_second": round(learning.tokens / learning.updating, 1),
        "valid": learning.best.record(),
        "settings": {
            "training": settings.training.model_dump(),
            "decoding": settings.decoding.model_dump(),
            "dropout": request.shape.dropout,
            "d_model": request.shape.d_model,
        },
    }


if __name__ == "__main__":
    main()
