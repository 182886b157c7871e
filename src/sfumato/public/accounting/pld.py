"""Privacy loss distributions: the tight composition of sampled Gaussians.

Poisson sampling and mixtures of Gaussians come from dp_accounting. Sampling of a fixed size without
replacement, under replace-one, is our own: dp_accounting has no distribution for it (proof in
docs/proofs/fixed-size-sampling.md). All grids are pessimistic (connect-the-dots: Doroshenko, Ghazi, Kamath,
Kumar and Manurangsi, 2022), so a finer grid only ever lowers epsilon.
"""

import math
from functools import partial, reduce
from typing import Any

import numpy as np
from dp_accounting import dp_event
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as distributions
from numpy.typing import NDArray
from scipy.special import logsumexp

from sfumato.errors import AccountingError
from sfumato.public.accounting.events import RELATIONS
from sfumato.public.accounting.gdp import deltas_of_mu
from sfumato.public.accounting.leaves import Leaves

# Rounding a loss to a grid of width h adds at most h^2/4 to the variance of every step, so the width that
# matters is the one relative to the spread of a single step: 3% costs about 0.02% of epsilon.
_WIDTH_OVER_SPREAD = 0.03
_WIDEST, _MOST_CELLS = 1e-2, 100_000
# Mass that a single step may move to an infinite loss; the same figure as dp_accounting's.
_LOG_TRUNCATION = -50.0


def without_replacement_deltas(
    epsilons: NDArray[np.float64], *, sampling_probability: float, noise_multiplier: float
) -> NDArray[np.float64]:
    """The curve of one Gaussian sum over a fixed-size sample, replace-one, for epsilon >= 0.

    Balle, Barthe and Gaboardi, "Privacy amplification by subsampling" (2018):
    q delta(log(1 + (e^epsilon - 1)/q)), where q is the sample size over the number of rows, and delta the curve of the
    Gaussian alone, whose noise multiplier is relative to the diameter of the row domain.
    """
    q = sampling_probability
    small = np.log1p(np.expm1(np.minimum(epsilons, 1.0)) / q)
    # Past 1 the same number in a form that cannot overflow.
    large = epsilons - math.log(q) + np.log1p(-(1 - q) * np.exp(-epsilons))
    inner = np.where(epsilons < 1, small, large)
    return q * deltas_of_mu(inner, mu=1 / noise_multiplier)


def without_replacement_pld(
    *, sampling_probability: float, noise_multiplier: float, value_discretization_interval: float
) -> distributions.PrivacyLossDistribution:
    """A pessimistic distribution of the loss of one fixed-size sample under replace-one.

    The right half is connect-the-dots on the exact curve; the left half is its mirror p(-x) = e^-x p(x),
    which holds because the relation is symmetric. So both tails keep all their digits. Parameters are those of
    `without_replacement_deltas`; dp_accounting can compose it with others on a grid of the same width.
    """
    h = value_discretization_interval
    q, noise = sampling_probability, noise_multiplier
    curve = partial(without_replacement_deltas, sampling_probability=q, noise_multiplier=noise)
    top = h
    while float(curve(np.array([top]))[0]) > math.exp(_LOG_TRUNCATION):
        top *= 1.25
    cells = max(2, math.ceil(top / h))
    deltas = np.minimum.accumulate(curve(np.arange(cells + 1, dtype=np.float64) * h))
    drops = -np.diff(deltas)
    right = np.empty(cells)
    right[:-1] = (math.exp(h) * drops[:-1] - drops[1:]) / math.expm1(h)
    right[-1] = drops[-1] / -math.expm1(-h)
    right = np.maximum(right, 0.0)
    left = right * np.exp(-h * np.arange(1, cells + 1))
    centre = max(0.0, 1.0 - float(deltas[-1]) - float(right.sum()) - float(left.sum()))
    masses = np.concatenate([left[::-1], [centre], right])
    return distributions.PrivacyLossDistribution(pld_pmf.DensePLDPmf(h, -cells, masses, float(deltas[-1]), True))


def _pair(event: dp_event.DpEvent, *, relation: str) -> tuple[NDArray[np.float64], ...]:
    """A leaf's dominating pair as (weights, centres) of two unit Gaussian mixtures."""
    if isinstance(event, dp_event.MixtureOfGaussiansDpEvent):
        centres = np.asarray(event.sensitivities, dtype=np.float64) / event.standard_deviation
        return np.asarray(event.sampling_probs, dtype=np.float64), centres, np.ones(1), np.zeros(1)
    step = 1 / event.event.noise_multiplier
    if isinstance(event, dp_event.PoissonSampledDpEvent):
        q = event.sampling_probability
        if relation == "replace_one":
            weights = np.array([1 - q, q])
            return weights, np.array([0.0, step]), weights, np.array([0.0, -step])
    else:
        q = event.sample_size / event.source_dataset_size
    return np.array([1 - q, q]), np.array([0.0, step]), np.ones(1), np.zeros(1)


def loss_spread(event: dp_event.DpEvent, *, relation: str) -> float:
    """Root mean square of one step's loss, to a few per cent: it picks grids and certifies nothing."""
    weights, centres, other_weights, other_centres = _pair(event, relation=relation)
    points = np.linspace(other_centres.min() - 9.0, centres.max() + 9.0, 4001)

    def log_density(w: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            terms = np.log(w)[:, None] - (points[None, :] - c[:, None]) ** 2 / 2
        return np.asarray(logsumexp(terms, axis=0))

    upper, lower = log_density(weights, centres), log_density(other_weights, other_centres)
    mass = np.exp(upper)
    return math.sqrt(float(np.sum(mass * (upper - lower) ** 2) / np.sum(mass)))


def total_spread(leaves: Leaves, *, relation: str) -> float:
    """Root of the summed squared losses of a whole tree: the mu of a rough Gaussian picture of it."""
    squares = (count * loss_spread(leaf, relation=relation) ** 2 for leaf, count in leaves.sampled)
    return math.sqrt(leaves.mu_squared + math.fsum(squares))


def grid_width(leaves: Leaves, *, relation: str) -> float:
    """Width of the loss grid for an error near 0.02% of epsilon (0.1% with mixtures)."""
    steps = leaves.uses + (1 if leaves.mu_squared else 0)
    width = min(_WIDEST, _WIDTH_OVER_SPREAD * total_spread(leaves, relation=relation) / math.sqrt(steps))
    if any(isinstance(leaf, dp_event.MixtureOfGaussiansDpEvent) for leaf, _ in leaves.sampled):
        width *= 2  # dp_accounting inverts mixtures point by point: four times the error buys half the time
    for leaf, _ in leaves.sampled:
        weights, centres, other_weights, _ = _pair(leaf, relation=relation)
        # The loss ten standard deviations past the farthest centre: a grid must reach about that far.
        far = float(centres.max()) + 10.0
        log_upper = float(logsumexp(centres * far - centres**2 / 2, b=weights))
        width = max(width, (log_upper - math.log(float(other_weights[0]))) / _MOST_CELLS)
    return width


def _leaf_pld(event: dp_event.DpEvent, *, relation: str, width: float) -> Any:
    if isinstance(event, dp_event.PoissonSampledDpEvent):
        return distributions.from_gaussian_mechanism(
            standard_deviation=event.event.noise_multiplier,
            value_discretization_interval=width,
            sampling_prob=event.sampling_probability,
            neighboring_relation=RELATIONS[relation],
        )
    if isinstance(event, dp_event.SampledWithoutReplacementDpEvent):
        return without_replacement_pld(
            sampling_probability=event.sample_size / event.source_dataset_size,
            noise_multiplier=event.event.noise_multiplier,
            value_discretization_interval=width,
        )
    return distributions.from_mixture_gaussian_mechanism(
        standard_deviation=event.standard_deviation,
        sensitivities=event.sensitivities,
        sampling_probs=event.sampling_probs,
        value_discretization_interval=width,
    )


def compose(
    leaves: Leaves, *, relation: str, value_discretization_interval: float | None = None
) -> distributions.PrivacyLossDistribution:
    """One pessimistic distribution of the privacy loss of all leaves, both directions; the grid is `grid_width` wide, or as given.

    There must be a Gaussian, plain or sampled. Failures and pure epsilons of the tree are not in it.
    """
    width = value_discretization_interval or grid_width(leaves, relation=relation)
    parts = [_leaf_pld(leaf, relation=relation, width=width).self_compose(count) for leaf, count in leaves.sampled]
    if leaves.mu_squared:
        # One Gaussian against its shift is the same pair under both relations, so the relation is not passed:
        # dp_accounting would read the multiplier as relative to the norm under replace-one.
        deviation = leaves.mu_squared**-0.5
        parts.append(distributions.from_gaussian_mechanism(deviation, value_discretization_interval=width))
    if not parts:
        raise AccountingError("an event tree without Gaussian noise has no loss distribution.")
    return reduce(lambda total, part: total.compose(part), parts)


def curve_of(composed: distributions.PrivacyLossDistribution, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
    """The delta of a distribution for many epsilons from 0 to 700 at once, the larger one of both directions.

    `get_delta_for_epsilon` gives the same, one epsilon after the other, each by a pass over all losses.
    """

    def one_way(pmf: Any) -> NDArray[np.float64]:
        dense = pmf.to_dense_pmf()
        first = max(0, -dense._lower_loss)  # losses below 0 add nothing
        masses = dense._probs[first:]
        losses = (np.arange(len(masses)) + dense._lower_loss + first) * dense._discretization
        above, weighted = (np.append(np.cumsum(terms[::-1])[::-1], 0.0) for terms in (masses, masses * np.exp(-losses)))
        at = np.searchsorted(losses, epsilons, side="right")
        return np.asarray(dense._infinity_mass + np.maximum(above[at] - np.exp(epsilons) * weighted[at], 0.0))

    return np.maximum(one_way(composed._pmf_remove), one_way(composed._pmf_add))


def rounding_of(leaves: Leaves) -> float:
    """An amount of delta that covers the rounding of the Fourier transforms.

    A transform of a probability vector errs by about 1e-16 per coefficient, its n-th power by n times that.
    """
    return 1e-15 * (leaves.uses + len(leaves.sampled) + 1)


def pld_epsilon(
    leaves: Leaves, *, delta: float, relation: str, value_discretization_interval: float | None = None
) -> float:
    """An upper bound on the epsilon of a tree by composing loss distributions; infinity where delta does not suffice.

    Failures and rounding are taken off delta first.
    """
    left = delta - leaves.failure - rounding_of(leaves)
    if left <= 0:
        return math.inf
    composed = compose(leaves, relation=relation, value_discretization_interval=value_discretization_interval)
    return float(composed.get_epsilon_for_delta(left)) + leaves.pure_epsilon
