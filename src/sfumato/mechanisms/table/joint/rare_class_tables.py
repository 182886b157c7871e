"""How much likelier each bin is in a class of few rows: its logarithm is a Gaussian process.

Such a class is an exception, and exceptions lie far out: a bin with one row in fifty may hold every third of them. A share cannot
fall by more than all of it, and may rise twentyfold; its logarithm goes up and down alike. Along a number it is a line, a
parabola, a smooth curve and something of every bin's own, over the normal scores of the number, so that a class that has moved
by a standard deviation departs along a line; every category departs by itself. The most likely curve is found by damped
Gauss-Newton steps, and how likely a shape and a size are by Laplace's approximation around it (Rasmussen and Williams,
Gaussian Processes for Machine Learning, 2006, section 3.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.settings.joint import JointSettings


@dataclass(frozen=True)
class LogRatioKernel:
    """The parts of a number's departure."""

    line: float
    parabola: float
    curve: float
    own: float
    length: float  # over which a curve is smooth, in normal scores


@dataclass(frozen=True)
class RareRatios:
    """Of a class in one column, by shape and size: how likely it is, and the departure if it is that, in rows of each bin."""

    log_likelihood: Floats
    mean: Floats


def rare_ratios(
    binning: Binning, margin: Floats, settings: JointSettings, *, rows: float, counts: Floats, precision: Floats
) -> RareRatios:
    """What noisy counts say of a class; `precision` is the inverse of the covariance of their noise."""
    kernels = [LogRatioKernel(*parts) for parts in settings.rare_shapes]
    outermost = settings.rare_outermost
    of_kernels = np.stack([_kernel(one, margin, binning.ordered, outermost=outermost) for one in kernels])
    values, vectors = np.linalg.eigh(of_kernels)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
    sizes = np.array(settings.rare_sizes)[:, None, None]
    curves = _Curves(np.concatenate([sizes * root for root in roots]), margin, rows, counts, precision)
    at = curves.most_likely(steps=settings.rare_steps, least_gain=settings.rare_settled)
    log_likelihood = -curves.cost(at) - 0.5 * np.linalg.slogdet(curves.bend(at))[1]
    return RareRatios(np.asarray(log_likelihood), curves.expected(at) - rows * margin)


def no_clearer(shares: Sequence[Floats], margins: Sequence[Floats], settings: JointSettings) -> list[Floats]:
    """Shares of a class, column by column, with shorter logarithms where all columns together would show it too well.

    Rows are drawn as if a class departed in all columns at once. Real ones depart in some of them, and trees that learn from such
    rows would keep to the column that noise has made the clearest.
    """
    logs = [
        np.log(np.maximum(share / np.maximum(margin, 1e-300), settings.rare_least))
        for share, margin in zip(shares, margins, strict=True)
    ]
    clear = sum(float((share - margin) @ log) for share, margin, log in zip(shares, margins, logs, strict=True))
    if clear <= settings.rare_clearest:
        return list(shares)
    shorter = [
        margin * np.exp(np.sqrt(settings.rare_clearest / clear) * log)
        for margin, log in zip(margins, logs, strict=True)
    ]  # the sum is of the second order in the logarithms
    return [np.asarray(share / share.sum()) for share in shorter]


def _kernel(shape: LogRatioKernel, margin: Floats, along: int, *, outermost: float) -> Floats:
    """The covariance of the logarithm: the first `along` bins lie on a line, the others alone."""
    kernel = np.eye(len(margin))
    if along:
        shares = margin[:along] / max(float(margin[:along].sum()), 1e-9)
        score = ndtri(np.clip(np.cumsum(shares) - shares / 2, outermost, 1 - outermost))
        bow = (score**2 - 1) / np.sqrt(2)
        near = np.exp(-((score[:, None] - score) ** 2) / (2 * shape.length**2))
        smooth = shape.line * np.outer(score, score) + shape.parabola * np.outer(bow, bow) + shape.curve * near
        kernel[:along, :along] = smooth + shape.own * np.eye(along)
    return kernel


@dataclass(frozen=True)
class _Curves:
    """Curves of all shapes and sizes at once, each in coordinates that are standard normal before anything is counted."""

    root: Floats  # by shape and size: from coordinates to logarithms
    margin: Floats
    rows: float
    counts: Floats
    precision: Floats

    def expected(self, at: Floats) -> Floats:
        """Rows of the class in every bin."""
        logs = np.log(np.maximum(self.margin, 1e-12)) + np.einsum("kbi,ki->kb", self.root, at)
        odds = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(self.rows * odds / odds.sum(axis=1, keepdims=True))

    def cost(self, at: Floats) -> Floats:
        """Minus the logarithm of how likely the counts and the curve are together, but for a constant."""
        left = self.counts - self.expected(at)
        return np.asarray(0.5 * ((left @ self.precision) * left).sum(axis=1) + 0.5 * (at**2).sum(axis=1))

    def slopes(self, at: Floats) -> Floats:
        """How expected rows change with every coordinate."""
        rows = self.expected(at)
        mean = np.einsum("kb,kbi->ki", rows / max(self.rows, 1e-300), self.root)
        return np.asarray(rows[:, :, None] * (self.root - mean[:, None]))

    def bend(self, at: Floats) -> Floats:
        """The second derivative of the cost, without that of expected rows (Gauss-Newton)."""
        slopes = self.slopes(at)
        return np.asarray(np.swapaxes(slopes, 1, 2) @ (self.precision @ slopes) + np.eye(self.root.shape[2]))

    def most_likely(self, *, steps: int, least_gain: float) -> Floats:
        """The coordinates of least cost, from those of all rows on."""
        at = np.zeros((len(self.root), self.root.shape[2]))
        cost, damping = self.cost(at), np.full(len(at), 1e-3)
        settled = np.zeros(len(at), dtype=np.bool_)
        for _ in range(steps):
            downhill = np.einsum("kbi,kb->ki", self.slopes(at), (self.counts - self.expected(at)) @ self.precision) - at
            damped = self.bend(at) + damping[:, None, None] * np.eye(at.shape[1])
            there = at + np.linalg.solve(damped, downhill[:, :, None])[:, :, 0]
            gain = cost - self.cost(there)
            better = gain >= 0
            at, cost = np.where(better[:, None], there, at), np.where(better, cost - gain, cost)
            damping = np.where(better, damping / 5, damping * 8)
            settled |= better & (gain < least_gain)
            if settled.all():
                break
        return at
