"""Every mechanism on the same data: utility, fidelity, seconds, memory, epsilon. `make bench-mechanisms`.

    python benchmarks/mechanisms.py                                   # what is missing, then the page
    python benchmarks/mechanisms.py --only mst aim --datasets adult --seeds 1
    python benchmarks/mechanisms.py --table                           # the page alone

Runs are appended to results/mechanisms.jsonl as they are finished, and what is there is not run again. At the end
results/mechanisms.md is written, and the figures that `sfumato methods` shows. Each release is made by a process of its own,
as in the evaluation protocol.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from peers import PEERS, run_peer
from zoo.cases import CASES
from zoo.run import run_one

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.lab.baselines import baseline_for
from sfumato.lab.benchmark import load, run
from sfumato.lab.benchmark.examples import real_examples
from sfumato.lab.benchmark.metrics import utility
from sfumato.mechanism import learner_names, mechanism_for, registered_names
from sfumato.mechanisms import DPSyn
from sfumato.public.certificate.non_private import BASELINES

RESULTS = Path(__file__).parent / "results"
RUNS, PAGE = RESULTS / "mechanisms.jsonl", RESULTS / "mechanisms.md"
FIGURES = Path(sf.__file__).parent / "outlook" / "method_figures.json"
EPSILON, DELTA = 1.0, 1e-5
#: Datasets of the protocol with their learner, and tables of the zoo.
BENCHMARKS = {"adult": "lightgbm", "credit": "lightgbm", "isolet": "lightgbm", "mnist": "cnn"}
TABLES = ("diamonds-cut", "insurance-whi")
#: Mechanisms with other settings than their defaults, on the datasets of the protocol.
VARIANTS = {
    "dp-syn, network": DPSyn(encoder="network"),
    "dp-syn, variational": DPSyn(encoder="variational"),
}
#: Every row reports for itself, so their number is public and neighbours differ by a replaced row.
LOCAL = ("dp-pro", "local-reports")
Record = dict[str, Any]


def read_runs() -> list[Record]:
    return [json.loads(line) for line in RUNS.read_text("utf-8").splitlines() if line] if RUNS.exists() else []


def wanted(options: argparse.Namespace) -> Iterator[tuple[str, str, int]]:
    for seed in range(options.seeds):
        for dataset in options.datasets or (*BENCHMARKS, *TABLES):
            for name in options.only or (*registered_names(), *VARIANTS, *BASELINES, *PEERS):
                yield name, dataset, seed


def run_protocol(name: str, dataset: str, seed: int) -> Record:
    method, epsilon = (baseline_for(name), None) if name in BASELINES else (VARIANTS.get(name, name), EPSILON)
    benchmark = replace(load(dataset), schema=schema_of(dataset, name in LOCAL))
    (record,) = run(benchmark, epsilon=epsilon, method=method, learner=[BENCHMARKS[dataset]], seeds=[seed], delta=DELTA)
    kept = ("value", "real_value", "value_n", "tvd_1way", "tvd_2way", "release_seconds", "peak_memory_mb")
    return {key: record.get(key) for key in kept}


def run_learner(name: str, dataset: str, seed: int) -> Record:
    """The model itself on the test rows."""
    benchmark = load(dataset)
    start = time.process_time()
    data = sf.Sensitive.read(benchmark.train, benchmark.schema)
    model = sf.train(name, data, sf.Budget(epsilon=EPSILON, delta=DELTA), seed=seed)
    seconds = time.process_time() - start
    test = real_examples(benchmark.test, benchmark.schema)
    probabilities = model.predict(benchmark.test).iloc[:, 1:].to_numpy()
    found = utility(benchmark.metric, probabilities, test.label)
    return {"value": round(found, 6), "release_seconds": round(seconds, 1)}


def run_zoo(name: str, case: str, seed: int) -> Record:
    found = run_one({"as": "", "case": case, "method": name, "epsilon": EPSILON, "seed": seed})
    if found.get("status") != "done":
        return {"refused": found.get("sentence", found.get("status"))}
    return {
        "value": found["utility"], "tvd_1way": found["tvd_1"], "tvd_2way": found["tvd_2"],
        "release_seconds": found["seconds"], "peak_memory_mb": found["memory_mb"],
    }  # fmt: skip


def run_other(name: str, dataset: str, seed: int) -> Record:
    return run_peer(name, dataset, seed, epsilon=EPSILON, delta=DELTA, learner=BENCHMARKS[dataset])


def runner(name: str, dataset: str) -> Callable[[str, str, int], Record]:
    if dataset in TABLES:
        return run_zoo
    return run_other if name in PEERS else run_learner if name in learner_names() else run_protocol


def check(name: str, schema: sf.Schema) -> None:
    """Refuse what the method does not take, before it is run."""
    if name in BASELINES:
        baseline_for(name).check(schema)
    elif name not in PEERS:
        (VARIANTS.get(name) or mechanism_for(name, schema)).steps(schema, sf.Budget(epsilon=EPSILON, delta=DELTA))


def run_missing(options: argparse.Namespace) -> None:
    done = {(r["method"], r["dataset"], r["seed"]) for r in read_runs()}
    for name, dataset, seed in wanted(options):
        if (name, dataset, seed) in done or (
            name in (*learner_names(), *VARIANTS, *BASELINES, *PEERS, *LOCAL) and dataset in TABLES
        ):
            continue  # the zoo scores rows of mechanisms, of which one is added or removed
        private = {"epsilon": EPSILON, "delta": DELTA} if name not in BASELINES else {"epsilon": None, "delta": None}
        record: Record = {"method": name, "dataset": dataset, "seed": seed, **private}
        try:
            check(name, schema_of(dataset, name in LOCAL))
            record |= runner(name, dataset)(name, dataset, seed)
        except SfumatoError as error:
            record |= {"refused": str(error)}
        print(json.dumps(record), flush=True)
        with RUNS.open("a", encoding="utf-8") as runs:
            runs.write(json.dumps(record) + "\n")


def write_page() -> None:
    runs = read_runs()
    names = sorted({r["method"] for r in runs})
    datasets = [d for d in (*BENCHMARKS, *TABLES) if any(r["dataset"] == d for r in runs)]
    lines = [
        "# Every mechanism on the same data",
        "",
        f"`make bench-mechanisms`. Epsilon {EPSILON:g}, delta {DELTA:g}, defaults; utility by the evaluation protocol (MNIST: accuracy "
        "of the CNN; else AUC of LightGBM, over the classes where there are several) with the recommended number of rows; of a "
        "learner, the model itself; of a peer, with as many rows as are real. In brackets: 2-way TVD; seconds and peak MB of a "
        "release; how many releases. `dp-pro` and `local-reports`: for a replaced row. "
        "A dash: the mechanism does not take such data, or was not run. On MNIST `dp-gan` and `pate-gan` begin at noisy moments of "
        "each class, which hold most of what they reach; their constants were chosen inside its training images. Releases were made "
        "side by side with others, MNIST's on a machine with a GPU: seconds are for comparison only.",
        "",
        "| | " + " | ".join(datasets) + " |",
        "|---" * (len(datasets) + 1) + "|",
    ]
    figures: dict[str, dict[str, Any]] = {}
    for name in names:
        cells = []
        for dataset in datasets:
            mine = [r for r in runs if (r["method"], r["dataset"]) == (name, dataset) and r.get("value") is not None]
            cells.append(_cell(mine))
            if mine and name not in (*VARIANTS, *PEERS):
                value = round(statistics.mean(r["value"] for r in mine), 4)
                figures.setdefault(name, {})[dataset] = {"value": value, "seeds": len(mine), **_cost(mine, dataset)}
        title = f"{name}, **not private**" if name in BASELINES else name
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _cost(runs: list[Record], dataset: str) -> Record:
    """What a release took, and of what data: `sfumato plan` tells it."""
    schema = schema_of(dataset)
    means = {
        short: round(statistics.mean(known), 1)
        for short, key in (("seconds", "release_seconds"), ("memory_mb", "peak_memory_mb"))
        if (known := [r[key] for r in runs if r.get(key) is not None])
    }
    rows = schema.rows or n_train_rows(dataset)
    return {"rows": rows, "columns": len(schema.columns), "image": bool(schema.images), **means}


@cache
def schema_of(dataset: str, local: bool = False) -> sf.Schema:
    if dataset in TABLES:
        return CASES[dataset].load().schema
    benchmark = load(dataset)
    if not local:
        return benchmark.schema
    return replace(
        benchmark.schema, rows=n_train_rows(dataset), unit=replace(benchmark.schema.unit, relation="replace_one")
    )


@cache
def n_train_rows(dataset: str) -> int:
    benchmark = load(dataset)
    return len(real_examples(benchmark.train, benchmark.schema).label)


def _cell(runs: list[Record]) -> str:
    if not runs:
        return "-"
    value = statistics.mean(r["value"] for r in runs)
    beside = [
        f"{statistics.mean(known):.{digits}f}{unit}"
        for key, digits, unit in (("tvd_2way", 3, ""), ("release_seconds", 0, " s"), ("peak_memory_mb", 0, " MB"))
        if (known := [r[key] for r in runs if r.get(key) is not None])
    ]
    return f"**{value:.3f}** ({', '.join(beside)}; {len(runs)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=(*registered_names(), *VARIANTS, *BASELINES, *PEERS))
    parser.add_argument("--datasets", nargs="+", choices=(*BENCHMARKS, *TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="write the page of what is there")
    options = parser.parse_args()
    if not options.table:
        run_missing(options)
    write_page()


if __name__ == "__main__":
    main()
