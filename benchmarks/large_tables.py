"""Releases of tables that are larger than memory should be: seconds, processor seconds and peak memory of all processes, as JSON.

    python benchmarks/large_tables.py --rows 10000000 --columns 50 --engine local:4
    python benchmarks/large_tables.py --rows 1000000 3000000 10000000 --columns 20     # and how it grows

Rows are drawn piece by piece to Parquet files in a temporary folder (TMPDIR). Each release is made by a process of its own, from
these files to a release folder with as many synthetic rows. With several sizes the last line says by which power of the rows the
processor seconds grow, and what a hundred million rows would take if they went on so.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from engines import DoorsClock, digest_of, schema_of, write_rows
from timing import Watch, report, slope

import sfumato as sf
from sfumato.extending import NoiseSource

_ROWS_OF_A_FILE = 1_000_000
_MANY = 100_000_000


def child(asked: dict[str, Any]) -> dict[str, Any]:
    """One release, in and out."""
    schema, doors = schema_of(asked["rows"], asked["columns"]), DoorsClock()
    source = NoiseSource(research_seed=1)
    with Watch() as fitting:
        fitted = sf.fit("auto", asked["data"], 1.0, schema=schema, seed=1, source=source, engine=asked["engine"])
    print(
        json.dumps({"fit": fitting.told, "doors": doors.seconds}), file=sys.stderr, flush=True
    )  # if writing does not end
    with Watch() as writing:
        sf.release(fitted, to=asked["out"])
    both = {name: fitting.told[name] + writing.told[name] for name in ("seconds", "processor")}
    peak = max(fitting.told["peak_mb"], writing.told["peak_mb"])
    parts = {"fit": fitting.told, "doors": {"seconds": doors.seconds}, "write": writing.told}
    return {**both, "peak_mb": peak, **parts, "digest": digest_of(fitted)}


def run(rows: int, columns: int, engine: str, folder: Path, *, cores: str) -> dict[str, Any]:
    """Write the rows, release them, and clear up."""
    data, out = folder / "data", folder / "release"
    data.mkdir()
    with Watch() as drawing:
        write_rows(data, rows=rows, columns=columns, files=max(4, -(-rows // _ROWS_OF_A_FILE)))
    size = sum(file.stat().st_size for file in data.iterdir())
    asked = {"rows": rows, "columns": columns, "engine": engine, "data": str(data), "out": str(out)}
    command = ["taskset", "-c", cores] if cores else []
    command += [sys.executable, __file__, "--child", json.dumps(asked)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for place in (data, out):
        shutil.rmtree(place)
    told = {"rows": rows, "columns": columns, "engine": engine, "file_mb": size / 1e6, "drawn": drawing.seconds}
    return {**told, **json.loads(done.stdout.splitlines()[-1])}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    options.add_argument("--columns", type=int, default=20)
    options.add_argument("--engine", default="local")
    options.add_argument("--warm", action="store_true", help="the loops are compiled: leave out the round that does it")
    options.add_argument("--cores", default="", help="which cores releases may use, as taskset names them: 0-7")
    options.add_argument("--child", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        print(json.dumps(child(json.loads(chosen.child))))
        return
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        if not chosen.warm:
            run(
                7_000_000 // chosen.columns, chosen.columns, "local:2", Path(folder), cores=chosen.cores
            )  # compiles the loops; not counted
        for rows in chosen.rows:
            runs.append(run(rows, chosen.columns, chosen.engine, Path(folder), cores=chosen.cores))
            report({"benchmark": "large_tables", **runs[-1]})
    if len(runs) > 1:
        first, last = runs[-2:]
        each = {name: (last[name] - first[name]) / (last["rows"] - first["rows"]) for name in ("seconds", "processor")}
        more = {name: last[name] + (_MANY - last["rows"]) * by for name, by in each.items()}
        power = slope([one["rows"] for one in runs], [one["processor"] for one in runs])
        report({"benchmark": "large_tables", "columns": chosen.columns, "power": power, "a_hundred_million": more})


if __name__ == "__main__":
    main()
