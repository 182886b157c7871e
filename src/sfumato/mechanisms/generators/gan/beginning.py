"""What a GAN asks for before its duel: class counts, and of pictures the moments of each class, where the generator begins.

A duel under noise finds what pictures of a class look like slowly, if at all. Their mean and covariance are one noisy sum; from there
on the duel is about what a Gaussian does not have.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfumato.mechanism import Measurements
from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.counted_classes import class_rates
from sfumato.mechanisms.common.generator import MOST_COEFFICIENTS, Generator, Outputs, pixels_of
from sfumato.mechanisms.common.generator_model import GeneratorModel
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.pictures import n_channels
from sfumato.mechanisms.generators.gan.adversaries import Adversaries
from sfumato.mechanisms.generators.gan.discriminator import Discriminator
from sfumato.mechanisms.image.density import ImageDensity
from sfumato.mechanisms.image.sizes import density_for
from sfumato.public.budget import Budget
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

#: What a step of the network is worth in coefficients: the moments are known better than what a noisy discriminator says.
_ADDED = 0.3


@dataclass(frozen=True)
class GaussianStart(Generator):
    """A generator of pictures that begins at a Gaussian for each class, and learns what to add to its draws.

    Means are cosine coefficients, one channel after another; the square of the loadings is the covariance of a class.
    """

    means: Floats = field(repr=False)
    loadings: Floats = field(repr=False)

    def start(self, seed: int) -> list[Any]:
        """The last layer adds nothing yet."""
        torch = need_torch("a generator")
        parameters = super().start(seed)
        with torch.no_grad():
            parameters[-2].zero_()
        return parameters

    def __call__(self, parameters: list[Any], latent: Any, labels: Any) -> Outputs:
        """Pictures of these classes, cut to the unit box."""
        torch, image = need_torch("a generator"), self.rows.schema.images[0]
        added = _ADDED * self.signal(parameters, latent, labels)
        by_channel = added.reshape(len(added), n_channels(image), -1)
        drawn = self._drawn(latent, labels).reshape(len(added), n_channels(image), -1)
        finer = by_channel.shape[2] - drawn.shape[2]
        moved = by_channel + torch.nn.functional.pad(drawn, (0, finer))
        return Outputs(pixels_of(moved.flatten(1), image).clamp(0, 1), None, added[:, :0])

    def _drawn(self, latent: Any, labels: Any) -> Any:
        """A draw of the Gaussian of each row's class."""
        torch = need_torch("a generator")
        drawn = torch.from_numpy(self.means)[labels]
        for label in labels.unique():
            mine = labels == label
            drawn[mine] += latent[mine] @ torch.from_numpy(self.loadings[int(label)])
        return drawn


def first_steps(rows: MixedRows, budget: Budget, *, counts_share: float, start_share: float) -> tuple[Step, ...]:
    """Of tables, class counts; of pictures, moments of each class as well."""
    if rows.image is None:
        return (Step(name="classes", blocks=(Hot(name="counts", width=rows.n_classes),), share=counts_share),)
    return tuple(_density(rows, budget).steps(rows.schema, share=start_share))


def first_look(view: Doors, rows: MixedRows) -> dict[str, Any]:
    """Noisy class counts, and of pictures where their generator begins."""
    if rows.image is None:
        return {"counts": view.noisy_sum("classes", lambda batch: {"counts": rows.labels(batch)})["counts"]}
    seen = _density(rows, view.budget).measure(view, rows.schema)
    return {
        "counts": Measured(seen["class_counts"], float(seen["class_noise"][0])),
        "means": seen["means"],
        "loadings": seen["loadings"].astype(np.float64),
    }


def generator_of(measured: Measurements, rows: MixedRows, *, latent: int, hidden: int) -> Generator:
    """A generator of mixed rows; of pictures, one that begins where the first look says."""
    if rows.image is None:
        return Generator(rows, latent, hidden)
    return GaussianStart(rows, measured["loadings"].shape[1], hidden, measured["means"], measured["loadings"])


class Averaged:
    """What GANs have in common once they are trained."""

    latent: int
    hidden: int
    generated: int

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> GeneratorModel:
        """The averaged generator is the model."""
        generator = generator_of(measurements, MixedRows(schema), latent=self.latent, hidden=self.hidden)
        return GeneratorModel(generator, measurements["generator"], measurements["counts"])

    def _duel(self, measured: Measurements, against: Discriminator, **rates: float) -> Adversaries:
        """Generator and discriminator at their start."""
        generator = generator_of(measured, against.rows, latent=self.latent, hidden=self.hidden)
        shares = class_rates(measured["counts"].values)
        return Adversaries(generator, against, rates=shares, generated=self.generated).with_rates(**rates)


def _density(rows: MixedRows, budget: Budget) -> ImageDensity:
    """One Gaussian for each class, of no more coefficients than the generator draws with."""
    density = density_for(rows.schema, budget)
    few = min(density.coefficients, MOST_COEFFICIENTS)
    return replace(density, coefficients=few, clusters=1, by_channel=True, texture=False)
