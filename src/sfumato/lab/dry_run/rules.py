"""How many rows break each rule of the schema, and what that will mean. NOT private: for the custodian alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.dry_run.finding import Finding, found
from sfumato.public.schema.schema import Column, Schema

Batch = Mapping[str, NDArray[Any]]
_REMEDY = "Released rows obey all the same, so they will say less of these rows. Correct the file, or take the rule out if it is not true."


class RuleTally:
    """Counts rows that break a rule, chunk by chunk; `beside` are computed columns that the file has as well."""

    def __init__(self, schema: Schema, beside: Sequence[Column]) -> None:
        self._schema, self._beside = schema, {column.name for column in beside}
        self._broken = np.zeros(len(schema.rules), dtype=np.int64)

    def add(self, batch: Batch, beside: Batch) -> None:
        """Count one chunk of encoded rows. The columns that the file has beside are only compared."""
        if not self._schema.rules:
            return
        ruled = self._schema.ruled
        n_rows, broken = len(next(iter(batch.values()))), dict[int, NDArray[np.bool_]]()
        rows = ruled.complete(batch)
        for condition in ruled.conditions:
            broken[condition.rule] = broken.get(condition.rule, False) | condition.is_broken(rows, n_rows)
        for one in ruled.computed:
            if one.column.name in self._beside:
                given, exact = beside[one.column.name], rows[one.column.name]
                if one.column.is_number:
                    other = np.abs(given - exact) > one.step + 1e-6 * (one.column.high - one.column.low)
                else:
                    other = given != exact
                broken[one.rule] = broken.get(one.rule, False) | other
        for number, rows_of_rule in broken.items():
            self._broken[number] += int(np.count_nonzero(rows_of_rule))

    def findings(self, rows: int) -> list[Finding]:
        """A finding for each rule that rows break."""
        told = [(rule.told, int(count)) for rule, count in zip(self._schema.rules, self._broken, strict=True)]
        return [
            finding
            for text, count in told
            for finding in found(None, f"rows that break the rule {text!r}", rows=count, of=rows, remedy=_REMEDY)
        ]
