"""The study of the report on Opacus: plain and private training as published, several levels of noise, and the sound learner."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from sfumato.lab.studies.common.digits import Digits, DigitStudy, fewer_rows
from sfumato.lab.studies.common.drawing import draw_sheet
from sfumato.lab.studies.common.study import Figures, Found, Line, Task
from sfumato.lab.studies.opacus_report.claims import APPENDIX, BATCH, BODY, DELTA, PUBLISHED, bounds_of
from sfumato.lab.studies.opacus_report.incremental import SCHEDULES, PhasedCnn
from sfumato.lab.studies.opacus_report.shuffled_sgd import Run, Trainer
from sfumato.lab.studies.opacus_report.story import NOISES, lines_of, noise_task, story_of
from sfumato.mechanism import settings_of
from sfumato.mechanisms.learners.cnn import Cnn
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import Budget
from sfumato.training import train

_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done: images, passes over them, images in a batch, what is tested on, and which runs.

    `seeds`: of the report's own settings; `other_seeds`: of the other levels of noise. `scheduled` is the sound learner, shorter,
    with schedules of its noise.
    """

    images: int | None = None
    epochs: int = BODY.epochs
    batch: int = BATCH
    test_images: int | None = None
    noises: tuple[float, ...] = NOISES
    seeds: int = 3
    other_seeds: int = 2
    learner: Cnn = field(default=Cnn())
    sound_seeds: int = 1
    scheduled: Cnn = field(default=Cnn(epochs=5.0))
    schedules: tuple[str, ...] = tuple(SCHEDULES)
    schedule_seeds: int = 2

    def runs(self) -> list[Run]:
        """All trainings as published: they go side by side."""
        own = [Run(noise, seed) for noise in (None, *self._report()) for seed in range(self.seeds)]
        others = [n for n in self.noises if n not in self._report()]
        return [*own, *(Run(noise, seed) for noise in others for seed in range(self.other_seeds))]

    def _report(self) -> tuple[float, ...]:
        return APPENDIX.noise_multiplier, BODY.noise_multiplier


_QUICK = Sizes(
    images=1_500,
    epochs=2,
    test_images=2_000,
    noises=(4.0,),
    seeds=1,
    other_seeds=1,
    learner=Cnn(batch=300, epochs=1.0),
    scheduled=Cnn(batch=300, epochs=1.0),
    schedules=("falling",),
    schedule_seeds=1,
)


@dataclass(frozen=True, kw_only=True)
class OpacusStudy(DigitStudy):
    """`sfumato study opacus`."""

    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "opacus"
    title: str = "DP-SGD with shuffled batches: a report on Opacus"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """Plain, private with several levels of noise, the sound learner, and schedules of its noise."""
        sizes = self.quick if quick else self.full
        runs = [Task(key=run_key(run), run=partial(self._trained, sizes, run=run)) for run in sizes.runs()]
        sound = [
            Task(key=f"{name}, seed {seed}", run=partial(self._sound, sizes, learner=learner, seed=seed))
            for name, learner, seeds in self._learners(sizes)
            for seed in range(seeds)
        ]
        pictures = Task(key="pictures", run=partial(self._pictures, sizes))
        return [Task(key="bounds", run=_bounds), *runs, pictures, *sound]

    def lines(self, found: Found) -> Sequence[Line]:
        """Plain, and the two private settings of the report."""
        return lines_of(found)

    def story(self, found: Found, folder: Path) -> str:
        """What was done, and what its epsilon is."""
        return story_of(found, folder)

    def _learners(self, sizes: Sizes) -> list[tuple[str, Cnn, int]]:
        settings = settings_of(sizes.scheduled)
        phased = {name: PhasedCnn(noise=SCHEDULES[name], **settings) for name in sizes.schedules}
        schedules = [(f"budget, {name} noise", learner, sizes.schedule_seeds) for name, learner in phased.items()]
        return [("sound", sizes.learner, sizes.sound_seeds), *schedules]

    def _trained(self, sizes: Sizes, folder: Path, *, run: Run) -> Figures:
        return _side_by_side(self.dataset, sizes).figures[run]

    def _pictures(self, sizes: Sizes, folder: Path) -> Figures:
        """What the convolutions make of digits, plainly and with each level of noise; and each channel, as the report shows it."""
        together, shown = _side_by_side(self.dataset, sizes), self.digits[1].images[:_SHOWN]
        made = {run: together.trainer.activations(at, shown) for at, run in enumerate(sizes.runs()) if run.seed == 0}
        title = {run: "plain" if run.noise_multiplier is None else f"noise {run.noise_multiplier:g}" for run in made}
        levels = {f"second layer, {title[run]}": second[:, 0] for run, (_, second) in made.items()}
        draw_sheet(folder / "opacus-levels.png", {"digits": shown, **levels})
        both = {run: made[run] for run in (Run(None), Run(BODY.noise_multiplier))}
        channels = {
            f"layer {at + 1}, {title[run]}": layers[at][0, :16] for run, layers in both.items() for at in (0, 1)
        }
        draw_sheet(folder / "opacus-channels.png", channels)
        return {"files": ["opacus-levels.png", "opacus-channels.png"]}

    def _sound(self, sizes: Sizes, folder: Path, *, learner: Cnn, seed: int) -> Figures:
        """`cnn` of this package: rows take part by coins of their own, and that is what is booked. Its noise has no seed."""
        benchmark = fewer_rows(self.benchmark, train=sizes.images)
        schema, budget = benchmark.schema, Budget(epsilon=PUBLISHED[-1], delta=DELTA)
        trained = train(learner, Sensitive.read(benchmark.train, schema), budget, seed=seed)
        test, image = self.digits[1].first(sizes.test_images), schema.images[0]
        pixels = {image.name: image.low + test.images * (image.high - image.low)}
        named = trained.classifier.probabilities(pixels).argmax(axis=1)
        accuracy = round(float((named == test.labels).mean()), 4)
        return {"accuracy": accuracy, "epsilon": budget.epsilon, "images": schema.rows}


def _bounds(folder: Path) -> Figures:
    """Epsilon of both programs, as booked and as it is: computed, not run."""
    return {name: bounds_of(setting) for name, setting in (("appendix", APPENDIX), ("body", BODY))}


def run_key(run: Run) -> str:
    """The name of its task."""
    return f"{noise_task(run.noise_multiplier)}, seed {run.seed}"


@dataclass(frozen=True)
class _Together:
    trainer: Trainer
    figures: dict[Run, Figures]


@cache
def _side_by_side(dataset: str, sizes: Sizes) -> _Together:
    """All networks, trained at once; each task tells of its own."""
    known, asked = DigitStudy(dataset=dataset).digits
    train_digits, test = known.first(sizes.images), asked.first(sizes.test_images)
    trainer, runs = Trainer(train_digits, sizes.runs(), batch=sizes.batch), sizes.runs()
    losses, accuracies = zip(*((trainer.epoch(), trainer.accuracies(test)) for _ in range(sizes.epochs)), strict=True)
    return _Together(trainer, {run: _figures(losses, accuracies, at, train_digits) for at, run in enumerate(runs)})


def _figures(losses: Sequence[Any], accuracies: Sequence[Any], at: int, train_digits: Digits) -> Figures:
    """Of one network. The last epoch, and the last but one, in which the appendix ends, stand for themselves."""
    each = {"losses": losses, "accuracies": accuracies}
    told: dict[str, Any] = {name: [round(float(epoch[at]), 4) for epoch in epochs] for name, epochs in each.items()}
    for single, name in (("accuracy", "accuracies"), ("loss", "losses")):
        told[single] = told[name][-1]
        if len(told[name]) > APPENDIX.epochs:
            told[f"{single} after nine"] = told[name][APPENDIX.epochs - 1]
    return {**told, "images": len(train_digits)}
