"""What the benchmarks share: fair timing, peak memory of a fresh process, one JSON object on stdout."""

import contextlib
import json
import math
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def best_seconds(
    alternatives: Mapping[Any, Callable[[], object]], *, rounds: int, cores: dict[Any, float] | None = None
) -> dict[Any, float]:
    """The fastest of `rounds` runs of each alternative.

    The alternatives take turns within a round, so that whatever else the machine does hits all of them alike.
    `cores` is filled with the processors that each best run had: its processor time over its seconds.
    """
    best = dict.fromkeys(alternatives, math.inf)
    for _ in range(rounds):
        for name, run in alternatives.items():
            start, busy = time.perf_counter(), time.process_time()
            run()
            seconds, busy = time.perf_counter() - start, time.process_time() - busy
            if seconds < best[name]:
                best[name] = seconds
                if cores is not None:
                    cores[name] = round(busy / seconds, 2)
    return best


def in_child(function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function of a module in a fresh process: its memory is its own, and its imports are cold."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def memory_of(work: Callable[[], object]) -> dict[str, float]:
    """Resident memory of this process in MB: before the work (imports and data), at its peak, and what it added."""
    with contextlib.suppress(OSError):
        _CLEAR.write_text("5")  # forget the peak of what came before
    before = _resident_mb()
    work()
    peak = _peak_mb()
    return {"before_mb": round(before, 1), "peak_mb": round(peak, 1), "added_mb": round(peak - before, 1)}


def _resident_mb() -> float:
    import psutil

    return psutil.Process().memory_info().rss / 1e6


def _peak_mb() -> float:
    if _STATUS.exists():  # of this process alone; what getrusage says may be inherited from the parent
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


class Watch:
    """What a piece of work takes, all processes counted: seconds, processor seconds, and memory at its peak.

    Memory is asked for once a second. What processes share is divided among them, where the system says (PSS).
    """

    def __init__(self, *, every: float = 1.0) -> None:
        self._every, self._ended, self._peak = every, threading.Event(), 0.0
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Watch":
        self._start, self._busy = time.perf_counter(), _processor_seconds()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.seconds, self.processor = time.perf_counter() - self._start, _processor_seconds() - self._busy

    @property
    def told(self) -> dict[str, float]:
        """All three."""
        return {"seconds": self.seconds, "processor": self.processor, "peak_mb": self._peak}

    def _look(self) -> None:
        import psutil

        own = psutil.Process()
        while not self._ended.wait(self._every):
            total = 0.0
            for process in (own, *own.children(recursive=True)):
                with contextlib.suppress(psutil.Error, OSError):  # it has ended meanwhile
                    total += _shared_fairly(process.pid) or process.memory_info().rss
            self._peak = max(self._peak, total / 1e6)


def _shared_fairly(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup")
    if not rollup.exists():
        return 0
    return 1024 * sum(int(line.split()[1]) for line in rollup.read_text().splitlines() if line.startswith("Pss:"))


def _processor_seconds() -> float:
    """Of this process and of all that it has waited for."""
    import resource

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent p of the power law values ~ sizes^p that fits best: 1 is linear growth."""
    import numpy as np

    return round(float(np.polyfit(np.log(sizes), np.log(values), 1)[0]), 3)


def report(result: Mapping[str, Any]) -> None:
    """Print one JSON object, numbers to five figures."""
    print(json.dumps(_rounded(result)))


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
