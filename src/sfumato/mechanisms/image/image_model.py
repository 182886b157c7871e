"""Images drawn from a private density, varied, and labelled by a private teacher."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.augment import varied, with_contrast
from sfumato.learn.dct import cosine_basis
from sfumato.mechanisms.common.pictures import n_channels
from sfumato.mechanisms.image.class_rates import rows_with_rates
from sfumato.mechanisms.image.linear_teacher import softmax, teacher_inputs
from sfumato.model import Synthetic, check_row_count, rows_counted
from sfumato.public.encoding import one_hot
from sfumato.public.schema import Schema

_PIXELS_AT_ONCE = 1 << 24
_SURPLUS = 1.3  # drawn for each row that is kept, so that the classes can be given their rates back

#: Images, and how much of each class is in them.
_Labelled = tuple[NDArray[Any], NDArray[np.float32]]


@dataclass(frozen=True)
class ImageModel:
    """Class rates, cluster means, loadings, and the teacher's rule."""

    schema: Schema
    parts: dict[str, NDArray[Any]] = field(repr=False)
    alpha: float

    @property
    def default_rows(self) -> int:
        """As many as there seem to be."""
        return rows_counted(self.noisy_rows, stddev=self.noisy_rows_stddev)

    @property
    def noisy_rows(self) -> float:
        """The noisy number of private rows."""
        return float(self.parts["class_counts"].sum())

    @property
    def noisy_rows_stddev(self) -> float:
        """The standard deviation of the noise in it."""
        return float(self.parts["class_noise"][0] * len(self.parts["class_counts"]) ** 0.5)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Plain draws with their own class, and varied ones with the teacher's view of them, in random order."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        if self.schema.target is None:
            return Synthetic(images=self._in_pieces(n_rows, lambda size: self._plain(size, rng))[0])
        n_varied = round(self.alpha * n_rows) if "rule" in self.parts else 0  # one class needs no teacher
        images, soft = self._in_pieces(n_rows - n_varied, lambda size: self._plain(size, rng))
        if n_varied:
            more_images, more_soft = self._with_rates(n_varied, rng)
            images, soft = np.concatenate([images, more_images]), np.concatenate([soft, more_soft])
        order = rng.permutation(n_rows)
        images, soft = images[order], soft[order]
        target = self.schema.require_coded_target()
        classes = (*target.categories, *(("(missing)",) if target.missing else ()))
        return Synthetic(images=images, labels=soft.argmax(axis=1), soft_labels=soft, classes=classes)

    @property
    def rates(self) -> NDArray[np.float64]:
        """Noisy class rates."""
        counts = np.maximum(self.parts["class_counts"], 0.0)
        return counts / counts.sum() if counts.sum() > 0 else np.full(len(counts), 1 / len(counts))

    def _in_pieces(self, n_rows: int, piece: Callable[[int], _Labelled]) -> _Labelled:
        """All rows, drawn so many at a time that memory stays flat."""
        at_once = max(1, _PIXELS_AT_ONCE // math.prod(self.schema.images[0].shape))
        sizes = [min(at_once, n_rows - start) for start in range(0, max(n_rows, 1), at_once)]
        images, soft = zip(*map(piece, sizes), strict=True)
        return np.concatenate(images), np.concatenate(soft)

    def _plain(self, n_rows: int, rng: np.random.Generator) -> _Labelled:
        images, label = self._draw(n_rows, rng)
        soft = one_hot(label, size=len(self.rates)).astype(np.float32)
        return self._bytes(with_contrast(images, rng=rng)), soft

    def _varied(self, n_rows: int, rng: np.random.Generator) -> _Labelled:
        images = self._bytes(varied(self._draw(n_rows, rng)[0], rng=rng))
        return images, self._teach(images)

    def _with_rates(self, n_rows: int, rng: np.random.Generator) -> _Labelled:
        """Varied images whose most likely classes have the noisy class rates."""
        images, soft = self._in_pieces(round(_SURPLUS * n_rows), lambda size: self._varied(size, rng))
        kept = rows_with_rates(soft, self.rates, n_rows=n_rows, rng=rng)
        return images[kept], soft[kept]

    def _draw(self, n_rows: int, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Images in the unit box, pale and a little outside of it, with the class that each was drawn for."""
        image = self.schema.images[0]
        means, centres, loadings = self.parts["means"], self.parts["centres"], self.parts["loadings"]
        label = rng.choice(len(self.rates), size=n_rows, p=self.rates)
        vectors = np.empty((n_rows, means.shape[1]), dtype=np.float32)
        for c in range(len(means)):
            mine = np.flatnonzero(label == c)
            weights = self.parts["weights"][c] / self.parts["weights"][c].sum()
            cluster = rng.choice(len(weights), size=len(mine), p=weights)
            waves = rng.standard_normal((len(mine), means.shape[1]), dtype=np.float32) @ loadings[c].T
            vectors[mine] = means[c] + centres[c, cluster] + waves
        channels = n_channels(image)
        basis = cosine_basis(image.shape[0], image.shape[1], means.shape[1] // channels)
        pixels = vectors.reshape(n_rows, channels, basis.shape[1]) @ basis.T
        return np.clip(pixels.transpose(0, 2, 1).reshape(n_rows, *image.shape), -0.5, 1.5), label

    def _teach(self, images: NDArray[Any]) -> NDArray[np.float32]:
        pixels = images.astype(np.float32)
        pixels /= 255 if images.dtype == np.uint8 else 1
        inputs = teacher_inputs(pixels, self.parts["feature_mean"])
        probabilities = softmax(inputs @ self.parts["rule"].T.astype(np.float32))
        return (np.round(probabilities * 1024) / 1024).astype(np.float32)

    def _bytes(self, images: NDArray[np.float32]) -> NDArray[Any]:
        """Pixels as bytes where the schema's bounds are those of bytes; otherwise in the unit box."""
        inside = np.clip(images, 0, 1)
        return np.round(255 * inside).astype(np.uint8) if self.schema.images[0].bounds == (0.0, 255.0) else inside
