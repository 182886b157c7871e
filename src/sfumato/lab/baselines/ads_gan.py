"""ADS-GAN: each real row is handed to a generator, which makes a like one and is paid for keeping away from it. NOT private.

Yoon, Drumright and van der Schaar, "Anonymization through data synthesis using generative adversarial networks (ADS-GAN)",
IEEE Journal of Biomedical and Health Informatics 24 (2020). The distance is a term of the loss and bounds nothing: whoever is
unlike all others can be as near to a generated row as the critic likes. Numbers are learned by their rank among the real ones, so that
spikes and tails are as easy as anything else.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import entropy

from sfumato.errors import PlanError, SchemaError
from sfumato.lab.baselines.baseline import FittedBaseline, read_rows
from sfumato.lab.baselines.duel import Duel, handed
from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.generator import Generator
from sfumato.mechanisms.common.generator_model import draw_rows
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.settings import require_positive
from sfumato.mechanisms.generators.gan.discriminator import Discriminator
from sfumato.model import Synthetic, check_row_count
from sfumato.public.machine.torch_extra import need_torch, one_thread
from sfumato.public.schema.schema import Batch, Schema


@dataclass(frozen=True)
class Ranks:
    """The real values of each column of numbers, in order."""

    ordered: tuple[Floats, ...] = field(repr=False)

    @staticmethod
    def among(numbers: Floats, present: Flags) -> "Ranks":
        """Of columns side by side; values that are missing do not count.

        >>> Ranks.among(np.array([[3.0], [1.0], [9.0]]), np.array([[True], [True], [False]])).ordered
        (array([1., 3.]),)
        """
        return Ranks(tuple(np.sort(column[there]) for column, there in zip(numbers.T, present.T, strict=True)))

    def of(self, numbers: Floats, rng: np.random.Generator) -> Floats:
        """From 0 to 1; values that are equal are spread over all of their ranks.

        >>> ranks = Ranks((np.array([0.0, 0.0, 0.0, 7.0]),))
        >>> ranks.back(ranks.of(np.array([[0.0], [7.0]]), np.random.default_rng(0)))
        array([[0.],
               [7.]])
        """
        found = np.full(numbers.shape, 0.5)
        for at, values in enumerate(self.ordered):
            if len(values):
                low, high = (np.searchsorted(values, numbers[:, at], side=side) for side in ("left", "right"))
                found[:, at] = (low + rng.random(len(numbers)) * (high - low)) / len(values)
        return found

    def back(self, ranks: Floats) -> Floats:
        """The real value at each rank."""
        found = np.full(ranks.shape, 0.5)
        for at, values in enumerate(self.ordered):
            if len(values):
                place = np.floor(np.clip(ranks[:, at], 0, 1) * len(values)).astype(np.int64)
                found[:, at] = values[np.minimum(place, len(values) - 1)]
        return found


#: Of a column, in nats: one that hardly varies would otherwise be all that counts.
_LEAST_ENTROPY = 0.1
#: Real rows whose neighbours are looked for.
_ASKED = 1_000


def entropy_weights(rows: MixedRows, batch: Batch) -> Floats:
    """One over the entropy of each column, for every entry of a row's vector: what few people share counts for more.

    >>> from sfumato.public.schema.schema import Column, Schema
    >>> rows = MixedRows(Schema(columns=(Column(name="ill", kind="boolean"),)))
    >>> entropy_weights(rows, {"ill": np.array([0, 1, 0, 1])}).round(3)
    array([1.443, 1.443])
    """
    columns = [*rows.numbers(batch).T, *rows.codes(batch).T]
    sizes = [1] * rows.n_numbers + list(rows.code_sizes)
    entropies = [entropy(np.unique(values, return_counts=True)[1]) for values in columns]
    return np.repeat(1 / np.maximum(entropies, _LEAST_ENTROPY), sizes)


def identified(real: NDArray[np.floating], generated: NDArray[np.floating], *, seed: int) -> float:
    """The part of real rows that have a generated row nearer than any other real one; of a thousand, drawn by the seed.

    >>> real = np.array([[0.0], [1.0], [5.0]])
    >>> identified(real, np.array([[0.1], [9.5]]), seed=0).__round__(3)  # 5 is nearer to 1 than to 9.5
    0.667
    """
    from sklearn.neighbors import NearestNeighbors

    asked = np.random.default_rng(seed).permutation(len(real))[:_ASKED]
    among_real = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(real).kneighbors(real[asked])[0][:, 1]
    among_generated = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(generated).kneighbors(real[asked])[0][:, 0]
    return float((among_generated < among_real).mean())


_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class ConditionedModel:
    """A generator of ranks, and the real rows that it is handed: whoever has this has them."""

    generator: Generator
    ranks: Ranks = field(repr=False)
    parameters: tuple[NDArray[np.floating], ...] = field(repr=False)
    vectors: NDArray[np.floating] = field(repr=False)
    labels: Integers = field(repr=False)

    @property
    def default_rows(self) -> int:
        """As many as there are."""
        return len(self.labels)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Every real row in turn, in random order, and what the network makes of it."""
        check_row_count(n_rows)
        torch, rng, rows, parts = need_torch("ads-gan"), np.random.default_rng(seed), self.generator.rows, []
        chosen = np.resize(rng.permutation(len(self.labels)), n_rows)
        parameters = [torch.from_numpy(values) for values in self.parameters]
        for some in np.split(chosen, range(_ROWS_AT_ONCE, n_rows, _ROWS_AT_ONCE)):
            with one_thread(), torch.no_grad():
                inputs = handed(self.generator, torch.from_numpy(self.vectors[some]), rng)
                out = self.generator(parameters, inputs, torch.from_numpy(self.labels[some]))
            parts.append(draw_rows(out, rows.code_sizes, rng))
        numbers, codes = (np.concatenate(part) for part in zip(*parts, strict=True))
        return rows.synthetic(self.ranks.back(numbers), codes, self.labels[chosen])


@dataclass(frozen=True, kw_only=True)
class AdsGan:
    """NOT PRIVATE: a generator that is handed real rows, and paid for keeping away from them.

    A generator of two hidden layers is handed so many random draws beside a row; the critic, of two as well, takes so many
    steps for each of the generator's, by its own `learning_rate`. `identifiability` is what a weighted unit of distance
    from the handed row is worth to the generator.
    """

    name: ClassVar[str] = "ads-gan"
    n_steps: int = 2500
    critic_steps: int = 2
    batch: int = 256
    identifiability: float = 0.1
    learning_rate: float = 0.0005
    generator_rate: float = 0.0005
    critic_hidden: int = 128
    draws: int = 24
    hidden: int = 128

    def fit(
        self, data: Any, schema: Schema, *, seed: int = 0, on_step: Callable[[str], None] = lambda name: None
    ) -> FittedBaseline:
        """Train both networks on real rows, WITHOUT privacy."""
        torch = need_torch("ads-gan")
        self.check(schema)
        on_step("reading the rows, without the doors")
        batch, rows = read_rows(data, schema), MixedRows(schema)
        critic = Discriminator(rows, self.critic_hidden, coefficients=0)
        generator = Generator(rows, self.draws + critic.width, self.hidden)
        vectors, labels = critic.vectors(batch), rows.labels(batch)
        weights, numbers = entropy_weights(rows, batch), rows.numbers(batch)
        present = np.stack([~np.isnan(batch[c.name]) for c in rows.columns if not c.is_coded], axis=1)
        ranks, real = Ranks.among(numbers, present), vectors.copy()
        vectors[:, : rows.n_numbers] = 2 * ranks.of(numbers, np.random.default_rng([seed, 2])) - 1
        on_step("training, without noise")
        with one_thread(), torch.enable_grad():
            rates = {"generator": self.generator_rate, "critic": self.learning_rate}
            duel = Duel(generator, critic, vectors, labels, weights=weights, rates=rates, seed=seed)
            for _ in range(self.n_steps):
                for _ in range(self.critic_steps):
                    duel.step_critic(batch=self.batch)
                duel.step_generator(batch=self.batch, identifiability=self.identifiability)
            model = ConditionedModel(generator, ranks, duel.averaged(), vectors, labels)
        made = critic.vectors(read_rows(model.sample(len(labels), seed=seed).table, schema))
        narrow = weights.astype(np.float32)
        part = identified(real * narrow, made * narrow, seed=seed)
        note = f"Of the real rows {part:.0%} have a generated row nearer to them than any other real row."
        return FittedBaseline(self, schema, seed, model, notes=(note,))

    def check(self, schema: Schema) -> None:
        """Refuse what it cannot do, before any row is read."""
        settings = asdict(self)
        if not settings.pop("identifiability") >= 0:
            raise PlanError(f"identifiability = {self.identifiability} must be 0 or more.")
        require_positive(**settings)
        if schema.images:
            raise SchemaError("ads-gan makes tables, and the schema declares images.")
        MixedRows(schema)
