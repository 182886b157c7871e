"""The same as an estimator of scikit-learn: parameters that can be read, set and cloned; `fit`, then `sample`."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sfumato.errors import SchemaError, SourceError
from sfumato.mechanism import Mechanism
from sfumato.outlook.row_counts import AskedRows
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.schema.schema import Schema, schema_of
from sfumato.synthesizing import synthesize


class InputError(SourceError, ValueError):
    """What was handed to an estimator is no table: a ValueError, as callers of scikit-learn expect."""


class Synthesizer(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Differentially private synthetic rows by `fit` and `sample`.

    Every `fit` reads the private rows anew and costs its own epsilon: so this is no part of a cross-validation or a search
    over parameters, whose fits add up.

    Args:
        schema: What is public about the rows, or the path of its file.
        epsilon: How much may leak.
        delta: The probability of an exception. By default as on the command line.
        method: A mechanism, or the name of one.
        random_state: Public randomness of the model: a whole number. The noise is never fixed by it.
        ledger: What every fit is charged to; see `sfumato.fit`.
        dataset: The name of the rows in the ledger.

    Attributes:
        synthesis_: What `sfumato.synthesize` gave: rows, certificate, `save`.
        n_features_in_: How many columns `fit` has seen.
        feature_names_in_: Their names, where they are all texts.
    """

    def __init__(
        self,
        schema: Schema | str | Path | None = None,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        method: Mechanism | str = "auto",
        random_state: int | None = None,
        ledger: Any = None,
        dataset: str | None = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset

    def fit(self, X: Any, y: Any = None) -> "Synthesizer":
        """Measure private rows within the budget.

        Args:
            X: A table with the columns of the schema, as a frame or, in the schema's order, as an array.
            y: The target, where it is not among these.
        """
        if self.schema is None:
            raise SchemaError(
                "a Synthesizer needs a schema. Give schema=..., which says what is public about the rows."
            )
        _refuse_odd(X)
        schema = schema_of(self.schema)
        table = X if y is None else _joined(X, y, schema)
        self.synthesis_ = synthesize(
            table,
            schema,
            epsilon=self.epsilon,
            delta=self.delta,
            method=self.method,
            seed=self.random_state,
            ledger=self.ledger,
            dataset=self.dataset,
        )
        self._remember(X)
        return self

    @property
    def certificate_(self) -> Certificate:
        """What is claimed about the rows that `sample` gives by default."""
        check_is_fitted(self, "synthesis_")
        return self.synthesis_.certificate

    def sample(self, n_samples: AskedRows = None, *, random_state: int | None = None, return_X_y: bool = False) -> Any:
        """Synthetic rows as a frame of the kind that was fitted, at no cost.

        Args:
            n_samples: How many; `many` for the number that is recommended for training. By default as many as declared.
            random_state: Public randomness. By default that of the fit.
            return_X_y: Give the target by itself, beside the other columns.
        """
        check_is_fitted(self, "synthesis_")
        rows = self.synthesis_.sample(n_samples, seed=random_state)
        if not return_X_y:
            return rows
        target = self.synthesis_.schema.target
        if target is None:
            raise SchemaError("the schema has no target to give by itself. Leave out return_X_y.")
        return _without(rows, target), rows[target]

    def __sklearn_tags__(self) -> Any:
        """Missing values, texts and categories are welcome; no two fits give the same."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.non_deterministic = True
        return tags

    def _remember(self, X: Any) -> None:
        names = [*X.columns] if hasattr(X, "columns") else [*getattr(X, "column_names", ())]
        if names and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of a fit before this one
            del self.feature_names_in_
        self.n_features_in_ = len(names) or X.shape[1]


def _refuse_odd(X: Any) -> None:
    """Refuse by structure alone: a shape or a type, never a value."""
    if hasattr(X, "tocsr"):
        raise InputError("sparse input is not supported. Give a dense array, or a frame.")
    if isinstance(X, np.ndarray) and X.ndim != 2:
        raise InputError(
            f"X has {X.ndim} dimensions and must have 2. Reshape your data: a row for each row, columns beside it."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind == "c":
        raise InputError("Complex data not supported. Split it into two columns.")


def _joined(X: Any, y: Any, schema: Schema) -> Any:
    """X and y as one table, under the name that the schema has for the target."""
    if schema.target is None:
        raise SchemaError(
            'y is given, and the schema has no target. Set target = "NAME" under [dataset] in schema.toml.'
        )
    if isinstance(X, pd.DataFrame):
        return X.assign(**{schema.target: np.asarray(y) if not isinstance(y, pd.Series) else y.array})
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns(**{schema.target: y})
    names = [column.name for column in schema.features]
    columns = np.asarray(X)
    if columns.ndim != 2 or columns.shape[1] != len(names):
        raise InputError(f"X must have the {len(names)} columns of the schema besides its target, in its order.")
    return {**{name: columns[:, at] for at, name in enumerate(names)}, schema.target: np.asarray(y)}


def _without(rows: Any, target: str) -> Any:
    if isinstance(rows, pd.DataFrame):
        return rows.drop(columns=target)
    return rows.drop([target]) if hasattr(rows, "column_names") else rows.drop(target)
