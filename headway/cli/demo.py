"""For example:

    headway demo

makes parallel text of a small task (repeat a row of words, or say it backwards), trains on it for about a minute, and
translates sentences that it has never seen. The run is left in runs/demo.
"""

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

SETTINGS: dict[str, dict[str, Any]] = {
    "model": {"preset": "tiny", "n_layers": 2, "d_model": 64, "d_ff": 128, "dropout": 0.1},
    "tokenizer": {"vocab_size": 300},
    "data": {"from": "task", "to": "answer"},
    "training": {"batch_tokens": 1024, "max_steps": 1200, "warmup": 200, "learning_rate": 0.004, "patience": 0},
}


def run(
    out: Annotated[Path, typer.Option(help="directory of the run")] = Path("runs/demo"),
    pairs: Annotated[int, typer.Option(min=100, help="pairs of sentences to make")] = 10_000,
    max_steps: Annotated[int, typer.Option(min=1, help="updates to train for")] = 1200,
) -> None:
    from headway.atomic import write_file
    from headway.config import build_settings
    from headway.data.copy_reverse import make_pairs
    from headway.progress import Display
    from headway.training.run import run_training

    corpus = out.with_name(f"{out.name}-corpus") / "train"
    corpus.parent.mkdir(parents=True, exist_ok=True)
    made = make_pairs(pairs)
    write_file(corpus.with_suffix(".task"), "".join(f"{source}\n" for source, _ in made))
    write_file(corpus.with_suffix(".answer"), "".join(f"{target}\n" for _, target in made))

    settings = {section: dict(values) for section, values in SETTINGS.items()}
    settings["data"]["train"] = [str(corpus)]
    settings["training"]["max_steps"] = max_steps
    with Display() as display:
        result = run_training(build_settings(settings), out, display)
    headway = "headway" if shutil.which("headway") else sys.argv[0]
    print(f"\nModel: {result.model}. What to try next:", file=sys.stderr)
    print(f"  echo 'reverse oak ash elm' | {headway} translate {result.model}", file=sys.stderr)
    print(
        f"  {headway} train --train text --from en --to de --out runs/en-de   (of your text.en and text.de)",
        file=sys.stderr,
    )
