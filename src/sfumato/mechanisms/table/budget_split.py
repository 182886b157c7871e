"""How much the rows can tell, from public facts alone, and what each stage gets of the budget.

The measure is rho: the whole table, in standard deviations of the noise on one count, when every column counts each row
once. With a rho of a hundred there are coarse columns and their classes and no more; with thousands, everything.
"""

import math
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.cells import BEND
from sfumato.mechanisms.common.precision import declared_rows, mu_of_a_row
from sfumato.mechanisms.table.person_norms import mean_norm
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Schema

#: What each stage gets of the precision, at three sizes of rho; between them, in proportion to log rho.
_STAGES = (
    "coarse", "fine", "spikes", "classes", "moments", "pairs", "contrasts", "links", "triples", "cubes", "teacher", "judge",
)  # fmt: skip
_AT = (
    (120.0, (0.10, 0.15, 0.00, 0.75, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00)),
    (300.0, (0.08, 0.17, 0.00, 0.55, 0.20, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00)),
    (700.0, (0.03, 0.12, 0.015, 0.17, 0.07, 0.09, 0.03, 0.075, 0.015, 0.015, 0.355, 0.015)),
)
#: Sizes at which there are coarse columns and their classes and no more, correlations too, and everything.
_LITTLE, _SOME, _MUCH = (rho for rho, _ in _AT)
#: A number as target is taught at every size, with these shares at least, which classes give up: at small sizes most of what
#: they have, since a sum of errors says more of a few columns than counts by level do.
_NUMBER_TAUGHT = ((10.0, 0.1), (30.0, 0.5), (120.0, 0.2))
#: And where the rows are is all that can be known of the smallest: these have so much at least.
_NUMBER_COUNTED = {
    "coarse": ((10.0, 0.3), (40.0, 0.1), (120.0, 0.0)),
    "fine": ((10.0, 0.4), (40.0, 0.15), (120.0, 0.0)),
}
#: What the first stages give to a number as target, at such sizes: its levels are what all later tables are made by.
_NUMBER_SHARE = ((30.0, 0.5), (120.0, 0.25))
#: A stage that would get less is left out: it would say nothing.
_LEAST_SHARE = 0.01
#: Stages that ask of all rows alike, however many classes these have. Those before the classes can spare some, the more the more
#: classes want tables of their own: by this power of their number, at the rho from which on there is everything, and at an ample one.
_OF_ALL = frozenset({"coarse", "fine", "spikes"})
_BEFORE_CLASSES = frozenset({"coarse", "fine"})
_SPARED = (0.0, -0.5)
_AMPLE = 1500.0
#: Stages that say nothing, or nothing that is sure, without another.
_NEEDS = {"triples": "cubes", "teacher": "judge"}


#: How many standard deviations of its class counts a bin should hold, and how grids are bent, for small rho and for large.
_LEAST = (8.0, 4.0)
_BENDS = (60.0, BEND)
#: Where a column has so many categories that each has few of the rows, in the same measure as rho: between the second size
#: and the first, stages give up these parts of what they have to tables by class, which are all that speaks of each category.
#: Where bins would pool most of them, all of it is for a table by class of every category, however many rows there are.
_MANY_CODES = (1.0, 4.0)
_GIVEN_UP = {"teacher": 0.75, "moments": 0.5, "pairs": 0.5, "contrasts": 0.5, "links": 0.5}
#: Without a target, how columns hang together is what there is to learn.
_WITHOUT_TARGET = {"moments": 4.0, "pairs": 1.5}


@dataclass(frozen=True)
class Evidence:
    """Public facts: the declared rows (or what is assumed), the precision of the budget for one row, and the columns."""

    rows: float
    mu: float
    n_columns: int
    n_classes: int = 2
    number_target: bool = False
    n_codes: int = 1

    @property
    def rho(self) -> float:
        """All rows, over the noise of a count in every column."""
        return self.rows * self.mu / math.sqrt(self.n_columns + 1)

    @property
    def rho_of_class(self) -> float:
        """The same for a class, where there are more than two: each has fewer rows to be told apart by."""
        return self.rho * min(1.0, 2 / self.n_classes)

    def _by_rho(self, rho: float, at: tuple[float, ...], values: tuple[float, ...]) -> float:
        """In proportion to log rho between the given places."""
        return float(np.interp(math.log(max(rho, 1e-9)), np.log(at), values))

    def _along(self, places: tuple[tuple[float, float], ...]) -> float:
        """The value at this size, of some that are given with their sizes."""
        return self._by_rho(self.rho, *zip(*places, strict=True))

    @property
    def of_target(self) -> float:
        """What the first stages give to a number as target."""
        return self._along(_NUMBER_SHARE)

    @property
    def _of_all_rows(self) -> float:
        """What stages that ask of all rows alike need of their share: less with more classes, if there are rows enough."""
        return float(max(self.n_classes / 2, 1.0) ** self._by_rho(self.rho, (_MUCH, _AMPLE), _SPARED))

    @property
    def is_small(self) -> bool:
        """Whether there are coarse columns and their classes and no more."""
        return self.rho < _LITTLE

    @property
    def least(self) -> float:
        """A bin should hold so many standard deviations of its class counts: fewer where a teacher mends them later."""
        return self._by_rho(self.rho_of_class, (_SOME, _MUCH), _LEAST)

    @property
    def bend(self) -> float:
        """How strongly grids are bent: with few rows most parts should lie where most numbers are, in round bounds."""
        return self._by_rho(self.rho, (_LITTLE, _MUCH), _BENDS)

    def _for_number(self, shares: dict[str, float]) -> dict[str, float]:
        """With a number as target: what its counts and its teacher need more, classes have less."""
        more = {
            **{stage: max(shares[stage], self._along(places)) for stage, places in _NUMBER_COUNTED.items()},
            "teacher": max(shares["teacher"], self._along(_NUMBER_TAUGHT)),
        }
        taken = sum(share - shares[stage] for stage, share in more.items())
        return {**shares, **more, "classes": shares["classes"] - taken}

    def _for_classes(self, shares: dict[str, float], *, pooled: float) -> dict[str, float]:
        """With a column of very many categories, what others can do without is for what tells these apart by class."""
        amount = self._by_rho(self.rho / self.n_codes, _MANY_CODES, (1.0, 0.0))
        shares = _given({"codes": 0.0, **shares}, _GIVEN_UP, pooled, to="codes")
        return _given(shares, _GIVEN_UP, (1 - pooled) * amount, to="classes")

    def shares(self, *, has_target: bool, pooled: float = 0.0) -> dict[str, float]:
        """The stages that are worth their share, without a cliff between small tables and large ones.

        Args:
            has_target: Whether there are classes.
            pooled: How far some column has more categories than bins, from 0 to 1, where each can be counted by class.
        """
        at = tuple(rho for rho, _ in _AT)
        shares = {
            stage: self._by_rho(
                self.rho if stage in _OF_ALL else self.rho_of_class, at, tuple(row[i] for _, row in _AT)
            )
            for i, stage in enumerate(_STAGES)
        }
        for stage in _BEFORE_CLASSES:
            shares[stage] = max(shares[stage] * self._of_all_rows, _LEAST_SHARE)
        if self.number_target:
            shares = self._for_number(shares)
        elif has_target:
            shares = self._for_classes(shares, pooled=pooled)
        if not has_target:
            shares = {stage: share * _WITHOUT_TARGET.get(stage, 1.0) for stage, share in shares.items()}
        kept = {stage: share for stage, share in shares.items() if share >= _LEAST_SHARE}
        for stage, needed in _NEEDS.items():
            if stage in kept:
                kept[needed] = max(shares[needed], _LEAST_SHARE)
        return kept


def _given(shares: dict[str, float], parts: dict[str, float], amount: float, *, to: str) -> dict[str, float]:
    """Of each stage its part, times an amount, for another stage."""
    less = {stage: share * (1 - amount * parts.get(stage, 0.0)) for stage, share in shares.items()}
    return {**less, to: less[to] + (sum(shares.values()) - sum(less.values()))}


def evidence_of(schema: Schema, budget: Budget, *, n_columns: int) -> Evidence:
    """From the schema and the budget. Levels of a numeric target are as few as its rows support: they count as two."""
    of_unit = mean_norm(dict(zip(_STAGES, _AT[-1][1], strict=True)), schema.unit)
    mu = mu_of_a_row(schema, budget) * schema.unit.max_rows / of_unit  # the rows of a person are clipped together
    target = schema.target_column
    n_classes = target.size if target is not None and target.is_coded else 2
    is_number = target is not None and target.is_number
    # For persons with several rows gradients have less noise than tables: nothing is given up for these.
    coded = [column.size for column in schema.features if column.is_coded and schema.unit.max_rows == 1]
    return Evidence(declared_rows(schema), mu, n_columns, n_classes, is_number, max(coded, default=1))
