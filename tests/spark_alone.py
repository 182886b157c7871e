"""Spark in a process of its own: executors that are killed, sessions that the engine makes, an event log that is read.

Run by test_spark.py: a process has one JVM, whose outputs and master cannot be changed any more.
"""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import travelling
from sfumato import Budget, Sensitive
from sfumato.extending import NoiseSource, Step
from sfumato.private.engines.choose import engine_of
from sfumato.private.engines.here import HERE
from sfumato.private.engines.spark_session import _SETTINGS
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.view import View
from sfumato.public.plan.plan import make_plan

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: make test-spark runs these")

#: A value that no other number in a log is likely to look like.
SECRET = 3.123456789
STEPS = (Step(name="everyone", blocks=(travelling.X,), uses=2),)


@dataclass(frozen=True)
class KillsExecutor:
    """The numbers; but the first executor that is asked for them is killed, while another task of it runs."""

    marker: Path
    driver: int

    def __call__(self, batch):
        if os.getpid() != self.driver and not self.marker.exists():
            self.marker.touch()
            os.kill(parent(os.getppid()), signal.SIGKILL)  # this process is a daemon's, and the daemon an executor's
        return travelling.numbers(batch)


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def rows():
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=999), SECRET)
    return {"x": x, "c": rng.choice(list("abcd"), 1000), "y": rng.choice(["true", "false"], 1000)}


def measured(data, engine, per_record=travelling.numbers):
    plan = make_plan(STEPS, budget=Budget(epsilon=1.0, delta=1e-6), unit=travelling.SCHEMA.unit, rows=3000)
    primitives = Primitives(NoiseSource(research_seed=1))
    private = Sensitive.read(data, travelling.SCHEMA)
    view = View(private, plan=plan, primitives=primitives, schema=travelling.SCHEMA, engine=engine)
    for _ in range(2):
        view.noisy_sum("everyone", per_record)
    view.close()
    return {name: values.tolist() for name, values in view.answers.integers.items()}


def executor(folder: Path) -> None:
    """On two executors with a log of events."""
    import spark_alone  # by its name, under which an executor finds the class

    (folder / "events").mkdir()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local-cluster[2,1,700]").config("spark.executor.memory", "600m")
    events = {"enabled": "true", "compress": "false", "dir": f"file://{folder}/events"}
    for name, value in {**_SETTINGS, **{f"spark.eventLog.{name}": value for name, value in events.items()}}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.addPyFile(travelling.__file__)
    session.sparkContext.addPyFile(__file__)
    pd.DataFrame(rows()).to_parquet(folder / "rows.parquet")
    frame = session.read.parquet(str(folder / "rows.parquet"))
    marker = folder / "killed"
    found = measured(frame, engine_of(session), spark_alone.KillsExecutor(marker, os.getpid()))
    session.stop()
    assert marker.exists(), "an executor was killed"
    assert found == measured(rows(), HERE)
    logged = b"".join(file.read_bytes() for file in (folder / "events").rglob("*") if file.is_file())
    assert b"SparkListenerTaskEnd" in logged, "there is a log"
    assert b"ExecutorRemoved" in logged, "in which an executor ended"
    assert b"3.12345" not in logged


def own(folder: Path) -> None:
    """A session that the engine makes, which ends with the release."""
    assert measured(rows(), engine_of("spark:local[2]")) == measured(rows(), HERE)
    assert pyspark.SparkContext._active_spark_context is None, "it was stopped"


if __name__ == "__main__":
    {"executor": executor, "own": own}[sys.argv[1]](Path(sys.argv[2]))
