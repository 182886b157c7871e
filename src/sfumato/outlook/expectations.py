"""What to expect of a release before any row is read: a law found on made-up populations, shipped with the package.

One quantity governs nearly all of it: how far the rows rise above the noise, rows * mu, divided by a power of the number
of columns and, for a learner, by how rare the class is. docs/research/expectations.md says how it was found and how far
it may be trusted.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Law:
    """A rising or falling curve over log10(rows * mu * (2 rate)^b / columns^a), with the range of most runs.

    >>> law = Law(columns=0.5, rate=0.0, x=(1.0, 3.0), low=(0.0, 0.8), middle=(0.2, 0.9), high=(0.4, 1.0))
    >>> law.at(rows=1_000, mu=0.1, columns=1).middle
    0.55
    """

    columns: float
    rate: float
    x: tuple[float, ...]
    low: tuple[float, ...]
    middle: tuple[float, ...]
    high: tuple[float, ...]

    @staticmethod
    def of(entry: Mapping[str, Any]) -> "Law":
        """Read from JSON."""
        names = ("x", "low", "middle", "high")
        return Law(float(entry["columns"]), float(entry["rate"]), *(tuple(map(float, entry[name])) for name in names))

    def place(self, *, rows: float, mu: float, columns: int, rate: float = 0.5) -> float:
        """Where on the curve such a release lies."""
        return math.log10(rows * mu) + self.rate * math.log10(2 * rate) - self.columns * math.log10(max(columns, 1))

    def at(self, *, rows: float, mu: float, columns: int, rate: float = 0.5) -> "Range":
        """What is expected there. Beyond the ends of the curve: what was seen at its end, which is safe at the upper one."""
        place = self.place(rows=rows, mu=mu, columns=columns, rate=rate)
        low, middle, high = (float(np.interp(place, self.x, line)) for line in (self.low, self.middle, self.high))
        return Range(low, middle, high, seen=place >= self.x[0])

    def factor_for(self, share: float, *, rows: float, mu: float, columns: int, rate: float = 0.5) -> float:
        """How many times more rows, or times less noise, the middle of the curve needs to reach a share.

        Infinite where it never does.
        """
        reached = [at for at, value in zip(self.x, self.middle, strict=True) if value >= share]
        here = self.place(rows=rows, mu=mu, columns=columns, rate=rate)
        return 10 ** (reached[0] - here) if reached else math.inf


@dataclass(frozen=True)
class Range:
    """Where four of five runs lay, and their middle. `seen`: whether runs went as far down as this."""

    low: float
    middle: float
    high: float
    seen: bool


@dataclass(frozen=True)
class Expectations:
    """All that was found for one kind of data: `table` or `image`.

    `share` is the part of a learner's lift over guessing that the release keeps; `one_way` and `two_way` are total
    variation distances of columns and of pairs (tables only); `alpha` is the trade-off, one entry for each alpha.
    """

    digest: str
    share: Law
    one_way: Law | None
    two_way: Law | None
    alpha: tuple[Mapping[str, float], ...]
    most_columns: int
    runs: int


@cache
def load_expectations() -> Mapping[str, Expectations]:
    """The figures of this version of the package, by kind of data."""
    text = files("sfumato.outlook").joinpath("expectations.json").read_text(encoding="utf-8")
    return {kind: _read(entry) for kind, entry in json.loads(text).items() if kind in ("table", "image")}


def _read(entry: Mapping[str, Any]) -> Expectations:
    laws = {name: Law.of(law) for name, law in entry["laws"].items()}
    return Expectations(
        digest=entry["digest"],
        share=laws["share"],
        one_way=laws.get("one_way"),
        two_way=laws.get("two_way"),
        alpha=tuple(entry["alpha"]),
        most_columns=max(run[entry["fields"].index("columns")] for run in entry["runs"]),
        runs=len(entry["runs"]),
    )
