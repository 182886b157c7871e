"""Columns of which nothing is left: seen in the synthetic rows, judged by the planned noise.

Boolean words that nobody declared, a misspelt list of categories, bounds in another unit: each maps every row to the
same value, privately and silently. What comes out is one value and noise, and that can be told.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.mechanism import Mechanism
from sfumato.outlook.forecast import LITTLE_USE
from sfumato.outlook.preview import noise_of
from sfumato.outlook.tally import PLACES, ColumnTally, Tally
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Column, Schema

#: A class drowns when its rows are fewer than so many standard deviations of a count.
_DROWNED = 3.0
#: Another column has collapsed when each of its values but one has fewer rows than so many standard deviations, on
#: average, and all of them together have fewer than this share. A single rare value is not worth a word.
_COLLAPSED, _COLLAPSED_SHARE = 2.0, 0.01
#: The part of a column's rows that lies in one place of its range: honest columns of zeros, such as losses, reach 95 %.
_IN_PLACE = 0.98
_ABSENT = 0.98
#: Fewer synthetic rows say too little of a column.
_LEAST_ROWS = 100
_NAMED = 5


def _private_rows(count: int, counts: Sequence[int], *, rows: float) -> float:
    """What a count among the synthetic rows would be among the private ones, with room for the chance of drawing."""
    return (count + 3) / max(sum(counts), 1) * rows


def count_noise(mechanism: Mechanism, *, schema: Schema, plan: Plan) -> dict[str, float]:
    """For each column the noise on a count of one of its values, in rows: as the plan tells it, or that of any count."""
    told: dict[str, float] = {}
    for entry in noise_of(mechanism, schema=schema, planned=plan):
        if entry["unit"] == "rows":
            told[entry["column"]] = min(entry["noise"], told.get(entry["column"], np.inf))
    least = min(told.values(), default=0.0)
    return {column.name: told.get(column.name, least) for column in schema.columns}


def collapsed_classes(schema: Schema, tally: Tally, *, rows: int, noise: Mapping[str, float]) -> str | None:
    """A sentence on declared classes of the target that have no rows beyond noise, by what `count_noise` gave."""
    target = schema.target_column
    if target is None or tally.classes is None or len(target.categories) < 2:
        return None
    least, counts = _DROWNED * noise[target.name], tally.classes.tolist()
    classes = zip(target.categories, counts, strict=False)
    lost = [name for name, count in classes if _private_rows(count, counts, rows=rows) < least]
    if not lost:
        return None
    whose, have = ("class", "has") if len(lost) == 1 else ("classes", "have")
    ask = "Are the classes spelled as in the file? If so, merge the rare ones, or use more rows or a larger epsilon."
    if target.kind == "boolean":
        ask = "Are the words for true and false declared as they are in the file?"
    said = (
        f"{whose} {_listed(lost)} of the target {target.name!r} {have} nearly no rows, fewer than noise alone can make "
        f"({least:,.0f}). {ask}"
    )
    left = len(target.categories) - len(lost)
    # Among many classes a few rare ones may drown, and the rest be well worth learning from.
    return f"{LITTLE_USE}: {said}" if left < 2 or left < len(lost) else said[0].upper() + said[1:]


def collapsed_columns(schema: Schema, tally: Tally, *, rows: int, noise: Mapping[str, float]) -> list[str]:
    """Sentences on columns without classes to learn of which one value, one place of the range or nothing is left."""
    if tally.n_rows < _LEAST_ROWS:
        return []
    alike: dict[str, list[str]] = {}
    for column in schema.columns:
        counted = tally.columns.get(column.name)
        if counted is None or (column.name == schema.target and column.is_coded):
            continue
        if counted.missing / tally.n_rows > _ABSENT:
            alike.setdefault("missing", []).append(column.name)
        elif column.is_number and (place := _place_in_range(counted)) is not None:
            alike.setdefault(place, []).append(column.name)
        elif column.is_coded and _is_one_value(counted.values.tolist(), column, rows=rows, noise=noise[column.name]):
            alike.setdefault("words" if column.kind == "boolean" else "categories", []).append(column.name)
    return [_sentence(kind, names) for kind, names in sorted(alike.items())]


def _sentence(kind: str, names: list[str]) -> str:
    who = f"{'Column' if len(names) == 1 else 'Columns'} {_listed(names)}"
    constant = "What really is constant is better left out: it takes precision from the rest."
    be, have = ("is", "has") if len(names) == 1 else ("are", "have")
    return {
        "missing": f"{who} {be} nearly all missing. Do the names in the file agree with the schema, and the types?",
        "lower": f"{who} {have} nearly all rows at the lower bound. Are bounds and units right?",
        "upper": f"{who} {have} nearly all rows at the upper bound. Are bounds and units right?",
        "middle": f"{who} {have} nearly all rows exactly in the middle of the bounds, where values are put that cannot be "
        "read. Has the file decimal points, no separators of thousands, and dates such as 2020-01-31?",
        "words": f"{who} {have} nearly one value alone: the other drowns in the noise. Are the words for true and "
        f"false declared? {constant}",
        "categories": f"{who} {have} nearly one value alone: the others drown in the noise. Are the categories spelled "
        f"as in the file? {constant}",
    }[kind]


def _is_one_value(counts: Sequence[int], column: Column, *, rows: int, noise: float) -> bool:
    if len(column.categories) < 2:
        return False
    others = sum(counts) - max(counts)
    few = others / max(sum(counts), 1) <= _COLLAPSED_SHARE
    return few and _private_rows(others, counts, rows=rows) <= _COLLAPSED * noise * (column.size - 1)


def _place_in_range(counted: ColumnTally) -> str | None:
    """`lower`, `upper` or `middle`, where nearly all values that there are lie."""
    near = zip(PLACES, counted.values.tolist(), strict=True)
    return next((place for place, rows in near if counted.known and rows / counted.known > _IN_PLACE), None)


def _listed(names: list[str]) -> str:
    """Some names, and how many there are beside them.

    >>> _listed(["a", "b"]), _listed(list("abcdefg"))
    ("'a' and 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    shown = [repr(name) for name in names[:_NAMED]]
    if len(names) > _NAMED:
        return f"{', '.join(shown)} and {len(names) - _NAMED} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
