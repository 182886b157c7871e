"""3A for images: class-conditional clusters with their covariance, a teacher that labels, and free variety.

Approximate: `density.py`. Adapt: `linear_teacher.py`. Anonymize: nothing here adds noise; every
number comes from the door `noisy_sum` over everyone, so the account is one exact Gaussian. What is drawn from these
numbers (`image_model.py`) is post-processing. Proof: docs/proofs/three-a-image.md.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import PlanError, SchemaError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.alpha import check_alpha
from sfumato.mechanisms.common.pictures import n_classes
from sfumato.mechanisms.image.density import ImageDensity
from sfumato.mechanisms.image.image_model import ImageModel
from sfumato.mechanisms.image.linear_teacher import LinearTeacher
from sfumato.public.budget import Budget
from sfumato.public.doors import Doors
from sfumato.public.reading import Reading
from sfumato.public.row_counts import Recommended
from sfumato.public.schema import Schema
from sfumato.public.step import Step

_MOST_PIXELS = 150_000_000
_GAIN = (
    "a student of the teacher gains from each. On MNIST and Fashion-MNIST a network gained .002 and .011 of accuracy by "
    "180,000 images in place of 60,000."
)


@register
@dataclass(frozen=True, kw_only=True)
class ThreeAImage:
    """The default for images.

    Args:
        coefficients: Cosine coefficients of each channel that are modelled.
        clusters: Clusters within each class.
        rounds: Rounds of private clustering.
        teacher_steps: Gradient steps of the teacher.
        teacher_clip: The norm to which a row's gradient is clipped.
        teacher_share: The part of the precision that goes to the teacher.
        alpha: From faithful (0: plain draws from the density, with the class that they were drawn for) to predictive (1:
            images that are varied and labelled by the teacher); between them, the part of the latter.
        rows: How many images `--rows many` makes: several times as many as a dataset has, since a student of the
            teacher gains from each. Larger images are fewer, so that files stay below 150 MB.
    """

    name: ClassVar[str] = "3a-image"
    coefficients: int = 144
    clusters: int = 16
    rounds: int = 3
    teacher_steps: int = 80
    teacher_clip: float = 0.6
    teacher_share: float = 0.6
    alpha: float = 0.75
    rows: int = 180_000

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Sums over everyone: for the density, then for the teacher."""
        self._check(schema)
        if n_classes(schema) == 1:
            return tuple(self._density().steps(schema, share=1.0))
        density = self._density().steps(schema, share=1.0 - self.teacher_share)
        return (*density, *self._teacher().steps(schema, share=self.teacher_share))

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Density first, then the teacher."""
        measured = self._density().measure(view, schema)
        if n_classes(schema) > 1:
            n_rows = float(np.maximum(measured["class_counts"], 0).sum())
            measured |= self._teacher().measure(view, schema, n_rows=n_rows)
        return measured

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> ImageModel:
        """The model is the measurements, read as a density and a linear rule."""
        return ImageModel(schema, dict(measurements), alpha=self.alpha)

    def recommended_rows(self, schema: Schema, n_rows: int) -> Recommended:
        """Several times as many as a dataset has: a student of the teacher gains from each."""
        return Recommended(max(1, min(self.rows, _MOST_PIXELS // math.prod(schema.images[0].shape))), _GAIN)

    def readings(self, schema: Schema) -> tuple[Reading, ...]:
        """Pixels of class means: sums of so many coefficients, each clipped to at most the longest image."""
        image, classes = schema.images[0], n_classes(schema)
        pixel = Reading(
            column=image.name,
            what="a pixel of a class mean" if schema.target else "a pixel of the mean",
            step="classes",
            block="sums",
            per_one=(image.high - image.low) * self._density().width(schema) ** 0.5,
            over=1 / classes,
            at_most=True,
        )
        if schema.target is None:
            return (pixel,)
        return pixel, Reading(column=schema.target, what="a count", step="classes", block="counts", unit="rows")

    def _density(self) -> ImageDensity:
        return ImageDensity(self.coefficients, self.clusters, self.rounds)

    def _teacher(self) -> LinearTeacher:
        return LinearTeacher(self.teacher_steps, self.teacher_clip)

    def _check(self, schema: Schema) -> None:
        if not schema.images:
            raise SchemaError("3a-image is for images. Use the mechanism 3a-table for tables.")
        if schema.target:
            schema.require_coded_target()
        for name in ("coefficients", "clusters", "rounds", "teacher_steps", "rows"):
            if getattr(self, name) < 1:
                raise PlanError(f"{name} = {getattr(self, name)} must be at least 1.")
        check_alpha(self.alpha)
        if not 0 < self.teacher_share < 1 or not self.teacher_clip > 0:
            raise PlanError("teacher_share must lie in (0, 1), and teacher_clip above 0.")
