"""The receiver's learner, trained on synthetic rows alone, and what it says of a row as a code or as moments."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.learn.boosted_trees import boosting
from sfumato.public.certificate.score import Metric
from sfumato.public.schema.released import encoded
from sfumato.public.schema.schema import Batch, Column, Schema
from sfumato.scoring.step import BINS, COUNTS, metric_of, score_target

Floats = NDArray[np.float64]
#: A learner is trained on at most so many rows.
MOST_ROWS = 300_000


@dataclass(frozen=True)
class ScoreMap:
    """What each row counts in the score: a public function of the row, made from synthetic rows and the schema."""

    trained: Any
    name: str
    metric: Metric
    target: Column
    features: tuple[str, ...]
    edges: Floats
    centre: float = 0.0
    reach: float = 1.0

    def __call__(self, batch: Batch) -> dict[str, NDArray[Any]]:
        """For the door."""
        x, truth = matrix_of(batch, self.features), batch[self.target.name]
        if self.metric == "R2":
            return {COUNTS: self._moments(truth.astype(np.float64), self.trained.predict(x))}
        if self.metric == "AUC":
            said = self.trained.predict_proba(x)[:, 1]
            return {COUNTS: (truth.astype(np.int64) * BINS + np.searchsorted(self.edges, said, side="right"))[:, None]}
        return {COUNTS: (self.trained.predict(x).astype(np.int64) == truth.astype(np.int64)).astype(np.int64)[:, None]}

    def _moments(self, truth: Floats, said: Floats) -> Floats:
        """Of the target and of the error, in a public unit, each at most 1; nothing for a row without a target."""
        y = np.clip((truth - self.centre) / self.reach, -1.0, 1.0)
        e = np.clip((truth - said) / self.reach, -1.0, 1.0)
        ee, yy = e * e, y * y
        moments = np.stack([np.ones_like(y), y, yy, ee, ee * ee, ee * y, ee * yy, yy * y, yy * yy], axis=1)
        return np.where(np.isnan(truth)[:, None], 0.0, moments)


def matrix_of(batch: Batch, features: tuple[str, ...]) -> Floats:
    """Rows as the learner takes them."""
    return np.stack([np.asarray(batch[name], dtype=np.float64) for name in features], axis=1)


def learned(table: pd.DataFrame, schema: Schema) -> ScoreMap:
    """Train on synthetic rows, and fix what is counted of a row."""
    batch, target, metric = encoded(table, schema), score_target(schema), metric_of(schema)
    features = tuple(column.name for column in schema.features)
    coded = [at for at, column in enumerate(schema.features) if column.is_coded]
    x, y = matrix_of(batch, features), np.asarray(batch[target.name], dtype=np.float64 if metric == "R2" else np.int64)
    if metric == "R2":
        known = ~np.isnan(y)
        x, y = x[known], y[known]
    learner = boosting(coded, of_numbers=metric == "R2")
    trained = learner.fit(x, y) if len(np.unique(y)) > 1 else _One(float(y[0]) if len(y) else 0.0)
    edges, centre, reach = np.zeros(0), 0.0, 1.0
    if metric == "AUC":
        edges = _edges(trained.predict_proba(x)[:, 1], y)
    if metric == "R2":
        centre = float(np.median(y)) if len(y) else target.centre
        reach = max(float(np.abs(y - centre).max(initial=0.0)), 1e-9 * (target.high - target.low))
    return ScoreMap(trained, learner.name, metric, target, features, edges, centre, reach)


def _edges(said: Floats, label: NDArray[Any]) -> Floats:
    """Parts of the range that hold alike many rows, both classes counting alike."""
    weights = np.where(label == 1, 1 / max((label == 1).sum(), 1), 1 / max((label != 1).sum(), 1))
    order = np.argsort(said, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    return np.asarray(said[order][np.minimum(np.searchsorted(share, np.arange(1, BINS) / BINS), len(said) - 1)])


@dataclass(frozen=True)
class _One:
    """A learner that has seen one value and says it of every row."""

    value: float

    def predict(self, x: Floats) -> Floats:
        """It."""
        return np.full(len(x), self.value)

    def predict_proba(self, x: Floats) -> Floats:
        """For sure."""
        return np.stack([np.full(len(x), 1.0 - self.value), np.full(len(x), self.value)], axis=1)
