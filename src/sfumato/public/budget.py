"""The promise: how much may leak (`Budget`) and about whom (`PrivacyUnit`)."""

import math
import numbers
from dataclasses import dataclass, field
from typing import Any, Literal

from sfumato.errors import BudgetError, SchemaError

Relation = Literal["add_or_remove", "replace_one"]
RELATIONS: tuple[Relation, ...] = ("add_or_remove", "replace_one")

#: The largest delta where nobody declares how many rows there are. It would be 1/rows of a thousand rows, and with
#: fewer than that, noise leaves little to release; whoever has fewer can declare it. The true bound may be far
#: smaller, and it cannot be checked: the number of rows is private.
LARGEST_DELTA = 1e-3


@dataclass(frozen=True)
class PrivacyUnit:
    """Whose presence is hidden, and what hiding means.

    `add_or_remove`: nobody can tell whether the unit is in the data at all, and the number of rows is private.
    `replace_one`: nobody can tell which of two values the unit holds, and the number of rows is public.
    The unit is one row, or all rows of one person, of which at most `max_rows` are used; or, where there are `tables` of
    events, a person's one row with all rows that hang on it, of each table at most as many as stand beside its name.

    >>> PrivacyUnit().describe()
    'any one row, added or removed'
    >>> PrivacyUnit(person="patient", max_rows=5).describe()
    "all rows of one person (column 'patient', at most 5 rows used), added or removed"
    >>> PrivacyUnit(person="patient", tables=(("visits", 20),)).describe()
    "one person (column 'patient') with all that hangs on it ('visits', at most 20 rows used), added or removed"
    """

    relation: Relation = "add_or_remove"
    person: str | None = None
    max_rows: int = 1
    tables: tuple[tuple[str, int], ...] = field(default=(), metadata={"optional": True})

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise SchemaError(f"relation = {self.relation!r} is not known. Use one of {', '.join(RELATIONS)}.")
        if type(self.max_rows) is not int or self.max_rows < 1:
            raise SchemaError(f"max_rows = {self.max_rows!r} must be a whole number of at least 1.")
        if self.tables and (self.person is None or self.max_rows != 1):
            raise SchemaError(
                "a person with tables of events has one row of its own. Give its key, and leave out max_rows."
            )
        if self.person is None and self.max_rows != 1:
            raise SchemaError("max_rows is given without a person column. Name the column that identifies a person.")

    def describe(self) -> str:
        """Say the unit in words, for certificates and tables."""
        who = "any one row"
        if self.tables:
            hanging = " and ".join(f"{name!r}, at most {rows} rows used" for name, rows in self.tables)
            who = f"one person (column {self.person!r}) with all that hangs on it ({hanging})"
        elif self.person is not None:
            who = f"all rows of one person (column {self.person!r}, at most {self.max_rows} rows used)"
        return f"{who}, {'added or removed' if self.relation == 'add_or_remove' else 'replaced by any other'}"

    def to_json(self) -> dict[str, Any]:
        """Plain values for the certificate. Tables are named where there are any."""
        plain: dict[str, Any] = {"relation": self.relation, "person": self.person, "max_rows": self.max_rows}
        return {**plain, "tables": [list(table) for table in self.tables]} if self.tables else plain


@dataclass(frozen=True)
class Budget:
    """An (epsilon, delta) guarantee, checked for being one.

    >>> Budget(epsilon=1.0, delta=1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    >>> Budget(epsilon=0.0, delta=1e-6)
    Traceback (most recent call last):
    sfumato.errors.BudgetError: epsilon = 0.0 must be a finite number above 0. Try 1.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        given: dict[str, object] = {"epsilon": self.epsilon, "delta": self.delta}  # whatever was written
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise BudgetError(f"{name} = {value!r} must be a number, and is of type {type(value).__name__}.")
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise BudgetError(f"epsilon = {self.epsilon} must be a finite number above 0. Try 1.")
        if not 0 < self.delta < 1:
            raise BudgetError(f"delta = {self.delta} must lie strictly between 0 and 1. Try 1e-6.")

    def check_against(self, rows: int | None) -> None:
        """Refuse a delta that a release of one random raw row would also meet.

        Publishing one record out of n, chosen at random, satisfies (0, 1/n): a delta of 1/n or more says nothing. Where
        the number of rows is not declared, it is taken to be at least a thousand: see `LARGEST_DELTA`.

        >>> Budget(epsilon=1.0, delta=0.5).check_against(None)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        sfumato.errors.BudgetError: delta = 0.5 is too large where the number of rows is not declared: ...
        """
        if rows is None:
            if self.delta > LARGEST_DELTA:
                raise BudgetError(
                    f"delta = {self.delta:g} is too large where the number of rows is not declared: it may be at most "
                    f"{LARGEST_DELTA:g}, and {default_delta(None):g} is recommended. If fewer than 1,000 rows are "
                    "expected, declare rows under [dataset]."
                )
        elif self.delta >= 1 / rows:
            raise BudgetError(
                f"delta = {self.delta:g} is too large for about {rows} declared rows: from 1/rows = {1 / rows:.2g} on it "
                "promises nothing, because publishing one row at random would meet it. "
                f"Use at most a tenth of that, {1 / (10 * rows):.2g}."
            )


def budget_of(asked: Budget | float, *, rows: int | None, delta: float | None = None) -> Budget:
    """A budget as people ask for one: a number is an epsilon, and a delta that nobody chose is the default."""
    if isinstance(asked, Budget):
        return asked
    number: Any = asked  # people give texts as well
    if isinstance(number, bool) or not isinstance(number, numbers.Real):
        raise BudgetError(
            f"a budget of type {type(asked).__name__} is not known. Give an epsilon, or sf.Budget(epsilon=..., delta=...)."
        )
    return Budget(epsilon=float(number), delta=default_delta(rows) if delta is None else delta)


def default_delta(rows: int | None) -> float:
    """The delta to use where nobody chose one: 1e-6, or a tenth of 1/rows where that is smaller."""
    return 1e-6 if rows is None else min(1e-6, 1 / (10 * rows))
