"""The utility table of the project: the default methods by the evaluation protocol, against what must be and what is aimed at.

Runs are appended to results/utility.jsonl as they are finished, and what is there is not run again, so that the script
can be stopped at any time. results/utility.md is written from that file at the end, or alone with --table.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.lab.benchmark import load, run

RESULTS = Path(__file__).parent / "results"
RUNS, TABLE = RESULTS / "utility.jsonl", RESULTS / "utility.md"
Record = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A figure of the table: a dataset, an epsilon, a learner, and what is asked of the mean over seeds.

    With `gap` the figure is how far the mean is below the same learner on real rows.
    """

    dataset: str
    epsilon: float
    learner: str
    published: str
    must: float
    goal: float
    gap: bool = False


ROWS = (
    Row("mnist", 1, "cnn", ".956", 0.960, 0.975),
    Row("mnist", 1, "lightgbm", ".818 (unsound)", 0.90, 0.94),
    Row("mnist", 0.2, "cnn", ".863", 0.89, 0.94),
    Row("mnist", 10, "cnn", ".981", 0.97, 0.985),
    Row("fashion-mnist", 0.2, "cnn", ".734", 0.72, 0.80),
    Row("fashion-mnist", 1, "cnn", ".817", 0.78, 0.85),
    Row("fashion-mnist", 10, "cnn", ".873", 0.83, 0.885),
    Row("adult", 1, "lightgbm", ".863 (unsound)", 0.90, 0.915),
    Row("census", 1, "lightgbm", ".906 (unsound)", 0.93, 0.946),
    Row("credit", 1, "lightgbm", ".969 (unsound)", 0.945, 0.965),
    Row("isolet", 1, "lightgbm", ".903 (unsound)", 0.90, 0.945),
    Row("diabetes130", 1, "lightgbm", "-", 0.05, 0.03, gap=True),
)
#: The rows whose gap to real rows is averaged.
MEAN_GAP = (("mnist", "lightgbm"), *((name, "lightgbm") for name in ("adult", "census", "credit", "isolet")))
MEAN_GAP_MUST, MEAN_GAP_GOAL = 0.05, 0.025
#: Of the same release of Adult at epsilon 1: (must, goal).
FIDELITY = {"tvd_1way": (0.03, 0.015), "tvd_2way": (0.09, 0.05), "class_rate_error": (0.02, 0.01)}
SEEDS = 5
SECONDS = {"mnist": (300, 60), "adult": (60, 10), "census": (300, 60)}


def read_runs() -> list[Record]:
    if not RUNS.exists():
        return []
    return [json.loads(line) for line in RUNS.read_text(encoding="utf-8").splitlines() if line.strip()]


def key_of(record: Record) -> tuple[Any, ...]:
    return record["asked"], record["dataset"], float(record["epsilon"]), record["learner"], record["seed"]


def wanted(options: argparse.Namespace) -> Iterator[tuple[str, float, list[str]]]:
    """The releases to make: (dataset, epsilon, learners that are trained on the same release)."""
    releases: dict[tuple[str, float], list[str]] = {}
    for row in ROWS:
        if options.only and row.dataset not in options.only:
            continue
        if options.epsilon and row.epsilon not in options.epsilon:
            continue
        if options.learner and row.learner not in options.learner:
            continue
        releases.setdefault((row.dataset, row.epsilon), []).append(row.learner)
    for (dataset, epsilon), learners in releases.items():
        yield dataset, epsilon, learners


def run_all(options: argparse.Namespace) -> None:
    done = {key_of(record) for record in read_runs()}
    loaded = None
    for dataset, epsilon, learners in wanted(options):
        for seed in range(options.seeds):
            missing = [
                name for name in learners if (options.method, dataset, float(epsilon), name, seed) not in done
            ]  # fmt: skip
            if not missing:
                continue
            if loaded is None or loaded.name != dataset:
                loaded = load(dataset)
            runs = run(loaded, epsilon=epsilon, method=options.method, learner=missing, seeds=[seed], on_step=say)
            for record in runs:
                append({"asked": options.method, **record})
                say(f"{dataset}, epsilon {epsilon:g}, {record['learner']}, seed {seed}: {record['value']:.4f}")


def forget(options: argparse.Namespace) -> None:
    """Drop the runs that are about to be made again, and no others."""
    again = {(options.method, d, float(e), name) for d, e, learners in wanted(options) for name in learners}
    kept = [record for record in read_runs() if key_of(record)[:4] not in again]
    if RUNS.exists():
        RUNS.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")


def append(record: Record) -> None:
    RESULTS.mkdir(exist_ok=True)
    with RUNS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def select(records: list[Record], dataset: str, epsilon: float, learner: str | None = None) -> list[Record]:
    found = [r for r in records if r["dataset"] == dataset and r["epsilon"] == epsilon]
    return [r for r in found if learner is None or r["learner"] == learner]


def spread(values: list[float], digits: int = 4) -> str:
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{deviation}"


def verdict(value: float, must: float, goal: float, *, larger: bool) -> str:
    sign = 1 if larger else -1
    return "goal" if sign * value >= sign * goal else "must" if sign * value >= sign * must else "**missed**"


def utility_lines(records: list[Record]) -> Iterator[str]:
    yield "| dataset | ε | learner | metric | synthetic | real | gap | published | must | goal | reached | seeds |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for row in ROWS:
        found = select(records, row.dataset, row.epsilon, row.learner)
        if not found:
            continue
        values = [record["value"] for record in found]
        real, mean = found[0]["real_value"], statistics.mean(values)
        reached = verdict(real - mean if row.gap else mean, row.must, row.goal, larger=not row.gap)
        asked = [f"gap {limit:g}" if row.gap else f"{limit:g}" for limit in (row.must, row.goal)]
        yield (
            f"| {row.dataset} | {row.epsilon:g} | {row.learner} | {found[0]['metric']} | {spread(values)} | {real:.4f} "
            f"| {real - mean:.4f} | {row.published} | {asked[0]} | {asked[1]} | {reached} | {len(found)} |"
        )


def few_seeds_lines(records: list[Record]) -> Iterator[str]:
    few = [row for row in ROWS if 0 < len(select(records, row.dataset, row.epsilon, row.learner)) < SEEDS]
    if few:
        named = ", ".join(f"{row.dataset} ε {row.epsilon:g} {row.learner}" for row in few)
        yield f"Still short of the protocol's {SEEDS} seeds: {named}. `make bench-utility` runs what is missing."
        yield ""


def mean_gap_line(records: list[Record]) -> str:
    gaps = []
    for dataset, learner in MEAN_GAP:
        found = select(records, dataset, 1, learner)
        if not found:
            return f"Mean gap to real at ε 1: not all of {', '.join(name for name, _ in MEAN_GAP)} have been run."
        gaps.append(found[0]["real_value"] - statistics.mean(record["value"] for record in found))
    gap = statistics.mean(gaps)
    return (
        f"Mean gap to real at ε 1 over MNIST (LightGBM), Adult, Census, Credit, ISOLET: {gap:.4f} "
        f"(must {MEAN_GAP_MUST}, goal {MEAN_GAP_GOAL}: {verdict(gap, MEAN_GAP_MUST, MEAN_GAP_GOAL, larger=False)}; "
        "ClustMix claims .087, unsound)."
    )


def release_lines(records: list[Record]) -> Iterator[str]:
    """Fidelity and cost: one line a release, whatever was trained on it."""
    yield "| dataset | ε | method | 1-way TVD | 2-way TVD | class rates | Brier | (real) | seconds | MB |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for dataset, epsilon in dict.fromkeys((row.dataset, row.epsilon) for row in ROWS):
        by_seed = {record["seed"]: record for record in reversed(select(records, dataset, epsilon))}
        found = list(by_seed.values())
        if not found:
            continue
        columns = [_spread_of(found, key) for key in ("tvd_1way", "tvd_2way", "class_rate_error", "brier")]
        memory = [record["peak_memory_mb"] for record in found if record["peak_memory_mb"] is not None]
        yield (
            f"| {dataset} | {epsilon:g} | {found[0]['method']} | {' | '.join(columns)} | {found[0]['brier_real']:.4f} "
            f"| {spread([record['release_seconds'] for record in found], 1)} | {max(memory, default=0):.0f} |"
        )


def _spread_of(found: list[Record], key: str) -> str:
    values = [record[key] for record in found if record[key] is not None]
    return spread(values) if values else "-"


def demand_lines(records: list[Record]) -> Iterator[str]:
    for key, (must, goal) in FIDELITY.items():
        found = [record[key] for record in select(records, "adult", 1)]
        if found:
            mean = statistics.mean(found)
            reached = verdict(mean, must, goal, larger=False)
            yield f"- Adult, ε 1, `{key}`: {mean:.4f} (must {must:g}, goal {goal:g}: {reached})"
    for dataset, (must, goal) in SECONDS.items():
        times = [record["release_seconds"] for record in select(records, dataset, 1)]
        if times:
            mean = statistics.mean(times)
            reached = verdict(mean, must, goal, larger=False)
            yield f"- {dataset}, ε 1, release: {mean:.1f} s (must {must:g} s, goal {goal:g} s: {reached})"


def write_table(method: str) -> None:
    records = [record for record in read_runs() if record["asked"] == method]
    if not records:
        say(f"there are no runs of {method} to write a table of.")
        return
    lines = [
        "# Utility",
        "",
        f"Method `{method}` with its defaults, δ = 1e-5, by the evaluation protocol: train on the release, test on real rows. "
        "Mean ± standard deviation over seeds, fresh noise each time. Written by `make bench-utility`; "
        "the runs are in `utility.jsonl`.",
        "",
        *utility_lines(records),
        "",
        *few_seeds_lines(records),
        mean_gap_line(records),
        "",
        "## Fidelity and cost of the same releases",
        "",
        *release_lines(records),
        "",
        *demand_lines(records),
        "",
        "TVD: mean total variation distance over columns and over pairs of columns, target included, numbers in 20 cells. "
        "Class rates: the largest absolute error. Seconds: wall time from rows in memory to synthetic rows in memory, and so of "
        "the machine and of whatever else ran on it. "
        "MB: peak resident memory of the process that makes the release. A single value has no standard deviation.",
    ]
    RESULTS.mkdir(exist_ok=True)
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    say(f"wrote {TABLE}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="DATASET", help="these datasets alone")
    parser.add_argument("--epsilon", nargs="+", type=float, help="these epsilons alone")
    parser.add_argument("--learner", nargs="+", help="these learners alone")
    parser.add_argument("--method", default="auto", help="the mechanism; default: auto")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many; default: {SEEDS}, as the protocol asks")
    parser.add_argument(
        "--fresh", action="store_true", help="run again what is there: do so whenever a method has changed"
    )
    parser.add_argument("--table", action="store_true", help="write the table alone")
    options = parser.parse_args()
    if options.fresh:
        forget(options)
    if not options.table:
        run_all(options)
    write_table(options.method)


if __name__ == "__main__":
    main()
