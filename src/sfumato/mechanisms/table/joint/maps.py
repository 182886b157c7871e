"""What the second stage asks of a row. Partial functions of public facts alone, so that they can travel to another process."""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers, Values
from sfumato.mechanisms.common.compiled import looked_up
from sfumato.mechanisms.common.counting import weighed
from sfumato.mechanisms.common.layout import BinCodes, Layout
from sfumato.mechanisms.common.prepared import bins_and_labels
from sfumato.mechanisms.table.joint.copula import NormalScores
from sfumato.mechanisms.table.joint.pairs import LevelCoder, all_pairs
from sfumato.mechanisms.table.joint.scarce_statistics import Statistics
from sfumato.mechanisms.table.joint.triples import products_of_rows
from sfumato.mechanisms.table.joint.whole_table import combinations_of
from sfumato.public.plan.block import Hot
from sfumato.public.schema.schema import Batch


def bins_by_class(batch: Batch, layout: Layout) -> Integers:
    """The bin of each row in every column, by class."""
    bins, labels = bins_and_labels(batch)
    return bins + layout.starts + labels[:, None] * layout.width


def centred_bins(
    batch: Batch,
    layout: Layout,
    width: int,
    norm: float,
    scarce: Flags | None = None,
    statistics: Statistics | None = None,
) -> dict[str, Floats]:
    """The same as an outer product with the class, each column less its mean over the bins: shorter rows, less noise.

    Rows of scarce classes say their statistics instead.
    """
    bins, labels = bins_and_labels(batch)
    sizes = np.array(layout.sizes)
    rows = np.zeros((len(bins), width + 3))
    rows[:, 0] = 1.0
    rows[:, 1 : layout.width + 1] = -np.repeat(1 / sizes, sizes) / norm
    at = np.arange(len(bins))[:, None]
    rows[at, 1 + bins + layout.starts] += 1 / norm
    if scarce is not None and statistics is not None:
        few = np.flatnonzero(_of_class(scarce, labels))
        rows[few, 1 : width + 1] = 0.0
        rows[few, 1 : len(statistics.columns) + 1] = statistics.of(bins[few]) / norm
    rows[:, width + 1] = 1 / norm
    rows[:, width + 2] = labels
    return {"classes": rows}


def score_products(batch: Batch, scores: NormalScores, width: int, by_class: bool) -> dict[str, Floats]:
    """Normal scores of each row, twice: their products are its second moments; with its class where these are by class."""
    bins, labels = bins_and_labels(batch)
    z = scores(bins, labels)
    z = np.concatenate([z, np.zeros((len(z), width - z.shape[1]))], axis=1)
    return {"moments": np.concatenate([z, z, *([labels[:, None]] if by_class else [])], axis=1)}


def level_codes(batch: Batch, coder: LevelCoder) -> NDArray[np.int32]:
    """The place of each row in the tables of some groups of columns."""
    return coder(*bins_and_labels(batch))


def half_signs(batch: Batch, of_class: Integers) -> NDArray[np.int32]:
    """1 for rows of the second half of the classes, -1 for the others."""
    return np.where(of_class[bins_and_labels(batch)[1]] == 1, np.int32(1), np.int32(-1))


def triple_products(batch: Batch, signs: tuple[Floats, ...], of_class: Integers, n_columns: int) -> dict[str, Floats]:
    """What `products_of_rows` gives, with room for as many columns as were planned."""
    both = products_of_rows(*bins_and_labels(batch), signs, of_class)
    n_pairs, most_pairs = len(all_pairs(len(signs))), len(all_pairs(n_columns))
    rows = np.zeros((len(both), most_pairs + n_columns))
    rows[:, :n_pairs] = both[:, :n_pairs]
    rows[:, most_pairs : most_pairs + len(signs)] = both[:, n_pairs:]
    return {"triples": rows}


def combination_codes(batch: Batch, columns: tuple[int, ...], shape: tuple[int, ...]) -> Integers:
    """The combination of each row's bins in some columns, with its class."""
    bins, labels = bins_and_labels(batch)
    return (combinations_of(bins, columns, shape[:-1]) * shape[-1] + labels)[:, None]


def codes_of_groups(
    batch: Batch, groups: tuple[tuple[int, ...], ...], shapes: tuple[tuple[int, ...], ...], n_classes: int
) -> dict[str, Integers]:
    """The same in the tables of several groups of columns, of which one is chosen."""
    bins, labels = bins_and_labels(batch)
    every = [combinations_of(bins, *one) * n_classes + labels for one in zip(groups, shapes, strict=True)]
    return {"group": np.stack(every, axis=1)}


def scarce_sums(
    batch: Batch, statistics: Statistics, scarce: Flags, n_sets: int, width: int, weight: float, has_trees: bool
) -> dict[str, Values]:
    """What rows of scarce classes say, and one for each of them, in the block that was planned for gradients."""
    bins, labels = bins_and_labels(batch)
    few = np.flatnonzero(_of_class(scarce, labels))
    rows = np.zeros((len(bins), n_sets + width))
    rows[few, labels[few]] = 1.0
    rows[few, n_sets : n_sets + len(statistics.columns)] = weight * statistics.of(bins[few])
    rows[few, -1] = weight
    nothing = np.zeros((len(bins), n_sets))
    return {"bins": rows, "everywhere": nothing, **({"trees": nothing} if has_trees else {})}


def _of_class(flags: Flags, labels: Integers) -> Flags:
    """The flag of each row's class."""
    return np.asarray(flags[np.minimum(labels, len(flags) - 1)])


def rare_counts(
    batch: Batch, of_bin: Integers, codes: BinCodes, rare: int, block: Hot, weight: float, has_trees: bool
) -> dict[str, Values]:
    """Rows of one class in every column, its bins joined as `of_bin` says: in the block that was planned for gradients."""
    bins, labels = bins_and_labels(batch)
    at = codes.codes(looked_up(of_bin, bins))
    counted = weighed(block, at, weight, (labels == rare).astype(np.float64))
    nothing = np.zeros((len(bins), 1))
    return {"bins": counted, "everywhere": nothing, **({"trees": nothing} if has_trees else {})}
