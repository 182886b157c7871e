"""The releases that are attacked, and that other learners learn from: the thesis's own two, and sound ones beside them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from sfumato.lab.attacks.roc import Attack
from sfumato.lab.benchmark.datasets import Benchmark
from sfumato.lab.benchmark.examples import Examples
from sfumato.lab.studies.common.digits import Digits, sound_release
from sfumato.lab.studies.common.study import Figures, Task
from sfumato.lab.studies.thesis.attacks import Suspects, by_density, in_class_means, in_random_mixtures, split
from sfumato.lab.studies.thesis.claims import DEGREE, MIXTURES, N_CLASSES, NOISE, Classwise, main_epsilons
from sfumato.lab.studies.thesis.generators import Vectors, class_subsets, noised_copies, random_mixtures
from sfumato.lab.studies.thesis.learners import accuracies_of_others
from sfumato.mechanism import Mechanism
from sfumato.mechanisms.image.mechanism import ThreeAImage
from sfumato.mechanisms.mixing.dpmix import DPMix
from sfumato.public.budget import Budget
from sfumato.public.schema.encoding import one_hot

#: Of the training digits, those that a release is made of when it is attacked; the others are the attacker's.
_USED = 5 / 6


@dataclass(frozen=True)
class Made:
    """A release, the epsilon that is true of it, and how membership in it is guessed."""

    examples: Examples
    epsilon: float
    guess: Callable[[Suspects], Attack]


@dataclass(frozen=True)
class Releases:
    """Makes each of them from some digits. Mixtures are divided by `fewer` in a quick run."""

    benchmark: Benchmark
    fewer: int = 1

    @property
    def pixels(self) -> str:
        """The column of pictures."""
        return self.benchmark.schema.images[0].name

    def kinds(self) -> Mapping[str, Callable[[Digits, int], Made]]:
        """All of them, by name."""
        return {
            "random mixing": self._random,
            "within classes, l 128": partial(self._classwise, Classwise()),
            "within classes, l 32": partial(self._classwise, Classwise(degree=32)),
            "sound dpmix": self._sound_random,
            "sound dpmix within classes": self._sound_classwise,
            "the default 3a-image": self._default,
        }

    def _random(self, digits: Digits, seed: int) -> Made:
        rng, degree, n_mixtures = np.random.default_rng(seed), at_most(digits, DEGREE), MIXTURES // self.fewer
        images, soft = random_mixtures(
            digits, mixtures=n_mixtures, degree=degree, noise_stddev=NOISE, n_classes=N_CLASSES, rng=rng
        )
        guess = partial(in_random_mixtures, images, degree=degree, records=len(digits))
        return Made(self._examples(images, soft), main_epsilons(len(digits), degree=degree)["honest"], guess)

    def _classwise(self, setting: Classwise, digits: Digits, seed: int) -> Made:
        rng, degree, copies = (
            np.random.default_rng(seed),
            at_most(digits, setting.degree),
            setting.copies // self.fewer,
        )
        subsets = class_subsets(digits, degree=degree, n_classes=N_CLASSES, rng=rng)
        sigma = setting.noise_stddev
        images, labels = noised_copies(digits, subsets, copies=copies, noise_stddev=sigma, rng=rng)
        guess = partial(in_class_means, images, subsets, digits, noise_stddev=sigma)
        honest = replace(setting, degree=degree, copies=copies).honest(records=len(digits) // N_CLASSES)
        return Made(self._examples(images, one_hot(labels, size=N_CLASSES).astype(np.float32)), honest, guess)

    def _sound_random(self, digits: Digits, seed: int) -> Made:
        degree = at_most(digits, DEGREE)
        made = self._released(
            DPMix(mixtures=MIXTURES // self.fewer, degree=degree), digits, main_epsilons()["honest"], seed
        )
        guess = partial(in_random_mixtures, made.batch[self.pixels], degree=degree, records=len(digits))
        return Made(made, main_epsilons()["honest"], guess)

    def _sound_classwise(self, digits: Digits, seed: int) -> Made:
        usual = Classwise()
        degree, n_mixtures = at_most(digits, usual.degree), N_CLASSES * (usual.copies // self.fewer)
        mechanism = DPMix(mixtures=n_mixtures, degree=degree, classwise=True, labels="hard")
        made = self._released(mechanism, digits, usual.claimed(), seed)
        return Made(made, usual.claimed(), partial(by_density, made, pixels=self.pixels))

    def _default(self, digits: Digits, seed: int) -> Made:
        made = self._released(
            ThreeAImage(), digits, main_epsilons()["honest"], seed, synthetic_rows=MIXTURES // self.fewer
        )
        return Made(made, main_epsilons()["honest"], partial(by_density, made, pixels=self.pixels))

    def _released(
        self, mechanism: Mechanism, digits: Digits, epsilon: float, seed: int, *, synthetic_rows: int | None = None
    ) -> Examples:
        schema = self.benchmark.schema
        image, target = schema.images[0], schema.require_coded_target()
        pixels = image.low + digits.images * (image.high - image.low)
        rows = {image.name: pixels, target.name: np.array(target.categories)[digits.labels]}
        some = replace(self.benchmark, train=rows, schema=replace(schema, rows=len(digits)))
        budget = Budget(epsilon=epsilon, delta=float(np.nextafter(1 / len(digits), 0.0)))
        return sound_release(mechanism, some, budget, synthetic_rows=synthetic_rows, seed=seed)

    def _examples(self, images: Vectors, soft: Vectors) -> Examples:
        return Examples({self.pixels: images}, soft.argmax(axis=1), soft)


def attack_tasks(releases: Releases, digits: Digits, *, runs: int) -> list[Task]:
    """Membership inference and model inversion against every release, with several seeds."""
    return [
        Task(key=f"attack on {kind}, seed {seed}", run=partial(_attacked, releases, make, digits, seed))
        for kind, make in releases.kinds().items()
        for seed in range(runs)
    ]


def _attacked(
    releases: Releases, make: Callable[[Digits, int], Made], digits: Digits, seed: int, folder: Path
) -> Figures:
    used, suspects = split(digits, used=int(_USED * len(digits)), rng=np.random.default_rng([seed, 1]))
    made = make(used, seed)
    found = suspects.figures(made.guess(suspects), made.examples, pixels=releases.pixels, n_classes=N_CLASSES)
    return {**found, "epsilon": round(made.epsilon, 3)}


def learner_tasks(releases: Releases, digits: Digits, test: Digits, *, runs: int) -> list[Task]:
    """A linear model and trees on every release but the narrow one, with several seeds."""
    return [
        Task(key=f"learners on {kind}, seed {seed}", run=partial(_learned, make, digits, test, seed))
        for kind, make in releases.kinds().items()
        if kind != "within classes, l 32"
        for seed in range(runs)
    ]


def _learned(make: Callable[[Digits, int], Made], digits: Digits, test: Digits, seed: int, folder: Path) -> Figures:
    made = make(digits, seed)
    (images,) = (value for value in made.examples.batch.values() if value.ndim > 1)
    soft = made.examples.soft
    labels = one_hot(made.examples.label, size=N_CLASSES).astype(np.float32) if soft is None else soft
    return {**accuracies_of_others((images, labels), test, seed=seed), "epsilon": round(made.epsilon, 3)}


def at_most(digits: Digits, degree: int) -> int:
    """A small dataset, as tests have, may hold fewer rows of a class than are mixed."""
    return min(degree, int(np.bincount(digits.labels).min()))
