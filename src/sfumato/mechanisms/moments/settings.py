"""The settings of `moments`: one frozen object that every part is handed."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MomentsSettings:
    """Every number that `moments` is tuned by.

    The first group is in the plan: it decides how the precision is shared out, and what a row can add. The second group
    only words later questions by earlier noisy answers, or works on noisy answers: it cannot change what is spent.
    """

    #: the part of the precision for how long rows are, and for how many rows a class has. Shares are relative, because
    #: a schema needs only some of the steps
    lengths_share: float = 0.04
    classes_share: float = 0.75  #: of that, the part for the classes
    mean_share: float = 0.04  #: for the mean of all rows
    spreads_share: float = 0.03  #: for the distances from that mean, by class where there are two
    squares_share: float = 0.18  #: for the square of each entry
    moments_share: float = 0.12  #: for the second moments
    moments_share_without_target: float = 0.50  #: for the second moments where there is nothing else to learn
    gradients_share: float = 0.64  #: for the gradients of the classifier, together
    evidence_share: float = 0.03  #: for what score, length and direction say together, with two classes
    class_means_share: float = 0.20  #: for the means of the classes, where there are more than two
    margins_share: float = 0.03  #: for how the values of numbers lie, beyond mean and variance
    columns_each: int = 15  #: columns that this is measured of together, at least
    most_groups: int = 8  #: groups of such columns; 0: all keep the shape that follows from mean, variance and bounds
    cosines: int = 8  #: how finely it is measured
    cells: int = 64  #: cells of each histogram of lengths
    gradients: int = 8  #: how many gradients are asked for. The noise of all together does not depend on it
    #: the entry of the intercept: small, because it takes from the bound that rows of norm 1 share with it
    intercept: float = 0.3
    #: the clip of the squares of a row, times the root of the number of entries. The squares of a row of norm 1 have
    #: about this norm where its entries are alike
    squares_norm: float = math.sqrt(6.0)

    #: rows beyond this quantile of the lengths are shortened to it: less noise for all against a bias in some
    clip_quantile: float = 0.5
    shortest: float = 1e-3  #: lengths below this part of the longest are counted as one
    steepness: float = 3.0  #: labels are this much surer than noisy scores alone would make them: real labels are
    #: length and direction count if they set the classes apart by this part of what the linear score does, squared
    least_evidence: float = 0.5
    evidence_range: float = 2.5  #: what they say is cut off at this many standard deviations
    least_class_variance: float = 0.1  #: along any axis a class varies at least by this part of all rows
    above_noise: float = 1.02  #: an eigenvalue counts from this multiple of the largest one that noise alone would have
    least_variance: float = 0.1  #: the variance of an entry is at least this part of the mean variance
    most_explained: float = 0.9  #: factors explain at most this part of the variance of an entry
    sure_correlation: float = 4.0  #: a correlation by distance counts from this many standard deviations
    least_pairs: int = 4  #: distances up to the width over this are looked at: only they have enough pairs of columns
    #: what rows say of their margins is cut off at this quantile of what the generator's rows say
    departures_quantile: float = 0.9
    yardstick_rows: int = 8_192  #: rows of the generator that private values are told by
    hessian_rows: int = 4_000  #: rows of the Gaussian that the Hessian of the classifier is computed on
    hessian_doubt: float = 0.3  #: how wrong that Hessian may be, relative to itself
    #: the prior of the weights is such that scores have about this standard deviation: log-odds do
    score_deviation: float = 3.0
    #: the mean of a number lies at least this many standard deviations within its bounds: as far as that of a Gaussian
    #: that is cut at its middle
    least_mean: float = 1 / math.sqrt(2 * math.pi)
    #: and its variance is at most this part of the largest with that mean: half is the arcsine law's
    most_variance: float = 0.5
    rows_each: int = 8  #: rows to train on, for each private row
    most_rows: int = 300_000  #: and not more than this in all
