"""DP-KIP: inducing points for kernel ridge regression, learned by noisy gradients.

Nguyen, Chen and Lee, "Dataset meta-learning from kernel ridge-regression" (2021), made private as by Vinaroz and Park,
"Differentially private kernel inducing points using features from scatternets" (2023), here with the neural tangent
kernel of a fully connected network and with a sample by coins at every step. The loss of a row is that of the
regression on the points, 1/2 |y - k(x, X) (K + ridge I)^-1 Y|^2: separable over rows, since the points are public by
then. Proof: docs/proofs/dp-kip.md.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from sfumato.learn import ntk
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.prepared import VECTOR
from sfumato.mechanisms.common.settings import require_positive, require_single_precision, sampling_rate
from sfumato.mechanisms.kernels.inducing import FixedPoints, Middle, Space, Vectors, means_step, measure_means
from sfumato.model import FixedModel
from sfumato.public.budget import Budget
from sfumato.public.machine.hardware import GRADIENTS_ON_GPU
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.block import Dense
from sfumato.public.plan.doors import Doors, Loss, Tensor
from sfumato.public.plan.step import Poisson, Step
from sfumato.public.schema.schema import Schema

_SPREAD = 0.5  # how far from the class mean the points start, in lengths of that mean
_START_SEED = 0


@register
@dataclass(frozen=True, kw_only=True)
class DPKip(FixedPoints):
    """A few labelled points on which a kernel regression does well.

    Args:
        points: Points of each class.
        n_steps: Gradient steps.
        batch: Rows that take part in a step, on average.
        clip: The norm to which a row's gradient is clipped.
        learning_rate: Of Adam at the first step; it falls to 0 along a line.
        ridge: Of the regression.
        layers: Hidden layers of the network whose kernel is used.
        coefficients: Cosine coefficients of each channel of an image that the points have.
        means_share: What class means may cost, relative to the gradients.
    """

    name: ClassVar[str] = "dp-kip"
    on_gpu: ClassVar[str] = GRADIENTS_ON_GPU
    points: int = 10
    n_steps: int = 200
    batch: int = 512
    clip: float = 1.0
    learning_rate: float = 0.02
    ridge: float = 0.01
    layers: int = 1
    coefficients: int = 100
    means_share: float = 0.1

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Class means over everyone, to start from; then sampled gradients."""
        schema.require_one_table(self.name)
        require_positive(**asdict(self))
        require_single_precision(learning_rate=self.learning_rate)
        space = self._space(schema)
        rate = sampling_rate(schema, batch=self.batch, what="dp-kip")
        width = space.n_classes * self.points * space.width
        gradient = Dense(name="gradient", width=width, l2_bound=self.clip)
        # A sampled use costs about rate^2 of what it costs over everyone, at the same noise.
        return (
            means_step(space, share=self.means_share * rate**2),
            Step(name="gradients", blocks=(gradient,), uses=self.n_steps, sampling=Poisson(rate)),
        )

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Start at the class means, and follow the noisy gradients."""
        torch = need_torch("dp-kip")
        space = self._space(schema)
        middle = measure_means(view, space)
        loss = self._loss(space)
        points = torch.from_numpy(self._start(middle).astype(np.float32))
        optimiser = torch.optim.Adam([points], lr=self.learning_rate)
        for step in range(self.n_steps):
            noisy = view.noisy_gradients("gradients", loss, {"points": points})["points"].values
            points.grad = torch.from_numpy(noisy.astype(np.float32))
            for group in optimiser.param_groups:
                group["lr"] = self.learning_rate * (1 - step / self.n_steps)
            optimiser.step()
            points.copy_(torch.from_numpy(_inside(points.numpy(), middle, space)))
        return {"middle": middle, "points": points.numpy()}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> FixedModel:
        """Points lie as far from the mean as rows do; the kernel sees their direction only."""
        space = self._space(schema)
        middle: Middle = measurements["middle"]
        vectors = middle.mean + middle.distance * measurements["points"]
        return space.as_model(vectors, np.repeat(np.arange(space.n_classes), self.points))

    def scores(self, measurements: Measurements, schema: Schema, vectors: Vectors) -> Vectors:
        """What the regression on the points says of rows' vectors (`inducing.Space`): one score for each class."""
        scores: Vectors = ntk.ridge_scores(
            vectors - measurements["middle"].mean,
            measurements["points"],
            self._labels(self._space(schema)),
            layers=self.layers,
            ridge=self.ridge,
        )
        return scores

    def _loss(self, space: Space) -> Loss:
        torch = need_torch("dp-kip")
        labels = torch.from_numpy(self._labels(space).astype(np.float32))
        target = space.schema.require_coded_target().name

        def loss(parameters: Mapping[str, Tensor], example: Mapping[str, Tensor]) -> Tensor:
            points, known = parameters["points"], labels.to(parameters["points"].device)
            predicted = ntk.prediction(example[VECTOR], points, known, layers=self.layers, ridge=self.ridge)
            classes = torch.arange(space.n_classes, device=points.device)
            truth = (classes == example[target]).to(points.dtype) - 1 / space.n_classes
            return 0.5 * (truth - predicted).square().sum()

        return loss

    def _labels(self, space: Space) -> Vectors:
        centred = np.eye(space.n_classes) - 1 / space.n_classes
        return np.repeat(centred, self.points, axis=0)

    def _start(self, middle: Middle) -> Vectors:
        """Public random places about each class mean, as directions."""
        means = np.repeat(middle.class_means, self.points, axis=0)
        aside = np.random.default_rng(_START_SEED).normal(size=means.shape)
        return _unit(_unit(means) + _SPREAD * _unit(aside))


def _inside(points: Vectors, middle: Middle, space: Space) -> Vectors:
    """Directions again, of points that stay in the box where they will be released: at the distance of a typical row."""
    return _unit(space.inside(middle.mean + middle.distance * _unit(points)) - middle.mean)


def _unit(vectors: Vectors) -> Vectors:
    lengths: Vectors = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return vectors / lengths
