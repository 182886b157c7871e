"""The study of 3A: Table 1 where it can be run, the toy tables of Figure 2, the digits of Figure 3."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sfumato.lab.baselines import AdsGan
from sfumato.lab.benchmark.datasets import DELTA, Benchmark, Rows, load, row_count
from sfumato.lab.benchmark.protocol import run
from sfumato.lab.studies.common.digits import digits_of, fewer_rows, sound_release
from sfumato.lab.studies.common.drawing import draw_sheet
from sfumato.lab.studies.common.study import Figures, Task
from sfumato.lab.studies.threea.clustmix_published import PublishedSettings, publish, published_sigma
from sfumato.lab.studies.threea.clustmix_records import published_record
from sfumato.lab.studies.threea.story import DATASETS, EPSILON, lines_of, story_of
from sfumato.lab.studies.threea.toys import draw_toys
from sfumato.mechanisms.mixing.clustmix.mechanism import ClustMix
from sfumato.public.budget import Budget, default_delta
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Schema

_LEARNER = "lightgbm"
#: Sound methods of this package: ClustMix, the default, and the columns of the paper that have a private version here.
METHODS = ("clustmix", "auto", "dp-merf", "pate-gan", "dp-gan", "ads-gan")
#: They plan how they sample by a public number of rows.
_BY_ROWS = ("pate-gan", "dp-gan")
#: Makes tables alone, of pixels too; it has no epsilon, in the paper as here.
_WITHOUT_EPSILON = "ads-gan"
#: Training digits in a point of Figure 3, on average.
_MIXED = 118


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done. `rounds`: of the published search; 0 for a few noise levels and no search."""

    rows: int | None = None
    test_rows: int | None = None
    rounds: int = 30
    datasets: tuple[str, ...] = DATASETS
    methods: tuple[str, ...] = METHODS
    toy_rows: int = 4_000
    digits: int | None = None


_QUICK = Sizes(
    rows=6_000, test_rows=6_000, rounds=0, datasets=("adult",), methods=METHODS[:2], toy_rows=1_000, digits=3_000
)


@dataclass(frozen=True, kw_only=True)
class ThreeAStudy:
    """`sfumato study threea`."""

    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    digits_dataset: str = "mnist"
    name: str = "threea"
    title: str = "3A and ClustMix: means of clusters"
    lines = staticmethod(lines_of)
    story = staticmethod(story_of)

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """Figures, then one dataset after the other: as published, then each sound method."""
        sizes = self.quick if quick else self.full
        tasks = [Task(key="toys", run=partial(self._toys, sizes)), Task(key="digits", run=partial(self._digits, sizes))]
        for dataset in sizes.datasets:
            tasks.append(Task(key=f"{dataset}, as published", run=partial(self._published, sizes, dataset=dataset)))
            for method in sizes.methods:
                run = partial(self._sound, sizes, dataset=dataset, method=method)
                tasks.append(Task(key=f"{dataset}, {method}", run=run))
        return tasks

    def _published(self, sizes: Sizes, folder: Path, *, dataset: str) -> Figures:
        benchmark = fewer_rows(load(dataset), train=sizes.rows, test=sizes.test_rows)
        record = published_record(benchmark, epsilon=EPSILON, learner=_LEARNER, rounds=sizes.rounds)
        honest = record["honest_epsilon"]
        return {**record, "honest_epsilon": "infinite" if np.isinf(honest) else honest}  # JSON has no infinity

    def _sound(self, sizes: Sizes, folder: Path, *, dataset: str, method: str) -> Figures:
        asked = fewer_rows(load(dataset), train=sizes.rows, test=sizes.test_rows)
        benchmark, delta = with_a_size_where_needed(asked, method)
        without = method == _WITHOUT_EPSILON
        (record,) = run(
            as_table(benchmark) if without else benchmark,
            epsilon=None if without else EPSILON,
            method=AdsGan() if without else method,
            learner=_LEARNER,
            seeds=1,
            delta=delta,
        )
        told = ("method", "value", "real_value", "real_rows", "synthetic_rows", "unit", "delta")
        return {key: record[key] for key in told}

    def _toys(self, sizes: Sizes, folder: Path) -> Figures:
        return draw_toys(folder / "threea-toys.png", rows=sizes.toy_rows, epsilon=EPSILON)

    def _digits(self, sizes: Sizes, folder: Path) -> Figures:
        """Means of about 118 digits with the noise of the paper's equation, and digits of sound ClustMix."""
        benchmark = fewer_rows(load(self.digits_dataset), train=sizes.digits, test=1)
        train = digits_of(benchmark, "train")
        rows = train.rows.astype(np.float64)
        n_classes, sheet = benchmark.schema.require_coded_target().size, dict[str, Any](real=train.one_of_each())
        figures = {}
        mixed = min(_MIXED, int(np.bincount(train.labels).min()))
        for epsilon in (1.0, 0.2):
            sigma = published_sigma(mixed, epsilon=epsilon, delta=DELTA, features=rows.shape[1], classes=n_classes)
            settings = PublishedSettings(epsilon=epsilon, delta=DELTA, sigma_max=1.02 * sigma)
            points, classes = publish(rows, train.labels, n_classes=n_classes, settings=settings)
            sheet[f"published, {epsilon:g}"] = points[_first_of_each(classes)].reshape(-1, *train.images.shape[1:])
            # A public rule: where rows or budget are few, more noise on a mean in place of a single cluster.
            sound = ClustMix(sigma_max=max(0.1, 2_000 / (len(train) * epsilon)))
            made = sound_release(sound, benchmark, Budget(epsilon=epsilon, delta=DELTA), synthetic_rows=200)
            sheet[f"sound, {epsilon:g}"] = made.batch[benchmark.schema.images[0].name][_first_of_each(made.label)]
            figures[f"published noise, {epsilon:g}"] = round(sigma, 3)
        draw_sheet(folder / "threea-digits.png", sheet)
        return {**figures, "images": len(train)}


def with_a_size_where_needed(benchmark: Benchmark, method: str) -> tuple[Benchmark, float]:
    """A benchmark that the method takes, and the delta to run it with: the protocol's, wherever that can be.

    Of the largest datasets no size is declared, because the protocol's delta is above one over it. A method that needs a size
    gets it, with a delta that fits.
    """
    if benchmark.schema.rows is not None or method not in _BY_ROWS:
        return benchmark, DELTA
    rows = row_count(benchmark.train)
    return replace(benchmark, schema=replace(benchmark.schema, rows=rows)), default_delta(rows)


def _first_of_each(classes: np.ndarray) -> list[int]:
    return [int(np.flatnonzero(classes == c)[0]) for c in np.unique(classes)]


def as_table(benchmark: Benchmark) -> Benchmark:
    """Pictures as rows of a table, a column for each pixel, for methods that make tables alone; a table stays what it is."""
    if not benchmark.schema.images:
        return benchmark
    (picture,), target = benchmark.schema.images, benchmark.schema.require_coded_target()
    n_pixels = int(np.prod(np.asarray(benchmark.train[picture.name]).shape[1:]))
    pixels = tuple(
        Column(name=f"pixel_{j}", kind="integer", bounds=(picture.low, picture.high)) for j in range(n_pixels)
    )

    def rows(of: Rows) -> pd.DataFrame:
        values = np.asarray(of[picture.name]).reshape(-1, n_pixels)
        table = pd.DataFrame(values, columns=[p.name for p in pixels])
        return table.assign(**{target.name: np.asarray(of[target.name])})

    schema = Schema(columns=(*pixels, target), target=target.name, rows=benchmark.schema.rows)
    return replace(benchmark, train=rows(benchmark.train), test=rows(benchmark.test), schema=schema)
