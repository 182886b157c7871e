"""Processes that read their own stretch of a file see the rows, and say the words, of one process that reads all of it."""

import gzip
import itertools
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_engines import COLUMNS, PERSON, measured, one_sum, rows_of

from sfumato import Schema, Sensitive
from sfumato.errors import SourceError
from sfumato.private.engines import local, worker
from sfumato.private.engines.here import HERE
from sfumato.private.engines.local import Local
from sfumato.private.intake import csv_lines
from sfumato.private.intake.csv_file import CsvSource
from sfumato.private.intake.sensitive import open_stretches

SCHEMA = Schema(columns=COLUMNS)
NAMES = [column.name for column in COLUMNS]


class Within:
    """A process that is none: it does what it is told when it is asked, through pickle."""

    made = 0

    def __init__(self):
        type(self).made += 1
        self._worker, self._messages = None, []

    def tell(self, message):
        self._messages.append((message, False))

    def send(self, message):
        self._messages.append((message, True))

    def answer(self):
        answer = (worker.DONE, None)
        for message, wants_answer in self._messages:
            if answer[0] == worker.DONE:
                answer, self._worker = worker.answered(self._worker, message)
            if wants_answer:
                self._messages.clear()
                return pickle.loads(pickle.dumps(answer))
        raise AssertionError("nobody has asked")

    def end(self):
        pass


@pytest.fixture
def processes(monkeypatch):
    """Processes for few rows, in this one."""
    monkeypatch.setattr(local, "_MANY_CELLS", 300)
    monkeypatch.setattr(local, "started", lambda n_processes: [Within() for _ in range(n_processes)])
    monkeypatch.setattr(Within, "made", 0)
    return Within


def table_of(n):
    return pa.table({name: rows_of(n)[name] for name in NAMES})


def folder_of(place, table, ends):
    """Files of several kinds and sizes, an empty one among them."""
    place.mkdir()
    for at, (first, end) in enumerate(zip([0, *ends], [*ends, len(table)], strict=True)):
        some = table.slice(first, end - first)
        if at % 3 == 1:
            pa_csv.write_csv(some, place / f"{at}.csv")
        elif at % 3 == 2:
            pa_csv.write_csv(some, whole := place.parent / "whole.csv")
            (place / f"{at}.csv.gz").write_bytes(gzip.compress(whole.read_bytes()))
        else:
            pq.write_table(some, place / f"{at}.parquet", row_group_size=max(1, len(some) // 3))
    return place


def written(kind, table, place):
    if kind == "one group":
        pq.write_table(table, place / "a.parquet")
        return place / "a.parquet"
    if kind == "many groups":
        pq.write_table(table, place / "b.parquet", row_group_size=97)
        return place / "b.parquet"
    if kind == "lines":
        pa_csv.write_csv(table, place / "c.csv")
        return place / "c.csv"
    return folder_of(place / "d", table, [0, 40, 1200, 1500, 2000])


KINDS = ("one group", "many groups", "lines", "folder")


@pytest.mark.parametrize("n_processes", [2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_each_reads_its_own_and_the_answers_are_the_same(kind, n_processes, tmp_path, processes, monkeypatch) -> None:
    place = written(kind, table_of(2500), tmp_path)
    whole = measured(HERE, place)
    monkeypatch.setattr(local.LocalRows, "_read_and_hand_out", None)  # the driver reads nothing
    assert measured(Local(n_processes), place) == whole
    assert processes.made == n_processes - 1, "this process is one of them"


@pytest.mark.slow
def test_real_processes_too(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(local, "_MANY_CELLS", 300)
    place = written("folder", table_of(2500), tmp_path)
    assert measured(Local(2), place) == measured(HERE, place)


def test_rows_without_their_place_would_show(tmp_path, processes, monkeypatch) -> None:
    """A twin: every process counts its rows from 0, so that several rows share their coins."""
    place = written("many groups", table_of(2500), tmp_path)
    whole = measured(HERE, place)
    monkeypatch.setattr(worker.Worker, "begin_at", lambda self, first: None)
    assert measured(Local(2), place) != whole


@settings(max_examples=40, deadline=None)
@given(
    lines=st.lists(
        st.text(alphabet=st.sampled_from('ab",\n\r "'), max_size=12) | st.just("1.5,a") | st.just("x" * 40), max_size=60
    ),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    n=st.integers(2, 6),
)
def test_lines_are_cut_where_they_end(lines, end, n, tmp_path_factory) -> None:
    place = tmp_path_factory.mktemp("lines") / "a.csv"
    place.write_bytes(("x,c" + end + end.join(lines)).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_lines, "BLOCK_BYTES", 7)
        patch.setattr(csv_lines, "LONGEST_LINE", 20)
        source = CsvSource(place, wanted=NAMES)
        size = source.private_size
        cuts = [size * at // n for at in range(n + 1)]
        parts = [source] if size < n else [source.between(a, b) for a, b in itertools.pairwise(cuts)]
        assert [row for part in parts for row in texts(part)] == texts(source)


def texts(source):
    chunks = ([chunk[name].to_pylist() for name in NAMES] for chunk in source.chunks(NAMES, rows=5))
    return [row for columns in chunks for row in zip(*columns, strict=True)]


def test_stretches_are_about_as_long_and_follow_each_other(tmp_path) -> None:
    table = table_of(1000)
    place = tmp_path / "a.parquet"
    pq.write_table(table, place, row_group_size=64)
    parts = open_stretches(Sensitive.read(place, SCHEMA), stretches=3, least=10)
    read = [np.concatenate([chunk["x"].to_numpy() for chunk in part.chunks(["x"], rows=50)]) for part in parts]
    assert [len(values) for values in read] == [333, 333, 334]
    assert np.array_equal(np.concatenate(read), table["x"].to_numpy())


@pytest.mark.parametrize("what", ["few", "packed", "arrays", "persons"])
def test_what_cannot_be_cut_is_read_by_the_driver(what, tmp_path, processes) -> None:
    table, place = table_of(400), tmp_path / "a.csv"
    pa_csv.write_csv(table, place)
    data, schema = place, SCHEMA
    if what == "packed":
        (tmp_path / "a.csv.gz").write_bytes(gzip.compress(place.read_bytes()))
        data = tmp_path / "a.csv.gz"
    if what == "arrays":
        data = rows_of(400)
    if what == "persons":
        pq.write_table(pa.table(rows_of(400)), data := tmp_path / "a.parquet")
        schema = Schema(columns=COLUMNS, unit=PERSON)
    least = 10**6 if what == "few" else 10
    assert open_stretches(Sensitive.read(data, schema), stretches=2, least=least) == []


# What must not pass, in the same words.


def refusal_of(engine, data):
    view = one_sum(engine, data)
    with pytest.raises(SourceError) as caught:
        view.noisy_sum("sum", lambda batch: {"x": batch["x"]})
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_changes_before_it_is_read_ends_the_release(kind, tmp_path, processes) -> None:
    place = written(kind, table_of(2000), tmp_path)
    opened = [Sensitive.read(place, SCHEMA) for _ in range(2)]
    changed = place / "1.csv" if place.is_dir() else place
    changed.write_bytes(changed.read_bytes()[:-1] + b" ")
    here, there = (refusal_of(engine, data) for engine, data in zip((HERE, Local(2)), opened, strict=True))
    assert here == there
    assert "was changed while it was read" in there


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_changes_while_others_read_it_ends_the_release(kind, tmp_path, processes, monkeypatch) -> None:
    place = written(kind, table_of(2000), tmp_path)
    data, real = Sensitive.read(place, SCHEMA), Within.answer
    last = sorted(place.iterdir())[-1] if place.is_dir() else place

    def late(self):
        last.write_bytes(last.read_bytes() + b" ")  # this process has read its own, the second begins
        return real(self)

    monkeypatch.setattr(Within, "answer", late)
    assert "was changed while it was read" in refusal_of(Local(2), data)


def test_a_file_that_comes_or_goes_ends_the_release(tmp_path, processes, monkeypatch) -> None:
    place = written("folder", table_of(2000), tmp_path)
    data, real = Sensitive.read(place, SCHEMA), Within.answer

    def late(self):
        pq.write_table(table_of(3), place / "9.parquet")
        return real(self)

    monkeypatch.setattr(Within, "answer", late)
    assert "came or went" in refusal_of(Local(2), data)


def test_of_two_damaged_files_the_first_is_named(tmp_path, processes) -> None:
    place = tmp_path / "d"
    place.mkdir()
    for at in range(4):
        pq.write_table(table_of(500), file := place / f"{at}.parquet")
        if at in (1, 3):  # its first pages, not its footer
            content = bytearray(file.read_bytes())
            content[4:2000] = bytes(1996)
            file.write_bytes(content)
    here, there = (refusal_of(engine, Sensitive.read(place, SCHEMA)) for engine in (HERE, Local(2)))
    assert here == there
    assert "1.parquet" in there


def test_rows_are_read_here_where_a_process_cannot_read_a_map(tmp_path, processes, monkeypatch) -> None:
    place = written("many groups", table_of(2000), tmp_path)
    whole = measured(HERE, place)
    monkeypatch.setattr(worker, "answered", lambda made, _: ((worker.UNREADABLE, None), made))
    assert measured(Local(2), place) == whole
