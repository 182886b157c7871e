"""What `moments` asks the doors, each step with what the steps before it have shown."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.mechanism import Measurements
from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.moments import maps
from sfumato.mechanisms.moments.gaussian import Gaussian, fit_gaussian
from sfumato.mechanisms.moments.plan import MomentsPlan
from sfumato.mechanisms.moments.points import Frame, Points, quantile_of_counts
from sfumato.mechanisms.moments.teacher import NoisyGradient, Posterior, fit_score_scale
from sfumato.public.plan.doors import Doors, Measured


@dataclass(frozen=True)
class Density:
    """Rows of each class, the frame of the points, and the Gaussian behind their moments."""

    classes: Measured
    n_rows: float
    points: Points
    gaussian: Gaussian


def measure_moments(plan: MomentsPlan, view: Doors) -> Measurements:
    """The density of the points, the weights of a classifier, and what its labels need."""
    density = measure_density(plan, view)
    if plan.n_classes == 1:
        return {"density": density}
    weights = measure_weights(plan, view, density)
    if plan.n_classes > 2:
        by_class = partial(maps.vector_by_class, points=density.points, target=plan.schema.target)
        sums = view.noisy_sum("means", by_class)["means"]
        return {"density": density, "weights": weights, "class_sums": scaled(sums, 1.0, plan.n_classes, plan.width)}
    s, direction = plan.settings, weights[0, :-1]
    predicted = density.gaussian.deviation_along(direction)
    width = 2 * s.score_range * predicted / s.cells
    cells = partial(maps.score_cells, points=density.points, weights=direction, cell_width=width, cells=s.cells)
    counts = view.noisy_sum("scores", cells)["scores"].values
    scale = fit_score_scale(counts, predicted=predicted, score_range=s.score_range)
    return {"density": density, "weights": weights, "score_scale": scale}


def measure_density(plan: MomentsPlan, view: Doors) -> Density:
    """Lengths and classes first, then the frame, then the moments in it."""
    s, encoder, longest = plan.settings, plan.encoder, plan.longest
    of_lengths = partial(
        maps.distance_cells, step="lengths", encoder=encoder, centre=0.5, longest=longest, cells=s.cells
    )
    noisy = view.noisy_sum("lengths", partial(maps.with_class, blocks=of_lengths, target=plan.schema.target))
    classes = noisy["classes"]
    n_rows = max(float(classes.values.sum()), 1.0)

    radius = quantile_of_counts(noisy["lengths"].values, s.clip_quantile) * longest
    mean = view.noisy_sum("mean", partial(maps.point_about_middle, encoder=encoder, radius=radius))["mean"].values
    centre = np.clip(0.5 + mean * radius / n_rows, 0.0, 1.0)
    of_spreads = partial(of_lengths, step="spreads", centre=centre)
    noisy = view.noisy_sum("spreads", of_spreads)
    points = Points(encoder, Frame(centre, quantile_of_counts(noisy["spreads"].values, s.clip_quantile) * longest))

    squares = view.noisy_sum("squares", partial(maps.squares_of, points=points))["squares"].values / n_rows
    products = view.noisy_sum("moments", partial(maps.products_of, points=points))["moments"]
    moments = products.values.reshape(plan.width, plan.width)
    symmetric = (moments + moments.T) / (2 * n_rows)
    gaussian = fit_gaussian(symmetric, squares, noise=products.stddev / n_rows, settings=s)
    return Density(classes, n_rows, points, gaussian)


def measure_weights(
    plan: MomentsPlan, view: Doors, density: Density, *, before_each: Callable[[Floats], None] = lambda weights: None
) -> Floats:
    """The weights of the classifier, by noisy gradients. `before_each` is given the weights before every one of them."""
    s, gaussian = plan.settings, density.gaussian
    rows = gaussian.draw_clipped(s.hessian_rows, np.random.default_rng(0))
    # Scores of a few units, from entries of these variances. The Gaussian stands for the rows too roughly to learn more.
    deviation = float(s.score_deviation / np.sqrt(max(float(gaussian.variances.sum()), 1e-12)))
    posterior = Posterior(maps.with_intercept(rows, s.intercept), density.n_rows, deviation, s.hessian_doubt)
    weights = np.zeros((plan.n_weights, plan.width + 1))
    observed = [NoisyGradient(weights, weights, 1e6)]  # an equation that says next to nothing
    for _ in range(s.gradients):
        before_each(weights)
        scores = maps.Scores(density.points, s.intercept, weights)
        noisy = view.noisy_sum("teacher", partial(maps.gradient_of, scores=scores, target=plan.schema.target))[
            "gradient"
        ]
        observed.append(NoisyGradient(noisy.values.reshape(weights.shape), weights, noisy.stddev))
        weights = posterior.mean(observed, weights)
    return posterior.mean(observed, weights)
