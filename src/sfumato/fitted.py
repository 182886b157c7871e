"""What `fit` hands on: nothing in it has seen a private row except through a door."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sfumato.conditions import Asked, Conditioned, Given, conditioned
from sfumato.errors import ModelError
from sfumato.mechanism import Measurements, Mechanism
from sfumato.model import Classifier, Model, Product, Synthetic, public_seed
from sfumato.outlook.row_counts import AskedRows, rows_to_release
from sfumato.pieces import draw_pieces, joined
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.plan.answers import AnsweredDoors, Answers
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema


@dataclass(frozen=True, repr=False)
class Fitted:
    """Everything that has passed the boundary: the doors' noisy answers, the model built from them, the certificate."""

    mechanism: Mechanism
    schema: Schema
    plan: Plan
    answers: Answers
    model: Product
    certificate: Certificate
    #: Told the text of every certificate that is written of this, where a ledger keeps them.
    on_written: Callable[[str], None] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def measurements(self) -> Measurements:
        """What the mechanism makes of the answers, computed anew from them: no row is needed."""
        return self.mechanism.measure(AnsweredDoors(self.plan, self.answers), self.schema)

    @property
    def sampled(self) -> Model:
        """The model, where it gives rows."""
        if isinstance(self.model, Classifier):
            raise ModelError(f"{self.mechanism.name} has trained a model, which predicts and gives no rows.")
        return self.model

    def sample(
        self,
        rows: AskedRows = None,
        *,
        seed: int | None = None,
        where: str | None = None,
        given: Given | None = None,
        balance: str | None = None,
    ) -> Synthetic:
        """Synthetic rows, at no cost.

        Args:
            rows: How many; `many` for the number that is recommended for training. By default as many as the schema
                declares, or as there seem to be by the noisy count.
            seed: Public randomness. By default the certificate's: these are the rows that `release` writes.
            where: A condition that all rows shall fulfil, such as "age >= 65 and ward = 'icu'".
            given: Values of some columns; or a frame of public rows that are partly filled, for each of which one is made.
            balance: A column of classes, of each of which there shall be as many rows.
        """
        if where is None and given is None and balance is None:
            return joined(self.pieces(rows, seed=seed))
        asked = Asked(where, given, balance)
        return asked.rows_of(self.sampled, self.schema, self.row_count(rows), seed=self._seed(seed))[0]

    def under(self, where: str, *, given: Mapping[str, Any] | None = None) -> Conditioned:
        """The model under a condition: its rows, and what the noisy counts say of those behind it."""
        return conditioned(self.sampled, self.schema, where=where, given=given)

    def pieces(self, rows: AskedRows = None, *, seed: int | None = None) -> Iterator[Synthetic]:
        """The same rows piece by piece, so that they need never be in memory together."""
        return draw_pieces(self.sampled, self.row_count(rows), schema=self.schema, seed=self._seed(seed))

    def _seed(self, seed: int | None) -> int:
        return self.certificate.seed if seed is None else public_seed(seed)

    def row_count(self, rows: AskedRows = None) -> int:
        """How many rows are meant."""
        return rows_to_release(rows, schema=self.schema, mechanism=self.mechanism, model=self.sampled)

    def __repr__(self) -> str:
        return f"<Fitted: {self.certificate.summary}>"

    def _repr_html_(self) -> str:
        return self.certificate._repr_html_()
