"""A column that follows from another: how far both are from the private ones, and how many released rows obey.

    python benchmarks/depends.py [SHAPE,...] [ROWS,...] [SEED ...] [target|alone] [measured|given|without|histograms ...]

Every shape is a table of its own, with three other columns and, unless it is drawn `alone`, a class that hangs on the value
that follows. Released by `3a-table` where the dependence is measured, where its map is given, and where it is not declared; and
by independent histograms. Each line is JSON: total variation distances of the reason and of what follows (over single values),
the part of the released rows whose two values go together, and the AUC of the class by a learner of the
released rows on other private ones.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from zoo.drawing import Drawn, Rng, category, coded, flag, number, table, whole, yes, zipf

import sfumato as sf
from sfumato.private.kernel.randomness import NoiseSource

BUDGET = sf.Budget(epsilon=1.0, delta=1e-5)
WAYS = ("measured", "given", "without", "histograms")
TESTS = 10_000


def _codes(size: int, power: float) -> Callable[[int, Rng], tuple[Any, Any]]:
    def draw(n: int, rng: Rng) -> tuple[Any, Any]:
        groups = rng.integers(min(size, 8), size=size)
        groups[:3] = np.arange(3)  # at least three groups
        return zipf(rng, n, size, power=power), groups

    return draw


def _ages(n: int, rng: Rng) -> tuple[Any, Any]:
    ages = np.clip(np.round(45 + 16 * rng.normal(size=n)), 18, 90).astype(np.int64)
    return ages - 18, np.searchsorted([25, 35, 50, 65], np.arange(18, 91), side="right")


def _amounts(n: int, rng: Rng) -> tuple[Any, Any]:
    """A skewed number, many of whose values are round, in bands of unequal widths."""
    amounts = np.clip(np.round(np.exp(3.4 + 0.7 * rng.normal(size=n))), 0, 199)
    amounts = np.where(rng.random(n) < 0.3, np.clip(10 * np.round(amounts / 10), 0, 190), amounts).astype(np.int64)
    return amounts, np.searchsorted([10, 25, 50, 100, 150], np.arange(200), side="right")


def _days(n: int, rng: Rng) -> tuple[Any, Any]:
    """Days of a year, fewer at weekends, and their weekday: neighbours never have the same."""
    weekday = (np.arange(365) + 4) % 7
    odds = np.where(weekday >= 5, 0.4, 1.0) * (1 + 0.4 * np.cos(2 * np.pi * np.arange(365) / 365))
    return rng.choice(365, size=n, p=odds / odds.sum()), weekday


#: For each shape the reasons (as places) and what follows from each; and the lowest reason where it is a whole number.
SHAPES: dict[str, tuple[Callable[[int, Rng], tuple[Any, Any]], int | None]] = {
    "codes-5": (_codes(5, 0.7), None),
    "codes-50": (_codes(50, 0.7), None),
    "codes-500": (_codes(500, 0.7), None),
    "ages": (_ages, 18),
    "amounts": (_amounts, 0),
    "days": (_days, 1),
}


def drawn(shape: str, n: int, *, seed: int, way: str, has_target: bool) -> tuple[Drawn, dict[str, str]]:
    """Private rows and the schema, and what follows from what, as texts."""
    rng = np.random.default_rng(seed)
    draw, lowest = SHAPES[shape]
    reason, follows = draw(n, rng)
    n_reasons, n_groups = len(follows), int(follows.max()) + 1
    x = rng.normal(size=(n, 2))
    effect = rng.normal(size=n_groups)
    values = {
        "reason": coded("reason", reason, n_reasons) if lowest is None else reason + lowest,
        "group": coded("group", follows[reason], n_groups),
        "x": 0.5 * x[:, 0] + 0.4 * effect[follows[reason]],
        "z": x[:, 1],
        "kind": coded("kind", zipf(rng, n, 6), 6),
    }
    low = lowest or 0
    of_reason = category("reason", n_reasons) if lowest is None else whole("reason", low, low + n_reasons - 1)
    group = category("group", n_groups)
    names = [f"reason{r}" if lowest is None else str(r + lowest) for r in range(n_reasons)]
    known = {name: f"group{g}" for name, g in zip(names, follows, strict=True)}
    if way in ("measured", "given"):
        group = replace(group, depends_on=("reason",), depends_on_map=tuple(known.items()) if way == "given" else ())
    columns = [of_reason, group, number("x", -8, 8), number("z", -8, 8), category("kind", 6)]
    if has_target:
        values["y"] = yes(rng, 1.2 * effect[follows[reason]] + 0.8 * x[:, 0] - 0.5 * x[:, 1], rate=0.35)
        columns.append(flag("y"))
    return table(values, columns, "y" if has_target else None), known


def apart(real: pd.Series, made: pd.Series) -> float:
    """Total variation distance over single values."""
    one, other = (x.astype(str).value_counts(normalize=True) for x in (real, made))
    return float(one.sub(other, fill_value=0).abs().sum() / 2)


def auc(rows: pd.DataFrame, test: pd.DataFrame) -> float | None:
    """Of a learner of some rows, on others."""
    if rows["y"].nunique() < 2:
        return None
    frames = [rows.drop(columns="y"), test.drop(columns="y")]
    joined = pd.get_dummies(pd.concat(frames), columns=["group", "kind"])
    joined["reason"] = (
        joined["reason"].astype(str).str.removeprefix("reason").astype(float)
        if not pd.api.types.is_numeric_dtype(joined["reason"])
        else joined["reason"]
    )
    learner = HistGradientBoostingClassifier(random_state=0).fit(joined.iloc[: len(rows)], rows["y"].astype(bool))
    return round(float(roc_auc_score(test["y"].astype(bool), learner.predict_proba(joined.iloc[len(rows) :])[:, 1])), 4)


def released(shape: str, n: int, seed: int, way: str, *, has_target: bool) -> dict[str, Any]:
    """One release, against the private rows."""
    (frame, schema), known = drawn(shape, n + TESTS, seed=7, way=way, has_target=has_target)
    real, test = frame.iloc[:n].reset_index(drop=True), frame.iloc[n:]
    schema = replace(schema, rows=n if n * BUDGET.delta <= 1 else None)
    method = "independent-histograms" if way == "histograms" else "3a-table"
    start = time.process_time()
    data, source = sf.Sensitive.read(real, schema), NoiseSource(research_seed=1_000 + seed)
    rows = sf.fit(method, data, BUDGET, seed=seed, source=source).model.sample(n, seed=seed).table
    expected = rows["reason"].astype(str).map(known)
    line: dict[str, Any] = {"shape": shape, "rows": n, "target": has_target, "way": way, "seed": seed}
    line |= {f"tvd {name}": round(apart(real[name], rows[name]), 4) for name in ("reason", "group")}
    line |= {"tvd x": round(apart(real["x"].round(1), rows["x"].astype(float).round(1)), 4)}
    line["obey"] = round(float((expected.astype(str) == rows["group"].astype(str)).mean()), 4)
    line["auc"] = auc(rows, test) if has_target else None
    return line | {"seconds": round(time.process_time() - start, 1)}


if __name__ == "__main__":
    words = sys.argv[1:]
    shapes = [s for word in words for s in word.split(",") if s in SHAPES] or list(SHAPES)
    numbers = [word for word in words if word.replace(",", "").isdigit()]
    sizes = [int(size) for size in numbers[0].split(",")] if numbers else [2_000, 20_000]
    seeds = [int(word) for word in numbers[1:]] or [0, 1, 2, 3, 4]
    with_target = [word == "target" for word in words if word in ("target", "alone")] or [True, False]
    ways = [word for word in words if word in WAYS] or list(WAYS)
    for shape in shapes:
        for n in sizes:
            for has_target in with_target:
                for way in ways:
                    for seed in seeds:
                        print(json.dumps(released(shape, n, seed, way, has_target=has_target)), flush=True)
