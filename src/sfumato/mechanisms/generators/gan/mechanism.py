"""DP-GAN: a discriminator learns by noisy gradients of private rows, a generator from the discriminator alone.

Xie, Lin, Wang, Wang and Zhou, "Differentially private generative adversarial network" (2018), by the recipe of Bie, Kamath and Zhang,
"Private GANs, revisited" (2023): large batches, several discriminator steps for each of the generator's, and an averaged
generator. Generated rows are public, so their part of the gradient has no noise. Proof: docs/proofs/dp-gan.md.
"""

from dataclasses import asdict, dataclass
from math import prod
from typing import ClassVar, NamedTuple

from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.prepared import INPUTS
from sfumato.mechanisms.common.settings import require_positive, sampling_rate
from sfumato.mechanisms.generators.gan.beginning import Averaged, first_look, first_steps
from sfumato.mechanisms.generators.gan.discriminator import Discriminator
from sfumato.public.budget import Budget
from sfumato.public.machine.hardware import GRADIENTS_ON_GPU
from sfumato.public.machine.torch_extra import need_torch, one_thread
from sfumato.public.plan.block import Dense
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Poisson, Step
from sfumato.public.schema.schema import Schema


class _Kind(NamedTuple):
    """Of a discriminator: units of a hidden layer, Adam's rate, and how its weights decay, in learning rates."""

    hidden: int
    learning_rate: float
    decay: float


#: Tables are found out from nothing. Pictures begin near the private ones: a small network, soon there, has less noise to tell.
_TABLES, _PICTURES = _Kind(64, 0.0005, 3.0), _Kind(24, 0.002, 0.5)


def _kind(rows: MixedRows) -> _Kind:
    return _TABLES if rows.image is None else _PICTURES


@register
@dataclass(frozen=True, kw_only=True)
class DPGan(Averaged):
    """A generator whose rows a noisy discriminator cannot tell from private ones.

    Args:
        n_steps: Noisy gradient steps of the discriminator.
        batch: Private rows that take part in a step, on average.
        clip: The norm to which a row's gradient is clipped.
        steps_each: Discriminator steps for each of the generator's.
        generated: Generated rows in a step of either.
        learning_rate: Of the discriminator's Adam; by the kind of rows where nothing is said.
        generator_rate: Of the generator's Adam.
        discriminator_hidden: Units of each of its two hidden layers; likewise.
        coefficients: Cosine coefficients of each channel of an image that the discriminator sees.
        latent: Entries of a latent draw; of pictures, as many as the coefficients of their moments.
        hidden: Units of each of the generator's two hidden layers.
        counts_share: What class counts of tables may cost, relative to the gradients.
        start_share: The same of the moments of pictures, counts among them.
    """

    name: ClassVar[str] = "dp-gan"
    on_gpu: ClassVar[str] = GRADIENTS_ON_GPU
    n_steps: int = 600
    batch: int = 1000
    clip: float = 1.0
    steps_each: int = 1
    generated: int = 256
    learning_rate: float | None = None
    generator_rate: float = 0.0003
    discriminator_hidden: int | None = None
    coefficients: int = 80
    latent: int = 24
    hidden: int = 128
    counts_share: float = 0.05
    start_share: float = 2.0

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Class counts over everyone, of pictures moments too; then sampled gradients."""
        schema.require_one_table(self.name)
        require_positive(**asdict(self))
        rows, rate = MixedRows(schema), self._rate(schema)
        width = sum(prod(shape) for shape in self._discriminator(rows).shapes.values())
        # A sampled use costs about rate^2 of what it costs over everyone, at the same noise.
        shares = {"counts_share": self.counts_share * rate**2, "start_share": self.start_share * rate**2}
        return (
            *first_steps(rows, budget, **shares),
            Step(
                name="gradients",
                blocks=(Dense(name="gradient", width=width, l2_bound=self.clip),),
                uses=self.n_steps,
                sampling=Poisson(rate),
            ),
        )

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Train both networks: the discriminator through the door, the generator on what came out of it."""
        torch = need_torch("dp-gan")
        rows = MixedRows(schema)
        measured = first_look(view, rows)
        discriminator = self._discriminator(rows)
        view.prepare(INPUTS, discriminator.vectors)
        loss = discriminator.loss_of_private()
        with one_thread(), torch.enable_grad():
            kind = _kind(rows)
            rates = {"generator": self.generator_rate, "discriminator": self.learning_rate or kind.learning_rate}
            both = self._duel(measured, discriminator, **rates, decay=kind.decay)
            for step in range(self.n_steps):
                seen = {name: values.to(torch.float32) for name, values in both.of_discriminator.items()}
                noisy = view.noisy_gradients("gradients", loss, seen)
                both.step_discriminator(noisy, batch=self._rate(schema) * (schema.rows or 1), clip=self.clip)
                if (step + 1) % self.steps_each == 0:
                    both.step_generator()
            return {**measured, "generator": both.averaged()}

    def _discriminator(self, rows: MixedRows) -> Discriminator:
        return Discriminator(rows, self.discriminator_hidden or _kind(rows).hidden, self.coefficients)

    def _rate(self, schema: Schema) -> float:
        return sampling_rate(schema, batch=self.batch, what="dp-gan")
