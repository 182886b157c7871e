"""Everything that an assessment says, as one plain value: the pages and the JSON file are made of it and of nothing else."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.lab.attacks.attribute import AttributeAttack
from sfumato.lab.attacks.roc import Attack, Interval

#: On every page, in red.
NOT_FOR_RELEASE = "NOT PRIVATE: computed from private rows without noise. For the custodian alone: do not publish it."


@dataclass(frozen=True)
class ClassScore:
    """How one class of the test rows fares: the share of its rows that are found, and of those so named that are it."""

    name: str
    rows: int
    recall: float
    precision: float


@dataclass(frozen=True)
class Calibration:
    """Of rows that were given about this probability, how many were right."""

    said: float
    seen: float
    rows: int


@dataclass(frozen=True)
class Learned:
    """One learner, trained on real or on synthetic rows, and tested on real ones."""

    learner: str
    trained_on: str
    score: Interval
    brier: float | None = None
    classes: tuple[ClassScore, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    calibration: tuple[Calibration, ...] = ()


@dataclass(frozen=True)
class Pair:
    """A figure of something by real and by synthetic rows."""

    name: str
    real: float
    synthetic: float


@dataclass(frozen=True)
class Utility:
    """What learners reach. Without a target every column is predicted from the others."""

    metric: str
    target: str | None
    class_names: tuple[str, ...]
    learned: tuple[Learned, ...]
    importances: tuple[Pair, ...]
    columns: tuple[Pair, ...]
    left_out: tuple[str, ...]

    def best(self, trained_on: str) -> Learned | None:
        """The learner that the protocol names first."""
        return next((each for each in self.learned if each.trained_on == trained_on), None)


@dataclass(frozen=True)
class ColumnDistance:
    """The total variation distance of one column: from the real rows to the synthetic ones, and to other real ones."""

    name: str
    synthetic: float
    fresh: float


@dataclass(frozen=True)
class PairDistance:
    """The same of two columns together."""

    first: str
    second: str
    synthetic: float
    fresh: float


@dataclass(frozen=True)
class Quantiles:
    """Of a column of numbers; dates are seconds since 1970."""

    name: str
    is_date: bool
    real: tuple[float, ...]
    synthetic: tuple[float, ...]


@dataclass(frozen=True)
class Shape:
    """A column's distribution as it is drawn: on common cells, or over labels."""

    name: str
    heights: dict[str, tuple[float, ...]]
    edges: tuple[float, ...]
    labels: tuple[str, ...]
    is_date: bool


@dataclass(frozen=True)
class TableLikeness:
    """How alike two tables are."""

    one_way: float
    one_way_fresh: float
    two_way: float | None
    two_way_fresh: float | None
    columns: tuple[ColumnDistance, ...]
    pairs: tuple[PairDistance, ...]
    numbers: tuple[str, ...]
    correlations_real: tuple[tuple[float, ...], ...]
    correlations_synthetic: tuple[tuple[float, ...], ...]
    correlation_error: float | None
    quantiles: tuple[Quantiles, ...]
    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class Sheet:
    """Pictures side by side: a PNG as a data address, and what it shows."""

    title: str
    address: str
    about: str


@dataclass(frozen=True)
class PictureLikeness:
    """How alike two sets of pictures are."""

    frechet: float
    frechet_fresh: float
    means: tuple[Sheet, ...]
    neighbours: tuple[Sheet, ...]
    nearest_private: tuple[float, ...]
    nearest_held_back: tuple[float, ...]


@dataclass(frozen=True)
class Inversion:
    """Pictures that were read off a learner on the release, and whether they give members away."""

    pictures: tuple[Sheet, ...]
    membership: Attack


@dataclass(frozen=True)
class Attacks:
    """What attackers reach."""

    membership: tuple[Attack, ...]
    attribute: AttributeAttack | None
    inversion: Inversion | None
    closest: Attack | None
    shadows: int

    def all(self) -> tuple[Attack, ...]:
        """Every attack that has a curve, the sanity figure aside."""
        more = [self.attribute.membership] if self.attribute is not None else []
        more += [self.inversion.membership] if self.inversion is not None else []
        return (*self.membership, *more)


@dataclass(frozen=True)
class Assessment:
    """One assessment of one release. Not private."""

    warning: str
    release: str
    mechanism: str
    status: str
    epsilon: float
    delta: float
    claim: str
    without: str
    rows: dict[str, int]
    rows_used: int
    utility: Utility
    told_apart: Interval
    told_apart_fresh: Interval
    table: TableLikeness | None
    pictures: PictureLikeness | None
    attacks: Attacks
    software: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain values; a number that is none becomes null."""
        plain = _finite(asdict(self))
        return dict(plain)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
