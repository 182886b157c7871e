"""Renyi accounting: looser than loss distributions, kept as a second opinion and for what they cannot do.

Mironov, "Renyi differential privacy" (2017); Wang, Balle and Kasiviswanathan, "Subsampled Renyi differential
privacy and analytical moments accountant" (2019) for fixed-size samples under replace-one; Mironov, Talwar
and Zhang, "Renyi differential privacy of the sampled Gaussian mechanism" (2019) for Poisson samples.
"""

import math

import dp_accounting
from dp_accounting.privacy_accountant import UnsupportedEventError
from dp_accounting.rdp import RdpAccountant

from sfumato.errors import AccountingError
from sfumato.public.accounting.events import RELATIONS
from sfumato.public.accounting.leaves import Leaves, flatten

# The cost of an order grows with its square for samples without replacement, and the best order is small
# unless epsilon is: dense below 40, sparse above.
_ORDERS: tuple[float, ...] = (1.25, 1.5, 1.75, *range(2, 41), 44, 48, 56, 64, 80, 96, 128, 192, 256)


def leaves_rdp_epsilon(leaves: Leaves, *, delta: float, relation: str) -> float:
    """As `rdp_epsilon`, for a tree that was taken apart already."""
    left = delta - leaves.failure
    if leaves.non_private or left <= 0:
        return math.inf
    accountant = RdpAccountant(list(_ORDERS), RELATIONS[relation])
    try:
        for leaf, count in leaves.sampled:
            accountant.compose(leaf, count)
        if leaves.mu_squared:
            accountant.compose(dp_accounting.GaussianDpEvent(leaves.mu_squared**-0.5))
    except UnsupportedEventError as unsupported:
        raise AccountingError(
            f"Renyi accounting has no bound for this event under {relation}. Use the loss distribution."
        ) from unsupported
    return float(accountant.get_epsilon(left)) + leaves.pure_epsilon


def rdp_epsilon(event: dp_accounting.DpEvent, *, delta: float, relation: str) -> float:
    """An upper bound on epsilon by Renyi composition; refused where no bound is known for an event under the relation."""
    return leaves_rdp_epsilon(flatten(event, relation=relation), delta=delta, relation=relation)
