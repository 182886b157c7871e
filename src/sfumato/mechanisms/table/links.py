"""Third stage: which columns hang together, by coarse tables of all pairs and fine ones of the strongest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.binned import Binned
from sfumato.mechanisms.table.layout import codes_in
from sfumato.mechanisms.table.pairs import all_pairs, coarse_edge, fine_edge, levels_of, spanning_tree
from sfumato.mechanisms.table.population import Edge
from sfumato.mechanisms.table.shape import Shape
from sfumato.public.doors import Measured

#: Coarse edges that the population keeps, for each column.
_EDGES = 6


@dataclass(frozen=True)
class Levels:
    """The level of each bin of every column, in the tables of pairs."""

    shape: Shape
    level_of: list[NDArray[np.int64]]

    def pair_codes(self, bins: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each row of bins its cell in every coarse table."""
        level = [level_of[column] for level_of, column in zip(self.level_of, bins.T, strict=True)]
        sizes = self.shape.level_sizes
        return codes_in(self.shape.pairs, [level[i] * sizes[j] + level[j] for i, j in all_pairs(len(sizes))])


def levels_by_class(
    binned: Binned, margins: Sequence[NDArray[np.float64]], joints: Sequence[NDArray[np.float64]]
) -> Levels:
    """Numbers in their order, categories by their classes or, without any, by size."""
    classes = np.arange(binned.shape.n_classes)
    out = []
    for binning, margin, joint in zip(binned.features, margins, joints, strict=True):
        order = np.arange(len(margin), dtype=np.float64)
        if binning.cells.column.is_coded:
            order = (classes @ joint) / np.maximum(joint.sum(axis=0), 1e-12) if len(classes) > 1 else -margin
        out.append(levels_of(margin, order=order, most=binned.shape.n_levels))
    return Levels(binned.shape, out)


@dataclass(frozen=True)
class Links:
    """Pairs that are sure to hang together: those of a tree, which are counted in full, and the strongest others."""

    shape: Shape
    tree: list[Edge]
    others: list[Edge]

    def link_codes(self, bins: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each row of bins its cell in every fine table; none in those that are not used."""
        most = max(self.shape.bin_sizes)
        columns = [bins[:, edge.left] * most + bins[:, edge.right] for edge in self.tree]
        unused = np.full(len(bins), -self.shape.links.width - 1)
        return codes_in(self.shape.links, columns + [unused] * (self.shape.n_links - len(self.tree)))


def choose_links(levels: Levels, pairs: Measured, margins: Sequence[NDArray[np.float64]], *, total: float) -> Links:
    """The edges that stand out of the noise of the coarse tables, and a tree of the strongest."""
    shape, sizes = levels.shape, levels.shape.level_sizes
    edges = []
    for (i, j), flat in zip(all_pairs(len(sizes)), shape.pairs.split(pairs.values), strict=True):
        edge = coarse_edge(
            (i, j),
            flat.reshape(sizes[i], sizes[j]),
            (margins[i], margins[j]),
            (levels.level_of[i], levels.level_of[j]),
            total=total,
            noise=pairs.stddev,
        )
        if edge is not None:
            edges.append(edge)
    strongest_first = [edge for edge, _ in sorted(edges, key=lambda e: -e[1])]
    in_tree = spanning_tree(strongest_first, n_columns=len(sizes))
    others = [edge for at, edge in enumerate(strongest_first) if at not in in_tree]
    return Links(shape, [strongest_first[at] for at in in_tree], others[: _EDGES * len(sizes)])


def fine_tree(links: Links, measured: Measured, margins: Sequence[NDArray[np.float64]], *, total: float) -> list[Edge]:
    """The edges of the tree, made finer by their tables of bins."""
    most = max(links.shape.bin_sizes)
    out = []
    for edge, flat in zip(links.tree, links.shape.links.split(measured.values), strict=False):
        left, right = margins[edge.left], margins[edge.right]
        table = flat.reshape(most, most)[: len(left), : len(right)]
        out.append(fine_edge(edge, table, (left, right), total=total, noise=measured.stddev))
    return out
