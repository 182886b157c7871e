"""The evaluation protocol, run: release, train on the release, test on real rows, compare."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sfumato.lab.baselines import Baseline
from sfumato.lab.benchmark.child import Outcome, release_in_child
from sfumato.lab.benchmark.datasets import DELTA, Benchmark, load
from sfumato.lab.benchmark.errors import BenchmarkError
from sfumato.lab.benchmark.examples import Examples, real_examples, synthetic_examples
from sfumato.lab.benchmark.fidelity import distances
from sfumato.lab.benchmark.learners import check_learner, default_learner
from sfumato.lab.benchmark.metrics import class_rate_error
from sfumato.lab.benchmark.real import Scores, real_scores, scores
from sfumato.mechanism import Mechanism, mechanism_for, settings_of
from sfumato.outlook.planning import plan
from sfumato.public.budget import Budget


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

    Args:
        name: A dataset, or a benchmark that is loaded already.
        epsilon: Of the release. None, and delta without meaning, for a baseline alone, which has none.
        method: A mechanism, the name of one, or a baseline.
        learner: One or several; by default the network for images and LightGBM for tables.
        seeds: How many, or which.
        delta: Of the release.
        on_step: Told what is being done.
    """
    budget = _budget(method, epsilon=epsilon, delta=delta)
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
        told = _prefixed(on_step, f"seed {seed}: ")
        outcome = release_in_child(chosen, benchmark.train, schema, budget, seed=seed, on_step=told)
        told("comparing marginals")
        parts = {"": outcome.synthetic, "_n": outcome.as_many}
        released = {end: synthetic_examples(rows, schema) for end, rows in parts.items() if rows is not None}
        fidelity = {end: _fidelity(train, rows, benchmark) for end, rows in released.items()}
        for each in learners:
            told(f"{each} on real rows")
            real = real_scores(each, train, test, benchmark, seed=seed)
            found = {}
            for end, rows in released.items():
                told(f"{each} on {len(rows):,} synthetic rows")
                start = time.perf_counter()
                value = scores(each, rows, test, benchmark, seed=seed)
                found[end] = _learned(value, rows, fidelity[end], time.perf_counter() - start)
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
                **_cost(outcome),
                **{f"{key}{end}": found[end][key] if end in found else None for end in parts for key in found[""]},
                "unit": None if budget is None else schema.unit.describe(),
                "schema": schema.digest()[:12],
                "settings": settings_of(chosen),
            }


def _budget(method: str | Mechanism | Baseline, *, epsilon: float | None, delta: float) -> Budget | None:
    if isinstance(method, Baseline) != (epsilon is None):
        raise BenchmarkError("a mechanism needs an epsilon, and a baseline has none.")
    return None if epsilon is None else Budget(epsilon=epsilon, delta=delta)


def _learned(found: Scores, rows: Examples, fidelity: dict[str, float | None], seconds: float) -> dict[str, Any]:
    return {
        "value": round(found.value, 6),
        "brier": round(found.brier, 6),
        **fidelity,
        "synthetic_rows": len(rows),
        "learner_seconds": round(seconds, 2),
    }


def _fidelity(train: Examples, synthetic: Examples, benchmark: Benchmark) -> dict[str, float | None]:
    """From the same release as the utility. Pictures have no columns to compare."""
    one_way, two_way = (math.nan, math.nan)
    if not benchmark.schema.images:
        one_way, two_way = distances(train, synthetic, benchmark.schema)
    n_classes = benchmark.schema.require_coded_target().size
    return {
        "tvd_1way": None if math.isnan(one_way) else round(one_way, 6),
        "tvd_2way": None if math.isnan(two_way) else round(two_way, 6),
        "class_rate_error": round(class_rate_error(train.label, synthetic.label, n_classes=n_classes), 6),
    }


def _cost(outcome: Outcome) -> dict[str, float | None]:
    peak = outcome.peak_memory_mb
    return {
        "release_seconds": round(outcome.seconds, 3),
        "peak_memory_mb": None if peak is None else round(peak, 1),
    }


def _prefixed(on_step: Callable[[str], None], prefix: str) -> Callable[[str], None]:
    return lambda step: on_step(prefix + step)
