"""From simulated runs to the laws that `sfumato plan` reads: src/sfumato/outlook/expectations.json."""

import importlib.metadata
import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

Run = dict[str, Any]
Floats = NDArray[np.float64]

TARGET = Path(__file__).parents[1] / "src" / "sfumato" / "outlook" / "expectations.json"
FIELDS = ("rule", "columns", "rate", "rows", "strength", "epsilon", "mu", "real", "released", "tvd_1way", "tvd_2way")
#: Exponents that are tried: of the number of columns, and of the rate.
EXPONENTS = np.round(np.arange(0.0, 1.51, 0.1), 2)
#: How much worse than the best they may be: with 1.05, even classes were thought to keep what only rare ones do.
NEARLY = 1.01
#: Between the knots of a curve, in powers of ten.
STEP = 0.2
QUANTILES = {"low": 0.1, "middle": 0.5, "high": 0.9}
#: A knot is read from so many runs at least, or from a third of them where there are few.
FEWEST = 12
#: A learner that learns less than this from the real rows shows nothing.
LEAST_LIFT = 0.2


def share_of(run: Run) -> float:
    """The part of the real learner's lift that the release keeps: at least nothing, at most all."""
    return float(np.clip(run["released"] / run["real"], 0, 1))


def fit_law(runs: Sequence[Run], values: Floats, *, rising: bool, by_columns: bool, by_rate: bool) -> dict[str, Any]:
    """The exponents under which the runs lie closest to one curve, and that curve.

    Among exponents that are nearly as good as the best, those nearest to theory: the noise of a count in each of d columns
    grows with sqrt(d), and a class has rate * rows.
    """
    columns = EXPONENTS if by_columns else np.zeros(1)
    rates = EXPONENTS if by_rate else np.zeros(1)
    errors = {(a, b): _error(places(runs, a, b), values, rising) for a, b in itertools.product(columns, rates)}
    good = [pair for pair, error in errors.items() if error <= NEARLY * min(errors.values())]
    a, b = min(good, key=lambda pair: (pair[0] - 0.5) ** 2 + (pair[1] - 1.0) ** 2)
    return {"columns": float(a), "rate": float(b), **_curve(places(runs, a, b), values, rising=rising)}


def places(runs: Sequence[Run], columns: float, rate: float) -> Floats:
    """Where the runs lie: log10(rows mu (2 rate)^b / columns^a)."""
    at = {name: np.log10([run[name] for run in runs]) for name in ("rows", "mu", "columns", "rate")}
    return np.asarray(at["rows"] + at["mu"] - columns * at["columns"] + rate * (at["rate"] + np.log10(2)))


def _error(x: Floats, values: Floats, rising: bool) -> float:
    fitted = IsotonicRegression(increasing=rising).fit_transform(x, values)
    return float(np.mean((fitted - values) ** 2))


def _curve(x: Floats, values: Floats, *, rising: bool) -> dict[str, list[float]]:
    """Quantiles of the runs nearest to each knot, made monotone."""
    knots = np.arange(np.ceil(x.min() / STEP), np.floor(x.max() / STEP) + 1) * STEP
    nearest = min(max(FEWEST, len(x) // 12), max(4, len(x) // 3))
    about = [values[np.argsort(np.abs(x - knot), kind="stable")[:nearest]] for knot in knots]
    curves = {}
    for name, q in QUANTILES.items():
        line = [np.quantile(near, q) for near in about]
        curves[name] = np.round(IsotonicRegression(increasing=rising).fit_transform(knots, line), 4).tolist()
    return {"x": np.round(knots, 2).tolist(), **curves}


def held_out(runs: Sequence[Run]) -> dict[str, Any]:
    """How far the law is off on populations of a rule that it has not seen."""
    found = {}
    for rule in sorted({run["rule"] for run in runs}):
        known, asked = [r for r in runs if r["rule"] != rule], [r for r in runs if r["rule"] == rule]
        if not known:
            continue
        law = fit_law(known, _shares(known), rising=True, by_columns=True, by_rate=True)
        x, truth = places(asked, law["columns"], law["rate"]), _shares(asked)
        low, middle, high = (np.interp(x, law["x"], law[name]) for name in QUANTILES)
        found[rule] = {
            "runs": len(asked),
            "mean_error": round(float(np.mean(np.abs(middle - truth))), 4),
            "bias": round(float(np.mean(middle - truth)), 4),
            "within": round(float(np.mean((truth >= low - 1e-9) & (truth <= high + 1e-9))), 4),
        }
    return found


def _shares(runs: Sequence[Run]) -> Floats:
    return np.array([share_of(run) for run in runs])


def alpha_curve(runs: Sequence[Run]) -> list[dict[str, float]]:
    """Means over all releases that were built with several alphas."""
    points = []
    for alpha in sorted({run["alpha"] for run in runs}):
        mine = [run for run in runs if run["alpha"] == alpha]
        point = {"alpha": alpha, "releases": len(mine), "share": float(np.mean(_shares(mine)))}
        for name in ("tvd_1way", "tvd_2way", "class_rate_error"):
            if mine[0][name] is not None:
                point[name] = float(np.mean([run[name] for run in mine]))
        points.append({name: round(value, 4) for name, value in point.items()})
    return points


def entry_of(kind: str, runs: Sequence[Run], *, digest: str) -> dict[str, Any]:
    """All that is kept of one kind of data."""
    plain = [run for run in runs if run["alpha"] is None]
    several = [run for run in runs if run["alpha"] is not None and run["real"] >= LEAST_LIFT]
    telling = [run for run in plain if run["real"] >= LEAST_LIFT]
    tables = kind == "table"
    laws = {"share": fit_law(telling, _shares(telling), rising=True, by_columns=tables, by_rate=tables)}
    if tables:
        for name, field in (("one_way", "tvd_1way"), ("two_way", "tvd_2way")):
            values = np.array([run[field] for run in plain])
            laws[name] = fit_law(plain, values, rising=False, by_columns=True, by_rate=False)
    return {
        "digest": digest,
        "laws": laws,
        "held_out": held_out(telling),
        "alpha": alpha_curve(several),
        "alpha_grid": {name: sorted({run[name] for run in several}) for name in ("rows", "epsilon", "rate")},
        "fields": FIELDS,
        "runs": [[_short(run[field]) for field in FIELDS] for run in plain],
    }


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def write_expectations(runs: Sequence[Run], *, digests: dict[str, str]) -> None:
    """Fit the laws and write them beside the package's other public facts."""
    found: dict[str, Any] = {"format": 1, "sfumato": importlib.metadata.version("sfumato")}
    for kind, digest in digests.items():
        found[kind] = entry_of(kind, [run for run in runs if run["kind"] == kind], digest=digest)
    TARGET.write_text(_lines(found), encoding="utf-8")


def _lines(found: dict[str, Any]) -> str:
    """JSON with each list of plain values on one line, so that a change can be read."""
    flat = re.compile(r"\[\s+([^\[\]{}]+?)\s+\]")
    return flat.sub(lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]", json.dumps(found, indent=1)) + "\n"
