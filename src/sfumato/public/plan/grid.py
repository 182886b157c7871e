"""The public grid that every released number lies on.

The noise is an integer with standard deviation 2^20. A row's entries are scaled to integers that fit the noise
multiplier: in these units the whole contribution of a row has norm at most 2^20 / noise_multiplier.
"""

import math
from bisect import bisect_right

from sfumato.errors import PlanError
from sfumato.public.plan.block import Block, Choice, Hot, Outer, Response, Votes

#: Standard deviation of the integer noise, the same for every door.
NOISE_STDDEV = 2**20

#: Below this noise multiplier the integers would grow past what their sums can hold.
MIN_NOISE_MULTIPLIER = 2.0**-9

#: The norm of a person's rows together may not exceed this, so that its square stays far below 2^63.
_LARGEST_SUM = 2**31

#: Rows are scaled by this much less than they might, so that float rounding never brings a norm over its bound.
_MARGIN = 1 - 2.0**-30

#: A response is the row's own code in so many parts of this, and thrown by a die otherwise.
RESPONSE_PARTS = 2**32

#: Standard deviation of Gumbel noise of scale 1.
_GUMBEL_STDDEV = math.pi / math.sqrt(6)


def norm_in_units(noise_multiplier: float) -> float:
    """The norm that a row's whole contribution may have, in grid units."""
    if not noise_multiplier >= MIN_NOISE_MULTIPLIER:
        raise PlanError(
            f"a noise multiplier of {noise_multiplier:.3g} is next to no privacy. Lower epsilon, or ask for fewer accesses."
        )
    return NOISE_STDDEV / noise_multiplier


def check_rows_together(norm: float, *, max_rows: int) -> None:
    """Refuse rows of a person whose sum, before it is clipped, could have a square that no 64-bit integer holds."""
    if max_rows * norm > _LARGEST_SUM:
        raise PlanError(
            f"with a noise multiplier of {NOISE_STDDEV / norm:.3g}, {max_rows} rows of a person are too many to be added "
            "up in integers. Lower max_rows or epsilon."
        )


def units_per_one(block: Block, *, noise_multiplier: float) -> float:
    """How many grid units the value 1 of a block becomes.

    A whole number where that costs next to nothing, so that counts stay exact. For a choice, so many parts in 2^20 is the
    rate of the exponential mechanism for each row of a score. A response is a code, and stays one.
    """
    norm = _MARGIN * norm_in_units(noise_multiplier) * math.sqrt(block.share)
    if isinstance(block, Choice):
        return _rate_in_units(block, noise_multiplier=noise_multiplier)
    if isinstance(block, Response):
        return 1.0
    if isinstance(block, Outer):
        # Products are summed on a finer grid and rounded once: that moves the sum by up to a unit in every entry.
        norm -= 1.01 * math.sqrt(block.width)
        if norm <= 0:
            raise PlanError(f"block {block.name!r} drowns in its noise. Use fewer entries or a larger epsilon.")
    exact = norm / block.l2_bound
    if isinstance(block, Votes) and exact < 1:
        raise PlanError(f"the votes {block.name!r} drown in their noise. Ask fewer queries, or use a larger epsilon.")
    return float(math.floor(exact)) if exact >= (1 if isinstance(block, Hot | Votes) else 16) else exact


def noise_stddev(block: Block, *, noise_multiplier: float) -> float:
    """The noise on each entry of a block, in the block's own units; for a choice, on each score in rows.

    A choice at the rate r is that of the largest score after Gumbel noise of scale 1 / r on each. A response that is another
    code with probability q each says "this code" without bias as (hit - q) / (1 - q categories), which has this much noise; of
    several codes of a row, it says so of any of them.
    """
    if isinstance(block, Response):
        truthful = truth_in_parts(block, noise_multiplier=noise_multiplier) / RESPONSE_PARTS
        other = (1 - truthful) * block.codes / block.categories
        return math.sqrt(other * (1 - other)) / truthful
    scale = NOISE_STDDEV / units_per_one(block, noise_multiplier=noise_multiplier)
    return scale * _GUMBEL_STDDEV if isinstance(block, Choice) else scale


def truth_in_parts(block: Response, *, noise_multiplier: float) -> int:
    """In how many of 2^32 cases a response is a code of the row, so that it is m-GDP, m = sqrt(2 share) / noise_multiplier.

    A pure response has epsilon = 2 share / noise_multiplier instead. The largest whole number that is private enough:
    docs/proofs/noisy-reports.md.
    """
    from scipy.special import ndtri  # loaded where it is needed: most plans have no response

    allowed = _MARGIN * (2 * block.share if block.pure else math.sqrt(2 * block.share)) / noise_multiplier

    def needed(parts: int) -> float:
        if block.pure:
            return math.log1p(parts * block.categories / ((RESPONSE_PARTS - parts) * block.codes))
        other = (RESPONSE_PARTS - parts) / (RESPONSE_PARTS * block.categories)
        return float(-ndtri((block.categories - block.codes) * other) - ndtri(block.codes * other))

    parts = bisect_right(range(1, RESPONSE_PARTS), allowed, key=needed)
    if parts < 1:
        raise PlanError(f"the response {block.name!r} drowns in its noise. Use a larger share or a larger epsilon.")
    return parts


def _rate_in_units(block: Choice, *, noise_multiplier: float) -> float:
    """The rate r = log(Phi(m / 2) / Phi(-m / 2)) at which a choice is m-GDP for one row, m = 1 / noise_multiplier.

    Rounded down, so that the cost is never understated: docs/proofs/noisy-choice.md.
    """
    from scipy.special import log_ndtr

    half = 0.5 / noise_multiplier
    units = math.floor(_MARGIN * NOISE_STDDEV * float(log_ndtr(half) - log_ndtr(-half)))
    if units < 1:
        raise PlanError(f"the choice {block.name!r} drowns in its noise. Use fewer choices or a larger epsilon.")
    return float(units)
