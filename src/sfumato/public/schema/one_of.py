"""Groups of yes-or-no columns of which one is set: a category that is spelled out, declared as a public fact."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.public.schema.column import Column
from sfumato.public.spelling import did_you_mean

#: Columns of each group, as a schema declares them.
Groups = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class OneOf:
    """Columns of which exactly one is set in every row; with `or_none`, at most one."""

    members: tuple[str, ...]
    or_none: bool = False

    @property
    def size(self) -> int:
        """How many codes there are: one for each member, and one more where none may be set."""
        return len(self.members) + int(self.or_none)

    def code(self, batch: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Which member is set: of several the first, and of none the first of all, or the last code where none may be.

        A row that is not as declared must have a place too. Which one follows from the row alone.
        """
        is_set = self._is_set(batch)
        return np.where(is_set.any(axis=1), is_set.argmax(axis=1), len(self.members) if self.or_none else 0)

    def spelled(self, codes: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """The columns that a code stands for."""
        return {name: (codes == at).astype(np.int64) for at, name in enumerate(self.members)}

    def obeyed(self, batch: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.int64]]:
        """The columns of synthetic rows, with one of those that are set, or of all where none is and one should be.

        For mechanisms that draw each column by itself. Which of several is kept goes round with the number of the row,
        so that no member is favoured.
        """
        is_set = self._is_set(batch)
        free = is_set if self.or_none else is_set | ~is_set.any(axis=1, keepdims=True)
        n_free = free.sum(axis=1)
        wanted = np.arange(len(is_set)) % np.maximum(n_free, 1)
        chosen = (free & (np.cumsum(free, axis=1) - 1 == wanted[:, None])).argmax(axis=1)
        return self.spelled(np.where(n_free > 0, chosen, len(self.members)))

    def _is_set(self, batch: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        return np.asarray(np.stack([np.round(batch[name]) == 1 for name in self.members], axis=1))


def groups_declared(value: object, *, key: str) -> Groups:
    """A list of names, or a list of such lists, as groups."""
    if isinstance(value, list | tuple) and value and all(isinstance(entry, str) for entry in value):
        value = [value]
    if not isinstance(value, list | tuple) or not all(
        isinstance(group, list | tuple) and all(isinstance(name, str) for name in group) for group in value
    ):
        raise SchemaError(f'{key} must be a list of columns, such as ["soil_1", "soil_2"], or a list of such lists.')
    return tuple(tuple(group) for group in value)


def group_faults(
    groups: Mapping[str, Groups], *, columns: Sequence[Column], target: str | None, unread: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """What is wrong with groups that are none, by the key under which they were declared; `unread` columns are not judged."""
    by_name = {column.name: column for column in columns}
    seen: set[str] = set()
    for key, declared in groups.items():
        for group in declared:
            if len(group) < 2:
                yield key, f"a group of {key} has {len(group)} columns. List at least two, or remove it."
            for name in group:
                if name not in by_name and name not in unread:
                    near = did_you_mean(name, by_name) or " Check the spelling."
                    yield key, f"{key} names {name!r}, which is not a column of the schema.{near}"
                elif name == target and name not in unread:
                    yield key, f"{key} names the target {name!r}. List the other columns only."
                elif name not in unread and not is_yes_or_no(by_name[name]):
                    wanted = "boolean, or integer with bounds = [0, 1], and never missing"
                    remedy = "Change its type, or remove it from the group."
                    yield key, f"{key} names {name!r}, which is no yes or no: its columns are {wanted}. {remedy}"
                elif name in seen:
                    yield key, f"column {name!r} is listed twice in one_of or at_most_one_of. List it once."
                seen.add(name)


def is_yes_or_no(column: Column) -> bool:
    """Whether a column holds 0 or 1 and nothing else."""
    return not column.missing and (
        column.kind == "boolean" or (column.kind == "integer" and column.bounds == (0.0, 1.0))
    )
