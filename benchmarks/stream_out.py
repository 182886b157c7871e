"""Whether memory stays flat while rows stream out: a release, its verification and samples of a million rows and of more.

Every figure comes from a process of its own. A small table is fitted first; its model is then asked for many rows.
Run: `python benchmarks/stream_out.py`, or with `--rows 1000000 100000000 --work release` for the long run.
"""

import argparse
import contextlib
import io
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench_growth import TABLE_COLUMNS, table
from timing import in_child, memory_of, report

import sfumato as sf
from sfumato.cli import app

PRIVATE_ROWS = 50_000
WORK = ("release", "verify", "parquet", "csv")


def measured(work: Callable[[], object], rows: int) -> dict[str, float]:
    """Seconds of the work, and the memory of this process at its peak."""
    start = time.perf_counter()
    peak = memory_of(work)["peak_mb"]
    return {"rows": rows, "seconds": time.perf_counter() - start, "peak_mb": peak}


def release(folder: Path, rows: int) -> dict[str, float]:
    fitted = sf.fit("3a-table", table(PRIVATE_ROWS), sf.Budget(1.0, 1e-6), seed=0)
    return measured(partial(sf.release, fitted, to=folder / str(rows), rows=rows), rows)


def verify(folder: Path, rows: int) -> dict[str, float]:
    return measured(lambda: sf.verify(folder / str(rows), rebuild=True).raise_if_bad(), rows)


def sample(suffix: str, folder: Path, rows: int) -> dict[str, float]:
    out = folder / f"more.{suffix}"
    arguments = ["sample", str(folder / "1000"), "--out", str(out), "--rows", str(rows)]
    with contextlib.redirect_stdout(io.StringIO()):  # for the JSON alone
        found = measured(lambda: app(arguments, standalone_mode=False), rows)
    out.unlink()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 4_000_000])
    parser.add_argument("--work", choices=WORK, nargs="+", default=list(WORK))
    asked = parser.parse_args()
    works = {"release": release, "verify": verify, "parquet": partial(sample, "parquet"), "csv": partial(sample, "csv")}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        in_child(release, folder, 1_000)  # for samples
        found = {name: [in_child(works[name], folder, rows) for rows in asked.rows] for name in asked.work}
    peaks = {name: [part["peak_mb"] for part in parts] for name, parts in found.items()}
    growth = {name: round(max(some) / some[0], 3) for name, some in peaks.items()}
    report({"benchmark": "stream_out", "columns": TABLE_COLUMNS, **found, "largest_over_first_peak": growth})


if __name__ == "__main__":
    main()
