"""The epsilon that DPMix was published with, by its own formula.

Lee, Kim, Lee, Suh and Ramchandran, "Synthesizing differentially private datasets using random mixing" (2019),
and the DPMix thesis that follows it: Renyi composition of fixed-size samples (Wang, Balle and
Kasiviswanathan, 2019) with the plain conversion epsilon + log(1/delta)/(order-1).

The thesis's program reads the order where the mixture degree belongs in B; that is put right here. The
formula is sound and very loose; `dpmix_epsilons` sets it beside tight ones.
"""

import math

from mpmath import mp, mpf

from sfumato.errors import AccountingError

# B is an alternating sum whose terms exceed it by hundreds of orders of magnitude when the noise is large.
_DIGITS = 400
_LARGEST_ORDER = 100


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
    """Epsilon of random mixing by the published formula.

    Args:
        records: Number of rows of the private data, public here.
        degree: Rows averaged into one mixture.
        mixtures: Number of released mixtures.
        noise_stddev: Standard deviation of the noise on each coordinate of a mixture (of the mean).
        features: Number of features, each in [0, 1].
        classes: Length of the one-hot label, 0 for none; as published it adds its length to the squared
            sensitivity, where 2 would do.
        delta: The delta of the claim, under replace-one and fixed-size sampling without replacement.
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
