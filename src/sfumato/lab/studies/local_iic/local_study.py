"""The study of the post on local noise: five epsilons, clustering without labels, and sound local reports."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.lab.benchmark.datasets import Benchmark, load
from sfumato.lab.benchmark.examples import Examples, real_examples
from sfumato.lab.benchmark.real import scores
from sfumato.lab.studies.digits import Digits, digits_of
from sfumato.lab.studies.drawing import draw_sheet
from sfumato.lab.studies.fewer import fewer_rows
from sfumato.lab.studies.local_iic.claims import CLAIMED, needed_noise, used_noise
from sfumato.lab.studies.local_iic.clustering import clustered, with_noise
from sfumato.lab.studies.local_iic.story import lines_of, story_of
from sfumato.lab.studies.sound import sound_release
from sfumato.lab.studies.task import Figures, Found, Line, Task
from sfumato.mechanisms.local.local_reports import LocalReports
from sfumato.public.budget import Budget, PrivacyUnit

_SOUND_DELTA = 1e-6


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done. `small`: epsilons that a person would call one, for the sound reports alone."""

    images: int | None = None
    epochs: int = 30
    batch: int = 256
    claimed: tuple[int, ...] = CLAIMED
    sound: tuple[int, ...] = CLAIMED
    small: tuple[int, ...] = (10, 1)


_QUICK = Sizes(images=2_500, epochs=6, batch=100, claimed=(150, 3_000, 200_000), sound=(150,), small=(10,))


@dataclass(frozen=True, kw_only=True)
class LocalStudy:
    """`sfumato study local-iic`."""

    dataset: str = "mnist"
    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "local-iic"
    title: str = "Noise of one's own: local privacy, and clusters without labels"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """Raw pictures, the five epsilons, the same made sound."""
        sizes = self.quick if quick else self.full
        return [
            Task(key="pictures", run=self._pictures),
            Task(key="raw", run=partial(self._raw, sizes)),
            *(Task(key=f"claimed {e}", run=partial(self._published, sizes, claimed=e)) for e in sizes.claimed),
            *(Task(key=f"sound {e}", run=partial(self._sound, sizes, epsilon=e)) for e in (*sizes.sound, *sizes.small)),
            *(Task(key=f"clusters {e}", run=partial(self._sound_clusters, sizes, epsilon=e)) for e in sizes.sound),
        ]

    def lines(self, found: Found) -> Sequence[Line]:
        """One for each epsilon."""
        return lines_of(found)

    def story(self, found: Found, folder: Path) -> str:
        """What was done, and what it amounts to."""
        return story_of(found, folder)

    def _raw(self, sizes: Sizes, folder: Path) -> Figures:
        train = _train(self.dataset).first(sizes.images)
        return self._clustered(train.images, train.labels, sizes)

    def _published(self, sizes: Sizes, folder: Path, *, claimed: int) -> Figures:
        train = _train(self.dataset).first(sizes.images)
        noisy = with_noise(train.images, noise_stddev=used_noise(claimed), rng=np.random.default_rng(0))
        return self._clustered(noisy, train.labels, sizes)

    def _sound(self, sizes: Sizes, folder: Path, *, epsilon: int) -> Figures:
        """Labels are reported too, so a learner can be trained on reports, and tested on clean digits."""
        benchmark, made = self._reports(sizes, epsilon=epsilon)
        test = real_examples(benchmark.test, benchmark.schema)
        return {"accuracy": round(scores("logistic", made, test, benchmark).value, 4), "images": len(made)}

    def _sound_clusters(self, sizes: Sizes, folder: Path, *, epsilon: int) -> Figures:
        benchmark, made = self._reports(sizes, epsilon=epsilon)
        return self._clustered(made.batch[benchmark.schema.images[0].name], made.label, sizes)

    def _reports(self, sizes: Sizes, *, epsilon: int) -> tuple[Benchmark, Examples]:
        """`local-reports`, through the doors."""
        benchmark = fewer_rows(_benchmark(self.dataset), train=sizes.images)
        budget = Budget(epsilon=epsilon, delta=_SOUND_DELTA)
        return benchmark, sound_release(LocalReports(), benchmark, budget, unit=PrivacyUnit(relation="replace_one"))

    def _clustered(self, images: Any, labels: Any, sizes: Sizes) -> dict[str, Any]:
        n_classes = _benchmark(self.dataset).schema.require_coded_target().size
        found = clustered(images, labels, n_classes=n_classes, epochs=sizes.epochs, batch=sizes.batch)
        return {**found, "images": len(images)}

    def _pictures(self, folder: Path) -> Figures:
        """Digits with the noise that was used, and with the noise that the claim needs."""
        real, rng = _train(self.dataset).one_of_each(), np.random.default_rng(0)
        sheet = {"real": real}
        for claimed in CLAIMED:
            sheet[f"{claimed:,}, used"] = with_noise(real, noise_stddev=used_noise(claimed), rng=rng)
            sheet[f"{claimed:,}, needed"] = with_noise(real, noise_stddev=needed_noise(claimed), rng=rng)
        draw_sheet(folder / "local-iic-pictures.png", sheet)
        return {"file": "local-iic-pictures.png"}


@cache
def _benchmark(dataset: str) -> Benchmark:
    return load(dataset)


@cache
def _train(dataset: str) -> Digits:
    return digits_of(_benchmark(dataset), "train")
