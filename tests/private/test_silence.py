"""No reader says a word about a row: not by C's own stderr, nor by a warning, a log record or an exception's text."""

import ctypes
import io
import logging
import os
import subprocess
import sys
import threading
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from sfumato.errors import SourceError
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.quiet import silence
from sfumato.private.intake.sources import open_source
from sfumato.public.schema.schema import Column, Schema

SECRET = "SECRET-7781"
TABLE = Schema(
    columns=(
        Column(name="age", kind="numeric", bounds=(0, 100)),
        Column(name="town", kind="categorical", categories=("rome", "milan"), missing=True),
    )
)
PICTURES = Schema(columns=(Column(name="image", kind="image", shape=(8, 8)),))
BROKEN_TIFFS = ("tiff_lzw", "tiff_deflate", "jpeg", "group4")


def broken_tiff(compression):
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (32, 32), dtype=np.uint8))
    file = io.BytesIO()
    (picture.convert("1") if compression == "group4" else picture).save(file, "TIFF", compression=compression)
    content = bytearray(file.getvalue())
    for at in (20, 40, 100):
        content[at] ^= 0xFF
    return bytes(content)


def write_pictures(folder, *, odd):
    for at in range(3):
        Image.new("L", (8, 8), color=at).save(folder / f"{at}.png")
    for at, compression in enumerate(BROKEN_TIFFS if odd else ()):
        (folder / f"odd{at}.tif").write_bytes(broken_tiff(compression))
    if odd:
        (folder / "odd.png").write_bytes(b"\x89PNG\r\n\x1a\n" + SECRET.encode())
        (folder / "odd.gif").write_bytes(b"GIF89a" + SECRET.encode())


def read(data, schema):
    names = [column.name for column in schema.columns]
    return [conform(chunk, schema) for chunk in open_source(data, schema).chunks(names, rows=4)]


def test_broken_pictures_are_read_in_silence(tmp_path, capfd, caplog):
    write_pictures(tmp_path, odd=True)
    caplog.set_level(logging.DEBUG)
    logging.getLogger("PIL").setLevel(logging.DEBUG)
    logging.getLogger("PIL.TiffImagePlugin").setLevel(logging.DEBUG)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        images = np.concatenate([batch["image"] for batch in read(tmp_path, PICTURES)])
    assert len(images) == 9
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert not images[np.array([3, 4])].any()  # what cannot be read is blank


READS_A_PICTURE = """
import os
from pathlib import Path
from sfumato.private.intake.pictures import _read_picture
before = len(os.listdir("/proc/self/fd"))
for _ in range(3):
    _read_picture(Path("broken.tif"), (8, 8))
is_open = [fd for fd in (0, 1, 2) if os.path.exists(f"/proc/self/fd/{fd}")]
Path("found").write_text(f"{is_open} {len(os.listdir('/proc/self/fd')) - before}")
if 1 in is_open:
    os.write(1, b"still here")
"""
#: What Python does at its start where an output is closed.
CLOSES = """
import os, sys
for fd in {closed}:
    os.close(fd)
    setattr(sys, ("stdin", "stdout", "stderr")[fd], None)
"""


@pytest.mark.slow
@pytest.mark.parametrize("closed", [(), (2,), (1, 2), (0, 1, 2)])
def test_silence_leaves_the_outputs_as_they_were(tmp_path, quick_python, closed):
    """In a process of its own, whose outputs may be closed already."""
    (tmp_path / "broken.tif").write_bytes(broken_tiff("tiff_lzw"))
    if closed == (0, 1, 2):  # once as a shell does it
        (tmp_path / "script.py").write_text(READS_A_PICTURE)
        command = ["/bin/sh", "-c", f"exec {sys.executable} script.py <&- >&- 2>&-"]
    else:
        command = [quick_python, "-c", CLOSES.replace("{closed}", repr(closed)) + READS_A_PICTURE]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    expected = [fd for fd in (0, 1, 2) if fd not in closed]
    assert (tmp_path / "found").read_text() == f"{expected} 0"
    assert result.stdout == ("still here" if 1 in expected else "")
    assert result.stderr == ""


def test_what_c_keeps_back_is_thrown_away_too(capfd):
    libc = ctypes.CDLL(None)
    with silence():
        libc.printf(b"secret kept back by C\n")
        os.write(1, b"secret\n")
        os.write(2, b"secret\n")
        warnings.warn("secret", stacklevel=1)
        logging.getLogger("PIL").critical("secret")
    libc.fflush(None)
    os.write(1, b"after\n")
    assert capfd.readouterr() == ("after\n", "")
    assert logging.getLogger("PIL").isEnabledFor(logging.CRITICAL)


def test_threads_share_one_silence_and_the_last_one_ends_it(capfd):
    """A driver that waited for silence, and a worker in the same process that waited for the driver, would wait forever."""
    began, may_end = threading.Event(), threading.Event()

    def work():
        with silence():
            began.set()
            may_end.wait(10)
            os.write(2, b"secret")

    thread = threading.Thread(target=work)
    with silence():
        thread.start()
        assert began.wait(10), "it need not wait for the other one"
        os.write(1, b"secret")
    os.write(1, b"secret")  # the other one still wants it
    may_end.set()
    thread.join()
    os.write(1, b"after")
    assert capfd.readouterr() == ("after", "")


def test_threads_and_errors_end_the_silence(capfd):
    def work():
        for _ in range(50):
            try:
                with silence():
                    os.write(2, b"secret")
                    raise ValueError
            except ValueError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(2, b"after")
    assert capfd.readouterr() == ("", "after")


def test_a_line_that_is_no_text_is_left_out_in_silence(tmp_path, capfd):
    """Too many fields and no valid UTF-8 in one line."""
    plain = [b"1,rome", b"99,milan", b"5,\xff\xfe", b"\xe2\x82,rome", b"7,\xe2\x82\xac", b"8,rome"]
    odd = [*plain[:3], b"\xff" + SECRET.encode() + b",2,3", *plain[3:], b"\xe2"]
    found = []
    for lines in (plain, odd):
        (tmp_path / "t.csv").write_bytes(b"age,town\n" + b"\n".join(lines) + b"\n")
        batches = read(tmp_path / "t.csv", TABLE)
        found.append(np.concatenate([batch["age"] for batch in batches]).tolist())
    assert found[0] == found[1] == [1.0, 99.0, 5.0, 50.0, 7.0, 8.0]
    assert capfd.readouterr() == ("", "")


DAMAGE = {
    "a cut Parquet file": ("t.parquet", lambda content: content[: len(content) // 2]),
    "a Parquet file with a bad page": ("t.parquet", lambda content: content[:8] + b"\xff" * 40 + content[48:]),
    "a cut npz file": ("t.npz", lambda content: content[: len(content) // 2]),
    "an npz file with bad bytes": ("t.npz", lambda content: content.replace(SECRET.encode(), b"\xff" * len(SECRET))),
    "an npz header that is no Python": ("t.npz", lambda content: zipped({"age.npy": npy(b"{'descr': ((((" + b"\n")})),
    "an npz header of another kind": ("t.npz", lambda content: zipped({"age.npy": npy(b"{'descr': [[]]}\n")})),
    "an npz file packed in a damaged way": ("t.npz", lambda content: zipped_lzma()),
}


def npy(header):
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def zipped_lzma():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression=zipfile.ZIP_LZMA) as archive:
        archive.writestr("age.npy", npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}\n") + bytes(24))
    content = bytearray(file.getvalue())
    content[48:60] = b"\xff" * 12
    return bytes(content)


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_file_ends_in_one_sentence_for_every_dataset(tmp_path, case, capfd):
    name, damage = DAMAGE[case]
    path = tmp_path / name
    table = pa.table({"age": [1.0, 2.0, 3.0], "town": [SECRET, "rome", SECRET]})
    if name == "t.parquet":
        pq.write_table(table, path)
    else:
        np.savez(path, age=np.array([1.0, 2.0, 3.0]), town=np.array([SECRET.encode()] * 3))
    path.write_bytes(damage(path.read_bytes()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SourceError, match="not a") as caught:
            read(path, TABLE)
    assert SECRET not in str(caught.value)
    assert str(caught.value).startswith(f"{path} is not a ")
    assert capfd.readouterr() == ("", "")


def test_an_idx_file_of_impossible_size_is_refused(tmp_path):
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(b"\0\0\x08\x03" + b"\xff\xff\xff\xff" * 3 + b"12345")
    with pytest.raises(SourceError, match="is damaged"):
        read(path, PICTURES)


def test_lists_of_dates_are_no_pictures():
    """Python's dates end at the year 9999: reading such a list out would raise for one row and not for another."""
    far = pa.array([[[2**31 - 1] * 8] * 8], pa.list_(pa.list_(pa.int32())))
    dates = far.cast(pa.list_(pa.list_(pa.date32())))
    with pytest.raises(SourceError, match="column 'image'") as caught:
        read(pa.table({"image": dates}), PICTURES)
    assert "2147483647" not in str(caught.value)
