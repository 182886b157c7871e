"""Groups of yes-or-no columns of which one is set: those that are declared and not so, and those that nobody declared.

NOT private: it counts rows.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.dry_run.finding import Finding, found
from sfumato.mechanisms.table.columns.features import candidate_groups
from sfumato.public.schema.one_of import OneOf
from sfumato.public.schema.schema import Schema

_NEARLY_ALL = 0.999


class Groups:
    """For every group, declared or likely by its names, how many rows have none, one, or several of it set."""

    def __init__(self, schema: Schema) -> None:
        """Nothing counted yet."""
        self._declared = schema.groups
        likely = candidate_groups(schema.features, declared=schema.groups)
        self._likely = tuple(OneOf(members) for members in likely)
        self._counts = {group: np.zeros(3, dtype=np.int64) for group in (*self._declared, *self._likely)}

    def add(self, batch: Mapping[str, NDArray[np.generic]]) -> None:
        """Count one chunk of encoded rows."""
        for group, counts in self._counts.items():
            n_set = np.sum([batch[name].astype(np.float64) == 1 for name in group.members], axis=0)
            counts += np.bincount(np.minimum(n_set, 2), minlength=3)

    def findings(self, rows: int) -> list[Finding]:
        """Declared groups that rows break, and likely ones that all rows obey."""
        out: list[Finding] = []
        for group in self._declared:
            none, _, several = map(int, self._counts[group])
            key = "at_most_one_of" if group.or_none else "one_of"
            remedy = "Correct the file, or take the group out of the schema."
            what = f"{key} {_names(group)}: rows with several set, of which the first is kept"
            out += found(None, what, rows=several, of=rows, remedy=remedy)
            what = f"{key} {_names(group)}: rows with none set, in which the first becomes so"
            out += found(
                None, what, rows=0 if group.or_none else none, of=rows, remedy="Declare at_most_one_of instead."
            )
        for group in self._likely:
            none, one, _ = map(int, self._counts[group])
            key = "one_of" if one >= _NEARLY_ALL * rows else "at_most_one_of"
            if rows and one and none + one >= _NEARLY_ALL * rows:
                what = (
                    f"{_names(group)}: {'exactly one' if key == 'one_of' else 'at most one'} is set in nearly every row"
                )
                remedy = f"If that is a public rule, declare it: {key} = [...] under [dataset]."
                share = (one if key == "one_of" else none + one) / rows
                n_rows = round(share * rows)
                out.append(Finding(column=None, what=what, rows=n_rows, share=share, remedy=remedy, is_fault=False))
        return out


def _names(group: OneOf) -> str:
    return f"{group.members[0]}, ..., {group.members[-1]} ({len(group.members)} columns)"
