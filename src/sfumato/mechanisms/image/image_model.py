"""Images drawn from a private density, varied, and labelled by a private teacher."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.augment import varied, with_contrast
from sfumato.mechanisms.common.arrays import Integers, Singles
from sfumato.mechanisms.common.classed_rows import class_names
from sfumato.mechanisms.common.counted_classes import class_rates
from sfumato.mechanisms.common.pictures import in_bounds, unit_box
from sfumato.mechanisms.image.class_rates import rows_with_rates
from sfumato.mechanisms.image.drawing import draw_images, pieces, variety_of
from sfumato.mechanisms.image.synthetic_inputs import teacher_inputs
from sfumato.mechanisms.image.warm_start import softmax
from sfumato.model import CountedRows, Synthetic, check_row_count
from sfumato.public.machine.threads import in_threads
from sfumato.public.schema.encoding import one_hot
from sfumato.public.schema.schema import Schema

_SURPLUS = 1.3  # drawn for each row that is kept, so that the classes can be given their rates back


class _Labelled(NamedTuple):
    """Images, and how much of each class is in them."""

    images: NDArray[Any]
    soft: Singles


#: So many of them, by this randomness.
_Piece = Callable[[int, np.random.Generator], _Labelled]


@dataclass(frozen=True)
class ImageModel(CountedRows):
    """Class rates, cluster means, loadings, and the teacher's rule."""

    schema: Schema
    parts: dict[str, NDArray[Any]] = field(repr=False)
    alpha: float

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
        rows, (n_varied, n_labelled) = self._room(n_rows), self._shares(n_rows)
        # Every row is drawn to where it will stand: so images are in memory once, however many there are.
        places = np.split(rng.permutation(n_rows), np.cumsum([n_rows - n_varied - n_labelled, n_labelled]))
        self._fill(rows, places[0], self._plain, rng)
        for mine, piece in zip(places[1:], (self._looked_at, self._varied), strict=True):
            if len(mine):
                self._fill_with_rates(rows, mine, piece, rng)
        if self.schema.target is None:
            return Synthetic(images=rows.images)
        classes = class_names(self.schema.target_column)
        return Synthetic(images=rows.images, labels=rows.soft.argmax(axis=1), soft_labels=rows.soft, classes=classes)

    def _shares(self, n_rows: int) -> tuple[int, int]:
        """How many rows are varied, a part alpha; and how many of the others are labelled by the teacher, a part alpha too."""
        if "rule" not in self.parts:  # one class needs no teacher
            return 0, 0
        n_varied = round(self.alpha * n_rows)
        return n_varied, round(self.alpha * (n_rows - n_varied))

    def _room(self, n_rows: int) -> _Labelled:
        """Room for so many rows."""
        image = self.schema.images[0]
        nothing = in_bounds(np.empty((0, *image.shape)), image)
        soft = np.empty((n_rows, len(self.parts["means"])), dtype=np.float32)
        return _Labelled(np.empty((n_rows, *image.shape), dtype=nothing.dtype), soft)

    def _fill(self, rows: _Labelled, places: Integers, piece: _Piece, rng: np.random.Generator) -> None:
        """Draw rows to these places, some at a time; each piece has randomness of its own, whoever is first."""
        ends = np.cumsum(list(pieces(len(places), self.schema)))

        def draw(some: tuple[Integers, np.random.Generator]) -> None:
            mine, own = some
            rows.images[mine], rows.soft[mine] = piece(len(mine), own)

        in_threads(draw, list(zip(np.split(places, ends[:-1]), rng.spawn(len(ends)), strict=True)))

    def _plain(self, n_rows: int, rng: np.random.Generator) -> _Labelled:
        images, label = draw_images(self.parts, self.schema, n_rows, rng=rng)
        soft = one_hot(label, size=len(self.parts["means"])).astype(np.float32)
        images = with_contrast(images, rng=rng, most=variety_of(self.parts).contrast)
        return _Labelled(in_bounds(images, self.schema.images[0]), soft)

    def _varied(self, n_rows: int, rng: np.random.Generator) -> _Labelled:
        drawn, _ = draw_images(self.parts, self.schema, n_rows, rng=rng)
        images = in_bounds(varied(drawn, rng=rng, variety=variety_of(self.parts)), self.schema.images[0])
        return _Labelled(images, self._teach(images))

    def _looked_at(self, n_rows: int, rng: np.random.Generator) -> _Labelled:
        images, _ = self._plain(n_rows, rng)
        return _Labelled(images, self._teach(images))

    def _fill_with_rates(self, rows: _Labelled, places: Integers, piece: _Piece, rng: np.random.Generator) -> None:
        """The same with images whose most likely classes have the noisy class rates."""
        n_rows = len(places)
        spare = self._room(math.ceil(_SURPLUS * n_rows) - n_rows)
        self._fill(rows, places, piece, rng)
        self._fill(spare, np.arange(len(spare.soft)), piece, rng)
        soft = np.concatenate([rows.soft[places], spare.soft])
        kept = rows_with_rates(soft, class_rates(self.parts["class_counts"]), n_rows=n_rows, rng=rng)
        left = np.flatnonzero(kept != np.arange(n_rows))  # places whose own row goes
        taken, is_spare = kept[left], kept[left] >= n_rows
        images = np.empty((len(left), *rows.images.shape[1:]), dtype=rows.images.dtype)
        images[is_spare] = spare.images[taken[is_spare] - n_rows]
        images[~is_spare] = rows.images[places[taken[~is_spare]]]  # before any of them is overwritten
        rows.images[places[left]], rows.soft[places[left]] = images, soft[taken]

    def _teach(self, images: NDArray[Any]) -> Singles:
        """How much of each class the teacher sees in released images, in multiples of 1/1024."""
        pixels = unit_box(images, self.schema.images[0])
        inputs = teacher_inputs(pixels, self.parts["feature_mean"], self.parts["whitening"])
        probabilities = softmax(inputs @ self.parts["rule"].T.astype(np.float32))
        return (np.round(probabilities * 1024) / 1024).astype(np.float32)
