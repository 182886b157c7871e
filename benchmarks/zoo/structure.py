"""Columns that determine each other, dates with a rhythm, and values whose absence means something."""

from dataclasses import replace

import numpy as np
import pandas as pd

import sfumato as sf

from .case import made
from .drawing import (
    Drawn,
    Rng,
    category,
    classes_at,
    coded,
    factor_normals,
    flag,
    levels,
    number,
    sigmoid,
    table,
    whole,
    yes,
    zipf,
)

_YEAR = 365 * 86_400
_START = int(pd.Timestamp("2021-01-01").timestamp())


@made("determined", 20_000, "city gives region, total = a + b, ratio = a / b")
def determined(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 4)
    city = zipf(rng, n, 60, power=0.7)
    region = np.arange(60) % 8
    a, b = np.exp(4 + 0.6 * z[:, 0]), np.exp(4 + 0.6 * z[:, 1])
    score = 1.5 * np.log(a / b) + 0.8 * rng.normal(size=8)[region][city] + 0.5 * z[:, 2]
    values = {
        "a": a,
        "b": b,
        "total": a + b,
        "ratio": a / b,
        "city": coded("city", city, 60),
        "region": coded("region", region[city], 8),
        "age": np.round(40 + 12 * z[:, 2]),
        "y": yes(rng, score, rate=0.4),
    }
    columns = [
        number("a", 0, 10_000), number("b", 0, 10_000), number("total", 0, 20_000), number("ratio", 0, 1_000),
        category("city", 60), category("region", 8), whole("age", 0, 120), flag("y"),
    ]  # fmt: skip
    return table(values, columns, "y")


@made("dates", 30_000, "times with hours, weekdays and seasons; the target depends on hour and weekday")
def dates(n: int, rng: Rng) -> Drawn:
    drawn = _START + rng.integers(_YEAR // 3_600, size=8 * n) * 3_600 + rng.integers(3_600, size=8 * n)
    when = pd.to_datetime(drawn, unit="s")
    busy = np.exp(-(((when.hour - 17) / 4.0) ** 2)) + 0.7 * np.exp(-(((when.hour - 8) / 1.5) ** 2)) + 0.05
    busy *= np.where(when.day_of_week >= 5, 0.5, 1.0) * (1 + 0.5 * np.cos(2 * np.pi * (when.day_of_year - 200) / 365))
    when = when[rng.random(8 * n) < busy / busy.max()][:n]
    night, weekend = (when.hour < 7) | (when.hour >= 21), when.day_of_week >= 5
    x = rng.normal(size=(len(when), 3))
    score = 2.5 * night - 1.2 * weekend + 2.0 * (weekend & (when.hour >= 18)) + 0.6 * x[:, 0]
    values = {
        "when": when.astype("datetime64[s]"),
        **{f"x{j}": x[:, j] for j in range(3)},
        "zone": coded("zone", rng.integers(6, size=len(when)), 6),
        "alarm": yes(rng, np.asarray(score, dtype=float), rate=0.25),
    }
    bounds = (float(_START), float(_START + _YEAR))
    columns = [
        sf.Column(name="when", kind="datetime", bounds=bounds), *(number(f"x{j}", -10, 10) for j in range(3)),
        category("zone", 6), flag("alarm"),
    ]  # fmt: skip
    return table(values, columns, "alarm")


@made("missing", 20_000, "values whose absence means something, in numbers and in categories")
def missing(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 5)
    hides = rng.random(n) < np.where(z[:, 0] > 0.8, 0.6, 0.1)
    untested = rng.random(n) < 0.7
    unknown = rng.random(n) < np.where(untested, 0.3, 0.05)
    result = np.exp(1 + 0.5 * z[:, 1])
    score = 1.2 * hides - 1.5 * untested + np.where(untested, 0, 0.8 * z[:, 1]) + 0.7 * z[:, 0] + 0.5 * unknown
    job = pd.Series(coded("job", rng.integers(7, size=n), 7))
    values = {
        "income": np.where(hides, np.nan, np.exp(8 + z[:, 0])),
        "result": np.where(untested, np.nan, result),
        "job": job.mask(unknown),
        "age": np.round(50 + 15 * z[:, 2]),
        "weight": 75 + 12 * z[:, 3],
        "ill": yes(rng, 1.3 * score, rate=0.3),
    }
    columns = [
        number("income", 0, 1_000_000, missing=True), number("result", 0, 100, missing=True),
        category("job", 7, missing=True), whole("age", 0, 120), number("weight", 0, 300), flag("ill"),
    ]  # fmt: skip
    return table(values, columns, "ill")


@made("half-missing", 20_000, "three classes by ten numbers, of which a fifth to four fifths are missing by chance")
def half_missing(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 10)
    scores = np.stack([1.5 * z[:, 0], 1.2 * z[:, 1] - z[:, 2], z[:, 3]], axis=1)
    x = np.where(rng.random(z.shape) < rng.uniform(0.2, 0.8, size=10), np.nan, z)
    values = {f"x{j}": x[:, j] for j in range(10)}
    values["y"] = coded("y", classes_at(rng, scores, np.array([0.5, 0.3, 0.2])), 3)
    return table(values, [*(number(f"x{j}", -8, 8, missing=True) for j in range(10)), category("y", 3)], "y")


@made("panels", 20_000, "tests that are made together or not at all, by what else is known of a row")
def panels(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 12, strength=1.0)
    first, second = rng.random(n) < sigmoid(z[:, 0] - 0.5), rng.random(n) < sigmoid(-z[:, 1] - 0.3)
    x = z.copy()
    x[~first, 3:6] = np.nan
    x[~second, 6:9] = np.nan
    x[:, 9:][rng.random((n, 3)) < 0.1] = np.nan
    score = 1.2 * np.nan_to_num(x[:, 3]) - np.nan_to_num(x[:, 6]) + 0.8 * z[:, 1] + 0.8 * first
    values = {f"x{j}": x[:, j] for j in range(12)} | {"y": yes(rng, score, rate=0.3)}
    return table(values, [*(number(f"x{j}", -8, 8, missing=j >= 3) for j in range(12)), flag("y")], "y")


@made("missing-number", 10_000, "a number as target; four of eight numbers are missing in two of five rows")
def missing_number(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 8, strength=1.0)
    y = z[:, 0] + z[:, 4] - 0.7 * z[:, 5] * z[:, 1] + 0.5 * rng.normal(size=n)
    x = z.copy()
    x[:, 4:][rng.random((n, 4)) < 0.4] = np.nan
    values = {f"x{j}": x[:, j] for j in range(8)} | {"y": y}
    return table(values, [*(number(f"x{j}", -8, 8, missing=j >= 4) for j in range(8)), number("y", -15, 15)], "y")


@made("missing-no-target", 10_000, "ten numbers that hang together, up to three fifths of which are missing; no target")
def missing_no_target(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 10, strength=1.0)
    x = np.where(rng.random(z.shape) < np.linspace(0, 0.6, 10), np.nan, z)
    columns = [number(f"x{j}", -8, 8, missing=j > 0) for j in range(10)]
    return table({f"x{j}": x[:, j] for j in range(10)}, columns, None)


@made(
    "rules",
    20_000,
    "three columns that are a function of others by the schema: region, age group and years of schooling",
)
@made("rules-2000", 2_000, "the same with 2,000 rows")
@made("rules-given", 20_000, "the same, the functions given in the schema", given=True)
def rules(n: int, rng: Rng, *, given: bool = False) -> Drawn:
    z = factor_normals(rng, n, 4)
    city, school = zipf(rng, n, 40, power=0.5), levels(z[:, 0], 12)
    age = np.clip(np.round(45 + 16 * z[:, 1]), 18, 90).astype(np.int64)
    region_of, years_of = rng.integers(7, size=40), np.array([0, 2, 4, 6, 8, 9, 10, 11, 12, 12, 14, 17])
    group_of = np.searchsorted([25, 35, 50, 65], np.arange(18, 91), side="right")
    score = 0.9 * rng.normal(size=7)[region_of][city] + 0.15 * (years_of[school] - 9) + 0.6 * (group_of[age - 18] == 2)
    values = {
        "city": coded("city", city, 40),
        "region": coded("region", region_of[city], 7),
        "age": age,
        "group": coded("group", group_of[age - 18], 5),
        "school": coded("school", school, 12),
        "years": years_of[school],
        "weight": 75 + 12 * z[:, 2],
        "y": yes(rng, score, rate=0.35),
    }
    functions = {
        "region": [(f"city{c}", f"region{r}") for c, r in enumerate(region_of)],
        "group": [(str(a), f"group{g}") for a, g in enumerate(group_of, start=18)],
        "years": [(f"school{s}", str(y)) for s, y in enumerate(years_of)],
    }
    columns = [
        category("city", 40), category("region", 7), whole("age", 18, 90), category("group", 5), category("school", 12),
        whole("years", 0, 20), number("weight", 0, 300), flag("y"),
    ]  # fmt: skip
    reasons = {"region": ("city",), "group": ("age",), "years": ("school",)}
    columns = [
        replace(c, depends_on=reasons[c.name], depends_on_map=tuple(functions[c.name]) if given else ())
        if c.name in reasons
        else c
        for c in columns
    ]
    return table(values, columns, "y")
