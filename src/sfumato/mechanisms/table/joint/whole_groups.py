"""Which columns may be counted whole, every combination of their values: public, from names and sizes alone."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.table.columns.features import Feature, stem_of
from sfumato.mechanisms.table.settings.sizes import SumSizes


@dataclass(frozen=True)
class WholeGroups:
    """Groups of columns, of which one is counted whole: the only one, or one that is chosen."""

    candidates: tuple[tuple[str, ...], ...]
    widths: tuple[int, ...]  # combinations of each, classes included
    is_all: bool  # whether the one group is every column


def groups_to_count(
    features: Sequence[Feature],
    sizes: SumSizes,
    *,
    n_classes: int,
    rows: float,
    most_of_all: float,
    most_of_some: float,
) -> WholeGroups | None:
    """All columns where they have few enough combinations; else those with few values, or parts of these to choose from.

    A choice is among columns whose names differ in their ending, and among groups drawn by chance from a public seed.
    """
    count = {feature.cells.column.name: feature.cells.count for feature in features}
    short = [f for f in features if f.cells.column.is_coded and f.cells.count <= sizes.whole_values]

    def cells(names: Sequence[str]) -> int:
        return n_classes * math.prod(count[name] for name in names)

    every, all_coded = tuple(count), all(f.cells.column.is_coded for f in features)
    if len(every) >= sizes.whole_columns[0] and all_coded and cells(every) <= min(most_of_all, sizes.whole_cells):
        return WholeGroups((every,), (cells(every),), is_all=True)
    if len(features) > sizes.most_paired:
        return None
    most, fewest = min(most_of_some, sizes.whole_cells), sizes.whole_columns[1]
    runs = [tuple(f.cells.column.name for f in run) for run in _alike(short)]
    # Long lists of names that are alike spell out one category, or several.
    long = {name for run in runs if cells(run) > most for name in run}
    names = tuple(f.cells.column.name for f in short if f.cells.column.name not in long)
    if len(names) >= fewest and cells(names) <= most:
        return WholeGroups((names,), (cells(names),), is_all=False)
    rng = np.random.default_rng(0)
    n_drawn = int(min(sizes.whole_candidates, sizes.whole_codes / rows))
    drawn = (tuple(names[i] for i in rng.permutation(len(names))) for _ in range(n_drawn))
    alike = [run for run in runs if not long.intersection(run)]
    fitting = (_fitting(one, count, most // n_classes) for one in (*alike, *drawn))
    candidates = tuple(dict.fromkeys(tuple(sorted(one)) for one in fitting if len(one) >= fewest))
    return WholeGroups(candidates, tuple(map(cells, candidates)), is_all=False) if candidates else None


def _fitting(names: Sequence[str], count: dict[str, int], most: float) -> tuple[str, ...]:
    """As many of the names, from the first on, as have no more combinations."""
    upto = np.cumprod([float(count[name]) for name in names])
    return tuple(names[: int((upto <= most).sum())])


def _alike(features: Sequence[Feature]) -> Iterator[list[Feature]]:
    """Columns whose names share a stem."""
    stems = [stem_of(feature.cells.column.name) for feature in features]
    for stem in dict.fromkeys(stems):
        yield [feature for feature, own in zip(features, stems, strict=True) if own == stem and stem]
