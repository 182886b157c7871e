"""Fidelity of tables: marginals, correlations, quantiles, and a classifier that tells real from synthetic. Not private."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.lab.assess.material import Material
from sfumato.lab.attacks.roc import Interval, measure
from sfumato.lab.attacks.sheets import from_batches
from sfumato.lab.benchmark.metrics import each_distance, spearman
from sfumato.learn.boosted_trees import boosting
from sfumato.present.marginals import marginal
from sfumato.public.schema.schema import Batch, Column

Fit = Callable[[NDArray[Any], NDArray[np.int64]], Any]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Pairs that are listed, columns that are drawn, and rows of either kind that are told apart.
_WORST, _DRAWN, _TOLD = 15, 24, 10_000
#: Numbers whose correlations are shown.
_MOST_NUMBERS = 30


def compare_tables(material: Material) -> dict[str, Any]:
    """All figures of a table. Beside each stands what other real rows reach: no release is nearer than that but by chance.

    Returns:
        Mean total variation distances of columns and of pairs (`one_way`, `two_way`, and `..._fresh` for other real rows), those of
        `columns` and of the worst `pairs`; rank correlations of `numbers` with their mean error; `quantiles`, of dates in seconds since
        1970; and `shapes`, distributions as they are drawn, on common cells or over labels.
    """
    schema, real, synthetic = material.schema, material.real, material.synthetic
    one, two = each_distance(real, synthetic, schema)
    one_fresh, two_fresh = each_distance(real, material.test, schema)
    names = [column.name for column in schema.columns]
    above = np.triu_indices(len(names), 1)
    worst = [(above[0][at], above[1][at]) for at in np.argsort(-two[above], kind="stable")[:_WORST]]
    numbers = [column.name for column in schema.columns if column.is_number]
    before, after = (spearman(batch, numbers) if len(numbers) > 1 else np.zeros((0, 0)) for batch in (real, synthetic))
    pairs, shown = np.triu_indices(len(numbers), 1), slice(0, _MOST_NUMBERS)
    return {
        "one_way": float(one.mean()),
        "one_way_fresh": float(one_fresh.mean()),
        "two_way": float(two[above].mean()) if len(names) > 1 else None,
        "two_way_fresh": float(two_fresh[above].mean()) if len(names) > 1 else None,
        "columns": [
            {"name": name, "synthetic": float(one[at]), "fresh": float(one_fresh[at])} for at, name in enumerate(names)
        ],
        "pairs": [
            {"first": names[a], "second": names[b], "synthetic": float(two[a, b]), "fresh": float(two_fresh[a, b])}
            for a, b in worst
        ],
        "numbers": numbers[shown] if len(numbers) > 1 else [],
        "correlations_real": before[shown, shown].tolist(),
        "correlations_synthetic": after[shown, shown].tolist(),
        "correlation_error": float(np.abs(before - after)[pairs].mean()) if len(numbers) > 1 else None,
        "quantiles": [
            {
                "name": name,
                "is_date": schema[name].kind == "datetime",
                "real": _quantiles(real[name]),
                "synthetic": _quantiles(synthetic[name]),
            }
            for name in numbers
        ],
        "shapes": _shapes(material),
    }


def _quantiles(values: NDArray[np.float64]) -> list[float]:
    known = values[~np.isnan(values)]
    return np.quantile(known, QUANTILES).tolist() if len(known) else []


def _shapes(material: Material) -> list[dict[str, Any]]:
    """The columns that fit worst are drawn first; the target before all."""
    schema = material.schema
    frames = {"real": schema.decode(material.real), "synthetic": schema.decode(material.synthetic)}
    far, _ = each_distance(material.real, material.synthetic, schema)
    order = sorted(range(len(far)), key=lambda at: (schema.columns[at].name != schema.target, -far[at]))
    drawn = []
    for at in order[:_DRAWN]:
        column = schema.columns[at]
        columns = {key: frame[column.name] for key, frame in frames.items()}
        bounds = _inner(columns, column) if column.kind in ("numeric", "integer") else None
        shape = marginal(column.name, columns, bounds=bounds)
        entry = {
            "name": shape.name,
            "heights": {key: heights.tolist() for key, heights in shape.heights.items()},
            "edges": [] if shape.edges is None else shape.edges.tolist(),
            "labels": list(shape.names),
            "is_date": shape.is_date,
        }
        drawn.append(entry)
    return drawn


def _inner(columns: dict[str, "pd.Series[Any]"], column: Column) -> tuple[float, float]:
    """The bounds, drawn in to the middle 99.8 % of both tables where almost nothing lies beyond."""
    known = pd.concat(list(columns.values())).dropna().astype(np.float64)
    low, high = np.quantile(known, [0.001, 0.999]) if len(known) else (0.0, 0.0)
    return (float(low), float(high)) if high > low else (column.low, column.high)


def told_apart(material: Material, *, other: Batch) -> Interval:
    """The area under the curve of boosted trees that tell the real rows from others: .5 is not at all.

    Half of the rows are learned from and the other half judged, and the other way round.
    """
    found = from_batches(material.schema, real=material.real, synthetic=other).at_most(_TOLD, synthetic=_TOLD)
    x = np.concatenate([found.real.values, found.synthetic.values])
    y = np.repeat([1, 0], [len(found.real), len(found.synthetic)])
    coded = [at for at, is_number in enumerate(found.is_number) if not is_number]
    return cross_judged(x, y, lambda rows, label: boosting(coded).fit(rows, label))


def cross_judged(x: NDArray[np.floating], y: NDArray[np.int64], fit: Fit) -> Interval:
    """How well a learner tells 1 from 0 on rows that it has not learned from."""
    fold = np.random.default_rng(0).permutation(len(y)) % 2
    score = np.zeros(len(y))
    for part in (0, 1):
        trained = fit(x[fold != part], y[fold != part])
        score[fold == part] = np.asarray(trained.predict_proba(x[fold == part]))[:, 1]
    return measure("", score[y == 1], score[y == 0], how="").auc
