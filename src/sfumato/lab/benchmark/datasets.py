"""The benchmark datasets of the protocol: where their files are, rows to release, rows to test on, and what is public about them.

What is public comes from the documentation: one file of schemas/ each, sources beside it. No row was read for these files.
"""

import gzip
import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SfumatoError, SourceError
from sfumato.public.schema.schema import Schema


class BenchmarkError(SfumatoError):
    """A benchmark cannot be run as asked: its learner, its dataset or its process fails."""


#: The environment variable that names the folder of benchmark datasets.
DATA_VARIABLE = "SFUMATO_DATA"
#: The environment variable that names another cache folder than the platform's.
CACHE_VARIABLE = "SFUMATO_CACHE"


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A public dataset as it is usually distributed: an entry of catalogue.toml, which says what its facts mean."""

    name: str
    kind: Literal["images", "table"]
    rows: int
    target: str
    url: str
    sha256: str | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    n_columns: int = 0

    @property
    def files(self) -> tuple[str, ...]:
        """What the loaders read."""
        return tuple(self.hashes or self.counts)


def _packaged(*path: str) -> str:
    return files("sfumato.lab.benchmark").joinpath(*path).read_text(encoding="utf-8")


CATALOGUE = tuple(Dataset(name=name, **facts) for name, facts in tomllib.loads(_packaged("catalogue.toml")).items())


def cache_folder() -> Path:
    """Where things are kept that can be made again: the platform's cache folder, or $SFUMATO_CACHE."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sfumato"


def data_folder() -> Path:
    """Where benchmark datasets are looked for, and fetched to: $SFUMATO_DATA, or the cache."""
    chosen = os.environ.get(DATA_VARIABLE)
    return Path(chosen) if chosen else cache_folder() / "data"


def dataset(name: str) -> Dataset:
    """The entry of that name.

    >>> dataset("iris")
    Traceback (most recent call last):
    sfumato.errors.SourceError: there is no dataset 'iris'. Known: mnist, fashion-mnist, adult, census, credit, ...
    """
    found = {entry.name: entry for entry in CATALOGUE}
    if name not in found:
        raise SourceError(f"there is no dataset {name!r}. Known: {', '.join(found)}.")
    return found[name]


def find(name: str) -> tuple[Path, ...]:
    """The files of a dataset, in the order of the catalogue."""
    entry = dataset(name)
    paths = tuple(data_folder() / file for file in entry.files)
    if not os.environ.get(DATA_VARIABLE) and not is_found(entry):
        raise SourceError(
            f"dataset {name!r} is not part of the package. Set {DATA_VARIABLE} to the folder that holds "
            f"{entry.files[0]}, or fetch it with: sfumato bench {name} --epsilon 1 --fetch"
        )
    for path in paths:
        if not path.is_file():
            raise SourceError(
                f"{path} does not exist. Put it there, or set {DATA_VARIABLE} to the folder that holds it."
            )
    return paths


def is_found(dataset: Dataset) -> bool:
    """Whether all files of a dataset are there."""
    return all((data_folder() / file).is_file() for file in dataset.files)


_RANGE = re.compile(r"(\D*)(\d+)\.\.(\D*)(\d+)")


def documented_schema(name: str) -> Schema:
    """The public schema of a benchmark dataset.

    >>> documented_schema("isolet")["f617"].bounds
    (-1.0, 1.0)
    """
    return Schema.parse(_written_out(schema_text(name)))


def schema_text(name: str) -> str:
    """The file itself, with the sources in its comments."""
    return _packaged("schemas", f"{name}.toml")


def _written_out(text: str) -> str:
    """A schema file in which runs of columns and of categories stand one by one, as the package's own files do."""
    tree = tomllib.loads(text)
    columns = {each: entry for name, entry in tree.pop("columns").items() for each in _run(name)}
    lines = []
    for section, entry in (*tree.items(), *((f"columns.{json.dumps(name)}", entry) for name, entry in columns.items())):
        if "categories" in entry:
            entry = entry | {"categories": [each for text in entry["categories"] for each in _run(text)]}
        lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items())]
    return "\n".join(lines)  # a JSON value of these kinds is a TOML value


def _run(text: str) -> Iterator[str]:
    """What "first..last" stands for; any other text stands for itself.

    >>> list(_run("V08..V10")), list(_run("9..11")), list(_run("a"))
    (['V08', 'V09', 'V10'], ['9', '10', '11'], ['a'])
    """
    ends = _RANGE.fullmatch(text)
    if ends is None or ends[1] != ends[3]:
        yield text
        return
    width = len(ends[2]) if ends[2].startswith("0") else 0
    for at in range(int(ends[2]), int(ends[4]) + 1):
        yield f"{ends[1]}{at:0{width}d}"


#: The category of values that are not listed, in columns whose documentation has no full list.
OTHER = "(other)"
_MISSING = "?"  # as all benchmark tables write it
_FIRST_WORD = r"^([^-/&]*)"


def with_others(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Rows in which values outside a list that has a place for them are in that place. Each row alone decides.

    Without it they would count as missing, which is another thing.
    """
    open_lists = [column for column in schema.columns if OTHER in column.categories]
    texts = {column.name: frame[column.name].astype(str) for column in open_lists}
    listed = {column.name: texts[column.name].isin([*column.categories, _MISSING]) for column in open_lists}
    return frame.assign(**{name: values.where(listed[name], OTHER) for name, values in texts.items()})


def first_word(values: "pd.Series") -> "pd.Series":
    """Texts up to the first "-", "/" or "&".

    >>> first_word(pd.Series(["Surgery-General", "Family/GeneralPractice", "?"])).tolist()
    ['Surgery', 'Family', '?']
    """
    return values.astype(str).str.extract(_FIRST_WORD, expand=False)


#: Rows in any form that `Sensitive.read` takes: a table, or pictures and their labels.
Rows = pd.DataFrame | Mapping[str, NDArray[Any]]
Metric = Literal["accuracy", "auc", "auc_ovo"]

#: The delta of the protocol.
DELTA = 1e-5
#: LightGBM weighs the classes where one has less than this share of the real training rows.
RARE = 0.05


def has_rare_class(codes: NDArray[np.int64]) -> bool:
    """Whether a class that there is has so few rows that learners weigh the classes."""
    counts = np.bincount(codes)
    return bool(counts[counts > 0].min() / len(codes) < RARE)


def row_count(rows: Rows) -> int:
    """How many rows."""
    return len(rows) if isinstance(rows, pd.DataFrame) else len(next(iter(rows.values())))


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One dataset of the protocol: rows to release, and rows that no release and no learner sees before its test.

    `metric` is `accuracy` (images), `auc` (two classes, of which the `positive` one is scored) or `auc_ovo` (several:
    one against one). `balanced`: LightGBM weighs the classes, on real and on synthetic rows alike.
    """

    name: str
    train: Rows = field(repr=False)
    test: Rows = field(repr=False)
    schema: Schema = field(repr=False)
    metric: Metric
    positive: str | None = None
    balanced: bool = False


def make_benchmark(name: str, *, train: Rows, test: Rows, schema: Schema) -> Benchmark:
    """A benchmark by the rules of the protocol: its metric and its weights follow from the target.

    The last category of a target with two classes is the positive one.
    """
    target = schema.require_coded_target()
    rates = pd.Series(np.asarray(train[target.name])).astype(str).str.lower().value_counts(normalize=True)
    metric: Metric = "accuracy" if schema.images else "auc" if target.size == 2 else "auc_ovo"
    positive = target.categories[-1] if target.size == 2 else None
    facts: dict[str, Any] = {"metric": metric, "positive": positive, "balanced": bool(rates.min() < RARE)}
    return Benchmark(name=name, train=train, test=test, schema=schema, **facts)


def load(name: str) -> Benchmark:
    """Read a benchmark dataset from $SFUMATO_DATA, or from the cache that `fetch` fills."""
    if name not in _LOADERS:
        raise SourceError(f"there is no dataset {name!r}. Known: {', '.join(_LOADERS)}.")
    return _LOADERS[name]()


def names() -> tuple[str, ...]:
    """The datasets that are known."""
    return tuple(_LOADERS)


def _images(name: str) -> Benchmark:
    images, labels, test_images, test_labels = (read_idx(path) for path in find(name))
    train, test = {"image": images, "label": labels}, {"image": test_images, "label": test_labels}
    return make_benchmark(name, train=train, test=test, schema=documented_schema(name))


def _official(name: str, *, drop: tuple[str, ...] = ()) -> Benchmark:
    """A table whose training and test rows are those of its authors."""
    train, test = (_read_parquet(path).drop(columns=list(drop), errors="ignore") for path in find(name))
    return make_benchmark(name, train=train, test=test, schema=documented_schema(name))


def _credit() -> Benchmark:
    from sklearn.model_selection import train_test_split

    frame = _read_parquet(find("credit")[0]).drop(columns=["Time"])
    parts = train_test_split(frame, test_size=0.25, stratify=frame["Class"], random_state=0)
    train, test = (part.reset_index(drop=True) for part in parts)
    return make_benchmark("credit", train=train, test=test, schema=documented_schema("credit"))


def _diabetes() -> Benchmark:
    from sklearn.model_selection import GroupShuffleSplit

    schema = documented_schema("diabetes130")
    frame = _read_parquet(find("diabetes130")[0]).drop(columns=["encounter_id"])
    frame["readmitted"] = frame["readmitted"].astype(str) == "<30"
    frame["medical_specialty"] = first_word(frame["medical_specialty"])
    frame = with_others(frame, schema)
    split = GroupShuffleSplit(n_splits=1, test_size=0.25, random_state=0)
    parts = next(split.split(frame, groups=frame["patient_nbr"]))
    train, test = (frame.iloc[part].reset_index(drop=True) for part in parts)
    return make_benchmark("diabetes130", train=train, test=test, schema=schema)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Bytes of an IDX file: pictures or labels."""
    try:
        with gzip.open(path, "rb") as file:
            content = file.read()
    except (OSError, EOFError) as error:
        raise SourceError(f"{path} cannot be read ({type(error).__name__}). Fetch it again.") from None
    header = 4 + 4 * content[3] if len(content) > 3 else 0
    shape = [int.from_bytes(content[at : at + 4], "big") for at in range(4, header, 4)]
    if not shape or len(content) != header + int(np.prod(shape)):
        raise SourceError(f"{path} is no IDX file of bytes. Fetch it again.")
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} cannot be read ({type(error).__name__}). Fetch it again.") from None


_LOADERS: dict[str, Callable[[], Benchmark]] = {
    "mnist": lambda: _images("mnist"),
    "fashion-mnist": lambda: _images("fashion-mnist"),
    "adult": lambda: _official("adult"),
    "census": lambda: _official("census", drop=("instance_weight",)),
    "credit": _credit,
    # It asks for vowels; the letter, its number and the group of speakers would give them away.
    "isolet": lambda: _official("isolet", drop=("subset", "label", "letter")),
    "diabetes130": _diabetes,
}
