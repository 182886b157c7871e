"""A block: one part of what each row contributes to a sum, with a clip of its own.

The door scales every row's entries to an L2 norm of at most `l2_bound`, whatever the mechanism promises. `share` is the
part of the step's precision that goes to this block. There are three kinds of sum: a vector, codes, and products of two
vectors. Three more are none: tables, of which one is chosen, a code of each row that is reported by randomised
response, and votes of teachers, each of a part of the rows.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from sfumato.errors import PlanError

_MOST_CELLS = 2**26  # 512 MB of counts


@dataclass(frozen=True, kw_only=True)
class Dense:
    """A vector of `width` entries. A `nonnegative` one is also clipped at 0, which brings two rows closer together."""

    name: str
    width: int
    l2_bound: float
    share: float = 1.0
    nonnegative: bool = False

    def __post_init__(self) -> None:
        _check(self)

    @property
    def columns(self) -> int:
        """How many columns the per_record map gives."""
        return self.width


@dataclass(frozen=True, kw_only=True)
class Hot:
    """Codes: a row counts 1 at up to `n_hot` different positions, or its weight where it is `weighted`.

    A map gives `n_hot` columns of codes, of which those outside [0, width) count nowhere, and the weight as one more.
    A row with m codes weighs at most sqrt(n_hot / m) at each of them: the fewer codes it has, the more each may count.
    """

    name: str
    width: int
    n_hot: int = 1
    share: float = 1.0
    weighted: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.n_hot <= self.width:
            raise PlanError(
                f"block {self.name!r}: width {self.width} must be at least 1 and hold its {self.n_hot} hot entries."
            )
        _check(self)

    @property
    def l2_bound(self) -> float:
        """So many ones have this norm."""
        return math.sqrt(self.n_hot)

    @property
    def nonnegative(self) -> bool:
        """Whether no row counts less than nothing."""
        return not self.weighted

    @property
    def columns(self) -> int:
        """How many columns the per_record map gives."""
        return self.n_hot + int(self.weighted)


@dataclass(frozen=True, kw_only=True)
class Outer:
    """All products u_i v_j of two vectors: the gradient of a linear model, a second moment. `shape` is their lengths.

    A map gives u and v side by side; with `groups`, one more column says in which of so many copies the row counts.
    """

    name: str
    shape: tuple[int, int]
    l2_bound: float
    share: float = 1.0
    groups: int = 1
    nonnegative: ClassVar[bool] = False  # products have either sign

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))  # a list, where it comes from JSON
        if len(self.shape) != 2 or min(self.shape) < 1 or self.groups < 1:
            raise PlanError(f"block {self.name!r}: an outer block needs two lengths and groups of at least 1.")
        _check(self)

    @property
    def width(self) -> int:
        """Entries over all groups."""
        return math.prod(self.shape) * self.groups

    @property
    def columns(self) -> int:
        """How many columns the per_record map gives."""
        return sum(self.shape) + int(self.groups > 1)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Tables of counts with so many cells (`widths`), of which one is chosen. Its step has no other block.

    A map gives one code for each table, the cell that the row counts in; a code outside its table counts nowhere.
    """

    name: str
    widths: tuple[int, ...]
    width: ClassVar[int] = 1  # one number comes out: which table
    l2_bound: ClassVar[float] = 1.0  # what a row can move a score by
    share: ClassVar[float] = 1.0  # it has the step for itself
    nonnegative: ClassVar[bool] = False  # a row may raise a score or lower it, so one that is replaced moves it by two

    def __post_init__(self) -> None:
        object.__setattr__(self, "widths", tuple(self.widths))  # a list, where it comes from JSON
        if not self.widths or min(self.widths) < 1:
            raise PlanError(f"block {self.name!r}: a choice needs tables of at least 1 cell each.")
        if sum(self.widths) > _MOST_CELLS:
            raise PlanError(
                f"block {self.name!r} would count {sum(self.widths)} cells, more than memory holds. Use fewer or smaller tables."
            )

    @property
    def columns(self) -> int:
        """How many columns the per_record map gives."""
        return len(self.widths)


@dataclass(frozen=True, kw_only=True)
class Response:
    """One code of each row, of `categories` many, reported by randomised response: the code itself, or any by a fair die.

    A row may have several different `codes`, of which one is reported by another fair die: those of directions near it, say.
    How often it is one of its own follows from the share (docs/proofs/noisy-reports.md): of a Gaussian's mu, or, of a `pure`
    response, of epsilon itself. A row without so many different codes inside counts as one that has the first.
    """

    name: str
    categories: int
    share: float = 1.0
    codes: int = 1
    pure: bool = False
    width: ClassVar[int] = 1  # one code comes out
    l2_bound: ClassVar[float] = 1.0  # a code is one entry of so many
    nonnegative: ClassVar[bool] = True  # accounted for like a count: two rows lie at most sqrt(2) apart

    def __post_init__(self) -> None:
        if self.categories < 2:
            raise PlanError(f"block {self.name!r}: a response needs at least 2 categories, and has {self.categories}.")
        if not 1 <= self.codes <= self.categories // 2:
            raise PlanError(f"block {self.name!r}: a row may have 1 code, or more up to half of the categories.")
        _check(self)

    @property
    def columns(self) -> int:
        """How many columns the per_record map gives."""
        return self.codes


@dataclass(frozen=True, kw_only=True)
class Votes:
    """Votes of so many `teachers`, each of its own part of the rows, on so many `queries` with so many `classes`.

    A unit is in one part, so it has a say in one vote on each query. Wherever that goes, two counts move by one: the
    `l2_bound` is that of a change, whether a unit comes, goes or is replaced. The step has no other block.
    """

    name: str
    teachers: int
    queries: int
    classes: int
    columns: ClassVar[int] = 1  # there is no per_record map: a teacher sees all rows of its part
    share: ClassVar[float] = 1.0  # it has the step for itself
    nonnegative: ClassVar[bool] = True  # counts are

    def __post_init__(self) -> None:
        if min(self.teachers, self.queries) < 1 or self.classes < 2:
            raise PlanError(f"block {self.name!r}: votes need a teacher, a query and two classes at least.")

    @property
    def width(self) -> int:
        """A count for each class of each query."""
        return self.queries * self.classes

    @property
    def l2_bound(self) -> float:
        """On each query, a vote leaves one class and goes to another."""
        return math.sqrt(2 * self.queries)


Block = Dense | Hot | Outer | Choice | Response | Votes


def _check(block: Dense | Hot | Outer | Response) -> None:
    if block.width < 1:
        raise PlanError(f"block {block.name!r}: width {block.width} must be at least 1.")
    if not 1e-100 <= block.l2_bound <= 1e100:  # its square, and a row's, must be numbers that float64 can hold
        raise PlanError(f"block {block.name!r}: l2_bound = {block.l2_bound} must lie between 1e-100 and 1e100.")
    if not 0 < block.share <= 1:
        raise PlanError(f"block {block.name!r}: share = {block.share} must lie in (0, 1].")
