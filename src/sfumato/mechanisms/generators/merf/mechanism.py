"""DP-MERF: one noisy mean of random Fourier features for each class, and a generator that matches it.

Harder, Adamczewski and Park, "DP-MERF: differentially private mean embeddings with random features for practical
privacy-preserving data generation" (2021); here with waves of several widths over few columns and over all, with
the exact means of what the generator leaves to chance, and with class counts that are noised, too. Proof: docs/proofs/dp-merf.md.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.generator import Generator
from sfumato.mechanisms.common.generator_model import GeneratorModel
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.settings import require_positive
from sfumato.mechanisms.generators.merf.waves import ExpectedWaves, Waves, draw_waves
from sfumato.public.budget import Budget
from sfumato.public.machine.torch_extra import need_torch, one_thread
from sfumato.public.plan.block import Block, Hot, Outer
from sfumato.public.plan.doors import Doors, Measured, Noisy
from sfumato.public.plan.step import Step
from sfumato.public.schema.encoding import one_hot
from sfumato.public.schema.schema import Batch, Schema

#: Rows of a class in a step, at least; where there are many classes, some of them take part in a step.
_FEWEST_ROWS = 16
#: What the number of rows and the counts of single codes get of the precision; waves get the rest.
_COUNTS, _CODES = 0.04, 0.3
#: A class is taken for no smaller than so many standard deviations of its count.
_FEWEST = 3.0


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
        schema.require_one_table(self.name)
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
        generator = Generator(MixedRows(schema), self.latent, self.hidden)
        target = mean_embedding(dict(measurements))
        torch = need_torch("dp-merf")
        with one_thread(), torch.enable_grad():  # and in float64, so that the same machine trains the same
            parameters = generator.start(seed)
            self._train(torch, generator, parameters, target, seed)
            return GeneratorModel(generator, generator.trained(parameters), measurements["counts"])

    def _train(
        self, torch: Any, generator: Generator, parameters: list[Any], target: tuple[Floats, Floats], seed: int
    ) -> None:
        """Move the parameters until the mean embedding of generated rows is the noisy one."""
        rng, rows = np.random.default_rng([seed, 1]), generator.rows
        waves = ExpectedWaves(torch, draw_waves(rows, self.waves))
        at_once = min(rows.n_classes, max(1, self.batch // _FEWEST_ROWS))
        half = max(1, self.batch // at_once // 2)
        of_waves, of_codes = map(torch.from_numpy, target)
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate)
        for step in range(self.n_steps):
            chosen = torch.from_numpy(rng.choice(rows.n_classes, size=at_once, replace=False, shuffle=False))
            latent = torch.from_numpy(rng.normal(size=(at_once * 2 * half, generator.latent)))
            out = generator(parameters, latent, chosen.repeat_interleave(2 * half))
            loss = _distance(waves(*out), of_waves[chosen], half)
            if rows.code_sizes:
                loss = loss + _distance(out.probabilities, of_codes[chosen], half) / len(rows.code_sizes)
            optimiser.zero_grad()
            loss.backward()
            for group in optimiser.param_groups:
                group["lr"] = self.learning_rate * 0.5 * (1 + math.cos(math.pi * step / self.n_steps))
            optimiser.step()


def _distance(features: Any, target: Any, half: int) -> Any:
    """The squared distance of class means from their targets, averaged over classes.

    Two halves of the rows, each with its own error, are multiplied: a square would count the spread of the rows as error,
    and a generator would learn to give all rows alike.
    """
    first, second = (features.reshape(len(target), 2, half, -1).mean(dim=2) - target[:, None]).unbind(dim=1)
    return (first * second).sum(dim=1).mean()


def blocks(rows: MixedRows, n_waves: int) -> tuple[Block, ...]:
    """Rows of each class, codes of each column in it, and the sum of its waves, which have length 1."""
    classes, sizes = rows.n_classes, rows.code_sizes
    counts = Hot(name="counts", width=classes, share=_COUNTS)
    if not sizes:
        return counts, Outer(name="waves", shape=(classes, 2 * n_waves), l2_bound=1.0, share=1 - _COUNTS)
    codes = Hot(name="codes", width=classes * sum(sizes), n_hot=len(sizes), share=_CODES)
    return counts, codes, Outer(name="waves", shape=(classes, 2 * n_waves), l2_bound=1.0, share=1 - _COUNTS - _CODES)


def contribution(batch: Batch, rows: MixedRows, waves: Waves) -> dict[str, NDArray[Any]]:
    """What a row gives to the blocks."""
    label = rows.labels(batch)
    given: dict[str, NDArray[Any]] = {
        "counts": label,
        "waves": np.concatenate([one_hot(label, size=rows.n_classes), waves.of_rows(rows, batch)], axis=1),
    }
    if rows.code_sizes:
        given["codes"] = rows.codes(batch) + waves.starts + label[:, None] * sum(rows.code_sizes)
    return given


def mean_embedding(noisy: Noisy) -> tuple[Floats, Floats]:
    """Mean waves and rates of codes of each class, less what is noise in what sets the class apart."""
    counts, none = noisy["counts"], Measured(np.zeros(0), 0.0)
    sizes = np.maximum(counts.values, max(_FEWEST * counts.stddev, 1.0))
    return _shrunk(noisy["waves"], sizes), _shrunk(noisy.get("codes", none), sizes)


def _shrunk(sums: Measured, sizes: Floats) -> Floats:
    """Class means, each drawn towards that of all rows by the part of its distance that is noise.

    James and Stein, "Estimation with quadratic loss" (1961), with the positive part: a class of few rows becomes like all.
    """
    by_class = sums.values.reshape(len(sizes), -1)
    of_all = by_class.sum(axis=0) / sizes.sum()
    offsets = by_class / sizes[:, None] - of_all
    noise = by_class.shape[1] * (sums.stddev / sizes) ** 2
    kept = np.clip(1 - noise / np.maximum((offsets**2).sum(axis=1), 1e-300), 0, 1)
    return np.asarray(of_all + kept[:, None] * offsets)
