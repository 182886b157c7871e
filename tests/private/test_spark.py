"""Rows on Spark: the same measurements as in one process, whatever happens to workers; and no value where others can read it."""

import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import schemas
import travelling
from sfumato import Budget, PrivacyUnit, Sensitive
from sfumato.errors import EngineError, SfumatoError, SourceError
from sfumato.extending import NoiseSource, Step
from sfumato.private.discovering import discover
from sfumato.private.engines import spark as engine
from sfumato.private.engines.choose import engine_of
from sfumato.private.engines.here import HERE
from sfumato.private.engines.spark_session import started
from sfumato.private.intake.sensitive import with_key
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.view import View
from sfumato.public.plan.plan import make_plan

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: make test-spark runs these")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java: Spark's tests are skipped"),
]

ALONE = Path(travelling.__file__).with_name("spark_alone.py")
BUDGET = Budget(epsilon=1.0, delta=1e-6)
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
N_ROWS = 3000
OF_PERSONS = replace(travelling.SCHEMA, unit=PrivacyUnit(person="who", max_rows=2))
EVERYONE = (Step(name="everyone", blocks=(travelling.X,)),)


@pytest.fixture(scope="module")
def session() -> Iterator:
    """One session for all tests, made as the package makes one: a start takes half a minute."""
    made, is_new = started("local[2,4]")
    made.sparkContext.addPyFile(travelling.__file__)
    yield made
    if is_new:
        made.stop()


@cache
def table() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    x = np.round(rng.normal(size=N_ROWS), 3)
    x[::17] = np.nan
    return pd.DataFrame(
        {
            "x": x,
            "c": rng.choice(list("abcd"), N_ROWS),
            "y": rng.choice(["true", "false"], N_ROWS),
            "who": rng.integers(N_ROWS // 3, size=N_ROWS),
        }
    )


def frame(session, *cuts: int, n_rows: int = N_ROWS):
    """A Spark frame whose partitions end at these rows."""
    ends = [0, *cuts, n_rows]
    rows = [list(table().iloc[a:b].itertuples(index=False, name=None)) for a, b in pairwise(ends)]
    rdd = session.sparkContext.parallelize(rows, len(rows)).flatMap(list)
    return session.createDataFrame(rdd, "x double, c string, y string, who long")


def folder(tmp_path):
    for at, rows in enumerate(np.array_split(np.arange(N_ROWS), 5)):
        table().iloc[rows].to_parquet(tmp_path / f"{at}.parquet")
    return tmp_path


def view_of(data, asked, *, schema=travelling.SCHEMA, steps=travelling.ROWS) -> View:
    plan = make_plan(steps, budget=BUDGET, unit=schema.unit, rows=schema.rows)
    private = with_key(Sensitive.read(data, schema), b"k" * 32)
    return View(private, plan=plan, primitives=Primitives(NoiseSource(research_seed=1)), schema=schema, engine=asked)


def measured(data, asked, *, schema=travelling.SCHEMA, steps=travelling.ROWS):
    view = view_of(data, asked, schema=schema, steps=steps)
    try:
        return travelling.ask(view, steps)
    finally:
        view.close()


@cache
def expected(schema, steps):
    return measured(table(), HERE, schema=schema, steps=steps)


def assert_same(one, two) -> None:
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


ASKED = {"rows": (travelling.SCHEMA, travelling.ROWS), "persons": (OF_PERSONS, travelling.PERSONS)}
SOURCES = {
    "seven partitions, two of them empty": lambda session, _: frame(session, 300, 301, 301, 900, 901, 2999),
    "one huge partition": lambda session, _: frame(session),
    "files": lambda _, tmp_path: folder(tmp_path),
    "memory": lambda *_: table(),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_door_gives_what_one_process_gives(session, tmp_path, source) -> None:
    data = SOURCES[source](session, tmp_path)
    assert_same(measured(data, engine_of(session)), expected(travelling.SCHEMA, travelling.ROWS))
    assert session.conf.get(BATCH) == "10000"  # as it was


@pytest.mark.parametrize("source", SOURCES)
def test_persons_are_whole_wherever_their_rows_lie(session, tmp_path, source) -> None:
    data = SOURCES[source](session, tmp_path)
    found = measured(data, engine_of(session), schema=OF_PERSONS, steps=travelling.PERSONS)
    assert_same(found, expected(OF_PERSONS, travelling.PERSONS))


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(n_rows=50, cuts=[0, 7, 7, 8], asked="persons")
@example(n_rows=9, cuts=[9, 9, 4], asked="rows")
@given(n_rows=st.integers(1, 60), cuts=st.lists(st.integers(0, 60), max_size=5), asked=st.sampled_from(sorted(ASKED)))
def test_however_a_frame_is_cut_the_answers_are_the_same(session, n_rows, cuts, asked) -> None:
    """Partitions without a row, at either end too, and with a single one; everyone, coins, mixtures, bins, choices, persons."""
    schema, steps = ASKED[asked]
    data = frame(session, *sorted(min(cut, n_rows) for cut in cuts), n_rows=n_rows)
    found = measured(data, engine_of(session), schema=schema, steps=steps)
    assert_same(found, measured(table().iloc[:n_rows], HERE, schema=schema, steps=steps))


@pytest.mark.parametrize("is_cached", [False, True])
def test_many_tiny_partitions_become_a_few_tasks(session, is_cached) -> None:
    """Of a cached frame, Spark knows where partitions lie, and puts together those that do not follow each other."""
    data = frame(session, *range(100, N_ROWS, 100))
    view = view_of(data.cache() if is_cached else data, engine_of(session), steps=EVERYONE)
    view.noisy_sum("everyone", travelling.numbers)
    rows = view._View__rows
    assert rows._packed.rdd.getNumPartitions() == rows._n_parts
    assert is_cached or len(rows._blobs) == rows._n_parts
    assert_same(view.answers.integers, measured(table(), HERE, steps=EVERYONE))
    view.close()
    data.unpersist()


def test_ten_thousand_partitions_most_of_them_empty(session) -> None:
    data = session.range(0, 3000, 1, 10_000).selectExpr("id % 7 / 4 x", "'a' c", "'true' y")
    here = pd.DataFrame({"x": np.arange(3000) % 7 / 4, "c": "a", "y": "true"})
    assert data.rdd.getNumPartitions() == 10_000
    assert_same(measured(data, engine_of(session), steps=EVERYONE), measured(here, HERE, steps=EVERYONE))


def test_a_spark_frame_is_read_by_one_process_too_whatever_its_columns_are_called(session) -> None:
    names = {"x": "a.b", "c": "A", "y": "a", "who": "`"}
    columns = tuple(replace(column, name=names[column.name]) for column in travelling.COLUMNS)
    schema = replace(travelling.SCHEMA, columns=columns, target="a")
    data = frame(session, 1000, 1001).toDF(*names.values())
    chunks = list(Sensitive.read(data, schema)._Sensitive__source.chunks(["a", "a.b", "A"], rows=700))
    assert [len(chunk["a"]) for chunk in chunks] == [700, 300, 1, 700, 700, 599]
    for name, ours in (("a.b", "x"), ("A", "c"), ("a", "y")):
        read = [value for chunk in chunks for value in chunk[name].to_pylist()]
        pd.testing.assert_series_equal(pd.Series(read, name=ours), table()[ours], check_dtype=False)


def test_discovery_finds_the_same_texts_and_bounds(session) -> None:
    raw = schemas.open_rows()
    data = session.createDataFrame(pd.DataFrame(raw)).repartitionByRange(3, "patient").sortWithinPartitions("patient")
    found = []
    for source, asked in ((raw, HERE), (data, engine_of(session))):
        private = with_key(Sensitive.read(source, schemas.OPEN), b"k" * 32)
        primitives = Primitives(NoiseSource(research_seed=1))
        found.append(discover(private, budget=Budget(epsilon=3.0, delta=1e-6), primitives=primitives, engine=asked))
    assert found[0].schema == found[1].schema
    assert_same(found[0].answers.integers, found[1].answers.integers)


def test_a_worker_that_is_killed_in_the_middle_of_a_task_changes_nothing(session, tmp_path) -> None:
    marker = tmp_path / "killed"
    view = view_of(frame(session, 700, 1400), engine_of(session), steps=EVERYONE)
    view.noisy_sum("everyone", travelling.KillsOnce(marker, os.getpid()))
    assert marker.exists()
    assert_same(view.answers.integers, measured(table(), HERE, steps=EVERYONE))
    view.close()


def test_a_part_that_is_evicted_and_read_otherwise_is_refused(session, tmp_path) -> None:
    file = tmp_path / "shift"
    file.write_text("0")
    data = (
        frame(session, 700).select("x", "c", "y").mapInArrow(travelling.Shifted(file), "x double, c string, y string")
    )
    view = view_of(data, engine_of(session), steps=(replace(EVERYONE[0], uses=2),))
    view.noisy_sum("everyone", travelling.numbers)
    file.write_text("0.5")
    session.catalog.clearCache()
    with pytest.raises(EngineError, match="not the same when it was read again"):
        view.noisy_sum("everyone", travelling.numbers)
    assert session.conf.get(BATCH) == "10000"
    view.close()


def test_no_value_reaches_an_output_or_an_error(session, capfd) -> None:
    private = frame(session, 700).fillna({"x": 3.25})
    view = view_of(private, engine_of(session), steps=EVERYONE)
    view.noisy_sum("everyone", travelling.Loud(os.getpid()))
    view.close()
    fails = private.selectExpr("cast('secret-' || who as double) x", "c", "y")
    with pytest.raises(SfumatoError) as raised:
        measured(fails, engine_of(session), steps=EVERYONE)
    with pytest.raises(SourceError) as read_here:
        list(Sensitive.read(fails, travelling.SCHEMA)._Sensitive__source.chunks(["x"], rows=100))
    said = "".join(capfd.readouterr()) + "".join(
        "".join(traceback.format_exception(error.value)) for error in (raised, read_here)
    )
    assert "3.25" not in said
    assert "secret-" not in said
    assert raised.value.__context__ is None
    assert "frame.count()" in str(raised.value)
    assert session.conf.get(BATCH) == "10000"


def test_a_column_of_another_type_is_refused_by_its_type(session) -> None:
    data = frame(session).selectExpr("array(x) x", "c", "y")
    with pytest.raises(SourceError, match="cannot be read as numbers or texts"):
        measured(data, engine_of(session), steps=EVERYONE)


def test_a_worker_with_other_versions_is_refused(session) -> None:
    view = view_of(table(), engine_of(session), steps=EVERYONE)
    rows = view._View__rows
    rows._facts = replace(rows._facts, software={**rows._facts.software, "numpy": "0.1"})
    with pytest.raises(EngineError, match="Install the same versions everywhere"):
        view.noisy_sum("everyone", travelling.numbers)
    view.close()


def test_a_session_that_is_open_is_used_and_not_stopped(session) -> None:
    assert_same(measured(table(), engine_of("spark"), steps=EVERYONE), measured(table(), HERE, steps=EVERYONE))
    assert not session.sparkContext._jsc.sc().isStopped()
    with pytest.raises(EngineError, match=r"a session of local\[2,4\] is open"):
        view_of(table(), engine_of("spark:local[3]"))
    assert session.conf.get("spark.ui.enabled") == "false"
    assert session.conf.get("spark.io.encryption.enabled") == "true"


@pytest.mark.parametrize("is_encrypted", ["true", "false"])
def test_rows_lie_on_a_disk_only_where_it_is_encrypted(session, monkeypatch, is_encrypted) -> None:
    conf = session.sparkContext.getConf().set("spark.io.encryption.enabled", is_encrypted)
    monkeypatch.setattr(type(session.sparkContext), "getConf", lambda self: conf)
    view = view_of(table(), engine_of(session), steps=EVERYONE)
    view.noisy_sum("everyone", travelling.numbers)
    level = view._View__rows._packed.storageLevel
    view.close()
    assert (level.useDisk, level.useMemory, level.deserialized) == (is_encrypted == "true", True, True)


@pytest.mark.parametrize("what", ["executor", "own"])
def test_in_a_process_of_its_own(what, tmp_path) -> None:
    """An executor is killed with tasks in flight, under a log of events; and a session that the engine makes ends with it."""
    environment = {**os.environ, "PYTHONPATH": str(ALONE.parent), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, str(ALONE), what, str(tmp_path)],
        env=environment,
        capture_output=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert b"3.12345" not in done.stdout + done.stderr


def test_a_frame_without_a_column_of_the_schema_is_a_sentence(session) -> None:
    with pytest.raises(SourceError, match="no column for 'c' of the schema"):
        view_of(frame(session).drop("c"), engine_of(session))


# What is said where there is no Spark to speak of: no session is needed.


@pytest.fixture
def nothing_open(monkeypatch) -> None:
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)


def test_without_pyspark_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(EngineError, match=r"pip install 'sfumato\[spark\]'"):
        view_of(table(), engine_of("spark"))


def test_without_java_a_sentence_says_so(monkeypatch, nothing_open) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineError, match="no java on the PATH"):
        view_of(table(), engine_of("spark"))


def test_a_master_that_does_not_answer_is_named(nothing_open) -> None:
    with pytest.raises(EngineError, match=r"no Spark master answers at spark://127\.0\.0\.1:1"):
        view_of(table(), engine_of("spark:spark://127.0.0.1:1"))


def test_a_session_that_is_stopped_is_refused() -> None:
    stopped = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))  # what stop() leaves
    with pytest.raises(EngineError, match="has been stopped"):
        view_of(table(), engine.Spark(session=stopped))
