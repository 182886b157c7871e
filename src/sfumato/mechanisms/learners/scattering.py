"""The whitened scattering teacher of `3a-image` as a model of its own: softmax regression on public features of images.

Noisy moments of the images give pictures to practise on, free of cost; nearly all of the budget goes to noisy gradients of the
rule over all rows. Proof: docs/proofs/learners.md.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from sfumato.errors import SchemaError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.arrays import Floats, Integers, Singles
from sfumato.mechanisms.common.classed_rows import labels_of
from sfumato.mechanisms.common.pictures import unit_box
from sfumato.mechanisms.common.prepared import INPUTS
from sfumato.mechanisms.common.settings import require_classes
from sfumato.mechanisms.image.mechanism import ThreeAImage
from sfumato.mechanisms.image.synthetic_inputs import teacher_inputs
from sfumato.mechanisms.image.warm_start import softmax
from sfumato.mechanisms.learners.progress import SHARE, Look, Watched, Watching, look_at, progress_step
from sfumato.model import Classifier, Weights
from sfumato.public.budget import Budget
from sfumato.public.machine.exact_arithmetic import grid_products, rounded_matrix
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch, Column, Schema

#: Looks while the teacher is at work; one more follows at the end.
_LOOKS = 5


@register
@dataclass(frozen=True, kw_only=True)
class Scattering(Watching):
    """The learner for images that needs no GPU. The settings are those of `3a-image`.

    Args:
        teacher_steps: Gradient steps.
        teacher_clip: The norm to which a row's gradient is clipped.
        teacher_width: Directions of the features that it looks at, at most.
        teacher_share: The part of the precision that goes to gradients; the rest goes to what it practises on.
        practice: Images drawn from the noisy density, on which it practises.
    """

    name: ClassVar[str] = "scattering"
    teacher_steps: int = 20
    teacher_clip: float = 0.6
    teacher_width: int = 512
    teacher_share: float = 0.9
    practice: int = 20_000

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Sums over everyone: for the density, for the teacher, and looks at how it goes."""
        schema.require_one_table(self.name)
        if not schema.images:
            raise SchemaError("scattering is for images. Use the learner logistic for tables.")
        require_classes(schema, self.name)
        steps = self._teaching.steps(schema, budget)
        share = SHARE * sum(step.share for step in steps)
        return (*steps, progress_step(looks=self._looks + 1, share=share))

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """What to practise on, and the rule."""
        density, teacher = self._teaching.stages(schema, view.budget)
        looks: list[Look] = []

        def watch(step: int, rule: Floats) -> None:
            if step * self._looks % self.teacher_steps < self._looks:
                looks.append(_look(view, schema, rule))

        taught = teacher.measure(view, schema, density.measure(view, schema), watch=watch)
        looks.append(_look(view, schema, taught["rule"]))
        return {**taught, "looks": tuple(looks)}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> Classifier:
        """The rule, and what it is applied to."""
        return _rule(measurements, schema, looks=measurements["looks"])

    def classifier(self, weights: Weights, schema: Schema, budget: Budget) -> Classifier:
        """The model of a file of weights."""
        return _rule(weights, schema, looks=())

    @property
    def _teaching(self) -> ThreeAImage:
        return ThreeAImage(**asdict(self))

    @property
    def _looks(self) -> int:
        return min(_LOOKS, self.teacher_steps)


@dataclass(frozen=True, kw_only=True)
class ScatteringRule(Watched):
    """A linear rule on whitened features of images."""

    image: Column
    feature_mean: Singles = field(repr=False)
    whitening: Singles = field(repr=False)
    rule: Floats = field(repr=False)

    @property
    def weights(self) -> Weights:
        """The mean of the features, their whitening, and the weights of each class."""
        return {"feature_mean": self.feature_mean, "whitening": self.whitening, "rule": self.rule}

    def probabilities(self, batch: Batch) -> Floats:
        """Of every class, for each image."""
        pixels = unit_box(batch[self.image.name], self.image)
        return softmax(teacher_inputs(pixels, self.feature_mean, self.whitening) @ self.rule.T)


def _rule(parts: Mapping[str, Any], schema: Schema, *, looks: tuple[Look, ...]) -> ScatteringRule:
    learned = {name: parts[name] for name in ("feature_mean", "whitening", "rule")}
    return ScatteringRule(image=schema.images[0], looks=looks, **learned)


def _look(view: Doors, schema: Schema, rule: Floats) -> Look:
    """How many of the training rows a rule gets right: by products that are exact, so that each row counts alone."""
    rounded = rounded_matrix(rule.T)

    def judge(batch: Batch) -> tuple[Floats, Integers]:
        return softmax(grid_products(batch[INPUTS], rounded)), labels_of(batch, schema.target)

    return look_at(view, judge)
