"""PATE-GAN: teachers of disjoint parts vote on generated rows, a student learns from noisy votes, a generator from the student.

Jordon, Yoon and van der Schaar, "PATE-GAN: generating synthetic data with differential privacy guarantees" (2019). Here teachers
are many and weak, and made anew for each vote inside the door: noise does not ask how good a teacher is, and averages over
many. The student is told how the votes fell and not only who won. Proof: docs/proofs/pate-gan.md.
"""

from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.prepared import INPUTS
from sfumato.mechanisms.common.settings import require_positive, rows_needed
from sfumato.mechanisms.generators.gan.adversaries import Adversaries
from sfumato.mechanisms.generators.gan.beginning import Averaged, first_look, first_steps
from sfumato.mechanisms.generators.gan.discriminator import Discriminator
from sfumato.mechanisms.generators.gan.teachers import GENERATED, PRIVATE, Features, Teaching
from sfumato.public.budget import Budget
from sfumato.public.machine.torch_extra import need_torch, one_thread
from sfumato.public.plan.block import Votes
from sfumato.public.plan.doors import Doors, Measured, Tensor
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

#: Which of the labelled rows a step of the student takes: public.
_SEED = 53


@register
@dataclass(frozen=True, kw_only=True)
class PateGan(Averaged):
    """A generator whose rows a student, taught by noisy votes, cannot tell from private ones.

    Args:
        rows_each: Private rows of a teacher, on average.
        rounds: How often teachers vote.
        queries: What they vote on in each round: a generated row of every class each.
        reference: Generated rows of each class that teachers compare their own with.
        remembered: Rounds whose votes the student learns from.
        student_steps: Steps of the student in each round.
        generator_steps: Steps of the generator in each round.
        generated: Rows in a step of either.
        learning_rate: Of the student's Adam.
        generator_rate: Of the generator's Adam.
        random_units: Random features of a row that teachers see besides the row.
        student_hidden: Units of each of the student's two hidden layers.
        coefficients: Cosine coefficients of each channel of an image that teachers and student see.
        latent: Entries of a latent draw; of pictures, as many as the coefficients of their moments.
        hidden: Units of each of the generator's two hidden layers.
        counts_share: What class counts of tables may cost, relative to the votes.
        start_share: The same of the moments of pictures, counts among them.
    """

    name: ClassVar[str] = "pate-gan"
    rows_each: int = 8
    rounds: int = 100
    queries: int = 60
    reference: int = 300
    remembered: int = 8
    student_steps: int = 20
    generator_steps: int = 4
    generated: int = 256
    learning_rate: float = 0.001
    generator_rate: float = 0.0005
    random_units: int = 64
    student_hidden: int = 64
    coefficients: int = 80
    latent: int = 24
    hidden: int = 128
    counts_share: float = 0.05
    start_share: float = 2.0

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Class counts, of pictures moments too; then votes, round by round."""
        schema.require_one_table(self.name)
        require_positive(**asdict(self))
        rows = MixedRows(schema)
        n_rows = rows_needed(schema, what="pate-gan", why="to choose how many teachers there are")
        teachers, classes = max(1, n_rows // self.rows_each), 2 * rows.n_classes
        votes = Votes(name="votes", teachers=teachers, queries=self.queries, classes=classes)
        return (
            *first_steps(rows, budget, counts_share=self.counts_share, start_share=self.start_share),
            Step(name="votes", blocks=(votes,), uses=self.rounds),
        )

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Train student and generator; private rows are met by teachers alone, inside the door."""
        torch = need_torch("pate-gan")
        rows = MixedRows(schema)
        measured = first_look(view, rows)
        student = Discriminator(rows, self.student_hidden, self.coefficients)
        features, rng = Features.of(student.width, self.random_units), np.random.default_rng(_SEED)
        view.prepare(INPUTS, lambda batch: features(student.vectors(batch)))
        with one_thread(), torch.enable_grad():
            both = self._duel(measured, student, generator=self.generator_rate, discriminator=self.learning_rate)
            lessons: list[tuple[Tensor, Tensor, Tensor]] = []
            for _ in range(self.rounds):
                teaching = Teaching(rows, features, _made(both, self.reference, rows.n_classes))
                lessons = [*lessons, self._lesson(view, both, teaching, rows.n_classes)]
                lessons = lessons[-self.remembered :]
                vectors, labels, private = (torch.cat(parts) for parts in zip(*lessons, strict=True))
                for _ in range(self.student_steps):
                    some = torch.from_numpy(rng.integers(len(labels), size=self.generated))
                    both.step_student(vectors[some], labels[some], private[some])
                for _ in range(self.generator_steps):
                    both.step_generator()
            return {**measured, "generator": both.averaged()}

    def _lesson(
        self, view: Doors, both: Adversaries, teaching: Teaching, n_classes: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Generated rows, their classes, and how private teachers find each: one class after another."""
        torch = need_torch("pate-gan")
        asked = _made(both, self.queries, n_classes)
        votes = view.noisy_votes("votes", teaching.train, teaching.queries(asked))["votes"]
        return (
            torch.from_numpy(np.concatenate(asked)),
            torch.arange(n_classes).repeat_interleave(self.queries),
            torch.from_numpy(self._judged_private(votes).ravel()),
        )

    def _judged_private(self, votes: Measured) -> Floats:
        """The part of teachers that take a row for private, about 0 to 1, by class and query.

        How many vote on a class is not known: it is the mean of noisy counts, or their noise where that is more.
        """
        counts = votes.values.reshape(self.queries, -1, 2).transpose(1, 0, 2)
        voting = np.maximum(counts.sum(axis=2).mean(axis=1), votes.stddev)
        return np.asarray(0.5 + (counts[..., PRIVATE] - counts[..., GENERATED]) / (2 * voting[:, None]))


def _made(both: Adversaries, n_rows: int, n_classes: int) -> Floats:
    """So many generated rows of each class: (class, row, entry)."""
    torch = need_torch("pate-gan")
    with torch.no_grad():
        vectors = both.made(torch.arange(n_classes).repeat_interleave(n_rows))
    return np.asarray(vectors, dtype=np.float64).reshape(n_classes, n_rows, -1)
