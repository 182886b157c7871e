"""Tables and queries of DuckDB, SQLite and PostgreSQL: one snapshot, one order, no word of a driver."""

import sqlite3
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from postgres_server import programs, running
from sfumato.errors import MissingLibraryError, PrivacyError, SourceError
from sfumato.mechanisms import DPMix
from sfumato.private.intake import databases
from sfumato.private.intake.drafts import draft_schema
from sfumato.private.intake.same_rows import Digest, SameRows
from sfumato.private.intake.sensitive import open_batches
from sfumato.private.intake.tables import ArraySource

SECRET = "zq7secret"
SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="x", kind="numeric", bounds=(0, 100), missing=True),
        sf.Column(name="ward", kind="categorical", categories=("north", "south"), missing=True),
    ),
    rows=40,
)
N_ROWS = 40
ROWS = [(at % 13, float(at * 7 % 100), ("north", "south", SECRET)[at % 3]) for at in range(N_ROWS)]
KINDS = ("duckdb", "sqlite", "postgresql")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the extra adbc is not installed")
    if (bin := programs()) is None:
        pytest.skip("no PostgreSQL is installed here: its tests are skipped")
    with running(bin) as (url, _), dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("create table visits (who bigint, x double precision, ward text)")
        cursor.execute(f"insert into visits values {', '.join(map(str, ROWS))}")
        yield url


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return request.getfixturevalue("server")
    path = tmp_path / f"clinic.{request.param}"
    if request.param == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="the extra duckdb is not installed")
        with duckdb.connect(str(path)) as connection:
            connection.execute("create table visits (who bigint, x double, ward text)")
            connection.executemany("insert into visits values (?, ?, ?)", ROWS)
    else:
        connection = sqlite3.connect(path)
        connection.execute("create table visits (who integer, x real, ward text)")
        connection.executemany("insert into visits values (?, ?, ?)", ROWS)
        connection.commit()
        connection.close()
    return str(path)


def rows_of(data: sf.Sensitive, rows: int = 7) -> pd.DataFrame:
    batches = list(open_batches(data, rows=rows))
    assert all(len(batch["x"]) <= rows for batch in batches)
    return pd.DataFrame({name: np.concatenate([batch[name] for batch in batches]) for name in ("x", "ward")})


def by_value(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sort_values(["x", "ward"]).reset_index(drop=True)


@pytest.mark.parametrize(
    "asked",
    [
        {"table": "visits"},
        {"sql": "select * from visits;"},
        {"sql": "with v as (select * from visits) select ward, x from v -- all of them"},
        {"sql": "select x, ward from visits", "order_by": ["x"]},
        {"table": "visits", "order_by": "x"},
    ],
    ids=str,
)
def test_a_table_and_a_query_give_the_rows(database: str, asked: dict) -> None:
    data = sf.Sensitive.read(sf.Query(database, **asked), SCHEMA)
    memory = pd.DataFrame(ROWS, columns=["who", "x", "ward"])
    expected = by_value(rows_of(sf.Sensitive.read(memory, SCHEMA)))
    pd.testing.assert_frame_equal(by_value(rows_of(data)), expected)
    pd.testing.assert_frame_equal(rows_of(data, 7), rows_of(data, 1000))


def test_the_order_does_not_depend_on_which_columns_are_read(database: str) -> None:
    data = sf.Sensitive.read(sf.Query(database, table="visits"), SCHEMA)
    alone = sf.Sensitive.read(sf.Query(database, table="visits"), sf.Schema(columns=SCHEMA.columns[:1]))
    only = np.concatenate([batch["x"] for batch in open_batches(alone, rows=9)])
    np.testing.assert_array_equal(only, rows_of(data)["x"])


def test_persons_of_a_database(database: str) -> None:
    schema = sf.Schema(columns=SCHEMA.columns, rows=40, unit=sf.PrivacyUnit(person="who", max_rows=2))
    assert len(rows_of(sf.Sensitive.read(sf.Query(database, table="visits"), schema))) == 26


def test_a_fit_repeats_with_a_seeded_source(database: str) -> None:
    from sfumato.private.kernel.randomness import NoiseSource

    def measured(data: object) -> list[bytes]:
        source, read = NoiseSource(research_seed=5), sf.Sensitive.read(data, SCHEMA)
        fitted = sf.fit("independent-histograms", read, sf.Budget(epsilon=1.0, delta=1e-6), seed=0, source=source)
        return [np.asarray(value).tobytes() for value in fitted.answers.integers.values()]

    assert measured(sf.Query(database, table="visits")) == measured(pd.DataFrame(ROWS, columns=["who", "x", "ward"]))


REFUSED = {
    "insert into visits values (1, 2, 'north')": "must be one SELECT",
    "delete from visits": "must be one SELECT",
    "select 1; select 2": "must be one SELECT",
    "select x, ward from visits) as q; drop table visits; --": "must be one SELECT",
    "": "must be one SELECT",
    "selec x": "must be one SELECT",
    "select x, x, ward from visits": "names a column twice",
    "select x from visits": "no column for 'ward' of the schema",
    "select x, cast(ward as integer) as ward from visits": "did not give all rows|NO FAULT OF SQLITE",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_no_plain_select_is_refused_without_a_word_of_the_driver(database: str, sql: str) -> None:
    if "cast" in sql and database.endswith("sqlite"):
        assert len(rows_of(sf.Sensitive.read(sf.Query(database, sql), SCHEMA))) == N_ROWS  # which casts whatever comes
        return
    with pytest.raises(SourceError, match=REFUSED[sql]) as refusal:
        rows_of(sf.Sensitive.read(sf.Query(database, sql), SCHEMA))
    assert SECRET not in "".join(traceback.format_exception(refusal.value))
    assert refusal.value.__context__ is None
    assert len(rows_of(sf.Sensitive.read(sf.Query(database, table="visits"), SCHEMA))) == N_ROWS


def test_other_rows_the_second_time_end_the_release(database: str) -> None:
    half = "0.5" if not database.endswith("sqlite") else "0"
    data = sf.Sensitive.read(sf.Query(database, f"select x, ward from visits where random() > {half}"), SCHEMA)
    rows_of(data)
    with pytest.raises(SourceError, match="gave other rows, or another order, when it was read again"):
        rows_of(data)


def test_the_passes_see_one_snapshot(database: str, request: pytest.FixtureRequest) -> None:
    data = sf.Sensitive.read(sf.Query(database, table="visits"), SCHEMA)
    assert len(rows_of(data)) == N_ROWS
    if database.startswith("postgresql"):
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(database, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("insert into visits values (99, 99, 'north')")
            assert len(rows_of(data)) == N_ROWS
            cursor.execute("delete from visits where who = 99")
    elif database.endswith("sqlite"):
        writer = sqlite3.connect(database, timeout=0.1)
        with pytest.raises(sqlite3.OperationalError, match="locked"), writer:
            writer.execute("insert into visits values (99, 99, 'north')")
        writer.close()
    else:
        import duckdb

        with pytest.raises(duckdb.Error):
            duckdb.connect(database)
    assert len(rows_of(data)) == N_ROWS


def test_which_tables_there_are_is_said(database: str) -> None:
    for data in (database, sf.Query(database, table="visit")):
        with pytest.raises(SourceError, match="It has: visits") as refusal:
            sf.Sensitive.read(data, SCHEMA)
        assert "hunter2" not in str(refusal.value)
    assert "hunter2" not in repr(sf.Query(database, table="visits"))
    with pytest.raises(SourceError, match="order_by names 'when'"):
        sf.Sensitive.read(sf.Query(database, table="visits", order_by="when"), SCHEMA)


def test_a_draft_from_a_database(database: str) -> None:
    draft = draft_schema(sf.Query(database, table="visits"))
    assert '"ward" = ' in draft
    assert SECRET not in draft


def test_a_known_partition_of_sorted_rows_is_refused(database: str) -> None:
    schema = sf.Schema(columns=SCHEMA.columns, rows=40, unit=sf.PrivacyUnit(relation="replace_one"))
    data = sf.Sensitive.read(sf.Query(database, table="visits"), schema)
    with pytest.raises(PrivacyError, match="in the order of their values"):
        sf.fit(DPMix(sampling="known_partition", mixtures=4), data, sf.Budget(epsilon=5.0, delta=1e-6))


def test_a_server_that_goes_away() -> None:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the extra adbc is not installed")
    if (bin := programs()) is None:
        pytest.skip("no PostgreSQL is installed here: its tests are skipped")
    with running(bin) as (url, stop):
        with dbapi.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("create table visits as select x, repeat('n', 500) as ward from generate_series(1, 60000) x")
        data = sf.Sensitive.read(sf.Query(url, table="visits", order_by="x"), SCHEMA)
        batches = open_batches(data, rows=1000)
        assert len(next(batches)["x"]) == 1000
        stop()  # with most of the rows still on their way
        with pytest.raises(SourceError, match="did not give all rows") as gone:
            list(batches)
        with pytest.raises(SourceError, match="cannot be reached") as nobody:
            sf.Sensitive.read(sf.Query(url, table="visits"), SCHEMA)
    for refusal in (gone.value, nobody.value):
        assert "hunter2" not in str(refusal)
        assert refusal.__context__ is None


@pytest.mark.parametrize(
    ("module", "name", "extra"), [("duckdb", "c.duckdb", "duckdb"), ("adbc", "postgresql://h/d", "adbc")]
)
def test_a_driver_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str, extra: str
) -> None:
    def nothing(asked: str) -> None:
        raise ImportError(asked)

    monkeypatch.setattr(databases.importlib, "import_module", nothing)
    monkeypatch.chdir(tmp_path)
    Path("c.duckdb").write_bytes(b"........DUCK....")
    with pytest.raises(MissingLibraryError, match=rf"pip install 'sfumato\[{extra}\]'"):
        sf.Sensitive.read(sf.Query(name, table="visits"), SCHEMA)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("x,ward\n")
    with pytest.raises(SourceError, match="is no database of DuckDB or SQLite"):
        sf.Sensitive.read(tmp_path / "a.db", SCHEMA)
    with pytest.raises(SourceError, match="does not exist"):
        sf.Sensitive.read(sf.Query(tmp_path / "b.db", table="visits"), SCHEMA)
    for both in ({}, {"sql": "select 1", "table": "visits"}):
        with pytest.raises(SourceError, match="either a table or a query"):
            sf.Query("a.db", **both)


def test_a_text_that_is_no_utf8_touches_its_row_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("create table v (x, ward)")
    connection.execute("insert into v values (1, 'north'), ('two', 'south'), (3, cast(x'ff' as text)), (x'00', null)")
    connection.commit()
    connection.close()
    rows = rows_of(sf.Sensitive.read(sf.Query(tmp_path / "a.db", table="v"), SCHEMA))
    assert len(rows) == 4
    assert {1.0, 3.0} <= set(rows["x"])


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None, 0]),
        pa.array([1.5, None, float("nan")]),
        pa.array(["a", None, "", "bc"]),
        pa.array([True, None, False]),
        pa.array([[1], None, []]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        np.array([1, "1", b"1", None], dtype=object),
    ],
    ids=str,
)
def test_a_digest_follows_values_and_not_chunks(values: object) -> None:
    def digest(*chunks: object) -> bytes:
        made = Digest()
        for chunk in chunks:
            made.add(chunk)
        return made.value()

    assert digest(values) == digest(values[:1], values[1:]) == digest(values[:2], values[2:])
    assert (
        len({digest(values), digest(values[:-1]), digest(values[1:]), digest(values[::-1] if len(values) > 0 else 0)})
        >= 3
    )


def test_a_column_that_changes_is_noticed_whichever_is_asked_for() -> None:
    columns = {"x": np.array([1.0, 2.0]), "ward": np.array(["a", "b"], dtype=object)}
    source = SameRows(ArraySource(columns), needed=("x", "ward"), what="it")
    list(source.chunks(["x"], rows=1))
    columns["ward"][1] = "c"
    with pytest.raises(SourceError, match="it gave other rows"):
        list(source.chunks(["x"], rows=2))
