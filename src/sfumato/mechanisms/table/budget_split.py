"""How much the rows can tell, from public facts alone, and what each stage gets of the budget.

The measure is rho: the whole table, in standard deviations of the noise on one count, when every column counts each row
once. With a rho of a hundred there are coarse columns and their classes and no more; with thousands, everything.
"""

import math
from dataclasses import dataclass, field, fields

import numpy as np

from sfumato.mechanisms.common.precision import declared_rows, mu_of_a_row
from sfumato.mechanisms.table.person_norms import mean_norm
from sfumato.mechanisms.table.settings.budget import BudgetSettings, PersonNorms
from sfumato.mechanisms.table.settings.joint import JointSettings
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Schema

#: Stages that ask of all rows alike, however many classes these have.
_OF_ALL = frozenset({"coarse", "fine", "spikes"})
#: Those before the classes can spare some, the more the more classes want tables of their own.
_BEFORE_CLASSES = frozenset({"coarse", "fine"})
#: Stages that ask how columns go with the class together.
_OF_CLASSES = frozenset({"contrasts", "triples", "cubes"})
#: Those that ask nothing of a table without a target.
_OF_TARGET = _OF_CLASSES | {"classes", "teacher"}
#: Stages that give up a part to tables by class, where a column has so many categories that each has few of the rows.
_GIVING = frozenset({"moments", "pairs", "contrasts", "links"})


@dataclass(frozen=True)
class Evidence:
    """Public facts: the declared rows (or what is assumed), the precision of the budget for one row, and the columns."""

    rows: float
    mu: float
    n_columns: int
    n_classes: int = 2
    number_target: bool = False
    n_codes: int = 1
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    most_columns: int = 0  # if no candidates for groups are joined

    @property
    def rho(self) -> float:
        """All rows, over the noise of a count in every column."""
        return self.rows * self.mu / math.sqrt(self.n_columns + 1)

    @property
    def rho_of_class(self) -> float:
        """The same for a class, where there are more than two: each has fewer rows."""
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
        return self._along(self.budget.number_share)

    @property
    def is_small(self) -> bool:
        """Whether there are coarse columns and their classes and no more."""
        return self.rho < self.budget.sizes[0]

    @property
    def least(self) -> float:
        """A bin should hold so many standard deviations of its class counts: fewer where corrections follow."""
        return self._by_rho(self.rho_of_class, self.budget.sizes[1:], self.budget.bin_least)

    @property
    def bend(self) -> float:
        """How strongly grids are bent: with few rows most parts should lie where most numbers are, in round bounds."""
        return self._by_rho(self.rho, (self.budget.sizes[0], self.budget.sizes[-1]), self.budget.bends)

    def _for_number(self, shares: dict[str, float]) -> dict[str, float]:
        """With a number as target: what its counts and its corrections need more, classes have less.

        How pairs and triples of columns go with it, corrections show.
        """
        more = {
            "coarse": max(shares["coarse"], self._along(self.budget.number_coarse)),
            "fine": max(shares["fine"], self._along(self.budget.number_fine)),
            "teacher": max(shares["teacher"], self._along(self.budget.number_taught)),
        }
        taken = sum(share - shares[stage] for stage, share in more.items())
        return {**shares, **more, **dict.fromkeys(_OF_CLASSES, 0.0), "classes": shares["classes"] - taken}

    def _for_classes(self, shares: dict[str, float], *, pooled: float) -> dict[str, float]:
        """With a column of very many categories, what others can do without is for tables of these by class."""
        amount = self._by_rho(self.rho / self.n_codes, self.budget.many_codes, (1.0, 0.0))
        parts = {"teacher": self.budget.given_up_by_teacher, **dict.fromkeys(_GIVING, self.budget.given_up)}
        shares = _given({"codes": 0.0, **shares}, parts, pooled, to="codes")
        return _given(shares, parts, (1 - pooled) * amount, to="classes")

    def _enough_for_moments(self, shares: dict[str, float]) -> float:
        """The share of moments without a target: at most what leaves less noise in a correlation than rows have chance.

        A row has k scores, so that noise grows like k. Few columns need far less than their margins do.
        """
        n_scores = max(self.most_columns, self.n_columns)
        noise = JointSettings.score_clip * n_scores / math.sqrt(2) / (self.rows * self.mu)  # with the whole budget
        part = min((noise * math.sqrt(self.rows) / self.budget.moments_enough) ** 2, 0.99)
        others = sum(share for stage, share in shares.items() if stage != "moments")
        return min(shares["moments"], max(part / (1 - part) * others, self.budget.least_share))

    def shares(self, *, has_target: bool, pooled: float = 0.0) -> dict[str, float]:
        """The stages that are worth their share, without a cliff between small tables and large ones.

        `pooled` is how far some column has more categories than bins, from 0 to 1, where each can be counted by class.
        """
        shares = {
            stage: self._by_rho(self.rho if stage in _OF_ALL else self.rho_of_class, self.budget.sizes, at_sizes)
            for stage, at_sizes in _stages(self.budget).items()
        }
        # What asks of all rows alike needs less of its share with more classes, if there are rows enough.
        power = self._by_rho(self.rho, (self.budget.sizes[-1], self.budget.ample), self.budget.spared)
        for stage in _BEFORE_CLASSES:
            shares[stage] = max(shares[stage] * max(self.n_classes / 2, 1.0) ** power, self.budget.least_share)
        if self.number_target:
            shares = self._for_number(shares)
        elif has_target:
            shares = self._for_classes(shares, pooled=pooled)
        if not has_target:
            more = {"moments": self.budget.moments_alone, "pairs": self.budget.pairs_alone}
            shares = {stage: share * more.get(stage, 1.0) for stage, share in shares.items() if stage not in _OF_TARGET}
            shares["moments"] = self._enough_for_moments(shares)
        kept = {stage: share for stage, share in shares.items() if share >= self.budget.least_share}
        if self.number_target and "teacher" in kept:
            kept["residuals"] = self.budget.residual_variance
        if "triples" in kept:  # which say nothing that is sure without their tables
            kept["cubes"] = max(shares["cubes"], self.budget.least_share)
        return kept


def _stages(budget: BudgetSettings) -> dict[str, tuple[float, ...]]:
    """The shares of every stage, in their order."""
    return {stage.name: getattr(budget.shares, stage.name) for stage in fields(budget.shares)}


def _given(shares: dict[str, float], parts: dict[str, float], amount: float, *, to: str) -> dict[str, float]:
    """Of each stage its part, times an amount, for another stage."""
    less = {stage: share * (1 - amount * parts.get(stage, 0.0)) for stage, share in shares.items()}
    return {**less, to: less[to] + (sum(shares.values()) - sum(less.values()))}


def evidence_of(
    schema: Schema, budget: Budget, settings: BudgetSettings, norms: PersonNorms, *, n_columns: int
) -> Evidence:
    """From the schema and the budget. Levels of a numeric target are as few as its rows support: they count as two."""
    at_most = {stage: at_sizes[-1] for stage, at_sizes in _stages(settings).items()}
    of_unit = mean_norm(at_most, schema.unit, norms)
    mu = mu_of_a_row(schema, budget) * schema.unit.max_rows / of_unit  # the rows of a person are clipped together
    target = schema.target_column
    n_classes = target.size if target is not None and target.is_coded else 2
    is_number = target is not None and target.is_number
    # For persons with several rows gradients have less noise than tables: nothing is given up for these.
    coded = [column.size for column in schema.features if column.is_coded and schema.unit.max_rows == 1]
    return Evidence(
        declared_rows(schema),
        mu,
        n_columns,
        n_classes,
        is_number,
        max(coded, default=1),
        settings,
        most_columns=len(schema.features),
    )
