"""A record of a CSV file is a line: whatever a line holds, the others are read as if it were not there."""

import csv
import gzip
import io

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.private.intake import csv_file, csv_lines
from sfumato.private.intake.csv_file import CsvSource

GOOD = [b"%d,town %d,%d" % (n, n % 7, n * n) for n in range(12)]
GOOD[5] = b'5,"Rome, ""the city""",25'
HEADER = b"id,town,size"

any_line = st.binary(max_size=60) | st.lists(st.sampled_from([b'"', b",", b"\r", b"\0", b"\xff", b"77", b"x"])).map(
    b"".join
)


def read(path, content: bytes, *, names=("id", "town", "size"), rows: int = 5) -> list[tuple[bytes, ...]]:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return rows_of(CsvSource(path), names, rows)


def rows_of(source: CsvSource, names, rows: int) -> list[tuple[bytes, ...]]:
    out = []
    for chunk in source.chunks(list(names), rows=rows):
        assert 0 < len(chunk[names[0]]) <= rows
        out += zip(*(chunk[name].cast("binary").to_pylist() for name in names), strict=True)
    return out


def alone(line: bytes) -> list[tuple[bytes, ...]]:
    """What one line gives by itself: written down a second time, with Python's own reader of quotes."""
    out = []
    for part in line.replace(b"\r", b"\n").split(b"\n"):
        if part.count(b'"') == 0 and part.count(b",") == 2:
            out.append(tuple(part.split(b",")))
        elif part.count(b'"') and part.count(b",") >= 2:
            text = part.decode("latin-1")
            try:
                (row,) = csv.reader(io.StringIO(text, newline=""), strict=True)
            except csv.Error:  # no strict CSV: a quote that does not close, or one that closes too early
                try:
                    csv.reader(io.StringIO(text.rstrip(), newline=""), strict=True).__next__()
                except csv.Error as error:
                    if "unexpected end" in str(error):
                        continue
                    return None
            if len(row) == 3:
                out.append(tuple(cell.encode("latin-1") for cell in row))
    return out


@given(
    line=any_line, at=st.integers(0, len(GOOD)), end=st.sampled_from([b"\n", b"\r\n", b"\r"]), block=st.integers(1, 90)
)
@example(line=b'77,"x', at=0, end=b"\n", block=1 << 20)
@example(line=b'"', at=6, end=b"\r\n", block=7)
@example(line=b'1,2,"3', at=12, end=b"\r", block=1)
def test_any_line_anywhere_leaves_the_others_as_they_are(tmp_path_factory, line, at, end, block) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_lines, "BLOCK_BYTES", block)
        before = read(path, end.join([HEADER, *GOOD[:at]]) + end)
        after = read(path, end.join([HEADER, *GOOD[at:]]) + end)
        whole = read(path, end.join([HEADER, *GOOD[:at], line, *GOOD[at:]]) + end)
    assert len(before) + len(after) == len(GOOD)
    assert whole[: len(before)] == before
    assert whole[len(whole) - len(after) :] == after
    n_lines = 1 + line.count(b"\n") + line.count(b"\r")
    assert len(GOOD) <= len(whole) <= len(GOOD) + n_lines
    expected = alone(line)
    assert expected is None or whole[len(before) : len(whole) - len(after)] == expected


def greedy(private_lines, *, mark, n_fields, wanted):
    """The broken twin: a quoted value goes on until a quote closes it, over as many lines as that takes."""
    rows = csv.reader(io.StringIO(private_lines.decode(), newline=""), delimiter=mark)
    good = [row for row in rows if len(row) == n_fields]
    return [pa.array([row[place] for row in good]) for place in wanted], 0


def test_a_reader_that_lets_a_quote_go_on_loses_the_lines_that_follow(tmp_path, monkeypatch) -> None:
    content = b"\n".join([HEADER, *GOOD[:2], b'77,"x', *GOOD[2:]])
    assert len(read(tmp_path / "t.csv", content)) == len(GOOD)
    monkeypatch.setattr(csv_file, "records_of", greedy)
    assert len(read(tmp_path / "t.csv", content)) < len(GOOD)


FILES = {
    "a byte order mark": (b"\xef\xbb\xbf" + b"\n".join([HEADER, *GOOD]) + b"\n", 12),
    "a mark before a row": (b"\n".join([HEADER, b"\xef\xbb\xbf" + GOOD[0], *GOOD[1:]]), 12),
    "old line ends": (b"\r".join([HEADER, *GOOD]), 12),
    "mixed line ends": (HEADER + b"\r\n" + b"\r".join(GOOD[:4]) + b"\n" + b"\r\n".join(GOOD[4:]), 12),
    "empty lines": (b"\n\n" + b"\n\n\r\n".join([HEADER, *GOOD]) + b"\n\n", 12),
    "cut in a record": (b"\n".join([HEADER, *GOOD])[:-5], 11),
    "cut in a quote": (b"\n".join([HEADER, *GOOD[:6]])[:-8], 5),
    "too few and too many fields": (b"\n".join([HEADER, b"1,2", *GOOD, b"1,2,3,4"]), 12),
    "a value of two lines": (b"\n".join([HEADER, b'1,"two', b'lines",3', *GOOD]), 12),
    "a quote within": (b"\n".join([HEADER, b'1,5" pipe,3', b'1,"a"b,3', *GOOD]), 14),
    "NUL bytes": (b"\n".join([HEADER, b"\0,\0,\0", b"\0" * 9, *GOOD]), 13),
    "a mark told above": (b"sep=;\n" + b"\n".join([HEADER, *GOOD[:5]]).replace(b",", b";"), 5),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_odd_files_lose_no_good_line(name, suffix, tmp_path) -> None:
    content, n_rows = FILES[name]
    found = read(tmp_path / f"t.{suffix}", content)
    assert len(found) == n_rows
    if n_rows >= 12:
        assert [row[2] for row in found][-5:] == [b"49", b"64", b"81", b"100", b"121"]


def test_fields_keep_their_bytes(tmp_path) -> None:
    rows = [b"M\xfcller,x,1", b"M\xf6ller,x,1", b"a\0b, x ,1"]
    assert [row[0] for row in read(tmp_path / "t.csv", b"\n".join([HEADER, *rows]))] == [
        b"M\xfcller",
        b"M\xf6ller",
        b"a\0b",
    ]
    swapped = read(tmp_path / "t.csv", b"\n".join([HEADER, *rows]), names=("size", "id"))
    assert swapped[2] == (b"1", b"a\0b")


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 20])
def test_a_line_beyond_the_longest_is_left_out_wherever_it_lies(tmp_path, monkeypatch, block) -> None:
    monkeypatch.setattr(csv_lines, "BLOCK_BYTES", block)
    monkeypatch.setattr(csv_lines, "LONGEST_LINE", 40)
    for size, n_rows in ((40, 13), (41, 12), (300, 12)):
        line = b"1,2," + b"3" * (size - 4)
        for at in (0, 5, 12):
            lines = [HEADER, *GOOD[:at], line, *GOOD[at:]]
            path = tmp_path / "t.csv"
            path.write_bytes(b"\r\n".join(lines))
            source = CsvSource(path)
            found = rows_of(source, ("id", "town", "size"), 5)
            assert len(found) == n_rows
            assert source.private_odd_lines == 13 - n_rows


def test_a_wide_file_of_empty_lines_takes_no_room(tmp_path) -> None:
    names = [f"x{n}" for n in range(5000)]
    (tmp_path / "t.csv").write_bytes(",".join(names).encode() + b"\n" * 900_000 + b",".join([b"1"] * 5000))
    assert len(rows_of(CsvSource(tmp_path / "t.csv"), names, 9)) == 1
