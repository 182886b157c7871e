"""What a release costs piece by piece, in processor seconds: the measurements that the model of `scale_model.py` is fitted to.

    python benchmarks/scale_costs.py

A release of `3a-table` runs over parts in this one process. They do what parts on a cluster do, through the same seam, so that
reading, sums, bytes and the driver's own work can be told from each other. Processor seconds, because they mean the same on a
machine that has other things to do. Writes results/scale.jsonl, a line for each release.
"""

import json
import pickle
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from engines import schema_of, write_rows

import sfumato as sf
from sfumato.extending import NoiseSource
from sfumato.fitting import fit_with
from sfumato.private.engines import part as parts
from sfumato.private.engines.cluster import ClusterRows, numbers_of
from sfumato.private.engines.task import Task, added
from sfumato.private.intake.sensitive import opened
from sfumato.private.kernel.primitives import Primitives

RESULTS = Path(__file__).parent / "results" / "scale.jsonl"
#: Rows and columns. What a pass sends follows from the plan, and the plan from the rows that the schema declares: the tables
#: declare a billion, and few rows are enough to see what that plan sends.
RELEASES = ((4_000, 20), (4_000, 50), (4_000, 200), (40_000, 20), (160_000, 20), (40_000, 50), (160_000, 50))
PLANNED_ROWS = 10**9
PARTS = 4
#: Rows that are drawn and written: what the longer file takes more is what rows cost.
_WRITTEN_ROWS = (20_000, 200_000)
_PERSON_ROWS = 500_000
_TIMES = 200


class Clock:
    """Processor seconds and bytes of the parts of a release."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("read", "map", "prepare", "measuring"), 0.0)
        self.task_bytes, self.sums_bytes, self.add_seconds = list[int](), list[int](), list[float]()
        self.packed_bytes = self.prepared_columns = 0

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Count what runs inside."""
        start = time.process_time()
        yield
        self.seconds[name] += time.process_time() - start


class CountedRows(ClusterRows):
    """A cluster of one worker that is this process, and counts."""

    def __init__(self, *arguments: Any, clock: Clock, **facts: Any) -> None:
        super().__init__(*arguments, **facts)
        self._clock, self._parts = clock, list[Any]()

    n_workers = 1

    def read(self, raw: Any) -> None:
        """One part for each file."""
        with self._clock.running("read"):
            self._parts = [parts.packed(self._facts, [source]) for source in raw]
        self._clock.packed_bytes = _packed_bytes(self._parts)

    def read_persons(self, raw: Any, *, person: str, key: bytes, max_rows: int) -> None:
        """Not measured."""
        raise NotImplementedError("the measured tables have no persons")

    def ship(self, made: Iterable[parts.Part]) -> None:
        """Not measured."""
        raise NotImplementedError("the measured tables lie in several files")

    def facts(self) -> Mapping[int, Any]:
        """Rows and digest of every part."""
        return dict(enumerate(map(parts.facts_of, self._parts)))

    def add_column(self, facts: parts.Facts) -> None:
        """The column is computed here too."""
        with self._clock.running("prepare"):
            self._parts = [parts.prepared(facts, part) for part in self._parts]
        self._clock.prepared_columns += 1
        self._clock.packed_bytes = _packed_bytes(self._parts)

    def sums(self, facts: parts.Facts, task: Task, firsts: Sequence[int]) -> Mapping[int, Any]:
        """The sums, and what it would take to send and to add them."""
        with self._clock.running("map"):
            answers = [parts.reduced(facts, task, p, first) for p, first in zip(self._parts, firsts, strict=True)]
        with self._clock.running("measuring"):
            sent = pickle.dumps(answers[0], protocol=5)
            self._clock.task_bytes.append(len(pickle.dumps((facts, task), protocol=5)))
            self._clock.sums_bytes.append(len(sent))
            self._clock.add_seconds.append(_seconds_of(lambda: added(answers[1][1], pickle.loads(sent)[1])))
        return dict(enumerate(answers))

    def texts_by_part(self, facts: parts.Facts, names: Sequence[str]) -> Mapping[int, Any]:
        """Not measured."""
        raise NotImplementedError("the measured tables have nothing to discover")


class Counted:
    """The engine of these rows."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def open(self, data: Any, *, schema: Any, plan: Any, primitives: Any) -> CountedRows:
        """Rows that are kept in any case."""
        return CountedRows(data, schema=schema, keep=True, primitives=primitives, clock=self._clock)


def _seconds_of(work: Callable[[], object]) -> float:
    start = time.process_time()
    for _ in range(_TIMES):
        work()
    return (time.process_time() - start) / _TIMES


def _packed_bytes(of: Sequence[parts.Part]) -> int:
    return sum(values.nbytes for part in of for piece in part.pieces for values in piece.batch.values())


def measured(rows: int, columns: int) -> dict[str, Any]:
    """One release: what each of its stages took."""
    clock, total, write = _release(rows, columns)
    return {
        "rows": rows,
        "columns": columns,
        "planned_rows": PLANNED_ROWS,
        "parts": PARTS,
        "passes": len(clock.sums_bytes),
        "prepared_columns": clock.prepared_columns,
        "read_s": clock.seconds["read"],
        "map_s": clock.seconds["map"],
        "prepare_s": clock.seconds["prepare"],
        "driver_s": total - sum(clock.seconds.values()),
        "add_s": sum(clock.add_seconds) / len(clock.add_seconds),
        "task_bytes": sum(clock.task_bytes) / len(clock.task_bytes),
        "task_bytes_most": max(clock.task_bytes),
        "sums_bytes": sum(clock.sums_bytes) / len(clock.sums_bytes),
        "sums_bytes_most": max(clock.sums_bytes),
        "packed_bytes": clock.packed_bytes,
        "write_s_per_million_cells": write / ((_WRITTEN_ROWS[1] - _WRITTEN_ROWS[0]) * columns / 10**6),
    }


def _release(rows: int, columns: int) -> tuple[Clock, float, float]:
    with tempfile.TemporaryDirectory() as folder:
        raw, clock = Path(folder) / "raw", Clock()
        raw.mkdir()
        write_rows(raw, rows=rows, columns=columns, files=PARTS)
        data = opened(str(raw), schema_of(PLANNED_ROWS, columns))
        start = time.process_time()
        source = Primitives(NoiseSource(research_seed=1))
        fitted = fit_with(source, "3a-table", data, sf.Budget(1.0, 0.1 / PLANNED_ROWS), seed=1, engine=Counted(clock))
        end = time.process_time()
        written = [_written(fitted, Path(folder) / f"out-{rows}", rows) for rows in _WRITTEN_ROWS]
        return clock, end - start, written[1] - written[0]


def _written(fitted: Any, to: Path, rows: int) -> float:
    start = time.process_time()
    sf.release(fitted, to=to, rows=rows)
    return time.process_time() - start


def persons() -> dict[str, Any]:
    """Bytes of a row on the driver where rows belong to persons: while their rows are chosen, and afterwards."""
    rng, key = np.random.default_rng(0), bytes(32)
    hashes = [rng.integers(1, 2**20, size=(_PERSON_ROWS // PARTS, 2), dtype=np.uint64) for _ in range(PARTS)]
    tracemalloc.start()
    numbers = numbers_of(hashes, key=key, max_rows=4)[1]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    arrived = sum(values.nbytes for values in hashes)
    return {
        "person_rows": _PERSON_ROWS,
        "hash_bytes": arrived / _PERSON_ROWS,
        "number_bytes": numbers.nbytes / _PERSON_ROWS,
        "peak_bytes": (arrived + peak) / _PERSON_ROWS,
    }


def main() -> None:
    """One release after the other."""
    _release(160_000, 20)  # imports and compiled kernels, those too that only many rows need
    lines = []
    for work in (persons, *(partial(measured, *release) for release in RELEASES)):
        figures = {key: float(f"{v:.5g}") if isinstance(v, float) else v for key, v in work().items()}
        lines.append(json.dumps(figures))
        print(lines[-1], flush=True)
    RESULTS.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
