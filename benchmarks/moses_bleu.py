"""BLEU on lower-case Moses tokens, as papers on Multi30k report it: for comparison with them, and with nothing else.

    pip install sacremoses
    python benchmarks/moses_bleu.py --hypotheses ours.de --references test2016.de --language de

Both sides are put in lower case and cut by sacremoses, a port of Moses' tokenizer; the score is sacreBLEU's on given tokens.
`headway evaluate --lowercase` gives the figure that needs no tokenizer but sacreBLEU's own.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from sacrebleu.metrics import BLEU


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hypotheses", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--language", required=True, help="of both, as de: Moses has rules for each")
    options = parser.parse_args()
    hypotheses, references = (read_lines(path) for path in (options.hypotheses, options.references))
    print(f"{score(hypotheses, references, options.language):.2f}")


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def score(hypotheses: Sequence[str], references: Sequence[str], language: str) -> float:
    if len(hypotheses) != len(references):
        raise SystemExit(f"{len(hypotheses):,} translations and {len(references):,} references: give one for each.")
    from sacremoses import MosesTokenizer

    moses = MosesTokenizer(lang=language)
    ours, theirs = ([moses.tokenize(line.lower(), return_str=True) for line in lines] for lines in (hypotheses, references))
    return BLEU(tokenize="none", force=True).corpus_score(ours, [theirs]).score


if __name__ == "__main__":
    main()
