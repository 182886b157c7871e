"""Release folders: whole or absent, checked by anyone, and every tampering named."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import schemas
import sfumato as sf
from sfumato.check.instruments.rows import made_up, read
from sfumato.errors import ReleaseError, VerificationError
from sfumato.folder.releasing import CERTIFICATE
from sfumato.folder.rows import read_synthetic, rows_writer
from sfumato.mechanisms import DPMix
from sfumato.model import Synthetic
from sfumato.present.loading import load_lines

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
TABLE_ROWS = made_up(schemas.TABLE, n_rows=300, seed=1)


@pytest.fixture(scope="module")
def fitted() -> sf.Fitted:
    return sf.fit("independent-histograms", read(TABLE_ROWS, schemas.TABLE), BUDGET)


@pytest.fixture(scope="module")
def mixed() -> sf.Fitted:
    mechanism = DPMix(mixtures=40, degree=20)
    return sf.fit(mechanism, read(made_up(schemas.IMAGES, n_rows=300, seed=1), schemas.IMAGES), BUDGET)


@pytest.fixture
def folder(fitted: sf.Fitted, tmp_path: Path) -> Path:
    return sf.release(fitted, to=tmp_path / "release", rows=100).path


def test_a_release_holds_what_it_says(folder: Path) -> None:
    names = {"synthetic.parquet", "answers.npz", "schema.toml", "report.html", CERTIFICATE}
    assert {file.name for file in folder.iterdir()} == names
    found = sf.verify(folder, rebuild=True)
    assert found.ok
    assert found.replayed_epsilon == pytest.approx(1.0, rel=1e-3)
    rows = sf.load_release(folder).synthetic().table
    assert len(rows) == 100
    assert list(rows.columns) == [column.name for column in schemas.TABLE.columns]


def test_images_are_released_with_their_labels(mixed: sf.Fitted, tmp_path: Path) -> None:
    path = sf.release(mixed, to=tmp_path / "images").path
    rows = sf.load_release(path).synthetic()
    assert rows.images.shape == (40, 6, 6)
    assert rows.labels.shape == (40,)
    assert rows.soft_labels.shape == (40, 3)
    assert rows.classes == ("a", "b", "c")
    assert sf.verify(path, rebuild=True).ok


def test_a_header_tells_how_many_images_there_are_and_how_to_load_them(mixed: sf.Fitted, tmp_path: Path) -> None:
    release = sf.release(mixed, to=tmp_path / "images")
    rows, file = release.synthetic(), release.path / "synthetic.npz"
    assert release.n_rows == 40
    assert release.load_lines() == load_lines(rows, release.schema, folder=release.path)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ReleaseError, match="cannot be read"):
        _ = release.n_rows


def test_images_are_written_without_another_copy(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(256, size=(1 << 16, 32, 32), dtype=np.uint8)
    with (tmp_path / "synthetic.npz").open("wb") as file:
        tracemalloc.start()
        try:
            with rows_writer({"synthetic.npz": file}, len(images)) as writer:
                writer.add(Synthetic(images=images))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 0.05 * images.nbytes
    assert np.array_equal(read_synthetic(tmp_path).images, images)


def test_more_rows_come_from_the_measurements_alone(folder: Path) -> None:
    model = sf.load_release(folder).model()
    assert model.sample(5000, seed=3).table.equals(model.sample(5000, seed=3).table)
    assert not model.sample(50, seed=3).table.equals(model.sample(50, seed=4).table)


def test_an_existing_folder_is_kept(fitted: sf.Fitted, folder: Path) -> None:
    before = (folder / CERTIFICATE).read_text()
    with pytest.raises(ReleaseError, match="exists already"):
        sf.release(fitted, to=folder)
    assert (folder / CERTIFICATE).read_text() == before
    sf.release(fitted, to=folder, rows=7, force=True)
    assert len(sf.load_release(folder).synthetic()) == 7
    assert [path.name for path in folder.parent.iterdir()] == ["release"]


def test_what_is_no_release_is_never_replaced(fitted: sf.Fitted, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    with pytest.raises(ReleaseError, match="is no release folder"):
        sf.release(fitted, to=tmp_path / "thesis", force=True)
    with pytest.raises(ReleaseError, match="Make it first"):
        sf.release(fitted, to=tmp_path / "no" / "such" / "place")


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_failure_in_the_middle_leaves_nothing(fitted: sf.Fitted, tmp_path: Path, monkeypatch, failure) -> None:
    def broken(*args: object, **options: object) -> None:
        raise failure

    monkeypatch.setattr(sys.modules["sfumato.folder.disk"].os, "fsync", broken)
    with pytest.raises(ReleaseError if isinstance(failure, OSError) else KeyboardInterrupt) as caught:
        sf.release(fitted, to=tmp_path / "release")
    assert not isinstance(failure, OSError) or "the disk is full" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_is_missing_is_no_full_disk(fitted: sf.Fitted, tmp_path: Path, monkeypatch) -> None:
    """A shared library that cannot be loaded is an OSError as well, without a number: not a matter of the folder."""

    def broken(*args: object, **options: object) -> str:
        raise OSError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr(sys.modules["sfumato.folder.releasing"], "public_report", broken)
    with pytest.raises(OSError, match="libgomp"):
        sf.release(fitted, to=tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_stop_between_the_two_moves_keeps_the_old_release(fitted: sf.Fitted, tmp_path: Path, monkeypatch) -> None:
    old = sf.release(fitted, to=tmp_path / "release", rows=7)
    moves = []

    def stopped(source: Path, target: Path) -> None:
        moves.append(target)
        if len(moves) == 2:
            raise KeyboardInterrupt
        os.rename(source, target)

    monkeypatch.setattr(sys.modules["sfumato.folder.disk"].os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        sf.release(fitted, to=tmp_path / "release", rows=9, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    assert old.n_rows == 7


def edit(folder: Path, change) -> None:
    body = json.loads((folder / CERTIFICATE).read_text())
    change(body)
    (folder / CERTIFICATE).write_text(json.dumps(body, indent=2, ensure_ascii=False) + "\n")


def test_tampered_files_are_told(folder: Path) -> None:
    """tests/verification/test_forgeries.py has those whose hashes were put right."""
    (folder / "synthetic.parquet").write_bytes(b"PAR1")
    assert any("synthetic.parquet differs" in problem for problem in sf.verify(folder).problems)
    (folder / "synthetic.parquet").unlink()
    assert any("missing from the folder" in problem for problem in sf.verify(folder).problems)
    (folder / "extra.csv").write_text("name\n")
    assert any("extra.csv is in the folder and not listed" in problem for problem in sf.verify(folder).problems)
    (folder / "schema.toml").unlink()
    assert any("schema.toml is listed" in problem for problem in sf.verify(folder).problems)


def test_rows_that_were_not_rebuilt_are_declared(folder: Path) -> None:
    found = sf.verify(folder, rebuild=False)
    assert found.ok
    assert found.different is None
    assert any("not built again here" in sentence for sentence in found.declared)
    assert not any("to the last bit" in sentence for sentence in found.checked)
    again = sf.verify(folder)
    assert again.different == 0
    assert any(sentence.startswith("the synthetic rows are what") for sentence in again.checked)
    assert any("to the last bit" in sentence for sentence in again.checked)
    assert not any("not built again here" in sentence for sentence in again.declared)


@pytest.mark.parametrize(
    "part",
    [
        "format",
        "status",
        "claim",
        "event",
        "scale",
        "steps",
        "grid",
        "discovery",
        "mechanism",
        "seed",
        "randomness",
        "schema_sha256",
        "assumptions",
        "warnings",
        "software",
        "rows",
        "files",
    ],
)
def test_a_certificate_that_lacks_a_part_is_refused(folder: Path, part: str) -> None:
    edit(folder, lambda body: body.pop(part))
    said = "is not of the format" if part == "format" else f"lacks '{part}'"
    for look_at in (sf.verify, sf.load_release):
        with pytest.raises(VerificationError, match=said):
            look_at(folder)


def test_a_release_of_version_0_1_is_refused_by_name(folder: Path) -> None:
    edit(folder, lambda body: body.update(format="sfumato-certificate/1"))
    for look_at in (sf.verify, sf.load_release):
        with pytest.raises(
            VerificationError, match=r"made by sfumato 0\.1 .* Install sfumato 0\.1 and verify it with that"
        ):
            look_at(folder)


def test_a_certificate_is_a_value(folder: Path) -> None:
    text = (folder / CERTIFICATE).read_text()
    certificate = sf.Certificate.from_text(text)
    assert certificate.to_text() == text
    assert sf.Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.claim.epsilon == certificate.epsilon == 1.0
    assert certificate.claim.in_words in text
    assert certificate.rows == 100
    assert certificate == sf.load_release(folder).certificate


def test_what_is_no_certificate_is_refused(folder: Path, tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"format": "other"}'):
        (folder / CERTIFICATE).write_text(text)
        with pytest.raises(VerificationError):
            sf.verify(folder)
    shutil.rmtree(folder)
    with pytest.raises(VerificationError, match="no claim to check"):
        sf.verify(folder)
    with pytest.raises(ReleaseError, match="no release folder"):
        sf.load_release(tmp_path)


def test_a_damaged_archive_is_refused(folder: Path) -> None:
    (folder / "answers.npz").write_bytes(b"PK\x03\x04broken")
    with pytest.raises(ReleaseError, match="damaged"):
        sf.load_release(folder)


@pytest.mark.slow
def test_the_report_is_the_same_in_another_process(fitted: sf.Fitted, folder: Path) -> None:
    """Nothing in it depends on the time, the place or the order of a hash: `verify` compares every byte."""
    code = "import sys, sfumato as sf; print(sf.verify(sys.argv[1]).checked)"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, str(folder)],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo", "LC_ALL": "C"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert "report.html is, to the byte," in done.stdout


def test_n_and_n_plus_one_rows_look_alike(tmp_path: Path) -> None:
    looks = []
    for n_rows in (300, 301):
        data = read(made_up(schemas.TABLE, n_rows=n_rows, seed=1), schemas.TABLE)
        path = sf.release(
            sf.fit("independent-histograms", data, BUDGET, seed=1), to=tmp_path / str(n_rows), rows=50
        ).path
        body = json.loads((path / CERTIFICATE).read_text())
        for key in ("files", "seed", "warnings"):  # what is told of the rows follows from noisy numbers
            body.pop(key)
        with np.load(path / "answers.npz") as archive:
            shapes = {name: (values.shape, values.dtype) for name, values in archive.items()}
        looks.append((body, shapes, sorted(file.name for file in path.iterdir())))
    assert looks[0] == looks[1]
