"""Time and memory of a release of persons with events: as many persons, and events of each, as are asked for.

    python benchmarks/many_persons.py --persons 1000000 --events 10

Prints one line of JSON. Events lie in random order in a Parquet file, so that they have to be brought together.
"""

import argparse
import json
import resource
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf

SCHEMA = """
[dataset]
target = "died"
rows = {persons}

[tables.patients]
key = "patient"

[tables.patients.columns.age]
type = "integer"
bounds = [0, 100]

[tables.patients.columns.sex]
type = "categorical"
categories = ["f", "m"]

[tables.patients.columns.died]
type = "boolean"

[tables.visits]
parent = "patients"
order = "day"
kind = "test"
max_rows = {most}

[tables.visits.columns.day]
type = "integer"
bounds = [0, 3650]

[tables.visits.columns.test]
type = "categorical"
categories = ["blood", "heart", "lungs"]

[tables.visits.columns.value]
type = "numeric"
bounds = [0, 100]
"""


def write_data(folder: Path, persons: int, events: int, seed: int = 0) -> int:
    """Two files, the second written in parts; returns the number of events."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, persons)
    patients = {"patient": np.arange(persons), "age": age, "sex": rng.choice(["f", "m"], persons)}
    pq.write_table(pa.table({**patients, "died": rng.random(persons) < age / 150}), folder / "patients.parquet")
    own = rng.normal(50, 12, persons).astype(np.float32)
    n_events, writer = persons * events, None
    for start in range(0, n_events, 1 << 20):
        size = min(1 << 20, n_events - start)
        whose, kind = rng.integers(0, persons, size), rng.integers(0, 3, size)
        value = np.clip(own[whose] + 8.0 * kind + rng.normal(0, 4, size), 0, 100)
        columns = {"patient": whose, "day": rng.integers(0, 3650, size), "value": value}
        table = pa.table({**columns, "test": np.array(["blood", "heart", "lungs"])[kind]})
        writer = writer or pq.ParquetWriter(folder / "visits.parquet", table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    return n_events


class Memory:
    """The most memory that this process and its children have in use together, looked at twice a second."""

    def __init__(self) -> None:
        self.most, self._ended = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        import psutil

        while not self._ended.wait(0.5):
            mine = psutil.Process()
            seen = 0
            for process in (mine, *mine.children(recursive=True)):
                try:
                    seen += process.memory_full_info().pss
                except psutil.Error:
                    continue
            self.most = max(self.most, seen / 2**30)


def _processor_seconds() -> float:
    """Of this process, and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    """Release, write the folder, and say what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=12_000)
    parser.add_argument("--events", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        n_events = write_data(folder, options.persons, options.events)
        schema = sf.Schema.parse(SCHEMA.format(persons=options.persons, most=2 * options.events))
        seconds, before = {}, _processor_seconds()
        with Memory() as memory:
            start = time.perf_counter()
            fitted = sf.fit("auto", folder, 1.0, schema=schema)
            seconds["fit"] = round(time.perf_counter() - start, 1)
            made = sf.release(fitted, to=folder / "release")
            seconds["all"] = round(time.perf_counter() - start, 1)
        seconds["processor"] = round(_processor_seconds() - before, 1)
        released = pq.read_metadata(made.path / "synthetic.visits.parquet").num_rows
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found = {"persons": options.persons, "events": n_events, "released_events": released, "seconds": seconds}
    print(json.dumps({**found, "gb": round(memory.most, 2), "gb_of_one_process": round(largest, 2)}))


if __name__ == "__main__":
    main()
