"""Run the zoo: every case with every method and seed, each in a process of its own with one thread.

    python benchmarks/run_zoo.py                                  # what is missing, then the table
    python benchmarks/run_zoo.py --only xor-2 small-500 --seeds 2 --methods auto --as "other cells"
    python benchmarks/run_zoo.py --table                          # the table alone

Runs are appended to results/zoo.jsonl as they are finished, and what is there is not
run again. `--as` names the code that was run: figures of several versions stand side by side. To run another version,
put its src first in PYTHONPATH.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from sfumato.mechanism import mechanism_for, registered_names

from .cases import CASES
from .page import PRESENT, write_page
from .worker import REAL

BENCHMARKS = Path(__file__).parents[1]
RUNS = BENCHMARKS / "results" / "zoo.jsonl"
SEEDS = 3
TIMEOUT = 3_600
Record = dict[str, Any]
Job = tuple[str, str, int]

#: One thread everywhere: seconds are then the processor's, and jobs side by side do not wait for each other.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


def default_methods() -> list[str]:
    """The default, and every other mechanism that is not for pictures; those that do not take a table say so."""
    schema = next(iter(CASES.values())).load().schema
    itself = mechanism_for("auto", schema).name
    others = [name for name in registered_names() if name != itself and "image" not in name]
    return [REAL, "auto", *sorted(others, key=lambda name: (name != "independent-histograms", name))]


def read_runs(path: Path) -> list[Record]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def key_of(record: Record) -> tuple[Any, ...]:
    """Real rows are the same whatever the code and the budget."""
    if record["method"] == REAL:
        return record["case"], REAL
    return record["case"], record["method"], record["seed"], float(record["epsilon"]), record["as"]


def wanted(options: argparse.Namespace) -> Iterator[Record]:
    names = options.only or [name for name, case in CASES.items() if not case.slow]
    for seed in range(options.seeds):  # all cases once, before any case twice
        for method in options.methods or default_methods():
            for name in names:
                if method != REAL or seed == 0:
                    label = "" if method == REAL else options.label
                    yield {"as": label, "case": name, "method": method, "epsilon": options.epsilon, "seed": seed}


def run_one(asked: Record) -> Record:
    """The run, or why there is none."""
    command = [sys.executable, "-m", "zoo.worker", asked["case"], asked["method"]]
    command += [str(asked["seed"]), str(asked["epsilon"])]
    paths = [str(BENCHMARKS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": os.pathsep.join(paths)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
        found = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        found = {"status": "failed", "sentence": f"it took longer than {TIMEOUT} seconds."}
    except (IndexError, ValueError):
        told = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        found = {"status": "failed", "sentence": f"ended with code {done.returncode}: {told}"}
    return {**asked, **found}


def run_all(options: argparse.Namespace) -> None:
    done = {key_of(record) for record in read_runs(options.out)}
    jobs = [asked for asked in wanted(options) if key_of(asked) not in done]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(run_one, asked) for asked in jobs]
        try:
            for count, job in enumerate(as_completed(running), start=1):
                record = job.result()
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
                say(f"{count}/{len(jobs)} {told(record)}")
        except KeyboardInterrupt:  # those that run are ended by the same key
            pool.shutdown(cancel_futures=True)
            raise


def told(record: Record) -> str:
    """One line for whoever waits."""
    start = f"{record['case']}, {record['method']}, seed {record['seed']}"
    if record["status"] != "done":
        return f"{start}: {record['status']}: {record['sentence']}"
    keys = ("utility", "every_column", "tvd_1", "tvd_2", "tvd_3", "correlation", "class_rates", "spikes", "seconds")
    figures = [f"{key} {record[key]:.3f}" for key in keys if record.get(key) is not None]
    return f"{start}: {', '.join(figures)}"


def forget(options: argparse.Namespace) -> None:
    """Drop the runs that are about to be made again, and no others."""
    again = {key_of(asked) for asked in wanted(options)}
    kept = [record for record in read_runs(options.out) if key_of(record) not in again]
    if options.out.exists():
        options.out.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="CASE", choices=list(CASES), help="these cases alone")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help=f"these alone; {REAL}: the real training rows")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many; default: {SEEDS}")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side; default: 1")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=RUNS, metavar="FILE", help="the runs; the table lies beside it")
    parser.add_argument("--as", dest="label", default=PRESENT, metavar="NAME", help="a name for the code that is run")
    parser.add_argument(
        "--previous", metavar="NAME", help="the version that the table compares with; default: the last"
    )
    parser.add_argument("--fresh", action="store_true", help="run again what is there")
    parser.add_argument("--table", action="store_true", help="write the table alone")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    options = parser.parse_args()
    if options.list:
        for case in CASES.values():
            print(f"{case.name:20} {case.what}{' (slow)' if case.slow else ''}")
        return
    if options.fresh and not options.table:
        forget(options)
    if not options.table:
        run_all(options)
    page = options.out.with_suffix(".md")
    write_page(page, read_runs(options.out), present=options.label, previous=options.previous, epsilon=options.epsilon)
    say(f"wrote {page}")


if __name__ == "__main__":
    main()
