"""How the target follows from the other columns: post-processing; only the switches `trees`,
`corrections` and `scales_errors` change the privacy plan.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class TargetSettings:
    """The classifier, its corrections, and the corrections of a number."""

    trees: bool = True  #: the classifier has boosted trees besides one weight for every bin (changes the plan)
    corrections: bool = True  #: noisy sums of errors correct the rule (changes the plan)
    learning_rows: int = 40_000  #: rows of the population that the rule is learned from (time)
    hessian_rows: int = 10_000  #: rows that stand for private ones in the Hessian (time)
    least_trust: float = 1e-4  #: what a row weighs at least, where the tables behind it are noise

    tree_farthest: float = 3.0  #: log-odds at which trees are cut, beyond the additive part
    tree_believed: float = 0.5  #: part of the trees that is believed before any correction
    tree_leaves: int = 8  #: leaves of a tree
    tree_rate: float = 0.15  #: its learning rate
    tree_leaf_rows: int = 200  #: rows of a leaf, at least
    tree_ridge: float = 20.0  #: its penalty
    tree_rounds: int = 50  #: rounds of boosting, at most
    most_trees: int = 400  #: trees of all classes together (time)
    tree_classes: int = 32  #: with more classes there are no trees (time)
    impossible: float = -9.0  #: the score of a class that no row has
    steep_ridge: float = 1e6  #: the inverse penalty of the one slope that is fitted without a prior

    hessian_doubt: float = 0.1  #: how wrong Hessian and responses may be, relative to themselves
    together: float = 2.0  #: errors of several classes respond up to so many times as fast as one score alone
    radius: float = 2.0  #: root mean square by which scores may move after the first gradient
    prior_neighbours: float = 10.0  #: precision of differences of neighbouring bins, beside that of each
    prior_bin: float = 0.3  #: size of a bin's correction before it is learned
    prior_column: float = 0.5  #: size of a column's correction before it is learned
    prior_sizes: tuple[float, float] = (0.02, 2.0)  #: the range of these sizes
    prior_settled: float = 2.0  #: so many corrections must be settled before a size is learned
    sizes_by_column: bool = True  #: the bins of each column have a size of their own; off: all have one
    prior_pooled: float = 5.0  #: columns are of one size, as surely as if so many corrections had shown it
    corrects_columns: bool = True  #: a correction has a part for every column as a whole
    corrects_all: bool = True  #: and a part for all columns together
    fullest_few: float = 0.03  #: part of the rows that may differ from the fullest bins in fewer columns than assumed

    steepens_rare: bool = True  #: a rare class that noise nearly hides gets steeper scores
    rare_exception: float = 0.05  #: if it has less than this part of the rows (made-up populations of plan)
    rare_near: float = 8.0  #: where it lies less than this above the others (zoo: 4, 6, 8, 12)
    rare_steeper: float = 3.0  #: up to so many times (zoo: 2, 3, 4)

    number_trees: int = 100  #: trees of the rule for a number
    gram_rows: int = 20_000  #: rows that stand for private ones beside its sums (time)
    shuffled_rows: int = 4_000  #: rows on which the columns are found that it hangs on most (time)
    error_cut: float = 0.65  #: errors are cut at this quantile of the population's
    size_cut: float = 0.98  #: the same where their size is asked for
    most_spread: float = 2.0  #: how many times as large as the population's private errors may be
    scales_errors: bool = True  #: errors of released numbers are as large as private rows show (changes the plan)
    least_spread: float = 0.1  #: part of the population's errors that is left at least
    pair_stands_out: float = 2.0  #: standard deviations of chance by which a pair must stand out
    effect_neighbours: float = 10.0  #: precision of differences of neighbouring parts, beside that of each
    effect_cells: float = 2.0  #: the same of neighbouring cells of a pair
    effect_size: float = 0.4  #: size of a table's effects before it is learned, in units of the cut
    effect_sizes: tuple[float, float] = (0.01, 2.0)  #: the range of these sizes
    effect_rounds: int = 8  #: how often sizes are learned
    effect_pooled: float = 2.0  #: tables are of one size, as surely as if so many numbers had shown it
    effect_all: float = 0.8  #: all tables together are not larger than this
    effect_slope: float = 0.5  #: how far the rule's own deviations may be off, relative to themselves
