"""How far gradient reaches back: how much each state of an encoder depends on an embedding so many places away.

    python benchmarks/rivals/gradients.py --bundle RUN/best --data RUN/data --out gradients.json
    python benchmarks/rivals/gradients.py --rival DIR --data RUN/data

The norm of u^T d state_i / d embedding_j for random unit vectors u, averaged over all i and j of a distance |i - j|, over
validation sentences that are at least as long as the furthest distance.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rival import load_rival
from torch import Tensor

from headway.atomic import write_file
from headway.bundle import read_bundle
from headway.data.pairtext import read_pairs
from headway.errors import HeadwayError, RequestError
from headway.models.encoder_decoder import EncoderDecoder
from headway.nn.masks import padding_mask
from headway.text.tokenizer import Tokenizer, Tokenizers

LENGTH = 20  # positions of a sentence at least, where there are enough of them
ENOUGH, MOST = 20, 50  # sentences
DRAWS = 4  # random vectors for each state


def measure_reach(model: EncoderDecoder, tokenizer: Tokenizer, texts: Sequence[str]) -> dict[str, Any]:
    """`share` of each of the `distances`, which sum to one, and the same `relative` to distance 0."""
    sources = [[*pieces, tokenizer.eos] for pieces in tokenizer.encode(texts)]
    by_length = sorted(map(len, sources), reverse=True)
    least = min(LENGTH, by_length[min(ENOUGH, len(by_length)) - 1]) if by_length else 0
    if least < 2:
        raise RequestError("There is no sentence of two pieces or more to measure on.", "Give longer validation sentences.")
    chosen = [source for source in sources if len(source) >= least][:MOST]
    random = torch.Generator().manual_seed(1)
    total, pairs = torch.zeros(least), torch.zeros(least)
    for source in chosen:
        norms = _jacobian_norms(model, torch.tensor(source), random)
        places = torch.arange(len(source))
        distance = (places[:, None] - places).abs()
        near = distance < least
        total.index_add_(0, distance[near], norms[near])
        pairs.index_add_(0, distance[near], torch.ones(int(near.sum())))
    mean = total / pairs
    return {
        "distances": list(range(least)),
        "share": (mean / mean.sum()).tolist(),
        "relative": (mean / mean[0]).tolist(),
        "sentences": len(chosen),
    }


def _jacobian_norms(model: EncoderDecoder, source: Tensor, random: torch.Generator) -> Tensor:
    """[S, S]: of state i, by embedding j. Each row of the batch is the sentence once more, and asks for another state."""
    length = len(source)
    rows = source.repeat(length, 1)
    norms = torch.zeros(length, length)
    model.eval()
    with torch.no_grad():
        embedded = model.source_embedding(rows) + model.positions(0, length)
    for _ in range(DRAWS):
        x = embedded.clone().requires_grad_()
        states = model.encoder(x, padding_mask(rows, model.pad))
        directions = torch.randn(length, states.shape[-1], generator=random)
        asked = (states.diagonal().t() * directions / directions.norm(dim=-1, keepdim=True)).sum()
        (gradient,) = torch.autograd.grad(asked, x)
        norms += gradient.norm(dim=-1) / DRAWS
    return norms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--bundle", type=Path, help="a Transformer, such as RUN/best")
    which.add_argument("--rival", type=Path, help="a directory that train.py filled")
    parser.add_argument("--data", type=Path, help="prepared data; what stands beside the bundle if not given")
    parser.add_argument("--out", type=Path, help="gradients.json beside the model if not given")
    options = parser.parse_args()
    try:
        _measure(options)
    except HeadwayError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


def _measure(options: argparse.Namespace) -> None:
    model = read_bundle(options.bundle).build_model() if options.bundle else load_rival(options.rival)
    data = options.data or (options.bundle.parent / "data" if options.bundle else None)
    if data is None or not (data / "prepared.json").exists():
        raise RequestError("There is no prepared data to measure on.", "Give --data RUN/data.")
    if not isinstance(model, EncoderDecoder):
        raise RequestError(f"{options.bundle} has no encoder with a decoder.", "Give a translator.")
    texts = [source for source, _ in read_pairs(data, "valid")]
    found = measure_reach(model, Tokenizers.load(data / "tokenizer").source, texts)
    out = options.out or (options.bundle.parent if options.bundle else options.rival) / "gradients.json"
    write_file(out, json.dumps(found) + "\n")
    print(out)


if __name__ == "__main__":
    main()
