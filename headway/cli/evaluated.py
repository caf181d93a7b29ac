"""What an evaluation found, as a person reads it on a terminal."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.evaluation.evaluation import Breakdown, Comparison, Evaluation, Result, Sentence
    from headway.evaluation.metrics import Score

WORST = 3  # sentences shown
LEVEL = 0.05  # of p-values: above it, nothing is said to be better
WIDTH = 128


def print_evaluation(evaluation: "Evaluation") -> None:
    results = evaluation.results
    if len(results) == 1 and len(results[0].scores) == 1:
        _print_scores(results[0])
    else:
        _print_systems(results)
    if evaluation.comparisons:
        _print_comparisons(evaluation.comparisons, results[0].name)
    names = [result.name for result in results]
    for breakdown in evaluation.breakdowns:
        _print_breakdown(breakdown, names)
    _print_sentences(evaluation.worst[:WORST], names)
    if evaluation.notes:
        print()
    for note in evaluation.notes:
        print(textwrap.fill(f"Note: {note}", WIDTH, subsequent_indent="      "))


def _print_scores(result: "Result") -> None:
    """One line a metric, as everybody knows it."""
    for name, value in result.scores[0].named():
        print(f"{name:5}{_show(value):24}  {value.signature}")
    if result.compound_split:
        print(f"BLEU {_show(result.compound_split):24}  {result.compound_split.signature}")


def _show(score: "Score") -> str:
    return f"{score.score:6.2f}" + (f"  [{score.interval[0]:.2f}, {score.interval[1]:.2f}]" if score.interval else "")


def _print_systems(results: "Sequence[Result]") -> None:
    rows = [["", "BLEU", "chrF", "TER"]]
    for result in results:
        if len(result.scores) == 1:
            cells = [_show(value).strip() for _, value in result.scores[0].named()]
        else:
            cells = [f"{result.mean[name]:.2f} ± {result.spread[name] or 0:.2f}" for name in result.mean]
        rows.append([result.name, *cells])
        if result.compound_split:
            rows.append(["  compounds put apart", _show(result.compound_split).strip(), "", ""])
    _print_table(rows, left=(0, 1, 2, 3))
    seeds = [str(len(result.scores)) for result in results if len(result.scores) > 1]
    if seeds:
        print(f"\nMean ± standard deviation over {' and '.join(seeds)} seeds; else an interval of 95 %.")
    print()
    for name, value in results[0].scores[0].named():
        print(f"{name:5}{value.signature}")
    if results[0].compound_split:
        print(f"BLEU {results[0].compound_split.signature}")


def _print_comparisons(comparisons: "Sequence[Comparison]", first: str) -> None:
    print(f"\nCompared with {first}:")
    rows = []
    for comparison in comparisons:
        interval = f"[{comparison.interval[0]:+.2f}, {comparison.interval[1]:+.2f}]" if comparison.interval else ""
        title = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}[comparison.metric]
        rows.append([f"  {comparison.system}", title, f"{comparison.difference:+.2f}", interval, judge(comparison)])
    _print_table(rows, left=(0, 1, 4))


def judge(comparison: "Comparison") -> str:
    """In plain words: better or worse only if each test that was made says so."""
    tests = {"bootstrap": comparison.bootstrap_p, "randomisation": comparison.randomisation_p}
    made = {name: p for name, p in tests.items() if p is not None}
    if not made:
        return "equal" if comparison.difference == 0 else "not tested"
    told = ", ".join(f"{p:.4f} by {name}" for name, p in made.items())
    if max(made.values()) >= LEVEL or comparison.difference == 0:
        return f"no clear difference (p = {told})"
    is_better = (comparison.difference > 0) == (comparison.metric != "ter")
    return f"{'better' if is_better else 'worse'} (p = {told})"


def _print_breakdown(breakdown: "Breakdown", names: Sequence[str]) -> None:
    print(f"\n{breakdown.title}: {breakdown.figure}")
    print(textwrap.fill(breakdown.story, WIDTH, initial_indent="  ", subsequent_indent="  "))
    rows = [["", breakdown.counted, *(names if len(names) > 1 else [breakdown.figure])]]
    for bucket in breakdown.buckets:
        values = ["–" if value is None else f"{value:.1f}" for value in bucket.values]
        rows.append([f"  {bucket.name}", f"{bucket.count:,}", *values])
    _print_table(rows)


def _print_sentences(worst: "Sequence[Sentence]", names: Sequence[str]) -> None:
    if not worst:
        return
    print("\nWorst sentences, by chrF:")
    for sentence in worst:
        print(f"  line {sentence.number:,}")
        told = [("source", sentence.source)] if sentence.source is not None else []
        told += [("reference", text) for text in sentence.references]
        who = ["translation"] if len(names) == 1 else names
        translated = zip(who, sentence.chrf, sentence.translations, strict=True)
        told += [(f"{name} ({value:.1f})", text) for name, value, text in translated]
        width = max(len(name) for name, _ in told)
        for name, text in told:
            print(f"    {name:{width}}  {' '.join((text or '').split())}")


def _print_table(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> None:
    """Columns as wide as they need; figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
