"""How a whole release grows with the rows: `sfumato release` in a process of its own, from a file of mixed columns.

The table has numbers, dates and categories, some of them missing, and a target that depends on them. It is written in
chunks, so that neither this process nor the release ever holds it whole. Seconds of the clock depend on what else the
machine does, seconds of the processor hardly; peak memory is of the release's process alone.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from timing import in_child, report, slope

ROWS = (100_000, 300_000, 1_000_000)
NUMBERS, CODES = 24, 24  # beside them a date and the target: 50 columns
CHUNK = 50_000
EPSILON = 1


def sizes_of_codes() -> list[int]:
    """Few and many categories: 2, 3, 5, 8, 12, 20, again and again."""
    return [(2, 3, 5, 8, 12, 20)[at % 6] for at in range(CODES)]


def schema_text(rows: int) -> str:
    lines = ["[dataset]", 'target = "target"', f"rows = {rows}"]
    for at in range(NUMBERS):
        kind = "integer" if at % 3 == 0 else "numeric"
        lines += [
            f"[columns.n{at}]",
            f'type = "{kind}"',
            "bounds = [-50, 150]",
            f"missing = {str(at % 4 == 0).lower()}",
        ]
    lines += ["[columns.day]", 'type = "datetime"', "bounds = [2020-01-01, 2026-01-01]"]
    for at, size in enumerate(sizes_of_codes()):
        categories = ", ".join(f'"v{code}"' for code in range(size))
        lines += [f"[columns.c{at}]", 'type = "categorical"', f"categories = [{categories}]"]
        lines += [f"missing = {str(at % 4 == 0).lower()}"]
    return "\n".join([*lines, "[columns.target]", 'type = "boolean"', ""])


def chunks(rows: int) -> Iterator["object"]:
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(rows)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        hidden = rng.normal(size=(n, 4))  # what the columns have in common
        columns = {}
        for at in range(NUMBERS):
            values = 50 + 15 * (hidden[:, at % 4] + 0.5 * rng.normal(size=n))
            values = values.round() if at % 3 == 0 else values
            columns[f"n{at}"] = np.where(rng.random(n) < 0.1, np.nan, values) if at % 4 == 0 else values
        columns["day"] = np.datetime64("2023-01-01T00:00:00") + (200 * 86_400 * hidden[:, 0]).astype("m8[s]")
        for at, size in enumerate(sizes_of_codes()):
            codes = np.clip(size / 2 + size / 5 * (hidden[:, at % 4] + rng.normal(size=n)), 0, size - 1).astype(int)
            codes = np.where(rng.random(n) < 0.1, -1, codes) if at % 4 == 0 else codes
            columns[f"c{at}"] = pd.Categorical.from_codes(codes, categories=[f"v{code}" for code in range(size)])
        columns["target"] = rng.random(n) < 1 / (1 + np.exp(1 - hidden.sum(axis=1)))
        yield pd.DataFrame(columns)


def write_table(path: str, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.endswith(".csv"):
        for at, frame in enumerate(chunks(rows)):
            frame.to_csv(path, mode="a" if at else "w", header=not at, index=False)
        return
    writer = None
    for frame in chunks(rows):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def release(data: Path, schema: Path, out: Path, *, method: str) -> dict[str, float]:
    """Run the command, and ask the system what it took."""
    command = [sys.executable, "-m", "sfumato.cli", "release", data, "--schema", schema]
    command += ["--epsilon", EPSILON, "--delta", "1e-7", "--out", out, "--method", method, "--json"]
    start = time.perf_counter()
    child = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    words = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(words.decode())
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "seconds": time.perf_counter() - start,
        "processor_seconds": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss * unit / 1e6,
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    options.add_argument("--format", choices=["parquet", "csv"], default="parquet")
    options.add_argument("--method", default="auto")
    chosen = options.parse_args()
    runs = {}
    with tempfile.TemporaryDirectory() as scratch:
        for rows in chosen.rows:
            data, schema = Path(scratch, f"{rows}.{chosen.format}"), Path(scratch, "schema.toml")
            in_child(write_table, str(data), rows)
            schema.write_text(schema_text(rows))
            runs[rows] = release(data, schema, Path(scratch, f"release-{rows}"), method=chosen.method)
            data.unlink()
    times, clock = ([run[key] for run in runs.values()] for key in ("processor_seconds", "seconds"))
    result = {
        "benchmark": "release",
        "format": chosen.format,
        "method": chosen.method,
        "columns": NUMBERS + CODES + 2,
        "runs": [{"rows": rows, **run} for rows, run in runs.items()],
        "processor_ratio": times[-1] / times[0],
        "clock_ratio": clock[-1] / clock[0],
    }
    report({**result, "slope": slope(chosen.rows, times)} if len(times) > 1 else result)


if __name__ == "__main__":
    main()
