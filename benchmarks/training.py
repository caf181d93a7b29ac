"""Training throughput: Headway against `nn.Transformer` + `cross_entropy`, interleaved, same model, batches and optimiser.

    python benchmarks/training.py [--preset tiny] [--rounds 5] [--steps 6]

Target tokens a second, padding not counted. Both sides: a shared vocabulary of 8,000, tied embeddings, dropout 0.3 where the
paper has it, the preset's norm, label smoothing 0.1, clipping, fused Adam, all cores. Sentences have the lengths of image
captions (log-normal, median 13 pieces).
"""

import argparse
import json
import math
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headway.config import ModelSettings
from headway.models.presets import PRESETS, build_architecture
from headway.models.transformer import build, count_parameters
from headway.nn.positions import sinusoids
from headway.training.loss import fused_loss

VOCAB, PAD, SMOOTHING, DROPOUT = 8000, 0, 0.1, 0.3
Batch = tuple[Tensor, Tensor, Tensor]


def make_batches(count: int, tokens: int, seed: int = 1) -> list[Batch]:
    """Length-sorted batches of `tokens` target tokens, of random pieces."""
    rng = np.random.default_rng(seed)
    batches = []
    lengths = np.sort(np.clip(rng.lognormal(math.log(13), 0.35, size=count * tokens // 8), 4, 60).astype(int))
    starts = rng.permutation(len(lengths) - tokens // 4)[:count]
    for start in starts:
        chosen = lengths[start : start + int(np.searchsorted(np.cumsum(lengths[start:]), tokens))]
        target = torch.full((len(chosen), int(chosen.max())), PAD)
        source = target.clone()
        for row, length in enumerate(chosen):
            source[row, :length] = torch.from_numpy(rng.integers(4, VOCAB, length))
            target[row, :length] = torch.from_numpy(rng.integers(4, VOCAB, length))
        batches.append((source, target.roll(1, dims=1), target))
    return batches


class PlainTransformer(nn.Module):
    """What one writes first: torch's own model, embeddings, all logits, torch's own loss."""

    def __init__(self, preset: str) -> None:
        super().__init__()
        p = PRESETS[preset]
        self.d_model = p.d_model
        self.embedding = nn.Embedding(VOCAB, p.d_model, padding_idx=PAD)
        pre_norm = p.norm == "pre"
        self.transformer = nn.Transformer(
            p.d_model, p.n_heads, p.n_layers, p.n_layers, p.d_ff, dropout=DROPOUT, batch_first=True, norm_first=pre_norm
        )
        for layer in [*self.transformer.encoder.layers, *self.transformer.decoder.layers]:
            layer.dropout.p = 0.0  # inside the feed-forward network, where the paper has none
            for attention in (layer.self_attn, getattr(layer, "multihead_attn", layer.self_attn)):
                attention.dropout = 0.0  # nor on attention weights
        self.output = nn.Linear(p.d_model, VOCAB, bias=False)
        self.output.weight = self.embedding.weight
        self.dropout = nn.Dropout(DROPOUT)
        self.register_buffer("table", sinusoids(torch.arange(256), p.d_model), persistent=False)

    def embed(self, tokens: Tensor) -> Tensor:
        return self.dropout(self.embedding(tokens) * math.sqrt(self.d_model) + self.table[: tokens.shape[1]])

    def loss(self, source: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
        padding = source == PAD
        x = self.transformer(
            self.embed(source),
            self.embed(target_in),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target_in.shape[1]),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.cross_entropy(self.output(x).flatten(0, 1), target_out.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)


def headway_loss(model: nn.Module) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    def loss(source: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
        x, _ = model.decode(target_in, model.start(source))
        real = target_out != PAD
        return fused_loss(x[real], model.output.weight, target_out[real], SMOOTHING) / real.sum()

    return loss


def run(model: nn.Module, loss: Callable[..., Tensor], optimizer: torch.optim.Optimizer, batches: list[Batch]) -> float:
    """Target tokens a second."""
    tokens, start = 0, time.perf_counter()
    for batch in batches:
        optimizer.zero_grad()
        loss(*batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tokens += int((batch[2] != PAD).sum())
    return tokens / (time.perf_counter() - start)


def main() -> None:
    warnings.filterwarnings("ignore", message="enable_nested_tensor")  # torch's note that pre-norm has no such shortcut
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="tiny", choices=PRESETS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    options = parser.parse_args()

    architecture = build_architecture(
        ModelSettings(preset=options.preset, dropout=DROPOUT), source_vocab=VOCAB, target_vocab=VOCAB, shared=True
    )
    ours, plain = build(architecture), PlainTransformer(options.preset)
    sides = {"headway": (ours, headway_loss(ours)), "nn.Transformer": (plain, plain.loss)}
    optimizers = {name: torch.optim.Adam(m.parameters(), 1e-4, (0.9, 0.98), 1e-9, fused=True) for name, (m, _) in sides.items()}
    batches = make_batches((options.rounds + 1) * options.steps, options.batch_tokens)
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(options.rounds + 1):
        part = batches[turn * options.steps : (turn + 1) * options.steps]
        for name, (model, loss) in sides.items():
            speed = run(model, loss, optimizers[name], part)
            if turn:  # the first round warms up
                speeds[name].append(speed)
    ratios = [a / b for a, b in zip(*speeds.values(), strict=True)]
    result = {
        "preset": options.preset,
        "parameters": {name: count_parameters(model) for name, (model, _) in sides.items()},
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "tokens_per_second": {name: round(statistics.median(values)) for name, values in speeds.items()},
        "ratio": {"median": round(statistics.median(ratios), 2), "least": round(min(ratios), 2), "most": round(max(ratios), 2)},
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
