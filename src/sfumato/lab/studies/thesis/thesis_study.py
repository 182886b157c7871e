"""The study of the DPMix thesis: its main run, its three curves, and the same made sound."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.lab.benchmark.datasets import Benchmark, load
from sfumato.lab.benchmark.examples import Examples
from sfumato.lab.studies.digits import Digits, digits_of
from sfumato.lab.studies.drawing import draw_sheet
from sfumato.lab.studies.sound import sound_release
from sfumato.lab.studies.task import Figures, Found, Line, Task
from sfumato.lab.studies.thesis import published
from sfumato.lab.studies.thesis.claims import DEGREE, MIXTURES, N_CLASSES, NOISE, Classwise, main_epsilons
from sfumato.lab.studies.thesis.curves import NOISE_EPOCHS, OTHER_EPOCHS
from sfumato.lab.studies.thesis.generators import noised_class_means, random_mixtures
from sfumato.lab.studies.thesis.nearness import unfitted
from sfumato.lab.studies.thesis.story import lines_of, story_of
from sfumato.lab.studies.thesis.training import Dataset, Training, accuracies_of_training
from sfumato.mechanism import Mechanism
from sfumato.mechanisms.image.mechanism import ThreeAImage
from sfumato.mechanisms.mixing.dpmix import DPMix
from sfumato.public.budget import Budget
from sfumato.public.schema.encoding import one_hot

#: The points of Figure 4.3 in the order in which they are run: the shape of the curve first.
_NOISE_ORDER = (0.7, 0.2, 1.0, 1.5, 0.5, 2.0, 3.0, 1.2, 0.8)
_MIXTURES_ORDER = (2_500, 30_000, 10_000, 5_000, 20_000)
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
        main_batch: Pictures in a step of the main run; see `_REACHED_WITH`.
        train_noise: The curve over noise, its epochs fitted to the published one.
        train_other: The curves over l and T, likewise.
        train_unfitted: All curves with what Keras does by itself, and whatever is sound within classes: nothing is fitted.
        others: Whether sound methods are run at the honest epsilon, and all curves without a fit, as well.
    """

    fewer: int = 1
    main_runs: int = 5
    main_batch: int = _REACHED_WITH
    runs: int = 10
    train: Training = field(default=Training())
    train_noise: Training = field(default=Training(epochs=NOISE_EPOCHS, patience=3))
    train_other: Training = field(default=Training(epochs=OTHER_EPOCHS, patience=3))
    train_unfitted: Training = field(default=Training(learning_rate=1e-3, halved_every=None, patience=3))
    noise: tuple[float, ...] = (*_NOISE_ORDER, *(s for s in published.BY_NOISE if s not in _NOISE_ORDER))
    degrees: tuple[int, ...] = (32, 512, 64, 128, 256)
    mixtures: tuple[int, ...] = (*_MIXTURES_ORDER, *(t for t in published.BY_MIXTURES if t not in _MIXTURES_ORDER))
    others: bool = True
    test_rows: int | None = None


_QUICK_CURVES = Training(epochs=4, learning_rate=1e-3, halved_every=2)
_QUICK = Sizes(
    fewer=5,
    main_runs=1,
    main_batch=32,
    runs=1,
    train=Training(epochs=18, learning_rate=1.5e-3, halved_every=6),
    train_noise=_QUICK_CURVES,
    train_other=_QUICK_CURVES,
    train_unfitted=_QUICK_CURVES,
    noise=(0.2, 1.0),
    degrees=(512,),
    mixtures=(2_500,),
    others=False,
    test_rows=5_000,
)


@dataclass(frozen=True, kw_only=True)
class ThesisStudy:
    """`sfumato study dpmix-thesis`."""

    dataset: str = "mnist"
    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "dpmix-thesis"
    title: str = "DPMix, a thesis: mixtures of random rows"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """The main run, the curves, the sound versions."""
        sizes = self.quick if quick else self.full
        parts: list[Task] = [
            Task(key="class-counts", run=lambda folder: {"counts": self._counts()}),
            Task(key="pictures", run=self._pictures),
            Task(key="main, soft labels", run=partial(self._main, sizes, soft=True)),
        ]
        by_noise = {f"noise {sigma:g}": Classwise(noise_stddev=sigma) for sigma in sizes.noise}
        by_degree = {f"l {degree}": Classwise(degree=degree) for degree in sizes.degrees}
        by_mixtures = {f"T {total}": Classwise(copies=total // N_CLASSES) for total in sizes.mixtures}
        noise = [self._point(sizes, key, by_noise[key], sizes.train_noise) for key in by_noise]
        degree = [self._point(sizes, key, by_degree[key], sizes.train_other) for key in by_degree]
        mixtures = [self._point(sizes, key, by_mixtures[key], sizes.train_other) for key in by_mixtures]
        every = {**by_noise, **by_degree, **by_mixtures}
        plain = [self._point(sizes, unfitted(key), every[key], sizes.train_unfitted) for key in every]
        parts += [
            Task(key="sound, published epsilon", run=partial(self._sound, sizes, epsilon=published.MAIN_EPSILON)),
            noise[0],
            Task(key="main, argmax labels", run=partial(self._main, sizes, soft=False)),
        ]
        if sizes.others:
            usual = replace(sizes, main_batch=sizes.train.batch)
            parts.append(Task(key=f"main, batches of {usual.main_batch}", run=partial(self._main, usual, soft=True)))
            parts.append(Task(key="sound, honest epsilon", run=partial(self._sound, sizes, epsilon=None)))
            parts.append(Task(key="default for images, honest epsilon", run=partial(self._default, sizes)))
        parts += [*noise[1:3], *degree[:2], *mixtures[:2]]
        parts.append(Task(key="sound class-wise, published epsilon", run=partial(self._sound_classwise, sizes)))
        parts += [*noise[3:7], *degree[2:], *mixtures[2:4], *noise[7:], *mixtures[4:]]
        return [*parts, *plain] if sizes.others else parts

    def lines(self, found: Found) -> Sequence[Line]:
        """Main run, class-wise runs."""
        return lines_of(found)

    def story(self, found: Found, folder: Path) -> str:
        """What was done, what is true of it, and the curves."""
        return story_of(found, folder)

    def _main(self, sizes: Sizes, folder: Path, *, soft: bool) -> Figures:
        """Random mixing. Without soft labels, the class is the largest entry of the noisy label."""
        train, test = _digits(self.dataset)

        def dataset(rng: np.random.Generator) -> Dataset:
            images, labels = random_mixtures(
                train, mixtures=MIXTURES // sizes.fewer, degree=_at_most(DEGREE, train), noise_stddev=NOISE,
                n_classes=N_CLASSES, rng=rng,
            )  # fmt: skip
            return images, labels if soft else _hard(labels.argmax(axis=1))

        training = replace(sizes.train, batch=sizes.main_batch)
        return _trained(dataset, test, sizes, training, runs=sizes.main_runs)

    def _point(self, sizes: Sizes, key: str, setting: Classwise, training: Training) -> Task:
        return Task(key=key, run=partial(self._classwise, sizes, setting=setting, training=training))

    def _classwise(self, sizes: Sizes, folder: Path, *, setting: Classwise, training: Training) -> Figures:
        """One point of a curve."""
        train, test = _digits(self.dataset)

        def dataset(rng: np.random.Generator) -> Dataset:
            images, labels = noised_class_means(
                train, copies=setting.copies // sizes.fewer, degree=_at_most(setting.degree, train),
                noise_stddev=setting.noise_stddev, n_classes=N_CLASSES, rng=rng,
            )  # fmt: skip
            return images, _hard(labels)

        return _trained(dataset, test, sizes, training, runs=sizes.runs)

    def _sound(self, sizes: Sizes, folder: Path, *, epsilon: float | None) -> Figures:
        """DPMix of this package with the thesis's l and T, and the same training; no epsilon: the honest one."""
        epsilon = main_epsilons()["honest"] if epsilon is None else epsilon
        mechanism = DPMix(mixtures=MIXTURES // sizes.fewer, degree=_at_most(DEGREE, _digits(self.dataset)[0]))
        return self._released(mechanism, sizes, epsilon=epsilon, training=sizes.train, runs=sizes.main_runs)

    def _sound_classwise(self, sizes: Sizes, folder: Path) -> Figures:
        mechanism = DPMix(
            mixtures=N_CLASSES * (_USUAL.copies // sizes.fewer),
            degree=_at_most(_USUAL.degree, _digits(self.dataset)[0]),
            classwise=True,
            labels="hard",
        )
        return self._released(
            mechanism, sizes, epsilon=_USUAL.claimed(), training=sizes.train_unfitted, runs=sizes.main_runs
        )

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
        benchmark, test = _benchmark(self.dataset), _digits(self.dataset)[1]
        # The thesis claims a delta of 1/n; only below it does a claim mean anything.
        budget = Budget(epsilon=epsilon, delta=math.nextafter(1 / len(_digits(self.dataset)[0]), 0.0))

        def dataset(_: np.random.Generator) -> Dataset:
            made = sound_release(mechanism, benchmark, budget, synthetic_rows=synthetic_rows)
            return made.batch[benchmark.schema.images[0].name], _targets(made)

        found = _trained(dataset, test, sizes, training, runs=runs)
        return {**found, "epsilon": epsilon, "delta": budget.delta}

    def _pictures(self, folder: Path) -> Figures:
        """Digits, and what both generators make of them."""
        train, _ = _digits(self.dataset)
        rng = np.random.default_rng(0)
        sheet: dict[str, Any] = {"real": train.one_of_each()}
        mixed, _ = random_mixtures(
            train, mixtures=10, degree=_at_most(DEGREE, train), noise_stddev=NOISE, n_classes=N_CLASSES, rng=rng
        )
        sheet["main run"] = mixed
        for degree, sigma in ((128, 0.2), (128, 0.7), (128, 1.5), (128, 3.0), (32, 0.7), (512, 0.7)):
            made, _ = noised_class_means(
                train, copies=1, degree=_at_most(degree, train), noise_stddev=sigma, n_classes=N_CLASSES, rng=rng
            )
            sheet[f"l {degree}, noise {sigma:g}"] = made
        many, _ = noised_class_means(
            train,
            copies=_USUAL.copies,
            degree=_at_most(128, train),
            noise_stddev=_USUAL.noise_stddev,
            n_classes=N_CLASSES,
            rng=rng,
        )
        sheet["mean of 1,200"] = many.reshape(N_CLASSES, _USUAL.copies, *many.shape[1:]).mean(axis=1)
        draw_sheet(folder / "dpmix-thesis-pictures.png", sheet)
        return {"file": "dpmix-thesis-pictures.png"}

    def _counts(self) -> list[int]:
        return [int(n) for n in np.bincount(_digits(self.dataset)[0].labels, minlength=N_CLASSES)]


def _trained(
    dataset: Callable[[np.random.Generator], Dataset], test: Digits, sizes: Sizes, training: Training, *, runs: int
) -> dict[str, Any]:
    made = [dataset(np.random.default_rng(run)) for run in range(runs)]
    found = accuracies_of_training(made, test.first(sizes.test_rows), training, seed=0)
    return {**found, "mixtures": len(made[0][0])}


def _targets(made: Examples) -> Any:
    return made.soft if made.soft is not None else _hard(made.label)


def _hard(labels: Any) -> Any:
    return one_hot(labels, size=N_CLASSES).astype(np.float32)


def _at_most(degree: int, train: Digits) -> int:
    """A small dataset, as tests have, may hold fewer rows of a class than are mixed."""
    return min(degree, int(np.bincount(train.labels).min()))


@cache
def _benchmark(dataset: str) -> Benchmark:
    return load(dataset)


@cache
def _digits(dataset: str) -> tuple[Digits, Digits]:
    return digits_of(_benchmark(dataset), "train"), digits_of(_benchmark(dataset), "test")
