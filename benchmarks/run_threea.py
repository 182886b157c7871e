"""Runs of the study of 3A side by side: the trials of its published side on several processes.

    SFUMATO_DATA=... PYTHONPATH=src python benchmarks/run_threea.py --out RUNS.jsonl --processes 12 --seconds 240

Every finished trial is one line of the file, and is not run again. What is complete is printed as points of the study's JSON file,
which `--merge docs/studies/threea.json` writes into it.
"""

import argparse
import json
import multiprocessing
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from sfumato.lab.studies.threea.numbers import Numbers
from sfumato.lab.studies.threea.published_record import Outcome, Published, Trial, outcome_of
from sfumato.lab.studies.threea.threea_study import PUBLISHED, Sizes, numbers_for
from sfumato.public.machine.torch_extra import need_torch


@cache
def _numbers(dataset: str, rows: int | None) -> Numbers:
    return numbers_for(dataset, rows=rows, test_rows=rows)


def _carried_out(what: Published, trial: Trial, rows: int | None) -> Outcome:
    need_torch("the trials").set_num_threads(1)
    begun = time.perf_counter()
    found = outcome_of(_numbers(what.dataset, rows), trial, epsilon=what.epsilon)
    return {**found, "seconds": round(time.perf_counter() - begun, 2)}


class Runs:
    """A file of finished trials, and the processes that run more of them until time is over."""

    def __init__(self, path: Path, *, processes: int, seconds: float, rows: int | None) -> None:
        """Read what is there."""
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._known = {json.dumps(line["trial"]): line["outcome"] for line in map(json.loads, lines)}
        self._path, self._rows, self._lock = path, rows, threading.Lock()
        self._end = time.monotonic() + seconds
        self._pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))

    def __call__(self, key: str, what: Published, trials: list[Trial]) -> list[Outcome]:
        """Outcomes in the order of the trials; an error where time is over before all are there."""
        names = [json.dumps([key, asdict(trial)]) for trial in trials]
        waiting: dict[str, Future[Outcome]] = {
            name: self._pool.submit(_carried_out, what, trial, self._rows)
            for name, trial in zip(names, trials, strict=True)
            if name not in self._known
        }
        for name, future in waiting.items():
            future.add_done_callback(partial(self._keep, name))
        for name, future in waiting.items():
            self._known[name] = future.result(timeout=max(0.0, self._end - time.monotonic()))
        return [self._known[name] for name in names]

    def _keep(self, name: str, future: "Future[Outcome]") -> None:
        if future.cancelled() or future.exception():
            return
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"trial": json.loads(name), "outcome": future.result()}) + "\n")

    def close(self) -> None:
        """Wait for nothing that has not begun."""
        begun = list(self._pool._processes.values())  # no public name, and gone after the shutdown
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in begun:
            process.terminate()


def main() -> None:
    """Run, and print or merge what is complete."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--only", action="append")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--rounds", type=int, default=Sizes().rounds)
    parser.add_argument("--seeds", type=int, default=Sizes().seeds)
    parser.add_argument("--side-by-side", type=int, default=3)
    parser.add_argument("--merge", type=Path)
    asked = parser.parse_args()
    runs = Runs(asked.out, processes=asked.processes, seconds=asked.seconds, rows=asked.rows)
    points: dict[str, Any] = {}

    def run(key: str) -> None:
        begun, what = time.monotonic(), PUBLISHED[key]
        numbers = _numbers(what.dataset, asked.rows)
        try:
            points[key] = what.record(numbers, rounds=asked.rounds, seeds=asked.seeds, run=partial(runs, key, what))
        except TimeoutError:
            print(f"{key}: time is over", flush=True)
            return
        values = {reading: of["values"] for reading, of in points[key].get("readings", {}).items()}
        print(f"{key}: {time.monotonic() - begun:.0f} s {values}", flush=True)

    keys = asked.only or list(PUBLISHED)
    with ThreadPoolExecutor(asked.side_by_side) as side_by_side:
        for done in [side_by_side.submit(run, key) for key in keys]:
            done.result()
    runs.close()
    if asked.merge:
        kept = json.loads(asked.merge.read_text(encoding="utf-8"))
        kept["points"] |= {
            key: {**figures, "quick": False, "processor_seconds": None} for key, figures in points.items()
        }
        asked.merge.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
