"""Persons with several rows: how long the sum of their rows may be at each stage.

A person's m rows are not m times the same row. Where they have nothing in common, their sum is sqrt(m) rows long; where each
two agree in some part, more; m only where all are the same. So the norm is a public power of m. Doors shorten longer sums.
"""

import math
from collections.abc import Mapping

from sfumato.mechanisms.table.settings.budget import PersonNorms
from sfumato.public.budget import PrivacyUnit
from sfumato.public.plan.block import Block
from sfumato.public.plan.step import Step


def norm_of(stage: str, unit: PrivacyUnit, norms: PersonNorms) -> float:
    """The norm that all rows of a unit may have together, in norms of one.

    >>> [norm_of("triples", PrivacyUnit(person="patient", max_rows=rows), PersonNorms()) for rows in (1, 4, 25)]
    [1.0, 2.0, 5.0]
    """
    factor: float
    power: float
    factor, power = getattr(norms, stage)
    # Powers differ in their last digits from one processor to another, and a receiver makes the plan again.
    return min(float(unit.max_rows), max(1.0, round(factor * math.pow(unit.max_rows, power), 4)))


def planned(stage: str, unit: PrivacyUnit, norms: PersonNorms, *blocks: Block, share: float, uses: int = 1) -> Step:
    """A step in which the rows of a person are clipped together.

    A part of precision costs the square of the norm. Shares were chosen where that is 1 for all; divided by the norm, they
    lead to the least squared error, as these weigh it.
    """
    norm = norm_of(stage, unit, norms)
    together = norm if norm < unit.max_rows else None
    return Step(name=stage, blocks=blocks, share=share / norm, uses=uses, person_bound=together)


def mean_norm(shares: Mapping[str, float], unit: PrivacyUnit, norms: PersonNorms) -> float:
    """The norms of all stages, by their shares: about by how much there is more noise than if the unit were a row."""
    return sum(share * norm_of(stage, unit, norms) for stage, share in shares.items()) / sum(shares.values())
