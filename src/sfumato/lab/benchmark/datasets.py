"""The benchmark datasets of the protocol: rows to release, rows to test on, and what is public about them."""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SourceError
from sfumato.lab.benchmark.catalogue import find
from sfumato.lab.benchmark.documented import documented_schema
from sfumato.lab.benchmark.others import first_word, with_others
from sfumato.public.schema.schema import Schema

#: Rows in any form that `Sensitive.read` takes: a table, or pictures and their labels.
Rows = pd.DataFrame | Mapping[str, NDArray[Any]]
Metric = Literal["accuracy", "auc", "auc_ovo"]

#: The delta of the protocol.
DELTA = 1e-5
#: LightGBM weighs the classes where one has less than this share of the real training rows.
RARE = 0.05


def row_count(rows: Rows) -> int:
    """How many rows."""
    return len(rows) if isinstance(rows, pd.DataFrame) else len(next(iter(rows.values())))


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One dataset of the protocol.

    Attributes:
        name: What it is called on the command line.
        train: The rows to release.
        test: Rows that no release and no learner sees before its test.
        schema: What is public about the rows.
        metric: `accuracy` (images), `auc` (two classes) or `auc_ovo` (several: one against one).
        positive: The class whose probability is scored where there are two.
        balanced: Whether LightGBM weighs the classes, on real and on synthetic rows alike.
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
    balanced = bool(rates.min() < RARE)
    return Benchmark(
        name=name, train=train, test=test, schema=schema, metric=metric, positive=positive, balanced=balanced
    )


def load(name: str) -> Benchmark:
    """Read a benchmark dataset from $SFUMATO_DATA, or from the cache that `fetch` fills.

    Raises:
        SourceError: there is no dataset of that name, or its files are not there.
    """
    if name not in _LOADERS:
        raise SourceError(f"there is no dataset {name!r}. Known: {', '.join(_LOADERS)}.")
    return _LOADERS[name]()


def names() -> tuple[str, ...]:
    """The datasets that are known."""
    return tuple(_LOADERS)


def register(name: str, loader: Callable[[], Benchmark]) -> None:
    """Make another dataset known."""
    _LOADERS[name] = loader


def _images(name: str) -> Benchmark:
    train_images, train_labels, test_images, test_labels = (read_idx(path) for path in find(name))
    return make_benchmark(
        name,
        train={"image": train_images, "label": train_labels},
        test={"image": test_images, "label": test_labels},
        schema=documented_schema(name),
    )


def _official(name: str, *, drop: tuple[str, ...] = ()) -> Benchmark:
    """A table whose training and test rows are those of its authors."""
    train, test = (_read_parquet(path).drop(columns=list(drop), errors="ignore") for path in find(name))
    return make_benchmark(name, train=train, test=test, schema=documented_schema(name))


def _isolet() -> Benchmark:
    # The benchmark asks for vowels; the letter, its number and the group of speakers would give them away.
    return _official("isolet", drop=("subset", "label", "letter"))


def _credit() -> Benchmark:
    from sklearn.model_selection import train_test_split

    frame = _read_parquet(find("credit")[0]).drop(columns=["Time"])
    train, test = train_test_split(frame, test_size=0.25, stratify=frame["Class"], random_state=0)
    return make_benchmark(
        "credit", train=_renumbered(train), test=_renumbered(test), schema=documented_schema("credit")
    )


def _diabetes() -> Benchmark:
    from sklearn.model_selection import GroupShuffleSplit

    schema = documented_schema("diabetes130")
    frame = _read_parquet(find("diabetes130")[0]).drop(columns=["encounter_id"])
    frame["readmitted"] = frame["readmitted"].astype(str) == "<30"
    frame["medical_specialty"] = first_word(frame["medical_specialty"])
    frame = with_others(frame, schema)
    split = GroupShuffleSplit(n_splits=1, test_size=0.25, random_state=0)
    of_train, of_test = next(split.split(frame, groups=frame["patient_nbr"]))
    return make_benchmark(
        "diabetes130", train=_renumbered(frame.iloc[of_train]), test=_renumbered(frame.iloc[of_test]), schema=schema
    )


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


def _renumbered(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.reset_index(drop=True)


_LOADERS: dict[str, Callable[[], Benchmark]] = {
    "mnist": lambda: _images("mnist"),
    "fashion-mnist": lambda: _images("fashion-mnist"),
    "adult": lambda: _official("adult"),
    "census": lambda: _official("census", drop=("instance_weight",)),
    "credit": _credit,
    "isolet": _isolet,
    "diabetes130": _diabetes,
}
