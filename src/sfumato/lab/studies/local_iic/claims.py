"""What the post claims of its noise, and what is true of it. No data is read."""

import math

from sfumato.public.accounting import epsilon_of_mu, mu_of_budget

PIXELS = 784
CLAIMED = (150, 2_000, 3_000, 5_000, 200_000)
DELTA = 1 / PIXELS**2
#: Between two pictures without negative pixels, each of length 1: as far as pictures that share no pixel.
DIAMETER = math.sqrt(2)


def used_noise(claimed: float) -> float:
    """The noise on each pixel by the classic formula of the Gaussian mechanism, with a sensitivity of 1.

    >>> round(used_noise(150), 4)
    0.0347
    """
    return math.sqrt(2 * math.log(1.25 / DELTA)) / claimed


def honest_epsilon(claimed: float, *, diameter: float = DIAMETER) -> float:
    """Of that noise: the formula holds for an epsilon of at most 1, and the sensitivity is not 1.

    >>> round(honest_epsilon(150))
    1019
    """
    return epsilon_of_mu(diameter / used_noise(claimed), delta=DELTA)


def honest_epsilon_with_label(claimed: float) -> float:
    """The same where a label of ten entries, one of them 1, has such noise too: both together are 2 apart.

    >>> round(honest_epsilon_with_label(10), 1)
    24.6
    """
    return honest_epsilon(claimed, diameter=math.hypot(DIAMETER, DIAMETER))


def needed_noise(claimed: float) -> float:
    """The noise that the claim needs.

    >>> round(needed_noise(150), 3)
    0.106
    """
    return DIAMETER / mu_of_budget(claimed, delta=DELTA)
