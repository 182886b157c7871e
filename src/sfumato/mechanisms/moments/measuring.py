"""What `moments` asks the doors, each step with what the steps before it have shown."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.moments.gaussian import Gaussian, fit_gaussian
from sfumato.mechanisms.moments.maps import (
    ClassMap,
    GradientMap,
    Labels,
    LengthMap,
    MeanMap,
    ProductMap,
    ScoreMap,
    Scores,
    SquareMap,
    with_intercept,
)
from sfumato.mechanisms.moments.plan import MomentsPlan
from sfumato.mechanisms.moments.points import Frame, Points, quantile_of_counts
from sfumato.mechanisms.moments.teacher import NoisyGradient, Posterior, ScoreScale, fit_score_scale, no_gradient
from sfumato.public.plan.doors import Doors, Measured


@dataclass(frozen=True)
class Density:
    """Rows of each class, the frame of the points, and the Gaussian behind their moments."""

    classes: Measured
    frame: Frame
    gaussian: Gaussian

    @property
    def n_rows(self) -> float:
        """The noisy number of private rows; at least one."""
        return max(float(self.classes.values.sum()), 1.0)


def measure_density(plan: MomentsPlan, view: Doors) -> Density:
    """Lengths and classes first, then the frame, then the moments in it."""
    s, encoder, longest, d = plan.settings, plan.encoder, plan.longest, plan.width
    lengths = LengthMap("lengths", encoder, 0.5, longest, s.cells, Labels(plan.schema.target))
    noisy = view.noisy_sum("lengths", lengths)
    classes = noisy["classes"]
    n_rows = max(float(classes.values.sum()), 1.0)

    radius = quantile_of_counts(noisy["lengths"].values, s.clip_quantile) * longest
    mean = view.noisy_sum("mean", MeanMap(encoder, radius))["mean"].values
    centre = np.clip(0.5 + mean * radius / n_rows, 0.0, 1.0)
    spreads = view.noisy_sum("spreads", LengthMap("spreads", encoder, centre, longest, s.cells))["spreads"]
    frame = Frame(centre, quantile_of_counts(spreads.values, s.clip_quantile) * longest)

    points = Points(encoder, frame)
    squares = view.noisy_sum("squares", SquareMap(points))["squares"].values
    products = view.noisy_sum("moments", ProductMap(points))["moments"]
    moments = products.values.reshape(d, d)
    symmetric, noise = (moments + moments.T) / (2 * n_rows), products.stddev / n_rows
    return Density(classes, frame, fit_gaussian(symmetric, squares / n_rows, noise=noise, settings=s))


def measure_weights(
    plan: MomentsPlan,
    view: Doors,
    density: Density,
    *,
    before_each: Callable[[NDArray[np.float64]], None] = lambda weights: None,
) -> NDArray[np.float64]:
    """The weights of the classifier, by noisy gradients. `before_each` is given the weights before every one of them."""
    s, points, labels = plan.settings, Points(plan.encoder, density.frame), Labels(plan.schema.target)
    gaussian = density.gaussian
    rows = gaussian.draw_clipped(s.hessian_rows, np.random.default_rng(0))
    # Scores of a few units, from entries of these variances. The Gaussian stands for the rows too roughly to learn more.
    deviation = float(s.score_deviation / np.sqrt(max(float(gaussian.variances.sum()), 1e-12)))
    posterior = Posterior(with_intercept(rows, s.intercept), density.n_rows, deviation, s.hessian_doubt)
    observed = [no_gradient(plan.n_weights, plan.width + 1)]
    weights = observed[0].weights
    for _ in range(s.gradients):
        before_each(weights)
        noisy = view.noisy_sum("teacher", GradientMap(Scores(points, s.intercept, weights), labels))["gradient"]
        observed.append(NoisyGradient(noisy.values.reshape(weights.shape), weights, noisy.stddev))
        weights = posterior.mean(observed, weights)
    return posterior.mean(observed, weights)


def measure_score_scale(plan: MomentsPlan, view: Doors, density: Density, weights: NDArray[np.float64]) -> ScoreScale:
    """How the classifier's scores are spread, without the intercept."""
    s, predicted = plan.settings, density.gaussian.deviation_along(weights)
    cell_width = 2 * s.score_range * predicted / s.cells
    cells = ScoreMap(Points(plan.encoder, density.frame), weights, cell_width, s.cells)
    counts = view.noisy_sum("scores", cells)["scores"].values
    return fit_score_scale(counts, predicted=predicted, score_range=s.score_range)


def measure_class_sums(plan: MomentsPlan, view: Doors, density: Density) -> Measured:
    """The sum of the vectors of each class."""
    by_class = ClassMap(Points(plan.encoder, density.frame), Labels(plan.schema.target))
    return scaled(view.noisy_sum("means", by_class)["means"], 1.0, plan.n_classes, plan.width)
