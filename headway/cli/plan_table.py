"""A plan as a person reads it on a terminal: what a run takes, and how good it will be."""

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headway.amounts import amount

if TYPE_CHECKING:
    from headway.evaluation.extrapolation import Extrapolation
    from headway.experiments.learning_curve import Quality
    from headway.training.forecast import Figures

WIDTH = 100
LITTLE = 0.3  # BLEU: less is not seen


def tell_plan(f: "Figures") -> Iterator[str]:
    """The figures as a table, and what they do not say by themselves."""
    machine = f"{amount(f.processes, 'process')} x {amount(f.threads, 'thread')}, {f.precision}"
    other_side = "shared" if f.shared_vocabulary else f"and {f.source_vocabulary:,} of the source"
    rows = {
        "Corpus": f"{_tell_corpus(f)}; {f.target_tokens:,} target tokens an epoch",
        "Vocabulary": f"{f.vocabulary:,} pieces, {other_side}",
        "Model": f"{f.preset}: {f.layers}+{f.decoder_layers} layers, d_model {f.d_model}, {f.parameters:,} parameters",
        "Update": f"{f.batch_tokens:,} target tokens; {machine}",
        "Length": f"{amount(f.steps, 'update')}, {f.epochs:,.1f} epochs{_tell_minutes(f)}",
        "Memory": f"{_bytes(f.memory_bytes)} a process, {'measured' if f.memory_measured else 'estimated'}",
        "Disk": f"{_bytes(f.disk_bytes)} for {amount(f.checkpoints, 'checkpoint')} and the models",
        "Arithmetic": f"{_power(f.flops)} FLOPs",
        "Time here": f"{_time(f.seconds)}: {f.tokens_per_second:,.0f} target tokens/s, {f.mfu:.0%} of peak, "
        + ("measured" if f.measured else "assumed"),
    }
    if f.gpus and f.gpu_seconds is not None:
        rows["Time there"] = (
            f"{_time(f.gpu_seconds)}: {amount(f.gpus, 'GPU')} of {f.tflops:g} TFLOP/s, {f.utilisation:.0%} of peak, assumed"
        )
    yield from (f"{name:12}{text}" for name, text in rows.items())
    told = "validations take some of the minutes" if f.max_minutes else "validations come on top"
    yield from ("", f"Times are of the updates alone: {told}, and --patience may end a run sooner.")
    if f.paper_flops:
        yield from ("", _tell_paper(f, f.paper_flops))


def tell_quality(quality: "Quality", whole: "Figures") -> Iterator[str]:
    """What the parts came to, and what that foretells."""
    columns = ("share", "pairs", "updates", "BLEU", "chrF")
    yield ""
    yield "".join(f"{name:>10}" for name in columns)
    for part in quality.parts:
        told = (_share(part.share), f"{part.pairs:,}", f"{part.updates:,}", f"{part.bleu:.1f}", f"{part.chrf:.1f}")
        yield "".join(f"{cell:>10}" for cell in told)
    yield ""
    if not quality.bleu or not quality.chrf:
        yield from _fill(
            "Too early to say: the smaller parts have not learned to translate in their share of the time. "
            "Give a larger budget, or train on everything."
        )
        return
    yield "".join(
        f"{cell:>10}" for cell in ("all", f"{whole.pairs:,}", "", f"{quality.bleu.score:.1f}", f"{quality.chrf.score:.1f}")
    )
    for name, found in (("BLEU", quality.bleu), ("chrF", quality.chrf)):
        yield f"{name:>10}  {found.interval[0]:.1f} to {found.interval[1]:.1f} in 95 of 100 cases"
    yield from ("", *_fill(_tell_gain(quality.bleu)), "")
    length = amount(float(f"{quality.max_minutes:.3g}"), "minute") if quality.max_minutes else amount(whole.steps, "update")
    shorter = quality.max_minutes and quality.max_minutes != whole.max_minutes
    yield from _fill(
        f"Foretold is what `headway train` with these settings comes to in {length}, on "
        f"{amount(quality.sentences, 'sentence')} like those of the validation part"
        f"{'; a longer training should do better' if shorter else ''}."
    )


def _tell_gain(found: "Extrapolation") -> str:
    low, high = found.gain_interval
    if found.gain < LITTLE:
        return f"More text of this kind would not help much: twice as much gives {low:+.1f} to {high:+.1f} BLEU."
    sure = "that is two doublings beyond what was tried, so take it for its size rather than for its digits"
    return f"Twice as much text would give about {found.gain:+.1f} BLEU ({low:+.1f} to {high:+.1f}): {sure}."


def _share(share: float) -> str:
    return f"1/{round(1 / share)}"


def _fill(text: str) -> list[str]:
    return textwrap.wrap(text, width=WIDTH, break_long_words=False, break_on_hyphens=False)


def _tell_corpus(f: "Figures") -> str:
    if f.pairs_read is not None:
        return f"{amount(f.pairs_read, 'pair')} read, {f.pairs:,} kept for training"
    return (
        f"{amount(f.pairs, 'pair')} of {f.source_tokens / f.pairs - 1:g} and {f.target_tokens / f.pairs - 1:g} pieces, assumed"
    )


def _tell_minutes(f: "Figures") -> str:
    return f", as far as {amount(f.max_minutes, 'minute')} {'goes' if f.max_minutes == 1 else 'go'}" if f.max_minutes else ""


def _tell_paper(f: "Figures", flops: float) -> str:
    from headway.training.forecast import PAPER_GPUS, PAPER_TFLOPS

    return textwrap.fill(
        f"The paper gives {_power(flops)} FLOPs for this: {PAPER_GPUS} GPUs x {f.paper_hours} hours x {PAPER_TFLOPS} TFLOP/s "
        f"of peak, which is what its machine could have computed in that time. The {_power(f.flops)} above is what the model "
        f"needs; the quotient, {f.paper_utilisation:.2f}, is the share of the peak that was used.",
        width=WIDTH,
    )


def _bytes(number: float) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.0f} MB"


def _power(number: float) -> str:
    return f"{number:.1e}".replace("e+", "e")


def _time(seconds: float) -> str:
    from headway.progress import duration

    days = seconds / 86_400
    return f"{days:,.0f} days" if days >= 3 else duration(seconds)
