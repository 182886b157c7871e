"""3A for images: class-conditional clusters with their covariance, a teacher that labels, and free variety.

Approximate: `density.py`. Adapt: `linear_teacher.py`. Anonymize: nothing here adds noise; every
number comes from the door `noisy_sum` over everyone, so the account is one exact Gaussian. What is drawn from these
numbers (`image_model.py`) is post-processing. Proof: docs/proofs/three-a-image.md.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from sfumato.errors import PlanError, SchemaError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.alpha import check_alpha
from sfumato.mechanisms.common.pictures import n_classes
from sfumato.mechanisms.common.precision import declared_rows
from sfumato.mechanisms.image.density import ImageDensity
from sfumato.mechanisms.image.image_model import ImageModel
from sfumato.mechanisms.image.linear_teacher import LinearTeacher
from sfumato.mechanisms.image.sizes import are_photographs, density_for, teacher_share
from sfumato.public.budget import Budget
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.reading import Reading
from sfumato.public.plan.row_counts import Recommended
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

_MOST_PIXELS = 250_000_000
#: The teacher practises on so many drawn images for each private one, and on no fewer than the first number.
_LEAST_PRACTICE, _PRACTICE_FOR_EACH = 2_000, 4
#: Released by default for each private one, up to as many as are recommended: a network that sees as few as there were learns little.
_ROWS_FOR_EACH = 16
_GAIN = (
    "a student of the teacher gains from each. On Fashion-MNIST a network gained .016 to .020 of accuracy by 180,000 images "
    "in place of 60,000, and still gains from more."
)


@register
@dataclass(frozen=True, kw_only=True)
class ThreeAImage:
    """The default for images.

    Args:
        coefficients: Cosine coefficients of each channel that are modelled; by `sizes.py` where nothing is said.
        clusters: Clusters within each class; likewise.
        rounds: Rounds of private clustering.
        teacher_steps: Gradient steps of the teacher.
        teacher_clip: The norm to which a row's gradient is clipped.
        teacher_width: Directions of the features that the teacher looks at, at most.
        teacher_share: The part of the precision that goes to the teacher; by `sizes.py` where nothing is said.
        practice: Images drawn from the density, on which the teacher is prepared, at most; few private ones need fewer.
        alpha: From faithful (0: plain draws from the density, with the class that they were drawn for) to predictive (1:
            images that are varied and labelled by the teacher); between them, the part that is varied, and the part of the
            others that the teacher labels too.
        rows: How many images `--rows many` makes: several times as many as a dataset has, since a student of the
            teacher gains from each. Larger images are fewer, so that files stay below 250 MB. By default as many, up to
            sixteen for each that is declared.
    """

    name: ClassVar[str] = "3a-image"
    on_gpu: ClassVar[str] = "Synthetic images are labelled on a GPU where torch finds one; private ones never are."
    coefficients: int | None = None
    clusters: int | None = None
    rounds: int = 3
    teacher_steps: int = 20
    teacher_clip: float = 0.6
    teacher_width: int = 512
    teacher_share: float | None = None
    practice: int = 20_000
    alpha: float = 0.75
    rows: int = 300_000

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Sums over everyone: for the density, then for the teacher."""
        schema.require_one_table(self.name)
        self._check(schema)
        density = self._density(schema, budget)
        if n_classes(schema) == 1:
            return tuple(density.steps(schema, share=1.0))
        share = self.teacher_share or teacher_share(schema)
        return (*density.steps(schema, share=1.0 - share), *self._teacher(schema).steps(schema, share=share))

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Density first, then the teacher, which begins with what the density has shown."""
        measured = self._density(schema, view.budget).measure(view, schema)
        if n_classes(schema) > 1:
            measured |= self._teacher(schema).measure(view, schema, measured)
        return measured

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> ImageModel:
        """The model is the measurements, read as a density and a linear rule."""
        return ImageModel(schema, dict(measurements), alpha=self.alpha)

    def recommended_rows(self, schema: Schema, n_rows: int) -> Recommended:
        """Several times as many as a dataset has: a student of the teacher gains from each."""
        many = max(1, min(self.rows, _MOST_PIXELS // math.prod(schema.images[0].shape)))
        default = min(many, _ROWS_FOR_EACH * n_rows) if schema.target else 0  # without one nobody learns from them
        return Recommended(many, _GAIN, default=default)

    def readings(self, schema: Schema) -> tuple[Reading, ...]:
        """Pixels of class means: sums of so many coefficients, each clipped to at most the longest image."""
        image, classes = schema.images[0], n_classes(schema)
        pixel = Reading(
            column=image.name,
            what="a pixel of a class mean" if schema.target else "a pixel of the mean",
            step="classes",
            block="sums",
            per_one=image.high - image.low,
            groups=classes,
            over=1 / classes,
            at_most=True,
        )
        if schema.target is None:
            return (pixel,)
        return pixel, Reading(column=schema.target, what="a count", step="classes", block="counts", unit="rows")

    def stages(self, schema: Schema, budget: Budget) -> tuple[ImageDensity, LinearTeacher]:
        """The density and the teacher, as these settings and the signal make them."""
        return self._density(schema, budget), self._teacher(schema)

    def _density(self, schema: Schema, budget: Budget) -> ImageDensity:
        """With what was asked for, and the rest by formula."""
        fitting = density_for(schema, budget)
        coefficients, clusters = self.coefficients or fitting.coefficients, self.clusters or fitting.clusters
        return replace(fitting, coefficients=coefficients, clusters=clusters, rounds=self.rounds)

    def _teacher(self, schema: Schema) -> LinearTeacher:
        practice = min(self.practice, max(_LEAST_PRACTICE, round(_PRACTICE_FOR_EACH * declared_rows(schema))))
        steps, clip, width = self.teacher_steps, self.teacher_clip, self.teacher_width
        return LinearTeacher(steps, clip, width, practice, photographs=are_photographs(schema))

    def _check(self, schema: Schema) -> None:
        if not schema.images:
            raise SchemaError("3a-image is for images. Use the mechanism 3a-table for tables.")
        if schema.target:
            schema.require_coded_target()
        for name in ("coefficients", "clusters", "rounds", "teacher_steps", "teacher_width", "practice", "rows"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise PlanError(f"{name} = {value} must be at least 1.")
        check_alpha(self.alpha)
        if not (self.teacher_share is None or 0 < self.teacher_share < 1) or not self.teacher_clip > 0:
            raise PlanError("teacher_share must lie in (0, 1), and teacher_clip above 0.")
