"""What `moments` asks the doors, each step with what the steps before it have shown."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sfumato.mechanism import Measurements
from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.counted_classes import class_rates
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.moments import maps
from sfumato.mechanisms.moments.class_shapes import fit_shapes, within_classes
from sfumato.mechanisms.moments.evidence import Discriminant, Odds, fit_discriminant, fit_evidence
from sfumato.mechanisms.moments.gaussian import class_means, fit_gaussian
from sfumato.mechanisms.moments.generator import Generator
from sfumato.mechanisms.moments.lengths import Lengths, LengthScale, fit_lengths
from sfumato.mechanisms.moments.margins import Margins, fit_margins, lay_yardstick, number_groups
from sfumato.mechanisms.moments.plan import MomentsPlan
from sfumato.mechanisms.moments.points import Frame, Points, number_entries, quantile_of_counts, shortened
from sfumato.mechanisms.moments.population import Population
from sfumato.mechanisms.moments.teacher import NoisyGradient, Posterior
from sfumato.public.plan.doors import Doors, Measured


@dataclass(frozen=True)
class Density:
    """Rows of each class, the frame of the points, and the population that stands for them; `rows` are drawn from it."""

    classes: Measured
    n_rows: float
    points: Points
    population: Population
    rows: Floats

    def generator(self, plan: MomentsPlan, means: Floats | None) -> Generator:
        """What draws rows: about the means of the classes where these were measured."""
        rates, settings = class_rates(np.maximum(self.classes.values, 0.0)), plan.settings
        population = self.population
        if means is not None:
            population = self._about(means, rates, least=settings.least_class_variance)
        return Generator(number_entries(plan.schema), self.points.frame, population, rates, means, settings)

    def _about(self, means: Floats, rates: Floats, *, least: float) -> Population:
        """The same population about the means of the classes, which explain a part of its variance."""
        covariance = self.population.gaussian.covariance
        size = float((shortened(self.rows) ** 2).sum(axis=1).mean())  # means are those of shortened vectors
        shapes, part = within_classes(covariance * size / np.trace(covariance), means, rates, least=least)
        return replace(self.population, shapes=shapes, unit=self.population.unit / math.sqrt(part))


def measure_moments(plan: MomentsPlan, view: Doors) -> Measurements:
    """The density of the points, the weights of a classifier and what its labels need, and the shapes of columns."""
    density = measure_density(plan, view)
    weights = measure_weights(plan, view, density) if plan.has_teacher else None
    discriminant = None if weights is None or plan.n_classes > 2 else measure_discriminant(plan, view, density, weights)
    generator = density.generator(plan, None) if plan.n_classes <= 2 else measure_means(plan, view, density)
    return {
        "classes": density.classes,
        "n_rows": density.n_rows,
        "weights": weights,
        "discriminant": discriminant,
        "generator": generator,
        "margins": measure_margins(plan, view, generator, density.n_rows),
    }


def measure_means(plan: MomentsPlan, view: Doors, density: Density) -> Generator:
    """The mean of each class, and rows about it with what these leave of the covariance."""
    by_class = partial(maps.vector_by_class, points=density.points, target=plan.schema.target)
    sums = scaled(view.noisy_sum("means", by_class)["means"], 1.0, plan.n_classes, plan.width)
    means = class_means(sums, np.maximum(density.classes.values, 0.0), n_rows=density.n_rows)
    return density.generator(plan, means)


def measure_margins(plan: MomentsPlan, view: Doors, generator: Generator, n_rows: float) -> Margins | None:
    """How the values of numbers lie among those of the generator."""
    if not number_groups(len(generator.numbers), plan.settings):
        return None
    vectors, _ = generator.draw(plan.settings.yardstick_rows, np.random.default_rng(2))
    box = generator.frame.outward(vectors)[:, generator.numbers]
    yardstick = lay_yardstick(box, plan.schema, plan.settings)
    departures = partial(maps.departures_of, schema=plan.schema, yardstick=yardstick)
    return fit_margins(yardstick, view.noisy_sum("margins", departures)["margins"], n_rows)


def measure_discriminant(plan: MomentsPlan, view: Doors, density: Density, weights: Floats) -> Discriminant | None:
    """How to weigh linear score, length and direction, with two classes."""
    population = density.population
    if population.shapes is None:
        return None
    odds = Odds(weights[0, :-1], population.lengths, population.unit, population.shapes)
    evidence = fit_evidence(odds, density.rows, reach=plan.settings.evidence_range)
    by_class = partial(maps.evidence_of, points=density.points, evidence=evidence, by=plan.by_class)
    sums = scaled(view.noisy_sum("evidence", by_class)["evidence"], 1.0, plan.n_groups, 4, 4)
    return fit_discriminant(evidence, sums, density.rows, plan.settings)


def measure_density(plan: MomentsPlan, view: Doors) -> Density:
    """Lengths and classes first, then the frame, then the moments in it."""
    s = plan.settings
    scale = LengthScale(s.shortest * plan.longest, plan.longest, s.cells)
    of_middle = partial(maps.length_cells, encoder=plan.encoder, centre=0.5, scale=scale)
    noisy = view.noisy_sum("lengths", partial(maps.lengths_and_classes, cells=of_middle, target=plan.schema.target))
    classes = noisy["classes"]
    n_rows = max(float(classes.values.sum()), 1.0)

    radius = float(scale.at(quantile_of_counts(noisy["lengths"].values, s.clip_quantile)))
    mean = view.noisy_sum("mean", partial(maps.point_about_middle, encoder=plan.encoder, radius=radius))["mean"].values
    centre = np.clip(0.5 + mean * radius / n_rows, 0.0, 1.0)
    of_centre = partial(of_middle, centre=centre)
    by_class = partial(maps.lengths_by_class, cells=of_centre, n_cells=s.cells, by=plan.by_class)
    spreads = scaled(view.noisy_sum("spreads", by_class)["spreads"], 1.0, plan.n_groups, s.cells)
    lengths = fit_lengths(scale, spreads)
    unit = float(scale.at(quantile_of_counts(spreads.values.sum(axis=0), s.clip_quantile)))
    points = Points(plan.encoder, Frame(centre, unit))

    population = measure_population(plan, view, points, lengths, classes.values)
    rng = np.random.default_rng(0)
    drawn = rng.choice(plan.n_classes, size=s.hessian_rows, p=class_rates(classes.values))
    rows = population.draw(drawn, rng)
    return Density(classes, n_rows, points, population, rows)


def measure_population(plan: MomentsPlan, view: Doors, points: Points, lengths: Lengths, classes: Floats) -> Population:
    """Second moments of the rows' directions, of each class where there are two."""
    d, groups, settings = plan.width, plan.n_groups, plan.settings
    of_squares = partial(maps.squares_of, points=points, n_groups=groups, by=plan.by_class)
    of_products = partial(maps.products_of, points=points, n_groups=groups, by=plan.by_class)
    squares = scaled(view.noisy_sum("squares", of_squares)["squares"], 1.0, groups, d)
    products = scaled(view.noisy_sum("moments", of_products)["moments"], 1.0, groups, d, d)
    moments = Measured((products.values + products.values.transpose(0, 2, 1)) / 2, products.stddev)
    n_rows = max(float(classes.sum()), 1.0)
    gaussian = fit_gaussian(
        moments.values.sum(axis=0) / n_rows,
        squares.values.sum(axis=0) / n_rows,
        noise=moments.stddev * float(np.sqrt(groups)) / n_rows,
        settings=settings,
    )
    shapes = None if groups == 1 else fit_shapes(gaussian, moments, squares, classes, settings)
    return Population(gaussian, shapes, lengths, points.frame.unit)


def measure_weights(
    plan: MomentsPlan, view: Doors, density: Density, *, before_each: Callable[[Floats], None] = lambda weights: None
) -> Floats:
    """The weights of the classifier, by noisy gradients. `before_each` is given the weights before every one of them."""
    s = plan.settings
    posterior = prior_of(plan, density)
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


def prior_of(plan: MomentsPlan, density: Density) -> Posterior:
    """What is known of the weights before any gradient: vectors that stand for private ones, and how large weights are."""
    s, rows = plan.settings, density.rows
    # Residuals of one size everywhere: a Hessian that is too small somewhere lets noise in there.
    even = density.population.gaussian.draw_even(len(rows), np.random.default_rng(1))
    even *= (np.minimum(np.linalg.norm(rows, axis=1), 1.0) / np.linalg.norm(even, axis=1))[:, None]
    # Scores of a few units, from vectors of about this length.
    deviation = float(s.score_deviation / np.sqrt(max(float((even**2).sum(axis=1).mean()), 1e-12)))
    return Posterior(
        rows=maps.with_intercept(even, s.intercept),
        n_rows=density.n_rows,
        prior_deviation=deviation,
        hessian_doubt=s.hessian_doubt,
    )
