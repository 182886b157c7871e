"""The study of the report on Opacus: private against plain training, claimed against true epsilon, and a sound learner."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from sfumato.lab.benchmark.datasets import Benchmark, load
from sfumato.lab.studies.digits import Digits, digits_of
from sfumato.lab.studies.drawing import draw_sheet
from sfumato.lab.studies.fewer import fewer_rows
from sfumato.lab.studies.opacus_report.claims import BATCH, DELTA, EPOCHS, NOISE_MULTIPLIER, PUBLISHED
from sfumato.lab.studies.opacus_report.shuffled_sgd import Trainer
from sfumato.lab.studies.opacus_report.story import lines_of, story_of
from sfumato.lab.studies.task import Figures, Found, Line, Task
from sfumato.mechanisms.learners.cnn import Cnn
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import Budget
from sfumato.training import train

_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done: images, passes over them, images in a batch, and what is tested on."""

    images: int | None = None
    epochs: int = EPOCHS
    batch: int = BATCH
    test_images: int | None = None
    learner: Cnn = field(default=Cnn())


_QUICK = Sizes(images=6_000, epochs=3, test_images=4_000, learner=Cnn(batch=400, epochs=3.0))


@dataclass(frozen=True, kw_only=True)
class OpacusStudy:
    """`sfumato study opacus`."""

    dataset: str = "mnist"
    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "opacus"
    title: str = "DP-SGD with shuffled batches: a report on Opacus"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """Plain, private as published, private and sound."""
        sizes = self.quick if quick else self.full
        return [
            Task(key="plain", run=partial(self._trained, sizes, noise_multiplier=None)),
            Task(key="private", run=partial(self._trained, sizes, noise_multiplier=NOISE_MULTIPLIER)),
            Task(key="sound", run=partial(self._sound, sizes)),
        ]

    def lines(self, found: Found) -> Sequence[Line]:
        """Both trainings."""
        return lines_of(found)

    def story(self, found: Found, folder: Path) -> str:
        """What was done, and what its epsilon is."""
        return story_of(found, folder)

    def _trained(self, sizes: Sizes, folder: Path, *, noise_multiplier: float | None) -> Figures:
        train_digits, test = _digits(self.dataset)
        train_digits, test = train_digits.first(sizes.images), test.first(sizes.test_images)
        trainer = Trainer(train_digits, batch=sizes.batch, noise_multiplier=noise_multiplier)
        losses, accuracies = [], []
        for _ in range(sizes.epochs):
            losses.append(round(trainer.epoch(), 4))
            accuracies.append(round(trainer.accuracy(test), 4))
        name = "plain" if noise_multiplier is None else "private"
        shown = test.images[:_SHOWN]
        one, two = trainer.activations(shown)
        draw_sheet(
            folder / f"opacus-{name}.png", {"digits": shown, "first convolution": one, "second convolution": two}
        )
        return {"accuracy": accuracies[-1], "accuracies": accuracies, "losses": losses, "images": len(train_digits)}

    def _sound(self, sizes: Sizes, folder: Path) -> Figures:
        """`cnn` of this package: rows take part by coins of their own, and that is what is booked."""
        benchmark = fewer_rows(_benchmark(self.dataset), train=sizes.images)
        schema, budget = benchmark.schema, Budget(epsilon=PUBLISHED[-1], delta=DELTA)
        trained = train(sizes.learner, Sensitive.read(benchmark.train, schema), budget, seed=0)
        test = _digits(self.dataset)[1].first(sizes.test_images)
        image = schema.images[0]
        named = trained.classifier.probabilities(
            {image.name: image.low + test.images * (image.high - image.low)}
        ).argmax(axis=1)
        return {"accuracy": round(float((named == test.labels).mean()), 4), "images": schema.rows}


@cache
def _benchmark(dataset: str) -> Benchmark:
    return load(dataset)


@cache
def _digits(dataset: str) -> tuple[Digits, Digits]:
    return digits_of(_benchmark(dataset), "train"), digits_of(_benchmark(dataset), "test")
