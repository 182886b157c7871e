"""The study of the report on Opacus: plain and private training as published, several levels of noise, and the sound learner."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from sfumato.lab.studies.common.digits import Digits, DigitStudy, fewer_rows
from sfumato.lab.studies.common.drawing import draw_sheet
from sfumato.lab.studies.common.study import Figures, Found, Line, Task
from sfumato.lab.studies.opacus_report.claims import APPENDIX, BATCH, BODY, DELTA, PUBLISHED, bounds_of
from sfumato.lab.studies.opacus_report.incremental import SCHEDULES, PhasedCnn
from sfumato.lab.studies.opacus_report.shuffled_sgd import Run, Trainer
from sfumato.lab.studies.opacus_report.story import LEVEL_EPOCHS, NOISES, lines_of, noise_task, story_of
from sfumato.mechanism import settings_of
from sfumato.mechanisms.learners.cnn import Cnn
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import Budget
from sfumato.training import train

_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done: images, images in a batch, what is tested on, and which runs for how long.

    The report's own settings are run for as many epochs as there, or for `most_epochs`; levels of noise, side by side, for
    `level_epochs` with `seeds` (the report's settings) or `other_seeds`. Networks whose layers are drawn see `drawn_images`, for
    `drawn_epochs`. `scheduled` is the sound learner, shorter, with schedules of its noise.
    """

    images: int | None = None
    batch: int = BATCH
    test_images: int | None = None
    most_epochs: int = BODY.epochs
    noises: tuple[float, ...] = NOISES
    level_epochs: int = LEVEL_EPOCHS
    seeds: int = 3
    other_seeds: int = 2
    drawn_images: int = 6_000
    drawn_epochs: int = 3
    learner: Cnn = field(default=Cnn())
    sound_seeds: int = 1
    scheduled: Cnn = field(default=Cnn(epochs=5.0))
    schedules: tuple[str, ...] = tuple(SCHEDULES)
    schedule_seeds: int = 2

    def runs(self) -> list[Run]:
        """All levels of noise: they go side by side."""
        report = (None, APPENDIX.noise_multiplier, BODY.noise_multiplier)
        own = [Run(noise, seed) for noise in report for seed in range(self.seeds)]
        others = [noise for noise in self.noises if noise not in report]
        return [*own, *(Run(noise, seed) for noise in others for seed in range(self.other_seeds))]

    def drawn(self) -> "Sizes":
        """Of the networks whose layers are drawn: one of each level."""
        return replace(self, images=self.drawn_images, level_epochs=self.drawn_epochs, seeds=1, other_seeds=1)


_QUICK = Sizes(
    images=1_500,
    test_images=2_000,
    most_epochs=2,
    noises=(4.0,),
    level_epochs=2,
    seeds=1,
    other_seeds=1,
    drawn_images=640,
    drawn_epochs=1,
    learner=Cnn(batch=300, epochs=1.0),
    scheduled=Cnn(batch=300, epochs=1.0),
    schedules=("falling",),
    schedule_seeds=1,
)
#: The report's own trainings, by the names of their tasks.
_OWN = {
    "plain to nine": (Run(None), APPENDIX.epochs),
    "appendix": (Run(APPENDIX.noise_multiplier), APPENDIX.epochs),
    "body": (Run(BODY.noise_multiplier), BODY.epochs),
}


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
        own = [Task(key=f"{name}, seed 0", run=partial(self._own, sizes, name=name)) for name in _OWN]
        runs = [Task(key=run_key(run), run=partial(self._trained, sizes, run=run)) for run in sizes.runs()]
        sound = [
            Task(key=f"{name}, seed {seed}", run=partial(self._sound, sizes, learner=learner, seed=seed))
            for name, learner, seeds in self._learners(sizes)
            for seed in range(seeds)
        ]
        pictures = Task(key="pictures", run=partial(self._pictures, sizes))
        return [Task(key="bounds", run=_bounds), *own, *runs, pictures, *sound]

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

    def _own(self, sizes: Sizes, folder: Path, *, name: str) -> Figures:
        run, epochs = _OWN[name]
        return _trained(self.dataset, sizes, (run,), min(epochs, sizes.most_epochs)).figures[run]

    def _trained(self, sizes: Sizes, folder: Path, *, run: Run) -> Figures:
        return _trained(self.dataset, sizes, tuple(sizes.runs()), sizes.level_epochs).figures[run]

    def _pictures(self, sizes: Sizes, folder: Path) -> Figures:
        """What the convolutions make of digits, plainly and with each level of noise; and each channel, as the report shows it."""
        drawn, shown = sizes.drawn(), self.digits[1].images[:_SHOWN]
        trainer = _trained(self.dataset, drawn, tuple(drawn.runs()), drawn.level_epochs).trainer
        by_noise = sorted(enumerate(drawn.runs()), key=lambda numbered: numbered[1].noise_multiplier or 0.0)
        made = {run: trainer.activations(at, shown) for at, run in by_noise}
        title = {run: "plain" if run.noise_multiplier is None else f"noise {run.noise_multiplier:g}" for run in made}
        levels = {f"second layer, {title[run]}": second[:, 0] for run, (_, second) in made.items()}
        draw_sheet(folder / "opacus-levels.png", {"digits": shown, **levels})
        both = {run: made[run] for run in (Run(None), Run(BODY.noise_multiplier))}
        channels = {
            f"layer {at + 1}, {title[run]}": layers[at][0, :16] for run, layers in both.items() for at in (0, 1)
        }
        draw_sheet(folder / "opacus-channels.png", channels)
        files = ["opacus-levels.png", "opacus-channels.png"]
        return {"files": files, "images": drawn.images, "epochs": drawn.level_epochs}

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
def _trained(dataset: str, sizes: Sizes, runs: tuple[Run, ...], epochs: int) -> _Together:
    """Networks, trained at once; each task tells of its own."""
    known, asked = DigitStudy(dataset=dataset).digits
    train_digits, test = known.first(sizes.images), asked.first(sizes.test_images)
    trainer = Trainer(train_digits, runs, batch=sizes.batch)
    losses, accuracies = zip(*((trainer.epoch(), trainer.accuracies(test)) for _ in range(epochs)), strict=True)
    return _Together(trainer, {run: _figures(losses, accuracies, at, train_digits) for at, run in enumerate(runs)})


def _figures(losses: Sequence[Any], accuracies: Sequence[Any], at: int, train_digits: Digits) -> Figures:
    """Of one network, by epoch and after the last one."""
    lost, named = ([round(float(epoch[at]), 4) for epoch in epochs] for epochs in (losses, accuracies))
    ended = {"accuracy": named[-1], "loss": lost[-1], "accuracies": named, "losses": lost}
    return {**ended, "images": len(train_digits)}
