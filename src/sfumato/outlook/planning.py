"""What a release would do and be worth, before any row is read: the same in Python and on the command line."""

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sfumato.errors import PlanError
from sfumato.mechanism import Learner, Mechanism, as_mechanism, mechanism_for
from sfumato.outlook import preview, sections
from sfumato.outlook.forecast import Outlook, outlook
from sfumato.outlook.row_counts import PlannedRows, planned_rows
from sfumato.public.accounting import Spent
from sfumato.public.budget import Budget, budget_of
from sfumato.public.certificate.claim import claim_of
from sfumato.public.certificate.layout import Section, as_html, as_text
from sfumato.public.plan.outline import Outline, outline_of
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema, schema_of, sketch


@dataclass(frozen=True, repr=False)
class PlannedRelease:
    """Every access to private rows, its noise in each column's units, what to expect, and advice.

    `plan` is what the doors are held to; it is None where bounds or categories are to be discovered first, because the
    noise of the rest is then calibrated after the discovery. `outlook` is None for a learner and
    for several tables: simulations are of the rows of one table.
    """

    mechanism: Mechanism
    schema: Schema
    budget: Budget
    plan: Plan | None
    outlook: Outlook | None = field(repr=False)

    @cached_property
    def noise(self) -> list[dict[str, Any]]:
        """What the noise means for each column, in its units; none where the plan is not known yet."""
        return [] if self.plan is None else preview.noise_of(self.mechanism, schema=self.schema, planned=self.plan)

    @property
    def discovery(self) -> dict[str, Any] | None:
        """What is to be discovered, and with how much of the budget."""
        return preview.discovery_of(self.schema, self.budget)

    @cached_property
    def outline(self) -> Outline | None:
        """The path that the mechanism takes, and what it leaves out; None where it does the same with all data."""
        return outline_of(self.mechanism, sketch(self.schema), self.budget)

    @property
    def rows(self) -> PlannedRows:
        """How many rows the release will have, by default and where many are asked for."""
        return planned_rows(self.mechanism, sketch(self.schema))

    @property
    def duration(self) -> preview.Duration:
        """How long a release took on data like this, and what a GPU would do."""
        return preview.duration_of(self.mechanism, self.schema)

    @property
    def advice(self) -> list[str]:
        """What a careful colleague would say about this plan."""
        # A default chooses its cells itself, so that advice on the noise of single counts would be of no use.
        known, default = self.outlook, mechanism_for("auto", self.schema)
        judged = None if known is None or known.mechanism in (known.simulated, default.name) else self.plan
        said = preview.advice(judged, schema=self.schema, budget=self.budget)
        rare = preview.rare_categories(self.noise, self.schema)
        return [*said, *([] if rare is None else [rare]), *preview.keys_without_effect(self.mechanism, self.schema)]

    @property
    def warning(self) -> str | None:
        """A sentence against a release that cannot work, and what would help."""
        return None if self.outlook is None else self.outlook.warning

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every planned access to private rows."""
        return self._known().steps

    @property
    def spent(self) -> Spent:
        """What all steps cost together."""
        return self._known().spent

    def step(self, name: str) -> Step:
        """The step of that name."""
        return self._known().step(name)

    def noise_multiplier(self, step: str) -> float:
        """Noise of one use of a step, relative to what a row can add."""
        return self._known().noise_multiplier(step)

    def noise_stddev(self, step: str, block: str) -> float:
        """Noise on each entry of a block, in the block's own units."""
        return self._known().noise_stddev(step, block)

    def _known(self) -> Plan:
        if self.plan is None:
            names = ", ".join(column.name for column in self.schema.unknown)
            raise PlanError(
                f"bounds or categories of {names} are to be discovered first, so the plan is not known yet. "
                "Declare them in the schema where they are public."
            )
        return self.plan

    def sections(self, *, curve: bool = False) -> list[Section]:
        """All that is to be told, what matters to most people first. `curve`: the trade-off of alpha as well."""
        told = []
        if self.outlook is not None:
            told += [sections.of_outlook(self.outlook), *([sections.of_curve(self.outlook)] if curve else [])]
        elif self.schema.tables:
            told.append(sections.of_several_tables())
        told.append(Section(title="Rows of the release", before=tuple(self.rows.sentences)))
        told.append(Section(title="How long it takes", before=tuple(self.duration.sentences)))
        if self.outline is not None:
            is_open = self.discovery is not None
            told.append(sections.of_outline(self.mechanism.name, self.outline, is_open=is_open))
        if self.discovery is not None:
            told.append(sections.of_discovery(self.discovery))
        told += [sections.of_rules(self.schema)] if self.schema.rules else []
        if self.plan is not None:
            told += [sections.of_noise(self.noise, self.schema)] if self.noise else []
            told.append(sections.of_steps(self.mechanism.name, self.plan))
        return told

    @property
    def warnings(self) -> list[tuple[str, str]]:
        """The warning, if there is one, with its word: it is told before all else."""
        return [("warning", self.warning)] if self.warning else []

    @property
    def remarks(self) -> list[tuple[str, str]]:
        """All advice, with the word that introduces it."""
        return [("advice", sentence) for sentence in self.advice]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        unit = self.schema.unit.describe()
        known = {"epsilon": self.budget.epsilon, "delta": self.budget.delta, "unit": unit, "steps": None}
        if self.plan is not None:
            known = self.plan.to_json()
        return {
            "mechanism": self.mechanism.name,
            **known,
            "claim": None if self.plan is None else claim_of(self.plan).in_words,
            "column_noise": self.noise,
            "rows": self.rows.to_json(),
            "duration": asdict(self.duration),
            "outline": None if self.outline is None else self.outline.to_json(),
            "expectation": None if self.outlook is None else self.outlook.to_json(),
            "discovery": self.discovery,
            **({"rules": [rule.told for rule in self.schema.rules]} if self.schema.rules else {}),
            "advice": self.advice,
        }

    def __repr__(self) -> str:
        """One line; print it to read it all."""
        known = "" if self.plan is not None else ", after a discovery"
        return f"<PlannedRelease: {self.mechanism.name}, epsilon {self.budget.epsilon:g}, delta {self.budget.delta:g}{known}>"

    def __str__(self) -> str:
        """What `sfumato plan` prints, without colours."""
        return as_text(self._all_sections())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return as_html(self._all_sections())

    def _all_sections(self) -> list[Section]:
        first, last = (
            [Section(title=word.capitalize(), before=(sentence,)) for word, sentence in said]
            for said in (self.warnings, self.remarks)
        )
        return [*first, *self.sections(), *last]


def plan(mechanism: Mechanism | str, schema: Schema | str | Path, budget: Budget | float) -> PlannedRelease:
    """Every access to private rows, its noise and what to expect, before any row is read.

    Refuses what `fit` would refuse, and reads as `fit` does: a number as an epsilon, a path as that of a schema. Where the
    schema leaves bounds or categories open it says what is to be discovered instead of the steps.

    >>> from sfumato.public.schema.schema import Column
    >>> age = Column(name="age", kind="integer", bounds=(0, 99))
    >>> planned = plan("auto", Schema(columns=(age,), rows=10_000), Budget(epsilon=1.0, delta=1e-6))
    >>> planned
    <PlannedRelease: 3a-table, epsilon 1, delta 1e-06>
    >>> print(planned)  # doctest: +ELLIPSIS
    What to expect, from public simulations
    ...
    """
    schema = schema_of(schema)
    chosen, budget = as_mechanism(mechanism, schema), budget_of(budget, rows=schema.rows)
    known = preview.plan_if_known(chosen, schema=schema, budget=budget)
    learns = isinstance(chosen, Learner)
    expected = None if learns else outlook(chosen, schema=schema, budget=budget, planned=known)
    return PlannedRelease(chosen, schema, budget, known, expected)
