"""Random mixing (DPMix) by every accountant that applies, and the class-wise generator as it was run."""

import math
from functools import partial
from typing import Any

import dp_accounting as dpa
import numpy as np
from mpmath import mp, mpf

from sfumato.errors import AccountingError
from sfumato.public.accounting.accountant import epsilon_of
from sfumato.public.accounting.pld import without_replacement_deltas
from sfumato.public.accounting.rdp import rdp_epsilon

# B is an alternating sum whose terms exceed it by hundreds of orders of magnitude when the noise is large.
_DIGITS = 400
_LARGEST_ORDER = 100
_CENTRED = "features centred at 1/2 before mixing: half the norm, the same noise"


def dpmix_epsilons(
    *,
    records: int,
    degree: int,
    mixtures: int,
    noise_stddev: float,
    features: int,
    classes: int,
    delta: float,
) -> list[dict[str, Any]]:
    """Epsilon of one configuration of random mixing, the published formula first.

    The entries differ in sampling and relation, so they are answers to different questions: an add-or-remove
    epsilon of Poisson sampling says nothing about fixed-size draws.

    Parameters are those of `published_dpmix_epsilon`; for Poisson sampling the degree is the expected number of rows. There is
    one dict per accountant: accountant, sampling, relation, epsilon and sometimes a note.
    """
    counts = {"records": records, "degree": degree, "mixtures": mixtures}
    published = published_dpmix_epsilon(
        **counts, noise_stddev=noise_stddev, features=features, classes=classes, delta=delta
    )
    label = 1.0 if classes else 0.0
    noise_of_sum = degree * noise_stddev
    noise = noise_of_sum / math.sqrt(features + 2 * label)  # two one-hot labels are sqrt(2) apart
    fixed = _fixed_size(**counts, noise_multiplier=noise)
    gaussians = [dpa.GaussianDpEvent(noise_of_sum / math.sqrt(square + label)) for square in (features, features / 4)]
    uncentred, centred = (
        dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(degree / records, gaussian), mixtures)
        for gaussian in gaussians
    )
    wor, poisson = "without_replacement", "poisson"
    replace, add = "replace_one", "add_or_remove"
    return [
        _entry("published", wor, replace, published, note="the published formula; sound, loose"),
        _entry("pld", wor, replace, epsilon_of(fixed, delta=delta, relation=replace).epsilon),
        _entry("rdp", wor, replace, rdp_epsilon(fixed, delta=delta, relation=replace)),
        _entry("pld", poisson, add, epsilon_of(uncentred, delta=delta, relation=add).epsilon),
        _entry("pld", poisson, add, epsilon_of(centred, delta=delta, relation=add).epsilon, note=_CENTRED),
        _entry("rdp", poisson, add, rdp_epsilon(uncentred, delta=delta, relation=add)),
    ]


def _entry(accountant: str, sampling: str, relation: str, epsilon: float, *, note: str | None = None) -> dict[str, Any]:
    entry = {"accountant": accountant, "sampling": sampling, "relation": relation, "epsilon": epsilon}
    return entry if note is None else {**entry, "note": note}


def _fixed_size(*, records: int, degree: int, mixtures: int, noise_multiplier: float) -> dpa.DpEvent:
    sample = dpa.SampledWithoutReplacementDpEvent(records, degree, dpa.GaussianDpEvent(noise_multiplier))
    return dpa.SelfComposedDpEvent(sample, mixtures)


def renoised_subset_epsilon(
    *, records: int, degree: int, copies: int, noise_stddev: float, diameter: float, delta: float
) -> float:
    """Epsilon of the class-wise generator as published: ONE random subset, its mean noised again and again.

    The average of the copies has the noise of one release with standard deviation noise_stddev/sqrt(copies),
    and is sufficient for them all; so this is a single fixed-size sample with
    mu = diameter sqrt(copies) / (degree noise_stddev), however many copies there are. `records` are the rows of the class,
    public here, `degree` is the size of the subset, `diameter` that of the domain of a row (L2). Epsilon is that of
    replace-one, rounded up; exact for the worst pair of one sample.
    """
    if not (1 <= degree <= records and copies >= 1 and noise_stddev > 0 and 0 < delta < 1):
        raise AccountingError("renoised_subset_epsilon needs 1 <= degree <= records and 0 < delta < 1.")
    multiplier = degree * noise_stddev / (diameter * math.sqrt(copies))
    curve = partial(without_replacement_deltas, sampling_probability=degree / records, noise_multiplier=multiplier)

    def delta_at(epsilon: float) -> float:
        return float(curve(np.array([epsilon]))[0])

    low, high = 0.0, 1.0
    if delta_at(low) <= delta:
        return low
    while delta_at(high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


def fresh_subset_epsilon(
    *, records: int, degree: int, mixtures: int, noise_stddev: float, diameter: float, delta: float
) -> float:
    """Epsilon of the same generator put right, an upper bound under replace-one: a fresh random subset for every mean."""
    noise = degree * noise_stddev / diameter
    event = _fixed_size(records=records, degree=degree, mixtures=mixtures, noise_multiplier=noise)
    return epsilon_of(event, delta=delta, relation="replace_one").epsilon


def published_dpmix_epsilon(
    *,
    records: int,
    degree: int,
    mixtures: int,
    noise_stddev: float,
    features: int,
    classes: int,
    delta: float,
) -> float:
    """Epsilon of random mixing by the formula that it was published with, which is sound and very loose.

    Lee, Kim, Lee, Suh and Ramchandran, "Synthesizing differentially private datasets using random mixing" (2019), and the
    DPMix thesis that follows it: Renyi composition of fixed-size samples (Wang, Balle and Kasiviswanathan, 2019) with the
    plain conversion epsilon + log(1/delta)/(order-1). The thesis's program reads the order where the mixture degree belongs
    in B; that is put right here. The one-hot label, of length `classes` (0 for none), as published adds its length to the
    squared sensitivity, where 2 would do. `degree` rows are averaged into a mixture, and the noise is that of the average.
    """
    if not (1 <= degree <= records and mixtures >= 1 and noise_stddev > 0 and 0 < delta < 1):
        raise AccountingError("published_dpmix_epsilon needs 1 <= degree <= records and 0 < delta < 1.")
    with mp.workdps(_DIGITS):
        # Renyi divergence of order a of one mixture without sampling is a * half.
        half = mpf(features + classes) / (2 * (mpf(degree) * mpf(noise_stddev)) ** 2)
        ratio = mpf(degree) / records
        moments = [mp.exp(i * (i - 1) * half) for i in range(_LARGEST_ORDER + 2)]
        roots = {}
        for m in range(2, _LARGEST_ORDER + 2, 2):
            terms = ((-1) ** i * math.comb(m, i) * moments[i] for i in range(m + 1))
            roots[m] = mp.sqrt(mp.fsum(terms))
        second = min(4 * (moments[2] - 1), 2 * moments[2])
        best = math.inf
        for order in range(2, _LARGEST_ORDER + 1):
            inside = ratio**2 * math.comb(order, 2) * second
            for j in range(3, order + 1):
                b = roots[2 * (j // 2)] * roots[2 * ((j + 1) // 2)]
                inside += 4 * ratio**j * math.comb(order, j) * b
            renyi = mp.log1p(inside) / (order - 1)
            best = min(best, float(mixtures * renyi + mp.log(1 / mpf(delta)) / (order - 1)))
    return best
