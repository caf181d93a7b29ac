"""Muon (Jordan et al., 2024): the step of a matrix is its momentum with all directions made equally long.

The gradient of a matrix is strong in the few directions that every sentence speaks of and weak in the many that rare words
need. Adam, which knows single numbers, walks along the strong ones. Muon takes the momentum apart into directions,
G = U S V^T, and walks along U V^T. All that the layers learn is in matrices; the rest (embeddings, norms, biases) stays Adam's.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from headway.models.model import Model
from headway.nn.attention import MultiHeadAttention
from headway.nn.products import wide_products
from headway.training.group import Group

MOMENTUM = 0.95
AS_ADAM = 0.2  # of a step's numbers, root mean square: what Adam's come to, so that the same rates fit (Liu et al., 2025)
ROUNDS = 5
POLYNOMIAL = (3.4445, -4.7750, 2.0315)  # of a singular value s: a s + b s^3 + c s^5, which sends (0, 1] near 1 in five rounds

Matrices = Mapping[Tensor, Sequence[int]]  # rows of each of the matrices that a parameter holds one below the other


def find_matrices(model: Model) -> Matrices:
    """The linear maps of all layers. An attention has those of each head's queries, keys and values in one parameter."""
    found: dict[Tensor, Sequence[int]] = {}
    for module in (module for layer in model.layers for module in layer.modules()):
        if isinstance(module, MultiHeadAttention):
            found[module.input.weight] = [*[module.d_k] * 2 * module.n_heads, *[module.d_v] * module.n_heads]
        elif isinstance(module, nn.Linear):
            found.setdefault(module.weight, [len(module.weight)])
    return found


class Muon(torch.optim.Optimizer):
    """The processes of a group, which all hold the same gradient, share the work: each takes some of the matrices."""

    def __init__(self, matrices: Matrices, group: Group) -> None:
        super().__init__(list(matrices), {"lr": 0.0})
        self._matrices, self._group = matrices, group

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        given = [(parameter, parameter.grad) for parameter in self._matrices if parameter.grad is not None]
        parameters, gradients = [parameter for parameter, _ in given], [gradient for _, gradient in given]
        for parameter in parameters:
            if not self.state[parameter]:
                self.state[parameter]["exp_avg"] = torch.zeros_like(parameter)
        momenta = [self.state[parameter]["exp_avg"] for parameter in parameters]
        torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
        ahead = torch._foreach_lerp(gradients, momenta, MOMENTUM)  # Nesterov's
        alike: defaultdict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        for parameter, wanted in zip(parameters, ahead, strict=True):
            rows = list(self._matrices[parameter])
            for weight, way in zip(parameter.split(rows), wanted.split(rows), strict=True):
                alike[way.shape].append((weight, way))
        for shape, members in alike.items():
            steps = self._orthogonalise(torch.stack([way for _, way in members]))
            length = self.param_groups[0]["lr"] * AS_ADAM * max(shape) ** 0.5
            torch._foreach_add_([weight for weight, _ in members], list(steps.unbind()), alpha=-length)

    def _orthogonalise(self, matrices: Tensor) -> Tensor:
        rank, size = self._group.rank, self._group.size
        if size == 1:
            return orthogonalise(matrices)
        mine = slice(len(matrices) * rank // size, len(matrices) * (rank + 1) // size)
        steps = torch.zeros_like(matrices)
        steps[mine] = orthogonalise(matrices[mine])
        self._group.start_sum(steps).wait()
        return steps


@wide_products()
def orthogonalise(matrices: Tensor) -> Tensor:
    """Of each matrix U S V^T of a batch [K, m, n] about U V^T: its singular values come to between 0.7 and 1.2.

    Newton-Schulz: an odd polynomial of a matrix is one of its singular values, and needs products alone.
    """
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonalise(matrices.mT).mT
    a, b, c = POLYNOMIAL
    x = matrices / (torch.linalg.matrix_norm(matrices, keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x
