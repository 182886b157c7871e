"""What is public about the data before anybody looks at it: columns, their kinds, bounds and categories."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.public.budget import PrivacyUnit

Kind = Literal["numeric", "integer", "datetime", "categorical", "ordinal", "boolean", "image"]
NUMBER_KINDS: tuple[Kind, ...] = ("numeric", "integer", "datetime")
CODED_KINDS: tuple[Kind, ...] = ("categorical", "ordinal", "boolean")
KINDS: tuple[Kind, ...] = (*NUMBER_KINDS, *CODED_KINDS, "image")

#: Rows in encoded form: numbers as float64 (NaN = missing), codes as int64 (last code = missing), images as float32.
Batch = Mapping[str, NDArray[Any]]


def n_rows_of(batch: Batch) -> int:
    """How many rows a batch holds."""
    return len(next(iter(batch.values())))


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column. `datetime` bounds are seconds since 1970-01-01 UTC.

    >>> Column(name="age", kind="integer", bounds=(17, 90)).centre
    53.5
    >>> Column(name="sex", kind="categorical", categories=("f", "m"), missing=True).size
    3
    """

    name: str
    kind: Kind
    bounds: tuple[float, float] | None = None
    categories: tuple[str, ...] = ()
    missing: bool = False
    shape: tuple[int, ...] = ()
    discover: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be clipped or mapped later: a row must never be the reason for an error."""
        if self.bounds is not None:  # floats always, so that equal schemas have equal digests
            object.__setattr__(self, "bounds", (float(self.bounds[0]) + 0.0, float(self.bounds[1]) + 0.0))
        if self.kind not in KINDS:
            raise SchemaError(f"column {self.name!r} has type {self.kind!r}. Use one of {', '.join(KINDS)}.")
        if self.kind == "boolean":
            object.__setattr__(self, "categories", ("false", "true"))
        if self.discover and self.kind in ("boolean", "image"):
            raise SchemaError(
                f"column {self.name!r} is {self.kind}: there is nothing to discover. Remove discover = true."
            )
        if self.kind in NUMBER_KINDS and not self.discover:
            self._check_bounds()
        if self.kind in ("categorical", "ordinal") and not self.discover:
            self._check_categories()
        if self.kind == "image":
            self._check_image()

    def _check_bounds(self) -> None:
        if self.bounds is None:
            raise SchemaError(
                f"column {self.name!r} has no bounds. Give bounds = [low, high] in schema.toml, "
                "or discover = true to spend budget on them."
            )
        low, high = self.bounds
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise SchemaError(
                f"column {self.name!r} has bounds [{low}, {high}]: give two finite numbers, low before high."
            )

    def _check_categories(self) -> None:
        if not self.categories:
            raise SchemaError(
                f"column {self.name!r} has no categories. List them in schema.toml, "
                "or discover = true to spend budget on them."
            )
        if len(set(self.categories)) != len(self.categories):
            raise SchemaError(f"column {self.name!r} names a category twice. List each category once.")

    def _check_image(self) -> None:
        if len(self.shape) not in (2, 3) or any(side < 1 for side in self.shape):
            raise SchemaError(
                f"column {self.name!r} is an image: give shape = [height, width] or [height, width, channels]."
            )
        if self.bounds is None:
            object.__setattr__(self, "bounds", (0.0, 255.0))
        self._check_bounds()
        if self.missing:
            raise SchemaError(f"column {self.name!r} is an image, and images cannot be missing. Remove missing = true.")

    @property
    def is_number(self) -> bool:
        """Whether rows hold a bounded number here."""
        return self.kind in NUMBER_KINDS

    @property
    def is_coded(self) -> bool:
        """Whether rows hold one of a public list of values here."""
        return self.kind in CODED_KINDS

    @property
    def size(self) -> int:
        """How many codes a coded column has, with the one for missing values."""
        return len(self.categories) + int(self.missing)

    @property
    def low(self) -> float:
        """The lower bound."""
        return self._bounds()[0]

    @property
    def high(self) -> float:
        """The upper bound."""
        return self._bounds()[1]

    @property
    def centre(self) -> float:
        """The middle of the bounds: the public guess for a number that cannot be read."""
        return (self.low + self.high) / 2

    def _bounds(self) -> tuple[float, float]:
        if self.bounds is None:
            raise SchemaError(f"column {self.name!r} has no bounds yet: run its discovery first.")
        return self.bounds

    def decode(self, values: NDArray[Any]) -> "pd.Series[Any]":
        """Encoded values as a reader wants to see them: whole numbers, dates, category names."""
        if self.kind == "image":
            raise SchemaError(f"column {self.name!r} holds images, which have no place in a table.")
        if self.is_coded:
            labels = np.array([*self.categories, None] if self.missing else [*self.categories], dtype=object)
            names = labels[np.clip(values.astype(np.int64), 0, self.size - 1)]
            if self.kind == "boolean":
                return pd.Series(names, name=self.name).map({"true": True, "false": False}).astype("boolean")
            return pd.Series(
                pd.Categorical(names, categories=list(self.categories), ordered=self.kind == "ordinal"), name=self.name
            )
        numbers = pd.Series(np.clip(values.astype(np.float64), self.low, self.high), name=self.name)
        if self.kind == "integer":
            whole = numbers.round().clip(math.ceil(self.low), math.floor(self.high))
            return whole.astype("Int64") if self.missing else whole.astype("int64")
        if self.kind == "datetime":
            return pd.to_datetime(numbers.round(), unit="s").astype("datetime64[s]").rename(self.name)
        return numbers


@dataclass(frozen=True, kw_only=True)
class Schema:
    """All columns, the target to predict, the public size (if any) and the unit of privacy."""

    columns: tuple[Column, ...]
    target: str | None = None
    rows: int | None = None
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)

    def __post_init__(self) -> None:
        """Refuse a schema that contradicts itself."""
        names = [column.name for column in self.columns]
        if not names:
            raise SchemaError("the schema has no columns. Declare at least one under [columns.NAME].")
        if len(set(names)) != len(names):
            raise SchemaError("the schema names a column twice. Declare each column once.")
        if self.target is not None and self.target not in names:
            raise SchemaError(
                f"target {self.target!r} is not a column of the schema. Columns: {', '.join(names[:20])}."
            )
        if self.rows is not None and self.rows < 1:
            raise SchemaError(f"rows = {self.rows} must be at least 1. It is the public, approximate size of the data.")
        if self.unit.person in names:
            raise SchemaError(
                f"column {self.unit.person!r} identifies a person, so it cannot be released. Remove it from [columns]."
            )
        if self.images and (len(self.images) > 1 or any(not c.is_coded for c in self.features if c.kind != "image")):
            raise SchemaError(
                "a schema with an image may hold one image column and a categorical target. Remove the others."
            )

    def __getitem__(self, name: str) -> Column:
        """The column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"the schema has no column {name!r}. Columns: {', '.join(c.name for c in self.columns)}.")

    @property
    def images(self) -> tuple[Column, ...]:
        """The image columns: none or one."""
        return tuple(column for column in self.columns if column.kind == "image")

    @property
    def features(self) -> tuple[Column, ...]:
        """All columns but the target."""
        return tuple(column for column in self.columns if column.name != self.target)

    @property
    def target_column(self) -> Column | None:
        """The column to predict, if one is declared."""
        return None if self.target is None else self[self.target]

    @property
    def unknown(self) -> tuple[Column, ...]:
        """Columns whose bounds or categories are still to be discovered."""
        return tuple(column for column in self.columns if column.discover)

    def with_columns(self, columns: Mapping[str, Column]) -> "Schema":
        """A copy in which some columns are replaced."""
        return replace(self, columns=tuple(columns.get(c.name, c) for c in self.columns))

    def require_coded_target(self) -> Column:
        """The target, for a mechanism that needs classes."""
        column = self.target_column
        if column is None:
            raise SchemaError('this mechanism needs a target. Set target = "NAME" under [dataset] in schema.toml.')
        if not column.is_coded:
            raise SchemaError(
                f"target {column.name!r} is {column.kind}: this mechanism needs a categorical, ordinal or boolean one."
            )
        return column

    def decode(self, batch: Batch) -> pd.DataFrame:
        """Encoded rows as a table."""
        return pd.DataFrame({c.name: c.decode(batch[c.name]) for c in self.columns})

    def to_json(self) -> dict[str, Any]:
        """Plain values, the same for the same schema."""
        columns = []
        for c in self.columns:
            entry: dict[str, Any] = {"name": c.name, "kind": c.kind, "missing": c.missing}
            if c.bounds is not None:
                entry["bounds"] = list(c.bounds)
            if c.is_coded:
                entry["categories"] = list(c.categories)
            if c.shape:
                entry["shape"] = list(c.shape)
            if c.discover:
                entry["discover"] = True
            columns.append(entry)
        return {"columns": columns, "target": self.target, "rows": self.rows, "unit": self.unit.to_json()}

    def digest(self) -> str:
        """A SHA-256 of the schema's meaning, whatever its file looks like."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    @staticmethod
    def load(path: str | Path) -> "Schema":
        """Read a schema.toml."""
        from sfumato.public.schema_file import load_schema

        return load_schema(path)


def sketch(schema: Schema) -> Schema:
    """The schema with made-up bounds and categories where it leaves them open: for asking what a mechanism would do."""
    filled = {
        c.name: replace(
            c, discover=False, bounds=(0.0, 1.0) if c.is_number else None, categories=("a", "b") if c.is_coded else ()
        )
        for c in schema.unknown
    }
    return schema.with_columns(filled)
