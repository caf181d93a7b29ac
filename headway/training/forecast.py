"""What a run will take, by arithmetic: updates, floating-point operations, memory, disk, time. Nothing is measured here.

Tokens are counted with their end marks, and each corpus as often as its weight takes it.
"""

import math
from dataclasses import astuple, dataclass

from headway.architectures import Architecture
from headway.config import Settings, TrainingSettings
from headway.data.batching import epoch_batches
from headway.data.store import Store
from headway.models.flops import Lengths, training_flops
from headway.models.presets import PRESETS
from headway.nn.products import has_wide_products
from headway.nn.short_attention import find_longest
from headway.training.choices import choose_budget, total_updates
from headway.training.loss import ROWS
from headway.training.machine import DTYPES
from headway.training.update import count_passes, count_readings

USED = 0.5  # share of this machine's peak that updates come to, if they are not measured
NUMBER = 4  # bytes; weights, gradients and their running means are fp32 whatever the products are
PROGRAM = 340_000_000  # bytes of a process before it has a model: Python, torch, tokenizers; measured
COMPILED = 200_000_000  # bytes of a process's matrix products, where oneDNN compiles them for their shapes; measured
SPARE = 1.5  # what the backward pass needs beside what was kept, padding, freed memory that is kept; measured


@dataclass(frozen=True)
class Published:
    """What the paper gives for a model: updates, hours on its GPUs, and FLOPs, which are those hours times their peak."""

    steps: int
    hours: int
    flops: float


PAPER_BATCH, PAPER_GPUS, PAPER_TFLOPS = 25_000, 8, 9.5  # target tokens of an update; P100s, and the peak of one
PUBLISHED = {"base": Published(100_000, 12, 3.3e18), "big": Published(300_000, 84, 2.3e19)}  # sections 5.2 and 6.1


@dataclass(frozen=True)
class Size:
    """Of a corpus. Where none was read, nobody knows how many pairs there were before the filters."""

    pairs_read: int | None
    pairs: int
    shared_vocabulary: bool


@dataclass(frozen=True)
class Epoch:
    """What one pass over a corpus comes to."""

    lengths: Lengths
    updates: int
    flops: float

    @property
    def tokens_per_update(self) -> float:
        return self.lengths.target / self.updates


@dataclass(frozen=True)
class Speed:
    """Of this machine with this model, measured or assumed. `mfu` is a share of its best matrix product's."""

    tokens_per_second: float
    mfu: float
    measured: bool
    memory_bytes: int | None = None  # the most that the first process held, if measured


@dataclass(frozen=True)
class Gpus:
    """A machine that is not here."""

    number: int
    tflops: float  # of one, at its peak
    utilisation: float  # share of the peak that is used

    def seconds(self, flops: float) -> float:
        return flops / (self.number * self.tflops * 1e12 * self.utilisation)


@dataclass(frozen=True)
class Figures:
    """All that a plan tells, by the names that `headway plan --json` gives. Tokens are an epoch's."""

    pairs_read: int | None
    pairs: int
    source_tokens: int
    target_tokens: int
    shared_vocabulary: bool
    source_vocabulary: int
    vocabulary: int  # the target's
    preset: str | None
    layers: int
    decoder_layers: int
    d_model: int
    heads: int
    parameters: int
    batch_tokens: int
    processes: int
    threads: int
    precision: str
    max_minutes: float | None
    steps: int
    epochs: float
    memory_bytes: int
    memory_measured: bool
    disk_bytes: int
    checkpoints: int
    flops: float
    measured: bool
    tokens_per_second: float
    mfu: float
    seconds: float
    gpus: int | None
    tflops: float | None
    utilisation: float | None
    gpu_seconds: float | None
    paper_hours: int | None
    paper_flops: float | None
    paper_utilisation: float | None


def forecast(
    settings: Settings,  # resolved
    a: Architecture,
    size: Size,
    epoch: Epoch,
    speed: Speed,
    *,
    gpus: Gpus | None = None,
    device: str = "cpu",
) -> Figures:
    training = settings.training
    assert training.batch_tokens and isinstance(training.processes, int) and training.threads and training.precision
    steps = count_updates(training, epoch, speed.tokens_per_second)
    flops = epoch.flops * steps / epoch.updates
    published = find_published(a, training.batch_tokens, steps)
    memory = max(speed.memory_bytes or estimate_update_memory(a, training, epoch, device), estimate_saving_memory(a, training))
    return Figures(
        pairs_read=size.pairs_read,
        pairs=size.pairs,
        source_tokens=round(epoch.lengths.source),
        target_tokens=round(epoch.lengths.target),
        shared_vocabulary=size.shared_vocabulary,
        source_vocabulary=a.source_vocab,
        vocabulary=a.target_vocab,
        preset=settings.model.preset,
        layers=a.n_layers,
        decoder_layers=a.n_decoder_layers,
        d_model=a.d_model,
        heads=a.n_heads,
        parameters=count_weights(a),
        batch_tokens=training.batch_tokens,
        processes=training.processes,
        threads=training.threads,
        precision=training.precision,
        max_minutes=training.max_minutes,
        steps=steps,
        epochs=round(steps / epoch.updates, 3),
        memory_bytes=round(memory),
        memory_measured=memory == speed.memory_bytes,
        disk_bytes=estimate_disk(a, training, steps),
        checkpoints=count_checkpoints(training, steps),
        flops=flops,
        measured=speed.measured,
        tokens_per_second=round(speed.tokens_per_second, 1),
        mfu=round(speed.mfu, 4),
        seconds=round(steps * epoch.tokens_per_update / speed.tokens_per_second, 1),
        gpus=gpus.number if gpus else None,
        tflops=gpus.tflops if gpus else None,
        utilisation=gpus.utilisation if gpus else None,
        gpu_seconds=round(gpus.seconds(flops), 1) if gpus else None,
        paper_hours=published.hours if published else None,
        paper_flops=published.flops if published else None,
        paper_utilisation=round(flops / published.flops, 3) if published else None,
    )


def read_epoch(store: Store, a: Architecture, training: TrainingSettings) -> Epoch:
    """An epoch of a corpus that is there."""
    assert training.batch_tokens and training.accumulate
    sources, targets = store.source_lengths, store.target_lengths
    lengths = _sum([(Lengths.of(sources[i:j] + 1, targets[i:j] + 1), weight) for i, j, weight in store.segments])
    updates = epoch_batches(
        sources + 1,
        targets + 1,
        store.segments,
        batch_tokens=training.batch_tokens,
        accumulate=training.accumulate,
        seed=training.seed,
        epoch=0,
    )
    return Epoch(lengths, len(updates), count_readings(training) * training_flops(a, lengths))


def imagine_epoch(pairs: int, source_length: float, target_length: float, a: Architecture, training: TrainingSettings) -> Epoch:
    """An epoch of a corpus that is not there: pairs all alike, of so many pieces and an end mark."""
    assert training.batch_tokens
    s, t = source_length + 1, target_length + 1
    lengths = Lengths(pairs * s, pairs * t, pairs * s * s, pairs * t * t, pairs * s * t, pairs * t)
    updates = math.ceil(lengths.target / training.batch_tokens)
    return Epoch(lengths, updates, count_readings(training) * training_flops(a, lengths))


def _sum(parts: list[tuple[Lengths, float]]) -> Lengths:
    """Each as often as its weight says."""
    weighted = [[weight * number for number in astuple(lengths)] for lengths, weight in parts]
    return Lengths(*map(sum, zip(*weighted, strict=True)))


def count_updates(training: TrainingSettings, epoch: Epoch, tokens_per_second: float) -> int:
    """As the run will choose. Of minutes, what validations take is not taken off."""
    known = total_updates(training, target_tokens=round(epoch.lengths.target), updates_per_epoch=epoch.updates)
    if training.max_minutes is None:
        assert known is not None
        return known
    affordable = max(1, round(60 * training.max_minutes * tokens_per_second / epoch.tokens_per_update))
    return min(affordable, known or affordable)


def count_weights(a: Architecture) -> int:
    """The parameters of the model that `models.transformer` builds, without building it."""
    attention = (a.d_model + 1) * a.n_heads * (2 * a.d_k + a.d_v) + (a.n_heads * a.d_v + 1) * a.d_model
    feed_forward = (a.d_model + 1) * a.d_ff + (a.d_ff + 1) * a.d_model
    norm = 2 * a.d_model
    encoder = a.n_layers * (attention + feed_forward + 2 * norm)
    decoder = a.n_decoder_layers * (2 * attention + feed_forward + 3 * norm)
    last_norms = 2 * norm if a.norm == "pre" else 0
    rows = {"all": a.target_vocab, "target": a.source_vocab + a.target_vocab, "none": a.source_vocab + 2 * a.target_vocab}
    positions = a.max_positions if a.positions == "learned" else 0
    return encoder + decoder + last_norms + (rows[a.tie] + positions) * a.d_model


def count_moments(a: Architecture, training: TrainingSettings) -> int:
    """Numbers that the optimiser remembers: Adam two a parameter, Muon one of each matrix in the layers."""
    attention = a.d_model * a.n_heads * (2 * a.d_k + 2 * a.d_v)
    feed_forward = 2 * a.d_model * a.d_ff
    matrices = a.n_layers * (attention + feed_forward) + a.n_decoder_layers * (2 * attention + feed_forward)
    return 2 * count_weights(a) - (matrices if training.optimizer == "muon" else 0)


def count_kept(
    a: Architecture, lengths: Lengths, *, recompute: bool = False, device: str = "cpu", precision: str = "fp32"
) -> float:
    """Numbers that a forward pass keeps for the backward pass, padding not counted.

    A sublayer keeps its input, what its norm reads and a dropout mask, each as wide as the model; an attention also queries,
    keys, values and output, and its weights where `nn.short_attention` computes it, twice if some are dropped; a feed-forward
    network what its activation gives, and with dropout its mask and what is left. With `recompute` a layer keeps its input, and
    one layer at a time the rest.
    """
    sublayer = (3 if a.dropout else 2) * a.d_model
    heads = a.n_heads * (a.d_k + a.d_v)  # queries and output, or keys and values
    inner = a.d_ff * (3 if a.activation_dropout else 2 if a.activation == "gelu" else 1)
    longest = find_longest(DTYPES[precision], wide=has_wide_products())
    short = device == "cpu" and lengths.source_source <= longest * lengths.source
    weights = a.n_heads * (2 if a.attention_dropout else 1 if short else 0)  # of a pair of positions
    encoder = lengths.source * (2 * sublayer + 2 * heads + inner) + lengths.source_source * weights
    decoder = lengths.target * (3 * sublayer + 3 * heads + inner) + (lengths.target_target + lengths.source_target) * weights
    memory = lengths.source * a.n_decoder_layers * heads  # its keys and values
    ends = (lengths.source + lengths.target) * sublayer + lengths.target * a.d_model  # embeddings, last norms, loss
    if recompute:
        inputs = (lengths.source * a.n_layers + lengths.target * a.n_decoder_layers) * a.d_model
        return ends + memory + inputs + max(encoder, decoder)
    return ends + memory + a.n_layers * encoder + a.n_decoder_layers * decoder


def estimate_update_memory(a: Architecture, training: TrainingSettings, epoch: Epoch, device: str) -> float:
    """Bytes of a process in the backward pass: the model, what the forward pass kept, of the loss two gradients of the output
    matrix and one chunk of logits, and the compiled products. Half precision is counted as whole.
    """
    target, precision = count_readings(training) * pass_tokens(training, device), training.precision or "fp32"
    kept = count_kept(a, epoch.lengths, recompute=training.recompute, device=device, precision=precision)
    loss = 2 * a.target_vocab * a.d_model + min(ROWS[device], target) * a.target_vocab
    compiled = COMPILED if device == "cpu" and (precision == "bf16" or has_wide_products()) else 0
    return PROGRAM + compiled + _held(a, training) + NUMBER * SPARE * (kept * target / epoch.lengths.target + loss)


def estimate_saving_memory(a: Architecture, training: TrainingSettings) -> float:
    """Bytes of the first process while it writes a checkpoint, which it then holds whole."""
    return PROGRAM + _held(a, training) + _saved(a, training)


def _held(a: Architecture, training: TrainingSettings) -> float:
    assert isinstance(training.processes, int)
    gradient = NUMBER * count_weights(a)
    return (_saved(a, training) + gradient) / (training.processes if training.shard else 1)


def _saved(a: Architecture, training: TrainingSettings) -> int:
    """Bytes of a checkpoint: weights, their moving average if there is one, what the optimiser remembers."""
    return NUMBER * ((1 + bool(training.ema)) * count_weights(a) + count_moments(a, training))


def pass_tokens(training: TrainingSettings, device: str) -> float:
    """Target tokens that a process computes at once (training/update.py)."""
    assert training.batch_tokens and isinstance(training.processes, int)
    return training.batch_tokens / (training.processes * count_passes(training, training.processes, device))


def count_checkpoints(training: TrainingSettings, steps: int) -> int:
    """As many as stand on the disk at once: a new one is written before the oldest goes."""
    made = math.ceil(steps / choose_budget(training, steps).checkpoint_every)
    return min(made, max(training.keep_checkpoints, training.average) + 1)


def estimate_disk(a: Architecture, training: TrainingSettings, steps: int) -> int:
    """Bytes of the checkpoints and of the models: best, last, and a new one that is written before its elder goes."""
    return _saved(a, training) * count_checkpoints(training, steps) + 3 * NUMBER * count_weights(a)


def find_published(a: Architecture, batch_tokens: int, steps: int) -> Published | None:
    """What the paper says of this very training, if it is one of the paper's."""
    for name, published in PUBLISHED.items():
        preset = PRESETS[name]
        paper = (preset.n_layers, preset.n_layers, preset.d_model, preset.d_ff, preset.n_heads, PAPER_BATCH, published.steps)
        if paper == (a.n_layers, a.n_decoder_layers, a.d_model, a.d_ff, a.n_heads, batch_tokens, steps):
            return published
    return None
