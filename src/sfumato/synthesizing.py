"""From a frame to synthetic rows in one call: what a notebook wants, with the same certificate as a release."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from sfumato.conditions import Given
from sfumato.errors import ModelError
from sfumato.fitted import Fitted
from sfumato.fitting import fit
from sfumato.folder.releasing import Release, certificate_of, release
from sfumato.folder.rows import settled
from sfumato.folder.signing import SigningKey
from sfumato.frames.kinds import FrameKind, kind_of
from sfumato.mechanism import Mechanism, as_mechanism, refuse_learner
from sfumato.model import Synthetic
from sfumato.outlook.row_counts import AskedRows
from sfumato.outlook.tally import Tally
from sfumato.private.intake.sensitive import opened
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.budget import budget_of
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.layout import as_html
from sfumato.public.schema.schema import Schema

_SHOWN = 5


@dataclass(frozen=True, repr=False)
class Synthesis:
    """Synthetic rows in memory, and what `save` needs to make a release folder of them.

    Attributes:
        fitted: What `sfumato.fit` gave.
        kind: The kind of frame that `table` comes as.
        asked: The number of rows that was asked for.
    """

    fitted: Fitted
    kind: FrameKind
    asked: AskedRows = None

    @property
    def schema(self) -> Schema:
        """What is public about the rows, with what was discovered."""
        return self.fitted.schema

    @cached_property
    def synthetic(self) -> Synthetic:
        """The rows to the last digit as `save` writes them: a table, or images and labels."""
        return settled(self.fitted.sample(self.asked))

    @cached_property
    def table(self) -> Any:
        """The rows as a frame of the kind that came in, with its types where these can hold what the schema allows."""
        return self._dressed(self.synthetic)

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables by name, in pandas: persons with a key, events with the key of what they hang on, and public ones."""
        if not self.schema.tables or self.synthetic.table is None:
            raise ModelError("the schema has one table alone. See table.")
        persons = {} if self.schema.persons is None else {self.schema.persons: self.synthetic.table}
        public = {lookup.name: lookup.frame for lookup in self.schema.lookups}
        return {**persons, **self.synthetic.tables, **public}

    @cached_property
    def certificate(self) -> Certificate:
        """What is claimed about the rows. It names no files before they are saved."""
        tally = Tally(self.schema, self.fitted.sampled)
        tally.add(self.synthetic)
        return certificate_of(self.fitted, tally)

    def sample(
        self,
        rows: AskedRows = None,
        *,
        seed: int | None = None,
        where: str | None = None,
        given: Given | None = None,
        balance: str | None = None,
    ) -> Any:
        """More rows, at no cost, as a frame of the same kind; see `Fitted.sample`."""
        return self._dressed(self.fitted.sample(rows, seed=seed, where=where, given=given, balance=balance))

    def save(self, to: str | Path, *, force: bool = False, sign: str | Path | SigningKey | None = None) -> Release:
        """Write a release folder of these rows; see `sfumato.release`. Its types follow from the schema alone."""
        return release(self.fitted, to=to, rows=self.asked, force=force, sign=sign)

    def __len__(self) -> int:
        return len(self.synthetic)

    def __repr__(self) -> str:
        return f"<Synthesis: {len(self):,} rows by {self.certificate.summary}>"

    def _repr_html_(self) -> str:
        told = as_html(self.certificate.sections())
        table = self.synthetic.table
        return told if table is None else told + str(table.head(_SHOWN).to_html(index=False, escape=True))

    def _dressed(self, synthetic: Synthetic) -> Any:
        if self.schema.tables:
            raise ModelError(
                "the release has several tables. See tables; sample(...) gives them from fitted.sample(...)."
            )
        if synthetic.table is None:
            raise ModelError("the rows are images and have no table. See synthetic.images and synthetic.labels.")
        return self.kind.dress(synthetic.table, self.schema)


def synthesize(
    data: Any,
    schema: Schema | str | Path | None = None,
    *,
    epsilon: float,
    delta: float | None = None,
    method: Mechanism | str = "auto",
    rows: AskedRows = None,
    seed: int | None = None,
    source: NoiseSource | None = None,
    engine: Any = None,
    score: float | bool = False,
    ledger: Any = None,
    dataset: str | None = None,
    on_step: Callable[[str], None] = lambda name: None,
) -> Synthesis:
    """Measure private rows within the budget, and draw synthetic ones.

    Args:
        data: The private rows: a frame of pandas or polars, an Arrow table, a path, whatever `Sensitive.read` takes, or a
            `Sensitive`.
        schema: What is public about them, or the path of its file. A `Sensitive` has its own.
        epsilon: How much may leak. 1 is a usual choice.
        delta: The probability of an exception. By default 1e-6, or a tenth of 1/rows if that is smaller.
        method: A mechanism, or the name of one (`auto` for the default).
        rows: How many; `many` for the number that is recommended for training. By default as many as declared.
        seed: Public randomness of the model. Drawn afresh where it is not given, and written into the certificate.
        source: Privacy randomness. The default is secure; any other one stamps the certificate `research`.
        engine: Where rows are kept and added up; see `sfumato.fit`.
        score: Set a tenth of the rows apart for a private score; see `sfumato.fit`.
        ledger: What all releases of these rows are charged to; see `sfumato.fit`.
        dataset: The name of the rows in the ledger.
        on_step: Told the name of each step as it begins.
    """
    private = opened(data, schema)
    mechanism = as_mechanism(method, private.schema)
    refuse_learner(mechanism)
    budget = budget_of(epsilon, rows=private.schema.rows, delta=delta)
    fitted = fit(
        mechanism,
        private,
        budget,
        seed=seed,
        source=source,
        engine=engine,
        score=score,
        ledger=ledger,
        dataset=dataset,
        on_step=on_step,
    )
    return Synthesis(fitted, kind_of(data), rows)
