"""A mixture of clusters with soft labels by a classifier: rows drawn around its means, or the means themselves."""

from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers, Values
from sfumato.mechanisms.common.classed_rows import class_names
from sfumato.mechanisms.common.mixtures import mixtures_as_synthetic
from sfumato.mechanisms.common.pictures import in_bounds
from sfumato.mechanisms.mixing.clustmix.classifier_pull import with_bias
from sfumato.mechanisms.mixing.clustmix.cluster_space import ClusterSpace
from sfumato.mechanisms.mixing.clustmix.tilt import CELLS, tilted
from sfumato.model import CountedRows, FixedModel, Synthetic, check_row_count
from sfumato.public.schema.schema import Schema

_CHUNK = 8_192
_GRID = 1024  # soft labels are multiples of 1/1024


@dataclass(frozen=True)
class Projection:
    """Vectors as points in the space of the kernel: about a place, along public directions, in a unit of length."""

    about: Floats
    frame: Floats
    unit: float

    def points(self, vectors: Floats) -> Floats:
        """The points of vectors."""
        return np.asarray((vectors - self.about) @ self.frame / self.unit)

    def moved(self, vectors: Floats, *, before: Floats, after: Floats) -> Floats:
        """Vectors moved as their points have moved."""
        return np.asarray(vectors + self.unit * (after - before) @ self.frame.T)


@dataclass(frozen=True)
class Rule:
    """A linear classifier on the points of vectors: one column of weights for each class."""

    weights: Floats
    projection: Projection

    def probabilities(self, vectors: Floats) -> Floats:
        """What it says of vectors, as probabilities."""
        scores = np.clip(with_bias(self.projection.points(vectors)) @ self.weights, 1e-6, 1.0)
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Mixture:
    """Clusters: the class of each, its share of the rows and its mean; and for each class how rows lie around means.

    `deviation` is that of each entry of an image in any class, `shapes` holds a histogram of each number of a table.
    """

    label: Integers
    share: Floats
    means: Floats
    deviation: Floats | None
    shapes: Floats | None
    n_classes: int
    total: float
    rule: Rule | None
    alpha: float

    def soft_labels(self, vectors: Floats, cluster: Integers) -> Floats:
        """Between the class of the cluster (alpha = 0) and what the classifier says (alpha = 1)."""
        if self.rule is None:
            return np.eye(self.n_classes)[self.label[cluster]]
        soft: Floats = self.alpha * self.rule.probabilities(vectors)
        soft[np.arange(len(soft)), self.label[cluster]] += 1 - self.alpha
        return soft


@dataclass(frozen=True)
class ClusterModel(CountedRows):
    """A mixture of clusters as rows: columns independent of each other within a cluster."""

    schema: Schema
    mixture: Mixture = field(repr=False)
    noisy_rows_stddev: float

    @property
    def noisy_rows(self) -> float:
        """The noisy number of private rows."""
        return self.mixture.total

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw a cluster for each row, then a row around its mean, then its label."""
        check_row_count(n_rows)
        rng, space = np.random.default_rng(seed), ClusterSpace(self.schema)
        draw = self._rows if space.image is None else self._images
        chunks = [draw(min(_CHUNK, n_rows - at), space, rng) for at in range(0, n_rows, _CHUNK)]
        batch = {name: np.concatenate([chunk[name] for chunk, _ in chunks]) for name in chunks[0][0]}
        soft = np.concatenate([labels for _, labels in chunks])
        if space.image is None:
            if space.target is not None:
                batch[space.target.name] = _drawn(np.cumsum(soft, axis=1), rng)
            return Synthetic(table=self.schema.decode(batch))
        images = batch[space.image.name]
        if space.target is None:
            return Synthetic(images=images)
        soft = np.round(soft * _GRID) / _GRID
        labels, classes = soft.argmax(axis=1), class_names(space.target)
        return Synthetic(images=images, labels=labels, soft_labels=soft.astype(np.float32), classes=classes)

    def _rows(self, n_rows: int, space: ClusterSpace, rng: np.random.Generator) -> tuple[dict[str, Values], Floats]:
        cluster = rng.choice(len(self.mixture.share), size=n_rows, p=self.mixture.share)
        box, numbers = space.box(self.mixture.means), list(space.numbers)
        batch: dict[str, Values] = {}
        for column, band in zip(space.columns, space.bands, strict=True):
            mean = box[:, band]
            if column.is_coded:
                odds = np.maximum(mean, 0.0) + 1e-9
                batch[column.name] = _drawn(np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)[cluster], rng)
                continue
            cell = _drawn(np.cumsum(self._histograms(numbers.index(column), mean[:, 0]), axis=1)[cluster], rng)
            value = column.low + (cell + rng.random(n_rows)) / CELLS * (column.high - column.low)
            if column.missing:
                value = np.where(rng.random(n_rows) < mean[cluster, 1], np.nan, value)
            batch[column.name] = value
        return batch, self.mixture.soft_labels(space.vectors(batch), cluster)

    def _histograms(self, number: int, means: Floats) -> Floats:
        """For each cluster the histogram of its class, tilted to the mean of the cluster."""
        out = np.full((len(means), CELLS), 1 / CELLS)
        if self.mixture.shapes is not None:
            for c in np.unique(self.mixture.label):
                mine = self.mixture.label == c
                out[mine] = tilted(self.mixture.shapes[c, number], means[mine])
        return out

    def _images(self, n_rows: int, space: ClusterSpace, rng: np.random.Generator) -> tuple[dict[str, Values], Floats]:
        mixture, image = self.mixture, space.columns[0]
        cluster = rng.choice(len(mixture.share), size=n_rows, p=mixture.share)
        vectors = mixture.means[cluster]
        if mixture.deviation is not None:
            vectors += rng.standard_normal((n_rows, space.width)) * mixture.deviation
        pixels = np.clip(space.box(vectors), 0, 1).reshape(n_rows, *image.shape)
        exact = (image.low + pixels * (image.high - image.low)).astype(np.float32)
        soft = mixture.soft_labels(space.vectors({image.name: exact}), cluster)
        return {image.name: in_bounds(pixels, image)}, soft


def means_as_rows(mixture: Mixture, space: ClusterSpace) -> FixedModel:
    """The means as they are, with soft labels: one row for each cluster that was kept."""
    soft = mixture.soft_labels(mixture.means, np.arange(len(mixture.label)))
    schema = space.schema if space.target is not None else replace(space.schema, target=None)
    labels = soft.astype(np.float32) if space.target is not None else None
    features = np.clip(space.box(mixture.means), 0, 1).astype(np.float32)
    return FixedModel(mixtures_as_synthetic(features, labels, schema=schema, soft=True))


def _drawn(upto: Floats, rng: np.random.Generator) -> Integers:
    """A code for each row of cumulated probabilities."""
    code = (upto < rng.random(len(upto))[:, None]).sum(axis=1)
    return np.asarray(np.minimum(code, upto.shape[1] - 1), dtype=np.int64)
