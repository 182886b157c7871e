"""Rows that do not fit into memory lie on a disk that nobody can read, and come back as they were."""

import os
import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from test_engines import HERE, PERSON, measured, rows_of

from sfumato.errors import SourceError
from sfumato.private.rows import batches
from sfumato.private.rows.room import Room
from sfumato.private.rows.scratch import Scratch


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.one_of(
            arrays(np.uint8, st.integers(0, 70)),
            arrays(np.float32, st.tuples(st.integers(0, 9), st.integers(1, 4))),
            arrays(np.int64, st.integers(0, 33)),
        ),
        max_size=6,
    )
)
def test_arrays_come_back_as_they_were(values) -> None:
    scratch = Scratch()
    places = [scratch.put(array) for array in values]
    for array, place in reversed(list(zip(values, places, strict=True))):
        back = scratch.get(place)
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(back, array)
    scratch.close()


def content_of(scratch: Scratch) -> bytes:
    return os.pread(scratch._file.fileno(), 1 << 20, 0)


def test_the_disk_holds_no_row_and_no_word_of_the_key_stream_twice() -> None:
    scratch = Scratch()
    for _ in range(50):
        scratch.put(np.zeros(100, dtype=np.uint8))  # of zeros the key stream itself is written
    content = content_of(scratch)
    blocks = np.frombuffer(content[: len(content) // 8 * 8], dtype=np.uint64)
    written = blocks[blocks > 0]
    assert len(np.unique(written)) == len(written)
    text = np.frombuffer(b"a private row" * 99, dtype=np.uint8)
    scratch.put(text)
    assert b"private" not in content_of(scratch)
    other = Scratch()
    other.put(np.zeros(100, dtype=np.uint8))
    assert content_of(other)[:100] != content_of(scratch)[:100], "every file has a key of its own"


def test_the_file_has_no_name(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch = Scratch()
    scratch.put(np.arange(9))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_sentence(monkeypatch) -> None:
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(SourceError, match="TMPDIR"):
        Scratch().put(np.arange(9))


def test_no_folder_for_temporary_files_is_a_sentence(monkeypatch) -> None:
    """What a process without any folder to write to raises, before the first row is written."""

    def nowhere(*_, **__):
        raise FileNotFoundError(2, "No usable temporary directory found in ['/private/rows']")

    monkeypatch.setattr(tempfile, "TemporaryFile", nowhere)
    with pytest.raises(SourceError, match="TMPDIR") as caught:
        Scratch()
    assert caught.value.__context__ is None


def test_writes_that_take_several_calls(monkeypatch) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, content, offset: real(file, content[:7], offset))
    scratch = Scratch()
    place = scratch.put(np.arange(99))
    np.testing.assert_array_equal(scratch.get(place), np.arange(99))


def test_memory_comes_first_and_prepared_columns_count() -> None:
    room = Room(most_bytes=1000)
    one = room.keep({"x": np.zeros(100, dtype=np.uint8)})
    assert isinstance(one.places["x"], np.ndarray)
    two = room.joined(one, "prepared", np.zeros(300, dtype=np.float32))
    assert not isinstance(two.places["prepared"], np.ndarray)
    np.testing.assert_array_equal(two["prepared"], np.zeros(300, dtype=np.float32))
    three = room.keep({"x": np.ones(1, dtype=np.uint8)})
    assert not isinstance(three.places["x"], np.ndarray), "behind the first that did not fit, nothing is kept here"
    room.close()


@pytest.mark.parametrize("unit", [None, PERSON])
def test_the_doors_answer_the_same_from_scratch(unit, monkeypatch) -> None:
    raw = rows_of(4000)
    whole = measured(HERE, raw, unit=unit)
    monkeypatch.setattr("sfumato.private.rows.room.MOST_BYTES", 4000)
    assert measured(HERE, raw, unit=unit) == whole


def test_a_column_that_takes_the_place_of_another_has_its_room() -> None:
    room, column = Room(most_bytes=300), np.zeros(100, dtype=np.uint8)
    kept = room.keep({"x": column, "prepared": column})
    for _ in range(9):
        kept = room.joined(kept, "prepared", column)
    assert all(isinstance(place, np.ndarray) for place in kept.places.values())
    assert not isinstance(room.joined(kept, "more", np.zeros(101, dtype=np.uint8)).places["more"], np.ndarray)


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 5), st.integers(1, 3)),
        elements=st.floats(width=32) | st.integers(0, 70_000),
    )
)
def test_prepared_columns_come_back_to_the_last_bit(values) -> None:
    small = batches._in_few_bits(values)
    assert np.array_equal(small.astype(np.float32).view(np.uint32), values.view(np.uint32))
    is_whole = not np.signbit(values).any() and (values == np.trunc(values)).all() and values.max() < 2**16
    assert small.itemsize <= 2 if is_whole else small.dtype == np.float32
