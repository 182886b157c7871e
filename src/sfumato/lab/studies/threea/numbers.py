"""A benchmark as the paper reads it: one number for each feature, in the unit box by its own values, and LightGBM on top."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.lab.benchmark.datasets import DELTA, Benchmark, Metric, make_benchmark
from sfumato.lab.benchmark.examples import Examples, real_examples
from sfumato.lab.benchmark.metrics import utility
from sfumato.lab.studies.threea.clustmix_published import Codes, Scaling, Vectors
from sfumato.lab.studies.threea.readings import Claim
from sfumato.learn.boosted_trees import need_lightgbm
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Schema

_MOST_JUDGING_ROWS = 20_000
#: The paper's buckets for MIMIC-III, by the first day that is too long for each.
STAYS = {"under 3 days": 3, "under a week": 7, "under two weeks": 14, "two weeks or more": np.inf}


@dataclass(frozen=True)
class Box:
    """Training and test rows in the unit box of the training rows, and the way back for points in it."""

    train: Vectors = field(repr=False)
    test: Vectors = field(repr=False)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Rows of a benchmark as numbers, read without the doors."""

    train: Vectors = field(repr=False)
    labels: Codes = field(repr=False)
    test: Vectors = field(repr=False)
    test_labels: Codes = field(repr=False)
    n_classes: int
    metric: Metric
    balanced: bool
    pictures: bool

    @property
    def scalings(self) -> tuple[Scaling, ...]:
        """Those that make sense: pixels lie in the unit box already."""
        return ("min-max",) if self.pictures else ("min-max", "quantile")

    def claim(self, epsilon: float) -> Claim:
        """What the paper claims: delta is one over the rows, and 1e-5 for pictures."""
        delta = DELTA if self.pictures else 1 / len(self.labels)
        return Claim(epsilon=epsilon, delta=delta, features=self.train.shape[1], classes=self.n_classes)

    def box(self, scaling: Scaling) -> Box:
        """Rows scaled by the values of the training rows, which are private: not accounted in the paper."""
        if scaling not in self._boxes:
            self._boxes[scaling] = Box(*_scaled(self.train, self.test, scaling))
        return self._boxes[scaling]

    @cached_property
    def _boxes(self) -> dict[Scaling, Box]:
        return {}

    def score(self, points: Vectors, classes: Codes, scaling: Scaling, *, seed: int, on_test: bool) -> float:
        """LightGBM on the points: on the test rows, or on some of the training rows, by which settings are chosen."""
        rows, truth = (self.box(scaling).test, self.test_labels) if on_test else self._judging(scaling)
        weight = "balanced" if self.balanced else None
        learner = need_lightgbm().LGBMClassifier(class_weight=weight, random_state=seed, verbose=-1, n_jobs=1)
        learner.fit(points, classes)
        probabilities = np.zeros((len(rows), self.n_classes))  # a class without a point gets none
        probabilities[:, learner.classes_] = learner.predict_proba(rows, num_threads=1)
        return utility(self.metric, probabilities, truth)

    def _judging(self, scaling: Scaling) -> tuple[Vectors, Codes]:
        some = np.random.default_rng(0).permutation(len(self.labels))[:_MOST_JUDGING_ROWS]
        return self.box(scaling).train[some], self.labels[some]


def numbers_of(benchmark: Benchmark) -> Numbers:
    """Codes become their place among the categories; what is missing becomes the mean of the training rows."""
    schema = benchmark.schema
    train, test = real_examples(benchmark.train, schema), real_examples(benchmark.test, schema)
    known = _matrix(train, schema)
    means = np.nan_to_num(np.nanmean(known, axis=0))
    filled = [np.where(np.isnan(each), means, each) for each in (known, _matrix(test, schema))]
    return Numbers(
        filled[0],
        train.label,
        filled[1],
        test.label,
        n_classes=schema.require_coded_target().size,
        metric=benchmark.metric,
        balanced=benchmark.balanced,
        pictures=bool(schema.images),
    )


def length_of_stay(benchmark: Benchmark) -> Benchmark:
    """The paper's second task on hospital data: the length of a stay, in its four buckets.

    Readmission comes later than the stay, and is no feature here.
    """
    schema, target = benchmark.schema, Column(name="stay", kind="categorical", categories=tuple(STAYS))
    gone = ["time_in_hospital", schema.require_coded_target().name]
    columns = tuple(column for column in schema.columns if column.name not in gone)
    parts = [
        pd.DataFrame(part).drop(columns=gone).assign(stay=_bucket(np.asarray(part["time_in_hospital"])))
        for part in (benchmark.train, benchmark.test)
    ]
    changed: Schema = replace(schema, columns=(*columns, target), target="stay")
    return make_benchmark(f"{benchmark.name}-stay", train=parts[0], test=parts[1], schema=changed)


def _bucket(days: NDArray[Any]) -> NDArray[Any]:
    """By the length in days.

    >>> _bucket(np.array([2, 3, 7, 14])).tolist()
    ['under 3 days', 'under a week', 'under two weeks', 'two weeks or more']
    """
    return np.array(list(STAYS))[np.searchsorted(list(STAYS.values()), days.astype(float), side="right")]


def _matrix(examples: Examples, schema: Schema) -> Vectors:
    if schema.images:
        return examples.batch[schema.images[0].name].reshape(len(examples), -1).astype(np.float64)
    return np.stack([examples.batch[column.name].astype(np.float64) for column in schema.features], axis=1)


def _scaled(train: Vectors, test: Vectors, scaling: Scaling) -> tuple[Vectors, Vectors]:
    """Each column by the values of the training rows.

    >>> box = _scaled(np.array([[2.0], [4.0]]), np.array([[3.0], [5.0]]), "min-max")
    >>> [part.ravel().tolist() for part in box]
    [[0.0, 1.0], [0.5, 1.5]]
    """
    if scaling == "quantile":
        from sklearn.preprocessing import QuantileTransformer

        most = min(1000, len(train))
        quantiles = QuantileTransformer(n_quantiles=most, output_distribution="normal", random_state=0).fit(train)
        train, test = (np.asarray(quantiles.transform(part)) for part in (train, test))
    low, high = train.min(axis=0), train.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return (train - low) / width, (test - low) / width
