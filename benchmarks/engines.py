"""One release by several engines in one run: seconds, memory of all processes, and whether the measurements are the same.

    python benchmarks/engines.py --rows 1000000 --columns 50 --engines local:1 local:2
    python benchmarks/engines.py --dataset mnist --engines local:2 local:8
    python benchmarks/engines.py --rows 10000000 --columns 20 --files 16 --engines local dask spark

Each release is made by a process of its own, and the engines take turns. What is timed is `fit`, from the first row read to the
built model, and within it the doors; the start of a cluster is timed apart. Memory and processor seconds are those of all
processes. Prints JSON lines, then the ratios to the first engine.
"""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from timing import Watch

import sfumato as sf
from sfumato.extending import NoiseSource
from sfumato.private.view import View

CATEGORIES = tuple("abcdefgh")
_ROWS_AT_ONCE = 250_000
_FEW = 20_000


def schema_of(rows: int, columns: int) -> sf.Schema:
    """Half numbers, half categories, and a target."""
    numbers = columns // 2
    made = [sf.Column(name=f"x{at}", kind="numeric", bounds=(-4, 4)) for at in range(numbers)]
    made += [sf.Column(name=f"c{at}", kind="categorical", categories=CATEGORIES) for at in range(columns - numbers - 1)]
    return sf.Schema(columns=(*made, sf.Column(name="y", kind="boolean")), target="y", rows=rows)


def write_rows(folder: Path, *, rows: int, columns: int, files: int) -> None:
    """A table drawn piece by piece, in so many files, several at a time."""
    ends = [rows * at // files for at in range(files + 1)]
    places = [folder / f"{at:04d}.parquet" for at in range(files)]
    with ProcessPoolExecutor(min(files, len(os.sched_getaffinity(0)))) as pool:
        list(pool.map(partial(_write_file, columns), places, ends, ends[1:]))


def _write_file(columns: int, place: Path, start: int, end: int) -> None:
    names = [column.name for column in schema_of(1, columns).columns]
    with pq.ParquetWriter(place, _arrow(0, 0, names).schema) as writer:
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


def data_of(asked: dict[str, Any]) -> tuple[Any, sf.Schema]:
    """The rows of a benchmark, or a folder of drawn ones, and their schema."""
    if not asked["dataset"]:
        return asked["folder"], schema_of(asked["rows"], asked["columns"])
    from sfumato.lab.benchmark import load

    loaded = load(asked["dataset"])
    return {name: values[: asked.get("few")] for name, values in loaded.train.items()}, loaded.schema


def child(asked: dict[str, Any]) -> dict[str, Any]:
    """One release."""
    data, schema = data_of(asked)
    begun = time.perf_counter()
    engine, close = connected(asked["engine"])
    started, busy, doors = time.perf_counter(), time.process_time(), DoorsClock()
    with Watch() as watch:
        fitted = sf.fit("auto", data, 1.0, schema=schema, seed=1, source=NoiseSource(research_seed=1), engine=engine)
    busy = time.process_time() - busy
    close()
    return {
        "engine": asked["engine"],
        **watch.told,
        "doors": doors.seconds,
        "start": started - begun,
        "processor_here": busy,
        "digest": digest_of(fitted),
    }


def digest_of(fitted: sf.Fitted) -> str:
    """Of all that came out of the doors."""
    digest = hashlib.sha256()
    for name, values in sorted(fitted.answers.integers.items()):
        digest.update(name.encode() + values.tobytes())
    return digest.hexdigest()[:16]


class DoorsClock:
    """Seconds of the clock within doors, from the first row read on; what lies between two doors is public work."""

    def __init__(self) -> None:
        self.seconds = 0.0
        for name in ("prepare", "noisy_sum", "noisy_mixtures", "noisy_choice"):
            setattr(View, name, self._timed(getattr(View, name)))

    def _timed(self, door: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(door)
        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return door(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - start

        return timed


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
        from sfumato.private.engines.spark_session import started

        session, _ = started(f"local[{name.partition(':')[2] or '*'}]")
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
    parser.add_argument("--warm", action="store_true", help="the loops are compiled: leave out the round that does it")
    parser.add_argument("--cores", default="", help="which cores releases may use, as taskset names them: 0-7")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(json.loads(options.child))))
        return
    runs: dict[str, list[dict[str, Any]]] = {engine: [] for engine in options.engines}
    with tempfile.TemporaryDirectory() as folder:
        if not options.dataset:
            write_rows(Path(folder), rows=options.rows, columns=options.columns, files=options.files)
        if not options.warm:
            _warm_up(Path(folder, "warm"), options)
        for _ in range(options.rounds):
            for engine in options.engines:
                made = {"rows": options.rows, "columns": options.columns}
                shape = {"dataset": options.dataset} if options.dataset else {**made, "dataset": ""}
                runs[engine].append(_run({**shape, "folder": folder, "engine": engine}, cores=options.cores))
                print(json.dumps({**shape, **runs[engine][-1]}), flush=True)
    told = {"same measurements": len({run["digest"] for of in runs.values() for run in of}) == 1}
    for name, what in (("times as fast", "seconds"), ("doors, times as fast", "doors")):
        seconds = {engine: statistics.median(run[what] for run in of) for engine, of in runs.items()}
        told[name] = {engine: seconds[options.engines[0]] / s for engine, s in seconds.items()}
    print(json.dumps(told))


def _warm_up(folder: Path, options: argparse.Namespace) -> None:
    """A round that is not counted: it compiles the loops, those of workers too."""
    _run({**few_rows(folder, options), "folder": str(folder), "engine": "local:2"}, cores=options.cores)
    shutil.rmtree(folder)


def few_rows(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What a round is made of that only compiles: as many cells as workers are asked for."""
    folder.mkdir()
    if options.dataset:
        return {"dataset": options.dataset, "few": _FEW}
    rows = 7_000_000 // options.columns
    write_rows(folder, rows=rows, columns=options.columns, files=1)
    return {"dataset": "", "rows": rows, "columns": options.columns}


def _run(asked: dict[str, Any], *, cores: str) -> dict[str, Any]:
    """One release by a process of its own."""
    command = ["taskset", "-c", cores] if cores else []
    command += [sys.executable, __file__, "--child", json.dumps(asked)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
