"""The neural tangent kernel of a fully connected ReLU network, in closed form, and regression with it.

Jacot, Gabriel and Hongler, "Neural tangent kernel: convergence and generalization in neural networks" (2018). On unit
vectors with cosine u, and with the arc-cosine kernels of Cho and Saul (2009)

    k0(u) = (pi - arccos u) / pi,    k1(u) = (u (pi - arccos u) + sqrt(1 - u^2)) / pi,    k1' = k0,

a network with L hidden layers has the kernel T_L, where S_0 = T_0 = u, S_{l+1} = k1(S_l) and
T_{l+1} = T_l k0(S_l) + S_{l+1}. Here it is divided by T_L(1) = L + 1.
"""

import math
from typing import Any

from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Tensor

_WITHIN = 1 - 1e-4  # slopes are taken this far from the ends, where they grow without bound
_INSIDE = 1 - 1e-9  # the same where torch differentiates, in double precision


def kernel(cosines: Tensor, *, layers: int) -> tuple[Tensor, Tensor]:
    """The kernel at given cosines, and its slope there."""
    torch = need_torch("the neural tangent kernel")
    inside = cosines.clamp(-_WITHIN, _WITHIN)
    s, s_slope = inside, torch.ones_like(inside)
    t, t_slope = s, s_slope
    for _ in range(layers):
        angle = torch.arccos(s.clamp(-_WITHIN, _WITHIN))
        sine = torch.sqrt((1 - s * s).clamp(min=1 - _WITHIN**2))
        k0, k0_slope = (math.pi - angle) / math.pi, 1 / (math.pi * sine)
        k1 = (s * (math.pi - angle) + sine) / math.pi
        t_slope = t_slope * k0 + t * k0_slope * s_slope + k0 * s_slope
        t, s, s_slope = t * k0 + k1, k1, k0 * s_slope
    return t / (layers + 1), t_slope / (layers + 1)


def kernel_of(cosines: Tensor, *, layers: int) -> Tensor:
    """The kernel as a function to differentiate: its slope is worked out once, also where many gradients need it."""
    fixed = cosines.detach()
    values, slopes = kernel(fixed, layers=layers)
    return values + slopes * (cosines - fixed)


def unit_rows(vectors: Tensor) -> Tensor:
    """Vectors of length 1."""
    return vectors / (vectors.square().sum(dim=-1, keepdim=True) + 1e-12).sqrt()


def prediction(example: Tensor, points: Tensor, labels: Tensor, *, layers: int, ridge: float) -> Tensor:
    """What kernel ridge regression on labelled points says of one example: k(x, X) (K + ridge I)^-1 Y.

    Values and gradients are those of the formula. The inverse is held fixed and differentiated by hand, d(A^-1) =
    -A^-1 dA A^-1, so that many examples share it.
    """
    torch = need_torch("the neural tangent kernel")
    points = unit_rows(points)
    among = kernel_of(points @ points.T, layers=layers)
    to_points = kernel_of(points @ unit_rows(example), layers=layers)
    matrix = among + ridge * torch.eye(len(points), dtype=points.dtype, device=points.device)
    inverse = torch.linalg.inv(matrix.detach())
    weights = inverse @ labels
    towards = inverse @ to_points.detach()
    return to_points @ weights - towards @ ((matrix - matrix.detach()) @ weights)


def network_kernel(x: Tensor, y: Tensor, *, layers: int, weight: float = math.sqrt(2), bias: float = 0.1) -> Tensor:
    """The kernel of vectors of any length, for a network whose weights and biases have these deviations, as in KIP's own program.

    Vectors may have leading dimensions, which are those of the result. It is differentiated by torch.
    """
    torch = need_torch("the neural tangent kernel")
    w2, b2 = weight**2, bias**2
    s = w2 * x @ y.mT / x.shape[-1] + b2
    xx, yy = (w2 * v.square().mean(dim=-1) + b2 for v in (x, y))
    t = s
    for _ in range(layers):
        lengths = (xx[..., :, None] * yy[..., None, :]).sqrt()
        cosine = (s / lengths).clamp(-_INSIDE, _INSIDE)
        opening = (math.pi - torch.arccos(cosine)) / (2 * math.pi)
        s = w2 * lengths * ((1 - cosine.square()).sqrt() / (2 * math.pi) + cosine * opening) + b2
        t = w2 * t * opening + s
        xx, yy = w2 * xx / 2 + b2, w2 * yy / 2 + b2
    return t


def ridge_scores(vectors: Any, points: Any, labels: Any, *, layers: int, ridge: float) -> Any:
    """The same for many rows of numpy vectors, as a numpy array: one row of scores each."""
    torch = need_torch("the neural tangent kernel")
    x, p, y = (torch.as_tensor(values, dtype=torch.float64) for values in (vectors, points, labels))
    x, p = unit_rows(x), unit_rows(p)
    matrix = kernel(p @ p.T, layers=layers)[0] + ridge * torch.eye(len(p), dtype=torch.float64)
    return (kernel(x @ p.T, layers=layers)[0] @ torch.linalg.solve(matrix, y)).numpy()
