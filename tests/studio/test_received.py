"""Releases that are handed in: a zip bomb, a path that leaves its folder, no release at all; and one that is whole."""

import io
import zipfile
from pathlib import Path

import pytest
from visitors import Custodian

from sfumato.errors import ReleaseError
from sfumato.studio import received as module
from sfumato.studio.received import Received


def zipped(files: dict[str, bytes], **attributes: int) -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            for key, value in attributes.items():
                setattr(info, key, value)
            archive.writestr(info, content)
    made.seek(0)
    return made


GOOD = {"release/certificate.json": b"{}", "release/schema.toml": b""}


def test_a_zip_of_a_folder_is_kept(tmp_path: Path) -> None:
    kept = Received(tmp_path)
    folder = kept.get(kept.from_zip(zipped(GOOD)))
    assert sorted(path.name for path in folder.iterdir()) == ["certificate.json", "schema.toml"]


BAD = {
    "leaves its folder": {"../../evil": b"x", **GOOD},
    "is absolute": {"/etc/evil": b"x", **GOOD},
    "has a drive": {"C:evil": b"x", **GOOD},
    "goes back": {"release/..\\..\\evil": b"x", **GOOD},
    "lies deep": {"a/b/c/d": b"x", **GOOD},
    "two folders": {"a/certificate.json": b"{}", "b/certificate.json": b"{}"},
    "no certificate": {"release/schema.toml": b""},
    "many files": {f"release/{at}": b"" for at in range(100)},
    "nothing": {},
    "hidden": {"release/.bashrc": b"x", **GOOD},
}


@pytest.mark.parametrize("files", BAD.values(), ids=BAD)
def test_what_is_no_release_is_refused_and_nothing_is_left(tmp_path: Path, files: dict[str, bytes]) -> None:
    inside = tmp_path / "received"
    with pytest.raises(ReleaseError):
        Received(inside).from_zip(zipped(files))
    assert not list(inside.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["received"]


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1 << 20)
    bomb = zipped({**GOOD, "release/rows.parquet": bytes(50 << 20)})
    assert bomb.getbuffer().nbytes < 1 << 20
    with pytest.raises(ReleaseError, match="GB"):
        Received(tmp_path).from_zip(bomb)
    assert not list(tmp_path.iterdir())


def test_a_bomb_that_lies_about_its_size_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1 << 20)
    content = bytearray(zipped({**GOOD, "release/rows.parquet": bytes(5 << 20)}).getvalue())
    real, lie = (5 << 20).to_bytes(4, "little"), (9).to_bytes(4, "little")
    assert content.count(real) == 2
    with pytest.raises(ReleaseError):
        Received(tmp_path).from_zip(io.BytesIO(content.replace(real, lie)))
    assert not list(tmp_path.iterdir())


def test_links_and_passwords_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="link"):
        Received(tmp_path).from_zip(zipped(GOOD, external_attr=0o120777 << 16))
    locked = bytearray(zipped(GOOD).getvalue())
    at = locked.find(b"PK\x01\x02")
    while at >= 0:
        locked[at + 8] |= 1
        at = locked.find(b"PK\x01\x02", at + 1)
    with pytest.raises(ReleaseError, match="password"):
        Received(tmp_path).from_zip(io.BytesIO(locked))


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x05\x06" + bytes(18), zipped(GOOD).getvalue()[:-30]])
def test_an_upload_that_is_no_zip_is_a_sentence(custodian: Custodian, content: bytes) -> None:
    answer = custodian.post("/receive/upload", files={"zip": ("x.zip", content)})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert not custodian.studio.jobs.all()
    assert custodian.get("/receive").status_code == 200


def test_the_files_of_a_folder_are_taken_as_a_browser_sends_them(custodian: Custodian) -> None:
    files = [("folder", ("theirs/certificate.json", b"{}")), ("folder", ("theirs/schema.toml", b""))]
    answer = custodian.post("/receive/upload", files=files)
    assert answer.status_code == 200
    (job,) = custodian.studio.jobs.all()
    assert answer.url.path == f"{custodian.studio.gate.base}/receive/{job.id}"
    custodian.studio.jobs.cancel(job)


def test_a_full_disk_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_copy", full)
    with pytest.raises(ReleaseError, match=r"No space left|cannot be kept|no zip"):
        Received(tmp_path).from_zip(zipped(GOOD))
    assert not list(tmp_path.iterdir())
