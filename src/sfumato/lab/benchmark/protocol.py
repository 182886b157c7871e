"""The evaluation protocol, run: release, train on the release, test on real rows, compare. And runs over several seeds in one line.

What a learner reaches on the real training rows is computed once for each seed, then kept. A learner's own randomness moves its score,
on real rows as on synthetic ones, so the anchor of a table is the mean over the same learner seeds as the releases.
"""

import contextlib
import hashlib
import importlib.metadata
import json
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.lab.baselines import Baseline
from sfumato.lab.benchmark.child import release_in_child
from sfumato.lab.benchmark.datasets import DELTA, Benchmark, BenchmarkError, cache_folder, load
from sfumato.lab.benchmark.examples import Examples, real_examples, synthetic_examples
from sfumato.lab.benchmark.learners import check_learner, default_learner, train_and_predict
from sfumato.lab.benchmark.metrics import brier, class_rate_error, distances, utility
from sfumato.mechanism import Mechanism, mechanism_for, settings_of
from sfumato.outlook.planning import plan
from sfumato.public.budget import Budget

#: Raise it when a learner, a metric or a split changes, so that kept scores are not believed any more.
HARNESS_VERSION = 2
_LIBRARIES = {"cnn": "torch", "lightgbm": "lightgbm", "logistic": "scikit-learn", "forest": "scikit-learn"}


@dataclass(frozen=True)
class Scores:
    """Utility and Brier score of a learner on the test rows."""

    value: float
    brier: float


def scores(learner: str, train: Examples, test: Examples, benchmark: Benchmark, *, seed: int = 0) -> Scores:
    """Train on some rows, and score on the test rows."""
    probabilities = train_and_predict(learner, train, test, benchmark.schema, balanced=benchmark.balanced, seed=seed)
    return Scores(utility(benchmark.metric, probabilities, test.label), brier(probabilities, test.label))


def real_scores(learner: str, train: Examples, test: Examples, benchmark: Benchmark, *, seed: int = 0) -> Scores:
    """The same learner with the same seed on the real training rows: the anchor of every line."""
    path = _place(learner, train, test, benchmark, seed)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # not kept yet, or damaged: it is computed
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Scores(value=float(kept["value"]), brier=float(kept["brier"]))
    found = scores(learner, train, test, benchmark, seed=seed)
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, nothing else
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(found)), encoding="utf-8")
    return found


def _place(learner: str, train: Examples, test: Examples, benchmark: Benchmark, seed: int) -> Path:
    """A name that changes with everything that could change the score."""
    facts = [
        HARNESS_VERSION,
        importlib.metadata.version(_LIBRARIES[learner]),
        importlib.metadata.version("numpy"),
        benchmark.schema.digest(),
        benchmark.metric,
        benchmark.balanced,
        *(_digest(part) for part in (train, test)),
    ]
    version = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]
    return cache_folder() / "real" / f"{benchmark.name}-{learner}-{version}-seed{seed}.json"


def _digest(examples: Examples) -> str:
    """Of every value of every row: another split or another encoding of the same table is other data."""
    found = hashlib.sha256()
    for name in sorted(examples.batch):
        values = np.asarray(examples.batch[name])
        found.update(f"{name} {values.dtype} {values.shape}".encode())
        found.update(values.tobytes())
    return found.hexdigest()


@dataclass(frozen=True)
class Spread:
    """Some values of one figure: their mean and their standard deviation, which one value alone does not have."""

    mean: float
    deviation: float | None
    count: int

    def __format__(self, spec: str) -> str:
        """Both in the format of a number; four digits where none is named, as most tables print them.

        >>> f"{spread([0.9, 0.92]):.2f}"
        '0.91 ± 0.01'
        """
        spec = spec or ".4f"
        return f"{self.mean:{spec}}" if self.deviation is None else f"{self.mean:{spec}} ± {self.deviation:{spec}}"

    def __str__(self) -> str:
        return format(self)


@dataclass(frozen=True)
class Summary:
    """What a learner reaches over seeds, at the recommended number of rows and at as many as are real.

    Runs made before both were scored have none at the second number (`utility_n` is None), and the real score of learner
    seed 0 beside every seed: such an anchor counts once.
    """

    utility: Spread
    utility_n: Spread | None
    real: Spread

    @property
    def gap(self) -> float:
        """How far the mean is below the anchor's."""
        return self.real.mean - self.utility.mean

    @property
    def gap_n(self) -> float | None:
        """The same with as many rows as are real."""
        return None if self.utility_n is None else self.real.mean - self.utility_n.mean


def spread(values: Sequence[float]) -> Spread:
    """The mean and the standard deviation of some values.

    >>> str(spread([0.9, 0.92])), str(spread([0.9]))
    ('0.9100 ± 0.0141', '0.9000')
    """
    return Spread(statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))


def summarise(records: Sequence[dict[str, Any]]) -> Summary:
    """The runs of one dataset, epsilon and learner in one line."""
    at_n = [record.get("value_n") for record in records]
    known = [value for value in at_n if value is not None]
    anchors: dict[int, list[float]] = {}
    for record in records:
        anchors.setdefault(record.get("real_seed", 0), []).append(record["real_value"])
    return Summary(
        utility=spread([record["value"] for record in records]),
        utility_n=spread(known) if known and len(known) == len(at_n) else None,
        real=spread([statistics.mean(values) for values in anchors.values()]),
    )


def run(
    name: str | Benchmark,
    *,
    epsilon: float | None,
    method: str | Mechanism | Baseline = "auto",
    learner: str | Sequence[str] | None = None,
    seeds: int | Iterable[int] = 5,
    delta: float = DELTA,
    on_step: Callable[[str], None] = lambda step: None,
) -> Iterator[dict[str, Any]]:
    """Run the protocol on a dataset: one dict for each seed and learner, as it is finished.

    Every run draws fresh secure noise; the seed is the public randomness of the model and of the learner, on synthetic
    and on real rows alike. Where several learners are named they are trained on the same release. Two row counts of
    the same fitted model are scored: the recommended one, and (keys that end in `_n`; nothing where the model cannot
    make that many) as many as there are real training rows. Time and memory are those of `child.Outcome`.

    A baseline has no epsilon. The learner is by default the network for images and LightGBM for tables. `seeds`: how
    many, or which.
    """
    if isinstance(method, Baseline) != (epsilon is None):
        raise BenchmarkError("a mechanism needs an epsilon, and a baseline has none.")
    budget = None if epsilon is None else Budget(epsilon=epsilon, delta=delta)
    if isinstance(name, str):
        on_step("reading the dataset")
    benchmark = load(name) if isinstance(name, str) else name
    schema = benchmark.schema
    learners = [learner] if isinstance(learner, str) else list(learner or [default_learner(schema)])
    for each in learners:
        check_learner(each, schema)
    chosen = mechanism_for(method, schema) if isinstance(method, str) else method
    # Whatever can be refused is refused before hours are spent.
    if isinstance(chosen, Baseline):
        chosen.check(schema)
    elif budget is not None:
        on_step("calibrating the noise")
        plan(chosen, schema, budget)
    train, test = real_examples(benchmark.train, schema), real_examples(benchmark.test, schema)
    for seed in range(seeds) if isinstance(seeds, int) else seeds:

        def told(step: str, at: int = seed) -> None:
            on_step(f"seed {at}: {step}")

        outcome = release_in_child(chosen, benchmark.train, schema, budget, seed=seed, on_step=told)
        told("comparing marginals")
        parts = {"": outcome.synthetic, "_n": outcome.as_many}
        released = {end: synthetic_examples(rows, schema) for end, rows in parts.items() if rows is not None}
        fidelity = {end: _fidelity(train, rows, benchmark) for end, rows in released.items()}
        peak = outcome.peak_memory_mb
        for each in learners:
            told(f"{each} on real rows")
            real = real_scores(each, train, test, benchmark, seed=seed)
            found: dict[str, dict[str, Any]] = {}
            for end, rows in released.items():
                told(f"{each} on {len(rows):,} synthetic rows")
                start = time.perf_counter()
                learned = scores(each, rows, test, benchmark, seed=seed)
                seconds = round(time.perf_counter() - start, 2)
                reached = {"value": round(learned.value, 6), "brier": round(learned.brier, 6), **fidelity[end]}
                found[end] = {**reached, "synthetic_rows": len(rows), "learner_seconds": seconds}
            yield {
                "dataset": benchmark.name,
                "method": chosen.name,
                "epsilon": None if budget is None else budget.epsilon,
                "delta": None if budget is None else budget.delta,
                "seed": seed,
                "learner": each,
                "metric": benchmark.metric,
                "real_value": round(real.value, 6),
                "brier_real": round(real.brier, 6),
                "real_seed": seed,
                "real_rows": len(train),
                "release_seconds": round(outcome.seconds, 3),
                "peak_memory_mb": None if peak is None else round(peak, 1),
                **{f"{key}{end}": found[end][key] if end in found else None for end in parts for key in found[""]},
                "unit": None if budget is None else schema.unit.describe(),
                "schema": schema.digest()[:12],
                "settings": settings_of(chosen),
            }


def _fidelity(train: Examples, synthetic: Examples, benchmark: Benchmark) -> dict[str, float | None]:
    """From the same release as the utility. Pictures have no columns to compare."""
    schema = benchmark.schema
    ways = (math.nan, math.nan) if schema.images else distances(train, synthetic, schema)
    tvd = {f"tvd_{at}way": None if math.isnan(way) else round(way, 6) for at, way in enumerate(ways, start=1)}
    error = class_rate_error(train.label, synthetic.label, n_classes=schema.require_coded_target().size)
    return {**tvd, "class_rate_error": round(error, 6)}
