"""What an evaluation found, as a person reads it on a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headway.amounts import amount
from headway.cli.columns import find_width, print_table, print_text, wrap

if TYPE_CHECKING:
    from headway.evaluation.evaluation import Breakdown, Comparison, Evaluation, Result, Sentence
    from headway.evaluation.metrics import Score

WORST = 3  # sentences shown


def print_evaluation(evaluation: "Evaluation") -> None:
    """What a reader must know comes first, then figures and what they mean, then where they come from."""
    results = evaluation.results
    for note in evaluation.notes:
        print_text(f"Note: {note}", hanging=6)
    if evaluation.notes:
        print()
    if len(results) == 1 and len(results[0].scores) == 1:
        _print_scores(results[0])
    else:
        _print_systems(results)
    print()
    print_text(_explain(evaluation))
    if evaluation.comparisons:
        _print_comparisons(evaluation.comparisons, results[0].name)
    names = [result.name for result in results]
    for breakdown in evaluation.breakdowns:
        _print_breakdown(breakdown, names)
    _print_sentences(evaluation.worst[:WORST], names)


def _explain(evaluation: "Evaluation") -> str:
    """How to read the figures above."""
    results, many = evaluation.results, evaluation.sentences
    told = f"{amount(many, 'sentence')} scored. More BLEU and chrF is better, less TER."
    if any(result.interval["bleu"] for result in results) and (
        evaluation.comparisons or any(len(result.scores) == 1 for result in results)
    ):
        told += " [low, high] is the 95 % interval."
    seeds = [(result.name, len(result.scores)) for result in results if len(result.scores) > 1]
    if seeds:
        several = ", ".join(f"{number} of {name}" for name, number in seeds)
        told += f" m ± s is the mean and the standard deviation over a system's seeds ({several})."
    return told


def _print_scores(result: "Result") -> None:
    """One line a metric, as everybody knows it; signatures beside the scores if there is room."""
    scores = result.scores[0].named() + ([("BLEU", result.compound_split)] if result.compound_split else [])
    lines = [(f"{name:5}{_show(value):24}", value.signature) for name, value in scores]
    if all(len(told) + 2 + len(signature) <= find_width() for told, signature in lines):
        for told, signature in lines:
            print(f"{told}  {signature}")
        return
    for place, (told, _) in enumerate(lines):
        print(f"{told.rstrip()}{'  compounds split' if place == len(result.scores[0].named()) else ''}")
    _print_signatures(result)


def _print_signatures(result: "Result") -> None:
    print()
    for name, value in result.scores[0].named():
        print_text(f"{name:5}{value.signature}", hanging=5)
    if result.compound_split:
        print_text(f"BLEU {result.compound_split.signature}", hanging=5)


def _show(score: "Score") -> str:
    return f"{score.score:6.2f}" + (f"  [{score.interval[0]:.2f}, {score.interval[1]:.2f}]" if score.interval else "")


def _print_systems(results: "Sequence[Result]") -> None:
    from headway.evaluation.evaluation import TITLES

    rows = [["", *TITLES.values()]]
    for result in results:
        if len(result.scores) == 1:
            cells = [_show(value).strip() for _, value in result.scores[0].named()]
        else:
            cells = [f"{result.mean[name]:.2f} ± {result.spread[name] or 0:.2f}" for name in result.mean]
        rows.append([result.name, *cells])
        if result.compound_split:
            rows.append(["  compounds split", _show(result.compound_split).strip(), "", ""])
    print_table(rows, left=(0, 1, 2, 3))
    _print_signatures(results[0])


def _print_comparisons(comparisons: "Sequence[Comparison]", first: str) -> None:
    from headway.evaluation.evaluation import TITLES

    print(f"\nCompared with {first}:")
    rows = []
    for comparison in comparisons:
        interval = f"[{comparison.interval[0]:+.2f}, {comparison.interval[1]:+.2f}]" if comparison.interval else ""
        title, difference = TITLES[comparison.metric], f"{comparison.difference:+.2f}"
        rows.append([f"  {comparison.system}", title, difference, interval, comparison.tell_verdict()])
    print_table(rows, left=(0, 1, 4))


def _print_breakdown(breakdown: "Breakdown", names: Sequence[str]) -> None:
    print(f"\n{breakdown.title}: {breakdown.figure}{'' if breakdown.higher_is_better else ', less is better'}")
    print_text(f"  {breakdown.story}", hanging=2)
    heads = list(names) if len(names) > 1 else [breakdown.figure]
    if sum(len(head) + 2 for head in heads) > find_width() // 2:
        heads = [str(number) for number in range(1, len(heads) + 1)]
        print_text("  " + ", ".join(f"{head}: {name}" for head, name in zip(heads, names, strict=True)), hanging=2)
    rows = [["", breakdown.counted, *heads, ""]]
    for bucket in breakdown.buckets:
        values = ["–" if value is None else f"{value:.1f}" for value in bucket.values]
        rows.append([f"  {bucket.name}", f"{bucket.count:,}", *values, "few: chance matters" if bucket.is_few else ""])
    print_table(rows, left=(0, len(rows[0]) - 1))


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
        is_beside = width <= find_width() // 3
        for name, text in told:
            start = f"    {name:{width}}  " if is_beside else "      "
            first, *rest = wrap(" ".join((text or "").split()), find_width() - len(start)) or [""]
            if not is_beside:
                print(f"    {name}")
            print(f"{start}{first}".rstrip())
            for line in rest:
                print(" " * len(start) + line)
