"""Scores for any column as the target: areas under curves for classes, R2 for numbers. Not private."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.lab.benchmark.datasets import BenchmarkError, has_rare_class
from sfumato.lab.benchmark.examples import Examples
from sfumato.lab.benchmark.learners import fit_learner, train_and_predict
from sfumato.public.schema.schema import Batch, Schema

#: Learners of numbers, by the protocol's names for those of classes.
NUMBER_LEARNERS = ("lightgbm", "linear", "forest")
#: Columns beyond so many are drawn, always the same ones, where every column is predicted from the others.
MOST_COLUMNS = 20


def score(real: Batch, train: Batch, test: Batch, schema: Schema) -> float:
    """What LightGBM reaches on the target: AUC (one against the rest, averaged), or R2.

    The class rates of the real training rows say whether classes are weighed.
    """
    from sklearn.metrics import roc_auc_score

    target = schema.target_column
    if target is None:
        raise SchemaError("without a target there is nothing to predict.")
    truth = test[target.name]
    if not target.is_coded:
        known = ~np.isnan(truth)
        return r2(truth[known], train_numbers("lightgbm", train, schema)(test)[known])
    balanced = has_rare_class(real[target.name])
    sets = Examples(train, train[target.name]), Examples(test, truth)
    probabilities = train_and_predict("lightgbm", *sets, schema, balanced=balanced)
    codes = [1] if target.size == 2 else range(target.size)
    # A class that is everywhere or nowhere among the test rows has no curve.
    areas = [roc_auc_score(truth == c, probabilities[:, c]) for c in codes if 0 < np.mean(truth == c) < 1]
    return float(np.mean(areas)) if areas else 0.5


def each_column(real: Batch, train: Batch, test: Batch, schema: Schema) -> dict[str, float]:
    """The score of columns predicted from the others, on a scale where 0 says nothing and 1 is all."""
    found = {}
    chosen = list(schema.columns)
    if len(chosen) > MOST_COLUMNS:
        chosen = [chosen[j] for j in np.random.default_rng(0).choice(len(chosen), MOST_COLUMNS, replace=False)]
    for column in chosen:
        asked = replace(schema.without_rules(), target=column.name, one_of=(), at_most_one_of=())
        value = score(real, train, test, asked)
        found[column.name] = 2 * value - 1 if column.is_coded else max(-1.0, value)
    return found


def train_numbers(learner: str, train: Batch, schema: Schema) -> Callable[[Batch], NDArray[np.float64]]:
    """Learn a number from some rows, to be asked about others. Rows without a target are not learned from."""
    if learner not in NUMBER_LEARNERS:
        raise BenchmarkError(f"there is no learner {learner!r} for numbers. Known: {', '.join(NUMBER_LEARNERS)}.")
    name = str(schema.target)
    known = ~np.isnan(train[name])
    y = train[name][known]
    if len(np.unique(y)) < 2:  # nothing to learn: what was seen is what is said
        said = y.mean() if len(y) else schema[name].centre
        return lambda asked: np.full(len(asked[name]), said)
    rows = {key: values[known] for key, values in train.items()}
    fitted, design = fit_learner(learner, rows, y, schema, of_numbers=True)
    return lambda asked: np.asarray(fitted.predict(design(asked)))


def r2(truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """The share of the variance that is explained.

    >>> r2(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]))
    1.0
    """
    return float(1 - ((truth - predicted) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())
