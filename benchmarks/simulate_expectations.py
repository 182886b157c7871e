"""What a release is worth, found out on made-up populations: the figures behind `sfumato plan` and docs/guide/alpha.md.

For each population, size and epsilon: release by the default method, train LightGBM on the release and on the rows
themselves, test both on other rows. Runs are appended to results/expectations.jsonl as they are finished. Those that
were made with the constants of today are not run again, so the script can be stopped at any time. At the end the law
is fitted, src/sfumato/outlook/expectations.json is written and the pages that quote it; --fit does that alone.

    python benchmarks/simulate_expectations.py --jobs 16     # the whole grid
    python benchmarks/simulate_expectations.py --quick       # a part of it, for a look
"""

import argparse
import itertools
import json
import multiprocessing
import os
import sys
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from expectation_pages import write_pages
from fit_expectations import write_expectations
from numpy.typing import NDArray
from populations import RULES, Population, Shapes
from sklearn.metrics import roc_auc_score

import sfumato as sf
from sfumato.lab.benchmark.examples import Examples, real_examples, synthetic_examples
from sfumato.lab.benchmark.metrics import class_rate_error, distances
from sfumato.learn.boosted_trees import need_lightgbm
from sfumato.mechanisms.image.mechanism import ThreeAImage
from sfumato.mechanisms.table.mechanism import ThreeATable
from sfumato.outlook.constants import constants_digest
from sfumato.outlook.row_counts import rows_to_release
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.budget import default_delta

RUNS = Path(__file__).parent / "results" / "expectations.jsonl"
MECHANISMS = {"table": ThreeATable(), "image": ThreeAImage()}
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
ROWS, COLUMNS, RATES = (500, 2_000, 10_000, 50_000, 200_000), (5, 20, 60), (0.5, 0.1, 0.01)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Rows of a release that are looked at, and rows that learners are tested on.
MOST_ROWS, TEST_ROWS, PICTURES = 60_000, 6_000, 4_000
#: LightGBM weighs the classes below this rate, as in the evaluation protocol.
RARE = 0.05


@dataclass(frozen=True)
class Task:
    """One population and size, released at several epsilons; with several alphas where the trade-off is asked for."""

    kind: str
    rule: str
    columns: int
    rate: float
    rows: int
    seed: int
    epsilons: tuple[float, ...]
    alphas: tuple[float, ...] = ()

    @property
    def chance(self) -> int:
        """The same for the same task on every machine."""
        return zlib.crc32(repr((self.rule, self.columns, self.rate, self.rows, self.seed)).encode())

    @property
    def strength(self) -> float:
        """Of the signal: every third population is weak, every third strong."""
        return (1.0, 2.0, 3.0)[self.chance // 7 % 3]


def epsilons_for(rows: int) -> tuple[float, ...]:
    """Large tables take the time, and at a large epsilon nothing happens there any more."""
    return EPSILONS[:3] if rows > 50_000 else EPSILONS[:4] if rows > 10_000 else EPSILONS


def all_tasks(*, seeds: int) -> Iterator[Task]:
    for seed in range(seeds):
        for rule, columns, rate, rows in itertools.product(RULES, COLUMNS, RATES, ROWS):
            yield Task("table", rule, columns, rate, rows, seed, epsilons_for(rows))
        for rows in ROWS[:-1]:
            yield Task("image", "shapes", 1, 0.25, rows, seed, epsilons_for(rows))
        for rule, rate, rows in itertools.product(RULES, RATES[:2], (2_000, 20_000)):
            yield Task("table", rule, 20, rate, rows, seed + 100, (0.3, 1.0, 3.0), ALPHAS)
        for rows in (2_000, 10_000):
            yield Task("image", "shapes", 1, 0.25, rows, seed + 100, (0.3, 1.0, 3.0), ALPHAS)


def is_quick(task: Task) -> bool:
    """A third of the small tasks: every rule, rate, size and number of columns is among them."""
    if task.kind == "image":
        return task.rows <= (2_000 if task.alphas else 50_000)
    if task.alphas:
        return task.rows == 2_000 and task.rate == RATES[0]
    return task.rows * task.columns <= 200_000 and task.chance % 3 == 0


def run_task(task: Task) -> list[dict[str, Any]]:
    """All releases of a task: one record for each epsilon and alpha."""
    population: Any = Shapes() if task.kind == "image" else _population(task)
    schema = replace(population.schema, rows=task.rows)
    rows = population.draw(task.rows, seed=1)
    test_rows = population.draw(TEST_ROWS, seed=2) if schema.images else population.draw_evenly(TEST_ROWS, seed=2)
    train, test = real_examples(rows, schema), real_examples(test_rows, schema)
    if len(np.unique(train.label)) < 2:
        return []  # a rare class that no row has: nothing to learn from the real rows
    real = learned(train, test, schema, seed=task.seed, rate=task.rate)
    records = []
    for epsilon in task.epsilons:
        source = NoiseSource(research_seed=task.chance + round(1000 * epsilon))
        budget = sf.Budget(epsilon=epsilon, delta=default_delta(task.rows))
        data = sf.Sensitive.read(rows, schema)
        start = time.perf_counter()
        fitted = sf.fit("auto", data, budget, seed=task.seed, source=source)
        seconds = time.perf_counter() - start
        for alpha in task.alphas or (None,):
            mechanism: Any = fitted.mechanism if alpha is None else replace(fitted.mechanism, alpha=alpha)
            model = mechanism.build(fitted.measurements, schema, seed=task.seed)
            most = PICTURES if schema.images else MOST_ROWS
            many = rows_to_release("many", schema=schema, mechanism=mechanism, model=model)
            released = synthetic_examples(model.sample(min(many, most), seed=task.seed), schema)
            records.append(
                {
                    **{k: v for k, v in asdict(task).items() if k not in ("epsilons", "alphas")},
                    "digest": constants_digest(MECHANISMS[task.kind]),
                    "strength": task.strength,
                    "epsilon": epsilon,
                    "mu": 1 / fitted.plan.scale,
                    "alpha": alpha,
                    "real": real,
                    "released": learned(released, test, schema, seed=task.seed, rate=task.rate),
                    **_fidelity(train, released, schema),
                    "seconds": seconds,
                }
            )
    return records


def learned(train: Examples, test: Examples, schema: sf.Schema, *, seed: int, rate: float) -> float:
    """What LightGBM learns beyond guessing, between 0 and 1: 2 AUC - 1, or for pictures the same of accuracy."""
    present = np.unique(train.label)
    if len(present) < 2:
        return 0.0
    weight = "balanced" if rate < RARE else None
    trees = 30 if schema.images else 100  # for each class: pictures have many columns and few rows here
    learner = need_lightgbm().LGBMClassifier(
        n_estimators=trees, random_state=seed, verbose=-1, n_jobs=1, class_weight=weight
    )
    coded = [at for at, column in enumerate(schema.features) if column.is_coded]
    learner.fit(_matrix(train, schema), train.label, categorical_feature=coded or "auto")
    odds = np.asarray(learner.predict_proba(_matrix(test, schema)))
    if schema.images:
        guessing = 1 / schema.require_coded_target().size
        return (float(np.mean(learner.classes_[odds.argmax(axis=1)] == test.label)) - guessing) / (1 - guessing)
    return 2 * float(roc_auc_score(test.label == 1, odds[:, 1])) - 1


def _population(task: Task) -> Population:
    return Population(task.rule, task.columns, task.rate, task.strength, task.chance)


def _matrix(examples: Examples, schema: sf.Schema) -> NDArray[Any]:
    columns = [examples.batch[column.name] for column in schema.features]
    return columns[0].reshape(len(examples), -1) if schema.images else np.stack(columns, axis=1).astype(np.float64)


def _fidelity(train: Examples, released: Examples, schema: sf.Schema) -> dict[str, float | None]:
    one, two = (None, None) if schema.images else distances(train, released, schema)
    classes = schema.require_coded_target().size
    return {
        "tvd_1way": one,
        "tvd_2way": two,
        "class_rate_error": class_rate_error(train.label, released.label, n_classes=classes),
    }


def read_runs() -> list[dict[str, Any]]:
    """The runs that were made with the constants of today."""
    if not RUNS.exists():
        return []
    digests = {kind: constants_digest(mechanism) for kind, mechanism in MECHANISMS.items()}
    records = [json.loads(line) for line in RUNS.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [record for record in records if record["digest"] == digests[record["kind"]]]


def is_done(task: Task, done: set[tuple[Any, ...]]) -> bool:
    return (task.kind, task.rule, task.columns, task.rate, task.rows, task.seed) in done


def cost(task: Task) -> float:
    """About how long a task takes, in no unit."""
    width = 60 if task.kind == "image" else task.columns + 5
    return task.rows * width * (1 + len(task.alphas) / 2)


def run_all(options: argparse.Namespace) -> None:
    done = {tuple(r[k] for k in ("kind", "rule", "columns", "rate", "rows", "seed")) for r in read_runs()}
    tasks = [t for t in all_tasks(seeds=options.seeds) if not is_done(t, done) and (not options.quick or is_quick(t))]
    longest_first = options.jobs > 1  # so that no core waits for another; one alone shows something soon
    tasks.sort(key=cost, reverse=longest_first)
    RUNS.parent.mkdir(exist_ok=True)
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    fresh = multiprocessing.get_context("spawn")  # one thread each: what is started afresh reads the environment
    print(f"{len(tasks)} tasks to run", file=sys.stderr, flush=True)
    with ProcessPoolExecutor(options.jobs, mp_context=fresh) as pool, RUNS.open("a", encoding="utf-8") as file:
        for count, finished in enumerate(as_completed([pool.submit(run_task, t) for t in tasks]), start=1):
            for record in finished.result():
                file.write(json.dumps(record) + "\n")
            file.flush()
            print(f"{count} of {len(tasks)}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes, each on one core; default: 1")
    parser.add_argument("--seeds", type=int, default=1, help="populations of each kind; default: 1")
    parser.add_argument("--quick", action="store_true", help="a part of the grid: small tables and pictures")
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs: do so whenever a method has changed")
    parser.add_argument("--fit", action="store_true", help="fit the law and write the JSON alone")
    options = parser.parse_args()
    if options.fresh:
        RUNS.unlink(missing_ok=True)
    if not options.fit:
        run_all(options)
    digests = {kind: constants_digest(mechanism) for kind, mechanism in MECHANISMS.items()}
    write_expectations(read_runs(), digests=digests)
    write_pages()


if __name__ == "__main__":
    main()
