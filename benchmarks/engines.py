"""One release by several engines in one run: seconds, memory of all processes, and whether the measurements are the same.

    python benchmarks/engines.py --rows 1000000 --columns 50 --engines local:1 local:2
    python benchmarks/engines.py --dataset mnist --engines local:2 local:8
    python benchmarks/engines.py --rows 10000000 --columns 20 --files 16 --engines local dask spark

Each release is made by a process of its own, and the engines take turns. What is timed is `fit`, from the first row read to the
built model; the start of a cluster is timed apart. Prints JSON lines, then the ratios to the first engine.
"""

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.extending import NoiseSource

CATEGORIES = tuple("abcdefgh")
_ROWS_AT_ONCE = 250_000


def schema_of(rows: int, columns: int) -> sf.Schema:
    """Half numbers, half categories, and a target."""
    numbers = columns // 2
    made = [sf.Column(name=f"x{at}", kind="numeric", bounds=(-4, 4)) for at in range(numbers)]
    made += [sf.Column(name=f"c{at}", kind="categorical", categories=CATEGORIES) for at in range(columns - numbers - 1)]
    return sf.Schema(columns=(*made, sf.Column(name="y", kind="boolean")), target="y", rows=rows)


def write_rows(folder: Path, *, rows: int, columns: int, files: int) -> None:
    """A table drawn piece by piece, in so many files."""
    names, start = [column.name for column in schema_of(rows, columns).columns], 0
    for file, end in enumerate(rows * (at + 1) // files for at in range(files)):
        with pq.ParquetWriter(folder / f"{file:04d}.parquet", _arrow(0, 0, names).schema) as writer:
            while start < end:
                size = min(_ROWS_AT_ONCE, end - start)
                writer.write_table(_arrow(start, size, names))
                start += size


def _arrow(start: int, size: int, names: list[str]) -> pa.Table:
    rng = np.random.default_rng(start)
    common = rng.normal(size=size)
    columns: dict[str, Any] = {}
    for at, name in enumerate(names[:-1]):
        values = 0.6 * common + rng.normal(size=size)
        columns[name] = values if name[0] == "x" else np.array(CATEGORIES)[np.digitize(values, np.linspace(-2, 2, 7))]
        common = common if at % 7 else 0.5 * common + rng.normal(size=size)
    columns[names[-1]] = np.where(0.7 * columns["x0"] + columns["x1"] + rng.logistic(size=size) > 0, "true", "false")
    return pa.table(columns)


def child(asked: dict[str, Any]) -> dict[str, Any]:
    """One release."""
    if asked["dataset"]:
        from sfumato.lab.benchmark import load

        loaded = load(asked["dataset"])
        data, schema = loaded.train, loaded.schema
    else:
        data, schema = asked["folder"], schema_of(asked["rows"], asked["columns"])
    begun = time.perf_counter()
    engine, close = connected(asked["engine"])
    started, busy = time.perf_counter(), time.process_time()
    fitted = sf.fit("auto", data, 1.0, schema=schema, seed=1, source=NoiseSource(research_seed=1), engine=engine)
    ended = time.perf_counter()
    close()
    digest = hashlib.sha256()
    for name, values in sorted(fitted.answers.integers.items()):
        digest.update(name.encode() + values.tobytes())
    unit = 1 if sys.platform == "darwin" else 1024
    own, others = (
        resource.getrusage(who).ru_maxrss * unit / 1e6 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return {
        "engine": asked["engine"],
        "seconds": ended - started,
        "start": started - begun,
        "processor_here": time.process_time() - busy,
        "peak_mb_here": own,
        "peak_mb_of_a_worker": others,
        "digest": digest.hexdigest()[:16],
    }


def connected(name: str) -> tuple[Any, Any]:
    """An engine, and how to end it: clusters are made before the clock runs."""
    if name.startswith("dask"):
        import distributed

        workers = int(name.partition(":")[2] or len(os.sched_getaffinity(0)))
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
        )
        client = distributed.Client(cluster)
        client.run(__import__, "sfumato")
        return client, lambda: (client.close(), cluster.close())
    if name.startswith("spark"):
        from pyspark.sql import SparkSession

        cores = name.partition(":")[2] or "*"
        session = SparkSession.builder.master(f"local[{cores}]").config("spark.ui.enabled", "false").getOrCreate()
        session.range(4).mapInArrow(lambda batches: batches, "id long").collect()
        return session, session.stop
    return name, lambda: None


def main() -> None:
    """Make the rows once, then one release after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--dataset", default="")
    parser.add_argument("--engines", nargs="+", default=["local:1", "local:2"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(json.loads(options.child))))
        return
    runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in options.engines}
    with tempfile.TemporaryDirectory() as folder:
        if not options.dataset:
            write_rows(Path(folder), rows=options.rows, columns=options.columns, files=options.files)
        for _ in range(options.rounds):
            for engine in options.engines:
                made = {"rows": options.rows, "columns": options.columns}
                shape = {"dataset": options.dataset} if options.dataset else {**made, "dataset": ""}
                asked = json.dumps({**shape, "folder": folder, "engine": engine})
                done = subprocess.run(
                    [sys.executable, __file__, "--child", asked], stdout=subprocess.PIPE, text=True, check=True
                )
                runs[engine].append(json.loads(done.stdout.splitlines()[-1]))
                print(json.dumps({**shape, **runs[engine][-1]}), flush=True)
    seconds = {engine: statistics.median(run["seconds"] for run in of) for engine, of in runs.items()}
    first = seconds[options.engines[0]]
    same = len({run["digest"] for of in runs.values() for run in of}) == 1
    print(json.dumps({"times as fast": {e: first / s for e, s in seconds.items()}, "same measurements": same}))


if __name__ == "__main__":
    main()
