"""How long a release of MNIST takes with the GPU that torch finds and without it: one process each, taking turns.

    python benchmarks/bench_images.py --rows declared many

The first round compiles loops that later ones find in a cache: what counts is the fastest of the rounds. Where torch finds no GPU,
both sides do the same work.
"""

import argparse
import json
import os
import subprocess
import sys

from compare_release import CHILD
from timing import report

SIDES = {"gpu": {}, "processor": {"CUDA_VISIBLE_DEVICES": ""}}


def release(rows: str, hidden: dict[str, str]) -> dict[str, float]:
    """Fit and write in a process of its own."""
    command = [sys.executable, "-c", CHILD, "mnist", "0", "" if rows == "declared" else rows]
    done = subprocess.run(command, env=os.environ | hidden, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", nargs="+", default=["declared", "many"], help="how many rows are released")
    options.add_argument("--rounds", type=int, default=2)
    chosen = options.parse_args()
    runs = []
    for rows in chosen.rows:
        taken = {side: [] for side in SIDES}
        for _ in range(chosen.rounds):
            for side, hidden in SIDES.items():
                taken[side].append(release(rows, hidden))
        best = {side: min(told, key=lambda one: one["seconds"]) for side, told in taken.items()}
        runs.append({"rows": rows, **best, "ratio": best["gpu"]["seconds"] / best["processor"]["seconds"]})
    report({"benchmark": "images", "processors": os.cpu_count(), "runs": runs})


if __name__ == "__main__":
    main()
