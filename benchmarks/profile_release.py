"""Where a release of a large table spends its processor time, and what holds its memory: stage by stage, as JSON.

    python benchmarks/profile_release.py --rows 1000000 --columns 50
    git worktree add ../before v0.2.0
    python benchmarks/profile_release.py --before ../before --rounds 2      # both versions in one run, taking turns
    python benchmarks/profile_release.py --functions 30                     # and the functions that take most

Each release is a process of its own with one thread. A timer of the processor stops it every few milliseconds; what has
passed since the last stop is put down to the stage that its stack belongs to. A round more than asked for is run first, and
not counted: it compiles the loops. Of several rounds the one with the fewest processor seconds counts.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import bench_release
from timing import in_child, report

ROOT = Path(__file__).resolve().parents[1]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
EVERY = 0.005
#: The first of these that is anywhere in the stack is the stage: by the end of a file's path, and a function.
STAGES = (
    ("imports", "importlib._bootstrap>", "_find_and_load"),
    ("maps tried on public rows", "private/rows/row_alone.py", "_try"),
    ("prepared columns", "private/view.py", "prepare"),
    ("maps", "private/rows/row_alone.py", "_values"),
    ("clip and sums", "private/kernel/sums.py", "add_rows"),
    ("read, conform, pack", "private/rows/prepared.py", "__iter__"),
    ("doors, the rest", "private/view.py", "noisy_sum"),
    ("between doors", "mechanisms/table/mechanism.py", "measure"),
    ("build", "mechanisms/table/mechanism.py", "build"),
    ("report", "folder/releasing.py", "report_of"),
    ("warnings", "folder/releasing.py", "certificate_of"),
    ("sample", "sfumato/fitted.py", "sample"),
    ("write", "folder/releasing.py", "release"),
    ("plan", "outlook/planning.py", "plan"),
    ("plan", "public/plan/plan.py", "make_plan"),
)


class Profile:
    """Processor seconds and the largest resident memory, by stage; seconds by step of the doors, and by function."""

    def __init__(self) -> None:
        self.stages, self.steps, self.functions = (defaultdict(float) for _ in range(3))
        self.peaks = defaultdict(float)
        self._last = 0.0

    def __enter__(self) -> "Profile":
        signal.signal(signal.SIGPROF, self._stop)
        signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _stop(self, _: int, frame: FrameType | None) -> None:
        now = time.process_time()
        passed, self._last = now - self._last, now  # a long call in C is stopped once, at its end
        places, step = [], None
        while frame is not None:
            places.append((frame.f_code.co_filename, frame.f_code.co_name))
            if places[-1][1] in ("noisy_sum", "prepare") and places[-1][0].endswith("private/view.py"):
                step = frame.f_locals.get("step_name") or frame.f_locals.get("name")
            frame = frame.f_back
        stage = next((name for name, *place in STAGES if _among(places, *place)), "the rest")
        self.stages[stage] += passed
        if step is not None:
            self.steps[f"{step}: {stage}"] += passed
        own = next((place for place in places if "sfumato/" in place[0]), places[0])
        self.functions[f"{own[0].rpartition('sfumato/')[2]} {own[1]}"] += passed
        with open("/proc/self/statm") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        self.peaks[stage] = max(self.peaks[stage], resident)

    def __call__(self) -> dict[str, Any]:
        """All of it, the most first."""
        parts = {name: getattr(self, name) for name in ("stages", "steps", "functions", "peaks")}
        return {name: dict(sorted(part.items(), key=lambda one: -one[1])) for name, part in parts.items()}


def _among(places: list[tuple[str, str]], file: str, function: str) -> bool:
    return any(name == function and path.endswith(file) for path, name in places)


def watched_release(out: str, command: list[str]) -> None:
    """Run the command line in this process, and write its profile."""
    sys.argv = ["sfumato", *command]
    with Profile() as profile:
        from sfumato.cli import main

        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
    Path(out).write_text(json.dumps(profile()))


def run(checkout: Path, table: Path, schema: Path, scratch: Path, *, engine: str) -> dict[str, Any]:
    """One release by one version: seconds and peak memory as the system counts them, and the profile."""
    paths = [str(checkout / "src"), str(ROOT / "benchmarks")]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": os.pathsep.join(paths)}
    told, out = scratch / "profile.json", scratch / "release"
    command = ["release", table, "--schema", schema, "--epsilon", 1, "--delta", "1e-7", "--out", out, "--force"]
    command += ["--engine", engine] if engine else []
    code = "import sys, profile_release as p; p.watched_release(sys.argv[1], sys.argv[2:])"
    arguments = [sys.executable, "-c", code, told, *command, "--seed", 1, "--quiet", "--json"]
    child = subprocess.Popen([str(a) for a in arguments], env=environment, cwd=scratch, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"the release by {checkout} has failed")
    total = {"processor_seconds": used.ru_utime + used.ru_stime, "peak_mb": used.ru_maxrss * 1024 / 1e6}
    return {**total, **json.loads(told.read_text())}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--columns", type=int, default=50)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--before", type=Path, help="a checkout of another version, to measure in turns with this one")
    options.add_argument("--functions", type=int, default=0, help="how many functions and steps to list")
    options.add_argument("--engine", default="local:1", help="what the doors run on; only this process is watched")
    chosen = options.parse_args()
    sides = {**({"before": chosen.before.resolve()} if chosen.before else {}), "now": ROOT}
    best: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        scratch, each = Path(folder), (chosen.columns - 2) // 2
        tables = {rows: scratch / f"{rows}.parquet" for rows in {20_000, chosen.rows}}
        for rows, table in tables.items():
            in_child(make_table, str(table), rows, each)
        for rows in (20_000, *[chosen.rows] * chosen.rounds):
            for side, checkout in sides.items():
                one = run(checkout, tables[rows], tables[rows].with_suffix(".toml"), scratch, engine=chosen.engine)
                if rows == chosen.rows and one["processor_seconds"] < best.get(side, one)["processor_seconds"] + 1e-9:
                    best[side] = one
    for one in best.values():
        for name in ("functions", "steps"):
            one[name] = dict(list(one[name].items())[: chosen.functions])
    ratios = {}
    if chosen.before:
        before, now = best["before"], best["now"]
        ratios = {"ratio": {s: now["stages"].get(s, 0.0) / t for s, t in before["stages"].items()}}
        ratios["ratio"]["all"] = now["processor_seconds"] / before["processor_seconds"]
        ratios["ratio"]["peak"] = now["peak_mb"] / before["peak_mb"]
    report({"benchmark": "profile", "rows": chosen.rows, "columns": 2 * each + 2, **best, **ratios})


def make_table(path: str, rows: int, each: int) -> None:
    """A table of so many numbers, and as many codes, and its schema beside it."""
    bench_release.NUMBERS = bench_release.CODES = each
    bench_release.write_table(path, rows)
    Path(path).with_suffix(".toml").write_text(bench_release.schema_text(rows))


if __name__ == "__main__":
    main()
