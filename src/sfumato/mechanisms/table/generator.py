"""What all noisy tables say together, and the population of rows that agrees with them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.binned import Binned
from sfumato.mechanisms.table.class_counts import (
    ClassCounts,
    ClassTable,
    with_recounted_bins,
    with_recounted_class,
)
from sfumato.mechanisms.table.joints import joint_of, margins_of
from sfumato.mechanisms.table.population import Edge, Population, make_population
from sfumato.public.doors import Measured


@dataclass(frozen=True)
class Joints:
    """For every column the probability of each bin, and of each class and bin together."""

    margins: list[NDArray[np.float64]]
    joints: list[NDArray[np.float64]]


@dataclass(frozen=True)
class Tables:
    """What was counted: bins, classes and their tables, and the edges of a tree and others between columns.

    `rare` is one of two classes, if it has too few rows for a teacher.
    """

    binned: Binned
    classes: ClassCounts
    by_class: Sequence[ClassTable] = ()
    rare: int | None = None
    tree: Sequence[Edge] = ()
    others: Sequence[Edge] = ()


def joints_of(
    binned: Binned,
    classes: ClassCounts,
    margins_from: Sequence[ClassTable],
    by_class: Sequence[ClassTable],
    rare: int | None,
) -> Joints:
    """Probabilities from noisy class tables."""
    margins = margins_of(binned, margins_from, total=classes.total)
    joints = [joint_of(m, table, classes, rare=rare) for m, table in zip(margins, by_class, strict=True)]
    return Joints(margins, joints)


def population_of(tables: Tables, recount: Measured | None) -> Population:
    """Rows that agree with all tables.

    Args:
        tables: All of them.
        recount: If there is a rare class, a second count of its bins and, at the end, of its rows.
    """
    classes, by_class, binned = tables.classes, tables.by_class, tables.binned
    if tables.rare is not None and recount is not None:
        again = binned.shape.bins.split(recount.values)
        by_class = [
            with_recounted_bins(table, tables.rare, Measured(counts, recount.stddev))
            for table, counts in zip(by_class, again, strict=True)
        ]
        rows = float(recount.values[-1])
        classes = with_recounted_class(
            classes, tables.rare, rows, stddev=recount.stddev, cell_stddev=binned.cells.stddev
        )
    joints = joints_of(binned, classes, tables.by_class, by_class, tables.rare).joints
    return make_population(classes.rates, joints, tables.tree, tables.others, seed=0, rare=tables.rare)
