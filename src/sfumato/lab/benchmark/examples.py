"""Rows in the form that learners and metrics take: encoded, with soft labels where a release has them."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.baselines.baseline import read_rows
from sfumato.lab.benchmark.datasets import BenchmarkError, Rows
from sfumato.model import Synthetic
from sfumato.public.schema.schema import Batch, Schema


@dataclass(frozen=True)
class Examples:
    """Encoded rows, real or synthetic. Pictures lie in [0, 1]; soft labels add up to 1."""

    batch: Batch = field(repr=False)
    label: NDArray[np.int64] = field(repr=False)
    soft: NDArray[np.float32] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.label)


def real_examples(rows: Rows, schema: Schema) -> Examples:
    """Encode the rows of a benchmark. Not private."""
    batch = encoded(rows, schema)
    return Examples(batch, batch[schema.require_coded_target().name])


def encoded(rows: Any, schema: Schema) -> Batch:
    """Rows in any form that `Sensitive.read` takes, encoded, with pictures in the unit box. Not private."""
    batch = dict(read_rows(rows, schema))
    for column in schema.images:
        batch[column.name] = ((batch[column.name] - column.low) / (column.high - column.low)).astype(np.float32)
    return batch


def synthetic_examples(synthetic: Synthetic, schema: Schema) -> Examples:
    """Encode what a release holds. What noise has carried past the bounds of pictures is put back to them."""
    if synthetic.table is not None:
        missing = [column.name for column in schema.columns if column.name not in synthetic.table.columns]
        if missing:
            raise BenchmarkError(
                f"the release has no column {missing[0]!r}: it holds encoded features and no rows. "
                "Choose a method that releases rows, such as independent-histograms."
            )
        return real_examples(synthetic.table, schema)
    target = schema.require_coded_target()
    if synthetic.images is None or (synthetic.labels is None and synthetic.soft_labels is None):
        raise BenchmarkError("the release holds no labelled pictures, so no learner can be trained on it.")
    column = schema.images[0]
    low, size = np.float32(column.low), np.float32(column.high - column.low)
    pixels = np.clip((synthetic.images.astype(np.float32) - low) / size, 0, 1)
    soft = None if synthetic.soft_labels is None else _normalised(synthetic.soft_labels)
    label = np.asarray(synthetic.labels if soft is None or synthetic.labels is not None else soft.argmax(axis=1))
    return Examples({column.name: pixels, target.name: label}, label.astype(np.int64), soft)


def _normalised(soft: NDArray[Any]) -> NDArray[np.float32]:
    """Noisy class weights as probabilities; a row of nothing says nothing.

    >>> _normalised(np.array([[3.0, 1.0], [-1.0, 2.0], [-1.0, -1.0]])).tolist()
    [[0.75, 0.25], [0.0, 1.0], [0.5, 0.5]]
    """
    weights = np.maximum(np.asarray(soft, dtype=np.float64), 0)
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / weights.shape[1]).astype(np.float32)
