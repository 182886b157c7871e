"""Runs over several seeds in one line: means and standard deviations, beside the anchor over the same seeds."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Spread:
    """Some values of one figure: their mean and their standard deviation, which one value alone does not have."""

    mean: float
    deviation: float | None
    count: int

    def __format__(self, spec: str) -> str:
        """Both in the format of a number; four digits where none is named, as most tables print them.

        >>> f"{spread([0.9, 0.92]):.2f}"
        '0.91 ± 0.01'
        """
        spec = spec or ".4f"
        return f"{self.mean:{spec}}" if self.deviation is None else f"{self.mean:{spec}} ± {self.deviation:{spec}}"

    def __str__(self) -> str:
        """With four digits."""
        return format(self)


@dataclass(frozen=True)
class Summary:
    """What a learner reaches over seeds, at the recommended number of rows and at as many as are real.

    Runs made before both were scored have none at the second number (`utility_n` is None), and the real score of learner
    seed 0 beside every seed: such an anchor counts once.
    """

    utility: Spread
    utility_n: Spread | None
    real: Spread

    @property
    def gap(self) -> float:
        """How far the mean is below the anchor's."""
        return self.real.mean - self.utility.mean

    @property
    def gap_n(self) -> float | None:
        """The same with as many rows as are real."""
        return None if self.utility_n is None else self.real.mean - self.utility_n.mean


def spread(values: Sequence[float]) -> Spread:
    """The mean and the standard deviation of some values.

    >>> str(spread([0.9, 0.92])), str(spread([0.9]))
    ('0.9100 ± 0.0141', '0.9000')
    """
    return Spread(statistics.mean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))


def summarise(records: Sequence[dict[str, Any]]) -> Summary:
    """The runs of one dataset, epsilon and learner in one line."""
    at_n = [record.get("value_n") for record in records]
    known = [value for value in at_n if value is not None]
    anchors: dict[int, list[float]] = {}
    for record in records:
        anchors.setdefault(record.get("real_seed", 0), []).append(record["real_value"])
    return Summary(
        utility=spread([record["value"] for record in records]),
        utility_n=spread(known) if known and len(known) == len(at_n) else None,
        real=spread([statistics.mean(values) for values in anchors.values()]),
    )
