"""What one writes first: `nn.Transformer`, all logits, `cross_entropy`, a plain loop, as many threads as there are cores.

    python benchmarks/peers/plain.py CUT --preset tiny --steps 60

CUT is what corpus.py wrote. Prints a report every ten updates, in the form of Headway's metrics.jsonl. The batches are cut as
Headway cuts them, embeddings are tied three ways, Adam is fused. `nn.Transformer` also drops attention weights and what is
inside the feed-forward network; with --paper-dropout only sublayers' outputs and embeddings, as the paper and Headway do.
"""

import argparse
import json
import math
import time
import warnings
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import numpy as np
import sentencepiece
import torch
import torch.nn.functional as F
from corpus import BOS, EOS, PAD, PIECES, SOURCE, TARGET, read_lines
from torch import Tensor, nn

from headway.data.batching import IGNORED, Batch, collate, epoch_batches
from headway.data.store import Segment
from headway.models.presets import PRESETS
from headway.nn.positions import sinusoids

SMOOTHING, DROPOUT, CLIP = 0.1, 0.3, 1.0
LONGEST = 256  # pieces of a sentence; longer pairs are left out
REPORT_EVERY = 10


class PlainTransformer(nn.Module):
    def __init__(self, preset: str, *, paper_dropout: bool) -> None:
        super().__init__()
        p = PRESETS[preset]
        self.d_model = p.d_model
        self.embedding = nn.Embedding(PIECES, p.d_model, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=p.d_model**-0.5)
        pre_norm = p.norm == "pre"
        self.transformer = nn.Transformer(
            p.d_model, p.n_heads, p.n_layers, p.n_layers, p.d_ff, dropout=DROPOUT, batch_first=True, norm_first=pre_norm
        )
        for layer in [*self.transformer.encoder.layers, *self.transformer.decoder.layers] if paper_dropout else []:
            layer.dropout.p = 0.0  # inside the feed-forward network
            for attention in (layer.self_attn, getattr(layer, "multihead_attn", layer.self_attn)):
                attention.dropout = 0.0
        self.output = nn.Linear(p.d_model, PIECES, bias=False)
        self.output.weight = self.embedding.weight
        self.dropout = nn.Dropout(DROPOUT)
        self.register_buffer("table", sinusoids(torch.arange(LONGEST + 1), p.d_model), persistent=False)

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


def make_batches(cut: Path, batch_tokens: int) -> Iterator[Batch]:
    """Epoch after epoch, without end."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(cut / "bpe.model"))
    sides = [
        [processor.piece_to_id(line.split()) for line in read_lines(cut / f"train.{language}")] for language in (SOURCE, TARGET)
    ]
    pairs = [pair for pair in zip(*sides, strict=True) if all(0 < len(sentence) <= LONGEST for sentence in pair)]
    lengths = np.array([[len(source), len(target)] for source, target in pairs])
    for epoch in count():
        updates = epoch_batches(
            lengths[:, 0] + 1,
            lengths[:, 1] + 1,
            [Segment(0, len(pairs), 1.0)],
            batch_tokens=batch_tokens,
            accumulate=1,
            seed=1,
            epoch=epoch,
        )
        for (indices,) in updates:
            sources, targets = zip(*(pairs[i] for i in indices), strict=True)
            yield collate(sources, targets, pad=PAD, bos=BOS, eos=EOS)


def main() -> None:
    warnings.filterwarnings("ignore", message="enable_nested_tensor")  # torch's note that pre-norm has no such shortcut
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cut", type=Path)
    parser.add_argument("--preset", default="tiny", choices=PRESETS)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--paper-dropout", action="store_true")
    options = parser.parse_args()

    torch.manual_seed(1)
    model = PlainTransformer(options.preset, paper_dropout=options.paper_dropout)
    optimizer = torch.optim.Adam(model.parameters(), 5e-4, (0.9, 0.98), 1e-9, fused=True)
    tokens, begun = 0, time.perf_counter()
    for step, batch in enumerate(islice(make_batches(options.cut, options.batch_tokens), options.steps), start=1):
        optimizer.zero_grad()
        loss = model.loss(*map(torch.from_numpy, (*batch.inputs, np.where(batch.target == IGNORED, PAD, batch.target))))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        tokens += batch.judged
        if step % REPORT_EVERY == 0:
            report = {"step": step, "loss": round(loss.item(), 4), "tokens": tokens, "seconds": time.perf_counter() - begun}
            print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
