"""How long the doors of a release would take if no process had to wait for a core: two processes beside one, by processor time.

    python benchmarks/doors_path.py --rows 1000000 --columns 50 --processes 1 2
    python benchmarks/doors_path.py --dataset mnist --processes 2 8 --by-door

On a machine that others use as well, seconds of the clock say how busy they are. So here each door is taken apart by processor
seconds: what the driver does alone (`alone`), its own share of the rows (`own`) and that of each other process (`theirs`). The
longest way through a door is what the driver does alone and then the longest share; the doors' is the sum of these. What a
process waits for, a disk or a line, is not in it. Each release is made by a process of its own, after one that compiles.
Prints JSON lines, then the ratios to the first.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from engines import data_of, digest_of, few_rows, write_rows

import sfumato as sf
from sfumato.extending import NoiseSource
from sfumato.private.engines import local
from sfumato.private.view import View

_DOORS = ("prepare", "noisy_sum", "noisy_mixtures", "noisy_choice")


class DoorsTakenApart:
    """Processor seconds of every door, by who spent them."""

    def __init__(self) -> None:
        self.doors: list[dict[str, Any]] = []
        self._own = 0.0
        self._others: list[int] = []
        for name in _DOORS:
            setattr(View, name, self._taken_apart(getattr(View, name)))
        local._ThisProcess.tell = self._own_share(local._ThisProcess.tell)
        local.started = self._known(local.started)

    def _known(self, started: Callable[..., Any]) -> Callable[..., Any]:
        def noted(n_processes: int) -> Any:
            processes = started(n_processes)
            self._others = [process.program.pid for process in processes]
            return processes

        return noted

    def _own_share(self, tell: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(tell)
        def timed(*arguments: Any) -> Any:
            start = time.process_time()
            try:
                return tell(*arguments)
            finally:
                self._own += time.process_time() - start

        return timed

    def _taken_apart(self, door: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(door)
        def timed(view: Any, *arguments: Any, **options: Any) -> Any:
            with self._door(f"{door.__name__} {arguments[0]}"):
                return door(view, *arguments, **options)

        return timed

    @contextmanager
    def _door(self, name: str) -> Iterator[None]:
        here, clock, own, theirs = time.process_time(), time.perf_counter(), self._own, busy_of(self._others)
        yield
        own = self._own - own
        spent = [after - theirs.get(pid, 0.0) for pid, after in busy_of(self._others).items()]
        here = time.process_time() - here
        self.doors.append(
            {"door": name, "alone": here - own, "own": own, "theirs": spent, "clock": time.perf_counter() - clock}
        )

    @property
    def told(self) -> dict[str, float]:
        """The longest way, what is not shared out, all of it, and the clock."""
        way = sum(door["alone"] + max(door["own"], *door["theirs"], 0.0) for door in self.doors)
        alone = sum(door["alone"] for door in self.doors)
        all_of_it = sum(door["alone"] + door["own"] + sum(door["theirs"]) for door in self.doors)
        return {"way": way, "alone": alone, "all": all_of_it, "clock": sum(door["clock"] for door in self.doors)}


def busy_of(programs: list[int]) -> dict[int, float]:
    """Processor seconds of each worker: of a program that has divided, of those that it has become."""
    found = {}
    for program in programs:
        children = Path(f"/proc/{program}/task/{program}/children")
        try:
            workers = [int(pid) for pid in children.read_text().split()] or [program]
            for pid in workers:
                threads = Path(f"/proc/{pid}/task").iterdir()
                found[pid] = sum(int((t / "schedstat").read_text().split()[0]) for t in threads) / 1e9
        except OSError:  # it has ended
            continue
    return found


def child(asked: dict[str, Any]) -> dict[str, Any]:
    """One release."""
    doors = DoorsTakenApart()
    data, schema = data_of(asked)
    source = NoiseSource(research_seed=1)
    engine = f"local:{asked['processes']}"
    start = time.process_time()
    fitted = sf.fit("auto", data, 1.0, schema=schema, seed=1, source=source, engine=engine)
    return {
        "processes": asked["processes"],
        **doors.told,
        "fit_here": time.process_time() - start,
        "digest": digest_of(fitted),
        "doors": doors.doors,
    }


def main() -> None:
    """Make the rows once, then one release after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--dataset", default="")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--warm", action="store_true", help="the loops are compiled: leave out the run that does it")
    parser.add_argument("--by-door", action="store_true", help="print every door, too")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(json.loads(options.child))))
        return
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        shape = {"dataset": options.dataset}
        if not options.dataset:
            write_rows(Path(folder), rows=options.rows, columns=options.columns, files=options.files)
            shape |= {"rows": options.rows, "columns": options.columns}
        if not options.warm:
            _compile(Path(folder) / "few", options)
        for processes in options.processes:
            asked = json.dumps({**shape, "folder": folder, "processes": processes})
            done = subprocess.run([sys.executable, __file__, "--child", asked], stdout=subprocess.PIPE, check=True)
            run = json.loads(done.stdout.splitlines()[-1])
            doors = run.pop("doors")
            runs.append(run)
            print(json.dumps({**shape, **run}), flush=True)
            for door in doors if options.by_door else ():
                print(json.dumps(door), flush=True)
    ways = {str(run["processes"]): runs[0]["way"] / run["way"] for run in runs}
    print(json.dumps({"same measurements": len({run["digest"] for run in runs}) == 1, "times as fast": ways}))


def _compile(folder: Path, options: argparse.Namespace) -> None:
    """A run that is not counted, with as many rows as workers are started for."""
    asked = {"processes": 2, "folder": str(folder), **few_rows(folder, options)}
    subprocess.run([sys.executable, __file__, "--child", json.dumps(asked)], stdout=subprocess.DEVNULL, check=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
