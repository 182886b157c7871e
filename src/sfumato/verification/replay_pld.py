"""The loss distributions behind `replay`: exact curves, a pessimistic grid, one tilted Fourier transform.

1. A pair's exact curve delta(epsilon), in both directions, is turned into a loss distribution on a grid by
   connect-the-dots (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, 2022).
2. The leaves are composed under an exponential tilt. The tilt moves the bulk of the distribution to the tail
   that decides delta, so rounding is relative to delta and not to 1; a bound on it is added to every cell,
   and all that lies above the window is booked as an infinite loss.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import lfilter
from scipy.special import log_ndtr, logsumexp

Array = NDArray[np.float64]
Mixture = tuple[tuple[float, float], ...]

_WIDTH_OVER_SPREAD = 0.01  # rounding to such a grid adds about 0.001% to the spread of a sum
_WIDEST, _MOST_CELLS, _LONGEST = 0.02, 2.0**18, 2**22
_TRUNCATED = 1e-7  # each truncation may use this fraction of delta
_ROUNDING = 1e-6  # fraction of delta kept for the rounding of the curves
_UNIT = 2.3e-16


@dataclass(frozen=True)
class Pair:
    """Two mixtures of unit Gaussians, (centre, weight) each; the loss of the first against the second rises with the outcome.

    `mirrored`: the curve holds for both directions, as it does for a symmetrised curve.
    """

    upper: Mixture
    lower: Mixture
    mirrored: bool = False

    def reverse(self) -> "Pair":
        """The pair for the other direction, reflected so that its loss rises as well."""
        if self.mirrored:
            return self
        upper, lower = (tuple((-centre, weight) for centre, weight in side) for side in (self.lower, self.upper))
        return Pair(upper, lower)


def _arrays(mixture: Mixture) -> tuple[Array, Array]:
    table = np.array(mixture, dtype=np.float64)
    return table[:, :1], table[:, 1:]


def _loss(pair: Pair, points: Array) -> Array:
    def log_moment(mixture: Mixture) -> Array:
        centres, weights = _arrays(mixture)
        terms = centres * points - centres**2 / 2
        largest = terms.max(axis=0)
        return np.asarray(largest + np.log(np.sum(weights * np.exp(terms - largest), axis=0)))

    return log_moment(pair.upper) - log_moment(pair.lower)


def _curve(pair: Pair, epsilons: Array) -> Array:
    """The exact delta of a pair for each epsilon >= 0: mass past the point where the loss reaches epsilon."""
    upper, lower = dict[float, float](), dict(pair.lower)
    for centre, weight in pair.upper:
        upper[centre] = upper.get(centre, 0.0) + weight
    low = np.full(epsilons.shape, min([*upper, *lower]) - 1.0)
    high = np.full(epsilons.shape, max([*upper, *lower]) + 40.0)
    for _ in range(44):  # an error in the point is of second order in delta
        middle = (low + high) / 2
        reached = _loss(pair, middle) >= epsilons
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    # Where no outcome within 40 standard deviations reaches epsilon, nothing is left that a float can hold.
    reached = _loss(pair, high) >= epsilons
    with np.errstate(divide="ignore"):
        log_growth = epsilons + np.log(-np.expm1(-epsilons))  # log(e^epsilon - 1)
    total = np.zeros(epsilons.shape)
    for centre in {*upper, *lower}:
        log_tail = log_ndtr(centre - high)
        below = lower.get(centre, 0.0)
        # Weights at the same centre cancel before the large common part can hide their difference.
        total += (upper.get(centre, 0.0) - below) * np.exp(log_tail)
        total -= below * np.exp(np.where(reached, log_growth + log_tail, -np.inf))
    return np.asarray(np.minimum.accumulate(np.clip(np.where(reached, total, 0.0), 0.0, 1.0)))


@lru_cache(maxsize=8)
def _half(pair: Pair, *, width: float, mass: float) -> tuple[Array, float]:
    """Connect-the-dots for positive losses: masses at width, 2 width, ... and at infinity."""
    cells = max(2, math.ceil(_reach(pair, mass=mass) / width))
    deltas = _curve(pair, np.arange(cells + 1, dtype=np.float64) * width)
    drops = -np.diff(deltas)
    masses = np.append((math.exp(width) * drops[:-1] - drops[1:]) / math.expm1(width), 0.0)
    masses[-1] = drops[-1] / -math.expm1(-width)
    return np.maximum(masses, 0.0), float(deltas[-1])


def _reach(pair: Pair, *, mass: float) -> float:
    """A loss, to 3%, above which a pair's curve is at most `mass`."""
    candidates = np.geomspace(1e-9, 1e9, 1500)
    enough = np.flatnonzero(_curve(pair, candidates) <= mass)
    return float(candidates[enough[0] if enough.size else -1])


def _spread(pair: Pair) -> float:
    centres, weights = _arrays(pair.upper)
    points = np.linspace(min(c for c, _ in (*pair.upper, *pair.lower)) - 9, float(centres.max()) + 9, 4001)
    density = np.sum(weights * np.exp(-((points - centres) ** 2) / 2), axis=0)
    return math.sqrt(float(np.sum(density * _loss(pair, points) ** 2) / np.sum(density)))


def composed_epsilon(leaves: list[tuple[Pair, int]], *, delta: float) -> float:
    """An upper bound on the epsilon of composed pairs, used so often each, in the direction in which they are given."""
    steps = sum(count for _, count in leaves)
    mass = _TRUNCATED * delta / steps
    spread = math.sqrt(sum(count * min(_spread(pair), _spread(pair.reverse())) ** 2 for pair, count in leaves))
    width = min(_WIDEST, _WIDTH_OVER_SPREAD * spread / math.sqrt(steps))
    for pair, _ in leaves:
        reach = max(_reach(pair, mass=mass), _reach(pair.reverse(), mass=mass))
        width = max(width, reach / _MOST_CELLS)
    while True:
        parts, log_finite = [], 0.0
        for pair, count in leaves:
            right, infinite = _half(pair, width=width, mass=mass)
            left = _half(pair.reverse(), width=width, mass=mass)[0]
            left = left * np.exp(-width * np.arange(1, left.size + 1))
            centre = max(0.0, 1.0 - infinite - float(right.sum()) - float(left.sum()))
            with np.errstate(divide="ignore"):
                logs = np.log(np.concatenate([left[::-1], [centre], right]))
            parts.append((np.arange(-left.size, right.size + 1) * width, logs, count))
            log_finite += count * math.log1p(-infinite)
        budget = delta * (1 - _ROUNDING - _TRUNCATED) + math.expm1(log_finite)
        grid = _Grid(parts, width)
        epsilon = _grid_epsilon(grid, delta=budget, scale=spread, tail=_TRUNCATED * delta)
        if epsilon is not None:
            return epsilon
        width *= 2


@dataclass(frozen=True)
class _Grid:
    """Loss distributions on one grid: losses, logs of their masses and number of uses of each leaf."""

    parts: list[tuple[Array, Array, int]]
    width: float

    def log_moments(self, tilt: float) -> list[float]:
        """Logarithm of E[e^(tilt loss)] of each leaf."""
        return [float(logsumexp(logs + tilt * losses)) for losses, logs, _ in self.parts]

    def log_moment(self, tilt: float) -> float:
        """The same for the composition of all leaves."""
        values = self.log_moments(tilt)
        return sum(count * value for (_, _, count), value in zip(self.parts, values, strict=True))


def _grid_epsilon(grid: _Grid, *, delta: float, scale: float, tail: float) -> float | None:
    """The epsilon of the composed grid distributions, or None where the grid is too fine to be held."""
    tilts = np.geomspace(min(1e-2 / scale, 1e-2), 1e3 / scale, 80)
    moments = np.array([grid.log_moment(float(tilt)) for tilt in tilts])
    tilt = float(tilts[int(np.argmin((moments - math.log(delta)) / tilts))])
    booked = float(np.min((moments - math.log(tail)) / tilts))
    while True:
        # Above `booked` lies at most the mass `tail`. What the tilt leaves outside the window wraps round and
        # only adds to delta; it is kept small for the sake of tightness.
        base = grid.log_moment(tilt)
        shifts = [float(s) for s in tilts[::4]]
        top = max(booked, min((grid.log_moment(tilt + s) - base + 25.0) / s for s in shifts))
        bottom = max((base - grid.log_moment(tilt - s) - 25.0) / s for s in shifts)
        first = math.floor(min(bottom, top) / grid.width)
        length = next_fast_len(math.ceil(top / grid.width) - first + 2, real=True)
        if length > _LONGEST:
            return None
        losses = (first + np.arange(length)) * grid.width
        log_masses = _composed_log_masses(grid, tilt=tilt, first=first, length=length) + base - tilt * losses
        masses = np.exp(np.minimum(log_masses, 0.0))
        above = np.append(np.cumsum(masses[::-1])[::-1][1:], 0.0)
        decay = math.exp(-grid.width)
        weighted = np.append(lfilter([decay], [1.0, -decay], masses[::-1])[::-1][1:], 0.0)
        place = int(np.flatnonzero(above - weighted <= delta)[0])
        if losses[place] <= 0:
            return 0.0
        if place > 0:
            rest = (float(above[place - 1]) - delta) / float(weighted[place - 1])
            return max(0.0, float(losses[place - 1]) + math.log(rest))
        # The answer lies below the window, as happens with two far modes: a weaker tilt reaches down.
        tilt /= 2


def _composed_log_masses(grid: _Grid, *, tilt: float, first: int, length: int) -> Array:
    """Logs of upper bounds on the tilted masses of the composition, from cell `first` on."""
    spectrum = np.zeros(length // 2 + 1, dtype=np.complex128)
    shift, each = 0, []
    for (losses, logs, count), value in zip(grid.parts, grid.log_moments(tilt), strict=True):
        masses = np.exp(logs + tilt * losses - value)
        places = np.rint(losses / grid.width).astype(np.int64)
        mean = round(float(masses @ places) / float(masses.sum()))  # centred, the phases stay small
        folded = np.bincount((places - mean) % length, weights=masses, minlength=length)
        transform = rfft(folded)
        transform = np.where(np.abs(transform) < 1e-300, 1e-300, transform)
        spectrum += count * np.log(transform)
        each.append((count, np.log(np.abs(transform))))
        shift += count * mean
    tilted = irfft(np.exp(spectrum), length)
    # A transform errs by at most about log2(length) units per coefficient, its n-th power by n times that.
    power = sum(count * float(np.sum(np.exp(spectrum.real - logs))) for count, logs in each)
    power += float(np.sum(np.exp(spectrum.real) * (1 + np.abs(spectrum))))
    error = 4 * _UNIT * math.log2(length) * (2 * power / length + float(np.linalg.norm(tilted)))
    return np.asarray(np.log(np.maximum(np.roll(tilted, (shift - first) % length), 0.0) + error))
