"""A picture as a sequence: cut into patches, each a vector (Dosovitskiy et al., 2021). B batch, C channels, P patch size."""

import torch
from torch import Tensor, nn


class PatchEmbedding(nn.Module):
    """The patches row by row, each projected; in front a vector of its own, in which the picture's class is gathered."""

    def __init__(self, *, channels: int, patch_size: int, d_model: int) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(channels * patch_size**2, d_model)
        self.first = nn.Parameter(torch.zeros(d_model))

    def forward(self, pixels: Tensor) -> Tensor:
        """[B, C, height, width] -> [B, 1 + patches, d_model]"""
        size = self.patch_size
        cut = pixels.unfold(2, size, size).unfold(3, size, size)  # [B, C, rows, columns, P, P]
        patches = self.projection(cut.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2))
        return torch.cat([self.first.expand(len(pixels), 1, -1), patches], dim=1)
