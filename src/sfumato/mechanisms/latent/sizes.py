"""How much of pictures codes hold, from public facts: what a class can tell grows with its rows and with the budget.

The noise on a covariance of k coefficients reaches 2 sqrt(k) standard deviations (Wigner), while the variance of a picture's
coefficients falls as a power of their number: those that stand out of the noise are a power of the signal, the rows of a class
in standard deviations of the noise on a count. Factors were chosen inside the training rows of MNIST and on Fashion-MNIST.
"""

import math

from sfumato.mechanisms.common.pictures import n_channels, n_classes
from sfumato.mechanisms.common.precision import declared_rows, mu_of_a_row
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Schema

_COEFFICIENTS, _FINER = 23.0, 1 / 4


def coefficients_for(schema: Schema, budget: Budget) -> int:
    """Cosine coefficients of each channel."""
    signal = declared_rows(schema) * mu_of_a_row(schema, budget) / n_classes(schema)
    channels = n_channels(schema.images[0]) if schema.images else 1
    return max(1, round(_COEFFICIENTS * math.pow(signal, _FINER) / math.sqrt(channels)))
