"""What to expect of a release, in numbers and in words, from public simulations alone."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from sfumato.mechanism import Named, mechanism_for, registered
from sfumato.outlook.constants import constants_digest
from sfumato.outlook.expectations import Expectations, Range, load_expectations
from sfumato.public.accounting import epsilon_of_mu, mu_of_budget
from sfumato.public.budget import Budget
from sfumato.public.plan.discovery import BUDGET_SHARE
from sfumato.public.plan.plan import Plan, noise_growth
from sfumato.public.schema.schema import Schema, sketch

#: Below this share in the middle of all runs, with even classes, a release is advised against.
HOPELESS = 0.5
#: How a warning begins that says so of the release as a whole: reports and badges know it by these words.
LITTLE_USE = "This release is likely to be of little use"
#: What the advice aims at.
USEFUL = 0.75
#: Mean distance of pairs above which a release without a target is advised against.
_FAR = 0.3
#: Numbers of rows that are told of where the schema has none, and rates of a class, which are private.
SIZES = (1_000, 10_000, 100_000)
_RATES = (0.1, 0.01)
#: Learners of numbers were not simulated. A class of this share is the nearest to a number that was: see `number_share`.
LIKE_A_NUMBER = 0.08
#: With more classes than this, their number is worth a word.
_MANY_CLASSES = 10
#: Where the search for the rows that a release needs begins, and how many powers of ten it goes on for.
_LEAST, _DECADES = 100, 5


@dataclass(frozen=True)
class Outlook:
    """Expectations for one schema and budget: `mu` is the precision that all steps together have on a row."""

    found: Expectations
    mechanism: str
    simulated: str
    rows: int | None
    mu: float
    columns: int
    classes: int
    delta: float
    noise_growth: float
    current: bool
    predicts_number: bool = False

    def shares(self, rows: int) -> dict[float, Range]:
        """How much of a learner's lift is kept, by the share of the rarest class: even classes first."""
        if self.classes < 2:
            return {}
        even = 1 / self.classes
        law = self.found.share
        rates = [even, *(rate for rate in _RATES if rate < even and law.rate)]
        return {rate: law.at(rows=rows, mu=self.mu, columns=self.columns, rate=max(rate, 1e-9)) for rate in rates}

    def number_share(self, rows: int) -> Range | None:
        """Where the target is a number: what a learner keeps at best, by what it keeps of a class of one row in twelve.

        On the zoo's table of 150 columns and 20,000 rows this says .87, and .85 were kept; where a number follows from
        products or small differences of columns, less is kept than this says.
        """
        if not self.predicts_number:
            return None
        return self.found.share.at(rows=rows, mu=self.mu, columns=self.columns, rate=LIKE_A_NUMBER)

    def distances(self, rows: int) -> dict[str, Range]:
        """Mean total variation distance of columns and of pairs."""
        laws = {"one_way": self.found.one_way, "two_way": self.found.two_way}
        return {n: law.at(rows=rows, mu=self.mu, columns=self.columns) for n, law in laws.items() if law is not None}

    @property
    def warning(self) -> str | None:
        """A sentence against a release that cannot work, and what would help."""
        if self.rows is None:
            return None
        shares, number = self.shares(self.rows), self.number_share(self.rows)
        if shares:
            middle = next(iter(shares.values())).middle
            if middle >= HOPELESS:
                return None
            lost = f"a learner would keep about {100 * middle:.0f} % of what it could learn from the real rows, even with even classes"
        elif number is not None and number.middle < HOPELESS:
            lost = f"its target is a number, of which a learner would keep about {100 * number.middle:.0f} % of what it could "
            lost += "learn from the real rows, or less"
        else:
            two_way = self.distances(self.rows).get("two_way")
            if two_way is None or two_way.middle <= _FAR:
                return None
            lost = f"pairs of columns would be off by about {100 * two_way.middle:.0f} %"
        return f"{LITTLE_USE}: {lost}. {self._remedy()}"

    @property
    def rows_needed(self) -> int | None:
        """About how many rows a release needs that is not advised against; None where nobody has so many."""
        sizes = (round(_LEAST * 10 ** (k / 10)) for k in range(10 * _DECADES + 1))
        return next((_rounded(size) for size in sizes if replace(self, rows=size).warning is None), None)

    def _remedy(self) -> str:
        """How many rows, which epsilon or how few columns would do, by the same law."""
        rows = self.rows or 1
        law = self.found.share
        rate = LIKE_A_NUMBER if self.predicts_number else 1 / max(self.classes, 2)
        factor = law.factor_for(USEFUL, rows=rows, mu=self.mu, columns=self.columns, rate=rate)
        if not 1 < factor < math.inf:
            return "More rows, a larger epsilon or fewer columns would help."
        helps = [f"about {_rounded(rows * factor):,} rows instead of {rows:,}"]
        epsilon = epsilon_of_mu(self.mu * factor * self.noise_growth, delta=self.delta)
        if epsilon <= 10:
            helps.append(f"an epsilon of about {epsilon:.2g}")
        columns = math.floor(self.columns * factor ** (-1 / law.columns)) if law.columns else 0
        helps.append(f"{columns} column{'s' * (columns > 1)} instead of {self.columns}" if columns else "")
        helps.append(f"fewer classes than {self.classes:,}" if self.classes > _MANY_CLASSES else "")
        said = [text for text in helps if text]
        listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])}, or {said[-1]}"
        return f"What would help: {listed}."

    def to_json(self) -> dict[str, Any]:
        """Plain values; one entry for each number of rows that is told of."""
        sizes = SIZES if self.rows is None else (self.rows,)
        return {
            "simulated_mechanism": self.simulated,
            "simulated_with_these_constants": self.current,
            "runs": self.found.runs,
            "rows_mu": None if self.rows is None else self.rows * self.mu,
            "expected": [
                {
                    "rows": rows,
                    "share_kept": [{"rarest_class": rate, **asdict(r)} for rate, r in self.shares(rows).items()],
                    "distance": {name: asdict(r) for name, r in self.distances(rows).items()},
                }
                for rows in sizes
            ],
            "predicts_number": self.predicts_number,
            "rows_needed": self.rows_needed,
            "warning": self.warning,
            "alpha": [dict(point) for point in self.found.alpha],
        }


def outlook(mechanism: Named, *, schema: Schema, budget: Budget, planned: Plan | None) -> Outlook | None:
    """What the simulated mechanism gave on public populations of about this size, noise and width.

    None for several tables: rows without histories were simulated, and they say nothing of these.
    """
    if schema.tables:
        return None
    default = mechanism_for("auto", schema)
    kind, simulated = ("image", "3a-image") if schema.images else ("table", "3a-table")
    target = sketch(schema).target_column
    found = load_expectations()[kind]
    is_default = mechanism.name == default.name
    growth = 1.0
    if schema.unit.max_rows > 1:
        steps = planned.steps if planned is not None and is_default else default.steps(sketch(schema), budget)
        growth = noise_growth(steps, unit=schema.unit)
    return Outlook(
        found=found,
        mechanism=mechanism.name,
        simulated=simulated,
        rows=schema.rows,
        mu=1 / planned.scale if planned is not None and is_default else _mu(schema, budget) / growth,
        columns=max(1, len(schema.features)),
        classes=target.size if target is not None and target.is_coded else 0,
        delta=budget.delta,
        noise_growth=growth,
        current=found.digest == constants_digest(registered(simulated)()),
        predicts_number=target is not None and target.is_number,
    )


def _mu(schema: Schema, budget: Budget) -> float:
    """The precision that sums over everyone have for a unit of one row: all of the budget, less what a discovery takes."""
    left = math.sqrt(1 - BUDGET_SHARE) if schema.unknown else 1.0
    distance = 2.0 if schema.unit.relation == "replace_one" else 1.0  # of two rows, at most
    return left * mu_of_budget(budget.epsilon, delta=budget.delta) / distance


def _rounded(value: float) -> int:
    """Two digits are all that such a figure is worth.

    >>> _rounded(12_345), _rounded(7.2)
    (12000, 7)
    """
    return round(float(f"{value:.2g}"))
