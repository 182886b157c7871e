"""Adapt: kernel inducing points in one slice, with the neural tangent kernel, Adam and z-scores.

Nguyen, Chen and Lee, "Dataset meta-learning from kernel ridge-regression" (2020), under Eq. 5 of the paper:

    alpha |X - X0|^2 / |X0|^2 + (1 - alpha) 1/2 |y - K(x, X) (K(X, X) + lambda I)^-1 Y|^2

by its Algorithm 1: each step has a batch of points X, which it updates, and a batch of rows x, over which the second term is a mean.
Labels add up to 0, and lambda is a share of the mean diagonal, as in the authors' program for KIP.
"""

from dataclasses import dataclass

from sfumato.learn.ntk import network_kernel
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Tensor

_LAYERS = 1  # hidden ones: the plain network that KIP's authors use most
_EPOCHS = 30
_POINTS, _ROWS = 100, 100  # of a step
_LEARNING_RATE = 0.04
_LEAST_DEVIATION = 0.01  # of a feature in the unit box: constant ones have none


@dataclass(frozen=True)
class Slice:
    """The rows of one slice with their classes, and the points that shall stand for them."""

    rows: Tensor
    labels: Tensor
    points: Tensor
    classes: Tensor


def adapted(part: Slice, *, n_classes: int, alpha: float, ridge: float, seed: int = 0) -> Tensor:
    """The points of a slice after Adapt.

    Args:
        part: With at least one point.
        n_classes: Of the target.
        alpha: Weighs the density: 1 leaves the points where they are, 0 asks the classifier alone.
        ridge: The paper's lambda.
        seed: Of the batches.
    """
    if alpha == 1:
        return part.points
    torch = need_torch("kernel inducing points")
    about, unit = part.rows.mean(dim=0), part.rows.std(dim=0, correction=0).clamp(min=_LEAST_DEVIATION)
    start = ((part.points - about) / unit).double()
    known, wanted = (_centred(classes, n_classes) for classes in (part.labels, part.classes))
    points, slope, curvature = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    generator = torch.Generator().manual_seed(seed)
    for epoch in range(1, 1 + _EPOCHS):
        for some in torch.randperm(len(start), generator=generator).split(_POINTS):
            rows = torch.randint(len(part.rows), (_ROWS,), generator=generator)
            batch = ((part.rows[rows] - about) / unit).double()
            own = points[some].requires_grad_(True)
            misfit = 0.5 * (known[rows] - _regression(batch, own, wanted[some], ridge)).square().sum(dim=1).mean()
            moved = (own - start[some]).square().sum() / start[some].square().sum().clamp(min=1e-12)
            (gradient,) = torch.autograd.grad(alpha * moved + (1 - alpha) * misfit, own)
            # Adam, with the usual rates; torch's own takes seconds to be imported.
            slope[some] = 0.9 * slope[some] + 0.1 * gradient
            curvature[some] = 0.999 * curvature[some] + 0.001 * gradient.square()
            deviation = (curvature[some] / (1 - 0.999**epoch)).sqrt() + 1e-8
            points[some] -= _LEARNING_RATE * slope[some] / (1 - 0.9**epoch) / deviation
    return (points * unit + about).to(part.points)


def _regression(rows: Tensor, points: Tensor, labels: Tensor, ridge: float) -> Tensor:
    """What kernel ridge regression on the points says of the rows."""
    torch = need_torch("kernel inducing points")
    among = network_kernel(points, points, layers=_LAYERS)
    lifted = among + ridge * among.diagonal().mean() * torch.eye(len(points), dtype=points.dtype)
    return network_kernel(rows, points, layers=_LAYERS) @ torch.linalg.solve(lifted, labels)


def _centred(classes: Tensor, n_classes: int) -> Tensor:
    torch = need_torch("kernel inducing points")
    return torch.nn.functional.one_hot(classes, n_classes).double() - 1 / n_classes
