"""The benchmark datasets that are known by name, and where their files are."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.errors import SourceError

#: The environment variable that names the folder of benchmark datasets.
DATA_VARIABLE = "SFUMATO_DATA"


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


def find(name: str) -> tuple[Path, ...]:
    """The files of a dataset, in the order of the catalogue.

    >>> find("iris")
    Traceback (most recent call last):
    sfumato.errors.SourceError: there is no dataset 'iris'. Known: mnist, fashion-mnist, adult, census, credit, ...
    """
    known = {dataset.name: dataset for dataset in CATALOGUE}
    if name not in known:
        raise SourceError(f"there is no dataset {name!r}. Known: {', '.join(known)}.")
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        raise SourceError(
            f"dataset {name!r} is not part of the package. Set {DATA_VARIABLE} to the folder that holds "
            f"{known[name].files[0]}."
        )
    paths = tuple(Path(folder) / file for file in known[name].files)
    for path in paths:
        if not path.is_file():
            raise SourceError(
                f"{path} does not exist. Put it there, or set {DATA_VARIABLE} to the folder that holds it."
            )
    return paths


def is_found(dataset: Dataset) -> bool:
    """Whether all files of a dataset are there."""
    folder = os.environ.get(DATA_VARIABLE)
    return bool(folder) and all((Path(folder or "") / file).is_file() for file in dataset.files)
