"""The study of the post on local noise: five epsilons, both of its attempts, and sound releases beside them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from sfumato.lab.benchmark.datasets import Benchmark
from sfumato.lab.benchmark.examples import Examples, real_examples
from sfumato.lab.benchmark.protocol import scores
from sfumato.lab.studies.common.digits import Codes, DigitStudy, Pixels, fewer_rows, sound_release
from sfumato.lab.studies.common.drawing import draw_sheet
from sfumato.lab.studies.common.study import Figures, Found, Line, Task
from sfumato.lab.studies.local_iic.attempts import clustered, named_by_cnn, noisy_labels, of_length_one, with_noise
from sfumato.lab.studies.local_iic.claims import (
    CLAIMED,
    honest_epsilon,
    honest_epsilon_with_label,
    needed_noise,
    used_noise,
)
from sfumato.lab.studies.local_iic.story import CENTRAL, SMALL, TOLD, lines_of, story_of
from sfumato.learn.iic import Training
from sfumato.mechanism import mechanism_for
from sfumato.mechanisms.local.local_reports import LocalReports
from sfumato.public.budget import Budget, PrivacyUnit

_SOUND_DELTA = 1e-6


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done: images, how clusters are found, and for which epsilons with how many seeds.

    `told` is for the network with noisy labels; `local` and `central` for the sound releases.
    """

    images: int | None = None
    test_images: int | None = None
    training: Training = field(default=Training())
    longer: Training = field(default=Training(epochs=40, heads=5))
    raw: int = 5
    raw_longer: int = 2
    claimed: Mapping[int, int] = field(default_factory=lambda: dict.fromkeys(CLAIMED, 3))
    told: Mapping[int, int] = field(default_factory=lambda: dict.fromkeys(TOLD, 1))
    local: Mapping[int, int] = field(default_factory=lambda: dict.fromkeys(CLAIMED, 1) | dict.fromkeys(SMALL, 3))
    central: Mapping[int, int] = field(default_factory=lambda: dict.fromkeys(CENTRAL, 1))


_QUICK = Sizes(
    images=600,
    test_images=300,
    training=Training(epochs=4, batch=100, channels=8, learning_rate=2e-3),
    raw=1,
    raw_longer=0,
    claimed={150: 1},
    told={10: 1},
    local={150: 1, 10: 1},
    central={},
)


@dataclass(frozen=True, kw_only=True)
class LocalStudy(DigitStudy):
    """`sfumato study local-iic`."""

    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "local-iic"
    title: str = "Noise of one's own: local privacy, and clusters without labels"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """Raw pictures, the five epsilons, the network with noisy labels, and the same made sound."""
        sizes = self.quick if quick else self.full
        return [
            Task(key="pictures", run=self._pictures),
            *(Task(key=f"raw, seed {s}", run=partial(self._raw, sizes, seed=s)) for s in range(sizes.raw)),
            *(
                Task(key=f"raw longer, seed {s}", run=partial(self._raw, replace(sizes, training=sizes.longer), seed=s))
                for s in range(sizes.raw_longer)
            ),
            *(
                Task(key=f"{name} {e}, seed {s}", run=partial(run, sizes, epsilon=e, seed=s))
                for name, run, epsilons in self._by_epsilon(sizes)
                for e, seeds in epsilons.items()
                for s in range(seeds)
            ),
        ]

    def _by_epsilon(self, sizes: Sizes) -> Iterable[tuple[str, Callable[..., Figures], Mapping[int, int]]]:
        yield "claimed", self._published, sizes.claimed
        yield "cnn", self._with_labels, sizes.told
        yield "sound", self._local, sizes.local
        yield "central", self._central, sizes.central

    def lines(self, found: Found) -> Sequence[Line]:
        """Errors of clustering, of the network with labels, and of what is sound."""
        return lines_of(found)

    def story(self, found: Found, folder: Path) -> str:
        """What was done, and what it amounts to."""
        return story_of(found, folder)

    def _raw(self, sizes: Sizes, folder: Path, *, seed: int) -> Figures:
        train = self.digits[0].first(sizes.images)
        return self._clustered(train.images, train.labels, sizes, seed)

    def _published(self, sizes: Sizes, folder: Path, *, epsilon: int, seed: int) -> Figures:
        train = self.digits[0].first(sizes.images)
        noisy = with_noise(train.images, noise_stddev=used_noise(epsilon), rng=np.random.default_rng(seed))
        return {**self._clustered(noisy, train.labels, sizes, seed), "epsilon": honest_epsilon(epsilon)}

    def _with_labels(self, sizes: Sizes, folder: Path, *, epsilon: int, seed: int) -> Figures:
        """The post's first attempt: a network that is told the labels, with noise on both, or on one of them."""
        (train, test), rng, noise = self.digits, np.random.default_rng(seed), used_noise(epsilon)
        train, test = train.first(sizes.images), test.first(sizes.test_images)
        seen = with_noise(train.images, noise_stddev=noise, rng=rng)
        said = noisy_labels(train.labels, n_classes=self.n_classes, noise_stddev=noise, rng=rng)
        named = partial(named_by_cnn, test=test, n_classes=self.n_classes, seed=seed)
        return {
            "accuracy": named(seen, said),
            "noisy labels alone": named(of_length_one(train.images), said),
            "noisy pictures alone": named(seen, train.labels),
            "labels that are right": round(float((said == train.labels).mean()), 4),
            "epsilon": honest_epsilon_with_label(epsilon),
            "images": len(train),
        }

    def _local(self, sizes: Sizes, folder: Path, *, epsilon: int, seed: int) -> Figures:
        """`local-reports`, through the doors. Labels are reported too, so a learner can be trained on reports."""
        benchmark = fewer_rows(self.benchmark, train=sizes.images)
        budget, unit = Budget(epsilon=epsilon, delta=_SOUND_DELTA), PrivacyUnit(relation="replace_one")
        made = sound_release(LocalReports(), benchmark, budget, unit=unit, seed=seed)
        return self._named(benchmark, made, epsilon, seed)

    def _central(self, sizes: Sizes, folder: Path, *, epsilon: int, seed: int) -> Figures:
        """The default for images, where somebody may hold the rows."""
        benchmark = fewer_rows(self.benchmark, train=sizes.images)
        budget = Budget(epsilon=epsilon, delta=_SOUND_DELTA)
        mechanism, rows = mechanism_for("auto", benchmark.schema), benchmark.schema.rows
        made = sound_release(mechanism, benchmark, budget, synthetic_rows=rows, seed=seed)
        return self._named(benchmark, made, epsilon, seed)

    def _named(self, benchmark: Benchmark, made: Examples, epsilon: int, seed: int) -> Figures:
        test = real_examples(benchmark.test, benchmark.schema)
        accuracy = round(scores("logistic", made, test, benchmark, seed=seed).value, 4)
        return {"accuracy": accuracy, "epsilon": epsilon, "images": len(made)}

    def _clustered(self, images: Pixels, labels: Codes, sizes: Sizes, seed: int) -> Figures:
        found = clustered(images, labels, n_classes=self.n_classes, training=sizes.training, seed=seed)
        return {**found, "images": len(images), "epochs": sizes.training.epochs}

    def _pictures(self, folder: Path) -> Figures:
        """Digits with the noise that was used, and with the noise that the claim needs."""
        real, rng = self.digits[0].one_of_each(), np.random.default_rng(0)
        sheet = {"real": real}
        for claimed in CLAIMED:
            sheet[f"{claimed:,}, used"] = with_noise(real, noise_stddev=used_noise(claimed), rng=rng)
            sheet[f"{claimed:,}, needed"] = with_noise(real, noise_stddev=needed_noise(claimed), rng=rng)
        draw_sheet(folder / "local-iic-pictures.png", sheet)
        return {"file": "local-iic-pictures.png"}
