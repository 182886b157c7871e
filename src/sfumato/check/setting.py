"""What the checks share: a mechanism, a schema, and ways to run one on rows made up from the other."""

from dataclasses import dataclass
from functools import cached_property

from sfumato.check import rows as made
from sfumato.check.recorder import Record, recording
from sfumato.fitted import Fitted
from sfumato.fitting import fit
from sfumato.mechanism import Measurements, Mechanism
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.kernel.view import View
from sfumato.public.budget import Budget
from sfumato.public.plan import Plan, make_plan
from sfumato.public.schema import Schema


@dataclass(frozen=True)
class Setting:
    """A mechanism on trial."""

    mechanism: Mechanism
    schema: Schema
    budget: Budget
    size: int
    view_type: type[View]

    @property
    def n_rows(self) -> int:
        """How many rows to make up: the public number, where there is one."""
        if self.size_is_public and self.schema.rows is not None:
            return self.schema.rows
        return self.size

    @property
    def size_is_public(self) -> bool:
        """Whether neighbours have equally many rows."""
        return self.schema.unit.relation == "replace_one"

    def plan(self) -> Plan:
        """The plan that the mechanism asks for."""
        return self._plan

    @cached_property
    def _plan(self) -> Plan:
        """Made once: an account of sampled steps takes its time, and clauses open many views."""
        steps = self.mechanism.steps(self.schema)
        return make_plan(steps, budget=self.budget, unit=self.schema.unit, rows=self.schema.rows)

    def ordinary(self) -> made.Raw:
        """Ordinary rows."""
        return made.made_up(self.schema, n_rows=self.n_rows, seed=1)

    def measure(
        self, raw: made.Raw, *, record: Record, seed: int | None, answers: Record | None = None
    ) -> Measurements:
        """Run `measure` on some rows, noting what the doors do."""
        view = self.view(raw, record=record, seed=seed, answers=answers)
        return self.mechanism.measure(view, self.schema)

    def view(self, raw: made.Raw, *, record: Record, seed: int | None, answers: Record | None = None) -> View:
        """Doors on some rows. The same seed draws the same coins and the same noise."""
        view_type = recording(self.view_type, record, answers=answers)
        data = made.read(raw, self.schema)
        return view_type(data, plan=self.plan(), source=NoiseSource(research_seed=seed), schema=self.schema)

    def fit(self, raw: made.Raw) -> Fitted:
        """Fit on some rows, as a user would."""
        data = made.read(raw, self.schema)
        return fit(self.mechanism, data, self.budget, seed=7, view_type=self.view_type)

    def schema_column_is_coded(self, name: str) -> bool:
        """Whether a raw column holds category names; a person column counts as numbers."""
        return name != self.schema.unit.person and self.schema[name].is_coded

    def sizes_to_try(self) -> list[int]:
        """Row counts that must not show: none, one, and n against n + 1."""
        return [self.n_rows] if self.size_is_public else [0, 1, self.n_rows, self.n_rows + 1]
