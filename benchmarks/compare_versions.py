"""The zoo with two versions of the code in one run: is every figure, and every time, what it was before?

    git worktree add ../before v0.1.0
    python benchmarks/compare_versions.py --before ../before --seeds 5 --jobs 16
    python benchmarks/compare_versions.py --page        # the page alone, from the runs that are there

The two sides take turns, each release in a process of its own with one thread. Runs are appended to results/versions.jsonl
and what is there is not run again. The page compares means; a difference counts where it is more than two standard errors, and
of some two hundred and fifty comparisons about one in twenty is that by chance.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
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
Record = dict[str, Any]


def cases_of(checkout: Path) -> list[str]:
    """The cases that a version of the zoo has, but for those that take hours."""
    code = "from zoo.cases import CASES; print(*(name for name, case in CASES.items() if not case.slow))"
    return _python(checkout, "-c", code).stdout.split()


def run_one(checkout: Path, asked: Record) -> Record:
    done = _python(checkout, "-m", "zoo.worker", asked["case"], "auto", str(asked["seed"]), "1.0")
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


def compared(runs: list[Record], figure: str) -> Iterator[tuple[str, float, float, float]]:
    """Case, both means, and by how many standard errors the second is better; infinitely many where nothing varies."""
    for case in dict.fromkeys(r["case"] for r in runs):
        sides = [
            [r[figure] for r in runs if r["case"] == case and r["side"] == s and r.get(figure) is not None]
            for s in SIDES
        ]
        if min(map(len, sides)) < 2:
            continue
        before, now = map(mean, sides)
        error = math.sqrt(sum(variance(side) / len(side) for side in sides))
        better = (now - before) * (1 if FIGURES.get(figure) else -1)
        yield case, before, now, better / error if error else (0.0 if better == 0 else math.copysign(math.inf, better))


def write_page(runs: list[Record]) -> None:
    failed = [r for r in runs if r.get("status") != "done"]
    lines = [
        "# The zoo before and now",
        "",
        "Epsilon 1, delta 1e-5, the default method, as many rows as were given; made by `benchmarks/compare_versions.py`, both",
        f"sides in one run, {len(runs)} releases, of which {len(failed)} failed or were refused.",
        "",
        "| figure | cases | worse by more than two standard errors | better by more | mean before | mean now |",
        "|---|---|---|---|---|---|",
    ]
    for figure in FIGURES:
        found = list(compared(runs, figure))
        worse, better = [c for c in found if c[3] < -2], [c for c in found if c[3] > 2]
        means = [mean(c[i] for c in found) for i in (1, 2)] if found else [0.0, 0.0]
        lines.append(f"| {figure} | {len(found)} | {len(worse)} | {len(better)} | {means[0]:.4f} | {means[1]:.4f} |")
    times = list(compared(runs, "seconds"))
    ratio = sum(c[2] for c in times) / max(sum(c[1] for c in times), 1e-9)
    lines += ["", f"Processor seconds of all releases together: {ratio:.2f} of what they were.", ""]
    lines += ["| case | figure | before | now | standard errors better |", "|---|---|---|---|---|"]
    for figure in FIGURES:
        apart = sorted((c for c in compared(runs, figure) if abs(c[3]) > 2), key=lambda c: c[3])
        lines += [f"| {case} | {figure} | {b:.4f} | {n:.4f} | {by:+.1f} |" for case, b, n, by in apart]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


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
