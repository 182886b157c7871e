"""Fidelity of several tables: every column of each, numbers of events, pairs across tables, what follows what, gaps. Not private."""

from typing import Any

import numpy as np

from sfumato.lab.assess.material import Material
from sfumato.lab.assess.relations import Figure, differences

#: What a reader is told that a figure is of.
_WORDS = {
    "number": "number of events",
    "group": "number of events, by a column of persons",
    "pair": "pairs of a column of persons and one of events",
    "consecutive": "an event and the next",
    "kinds": "a kind and the next",
    "gap": "gaps between events",
}


def compare_histories(material: Material) -> list[dict[str, Any]]:
    """Total variation distances of each table, and of what is between tables, beside those of other real persons.

    Returns:
        Of every table its `name`, the `rows` of each set, its `columns`, and `between`: each with `name`, `synthetic` and `fresh`; those
        `between` are means over columns. Nothing where there is one table.
    """
    if not material.persons:
        return []
    related = {name: persons.related() for name, persons in material.persons.items()}
    schema = material.release.schema
    out = list[dict[str, Any]]()
    for table in schema.tables:
        real, made, fresh = (related[name][table.name] for name in ("real", "synthetic", "test"))
        found = differences(real, made, fresh)
        if not out and schema.persons is not None:
            out.append(_told(schema.persons, material.rows(), "parent", found, between=False))
        rows = {name: len(related[name][table.name].whose) for name in ("real", "synthetic", "test")}
        out.append(_told(table.name, rows, "child", found, between=True))
    return out


def _told(
    name: str, rows: dict[str, int], columns: str, found: list[dict[Figure, float]], *, between: bool
) -> dict[str, Any]:
    of_columns = [(figure[1], [one[figure] for one in found]) for figure in found[0] if figure[0] == columns]
    means = [
        (words, [_mean(one, sort) for one in found])
        for sort, words in _WORDS.items()
        if between and any(figure[0] == sort for figure in found[0])
    ]
    return {"name": name, "rows": rows, "columns": list(map(_line, of_columns)), "between": list(map(_line, means))}


def _mean(found: dict[Figure, float], sort: str) -> float:
    return float(np.mean([value for figure, value in found.items() if figure[0] == sort]))


def _line(told: tuple[str, list[float]]) -> dict[str, Any]:
    name, (synthetic, fresh) = told
    return {"name": name, "synthetic": synthetic, "fresh": fresh}
