"""Benchmark datasets from where their publishers keep them, checked before they are used."""

import hashlib
import io
import os
import tempfile
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sfumato.errors import SourceError
from sfumato.lab.benchmark import convert
from sfumato.lab.benchmark.catalogue import data_folder, dataset

Convert = Callable[[bytes], Mapping[str, pd.DataFrame]]
_UCI = "https://archive.ics.uci.edu/static/public"
_IMAGE_HASHES = {
    "mnist/train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "mnist/train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "mnist/t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "mnist/t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    "fashion_mnist/train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    "fashion_mnist/train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    "fashion_mnist/t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    "fashion_mnist/t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
}


@dataclass(frozen=True, kw_only=True)
class Image:
    """Files that are kept as they are published, each with its SHA-256."""

    base: str
    hashes: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A file that is turned into tables.

    Its SHA-256 is checked where it is known. Where it is not, what is checked are the rows of each class in each
    table, as the documentation counts them, and that all columns are there.
    """

    url: str
    convert: Convert
    sha256: str | None = None
    target: str
    counts: Mapping[str, Mapping[str, int]]
    n_columns: int


SOURCES: dict[str, Image | Table] = {
    "mnist": Image(
        base="https://ossci-datasets.s3.amazonaws.com/mnist",
        hashes={file: value for file, value in _IMAGE_HASHES.items() if file.startswith("mnist/")},
    ),
    "fashion-mnist": Image(
        base="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        hashes={file: value for file, value in _IMAGE_HASHES.items() if file.startswith("fashion_mnist/")},
    ),
    "adult": Table(
        url=f"{_UCI}/2/adult.zip",
        convert=convert.adult,
        target="income",
        counts={
            "adult_train.parquet": {"<=50K": 24_720, ">50K": 7_841},
            "adult_test.parquet": {"<=50K": 12_435, ">50K": 3_846},
        },
        n_columns=15,
    ),
    "census": Table(
        url=f"{_UCI}/117/census+income+kdd.zip",
        convert=convert.census,
        target="income",
        counts={
            "census_income_kdd_train.parquet": {"-50000": 187_141, "50000+": 12_382},
            "census_income_kdd_test.parquet": {"-50000": 93_576, "50000+": 6_186},
        },
        n_columns=42,
    ),
    # Its authors publish it on Kaggle, which asks for an account; this is the same file, by its SHA-256.
    "credit": Table(
        url="https://storage.googleapis.com/download.tensorflow.org/data/creditcard.csv",
        convert=convert.credit,
        sha256="76274b691b16a6c49d3f159c883398e03ccd6d1ee12d9d8ee38f4b4b98551a89",
        target="Class",
        counts={"creditcard.parquet": {"0": 284_315, "1": 492}},
        n_columns=31,
    ),
    "isolet": Table(
        url=f"{_UCI}/54/isolet.zip",
        convert=convert.isolet,
        target="vowel",
        counts={"isolet_train.parquet": {"0": 5_038, "1": 1_200}, "isolet_test.parquet": {"0": 1_259, "1": 300}},
        n_columns=619,
    ),
    "diabetes130": Table(
        url=f"{_UCI}/296/diabetes+130-us+hospitals+for+years+1999-2008.zip",
        convert=convert.diabetes,
        target="readmitted",
        counts={"diabetes130.parquet": {"NO": 54_864, ">30": 35_545, "<30": 11_357}},
        n_columns=50,
    ),
}


def fetch(name: str, *, on_step: Callable[[str], None] = lambda step: None) -> tuple[Path, ...]:
    """Download a dataset into $SFUMATO_DATA, or into the cache folder where that is not set.

    A file is moved to its place when it has passed its checks, never before.

    Raises:
        SourceError: there is no such dataset, it cannot be reached, or what came is not what was published.
    """
    entry, source, folder = dataset(name), SOURCES[name], data_folder()
    if isinstance(source, Image):
        for file, expected in source.hashes.items():
            on_step(f"fetching {file}")
            _put(folder / file, download(f"{source.base}/{file.rpartition('/')[2]}", sha256=expected))
    else:
        on_step(f"fetching {source.url}")
        content = download(source.url, sha256=source.sha256)
        on_step("converting")
        tables = source.convert(content)
        for file, counts in source.counts.items():
            _check(tables[file], source, counts)
        for file in source.counts:
            buffer = io.BytesIO()
            tables[file].to_parquet(buffer, index=False, compression="zstd")
            _put(folder / file, buffer.getvalue())
    return tuple(folder / file for file in entry.files)


def download(url: str, *, sha256: str | None = None) -> bytes:
    """The bytes behind an address, if they are the expected ones."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content: bytes = answer.read()
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{url} cannot be fetched ({type(error).__name__}). Check the connection, or get the dataset in another way."
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise SourceError(f"{url} is not the published file: its SHA-256 is {found} and should be {sha256}.")
    return content


def _check(frame: pd.DataFrame, source: Table, counts: Mapping[str, int]) -> None:
    found = frame[source.target].astype(str).value_counts().to_dict() if source.target in frame.columns else {}
    if found != dict(counts) or frame.shape[1] != source.n_columns:
        raise SourceError(
            f"{source.url} is not the documented dataset: its rows or columns are not as many as they should be."
        )


def _put(path: Path, content: bytes) -> None:
    """Write beside the place, then move."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise SourceError(
            f"{path} cannot be written ({os.strerror(error.errno or 0)}). Choose another folder."
        ) from None
