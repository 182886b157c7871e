"""Shapes on which the default was worst when it was tried on tables that nobody had chosen it by."""

import numpy as np
import pandas as pd

import sfumato as sf

from .case import made
from .drawing import Drawn, Rng, category, coded, factor_normals, flag, levels, number, table, whole, yes, zipf

_DAY = 86_400
_START = int(pd.Timestamp("2018-01-01").timestamp())


@made("sliver", 10_000, "99 % of every number in a thousandth of its bounds, far from zero")
def sliver(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 6)
    stray = rng.random((n, 6)) < 0.01
    x = np.where(stray, rng.uniform(0, 1_000, size=(n, 6)), 700 + 0.5 * z)
    values = {f"x{j}": x[:, j] for j in range(6)} | {"y": yes(rng, 1.5 * (z[:, 0] - z[:, 1]), rate=0.4)}
    return table(values, [*(number(f"x{j}", 0, 1_000) for j in range(6)), flag("y")], "y")


@made("huge-units", 10_000, "numbers and a number as target that differ by a five-hundredth of their size")
def huge_units(n: int, rng: Rng) -> Drawn:
    x = 5e12 + 1e10 * factor_normals(rng, n, 6)
    values = {f"x{j}": x[:, j] for j in range(6)} | {"y": x[:, 0] - 0.6 * x[:, 1] + 4e9 * rng.normal(size=n)}
    return table(values, [*(number(name, 0, 1e13) for name in values)], "y")


@made("bounds-1000", 1_000, "bounds a thousand times too wide, 1,000 rows")
def wide_bounds(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 8)
    score = z[:, 0] - 0.8 * z[:, 1] + 0.6 * z[:, 2] + 0.5 * np.abs(z[:, 3])
    values = {f"x{j}": z[:, j] for j in range(8)} | {"y": yes(rng, 1.6 * score, rate=0.4)}
    return table(values, [*(number(f"x{j}", -4_000, 4_000) for j in range(8)), flag("y")], "y")


@made("rare-200", 20_000, "one row in two hundred is positive; ten numbers, three of which say so")
def rare(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 10)
    place = rng.integers(6, size=n)
    score = 2 * z[:, 0] - 1.5 * z[:, 1] + 1.2 * rng.normal(size=6)[place] + 2 * (z[:, 2] > 1.5)
    values = {f"x{j}": z[:, j] for j in range(10)}
    values |= {"place": coded("place", place, 6), "y": yes(rng, score, rate=0.005)}
    return table(values, [*(number(f"x{j}", -10, 10) for j in range(10)), category("place", 6), flag("y")], "y")


@made("prices", 20_000, "log-normal prices as target, towns that matter, bounds a hundred times too wide")
def prices(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 5)
    town = zipf(rng, n, 40)
    area = np.exp(4.4 + 0.4 * z[:, 0])
    log_price = 11 + 0.9 * np.log(area / 80) + 0.4 * rng.normal(size=40)[town] + 0.3 * z[:, 2]
    values = {
        "area": area,
        "rooms": np.clip(np.round(area / 25 + 0.7 * rng.normal(size=n)), 1, 12),
        "year": np.round(1970 + 25 * z[:, 1]),
        "quality": levels(z[:, 2], 7),
        "latitude": 50 + z[:, 3],
        "longitude": 8 + 2 * z[:, 4],
        "town": coded("town", town, 40),
        "price": np.exp(log_price + 0.2 * rng.normal(size=n)),
    }
    columns = [
        number("area", 0, 2_000), whole("rooms", 0, 50), whole("year", 1700, 2030), whole("quality", 0, 6),
        number("latitude", -90, 90), number("longitude", -180, 180), category("town", 40), number("price", 0, 1e8),
    ]  # fmt: skip
    return table(values, columns, "price")


@made("parabola", 5_000, "two columns: a number that is the square of the other")
def parabola(n: int, rng: Rng) -> Drawn:
    x = rng.normal(size=n)
    return table({"x": x, "y": x**2 + 0.5 * rng.normal(size=n)}, [number("x", -10, 10), number("y", -20, 50)], "y")


@made("levels-300", 20_000, "a number by two columns of 300 categories each")
def many_levels(n: int, rng: Rng) -> Drawn:
    a, b, x = zipf(rng, n, 300, power=0.6), zipf(rng, n, 300, power=0.6), rng.normal(size=(n, 3))
    y = 1.3 * rng.normal(size=300)[a] + rng.normal(size=300)[b] + 0.6 * x[:, 0] + 0.6 * rng.normal(size=n)
    values = {"a": coded("a", a, 300), "b": coded("b", b, 300), **{f"x{j}": x[:, j] for j in range(3)}, "y": y}
    columns = [category("a", 300), category("b", 300), *(number(f"x{j}", -10, 10) for j in range(3))]
    return table(values, [*columns, number("y", -20, 20)], "y")


@made("wide-150-number-3000", 3_000, "150 numbers, a number as target, 3,000 rows")
def wide_number_few_rows(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 150, factors=6)
    score = z[:, rng.permutation(150)[:10]] @ rng.normal(size=10)
    values = {f"x{j}": z[:, j] for j in range(150)} | {"y": score + 0.5 * score.std() * rng.normal(size=n)}
    return table(values, [*(number(f"x{j}", -10, 10) for j in range(150)), number("y", -50, 50)], "y")


@made("two-dates", 15_000, "two dates some days apart: whether it was late hangs on the days between them")
def two_dates(n: int, rng: Rng) -> Drawn:
    ordered = _START + _DAY * rng.integers(2 * 365, size=n)
    days = 1 + np.round(np.exp(2 + 0.8 * rng.normal(size=n)))
    x = rng.normal(size=(n, 3))
    dates = {"ordered": ordered, "due": ordered + _DAY * days}
    values = {name: pd.to_datetime(when, unit="s").astype("datetime64[s]") for name, when in dates.items()}
    values |= {f"x{j}": x[:, j] for j in range(3)}
    values["late"] = yes(rng, -3 * (np.log(days) - 2) + 0.6 * x[:, 0], rate=0.35)
    bounds = (float(_START), float(_START + 3 * 365 * _DAY))
    columns = [sf.Column(name=name, kind="datetime", bounds=bounds) for name in dates]
    return table(values, [*columns, *(number(f"x{j}", -10, 10) for j in range(3)), flag("late")], "late")


@made("slopes", 20_000, "two classes by a number that counts for some of eight categories and against others")
def slopes(n: int, rng: Rng) -> Drawn:
    group, x = rng.integers(8, size=n), rng.normal(size=(n, 5))
    score = 2.5 * np.array([1, -1, 1, -1, 0, 2, -2, 0.5])[group] * x[:, 0] + 0.5 * x[:, 1]
    values = {"group": coded("group", group, 8), **{f"x{j}": x[:, j] for j in range(5)}, "y": yes(rng, score)}
    return table(values, [category("group", 8), *(number(f"x{j}", -10, 10) for j in range(5)), flag("y")], "y")


@made("steps", 10_000, "numbers in steps of a half that nothing declares, a score in steps of five as target")
def steps(n: int, rng: Rng) -> Drawn:
    x = np.round(2 * factor_normals(rng, n, 8)) / 2
    score = 50 + 10 * (x[:, 0] + 0.8 * x[:, 1] - 0.6 * x[:, 2] * (x[:, 3] > 0)) + 6 * rng.normal(size=n)
    values = {f"x{j}": x[:, j] for j in range(8)} | {"score": 5 * np.round(score / 5)}
    return table(values, [*(number(f"x{j}", -10, 10) for j in range(8)), number("score", 0, 100)], "score")
