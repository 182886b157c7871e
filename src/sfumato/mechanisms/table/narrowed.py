"""A fitted table of which only a part is drawn from: rows whose bins and classes a condition allows, by their own chances."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sfumato.mechanisms.common.allowed_cells import cells_within
from sfumato.mechanisms.common.arrays import Flags, Floats
from sfumato.mechanisms.common.labels import class_shift
from sfumato.mechanisms.common.logistic import of_all_classes, probabilities
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.columns.code_tables import code_scores
from sfumato.mechanisms.table.fitted_table import FittedTable
from sfumato.mechanisms.table.settings.sampling import SamplingSettings
from sfumato.public.expressions.domains import Domain


def narrowed_table(
    fitted: FittedTable, scores: Floats | None, domains: Mapping[str, Domain], settings: SamplingSettings
) -> tuple[FittedTable, float]:
    """The table with weights and cells for what the domains allow, and the share of the rows that these were.

    Columns that are put together later (groups, rhythms, differences) are not narrowed: rows are looked at anyway.
    """
    population, binned = fitted.population, fitted.binned
    if population is None:
        return fitted, 1.0
    weights, binnings = population.weights.copy(), list(binned.binnings)
    composed = {feature.date for feature in binned.features}
    for j, feature in enumerate(binned.features):
        name = feature.cells.column.name
        is_plain = feature.group is None and feature.date is None and feature.reference is None
        if name in domains and is_plain and name not in composed:
            allowed = cells_within(feature.cells, domains[name], decimals=binnings[j].points.decimals)
            binnings[j], part = _within(binnings[j], allowed)
            weights *= part[population.rows[:, j]]
    target, rates = binned.target, fitted.rates
    of_class = np.ones(len(rates))
    if target is not None and target.cells.column.is_coded and target.cells.column.name in domains:
        target, of_class = _within(target, cells_within(target.cells, domains[target.cells.column.name]))
    if target is not None and target.cells.column.is_coded:
        chances = np.eye(len(rates))[population.labels] if scores is None else _chances(fitted, scores, settings)
        joint = weights[:, None] * chances * of_class
        share, rates = float(joint.sum()), joint.sum(axis=0)
        weights = joint.sum(axis=1)
    else:
        share = float(weights.sum())
    share /= float(population.weights.sum())
    if share <= 0:
        return fitted, 0.0
    part_of = replace(population, weights=weights)
    return replace(
        fitted,
        binned=replace(binned, binnings=tuple(binnings), target=target),
        rates=rates / rates.sum(),
        population=part_of,
    ), share


def _within(binning: Binning, allowed: Flags) -> tuple[Binning, Floats]:
    """A binning of which only some cells are drawn, and the part of each bin that they are."""
    mass = np.where(binning.margin[binning.bin_of] <= 0, 1.0, binning.mass)
    inside, whole = (np.bincount(binning.bin_of, weights=m, minlength=binning.size) for m in (mass * allowed, mass))
    return replace(binning, mass=mass * allowed), np.asarray(inside / np.maximum(whole, 1e-300))


def _chances(fitted: FittedTable, scores: Floats, settings: SamplingSettings) -> Floats:
    """The chance of every class for each row of the population, at the rates that the classes have in all rows."""
    population, labels = fitted.population, fitted.labels
    if population is None or labels is None:
        raise ValueError("scores without rows that they are of")
    rng = np.random.default_rng(0)
    cells = [
        binning.cells_in(np.ascontiguousarray(population.rows[:, j]), rng)
        for j, binning in enumerate(fitted.binned.binnings)
    ]
    every = np.asarray(scores + code_scores(labels.codes, cells))
    every = every if every.shape[1] > 1 else np.concatenate([np.zeros_like(every), every], axis=1)
    drawn = population.draw(settings.rate_rows, rng)
    return of_all_classes(probabilities(every + class_shift(every[drawn], fitted.rates)))
