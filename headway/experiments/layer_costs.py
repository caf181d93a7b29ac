"""What the layers of table 1 cost: time and memory, in training and in a decoding step, as length and dimension grow.

One thread, so that what grows is the work and not the use of a second core. Time is this thread's processor time: neighbours
on the machine do not count, nor does a display. Memory is what torch takes from the system at its peak, above the input and
the weights; it is counted, and the same each time.
"""

import itertools
import math
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import torch

from headway.experiments.layers_compared import COMPARING, DECODING, HEAD_WIDTH, TRAINING
from headway.training.machine import keep_memory, threads

BUDGET = 120.0  # seconds
MEMORY = 2**30  # bytes that no point may need
LEAST, MOST = 3, 500  # runs of which a median is taken
VISIT = 0.25  # seconds: what a small size is run for at a time
DEARER = {"dimension": 4.0}  # times that the next size of a study takes at most; with as many tokens in longer sequences, 2

Study = Literal["length", "dimension", "crossing", "decoding", "comparing"]


@dataclass(frozen=True)
class Sizes:
    """What is measured. In training the tokens of a batch stay the same, in ever fewer and longer sequences."""

    lengths: tuple[int, ...] = (16, 32, 64, 128, 256, 512, 1024, 2048)  # n, at d = 256
    d: int = 256
    tokens: int = 2048
    dimensions: tuple[int, ...] = (32, 64, 128, 256, 512, 1024)  # d, at n = 128
    n: int = 128
    dimension_tokens: int = 1024
    crossing_dimensions: tuple[int, ...] = (64, 128)  # at which self-attention and the recurrent layer are compared besides d
    decoding_lengths: tuple[int, ...] = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)  # positions in the cache
    decoding_batch: int = 8
    comparing_lengths: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    comparing_d: int = HEAD_WIDTH
    comparing_tokens: int = 1024


@dataclass(frozen=True)
class Case:
    """One thing to measure."""

    study: Study
    side: str
    batch: int
    n: int
    d: int

    @property
    def key(self) -> str:
        return f"{self.study}/{self.side}/{self.batch}x{self.n}x{self.d}"


@dataclass(frozen=True)
class Point(Case):
    """A case that was measured: seconds of a whole batch, the median and the quartiles, and the bytes at the peak."""

    seconds: float
    low: float
    high: float
    runs: int
    bytes: int

    @property
    def seconds_each(self) -> float:
        """For one sequence: what the paper's table counts."""
        return self.seconds / self.batch

    @property
    def bytes_each(self) -> float:
        return self.bytes / self.batch


def measure(
    sizes: Sizes,
    *,
    budget: float = BUDGET,
    known: Mapping[str, dict[str, Any]] | None = None,
    on_point: Callable[[str, dict[str, Any]], None] = lambda key, value: None,
    most: int = MOST,
) -> list[Point]:
    """Measure what is not known yet: all sizes once, the small ones first, then round after round while there is time.

    The sides of one size are run in turn, and each size is come back to, so that a noisy moment hits all. A size that would
    not be done within the budget is left out, with those above it. `on_point` is told of each point when it is first
    measured, and again when it is known better; `known` hands in what it was told before, which is not measured again. What
    goes on has the budget of the sizes that are left, and no less than a tenth.
    """
    found = dict(known or {})
    groups = list_groups(sizes)
    missing = [left for group in groups if (left := [case for case in group if case.key not in found])]
    deadline = time.monotonic() + budget * max(0.1, len(missing) / len(groups))
    keep_memory()
    with threads(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        count_peak(lambda: None)  # the profiler takes a second to start
        visited = []
        for visit in _visit_once(missing, deadline, most):
            visited.append(visit)
            for key, value in visit.values():
                found[key] = value
                on_point(key, value)
        _visit_again(visited, deadline, most)
    for visit in visited:
        for key, value in visit.values():
            if value != found[key]:
                found[key] = value
                on_point(key, value)
    cases = [case for group in groups for case in group if case.key in found]
    return [Point(**asdict(case), **found[case.key]) for case in sorted(cases, key=lambda case: (case.study, case.d, case.n))]


def list_groups(sizes: Sizes) -> list[list[Case]]:
    """All cases in the order in which they are measured: those of one size together, the studies in turn, small sizes first."""
    two = ["self-attention", "recurrent"]
    studies = [
        [_group("length", TRAINING, sizes.tokens // n, n, sizes.d) for n in sizes.lengths],
        [_group("dimension", TRAINING, sizes.dimension_tokens // sizes.n, sizes.n, d) for d in sizes.dimensions],
        [_group("comparing", COMPARING, sizes.comparing_tokens // n, n, sizes.comparing_d) for n in sizes.comparing_lengths],
        [_group("decoding", DECODING, sizes.decoding_batch, n, sizes.d) for n in sizes.decoding_lengths],
        *(
            [_group("crossing", two, sizes.tokens // n, n, d) for n in sizes.lengths if n >= d / 2]
            for d in sizes.crossing_dimensions
        ),
    ]
    in_turn = itertools.chain(*itertools.zip_longest(*studies, fillvalue=[]))
    return [group for group in in_turn if group]


def _group(study: Study, sides: Iterable[str], batch: int, n: int, d: int) -> list[Case]:
    cases = (Case(study, side, max(1, batch), n, d) for side in sides)
    return [case for case in cases if bound_bytes(case) <= MEMORY]


def bound_bytes(case: Case) -> int:
    """No less than a case needs."""
    numbers = (12 if case.study == "decoding" else 40) * case.batch * case.n * case.d + 24 * case.d**2
    if "written out" in case.side:
        numbers += 6 * case.batch * max(1, case.d // HEAD_WIDTH) * case.n**2
    if case.side == "additive":
        numbers += 4 * case.batch * case.n**2 * case.d
    return 4 * numbers


class _Visited:
    """The cases of one size, ready to be run again, with the seconds of all runs so far."""

    def __init__(self, cases: list[Case], most: int) -> None:
        self.cases = cases
        self.runs = [_prepare(case) for case in cases]
        self.peaks = [count_peak(run) for run in self.runs]  # warms up as well
        self.times: list[list[float]] = [[] for _ in cases]
        self.round = math.inf  # seconds of the quickest round, by the clock on the wall
        self.run(LEAST, most)

    def run(self, least: int, most: int) -> None:
        """So many rounds, more while it is a matter of moments, but no more than `most` in all."""
        first = now = time.monotonic()
        for done in itertools.count():
            if done >= least and (now >= first + VISIT or len(self.times[0]) >= most):
                break
            for run, taken in zip(self.runs, self.times, strict=True):
                begun = time.thread_time()
                run()
                taken.append(time.thread_time() - begun)
            before, now = now, time.monotonic()
            self.round = min(self.round, now - before)

    def values(self) -> list[tuple[str, dict[str, Any]]]:
        values = []
        for case, peak, taken in zip(self.cases, self.peaks, self.times, strict=True):
            low, median, high = statistics.quantiles(taken, n=4, method="inclusive")
            values.append((case.key, {"seconds": median, "low": low, "high": high, "runs": len(taken), "bytes": peak}))
        return values


def _visit_once(groups: list[list[Case]], deadline: float, most: int) -> Iterator[_Visited]:
    """Each group, unless the one before it in its study lets expect that it would take too long."""
    expected: dict[tuple[Study, int], float] = {}
    for group in groups:
        study = (group[0].study, group[0].d if group[0].study == "crossing" else 0)
        if time.monotonic() + expected.get(study, 0.0) >= deadline:
            expected[study] = math.inf
            continue
        visited = _Visited(group, most)
        expected[study] = (LEAST + 2) * visited.round * DEARER.get(group[0].study, 2.0)
        yield visited


def _visit_again(groups: list[_Visited], deadline: float, most: int) -> None:
    """Round after round; what takes longer than the time that is left is passed over."""
    waiting = groups
    while waiting := [group for group in waiting if len(group.times[0]) < most and time.monotonic() + group.round < deadline]:
        for group in waiting:
            if time.monotonic() + group.round < deadline:
                group.run(1, most)


def _prepare(case: Case) -> Callable[[], None]:
    return _prepare_step(case) if case.study == "decoding" else _prepare_training(case)


def _prepare_training(case: Case) -> Callable[[], None]:
    """Forward and backward, to the weights and to the input, as in the midst of a stack."""
    layer = (COMPARING if case.study == "comparing" else TRAINING)[case.side](case.d)
    x = torch.randn(case.batch, case.n, case.d, requires_grad=True)
    gradient, learned = torch.randn(case.batch, case.n, case.d), [x, *layer.parameters()]

    def run() -> None:
        torch.autograd.grad(layer(x), learned, gradient)

    return run


def _prepare_step(case: Case) -> Callable[[], None]:
    """The position after n others."""
    layer = DECODING[case.side](case.d)
    x = torch.randn(case.batch, 1, case.d)
    with torch.inference_mode():
        state = layer.start(torch.randn(case.batch, case.n, case.d))

    def run() -> None:
        with torch.inference_mode():
            layer.step(x, state)

    return run


def count_peak(run: Callable[[], None]) -> int:
    """The most bytes that torch holds while `run` runs, above those that it held before."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or the profiler tells the terminal when it starts and stops
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    assert profiler.profiler and profiler.profiler.kineto_results
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    taken = itertools.accumulate(event.nbytes() for event in sorted(events, key=lambda event: event.start_ns()))
    return max(taken, default=0)
