"""Images drawn from a private density, varied, and labelled by a private teacher."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from sfumato.learn.augment import varied, with_contrast
from sfumato.mechanisms.common.pictures import in_bounds, unit_box
from sfumato.mechanisms.image.class_rates import rows_with_rates
from sfumato.mechanisms.image.drawing import class_rates, draw_images, pieces
from sfumato.mechanisms.image.synthetic_inputs import teacher_inputs
from sfumato.mechanisms.image.warm_start import softmax
from sfumato.model import Synthetic, check_row_count, rows_counted
from sfumato.public.encoding import one_hot
from sfumato.public.schema import Schema

_SURPLUS = 1.3  # drawn for each row that is kept, so that the classes can be given their rates back

#: Images, and how much of each class is in them.
_Labelled = tuple[NDArray[Any], NDArray[np.float32]]
#: So many of them, by this randomness.
_Piece = Callable[[int, np.random.Generator], _Labelled]


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
            return Synthetic(images=self._in_pieces(n_rows, self._plain, rng)[0])
        n_varied, n_labelled = self._shares(n_rows)
        made = [self._in_pieces(n_rows - n_varied - n_labelled, self._plain, rng)]
        if n_labelled:
            made.append(self._with_rates(n_labelled, self._looked_at, rng))
        if n_varied:
            made.append(self._with_rates(n_varied, self._varied, rng))
        places = rng.permutation(n_rows)
        images, soft = (_at_places(places, together) for together in zip(*made, strict=True))
        target = self.schema.require_coded_target()
        classes = (*target.categories, *(("(missing)",) if target.missing else ()))
        return Synthetic(images=images, labels=soft.argmax(axis=1), soft_labels=soft, classes=classes)

    def _shares(self, n_rows: int) -> tuple[int, int]:
        """How many rows are varied, a part alpha; and how many of the others are labelled by the teacher, a part alpha too."""
        if "rule" not in self.parts:  # one class needs no teacher
            return 0, 0
        n_varied = round(self.alpha * n_rows)
        return n_varied, round(self.alpha * (n_rows - n_varied))

    def _in_pieces(self, n_rows: int, piece: _Piece, rng: np.random.Generator) -> _Labelled:
        """All rows, drawn so many at a time that memory stays flat; each piece has randomness of its own, whoever is first."""
        sizes = list(pieces(n_rows, self.schema))
        with ThreadPoolExecutor(numba.get_num_threads()) as pool:
            made = pool.map(piece, sizes, rng.spawn(len(sizes)))
            images, soft = (np.empty((n_rows, *some.shape[1:]), dtype=some.dtype) for some in self._plain(0, rng))
            for end, size, (some, of_classes) in zip(np.cumsum(sizes), sizes, made, strict=True):
                images[end - size : end], soft[end - size : end] = some, of_classes
        return images, soft

    def _plain(self, n_rows: int, rng: np.random.Generator) -> _Labelled:
        images, label = draw_images(self.parts, self.schema, n_rows, rng=rng)
        soft = one_hot(label, size=len(self.parts["means"])).astype(np.float32)
        return in_bounds(with_contrast(images, rng=rng), self.schema.images[0]), soft

    def _varied(self, n_rows: int, rng: np.random.Generator) -> _Labelled:
        drawn, _ = draw_images(self.parts, self.schema, n_rows, rng=rng)
        images = in_bounds(varied(drawn, rng=rng), self.schema.images[0])
        return images, self._teach(images)

    def _looked_at(self, n_rows: int, rng: np.random.Generator) -> _Labelled:
        images, _ = self._plain(n_rows, rng)
        return images, self._teach(images)

    def _with_rates(self, n_rows: int, piece: _Piece, rng: np.random.Generator) -> _Labelled:
        """Images whose most likely classes have the noisy class rates."""
        images, soft = self._in_pieces(math.ceil(_SURPLUS * n_rows), piece, rng)
        kept = rows_with_rates(soft, class_rates(self.parts), n_rows=n_rows, rng=rng)
        return images[kept], soft[kept]

    def _teach(self, images: NDArray[Any]) -> NDArray[np.float32]:
        """How much of each class the teacher sees in released images, in multiples of 1/1024."""
        pixels = unit_box(images, self.schema.images[0])
        inputs = teacher_inputs(pixels, self.parts["feature_mean"], self.parts["whitening"])
        probabilities = softmax(inputs @ self.parts["rule"].T.astype(np.float32))
        return (np.round(probabilities * 1024) / 1024).astype(np.float32)


def _at_places(places: NDArray[np.int64], parts: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    """The rows of all parts, each at its place, without another copy of them in between."""
    rows = np.empty((len(places), *parts[0].shape[1:]), dtype=parts[0].dtype)
    for mine, part in zip(np.split(places, np.cumsum([len(part) for part in parts])[:-1]), parts, strict=True):
        rows[mine] = part
    return rows
