"""Whether released rows obey the rules of their schema: looked at row by row, whatever made them."""

import numpy as np
import pandas as pd

from sfumato.model import Synthetic
from sfumato.public.schema.schema import Schema

#: What rounding on another processor may do to a computed number, in units of its bounds.
_ROUNDING = 2.0**-30


class RuleCheck:
    """Takes rows piece by piece, and keeps which rules they break."""

    def __init__(self, schema: Schema) -> None:
        """Nothing is broken yet."""
        self._schema, self._broken, self._seen = schema, dict[str, None](), dict[str, "pd.Index[str]"]()

    @property
    def problems(self) -> list[str]:
        """A sentence for each rule that a row breaks."""
        return [f"a released row breaks the rule {told!r}." for told in self._broken]

    def add(self, piece: Synthetic) -> None:
        """Look at some more rows."""
        if piece.table is None or not self._schema.rules or not len(piece.table):
            return
        ruled, table = self._schema.ruled, piece.table
        rows = {column.name: column.encode(table[column.name]) for column in self._schema.released}
        for condition in ruled.conditions:
            if condition.is_broken(rows, len(table)).any():
                self._broken[condition.told] = None
        for one in ruled.computed:
            given, column = rows[one.column.name], one.column
            if column.is_number:
                exact = one.exact.of(rows, len(table))
                slack = _ROUNDING * (column.high - column.low) + one.step / 2
                same = (np.abs(given - exact) <= slack) | (np.isnan(given) & np.isnan(exact))
            else:
                same = given == one.values(rows, len(table))
            if not same.all():
                self._broken[self._schema.rules[one.rule].told] = None
        for key in ruled.keys:
            values = table[key.name]
            if not all(map(key.pattern.fits, values)):
                self._broken[f"{key.name} like {key.pattern.text}"] = None
            if key.unique:
                seen = self._seen.get(key.name, pd.Index([], dtype=object)).append(pd.Index(values, dtype=object))
                self._seen[key.name] = seen
                if seen.has_duplicates:
                    self._broken[f"{key.name} like {key.pattern.text}, each once"] = None
