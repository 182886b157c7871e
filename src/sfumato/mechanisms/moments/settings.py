"""The settings of `moments`: one frozen object that every part is handed."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MomentsSettings:
    """Every number that `moments` is tuned by.

    The first group is in the plan: it decides how the precision is shared out, and what a row can add. The second group
    only words later questions by earlier noisy answers, or works on noisy answers: it cannot change what is spent.

    Args:
        lengths_share: The part of the precision for how long rows are, and for how many rows a class has. Shares are
            relative, because a schema needs only some of the steps.
        classes_share: Of that, the part for the classes.
        mean_share: For the mean of all rows.
        spreads_share: For the distances from that mean.
        squares_share: For the square of each entry.
        moments_share: For the second moments.
        moments_share_without_target: For the second moments where there is nothing else to learn.
        gradients_share: For the gradients of the classifier, together.
        scores_share: For the scores of the classifier, with two classes.
        class_means_share: For the means of the classes, where there are more than two.
        cells: Cells of each histogram of lengths, distances or scores.
        gradients: How many gradients are asked for. The noise of all together does not depend on it.
        intercept: The entry of the intercept: small, because it takes from the bound that rows of norm 1 share with it.
        squares_norm: The clip of the squares of a row, times the root of the number of entries. The squares of a row of
            norm 1 have about this norm where its entries are alike.
        clip_quantile: Rows beyond this quantile of the lengths are shortened to it: less noise for all against a bias in
            some.
        above_noise: An eigenvalue counts from this multiple of the largest one that noise alone would have.
        least_variance: The variance of an entry is at least this part of the mean variance.
        most_explained: Factors explain at most this part of the variance of an entry.
        sure_correlation: A correlation by distance counts from this many standard deviations.
        least_pairs: Distances up to the width over this are looked at: only they have enough pairs of columns.
        hessian_rows: Rows of the Gaussian that the Hessian of the classifier is computed on.
        hessian_doubt: How wrong that Hessian may be, relative to itself.
        score_deviation: The prior of the weights is such that scores have about this standard deviation: log-odds do.
        score_range: Scores are counted up to this many of the standard deviations that the Gaussian predicts.
        least_mean: The mean of a number lies at least this many standard deviations within its bounds: as far as that of
            a Gaussian that is cut at its middle.
        most_variance: And its variance is at most this part of the largest with that mean: half is the arcsine law's.
        rows_each: Rows to train on, for each private row.
        most_rows: And not more than this in all.
    """

    lengths_share: float = 0.04
    classes_share: float = 0.75
    mean_share: float = 0.04
    spreads_share: float = 0.01
    squares_share: float = 0.18
    moments_share: float = 0.08
    moments_share_without_target: float = 0.50
    gradients_share: float = 0.64
    scores_share: float = 0.01
    class_means_share: float = 0.20
    cells: int = 64
    gradients: int = 8
    intercept: float = 0.3
    squares_norm: float = math.sqrt(6.0)

    clip_quantile: float = 0.5
    above_noise: float = 1.02
    least_variance: float = 0.1
    most_explained: float = 0.9
    sure_correlation: float = 4.0
    least_pairs: int = 4
    hessian_rows: int = 4_000
    hessian_doubt: float = 0.3
    score_deviation: float = 3.0
    score_range: float = 5.0
    least_mean: float = 1 / math.sqrt(2 * math.pi)
    most_variance: float = 0.5
    rows_each: int = 8
    most_rows: int = 300_000
