"""What the second stage asks of a row: small maps that hold public facts alone, so that they can travel to another process."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.counting import padded
from sfumato.mechanisms.common.layout import BinCodes, Layout
from sfumato.mechanisms.common.prepared import bins_and_labels
from sfumato.mechanisms.table.joint.copula import NormalScores
from sfumato.mechanisms.table.joint.pairs import LevelCoder, all_pairs
from sfumato.mechanisms.table.joint.spanning_tree import LinkCoder
from sfumato.mechanisms.table.joint.triples import sign_products
from sfumato.public.schema.schema import Batch


@dataclass(frozen=True)
class BinsByClass:
    """The bin of each row in every column, by class."""

    layout: Layout

    def __call__(self, batch: Batch) -> Integers:
        """By row and column."""
        bins, labels = bins_and_labels(batch)
        return bins + self.layout.starts + labels[:, None] * self.layout.width


@dataclass(frozen=True)
class CentredBins:
    """The same as an outer product with the class, each column less its mean over the bins: shorter rows, less noise."""

    layout: Layout
    width: int
    norm: float

    def __call__(self, batch: Batch) -> dict[str, Floats]:
        """A one, the centred bins, and the class."""
        bins, labels = bins_and_labels(batch)
        sizes = np.array(self.layout.sizes)
        rows = np.zeros((len(bins), self.width + 3))
        rows[:, 0] = 1.0
        rows[:, 1 : self.layout.width + 1] = -np.repeat(1 / sizes, sizes) / self.norm
        at = np.arange(len(bins))[:, None]
        rows[at, 1 + bins + self.layout.starts] += 1 / self.norm
        rows[:, self.width + 1] = 1 / self.norm
        rows[:, self.width + 2] = labels
        return {"classes": rows}


@dataclass(frozen=True)
class ScoreProducts:
    """Normal scores of each row, twice: their products are its second moments; with its class where these are by class."""

    scores: NormalScores
    width: int
    by_class: bool

    def __call__(self, batch: Batch) -> dict[str, Floats]:
        """Both sides of an outer product."""
        bins, labels = bins_and_labels(batch)
        z = self.scores(bins, labels)
        z = np.concatenate([z, np.zeros((len(z), self.width - z.shape[1]))], axis=1)
        return {"moments": np.concatenate([z, z, *([labels[:, None]] if self.by_class else [])], axis=1)}


@dataclass(frozen=True)
class LevelCodes:
    """The place of each row in the tables of some groups of columns."""

    coder: LevelCoder

    def __call__(self, batch: Batch) -> NDArray[np.int32]:
        """By row and group."""
        return self.coder(*bins_and_labels(batch))


@dataclass(frozen=True)
class HalfSigns:
    """1 for rows of the second half of the classes, -1 for the others."""

    of_class: Integers

    def __call__(self, batch: Batch) -> Floats:
        """By row."""
        return np.where(self.of_class[bins_and_labels(batch)[1]] == 1, 1.0, -1.0)


@dataclass(frozen=True)
class LinkCodes:
    """The place of each row in the fine tables of a tree."""

    coder: LinkCoder

    def __call__(self, batch: Batch) -> Integers:
        """By row and pair."""
        return self.coder(bins_and_labels(batch)[0])


@dataclass(frozen=True)
class TripleProducts:
    """Products of the signs of three columns and of the class's half: pairs of signs on one side, single ones on the other."""

    signs: tuple[Floats, ...]
    of_class: Integers
    n_columns: int

    def of_rows(self, bins: Integers, labels: Integers) -> Floats:
        """Both sides, of rows of bins."""
        own = np.stack([sign[column] for sign, column in zip(self.signs, bins.T, strict=True)], axis=1)
        return sign_products(own, self.of_class[labels])

    def __call__(self, batch: Batch) -> dict[str, Floats]:
        """Both sides of an outer product, with room for as many columns as were planned."""
        both = self.of_rows(*bins_and_labels(batch))
        n_pairs, most_pairs = len(all_pairs(len(self.signs))), len(all_pairs(self.n_columns))
        rows = np.zeros((len(both), most_pairs + self.n_columns))
        rows[:, :n_pairs] = both[:, :n_pairs]
        rows[:, most_pairs : most_pairs + len(self.signs)] = both[:, n_pairs:]
        return {"triples": rows}


@dataclass(frozen=True)
class RareCounts:
    """Rows of one class in every column, its bins joined as `of_bin` says: in the block that was planned for gradients."""

    of_bin: Integers
    codes: BinCodes
    rare: int
    n_hot: int
    weight: float
    has_trees: bool

    def __call__(self, batch: Batch) -> dict[str, Floats]:
        """Codes and what a row weighs; nothing for the other blocks."""
        bins, labels = bins_and_labels(batch)
        codes = padded(self.codes.codes(self.of_bin[np.arange(len(self.of_bin)), bins]), self.n_hot)
        nothing = np.zeros((len(bins), 1))
        of_trees = {"trees": nothing} if self.has_trees else {}
        return {
            "bins": np.column_stack([codes, self.weight * (labels == self.rare)]),
            "everywhere": nothing,
            **of_trees,
        }
