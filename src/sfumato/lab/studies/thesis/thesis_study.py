"""The study of the DPMix thesis: its main run, its three curves, and the same made sound."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.lab.studies.common.digits import DigitStudy, sound_release
from sfumato.lab.studies.common.drawing import draw_sheet
from sfumato.lab.studies.common.study import Figures, Task
from sfumato.lab.studies.thesis.claims import (
    APPENDIX,
    BY_DEGREE,
    BY_MIXTURES,
    BY_NOISE,
    DEGREE,
    MAIN_EPSILON,
    MIXTURES,
    N_CLASSES,
    NOISE,
    Classwise,
    main_epsilons,
)
from sfumato.lab.studies.thesis.generators import noised_class_means, random_mixtures
from sfumato.lab.studies.thesis.releases import Releases, at_most, attack_tasks, learner_tasks
from sfumato.lab.studies.thesis.story import NOISE_EPOCHS, OTHER_EPOCHS, lines_of, story_of, unfitted
from sfumato.lab.studies.thesis.training import Dataset, Training, accuracies_of_training
from sfumato.mechanism import Mechanism
from sfumato.mechanisms.image.mechanism import ThreeAImage
from sfumato.mechanisms.mixing.dpmix import DPMix
from sfumato.public.budget import Budget
from sfumato.public.schema.encoding import one_hot

#: The points of Figure 4.3 in the order in which they are run: the shape of the curve first.
_NOISE_ORDER = (0.7, 0.2, 1.0, 1.5, 0.5, 2.0, 3.0, 1.2, 0.8)
_MIXTURES_ORDER = (2_500, 30_000, 10_000, 5_000, 20_000)
#: Where single networks differ by twenty points, and a mean of ten has a standard error of two to three.
_STEEP = tuple(BY_NOISE.key(at) for at in BY_NOISE.accuracies if 0.8 <= at <= 1.6)
_USUAL = Classwise()
#: The batch with which the published accuracy of the main run is reached: half of what Keras takes where nobody says.
_REACHED_WITH = 16


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done. In a quick run mixtures are divided by `fewer`, and the network learns faster for less long.

    Attributes:
        fewer: By which mixtures are divided.
        main_runs: Datasets of the main run, each with a network of its own; the thesis has one.
        runs: Datasets of a point of the curves; the thesis has ten.
        steep_runs: Of a point with fitted epochs where the curve over noise is steep.
        main_batch: Pictures in a step of the main run; see `_REACHED_WITH`.
        train_noise: The curve over noise, its epochs fitted to the published one.
        train_other: The curves over l and T, likewise.
        train_unfitted: All curves with what Keras does by itself, and whatever is sound within classes: nothing is fitted.
        others: Whether sound methods are run at the honest epsilon, and all curves without a fit, as well.
        attacks: Seeds with which each release is attacked.
        learners: Seeds with which a linear model and trees learn from each release.
    """

    fewer: int = 1
    main_runs: int = 5
    main_batch: int = _REACHED_WITH
    runs: int = 10
    steep_runs: int = 30
    train: Training = field(default=Training())
    train_noise: Training = field(default=Training(epochs=NOISE_EPOCHS, patience=3))
    train_other: Training = field(default=Training(epochs=OTHER_EPOCHS, patience=3))
    train_unfitted: Training = field(default=Training(learning_rate=1e-3, halved_every=None, patience=3))
    noise: tuple[float, ...] = (*_NOISE_ORDER, *(s for s in BY_NOISE.accuracies if s not in _NOISE_ORDER))
    degrees: tuple[int, ...] = (32, 512, 64, 128, 256)
    mixtures: tuple[float, ...] = (*_MIXTURES_ORDER, *(t for t in BY_MIXTURES.accuracies if t not in _MIXTURES_ORDER))
    others: bool = True
    attacks: int = 3
    learners: int = 1
    test_rows: int | None = None


_QUICK_CURVES = Training(epochs=4, learning_rate=1e-3, halved_every=2)
_QUICK = Sizes(
    fewer=10,
    main_runs=1,
    main_batch=32,
    runs=1,
    steep_runs=1,
    train=Training(epochs=18, learning_rate=1.5e-3, halved_every=6),
    train_noise=_QUICK_CURVES,
    train_other=_QUICK_CURVES,
    train_unfitted=_QUICK_CURVES,
    noise=(0.2, 1.0),
    degrees=(512,),
    mixtures=(2_500,),
    others=False,
    attacks=0,
    learners=0,
    test_rows=5_000,
)


@dataclass(frozen=True, kw_only=True)
class ThesisStudy(DigitStudy):
    """`sfumato study dpmix-thesis`."""

    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "dpmix-thesis"
    title: str = "DPMix, a thesis: mixtures of random rows"
    lines = staticmethod(lines_of)
    story = staticmethod(story_of)

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """The main run, the curves, the sound versions."""
        sizes = self.quick if quick else self.full
        chosen = ((BY_NOISE, sizes.noise), (BY_DEGREE, sizes.degrees), (BY_MIXTURES, sizes.mixtures))
        settings = [{curve.key(at): curve.setting(at) for at in places} for curve, places in chosen]
        trained = (sizes.train_noise, sizes.train_other, sizes.train_other)
        noise, degree, mixtures = (
            [self._point(sizes, key, setting, training) for key, setting in points.items()]
            for points, training in zip(settings, trained, strict=True)
        )
        releases = Releases(self.benchmark, fewer=sizes.fewer)
        others: list[Task] = []
        plain: list[Task] = []
        if sizes.others:
            usual = replace(sizes, main_batch=sizes.train.batch)
            others = [
                Task(key="main, argmax labels", run=partial(self._main, sizes, soft=False)),
                Task(key="appendix A.3, soft labels", run=partial(self._main, sizes, soft=True, setting=APPENDIX)),
                Task(key=f"main, batches of {usual.main_batch}", run=partial(self._main, usual, soft=True)),
                Task(key="sound, honest epsilon", run=partial(self._sound, sizes, epsilon=None)),
                Task(key="default for images, honest epsilon", run=partial(self._default, sizes)),
            ]
            every = [point for points in settings for point in points.items()]
            plain = [self._point(sizes, unfitted(key), setting, sizes.train_unfitted) for key, setting in every]
        return [
            Task(key="class-counts", run=self._counts),
            Task(key="pictures", run=self._pictures),
            Task(key="main, soft labels", run=partial(self._main, sizes, soft=True)),
            Task(key="sound, published epsilon", run=partial(self._sound, sizes, epsilon=MAIN_EPSILON)),
            noise[0],
            *others,
            *(*noise[1:3], *degree[:2], *mixtures[:2]),
            Task(key="sound class-wise, published epsilon", run=partial(self._sound_classwise, sizes)),
            *attack_tasks(releases, self.digits[0], runs=sizes.attacks),
            *learner_tasks(releases, self.digits[0], self.digits[1], runs=sizes.learners),
            *(*noise[3:7], *degree[2:], *mixtures[2:4], *noise[7:], *mixtures[4:], *plain),
        ]

    def _counts(self, folder: Path) -> Figures:
        return {"counts": np.bincount(self.digits[0].labels, minlength=N_CLASSES).tolist()}

    def _main(self, sizes: Sizes, folder: Path, *, soft: bool, setting: tuple[int, float] = (DEGREE, NOISE)) -> Figures:
        """Random mixing. Without soft labels, the class is the largest entry of the noisy label."""

        def dataset(rng: np.random.Generator) -> Dataset:
            images, labels = self._mixed(MIXTURES // sizes.fewer, rng, setting)
            return images, labels if soft else _hard(labels.argmax(axis=1))

        return self._trained(dataset, sizes, replace(sizes.train, batch=sizes.main_batch), runs=sizes.main_runs)

    def _point(self, sizes: Sizes, key: str, setting: Classwise, training: Training) -> Task:
        """One point of a curve."""
        fewer = replace(setting, copies=setting.copies // sizes.fewer)

        def dataset(rng: np.random.Generator) -> Dataset:
            images, labels = self._means(fewer, rng)
            return images, _hard(labels)

        runs = sizes.steep_runs if key in _STEEP else sizes.runs
        return Task(key=key, run=lambda folder: self._trained(dataset, sizes, training, runs=runs))

    def _mixed(self, mixtures: int, rng: np.random.Generator, setting: tuple[int, float] = (DEGREE, NOISE)) -> Dataset:
        degree, sigma = self._at_most(setting[0]), setting[1]
        return random_mixtures(
            self.digits[0], mixtures=mixtures, degree=degree, noise_stddev=sigma, n_classes=N_CLASSES, rng=rng
        )

    def _means(self, setting: Classwise, rng: np.random.Generator) -> tuple[Any, Any]:
        facts = {**vars(setting), "degree": self._at_most(setting.degree)}
        return noised_class_means(self.digits[0], **facts, n_classes=N_CLASSES, rng=rng)

    def _sound(self, sizes: Sizes, folder: Path, *, epsilon: float | None) -> Figures:
        """DPMix of this package with the thesis's l and T, and the same training; no epsilon: the honest one."""
        mechanism = DPMix(mixtures=MIXTURES // sizes.fewer, degree=self._at_most(DEGREE))
        epsilon = main_epsilons()["honest"] if epsilon is None else epsilon
        return self._released(mechanism, sizes, epsilon=epsilon, training=sizes.train, runs=sizes.main_runs)

    def _sound_classwise(self, sizes: Sizes, folder: Path) -> Figures:
        mechanism = DPMix(
            mixtures=N_CLASSES * (_USUAL.copies // sizes.fewer),
            degree=self._at_most(_USUAL.degree),
            classwise=True,
            labels="hard",
        )
        training, epsilon = sizes.train_unfitted, _USUAL.claimed()
        return self._released(mechanism, sizes, epsilon=epsilon, training=training, runs=sizes.main_runs)

    def _default(self, sizes: Sizes, folder: Path) -> Figures:
        """The default for pictures, as many rows as the thesis has mixtures, and the same training."""
        epsilon = main_epsilons()["honest"]
        return self._released(ThreeAImage(), sizes, epsilon=epsilon, training=sizes.train, synthetic_rows=MIXTURES)

    def _released(
        self,
        mechanism: Mechanism,
        sizes: Sizes,
        *,
        epsilon: float,
        training: Training,
        runs: int = 1,
        synthetic_rows: int | None = None,
    ) -> Figures:
        # The thesis claims a delta of 1/n; only below it does a claim mean anything.
        budget = Budget(epsilon=epsilon, delta=math.nextafter(1 / len(self.digits[0]), 0.0))
        image = self.benchmark.schema.images[0].name

        def dataset(_: np.random.Generator) -> Dataset:
            made = sound_release(mechanism, self.benchmark, budget, synthetic_rows=synthetic_rows)
            return made.batch[image], made.soft if made.soft is not None else _hard(made.label)

        found = self._trained(dataset, sizes, training, runs=runs)
        return {**found, "epsilon": epsilon, "delta": budget.delta}

    def _pictures(self, folder: Path) -> Figures:
        """Digits, and what both generators make of them."""
        rng = np.random.default_rng(0)
        sheet: dict[str, Any] = {"real": self.digits[0].one_of_each(), "main run": self._mixed(10, rng)[0]}
        many, _ = self._means(_USUAL, rng)
        sheet["mean of 1,200"] = many.reshape(N_CLASSES, _USUAL.copies, *many.shape[1:]).mean(axis=1)
        draw_sheet(folder / "dpmix-thesis-pictures.png", sheet)
        for curve, places in (
            (BY_NOISE, (0.2, 0.3, 0.7, 1.5, 3.0)),
            (BY_DEGREE, (32, 64, 128, 512)),
            (BY_MIXTURES, (2_500, 30_000)),
        ):
            settings = {curve.key(at): curve.setting(at) for at in places}
            made = {key: self._means(setting, rng)[0][:: setting.copies] for key, setting in settings.items()}
            draw_sheet(folder / f"dpmix-thesis-pictures-{curve.file}.png", {"real": sheet["real"], **made})
        return {"file": "dpmix-thesis-pictures.png"}

    def _trained(
        self, dataset: Callable[[np.random.Generator], Dataset], sizes: Sizes, training: Training, *, runs: int
    ) -> dict[str, Any]:
        made = [dataset(np.random.default_rng(run)) for run in range(runs)]
        found = accuracies_of_training(made, self.digits[1].first(sizes.test_rows), training, seed=0)
        return {**found, "mixtures": len(made[0][0])}

    def _at_most(self, degree: int) -> int:
        return at_most(self.digits[0], degree)


def _hard(labels: Any) -> Any:
    return one_hot(labels, size=N_CLASSES).astype(np.float32)
