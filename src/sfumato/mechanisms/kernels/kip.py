"""Kernel inducing points as free post-processing of one noisy kernel statistic.

With public features phi of length 1, the loss of a kernel regression over all rows is tr(W' G W - 2 W' A) and a
constant, G = sum of phi phi', A = sum of phi y': once the two sums are out with noise, points follow by as many
gradient steps as one likes (Nguyen, Chen and Lee, "Dataset meta-learning from kernel ridge-regression", 2021, without
its private gradients). Points are held near noisy means of cells of each class, so that they look like rows.
Proof: docs/proofs/kip.md.
"""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.learn.tangents import tangent_features
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.alpha import check_alpha
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.prepared import VECTOR
from sfumato.mechanisms.common.settings import require_positive
from sfumato.mechanisms.kernels.inducing import FixedPoints, Middle, Space, Vectors, means_step, measure_means
from sfumato.model import FixedModel, refuse_diverged
from sfumato.public.budget import Budget
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.machine.torch_extra import need_torch, one_thread
from sfumato.public.plan.block import Hot, Outer
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.encoding import one_hot
from sfumato.public.schema.schema import Batch, Schema

_CELL_SEED = 5
_LIFT = 0.3  # of the edge of the noise's spectrum: docs/research/kernels.md
_REACH = 1.2  # rows further from their class mean than this many mean distances are clipped


@register
@dataclass(frozen=True, kw_only=True)
class Kip(FixedPoints):
    """Labelled points that answer like all rows together.

    Args:
        points: Points of each class.
        n_features: Public features of a row.
        alpha: From faithful (0: the points stay at the means of their cells) to predictive (1: they follow the
            regression alone).
        ridge: Of the regression on the points.
        n_steps: Gradient steps of the search, which are free.
        learning_rate: Of Adam, in mean distances of rows; it falls to 0 along a line.
        coefficients: Cosine coefficients of each channel of an image that the points have.
    """

    name: ClassVar[str] = "kip"
    points: int = 10
    n_features: int = 1024
    alpha: float = 0.95
    ridge: float = 0.01
    n_steps: int = 200
    learning_rate: float = 0.02
    coefficients: int = 100

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Class means first; then, about them, the kernel statistic and the means of cells. All over everyone."""
        schema.require_one_table(self.name)
        self._check()
        space, p = self._space(schema), self.n_features
        classes, cells = space.n_classes, space.n_classes * self.points
        return (
            means_step(space, share=0.1),
            Step(
                name="kernel",
                blocks=(
                    Outer(name="products", shape=(p, p), l2_bound=1.0, share=0.4),
                    Outer(name="labels", shape=(p, classes), l2_bound=1.0, share=0.4),
                    Outer(name="cells", shape=(cells, space.width), l2_bound=1.0, share=0.16),
                    Hot(name="sizes", width=cells, share=0.04),
                ),
                share=0.9,
            ),
        )

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Ask for the two statistics and the cells."""
        need_torch("kip")  # the search will need it: refuse before anything is spent
        space, p = self._space(schema), self.n_features
        middle = measure_means(view, space)
        directions = _cell_directions(self.points, space.width)

        def contribution(batch: Batch) -> dict[str, NDArray[Any]]:
            label, phi = space.labels(batch), tangent_features(batch[VECTOR], n_features=p)
            about = batch[VECTOR] - middle.class_means[label]
            cell = label * self.points + exact_products(about, directions).argmax(axis=1)
            in_cell = one_hot(cell, size=space.n_classes * self.points)
            return {
                "products": np.concatenate([phi, phi], axis=1),
                "labels": np.concatenate([phi, one_hot(label, size=space.n_classes)], axis=1),
                "cells": np.concatenate([in_cell, about / (_REACH * middle.distance)], axis=1),
                "sizes": cell,
            }

        noisy = view.noisy_sum("kernel", contribution)
        return {
            "middle": middle,
            "products": scaled(noisy["products"], 1.0, p, p),
            "labels": scaled(noisy["labels"], 1.0, p, space.n_classes),
            "anchors": self._anchors(noisy["cells"].values, noisy["sizes"].values, middle),
        }

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> FixedModel:
        """Search for the points: a function of the measurements alone."""
        space = self._space(schema)
        points = self.find_points(measurements, space)
        return space.as_model(measurements["middle"].mean + points, np.repeat(np.arange(space.n_classes), self.points))

    def find_points(self, measurements: Measurements, space: Space) -> Vectors:
        """Points about the mean, by Adam on the loss over all rows plus the pull of the anchors."""
        torch = need_torch("kip")
        with one_thread(), torch.enable_grad():
            return self._search(torch, measurements, space)

    def _search(self, torch: Any, measurements: Measurements, space: Space) -> Vectors:
        middle: Middle = measurements["middle"]
        distance, rows = middle.distance, float(middle.counts.sum())
        moment, target = self.statistic(measurements)
        moment, target = torch.from_numpy(moment / rows), torch.from_numpy(target / rows)
        anchors = torch.from_numpy(measurements["anchors"] / distance)
        labels = torch.from_numpy(np.repeat(_centred(space.n_classes), self.points, axis=0))
        points = anchors.clone().requires_grad_(True)
        optimiser = torch.optim.Adam([points], lr=self.learning_rate)
        eye = torch.eye(len(labels), dtype=torch.float64)
        for step in range(self.n_steps):
            optimiser.zero_grad()
            phi = tangent_features(points, n_features=self.n_features, xp=torch)
            rule = phi.T @ torch.linalg.solve(phi @ phi.T + self.ridge * eye, labels)
            misfit = (rule * (moment @ rule)).sum() - 2 * (rule * target).sum()
            moved = (points - anchors).square().sum() / anchors.square().sum()
            ((1 - self.alpha) * moved + self.alpha * misfit).backward()
            for group in optimiser.param_groups:
                group["lr"] = self.learning_rate * (1 - step / self.n_steps)
            optimiser.step()
            with torch.no_grad():  # what leaves the box could not be released
                boxed = space.inside(middle.mean + distance * points.numpy()) - middle.mean
                points.copy_(torch.from_numpy(boxed / distance))
        result = np.asarray(points.detach().numpy() * distance)
        refuse_diverged({"points": result})
        return result

    def statistic(self, measurements: Measurements) -> tuple[Vectors, Vectors]:
        """G and A, cleaned: symmetric, not negative, lifted by a part of what noise adds to the largest eigenvalue."""
        products, labels = measurements["products"], measurements["labels"].values
        values, directions = np.linalg.eigh((products.values + products.values.T) / 2)
        lift = _LIFT * products.stddev * np.sqrt(2 * len(values))
        moment: Vectors = (directions * (np.maximum(values, 0) + lift)) @ directions.T
        return moment, labels @ _centred(labels.shape[1])

    def _anchors(self, cells: Vectors, sizes: Vectors, middle: Middle) -> Vectors:
        """Means of the cells, drawn to their class means where few rows or much noise leave little to see."""
        sums = _REACH * middle.distance * cells.reshape(len(sizes), -1)
        about = sums / np.maximum(sizes, 20.0)[:, None]
        longest = _REACH * middle.distance
        about *= np.minimum(1.0, longest / np.maximum(np.linalg.norm(about, axis=1, keepdims=True), 1e-12))
        anchors: Vectors = np.repeat(middle.class_means, self.points, axis=0) + about
        return anchors

    def _check(self) -> None:
        require_positive(**{name: value for name, value in asdict(self).items() if name != "alpha"})
        check_alpha(self.alpha)
        if self.n_features % 2:
            raise PlanError(f"n_features = {self.n_features} must be even: half of each kind.")


def _centred(n_classes: int) -> Vectors:
    """Labels that add up to 0."""
    return np.eye(n_classes) - 1 / n_classes


def _cell_directions(cells: int, width: int) -> Vectors:
    """Public random directions, one a column: a row belongs to the one that it follows most."""
    directions = np.random.default_rng([_CELL_SEED, cells, width]).normal(size=(width, cells))
    return np.asarray(directions / np.linalg.norm(directions, axis=0))
