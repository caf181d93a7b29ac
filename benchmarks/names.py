"""Whether models carry over names that they never saw, with and without pairs of other names in their training.

    python benchmarks/names.py --data DATA [--corpora twi] [--changes other-names=2] [--seed 1] [--work runs/quality]

The models are quality.py's, with the same computing for each. They translate the pairs of their corpus's validation part that
have a name in both languages alike: as they stand, and with names from DATA that their training text has not got.
Writes results/names.json.
"""

import argparse
import json
import os
from pathlib import Path

from machine import describe_run
from quality import BASE, CORPORA, Corpus, call, lay_out, read_lines, train

from headway.data.names import Renamer, find_alike, find_words, gather_names
from headway.evaluation.metrics import score

Pairs = list[tuple[str, str]]
OUT = Path(__file__).parent / "results" / "names.json"


def main() -> None:
    options = parse()
    core = min(os.sched_getaffinity(0))
    found = []
    for name in options.corpora:
        lay_out(name, options)
        asked = make_questions(name, options)
        for change in dict.fromkeys([BASE, *options.changes]):  # base is what others are told beside
            run, _ = train(core, name, change, options.seed, options)
            answers = {kind: judge(core, run, *question) for kind, question in asked.items()}
            found.append({"corpus": name, "change": change, **answers})
            print(name, change, json.dumps(answers), flush=True)
            result = {**describe_run(DATA=options.data, WORK=options.work), "answers": found}
            OUT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory of the corpora")
    parser.add_argument("--work", type=Path, default=Path("runs/quality"), help="where the models are put")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=["twi"])
    parser.add_argument("--changes", nargs="+", default=["other-names=2"], metavar="CHANGE", help="beside base")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def make_questions(name: str, options: argparse.Namespace) -> dict[str, tuple[Pairs, set[str]]]:
    """Pairs and the names in them that count: of the validation part, and the same with names that are new to its model."""
    corpus = CORPORA[name]
    own = read_pairs(options.work / name / "train", corpus)
    names = gather_names(lambda: own)
    seen = {word for pair in own for text in pair for word in find_words(text)}
    others = [pair for one in CORPORA.values() for pair in read_pairs(options.data / one.stem, one)]
    strange = Renamer(names, sorted(set(gather_names(lambda: others)) - seen))
    pairs = [pair for pair in read_pairs(options.data / corpus.judged, corpus) if find_alike(pair) & set(names)]
    new = [renamed for pair in pairs for renamed in strange.rename(pair, 1)]
    return {"known": (pairs, set(names)), "new": (new, {word for pair in new for word in find_alike(pair)} - seen)}


def read_pairs(stem: Path, corpus: Corpus) -> Pairs:
    return list(zip(*(read_lines(Path(f"{stem}.{side}")) for side in (corpus.source, corpus.target)), strict=True))


def judge(core: int, run: Path, pairs: Pairs, names: set[str]) -> dict[str, float]:
    sources, references = ([pair[side] for pair in pairs] for side in (0, 1))
    asked = run.with_suffix(".names")
    asked.write_text("".join(f"{source}\n" for source in sources), encoding="utf-8")
    written = call(core, run, "translate", run / "best", asked, "--compute-type", "float32").split("\n")[:-1]
    scores = score(written, [references])
    wanted = [(name, text) for pair, text in zip(pairs, written, strict=True) for name in find_alike(pair) & names]
    kept = sum(name in find_words(text) for name, text in wanted) / len(wanted)
    scored = {"bleu": round(scores.bleu.score, 2), "chrf": round(scores.chrf.score, 2)}
    return {"pairs": len(pairs), **scored, "names": len(wanted), "percent_kept": round(100 * kept, 1)}


if __name__ == "__main__":
    main()
