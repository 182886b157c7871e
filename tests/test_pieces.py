"""Rows flow piece by piece: the same rows as in one piece where they are few, and never many of them at once."""

import errno
import io
import json
import re
import tracemalloc
import weakref
import zipfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import forger
import schemas
import sfumato as sf
from command_line import run
from sfumato import pieces
from sfumato.check.instruments.rows import made_up, read
from sfumato.errors import ModelError, ReleaseError
from sfumato.folder.contents import archive_of, sha256_of
from sfumato.folder.disk import whole_file
from sfumato.folder.rows import TableWriter, read_pieces, settled
from sfumato.mechanisms import DPMix
from sfumato.mechanisms.table.model import TableModel
from sfumato.model import Model, Synthetic
from sfumato.pieces import draw_pieces, joined, piece_sizes

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
REBUILT = "the synthetic rows are what the doors' integers give with the certificate's seed, to the last bit"
TO_THE_BYTE = "report.html is, to the byte, the page that certificate, schema, rows and answers give"


@pytest.fixture(scope="module")
def histograms() -> sf.Fitted:
    return sf.fit("independent-histograms", read(made_up(schemas.TABLE, n_rows=300, seed=1), schemas.TABLE), BUDGET)


@pytest.fixture(scope="module")
def table() -> sf.Fitted:
    return sf.fit("3a-table", forger.sensitive(forger.TABLE), BUDGET)


@pytest.fixture(scope="module")
def clusters() -> sf.Fitted:
    return sf.fit("clustmix", forger.sensitive(forger.PICTURES), BUDGET)


@pytest.fixture(scope="module")
def mixtures() -> sf.Fitted:
    return sf.fit(DPMix(mixtures=60, degree=30), forger.sensitive(forger.PICTURES), BUDGET)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of at most a hundred rows."""
    monkeypatch.setattr(pieces, "PIECE", 100)


def same(a: Synthetic, b: Synthetic) -> bool:
    tables = (a.table is None and b.table is None) or a.table.equals(b.table)
    arrays = a.arrays.keys() == b.arrays.keys() and all(np.array_equal(a.arrays[k], b.arrays[k]) for k in a.arrays)
    return tables and arrays and a.classes == b.classes


@pytest.mark.parametrize("n_rows", [1, 99, 100, 101, 200, 1_000, 1_001, 12_345])
def test_pieces_are_even_and_none_is_too_large(few: None, n_rows: int) -> None:
    sizes = piece_sizes(n_rows)
    assert sum(sizes) == n_rows
    assert max(sizes) <= 100
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == -(-n_rows // 100)


def test_no_rows_are_refused(histograms: sf.Fitted) -> None:
    with pytest.raises(ModelError, match="0 rows were asked for"):
        joined(draw_pieces(histograms.sampled, 0, schema=histograms.schema, seed=0))


def test_each_piece_has_randomness_of_its_own_and_the_first_is_the_models(few: None, histograms: sf.Fitted) -> None:
    model = histograms.sampled
    some = list(draw_pieces(model, 1_000, schema=model.schema, seed=5))
    assert same(some[0], model.sample(100, seed=5))
    for at, piece in enumerate(some):
        assert not any(same(piece, other) for other in some[:at])
    assert same(joined(some), joined(draw_pieces(model, 1_000, schema=model.schema, seed=5)))
    assert not same(some[1], list(draw_pieces(model, 1_000, schema=model.schema, seed=6))[1])


@pytest.mark.parametrize("kind", ["histograms", "table", "clusters", "mixtures"])
def test_a_release_of_many_pieces_gets_its_tick(kind: str, few: None, tmp_path: Path, request) -> None:
    fitted = request.getfixturevalue(kind)
    n_rows = 60 if kind == "mixtures" else 450
    pieces.PIECE = 25 if kind == "mixtures" else 100
    release = sf.release(fitted, to=tmp_path / "release", rows=n_rows)
    found = sf.verify(release.path, rebuild=True)
    assert found.ok, found.problems
    assert found.different == 0
    assert REBUILT in found.checked
    assert TO_THE_BYTE in found.checked
    assert release.certificate.rows == release.n_rows == n_rows
    assert same(release.synthetic(), settled(fitted.sample(n_rows)))
    if kind in ("histograms", "table"):
        footer = pq.read_metadata(release.path / "synthetic.parquet")
        assert [footer.row_group(at).num_rows for at in range(footer.num_row_groups)] == [90] * 5
        assert "the first 90 of them" in (release.path / "report.html").read_text()
        assert f"These {n_rows} rows" in (release.path / "report.html").read_text()
    else:
        with np.load(release.path / "synthetic.npz") as arrays:
            assert all(len(arrays[name]) == n_rows for name in ("images", "labels", "soft_labels"))


def test_labels_that_wait_on_the_disk_are_the_same(few: None, clusters: sf.Fitted, tmp_path: Path, monkeypatch) -> None:
    in_memory = sf.release(clusters, to=tmp_path / "memory", rows=450)
    monkeypatch.setattr("sfumato.folder.rows._WAITING", 64)
    on_disk = sf.release(clusters, to=tmp_path / "disk", rows=450)
    assert in_memory.certificate.files == on_disk.certificate.files


def test_few_rows_are_written_as_pandas_and_numpy_write_them(
    histograms: sf.Fitted, mixtures: sf.Fitted, tmp_path: Path
) -> None:
    """One piece is, to the byte, what version 0.2.0 wrote: so its certificates verify."""
    path = sf.release(histograms, to=tmp_path / "table", rows=450).path
    once, twice = io.BytesIO(), io.BytesIO()
    histograms.sampled.sample(450, seed=histograms.certificate.seed).table.to_parquet(once, index=False)
    pd.read_parquet(once).to_parquet(twice, index=False)
    assert (path / "synthetic.parquet").read_bytes() == twice.getvalue()
    path = sf.release(mixtures, to=tmp_path / "pictures").path
    rows, archive = mixtures.sampled.rows, io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as written:
        for name, values in {**rows.arrays, "classes": np.array(rows.classes)}.items():
            array = io.BytesIO()
            np.save(array, values)
            written.writestr(zipfile.ZipInfo(f"{name}.npy"), array.getvalue())
    assert (path / "synthetic.npz").read_bytes() == archive.getvalue()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_sampled_files_hold_all_pieces(few: None, histograms: sf.Fitted, tmp_path: Path, suffix: str) -> None:
    release = sf.release(histograms, to=tmp_path / "release", rows=450)
    out = tmp_path / f"more.{suffix}"
    told = json.loads(
        run("sample", str(release.path), "--out", str(out), "--rows", "1000", "--seed", "3", "--json").stdout
    )
    assert told["rows"] == 1_000
    drawn, whole = joined(draw_pieces(histograms.sampled, 1_000, schema=histograms.schema, seed=3)).table, io.BytesIO()
    if suffix == "csv":
        drawn.to_csv(whole, index=False)
        assert out.read_bytes() == whole.getvalue()
    else:
        assert pd.read_parquet(out).equals(settled(Synthetic(table=drawn)).table)


def test_sampled_pictures_hold_all_pieces(few: None, clusters: sf.Fitted, tmp_path: Path) -> None:
    release = sf.release(clusters, to=tmp_path / "release", rows=150)
    out = tmp_path / "more.npz"
    run("sample", str(release.path), "--out", str(out), "--rows", "450", "--seed", "3")
    drawn = joined(draw_pieces(clusters.sampled, 450, schema=clusters.schema, seed=3))
    with np.load(out) as arrays:
        assert all(np.array_equal(arrays[name], values) for name, values in drawn.arrays.items())
        assert tuple(arrays["classes"]) == drawn.classes


class Alive:
    """How many rows of tables are alive, and the most that were."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def watch(self, frame: pd.DataFrame) -> None:
        self._add(len(frame))
        weakref.finalize(frame, self._add, -len(frame))

    def _add(self, rows: int) -> None:
        self.now += rows
        self.most = max(self.most, self.now)


@dataclass(frozen=True)
class Watched:
    """A model of which every table is watched, and one that fails in some piece if it is asked to."""

    model: Model
    alive: Alive = field(default_factory=Alive)
    failure: BaseException | None = None
    fails_at: int = 3
    drawn: list[int] = field(default_factory=list)

    @property
    def default_rows(self) -> int:
        return 1

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        self.drawn.append(n_rows)
        if self.failure is not None and len(self.drawn) == self.fails_at:
            raise self.failure
        rows = self.model.sample(n_rows, seed=seed)
        self.alive.watch(rows.table)
        return rows


def watched(fitted: sf.Fitted, **how: object) -> sf.Fitted:
    return sf.Fitted(
        fitted.mechanism, fitted.schema, fitted.plan, fitted.answers, Watched(fitted.sampled, **how), fitted.certificate
    )


def test_a_piece_is_gone_before_the_next_but_one_is_drawn(
    few: None, histograms: sf.Fitted, tmp_path: Path, monkeypatch
) -> None:
    """Or before the next but five where several are drawn beside each other, which changes no row."""
    for n_threads, most in ((1, 200), (8, 600)):
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", n_threads)
        fitted = watched(histograms)
        release = sf.release(fitted, to=tmp_path / f"by {n_threads}", rows=2_000)
        assert fitted.model.drawn == [100] * 20
        assert fitted.model.alive.most <= most
    assert sf.verify(release.path, rebuild=True).ok
    assert (release.path / "synthetic.parquet").read_bytes() == (tmp_path / "by 1" / "synthetic.parquet").read_bytes()


def test_reading_holds_one_piece(few: None, histograms: sf.Fitted, tmp_path: Path) -> None:
    release, alive = sf.release(histograms, to=tmp_path / "release", rows=1_000), Alive()
    for piece in read_pieces(release.path / "synthetic.parquet"):
        alive.watch(piece.table)
    del piece
    assert alive.now == 0
    assert alive.most <= 200


def peak_of(work) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_rows(histograms: sf.Fitted, tmp_path: Path, monkeypatch) -> None:
    """Arrow's own buffers are not traced: `benchmarks/stream_out.py` measures all of the memory."""
    monkeypatch.setattr(pieces, "PIECE", 20_000)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 1)  # two pieces or twelve: as many of them at once
    sf.verify(sf.release(histograms, to=tmp_path / "first", rows=100).path, rebuild=True)  # whatever is made once
    written, checked = list[int](), list[int]()
    for n_rows in (40_000, 240_000):
        to = tmp_path / str(n_rows)
        written.append(peak_of(partial(sf.release, histograms, to=to, rows=n_rows)))
        checked.append(peak_of(partial(sf.verify, to, rebuild=True)))
        assert sf.verify(to, rebuild=False).ok
    assert written[1] < 1.15 * written[0]
    assert checked[1] < 1.15 * checked[0]


@pytest.mark.parametrize(
    "failure",
    [KeyboardInterrupt("stopped"), RuntimeError("no memory"), OSError("libgomp.so.1"), ModelError("diverged")],
)
def test_a_failure_between_two_pieces_leaves_nothing(
    few: None, histograms: sf.Fitted, tmp_path: Path, failure: BaseException, recwarn
) -> None:
    """Nothing, and a failure of the model is not told as one of the disk."""
    with pytest.raises(type(failure), match=str(failure)):
        sf.release(watched(histograms, failure=failure), to=tmp_path / "release", rows=450)
    assert list(tmp_path.iterdir()) == []
    old = sf.release(histograms, to=tmp_path / "release", rows=7)
    with pytest.raises(type(failure)):
        sf.release(watched(histograms, failure=failure), to=tmp_path / "release", rows=450, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    assert old.n_rows == 7
    assert [str(warning.message) for warning in recwarn.list] == []


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_sample_that_fails_between_two_pieces_leaves_nothing(
    few: None, histograms: sf.Fitted, tmp_path: Path, suffix: str, monkeypatch
) -> None:
    release = sf.release(histograms, to=tmp_path / "release", rows=450)
    out, model = tmp_path / f"more.{suffix}", Watched(histograms.sampled, failure=ModelError("diverged"))
    monkeypatch.setattr(sf.Release, "model", lambda self: model)
    done = run("sample", str(release.path), "--out", str(out), "--rows", "450")
    assert done.exit_code != 0
    assert "diverged" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


@pytest.mark.parametrize("kind", ["histograms", "clusters"])
@pytest.mark.parametrize("after", [0, 1, 3, 6])
def test_a_disk_that_fills_in_the_middle_leaves_nothing(
    few: None, kind: str, after: int, tmp_path: Path, monkeypatch, request, recwarn
) -> None:
    written = []

    class Full(io.FileIO):
        def write(self, data) -> int:
            written.append(len(data))
            if len(written) > after:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    real = Path.open

    def opened(self: Path, mode: str = "r", *args: object, **options: object):
        return Full(self, mode) if mode == "wb" else real(self, mode, *args, **options)

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(ReleaseError, match="the disk is full"):
        sf.release(request.getfixturevalue(kind), to=tmp_path / "release", rows=450)
    assert len(written) > after
    assert list(tmp_path.iterdir()) == []
    assert [str(warning.message) for warning in recwarn.list] == []


def test_a_disk_that_takes_a_few_bytes_at_a_time_gets_all_of_them(tmp_path: Path, monkeypatch) -> None:
    class Slow(io.FileIO):
        def write(self, data) -> int:
            return super().write(data[:3])

    monkeypatch.setattr("sfumato.folder.disk.io.FileIO", Slow)
    with whole_file(tmp_path / "file") as file:
        assert file.write(b"0123456789") == 10
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_pieces_of_other_types_are_refused() -> None:
    with TableWriter(io.BytesIO()) as writer:
        writer.add(Synthetic(table=pd.DataFrame({"x": [1]})))
        with pytest.raises(ModelError, match="of other names or types"):
            writer.add(Synthetic(table=pd.DataFrame({"x": [1.5]})))


def put_last(folder: forger.Forged, change) -> None:
    """Change the last piece of a released table, and every hash and page with it."""
    path = folder.path / "synthetic.parquet"
    *others, last = (piece.table for piece in read_pieces(path))
    file = io.BytesIO()
    with TableWriter(file) as writer:
        for part in (*others, change(last)):
            writer.add(Synthetic(table=part))
    first, released = Synthetic(table=others[0]), sf.load_release(folder.path)
    folder.put("synthetic.parquet", file.getvalue())
    page = forger.report_of(released.certificate, schema=folder.schema, synthetic=first, answers=released.answers)
    folder.put("report.html", page)


def older(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(age=np.where(np.arange(len(table)) == len(table) - 1, 140, table["age"]))


def swapped(table: pd.DataFrame) -> pd.DataFrame:
    return table.iloc[::-1].reset_index(drop=True)


def one_fewer(table: pd.DataFrame) -> pd.DataFrame:
    return table.iloc[:-1]


def another_town(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(town=table["town"].cat.rename_categories({"Pisa": "Anna"}))


@pytest.mark.parametrize(
    ("change", "rebuild", "reason"),
    [
        (older, False, "'age' holds a value beyond its bounds"),
        (another_town, False, "'town' has other categories"),
        (one_fewer, False, "holds 449 rows, and the certificate speaks of 450"),
        (swapped, True, "are not what the doors' integers give"),
    ],
)
def test_what_is_wrong_with_the_last_piece_is_found(
    few: None, table: sf.Fitted, tmp_path: Path, change, rebuild: bool, reason: str
) -> None:
    folder = forger.Forged(sf.release(table, to=tmp_path / "release", rows=450).path)
    assert sf.verify(folder.path, rebuild=rebuild).ok
    put_last(folder, change)
    said = sf.verify(folder.path, rebuild=rebuild).problems
    assert any(re.search(reason, sentence) for sentence in said), said or "accepted"


def test_other_groups_of_rows_are_no_place_for_a_message(few: None, table: sf.Fitted, tmp_path: Path) -> None:
    folder = forger.Forged(sf.release(table, to=tmp_path / "release", rows=450).path)
    rows, file = sf.load_release(folder.path).synthetic(), io.BytesIO()
    with TableWriter(file) as writer:
        for part in (slice(0, 97), slice(97, 207), slice(207, 450)):
            writer.add(rows.take(part))
    folder.put("synthetic.parquet", file.getvalue())
    assert any("in other groups" in sentence for sentence in sf.verify(folder.path).problems)


def test_a_small_file_that_says_to_hold_billions_of_pictures_is_refused(clusters: sf.Fitted, tmp_path: Path) -> None:
    folder = forger.Forged(sf.release(clusters, to=tmp_path / "release", rows=60).path)
    arrays = {"images": np.empty((10**15, 6, 0), dtype=np.uint8), "classes": np.array(["a", "b", "c"])}
    (folder.path / "synthetic.npz").write_bytes(archive_of(arrays))
    files = {**folder.body["files"], "synthetic.npz": sha256_of(archive_of(arrays))}
    folder.edit(lambda body: body.update(rows=10**15, files=files), report=False)
    assert "synthetic.npz cannot be read (ValueError). Get the release again." in sf.verify(folder.path).problems


def test_a_file_that_changes_while_it_is_checked_is_told(
    few: None, histograms: sf.Fitted, tmp_path: Path, monkeypatch
) -> None:
    release = sf.release(histograms, to=tmp_path / "release", rows=450)
    path = release.path / "synthetic.parquet"
    content, real = path.read_bytes(), sf.Release.model

    def exchanged(self: sf.Release) -> object:
        path.unlink()
        path.write_bytes(content)
        return real(self)

    monkeypatch.setattr(sf.Release, "model", exchanged)
    found = sf.verify(release.path, rebuild=True)
    assert any("was changed while it was checked" in sentence for sentence in found.problems)


def test_whether_rows_are_drawn_several_times_does_not_depend_on_the_pieces(table: sf.Fitted, monkeypatch) -> None:
    """4,000 private rows: 6,000 are more than there were, whatever a piece has."""
    asked = []
    real = TableModel.sample

    def sample(self: TableModel, n_rows: int, *, seed: int) -> Synthetic:
        asked.append((self.rows_in_all, n_rows))
        return real(self, n_rows, seed=seed)

    monkeypatch.setattr(TableModel, "sample", sample)
    monkeypatch.setattr(pieces, "PIECE", 3_000)
    joined(draw_pieces(table.sampled, 6_000, schema=table.schema, seed=0))
    assert asked == [(6_000, 3_000)] * 2


def test_pieces_are_balanced_like_the_whole(table: sf.Fitted, monkeypatch) -> None:
    """Of every class about as many as its rate, in ten pieces as in one: chance alone would be off by dozens of rows."""
    model = table.sampled
    one = joined(draw_pieces(model, 20_000, schema=model.schema, seed=0)).table["ill"].value_counts()
    monkeypatch.setattr(pieces, "PIECE", 2_000)
    ten = joined(draw_pieces(model, 20_000, schema=model.schema, seed=0)).table["ill"].value_counts()
    assert abs(one["yes"] - ten["yes"]) <= 20
