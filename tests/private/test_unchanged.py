"""A file that changes between two passes ends a release, and nothing is written."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import sfumato as sf
from sfumato.errors import SourceError
from sfumato.private.intake import unchanged
from sfumato.private.intake.sensitive import open_batches

SCHEMA = sf.Schema(
    columns=(sf.Column(name="x", kind="numeric", bounds=(0, 1)),),
    unit=sf.PrivacyUnit(person="who", max_rows=2),
    rows=90,
)


def people(n: int = 90, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"who": np.arange(n) // 3 + 10, "x": np.round(rng.random(n), 3) * 0.9 + 0.1})


def write(frame: pd.DataFrame, path) -> None:
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)


def rows_of(data: sf.Sensitive) -> int:
    return sum(len(batch["x"]) for batch in open_batches(data, rows=7))


def replace(path) -> None:
    write(people(seed=1), path.with_stem("new"))
    path.with_stem("new").replace(path)


CHANGES = {
    "replaced": replace,
    "written again": lambda path: write(people(seed=1), path),
    "grown": lambda path: write(people(93), path),
    "gone": lambda path: path.unlink(),
    "touched": lambda path: os.utime(path, ns=(1, 1)),
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_between_passes_is_given_up(tmp_path, change, suffix) -> None:
    path = tmp_path / f"t{suffix}"
    write(people(), path)
    data = sf.Sensitive.read(path, SCHEMA)
    assert rows_of(data) == rows_of(data) == 60
    CHANGES[change](path)
    with pytest.raises(SourceError, match="was changed while it was read, so nothing is released") as refusal:
        rows_of(data)
    assert not any(char.isdigit() for char in str(refusal.value).replace(str(path), ""))


def test_a_change_within_a_pass_is_noticed_at_its_end(tmp_path) -> None:
    path = tmp_path / "t.csv"
    write(people(), path)
    data = sf.Sensitive.read(path, SCHEMA)
    rows_of(data)
    batches = open_batches(data, rows=7)
    next(batches)
    write(people(seed=2), path)
    with pytest.raises(SourceError, match="was changed"):
        list(batches)


def test_the_same_time_and_size_do_not_hide_other_rows(tmp_path) -> None:
    path = tmp_path / "t.csv"
    write(people(), path)
    data = sf.Sensitive.read(path, SCHEMA)
    stat = path.stat()
    path.write_bytes(path.read_bytes().replace(b"10,", b"11,"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size
    with pytest.raises(SourceError, match="was changed"):
        rows_of(data)


def test_a_fit_writes_nothing_where_its_file_changes(tmp_path, monkeypatch) -> None:
    path = tmp_path / "t.parquet"
    write(people(), path)
    data = sf.Sensitive.read(path, SCHEMA)
    write(people(seed=1), path)
    with pytest.raises(SourceError, match="was changed"):
        sf.fit("independent-histograms", data, sf.Budget(1.0, 1e-6))


def test_a_picture_more_is_another_folder(tmp_path) -> None:
    schema = sf.Schema(columns=(sf.Column(name="image", kind="image", shape=(4, 4)),))
    for n in range(3):
        Image.fromarray(np.full((4, 4), n, dtype=np.uint8)).save(tmp_path / f"{n}.png")
    data = sf.Sensitive.read(tmp_path, schema)
    assert sum(len(batch["image"]) for batch in open_batches(data, rows=2)) == 3
    shutil.copy(tmp_path / "0.png", tmp_path / "9.png")
    with pytest.raises(SourceError, match="was changed"):
        list(open_batches(data, rows=2))


def test_a_look_that_sees_nothing_is_caught(tmp_path, monkeypatch) -> None:
    """The broken twin: with it, a person has the rows of another one."""
    monkeypatch.setattr("sfumato.private.intake.sensitive.fingerprint", lambda path: "")
    monkeypatch.setattr(unchanged, "fingerprint", lambda path: "")
    path = tmp_path / "t.csv"
    write(people(), path)
    data = sf.Sensitive.read(path, SCHEMA)
    rows_of(data)
    write(people().assign(who=1), path)
    assert rows_of(data) == 60  # all of one person, who may have two
