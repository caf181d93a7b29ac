"""Every initial value, in one place.

Xavier-uniform matrices keep the variance of what flows through them, forwards and backwards. W^Q, W^K and W^V stand in one
matrix but are drawn as the three that they are. Embeddings have variance 1 / d_model: scaled by sqrt(d_model) they are as
large as the positions added to them, and as an output projection they start with logits of variance about one.
"""

import torch
from torch import nn

from headway.nn.attention import MultiHeadAttention
from headway.nn.embeddings import Embedding, Output
from headway.nn.positions import LearnedPositions, RelativeBias


@torch.no_grad()
def initialise(model: nn.Module, *, embeddings: float | None = None) -> None:
    """`embeddings` is their deviation where it is to be another."""
    drawn: set[nn.Parameter] = set()  # a matrix that is embedding and output is drawn once
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, Embedding | LearnedPositions | Output):
            if module.weight not in drawn:
                own = embeddings if isinstance(module, Embedding) else None
                nn.init.normal_(module.weight, std=own or module.weight.shape[1] ** -0.5)
            drawn.add(module.weight)
        elif isinstance(module, RelativeBias):
            nn.init.zeros_(module.weight)
        elif isinstance(module, nn.LayerNorm | nn.RMSNorm):
            nn.init.ones_(module.weight)
            if isinstance(module, nn.LayerNorm):
                nn.init.zeros_(module.bias)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            keys, values = module.n_heads * module.d_k, module.n_heads * module.d_v
            for part in module.input.weight.split([keys, keys, values]):
                nn.init.xavier_uniform_(part)
            if module.scale is not None:  # its scores are not divided by sqrt(d_k): its queries are smaller from the start
                module.input.weight[:keys] *= module.d_k**-0.5 / module.scale
