"""Real tables of other shapes than the benchmarks: those in $SFUMATO_DATA, and two that come with scikit-learn.

Bounds are round and generous, as somebody would write them who knows what a column means and has not seen the rows.
Categories of public code lists (airports, aircraft, departments) are taken from the file.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf

from .case import Case, Split, add, split_by
from .drawing import flag, number, whole

Read = Callable[..., tuple[pd.DataFrame, sf.Schema]]
_TRAIN = 0.7


def real(name: str, what: str, **settings: Any) -> Callable[[Read], Read]:
    """Register a table; `settings` go to the function that reads it."""

    def register(read: Read) -> Read:
        add(Case(name, what, lambda: _split(*read(**settings))))
        return read

    return register


def _split(frame: pd.DataFrame, schema: sf.Schema) -> Split:
    """70/30, by person where there is one, without the rows whose target is missing."""
    if schema.target is not None:
        frame = frame[frame[schema.target].notna()]
    units = frame[schema.unit.person].to_numpy() if schema.unit.person else np.arange(len(frame))
    shuffled = np.random.default_rng(0).permutation(np.unique(units))
    training = np.isin(units, shuffled[: int(_TRAIN * len(shuffled))])
    return split_by(frame, training, schema)


def _read(name: str) -> pd.DataFrame:
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        raise FileNotFoundError(f"{name}.parquet: set SFUMATO_DATA to the folder that holds it.")
    return pd.read_parquet(Path(folder) / f"{name}.parquet")


def _words(name: str, words: str | list[str], *, missing: bool = False, ordered: bool = False) -> sf.Column:
    listed = tuple(words.split() if isinstance(words, str) else words)
    return sf.Column(name=name, kind="ordinal" if ordered else "categorical", categories=listed, missing=missing)


def _listed(frame: pd.DataFrame, name: str) -> sf.Column:
    """A public code list, in the order of the alphabet."""
    return _words(name, sorted(frame[name].dropna().astype(str).unique()), missing=bool(frame[name].isna().any()))


def _yes_no(name: str, *, missing: bool = False) -> sf.Column:
    return _words(name, "no yes", missing=missing)


@real(
    "diamonds-price",
    "a price that follows from size and quality; x, y, z and carat determine each other",
    target="price",
)
@real("diamonds-cut", "five ordered classes of diamonds, by their measures and price", target="cut")
def diamonds(target: str) -> tuple[pd.DataFrame, sf.Schema]:
    columns = (
        number("carat", 0, 10),
        _words("cut", ["Fair", "Good", "Very Good", "Premium", "Ideal"], ordered=True),
        _words("color", "D E F G H I J", ordered=True),
        _words("clarity", "I1 SI2 SI1 VS2 VS1 VVS2 VVS1 IF", ordered=True),
        number("depth", 0, 100),
        number("table", 0, 100),
        whole("price", 0, 20_000),
        *(number(name, 0, 100) for name in "xyz"),
    )
    return _read("diamonds"), sf.Schema(columns=columns, target=target)


@real("flights", "a delay: dates, times, 105 airports, 4,043 aircraft, missing values, differences of columns")
def flights() -> tuple[pd.DataFrame, sf.Schema]:
    frame = _read("flights").drop(columns="year")  # the same in all rows
    frame["time_hour"] = pd.to_datetime(frame["time_hour"]).dt.tz_localize(None).astype("datetime64[s]")
    year = tuple(pd.Timestamp(day).timestamp() for day in ("2013-01-01", "2014-01-02"))
    columns = (
        whole("month", 1, 12), whole("day", 1, 31), whole("dep_time", 0, 2_400, missing=True),
        whole("sched_dep_time", 0, 2_400), whole("dep_delay", -120, 1_500, missing=True),
        whole("arr_time", 0, 2_400, missing=True), whole("sched_arr_time", 0, 2_400), whole("arr_delay", -120, 1_500),
        _listed(frame, "carrier"), whole("flight", 1, 9_999), _listed(frame, "tailnum"), _listed(frame, "origin"),
        _listed(frame, "dest"), whole("air_time", 0, 1_000, missing=True), whole("distance", 0, 6_000),
        whole("hour", 0, 23), whole("minute", 0, 59),
        sf.Column(name="time_hour", kind="datetime", bounds=year),
    )  # fmt: skip
    return frame, sf.Schema(columns=columns, target="arr_delay")


@real("insurance-whi", "mixed types, two classes that follow hours of work", target="whi")
@real("insurance-hours", "hours of work as target: a spike at 0, another at 40", target="whrswk")
def health_insurance(target: str) -> tuple[pd.DataFrame, sf.Schema]:
    columns = (
        whole("whrswk", 0, 100), _yes_no("hhi"), _yes_no("whi"), _yes_no("hhi2"),
        _words("education", "<9years 9-11years 12years 13-15years 16years >16years", ordered=True),
        _words("race", "white black other"), _yes_no("hispanic"), number("experience", -5, 80),
        whole("kidslt6", 0, 20), whole("kids618", 0, 20), number("husby", 0, 500),
        _words("region", "northcentral south west other"), whole("wght", 0, 2_000_000),
    )  # fmt: skip
    return _read("health_insurance"), sf.Schema(columns=columns, target=target)


@real("doctor-contacts", "counts as target with many zeros; booleans, few-valued numbers")
def doctor_contacts() -> tuple[pd.DataFrame, sf.Schema]:
    columns = (
        whole("mdu", 0, 200), number("lc", 0, 5), flag("idp"), number("lpi", 0, 10), number("fmde", 0, 10),
        flag("physlim"), number("ndisease", 0, 100), _words("health", "poor fair good excellent", ordered=True),
        number("linc", 0, 15), number("lfam", 0, 5), number("educdec", 0, 30), number("age", 0, 100),
        _words("sex", "male female"), flag("child"), flag("black"),
    )  # fmt: skip
    return _read("doctor_contacts"), sf.Schema(columns=columns, target="mdu")


@real("lecture-ratings", "students who rate many lectures each, 1,128 lecturers as categories, five classes")
def lecture_ratings() -> tuple[pd.DataFrame, sf.Schema]:
    frame = _read("lecture_ratings").astype({"d": str, "dept": str, "y": str})
    frame["service"] = frame["service"] == 1
    columns = (
        _listed(frame, "d"), whole("studage", 0, 10), whole("lectage", 0, 10), flag("service"), _listed(frame, "dept"),
        _words("y", "1 2 3 4 5", ordered=True),
    )  # fmt: skip
    unit = sf.PrivacyUnit(person="s", max_rows=25)  # a student takes some 25 courses in the years that were surveyed
    return frame, sf.Schema(columns=columns, target="y", unit=unit)


@real("lecture-numbers", "the same, with the rating as a number")
def lecture_numbers() -> tuple[pd.DataFrame, sf.Schema]:
    frame, schema = lecture_ratings()
    columns = (*schema.columns[:-1], whole("y", 1, 5))
    return frame.astype({"y": int}), sf.Schema(columns=columns, target="y", unit=schema.unit)


@real("mortgage", "1,700 rows, two classes with 12 % positives")
def mortgage() -> tuple[pd.DataFrame, sf.Schema]:
    frame = _read("mortgage")
    frame["comdominiom"] = frame["comdominiom"] == 1
    columns = (
        number("dir", 0, 5), number("hir", 0, 5), number("lvr", 0, 5), whole("ccs", 1, 6), whole("mcs", 1, 4),
        _yes_no("pbcr", missing=True), _yes_no("dmi"), _yes_no("self", missing=True), _yes_no("single"),
        number("uria", 0, 20), flag("comdominiom"), _yes_no("black"), _yes_no("deny"),
    )  # fmt: skip
    return frame, sf.Schema(columns=columns, target="deny")


@real("breast-cancer", "398 rows of 30 numbers, two classes")
def breast_cancer() -> tuple[pd.DataFrame, sf.Schema]:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    frame = data.frame.assign(target=data.frame["target"] == 1)
    sizes = {"radius": 50, "texture": 100, "perimeter": 500, "area": 5_000}  # the others are ratios
    columns = [number(str(name), 0, _size_of(str(name), sizes)) for name in data.data.columns]
    return frame, sf.Schema(columns=(*columns, flag("target")), target="target")


def _size_of(name: str, sizes: dict[str, int]) -> float:
    if name.startswith("fractal"):
        return 0.5
    word = next((word for word in sizes if word in name.split()), None)
    high = 2.0 if word is None else float(sizes[word])
    return high / 5 if name.endswith("error") else high


@real("digits", "1,257 rows of 64 small whole numbers, ten classes")
def digits() -> tuple[pd.DataFrame, sf.Schema]:
    from sklearn.datasets import load_digits

    data = load_digits(as_frame=True)
    frame = data.frame.astype({"target": str})
    columns = [whole(str(name), 0, 16) for name in data.data.columns]
    return frame, sf.Schema(columns=(*columns, _words("target", "0 1 2 3 4 5 6 7 8 9")), target="target")
