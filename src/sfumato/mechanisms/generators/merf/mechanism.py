"""DP-MERF: one noisy mean of random Fourier features for each class, and a generator that matches it.

Harder, Adamczewski and Park, "DP-MERF: differentially private mean embeddings with random features for practical
privacy-preserving data generation" (2021); here with waves of several widths over few columns and over all, with
the exact means of what the generator leaves to chance, and with class counts that are noised, too. Proof: docs/proofs/dp-merf.md.
"""

from dataclasses import asdict, dataclass
from typing import ClassVar

from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.generator import Generator
from sfumato.mechanisms.common.generator_model import GeneratorModel
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.settings import require_positive
from sfumato.mechanisms.generators.merf.mean_embedding import MeanEmbedding, blocks, contribution
from sfumato.mechanisms.generators.merf.training import Training
from sfumato.mechanisms.generators.merf.waves import draw_waves
from sfumato.public.budget import Budget
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema


@register
@dataclass(frozen=True, kw_only=True)
class DPMerf:
    """A generator whose rows have the noisy mean embedding of the private ones.

    Args:
        waves: Random frequencies; each gives a cosine and a sine.
        latent: Entries of a latent draw.
        hidden: Units of each of two hidden layers.
        n_steps: Gradient steps of the generator, which are free.
        batch: Rows that are generated for a step.
        learning_rate: Of Adam at the first step; it falls to 0.
    """

    name: ClassVar[str] = "dp-merf"
    waves: int = 1500
    latent: int = 24
    hidden: int = 256
    n_steps: int = 1500
    batch: int = 400
    learning_rate: float = 0.003

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """One sum over everyone."""
        require_positive(**asdict(self))
        return (Step(name="embedding", blocks=blocks(MixedRows(schema), self.waves)),)

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Ask for the embedding."""
        need_torch("dp-merf")  # training will need it: refuse before anything is spent
        rows = MixedRows(schema)
        waves = draw_waves(rows, self.waves)
        return dict(view.noisy_sum("embedding", lambda batch: contribution(batch, rows, waves)))

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> GeneratorModel:
        """Train the generator: a function of the measurements alone."""
        rows = MixedRows(schema)
        generator = Generator(rows, self.latent, self.hidden)
        target = MeanEmbedding.of(dict(measurements))
        training = Training(self.n_steps, self.batch, self.learning_rate)
        parameters = training(generator, draw_waves(rows, self.waves), target, seed=seed)
        return GeneratorModel(generator, parameters, measurements["counts"])
