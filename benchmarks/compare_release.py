"""How long a release takes, beside the same release by another commit: ratios of processor seconds, measured in one run.

    python benchmarks/compare_release.py --against HEAD~1 --only adult --rounds 3
    python benchmarks/compare_release.py --against HEAD~1 --only mnist --rows many --rounds 1

Each run is a process of its own with one thread for matrix products, and the two sides take turns, so that whatever else the
machine does hits both alike. What is timed is `fit` and `release`: reading, measuring, building and writing. Peak memory is that
of the whole process, the dataset among it. The first run of the other commit compiles its loops: two rounds at least tell of `fit`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATASETS = ("adult", "census", "mnist")

CHILD = """
import importlib, importlib.util, json, resource, sys, tempfile, time
import sfumato as sf
room = "sfumato.lab.benchmark" if importlib.util.find_spec("sfumato.lab") else "sfumato.benchmark"
loaded = importlib.import_module(room + ".datasets").load(sys.argv[1])
rows, released = int(sys.argv[2]), sys.argv[3]
released = int(released) if released.isdigit() else released or None
train = loaded.train if not rows else {name: values[:rows] for name, values in loaded.train.items()}
with tempfile.TemporaryDirectory() as folder:
    clock, busy = time.perf_counter(), time.process_time()
    fitted = sf.fit("auto", sf.Sensitive.read(train, loaded.schema), sf.Budget(1.0, 1e-5), seed=1)
    fit = time.process_time() - busy
    sf.release(fitted, to=folder + "/out", rows=released)
    told = {"seconds": time.perf_counter() - clock, "processor": time.process_time() - busy, "fit": fit}
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    print(json.dumps({**told, "writing": told["processor"] - fit, "peak_mb": peak}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="HEAD~1", help="the commit to compare with")
    parser.add_argument("--only", choices=DATASETS, action="append", help="one of the datasets; again for more")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mnist-rows", type=int, default=0, help="only so many pictures; 0 for all")
    parser.add_argument("--rows", default="", help="how many rows are released; `many` for as many as are recommended")
    asked = parser.parse_args()
    report = {}
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(
            ["git", "worktree", "add", "--detach", str(other), asked.against], cwd=ROOT, check=True, capture_output=True
        )
        try:
            for dataset in asked.only or DATASETS:
                rows = asked.mnist_rows if dataset == "mnist" else 0
                runs = {"before": [], "now": []}
                for turn in range(asked.rounds):
                    sides = [("before", other), ("now", ROOT)]
                    for side, checkout in sides if turn % 2 else reversed(sides):
                        runs[side].append(run_once(checkout, dataset, str(rows), asked.rows, threads=asked.threads))
                        print(dataset, side, runs[side][-1], file=sys.stderr, flush=True)
                report[dataset] = summary(runs)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(other)], cwd=ROOT, check=True)
    print(json.dumps({"against": asked.against, "threads": asked.threads, "rounds": asked.rounds, **report}, indent=2))


def run_once(checkout: Path, *arguments: str, threads: int) -> dict[str, float]:
    counts = {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    environment = {**os.environ, **counts, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, "-c", CHILD, *arguments]
    done = subprocess.run(command, env=environment, cwd=checkout, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def summary(runs: dict[str, list[dict[str, float]]]) -> dict[str, float]:
    """The best run of each side, and their ratio: below 1 is faster than before."""
    out: dict[str, float] = {}
    for measure in ("processor", "fit", "writing", "seconds", "peak_mb"):
        best = {side: min(run[measure] for run in found) for side, found in runs.items()}
        out |= {f"{measure}_{side}": round(value, 2) for side, value in best.items()}
        out[f"{measure}_ratio"] = round(best["now"] / best["before"], 3)
    return out


if __name__ == "__main__":
    main()
