"""The study of 3A: its three figures, its Table 1 where it can be run, and the trade-off of its alpha."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.lab.baselines import AdsGan
from sfumato.lab.benchmark.datasets import DELTA, Benchmark, Rows, load, row_count
from sfumato.lab.benchmark.examples import real_examples
from sfumato.lab.benchmark.protocol import run, scores
from sfumato.lab.studies.common.digits import fewer_rows, sound_release
from sfumato.lab.studies.common.study import Figures, Found, Task
from sfumato.lab.studies.threea.numbers import Numbers, length_of_stay, numbers_of
from sfumato.lab.studies.threea.paper import DATASETS, DEFAULT_ALONE, LINES
from sfumato.lab.studies.threea.pictures import draw_digits, draw_framework
from sfumato.lab.studies.threea.published_record import AlphaCurve, Published, outcome_of
from sfumato.lab.studies.threea.story import ALPHA, METHODS, average_differences, lines_of, story_of
from sfumato.lab.studies.threea.toys import draw_toys
from sfumato.mechanism import mechanism_for
from sfumato.public.budget import Budget, default_delta
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Schema

_LEARNER = "lightgbm"
#: Makes tables alone, of pixels too; it has no epsilon, in the paper as here.
_WITHOUT_EPSILON = "ads-gan"
#: What is run as published, by the key of its task.
PUBLISHED: Mapping[str, Published | AlphaCurve] = {
    **{f"{line.name}, as published": line.published for line in LINES},
    ALPHA: AlphaCurve(dataset="adult"),
}


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done. `rounds`: settings that the published search tries; `seeds`: runs of what it chose."""

    rows: int | None = None
    test_rows: int | None = None
    rounds: int = 30
    seeds: int = 5
    published: tuple[str, ...] = tuple(PUBLISHED)
    datasets: tuple[str, ...] = DATASETS
    methods: tuple[str, ...] = METHODS
    toy_rows: int = 4_000
    toy_epsilons: tuple[float, ...] = (0.1, 1.0, 10.0)
    digits: int = 10_000


_QUICK = Sizes(
    rows=2_000,
    test_rows=4_000,
    rounds=3,
    seeds=1,
    published=("adult, as published",),
    datasets=("adult",),
    methods=METHODS[:1],
    toy_rows=1_500,
    toy_epsilons=(1.0,),
    digits=1_000,
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
        """The figures, then what is run as published, then each sound method."""
        sizes = self.quick if quick else self.full
        tasks = [
            Task(key="framework", run=lambda folder: draw_framework(folder / "threea-framework.png")),
            Task(key="toys", run=partial(self._toys, sizes)),
            Task(key="digits", run=partial(self._digits, sizes)),
        ]
        tasks += [Task(key=key, run=partial(self._published, sizes, key=key)) for key in sizes.published]
        for dataset in sizes.datasets:
            for method in sizes.methods[:1] if dataset in DEFAULT_ALONE else sizes.methods:
                for seed in range(1 if method != "auto" or " at " in dataset else sizes.seeds):
                    run = partial(self._sound, sizes, dataset=dataset, method=method, seed=seed)
                    tasks.append(Task(key=f"{dataset}, {method}, seed {seed}", run=run))
        if not quick:  # of what the folder holds by then
            tasks.append(Task(key="average difference", run=self._average_difference))
        return tasks

    def _average_difference(self, folder: Path) -> Figures:
        points = json.loads((folder / f"{self.name}.json").read_text(encoding="utf-8"))["points"]
        return average_differences(Found(points).at_full_size)

    def _published(self, sizes: Sizes, folder: Path, *, key: str) -> Figures:
        what = PUBLISHED[key]
        numbers = numbers_for(what.dataset, rows=sizes.rows, test_rows=sizes.test_rows)
        one_by_one = partial(outcome_of, numbers, epsilon=what.epsilon)
        return what.record(
            numbers, rounds=sizes.rounds, seeds=sizes.seeds, run=lambda trials: [one_by_one(trial) for trial in trials]
        )

    def _sound(self, sizes: Sizes, folder: Path, *, dataset: str, method: str, seed: int) -> Figures:
        name, _, epsilon = dataset.partition(" at ")
        asked = fewer_rows(benchmark_of(name), train=sizes.rows, test=sizes.test_rows)
        if epsilon:
            return _sound_on_fewer(asked, epsilon=float(epsilon), method=method, seed=seed)
        benchmark, delta = with_delta(asked)
        without = method == _WITHOUT_EPSILON
        (record,) = run(
            as_table(benchmark) if without else benchmark,
            epsilon=None if without else 1.0,
            method=AdsGan() if without else method,
            learner=_LEARNER,
            seeds=[seed],
            delta=delta,
        )
        told = ("method", "epsilon", "delta", "seed", "value", "real_value", "real_rows", "synthetic_rows", "unit")
        return {key: record[key] for key in told}

    def _toys(self, sizes: Sizes, folder: Path) -> Figures:
        return draw_toys(folder / "threea-toys.png", rows=sizes.toy_rows, epsilons=sizes.toy_epsilons)

    def _digits(self, sizes: Sizes, folder: Path) -> Figures:
        benchmark = fewer_rows(load(self.digits_dataset), train=sizes.digits, test=1)
        return draw_digits(folder / "threea-digits.png", benchmark)


def _sound_on_fewer(benchmark: Benchmark, *, epsilon: float, method: str, seed: int) -> Figures:
    """A release at another epsilon, judged on a third as many rows as are real: LightGBM takes long for pictures."""
    budget, rows = Budget(epsilon=epsilon, delta=DELTA), row_count(benchmark.train)
    mechanism = mechanism_for(method, benchmark.schema)
    made = sound_release(mechanism, benchmark, budget, synthetic_rows=rows // 3, seed=seed)
    value = scores(_LEARNER, made, real_examples(benchmark.test, benchmark.schema), benchmark, seed=seed).value
    kept = {"method": mechanism.name, "epsilon": epsilon, "delta": DELTA, "seed": seed, "value": round(value, 6)}
    return {**kept, "real_rows": rows, "synthetic_rows": len(made), "unit": benchmark.schema.unit.describe()}


def benchmark_of(dataset: str) -> Benchmark:
    """A dataset of the protocol, or the length of stay of one."""
    name = dataset.removesuffix("-stay")
    return load(name) if dataset == name else length_of_stay(load(name))


def numbers_for(dataset: str, *, rows: int | None = None, test_rows: int | None = None) -> Numbers:
    """A dataset as the paper reads it."""
    return numbers_of(fewer_rows(benchmark_of(dataset), train=rows, test=test_rows))


def with_delta(benchmark: Benchmark) -> tuple[Benchmark, float]:
    """A benchmark that declares its size, and the delta to run it with: never above one over its rows, as in the paper.

    Of the largest datasets the protocol declares no size, because its delta is above one over it. Here they get one.
    """
    if benchmark.schema.rows is not None:
        return benchmark, DELTA
    rows = row_count(benchmark.train)
    return replace(benchmark, schema=replace(benchmark.schema, rows=rows)), default_delta(rows)


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
