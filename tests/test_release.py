"""Release folders: whole or absent, checked by anyone, and every tampering named."""

import errno
import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import schemas
import sfumato as sf
from sfumato.check.rows import made_up, read
from sfumato.errors import ReleaseError, SfumatoError, VerificationError
from sfumato.folder import CERTIFICATE

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
TABLE_ROWS = made_up(schemas.TABLE, n_rows=300, seed=1)


@pytest.fixture(scope="module")
def fitted() -> sf.Fitted:
    return sf.fit("independent-histograms", read(TABLE_ROWS, schemas.TABLE), BUDGET)


@pytest.fixture(scope="module")
def mixed() -> sf.Fitted:
    mechanism = sf.DPMix(mixtures=40, degree=20)
    return sf.fit(mechanism, read(made_up(schemas.IMAGES, n_rows=300, seed=1), schemas.IMAGES), BUDGET)


@pytest.fixture
def folder(fitted: sf.Fitted, tmp_path: Path) -> Path:
    return sf.release(fitted, to=tmp_path / "release", rows=100).path


def test_a_release_holds_what_it_says(folder: Path) -> None:
    names = {"synthetic.parquet", "measurements.npz", "schema.toml", "report.html", CERTIFICATE}
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

    monkeypatch.setattr(sys.modules["sfumato.folder"], "schema_to_toml", broken)
    with pytest.raises(ReleaseError if isinstance(failure, OSError) else KeyboardInterrupt) as caught:
        sf.release(fitted, to=tmp_path / "release")
    assert not isinstance(failure, OSError) or "the disk is full" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_stop_between_the_two_moves_keeps_the_old_release(fitted: sf.Fitted, tmp_path: Path, monkeypatch) -> None:
    old = sf.release(fitted, to=tmp_path / "release", rows=7)
    moves = []

    def stopped(source: Path, target: Path) -> None:
        moves.append(target)
        if len(moves) == 2:
            raise KeyboardInterrupt
        os.rename(source, target)

    monkeypatch.setattr(sys.modules["sfumato.folder"].os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        sf.release(fitted, to=tmp_path / "release", rows=9, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    assert old.n_rows == 7


def edit(folder: Path, change) -> None:
    body = json.loads((folder / CERTIFICATE).read_text())
    change(body)
    (folder / CERTIFICATE).write_text(json.dumps(body))


TAMPERINGS = {
    "a smaller epsilon": (
        lambda b: b["claim"].update(epsilon=0.1),
        "claims epsilon 0.1, and its own events amount to 1",
    ),
    "a smaller delta": (lambda b: b["claim"].update(delta=1e-12), "its own events amount to"),
    "another unit": (
        lambda b: b["claim"]["unit"].update(relation="replace_one"),
        "unit of privacy in schema.toml differs",
    ),
    "a louder event": (lambda b: b["event"].update(noise_multiplier=99.0), "accounted events differ from those"),
    "a louder step": (lambda b: b["steps"][0].update(noise_multiplier=99.0), "does not fit its noise"),
    "a finer grid": (lambda b: b["grid"].update({"histograms/counts": 1.0}), "does not fit its noise"),
    "another schema": (lambda b: b.update(schema_sha256="0" * 64), "not the schema that the certificate was made for"),
    "a wrong hash": (lambda b: b["files"].update({"report.html": "0" * 64}), "report.html differs"),
    "another mechanism": (lambda b: b["mechanism"]["parameters"].update(bins=7), "not those that the mechanism plans"),
    "research": (lambda b: b.update(status="research"), "marked 'research'"),
    "an unknown event": (lambda b: b["event"].update(event="magic"), "cannot be replayed|accounted events differ"),
}


@pytest.mark.parametrize("case", TAMPERINGS, ids=str)
def test_a_tampered_certificate_is_told(folder: Path, case: str) -> None:
    change, message = TAMPERINGS[case]
    edit(folder, change)
    found = sf.verify(folder)
    assert not found.ok
    with pytest.raises(VerificationError):
        found.raise_if_bad()
    assert any(re.search(message, problem) for problem in found.problems), found.problems


def test_tampered_files_are_told(folder: Path) -> None:
    (folder / "synthetic.parquet").write_bytes(b"PAR1")
    assert "synthetic.parquet differs" in sf.verify(folder).problems[0]
    (folder / "synthetic.parquet").unlink()
    assert "missing from the folder" in sf.verify(folder).problems[0]
    (folder / "extra.csv").write_text("name\n")
    assert any("extra.csv is in the folder and not listed" in problem for problem in sf.verify(folder).problems)
    (folder / "schema.toml").unlink()
    assert any("there is no schema file" in problem for problem in sf.verify(folder).problems)


def test_rows_that_are_not_of_the_measurements_are_told(fitted: sf.Fitted, folder: Path) -> None:
    from sfumato.folder import sha256_of

    path = folder / "synthetic.parquet"
    fitted.model.sample(100, seed=12345).table.to_parquet(path, index=False)
    edit(folder, lambda body: body["files"].update({path.name: sha256_of(path)}))
    assert sf.verify(folder).ok
    [problem] = sf.verify(folder, rebuild=True).problems
    assert problem.startswith(
        "the synthetic rows are not those that the measurements give with the certificate's seed: "
    )


@pytest.mark.parametrize("part", ["claim", "event", "steps", "grid", "files", "mechanism", "schema_sha256"])
def test_a_certificate_that_lacks_a_part_is_refused(folder: Path, part: str) -> None:
    edit(folder, lambda body: body.pop(part))
    with pytest.raises(SfumatoError):
        sf.verify(folder, rebuild=True).raise_if_bad()


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
    (folder / "measurements.npz").write_bytes(b"PK\x03\x04broken")
    with pytest.raises(ReleaseError, match="damaged"):
        sf.load_release(folder)


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
