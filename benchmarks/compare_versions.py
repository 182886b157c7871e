"""The zoo with two versions of the code in one run: is every figure, and every time, what it was before?

    git worktree add ../before v0.1.0
    python benchmarks/compare_versions.py --before ../before --seeds 5 --jobs 16
    python benchmarks/compare_versions.py --before ../before --only adult census   # tables of the evaluation protocol
    python benchmarks/compare_versions.py --page        # the page alone, from the runs that are there

The two sides take turns, each release in a process of its own with one thread. Runs are appended to results/versions.jsonl
and what is there is not run again.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from statistics import mean, variance
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNS, PAGE = ROOT / "benchmarks/results/versions.jsonl", ROOT / "benchmarks/results/versions.md"
SIDES = ("before", "now")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
#: What is compared, and whether more of it is better.
FIGURES = {"utility": True, "tvd_1": False, "tvd_2": False, "correlation": False}
#: Tables of the evaluation protocol, and how one of them is released and scored by a version that has never heard of this script.
TABLES = ("adult", "census", "credit", "isolet", "diabetes130")
SCORED = """
import json, sys
from sfumato.lab.benchmark import load, run
record, = run(load(sys.argv[1]), epsilon=1.0, method="auto", learner=["lightgbm"], seeds=[int(sys.argv[2])])
figures = {"utility": record["value_n"], "tvd_1": record["tvd_1way_n"], "tvd_2": record["tvd_2way_n"]}
print(json.dumps({"status": "done", **figures, "seconds": record["release_seconds"]}))
"""
Record = dict[str, Any]


def cases_of(checkout: Path) -> list[str]:
    """The cases that a version of the zoo has, but for those that take hours."""
    code = "from zoo.cases import CASES; print(*(name for name, case in CASES.items() if not case.slow))"
    return _python(checkout, "-c", code).stdout.split()


def run_one(checkout: Path, asked: Record) -> Record:
    case, seed = asked["case"], str(asked["seed"])
    if case in TABLES:
        done = _python(checkout, "-c", SCORED, case, seed)
    else:
        done = _python(checkout, "-m", "zoo.worker", case, "auto", seed, "1.0")
    lines = done.stdout.splitlines() or [json.dumps({"status": "failed", "sentence": done.stderr[-300:]})]
    return {**asked, **json.loads(lines[-1])}


def _python(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = [str(checkout / "src"), str(checkout / "benchmarks"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run([sys.executable, *arguments], env=environment, cwd=checkout, capture_output=True, text=True)


def run_all(options: argparse.Namespace) -> None:
    checkouts = {"before": options.before.resolve(), "now": ROOT}
    cases = options.only or [case for case in cases_of(ROOT) if case in set(cases_of(checkouts["before"]))]
    done = {(r["side"], r["case"], r["seed"]) for r in read_runs()}
    jobs = [
        {"side": side, "case": case, "seed": seed}
        for seed in range(options.seeds)
        for case in cases
        for side in SIDES
        if (side, case, seed) not in done
    ]
    with ThreadPoolExecutor(options.jobs) as pool, RUNS.open("a", encoding="utf-8") as file:
        running = [pool.submit(run_one, checkouts[asked["side"]], asked) for asked in jobs]
        for count, job in enumerate(as_completed(running), start=1):
            record = job.result()
            file.write(json.dumps(record) + "\n")
            file.flush()
            figure = record.get("utility", record.get("sentence"))
            print(f"{count}/{len(jobs)} {record['side']} {record['case']} {figure}", file=sys.stderr, flush=True)


def read_runs() -> list[Record]:
    return [json.loads(line) for line in RUNS.read_text(encoding="utf-8").splitlines()] if RUNS.exists() else []


def by_case(runs: list[Record], figure: str) -> dict[str, tuple[list[float], list[float]]]:
    """The figures of both sides, of every case that has them."""
    cases = dict.fromkeys(r["case"] for r in runs)
    values = {
        case: tuple(
            [r[figure] for r in runs if r["case"] == case and r["side"] == side and r.get(figure) is not None]
            for side in SIDES
        )
        for case in cases
    }
    return {case: (before, now) for case, (before, now) in values.items() if before and now}


def standard_errors(before: list[float], now: list[float]) -> float | None:
    """By how many standard errors the second mean is larger; None for single runs, whose chance is not known."""
    if min(len(before), len(now)) < 2:
        return None
    error = math.sqrt(variance(before) / len(before) + variance(now) / len(now))
    return (mean(now) - mean(before)) / error if error else 0.0


def write_page(runs: list[Record]) -> None:
    failed = [r for r in runs if r.get("status") != "done"]
    lines = [
        "# The zoo and the benchmark tables before and now",
        "",
        "Epsilon 1, delta 1e-5, the default method, as many rows as were given; made by `benchmarks/compare_versions.py`, both",
        f"sides in one run, {len(runs)} releases, of which {len(failed)} failed or were refused. The difference is the mean over",
        "cases, with its standard error over cases; above zero the present version is better.",
        "",
        "| figure | cases | mean before | mean now | better by | standard error |",
        "|---|---|---|---|---|---|",
    ]
    several = []
    for figure, more_is_better in FIGURES.items():
        cases = by_case(runs, figure)
        sign = 1 if more_is_better else -1
        gains = [sign * (mean(now) - mean(before)) for before, now in cases.values()]
        error = math.sqrt(variance(gains) / len(gains)) if len(gains) > 1 else math.nan
        means = [mean(mean(case[side]) for case in cases.values()) for side in (0, 1)]
        lines.append(
            f"| {figure} | {len(gains)} | {means[0]:.4f} | {means[1]:.4f} | {mean(gains):+.4f} | {error:.4f} |"
        )
        for case, (before, now) in cases.items():
            by = standard_errors(before, now)
            if by is not None:
                several.append(
                    f"| {case} | {figure} | {mean(before):.4f} | {mean(now):.4f} | {sign * by:+.1f} | {len(now)} |"
                )
    times = by_case(runs, "seconds").values()
    ratio = sum(mean(now) for _, now in times) / sum(mean(before) for before, _ in times)
    lines += ["", f"Processor seconds of all releases together: {ratio:.2f} of what they were.", ""]
    lines += ["Cases that were released several times:", ""]
    lines += [
        "| case | figure | before | now | standard errors better | releases of each |",
        "|---|---|---|---|---|---|",
    ]
    PAGE.write_text("\n".join([*lines, *several]) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--only", nargs="+", metavar="CASE")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="releases side by side")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    options = parser.parse_args()
    if not options.page:
        run_all(options)
    write_page(read_runs())


if __name__ == "__main__":
    main()
