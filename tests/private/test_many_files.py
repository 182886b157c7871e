"""Folders, globs, lists, URLs and datasets are one table: any split of the rows into files gives the same measurements."""

import gzip
import os
import shutil
import tempfile
import traceback
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MissingLibraryError, PrivacyError, SourceError
from sfumato.mechanisms import DPMix
from sfumato.private.intake import many_files
from sfumato.private.intake.drafts import draft_schema
from sfumato.private.intake.sensitive import open_batches
from sfumato.private.intake.sources import open_source
from sfumato.private.kernel.randomness import NoiseSource

SECRET = "zq7secret"
X = sf.Column(name="x", kind="numeric", bounds=(0, 100), missing=True)
WARD = sf.Column(name="ward", kind="categorical", categories=("north", "south"), missing=True)
SCHEMA = sf.Schema(columns=(X, WARD), rows=40)
PERSONS = sf.Schema(columns=(X, WARD), rows=40, unit=sf.PrivacyUnit(person="who", max_rows=2))


def people(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {"who": np.arange(n) % 13, "x": rng.integers(0, 100, n), "ward": rng.choice(["north", "south", SECRET], n)}
    )


def write(frame: pd.DataFrame, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(path, index=False) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def rows_of(data: sf.Sensitive, rows: int = 7) -> pd.DataFrame:
    names = [column.name for column in data.schema.columns]
    batches = list(open_batches(data, rows=rows))
    assert all(len(batch[names[0]]) <= rows for batch in batches)
    return pd.DataFrame({name: np.concatenate([batch[name] for batch in batches]) for name in names})


def same(data: object, frame: pd.DataFrame, schema: sf.Schema = SCHEMA) -> None:
    read = sf.Sensitive.read(data, schema)
    for rows in (7, 1000):
        pd.testing.assert_frame_equal(rows_of(read, rows), rows_of(sf.Sensitive.read(frame, schema), rows))


def cut(frame: pd.DataFrame, ends: list[int]) -> list[pd.DataFrame]:
    edges = [0, *sorted(ends), len(frame)]
    return [frame.iloc[a:b] for a, b in pairwise(edges)]


def measured(data: object, schema: sf.Schema) -> list[bytes]:
    budget, source = sf.Budget(epsilon=1.0, delta=1e-6), NoiseSource(research_seed=5)
    fitted = sf.fit("independent-histograms", sf.Sensitive.read(data, schema), budget, seed=0, source=source)
    return [np.asarray(value).tobytes() for value in fitted.answers.integers.values()]


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(
    ends=st.lists(st.integers(0, 40), max_size=5),
    suffixes=st.lists(st.sampled_from([".parquet", ".csv", ".csv.gz"]), min_size=6, max_size=6),
)
def test_any_split_into_files_gives_the_same_measurements(ends: list[int], suffixes: list[str]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        for at, (part, suffix) in enumerate(zip(cut(people(), ends), suffixes, strict=False)):
            write(part, folder / "parts" / f"{at}{suffix}")
        whole = write(people(), folder / "whole.parquet")
        assert measured(folder / "parts", SCHEMA) == measured(whole, SCHEMA)
        same(folder / "parts", people())
    finally:
        shutil.rmtree(folder)


def test_other_rows_give_other_measurements(tmp_path: Path) -> None:
    """What the test above compares can differ."""
    write(people(), tmp_path / "a.parquet")
    write(people().assign(x=1), tmp_path / "b.parquet")
    assert measured(tmp_path / "a.parquet", SCHEMA) != measured(tmp_path / "b.parquet", SCHEMA)


def test_every_way_to_name_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = cut(people(), [11])
    paths = [write(first, Path("v/a.parquet")), write(second, Path("v/sub/b.csv"))]
    for data in [
        "v",
        Path("v"),
        "v/",
        paths,
        [str(path) for path in paths],
        tuple(paths),
        "v/**/*.*",
        ["v/*.parquet", "v/sub"],
    ]:
        same(data, people())
    same(f"file://{tmp_path}/v", people())
    same(f"file://{tmp_path}/v/a.parquet", first)


def test_other_file_systems(tmp_path: Path) -> None:
    memory = pytest.importorskip("fsspec", reason="fsspec is not installed").filesystem("memory")
    first, second = cut(people(), [11])
    try:
        for name, part in (("a.parquet", first), ("b.parquet", second)):
            with memory.open(f"/sfumato/v/{name}", "wb") as file:
                part.to_parquet(file, index=False)
        with memory.open("/sfumato/w/ward=north/c.csv.gz", "wb") as file:
            file.write(gzip.compress(people().drop(columns="ward").to_csv(index=False).encode()))
        for url in (
            "memory://sfumato/v",
            "memory://sfumato/v/*.parquet",
            ["memory://sfumato/v/a.parquet", "memory://sfumato/v/b.parquet"],
        ):
            same(url, people())
        same("memory://sfumato/w/", people().assign(ward="north"))
        data = sf.Sensitive.read("memory://sfumato/v", SCHEMA)
        rows_of(data)
        with memory.open("/sfumato/v/b.parquet", "wb") as file:
            second.assign(x=3).to_parquet(file, index=False)
        with pytest.raises(SourceError, match="was changed while it was read"):
            rows_of(data)
        with pytest.raises(SourceError, match=r"there is no file at memory://sfumato/none/\*"):
            sf.Sensitive.read("memory://sfumato/none/*", SCHEMA)
    finally:
        memory.rm("/sfumato", recursive=True)


def test_a_url_never_shows_its_password() -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    with pytest.raises(SourceError, match="scheme that is not known") as refusal:
        sf.Sensitive.read("nowhere://me:hunter2@bucket/x", SCHEMA)
    assert "hunter2" not in str(refusal.value)
    missing = [name for name in ("abfs", "dropbox") if _is_missing(fsspec, name)]
    for name in missing:
        with pytest.raises(MissingLibraryError, match="that is not installed") as no_library:
            sf.Sensitive.read(f"{name}://me:hunter2@bucket/x", SCHEMA)
        assert "hunter2" not in f"{no_library.value} {no_library.value.__context__}"


def _is_missing(fsspec: object, scheme: str) -> bool:
    try:
        fsspec.get_filesystem_class(scheme)
    except ImportError:
        return True
    return False


def test_names_of_folders_are_columns(tmp_path: Path) -> None:
    for ward, part in people().groupby("ward"):
        write(part.drop(columns="ward"), tmp_path / f"v/ward={ward}/p.parquet")
    write(people(3).drop(columns="ward"), tmp_path / "v/ward=__HIVE_DEFAULT_PARTITION__/p.parquet")
    ordered = pd.concat([people(3).assign(ward=None), people().sort_values("ward", kind="stable")])
    same(tmp_path / "v", ordered)
    same(str(tmp_path / "v/*/*.parquet"), ordered)
    assert '"ward" = ' in draft_schema(tmp_path / "v")
    # In the middle of all that, only the folder's column is asked for.
    only = sf.Schema(columns=(WARD,))
    assert len(rows_of(sf.Sensitive.read(tmp_path / "v", only))) == 43


def test_a_known_partition_of_rows_that_lie_by_their_values_is_refused(tmp_path: Path) -> None:
    schema = sf.Schema(columns=(X, WARD), rows=40, unit=sf.PrivacyUnit(relation="replace_one"))
    mechanism = DPMix(sampling="known_partition", mixtures=4)
    write(people().drop(columns="ward"), tmp_path / "v/ward=north/p.parquet")
    write(people(), tmp_path / "plain/p.parquet")
    budget = sf.Budget(epsilon=5.0, delta=1e-6)
    with pytest.raises(PrivacyError, match="in the order of their values"):
        sf.fit(mechanism, sf.Sensitive.read(tmp_path / "v", schema), budget)
    assert sf.fit(mechanism, sf.Sensitive.read(tmp_path / "plain", schema), budget).model is not None


def test_types_may_differ_from_file_to_file(tmp_path: Path) -> None:
    """A missing value makes floats of whole numbers: that must not decide over a release, nor over another row."""
    frame = people()
    write(frame[:9], tmp_path / "a.parquet")
    write(frame[9:20].astype({"x": float}), tmp_path / "b.parquet")
    write(frame[20:30].astype({"x": str, "who": str}), tmp_path / "c.parquet")
    pq.write_table(pa.table({"who": [1], "x": pa.nulls(1), "ward": pa.nulls(1)}), tmp_path / "d.parquet")
    write(frame[30:], tmp_path / "e.csv")
    expected = pd.concat([frame[:30], pd.DataFrame({"who": [1], "x": [None], "ward": [None]}), frame[30:]])
    same(tmp_path, expected)
    kept = rows_of(sf.Sensitive.read(tmp_path, PERSONS))
    assert len(kept) == 26  # thirteen persons across five files, two rows each


def faults(folder: Path) -> dict[str, tuple[object, str]]:
    write(people(), folder / "ok/a.parquet")
    write(people().drop(columns="ward"), folder / "fewer/b.parquet")
    shutil.copy(folder / "ok/a.parquet", folder / "fewer/a.parquet")
    shutil.copytree(folder / "ok", folder / "broken")
    (folder / "broken/b.parquet").write_bytes(SECRET.encode() * 9)
    shutil.copytree(folder / "ok", folder / "empty")
    (folder / "empty/b.csv").touch()
    shutil.copytree(folder / "ok", folder / "headless")
    people().to_csv(folder / "headless/b.csv", index=False, header=False)
    shutil.copytree(folder / "ok", folder / "mixed")
    (folder / "mixed/notes.txt").write_text(SECRET)
    (folder / "hollow/_logs").mkdir(parents=True)
    shutil.copytree(folder / "ok", folder / "loop")
    (folder / "loop/again").symlink_to(folder / "loop")
    shutil.copytree(folder / "ok", folder / "linked")
    (folder / "linked/b.parquet").symlink_to(folder / "linked/a.parquet")
    shutil.copytree(folder / "ok", folder / "hive/year=2020")
    shutil.copytree(folder / "ok", folder / "hive/other")
    shutil.copytree(folder / "ok", folder / "dangling")
    (folder / "dangling/b.csv").symlink_to(folder / "nothing.csv")
    csv_dataset = ds.dataset(write(people(), folder / "set/a.csv"), format="csv")
    gone = ds.dataset(write(people(), folder / "gone/a.parquet"))
    (folder / "gone/a.parquet").write_bytes(b"PAR1" + SECRET.encode())
    return {
        "a glob that matches nothing": (str(folder / "*.parquet"), "nothing matches .*Check the pattern"),
        "a folder without tables": (folder / "hollow", "holds no table"),
        "a file without a column": (folder / "fewer", "b.parquet has no column 'ward', which .*a.parquet has"),
        "a broken file": (folder / "broken", "b.parquet is not a Parquet file"),
        "an empty file": (folder / "empty", "b.csv is empty"),
        "a file without a header": (folder / "headless", "b.csv has no column"),
        "a file of another kind": (folder / "mixed", "notes.txt is no table .*Move it out of the folder"),
        "a link that goes round": (folder / "loop", "again is a link that leads back to a folder above it"),
        "a file under two names": (folder / "linked", "are one file, whose rows would count twice"),
        "a path twice": ([folder / "ok", folder / "ok/a.parquet"], "are one file, whose rows would count twice"),
        "a file out of place": (folder / "hive", "not lie in folders of the same columns"),
        "a link to nothing": (folder / "dangling", "b.csv does not exist"),
        "a path that is not there": ([folder / "no.csv"], "no.csv does not exist"),
        "pictures among tables": ([folder / "a.npz", folder / "ok/a.parquet"], "a.npz does not exist"),
        "a dataset that guesses": (csv_dataset, "guesses types from its rows"),
        "a dataset that is gone": (gone, "the dataset cannot be read"),
    }


def test_every_fault_has_its_sentence_and_no_sentence_holds_a_row(tmp_path: Path) -> None:
    for name, (data, words) in faults(tmp_path).items():
        with pytest.raises(SourceError, match=words) as refusal:
            rows_of(sf.Sensitive.read(data, SCHEMA))
        assert SECRET not in "".join(traceback.format_exception(refusal.value)), name
        assert refusal.value.__context__ is None, name


def test_hidden_files_are_not_meant(tmp_path: Path) -> None:
    write(people(), tmp_path / "v/a.parquet")
    for name in ("_SUCCESS", ".a.parquet.crc", "_metadata"):
        (tmp_path / "v" / name).write_text("x")
    same(tmp_path / "v", people())


@pytest.mark.parametrize("pattern", ["v/**/*.parquet", "v/*/*.parquet", "v/*/*"])
def test_a_pattern_does_not_mean_what_a_job_has_left_behind(tmp_path: Path, pattern: str) -> None:
    """A copy in `_temporary` would count every row twice."""
    write(people(), tmp_path / "v/one/a.parquet")
    for left in ("v/_temporary/b.parquet", "v/one/_b.parquet", "v/one/._a.parquet"):
        write(people(), tmp_path / left)
    (tmp_path / "v/one/_SUCCESS").touch()
    same(str(tmp_path / pattern), people())


@pytest.mark.parametrize("pattern", ["_v/*.parquet", "v/*/_b*.parquet"])
def test_a_pattern_means_what_it_spells_out(tmp_path: Path, pattern: str) -> None:
    write(people(), tmp_path / "_v/a.parquet")
    write(people(), tmp_path / "v/one/_b.parquet")
    same(str(tmp_path / pattern), people())


CHANGES = {
    "a file more": (lambda folder: shutil.copy(folder / "a.parquet", folder / "c.parquet"), "a file came or went"),
    "a file less": (lambda folder: (folder / "b.parquet").unlink(), "a file came or went"),
    "a file replaced": (lambda folder: write(people(9), folder / "b.parquet"), "b.parquet was changed"),
    "a file touched": (lambda folder: os.utime(folder / "a.parquet", ns=(1, 1)), "a.parquet was changed"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_passes_ends_the_release(tmp_path: Path, change: str) -> None:
    for name, part in zip("ab", cut(people(), [11]), strict=True):
        write(part, tmp_path / f"{name}.parquet")
    data = sf.Sensitive.read(tmp_path, SCHEMA)
    assert len(rows_of(data)) == 40
    alter, words = CHANGES[change]
    alter(tmp_path)
    with pytest.raises(SourceError, match=words):
        rows_of(data)


def test_a_look_that_sees_no_listing_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: a file more between two passes goes unnoticed."""
    monkeypatch.setattr(many_files.FilesSource, "require_same_files", lambda self: None)
    write(people(), tmp_path / "a.parquet")
    data = sf.Sensitive.read(tmp_path, SCHEMA)
    write(people(), tmp_path / "b.parquet")
    assert len(rows_of(data)) == 40


def test_datasets_of_arrow(tmp_path: Path) -> None:
    first, second = cut(people(), [11])
    write(first, tmp_path / "v/a.parquet")
    write(second, tmp_path / "v/b.parquet")
    same(ds.dataset(tmp_path / "v"), people())
    same(ds.dataset(pa.Table.from_pandas(people(), preserve_index=False)), people())
    data = sf.Sensitive.read(ds.dataset(tmp_path / "v"), SCHEMA)
    rows_of(data)
    write(second.assign(x=3), tmp_path / "v/b.parquet")
    with pytest.raises(SourceError, match="the dataset cannot be read: a file of it was changed"):
        rows_of(data)


@pytest.mark.slow
def test_thousands_of_tiny_files_are_few_chunks(tmp_path: Path) -> None:
    for at in range(3000):
        (tmp_path / f"{at:05}.csv").write_text("who,x,ward\n1,2,north\n")
    source = open_source(tmp_path, SCHEMA)
    assert len(source.parts) == 3000
    assert [len(chunk["x"]) for chunk in source.chunks(["x"], rows=2000)] == [2000, 1000]
