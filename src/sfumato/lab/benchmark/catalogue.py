"""The benchmark datasets that are known by name, and where their files are."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.errors import SourceError

#: The environment variable that names the folder of benchmark datasets.
DATA_VARIABLE = "SFUMATO_DATA"
#: The environment variable that names another cache folder than the platform's.
CACHE_VARIABLE = "SFUMATO_CACHE"


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A public dataset as it is usually distributed. `rows` counts the training rows, or all where there is no split."""

    name: str
    kind: Literal["images", "table"]
    rows: int
    target: str
    files: tuple[str, ...]


def _idx_files(folder: str) -> tuple[str, ...]:
    kinds = ("images-idx3-ubyte.gz", "labels-idx1-ubyte.gz")
    return tuple(f"{folder}/{part}-{kind}" for part in ("train", "t10k") for kind in kinds)


def _train_and_test(name: str) -> tuple[str, ...]:
    return (f"{name}_train.parquet", f"{name}_test.parquet")


CATALOGUE: tuple[Dataset, ...] = (
    Dataset(name="mnist", kind="images", rows=60_000, target="label", files=_idx_files("mnist")),
    Dataset(name="fashion-mnist", kind="images", rows=60_000, target="label", files=_idx_files("fashion_mnist")),
    Dataset(name="adult", kind="table", rows=32_561, target="income", files=_train_and_test("adult")),
    Dataset(name="census", kind="table", rows=199_523, target="income", files=_train_and_test("census_income_kdd")),
    Dataset(name="credit", kind="table", rows=284_807, target="Class", files=("creditcard.parquet",)),
    Dataset(name="isolet", kind="table", rows=6_238, target="vowel", files=_train_and_test("isolet")),
    Dataset(name="diabetes130", kind="table", rows=101_766, target="readmitted", files=("diabetes130.parquet",)),
)


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
    for entry in CATALOGUE:
        if entry.name == name:
            return entry
    raise SourceError(f"there is no dataset {name!r}. Known: {', '.join(entry.name for entry in CATALOGUE)}.")


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
