"""How noisy tables of columns and classes become rows: post-processing, without any effect on the privacy plan."""

from dataclasses import dataclass


@dataclass(frozen=True)
class JointSettings:
    """Class tables, rare classes, correlations, pairs, the spanning tree, triples and the population of rows."""

    #: how large class-conditional ratios may be, less one: a mixture over these sizes
    ratio_sizes: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
    #: two kinds of curves for them: slope, smooth curve and each bin's own part; length; power of rarity of a category
    ratio_shapes: tuple[tuple[float, ...], ...] = ((0.8, 0.18, 0.02, 0.15, 0.0), (0.2, 0.5, 0.3, 0.08, 1.0))
    ratio_across: tuple[float, ...] = (0.6, 0.3, 0.1, 0.2, 0.0)  #: the same across ordered classes (judgement)
    ratio_rounds: int = 30  #: rounds of EM for the weights of the mixture
    ratio_prior: float = 0.3  #: added to each weight, so that none is ruled out
    ratio_floor: float = 0.005  #: this part of every class looks like all rows (judgement)
    ratio_least: float = 0.02  #: no bin has less than this part of what all rows have there (judgement)
    lengthens_ratios: bool = True  #: of several classes, ratios are as large as the true ones should be (zoo)
    most_lengthened: float = 2.0  #: and at most so many times as large (beyond, farther from the truth than none)
    ratio_at_once: int = 256  #: classes that are worked on together (memory)

    recounts_rare: bool = True  #: a rare class is counted again in the place of gradients
    rare_below: float = 40.0  #: one of two classes is rare below so many standard deviations of a count (zoo)
    rare_intervals: int = 3  #: intervals of a number that a rare class is counted in, besides bins (zoo: 3, 4, 6)
    rare_few: float = 5.0  #: half of these counts are of intervals up to so many standard deviations of rows (zoo)
    #: sizes of the logarithm of a rare class's ratio (zoo and inside Credit's training rows)
    rare_sizes: tuple[float, ...] = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.1, 1.6, 2.4)
    #: line, parabola, smooth curve, own part and length of two kinds of curves (the same)
    rare_shapes: tuple[tuple[float, ...], ...] = ((0.9, 0.0, 0.08, 0.02, 1.0), (0.3, 0.5, 0.15, 0.05, 0.7))
    rare_clearest: float = 20.0  #: mean log-odds by which all columns together may show the class (8 to 25 compared)
    rare_least: float = 1e-3  #: the least ratio
    rare_steps: int = 40  #: Gauss-Newton steps, at most
    rare_settled: float = 1e-4  #: they end where less than this is gained in the log-likelihood
    rare_outermost: float = 1e-4  #: normal scores of the ends are those of this part of all rows

    tilts_scarce: bool = True  #: rows of scarce classes say sums in the place of bins
    scarce_below: float = 6.0  #: one of several classes is scarce below so many deviations of a bin (zoo: 2.5, 4, 6)
    scarce_part: float = 0.005  #: part of the rows that the rare bins of a column have (zoo: .05, .02, .005)
    scarce_category: float = 1.5  #: what a category counts where a normal score counts one (judgement)
    scarce_scale: float = 0.75  #: of all that a row says; where it is longer, more is cut off (zoo: .5, .6, .75, 1)
    scarce_deviation: float = 0.3  #: how far each mean is thought to lie from that of the class's kin (judgement)
    scarce_least: float = 1e-9  #: the least share of a bin before it is tilted
    scarce_stays: float = 12.0  #: by so much, as a logarithm, a row stays likelier of the scarce class it was drawn of
    tilt_sizes: tuple[float, ...] = (0.05, 0.3, 0.7, 1.5, 2.5)  #: how strong tilts are: a mixture (judgement)
    tilt_most: float = 4.0  #: and at most so strong (a number may move by three deviations)
    tilt_steps: int = 81  #: strengths among which they are looked for (fine enough)

    score_clip: float = 1.5  #: rows beyond so many mean squares are shortened (less noise against bias)
    score_farthest: float = 3.0  #: the largest normal score
    largest_correlation: float = 0.98  #: of two columns
    least_eigenvalue: float = 0.02  #: of a matrix of correlations
    correlation_sure: float = 4.0  #: one that stands out by so many standard deviations is kept by itself
    simulated: int = 1_000_000  #: numbers that are drawn to see what shortening does (time)
    simulated_rows: tuple[int, int] = (4_000, 40_000)  #: in so many rows
    shortening_rounds: tuple[int, int] = (3, 12)  #: how often correlations follow what they have lost
    still_lost: float = 0.01  #: until this part is still to be found
    correlation_variances: tuple[float, float] = (1e-4, 0.3)  #: how large correlations may be, as variances
    n_correlation_variances: int = 24  #: of which so many are tried, besides none

    pair_factors: tuple[float, float] = (0.005, 2.0)  #: how large residuals of pair tables may be
    n_pair_factors: int = 14  #: of which so many are tried
    pair_left: float = 0.01  #: no entry loses more than all but this part of its rows
    pair_some: float = 0.01  #: part of an average entry added before rows are shared between halves of the classes
    pair_goals: int = 6  #: pair tables that the population is brought to, for each column

    tree_sure: float = 3.5  #: a cell of a fine table counts from so many standard deviations on
    tree_population: float = 0.9  #: part of what is expected there that comes from the population, not independence

    triple_sure: float = 5.0  #: standard deviations by which a triple must stand out
    triple_rows: int = 10_000  #: rows of the population that stand for it in sums over triples (time)

    whole_sure: float = 1.0  #: standard deviations beyond the largest of so many noises, from which a contrast counts
    whole_sizes: tuple[int, int] = (-6, 8)  #: powers of four of the variances that contrasts of one order may have
    whole_likelier: float = 5.0  #: by so much in the log-likelihood a variance must be better than none
    whole_some: float = 0.02  #: part of an average combination added before logarithms are taken
    whole_rows: int = 20_000  #: rows of the population that stand for it where a group is chosen (time)

    population_rows: int = 100_000  #: rows of the population, at most
    population_fewest: int = 20_000  #: and at least
    population_per_row: int = 4  #: for each private row
    raking_rounds: int = 10  #: rounds of iterative proportional fitting of the weights
    largest_weight: float = 30.0  #: no row weighs more than so many times its first weight
    margin_rounds: int = 10  #: rounds of fitting each class's table along the tree
    tree_chance: float = 4.0  #: rows of the population, more or less, that are taken for chance there
