"""Files that native code writes are noticed wherever they are, and nobody else's."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pytest

from sfumato.check.instruments.files import holding, no_files, own_folders, seen_in, shared_places
from sfumato.check.instruments.watch import watched

PLANTED = np.random.default_rng(0).random(9).tobytes()


def write(path: Path | str, content: bytes = PLANTED) -> None:
    """As native code does."""
    with pa.OSFile(str(path), "wb") as file:
        file.write(content)


def test_an_audit_hook_hears_nothing_of_native_files(tmp_path) -> None:
    """Why there is more than a hook."""
    with watched() as heard:
        write(tmp_path / "file")
    assert not heard.deeds


def test_own_folders_show_what_was_written_and_what_was_deleted_again(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "public.txt").write_text("public")
    before = tempfile.gettempdir()
    with own_folders() as nothing:
        assert Path("public.txt").read_text() == "public"
    with own_folders() as written:
        write("debug.bin")
    with own_folders() as temporary:
        write(Path(tempfile.gettempdir()) / "debug.bin")
    with own_folders() as deleted:
        write("debug.bin")
        pa.fs.LocalFileSystem().delete_file("debug.bin")
    assert nothing == []
    assert written == ["debug.bin in the working folder"]
    assert temporary == ["debug.bin in the temporary folder"]
    assert deleted == ["something that was deleted again in the working folder"]
    assert (Path.cwd(), tempfile.gettempdir()) == (tmp_path, before)
    assert [path.name for path in tmp_path.iterdir()] == ["public.txt"]


def test_other_programs_may_write_where_they_like_meanwhile(tmp_path) -> None:
    """Only files that hold planted values count in a place that others use, too."""
    (tmp_path / "deep").mkdir()
    write(tmp_path / "old", PLANTED)  # it was there before
    before = seen_in([tmp_path])
    busy = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\nfor i in range(99):\n open(f'{sys.argv[1]}/{i}', 'w').write(str(i))",
            str(tmp_path),
        ]
    )
    write(tmp_path / "deep" / "debug.bin", b"header" + PLANTED)
    busy.wait()
    found = holding([PLANTED], before=before, after=seen_in([tmp_path]))
    assert found == [str(tmp_path / "deep" / "debug.bin")]


def test_a_file_that_grows_counts_as_well(tmp_path) -> None:
    write(tmp_path / "log", b"old")
    before = seen_in([tmp_path])
    write(tmp_path / "log", b"old" + PLANTED)
    assert holding([PLANTED], before=before, after=seen_in([tmp_path])) == [str(tmp_path / "log")]


def test_the_usual_places_are_among_those_that_are_searched(tmp_path) -> None:
    places = shared_places(tmp_path)
    assert {tmp_path.resolve(), Path.cwd().resolve(), Path(tempfile.gettempdir()).resolve()} <= set(places)


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no limit for files")
def test_writing_is_forbidden_and_counted_in_a_process_of_one_thread(tmp_path) -> None:
    if threading.active_count() > 1:
        pytest.skip("another thread may have to write")
    with no_files() as tries:
        with pytest.raises(OSError, match="File too large"):
            write(tmp_path / "file")
        os.write(os.open(os.devnull, os.O_WRONLY), b"nothing")
    assert tries
    write(tmp_path / "file")  # and allowed again
    with no_files() as tries:
        pass
    assert not tries


def test_other_threads_may_write(tmp_path) -> None:
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        with no_files() as tries:
            write(tmp_path / "file")
    finally:
        ended.set()
        other.join()
    assert not tries


def test_the_watch_hears_of_databases(tmp_path) -> None:
    with watched() as heard:
        sqlite3.connect(tmp_path / "debug.db").close()
    assert "sqlite3.connect" in heard.deeds


def test_the_watch_names_what_is_left_behind(tmp_path) -> None:
    with watched() as heard:
        pipe = os.pipe()
    for descriptor in pipe:
        os.close(descriptor)
    assert heard.deeds == ["a file or a connection is left open"] * 2


def test_a_library_that_looks_at_the_threads_of_others_is_no_deed() -> None:
    """scikit-learn does so whenever it fits."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with watched() as heard, threadpoolctl.threadpool_limits(1):
        pass
    assert not heard.deeds
