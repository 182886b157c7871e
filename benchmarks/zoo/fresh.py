"""A second round of tables that nobody had looked at when the constants were chosen."""

import numpy as np
import pandas as pd

import sfumato as sf

from .case import made
from .drawing import (
    Drawn,
    Floats,
    Rng,
    category,
    classes_at,
    coded,
    factor_normals,
    flag,
    number,
    sigmoid,
    table,
    whole,
    yes,
    zipf,
)


def _numbers(x: Floats, more: dict[str, object], columns: list[sf.Column], *, bound: float = 8) -> Drawn:
    """Numbers x0, x1, ..., other columns, and the target, which is the last of them."""
    names = [f"x{j}" for j in range(x.shape[1])]
    values = dict(zip(names, x.T, strict=True)) | more
    return table(values, [*(number(name, -bound, bound) for name in names), *columns], columns[-1].name)


@made("moons", 10_000, "two classes in two half moons, beside four numbers that say nothing")
def moons(n: int, rng: Rng) -> Drawn:
    y, turn = rng.random(n) < 0.5, np.pi * rng.random(n)
    moon = np.stack(
        [np.where(y, 1 - np.cos(turn), np.cos(turn)), np.where(y, 0.5 - np.sin(turn), np.sin(turn))], axis=1
    )
    x = np.concatenate([moon + 0.15 * rng.normal(size=(n, 2)), rng.normal(size=(n, 4))], axis=1)
    return _numbers(x, {"y": y}, [flag("y")])


@made("spirals", 20_000, "three classes along three arms of a spiral")
def spirals(n: int, rng: Rng) -> Drawn:
    arm, out = rng.integers(3, size=n), np.sqrt(rng.random(n))
    turn = 4 * out + 2 * np.pi * arm / 3 + 0.25 * rng.normal(size=n)
    spiral = 3 * np.stack([out * np.cos(turn), out * np.sin(turn)], axis=1)
    x = np.concatenate([spiral, rng.normal(size=(n, 3))], axis=1)
    return _numbers(x, {"y": coded("y", arm, 3)}, [category("y", 3)])


@made("checkers", 20_000, "the squares of a board of four by four, one label in ten flipped")
def checkers(n: int, rng: Rng) -> Drawn:
    x = rng.uniform(0, 4, size=(n, 6))
    y = (x[:, :2].astype(int).sum(axis=1) % 2 == 0) ^ (rng.random(n) < 0.1)
    return _numbers(x, {"y": y}, [flag("y")])


@made("ordered-30", 5_000, "five ordered classes by eight of thirty numbers that hang together")
def ordered(n: int, rng: Rng) -> Drawn:
    x = factor_normals(rng, n, 30, factors=5)
    hidden = x[:, :8] @ rng.normal(size=8) + rng.normal(size=n)
    y = np.searchsorted(np.quantile(hidden, [0.1, 0.3, 0.6, 0.85]), hidden)
    return _numbers(x, {"y": coded("y", y, 5)}, [category("y", 5)])


@made("genes", 2_000, "a hundred numbers that are 0, 1 or 2, a fifth of which say a little each")
def genes(n: int, rng: Rng) -> Drawn:
    often = rng.uniform(0.1, 0.5, size=100)
    g = rng.binomial(2, often, size=(n, 100))
    score = 0.5 * (g - 2 * often)[:, :20] @ rng.normal(size=20)
    values = {f"g{j}": g[:, j] for j in range(100)} | {"y": yes(rng, score, rate=0.4)}
    return table(values, [*(whole(f"g{j}", 0, 2) for j in range(100)), flag("y")], "y")


@made(
    "slopes-number",
    30_000,
    "a number as target that rises along another in some of twelve categories and falls in others",
)
def slopes(n: int, rng: Rng) -> Drawn:
    g, x = zipf(rng, n, 12, power=0.5), rng.normal(size=(n, 4))
    y = 2 * rng.normal(size=12)[g] * x[:, 0] + rng.normal(size=12)[g] + 0.5 * x[:, 1] + 0.5 * rng.normal(size=n)
    return _numbers(x, {"g": coded("g", g, 12), "y": y}, [category("g", 12), number("y", -20, 20)])


@made("larger-of-two", 20_000, "a number as target: the larger of two columns and the smaller of two others")
def larger(n: int, rng: Rng) -> Drawn:
    x = rng.normal(size=(n, 8))
    y = np.maximum(x[:, 0], x[:, 1]) + np.minimum(x[:, 2], x[:, 3]) + 0.3 * rng.normal(size=n)
    return _numbers(x, {"y": y}, [number("y", -12, 12)])


@made("waves", 15_000, "a number as target that goes up and down along two columns")
def waves(n: int, rng: Rng) -> Drawn:
    x = rng.uniform(-3, 3, size=(n, 5))
    y = np.sin(3 * x[:, 0]) + np.cos(2 * x[:, 1]) + 0.3 * x[:, 2] + 0.3 * rng.normal(size=n)
    return _numbers(x, {"y": y}, [number("y", -6, 6)], bound=4)


@made("claims", 30_000, "insurance claims, most rows without one: a rate that time, age, car and region multiply")
def claims(n: int, rng: Rng) -> Drawn:
    time, age = rng.uniform(0.05, 1, size=n), rng.integers(18, 90, size=n)
    car, region = zipf(rng, n, 25), rng.integers(20, size=n)
    logs = 0.02 * np.abs(age - 45) + 0.5 * rng.normal(size=25)[car] + 0.3 * rng.normal(size=20)[region]
    values = {
        "time": time, "age": age, "car": coded("car", car, 25), "region": coded("region", region, 20),
        "bonus": rng.integers(50, 150, size=n), "claims": rng.poisson(time * np.exp(logs - 2)),
    }  # fmt: skip
    columns = [
        number("time", 0, 1), whole("age", 0, 120), category("car", 25), category("region", 20), whole("bonus", 0, 300),
        whole("claims", 0, 50),
    ]  # fmt: skip
    return table(values, columns, "claims")


@made("spending", 30_000, "amounts as target: most spend nothing, the others log-normal amounts")
def spending(n: int, rng: Rng) -> Drawn:
    x = factor_normals(rng, n, 6)
    spends = rng.random(n) < sigmoid(x[:, 0] + 0.8 * x[:, 1] - 1)
    amount = np.exp(5 + 0.7 * x[:, 2] + 0.4 * x[:, 0] + 0.6 * rng.normal(size=n))
    return _numbers(x, {"y": np.where(spends, amount, 0.0)}, [number("y", 0, 100_000)])


@made("xor-2-rare", 20_000, "the XOR of two numbers' signs, and 6 % positives")
def rare_xor(n: int, rng: Rng) -> Drawn:
    x = rng.normal(size=(n, 8))
    return _numbers(x, {"y": yes(rng, 2.5 * np.sign(x[:, 0] * x[:, 1]) + x[:, 2], rate=0.06)}, [flag("y")])


@made("near-sure", 20_000, "two classes that a line through three numbers all but tells apart")
def near_sure(n: int, rng: Rng) -> Drawn:
    x = factor_normals(rng, n, 12)
    return _numbers(x, {"y": yes(rng, 12 * (x[:, 0] + 0.5 * x[:, 1] - 0.4 * x[:, 2]), rate=0.3)}, [flag("y")])


@made("booleans-50", 10_000, "fifty yes-or-no columns with six causes, no target")
def booleans(n: int, rng: Rng) -> Drawn:
    b = factor_normals(rng, n, 50, factors=6, strength=1.0) > 0.8 * rng.normal(size=50)
    return table({f"b{j}": b[:, j] for j in range(50)}, [flag(f"b{j}") for j in range(50)], None)


@made("clusters", 10_000, "six numbers in eight clusters, no target")
def clusters(n: int, rng: Rng) -> Drawn:
    x = 3 * rng.normal(size=(8, 6))[rng.integers(8, size=n)] + 0.6 * rng.normal(size=(n, 6))
    return table({f"x{j}": x[:, j] for j in range(6)}, [number(f"x{j}", -15, 15) for j in range(6)], None)


@made("codes-number", 40_000, "a number as target by 3,000 codes, and by a product")
def codes(n: int, rng: Rng) -> Drawn:
    code, x = zipf(rng, n, 3_000, power=0.8), rng.normal(size=(n, 4))
    y = 1.5 * rng.normal(size=3_000)[code] + x[:, 0] * x[:, 1] + 0.5 * x[:, 2] + 0.6 * rng.normal(size=n)
    return _numbers(x, {"code": coded("code", code, 3_000), "y": y}, [category("code", 3_000), number("y", -20, 20)])


@made("calls", 30_000, "two years of calls: what is asked hangs on the hour, in another way at weekends")
def calls(n: int, rng: Rng) -> Drawn:
    start = int(pd.Timestamp("2021-01-01").timestamp())
    when = pd.to_datetime(start + 60 * rng.integers(2 * 365 * 1_440, size=n), unit="s")
    day, weekend = 2 * np.pi * when.hour.to_numpy() / 24, when.day_of_week.to_numpy() >= 5
    seconds, kind = np.exp(4 + 0.8 * rng.normal(size=n)), rng.integers(6, size=n)
    score = 1.5 * np.sin(day) + weekend * np.cos(day) + 0.8 * rng.normal(size=6)[kind] + 0.5 * np.log(seconds / 55)
    values = {
        "when": when.astype("datetime64[s]"), "seconds": seconds, "kind": coded("kind", kind, 6),
        "y": yes(rng, score, rate=0.25),
    }  # fmt: skip
    columns = [
        sf.Column(name="when", kind="datetime", bounds=(start, start + 2 * 365 * 86_400)), number("seconds", 0, 10_000),
        category("kind", 6), flag("y"),
    ]  # fmt: skip
    return table(values, columns, "y")


@made("ratio", 20_000, "whether debts are paid hangs on debt over income, both log-normal in bounds far too wide")
def ratio(n: int, rng: Rng) -> Drawn:
    income, debt = np.exp(10 + 0.6 * rng.normal(size=n)), np.exp(9 + 0.9 * rng.normal(size=n))
    age = rng.integers(18, 80, size=n)
    y = yes(rng, 1.6 * np.log(debt / income) + 0.01 * (age - 50), rate=0.2)
    more = {"income": income, "debt": debt, "age": age, "y": y}
    columns = [number("income", 0, 1_000_000), number("debt", 0, 1_000_000), whole("age", 0, 120), flag("y")]
    return _numbers(rng.normal(size=(n, 3)), more, columns)


@made("few-classes", 1_500, "1,500 rows of twelve numbers and four categories, four uneven classes")
def few_classes(n: int, rng: Rng) -> Drawn:
    x, g = factor_normals(rng, n, 12), rng.integers(4, size=(n, 4))
    scores = np.stack([2 * x[:, 0], 2 * x[:, 1], 1.5 * x[:, 2] + rng.normal(size=4)[g[:, 0]], -2 * x[:, 0]], axis=1)
    more = {f"g{j}": coded(f"g{j}", g[:, j], 4) for j in range(4)}
    more["y"] = coded("y", classes_at(rng, scores, np.array([0.4, 0.3, 0.2, 0.1])), 4)
    return _numbers(x, more, [*(category(f"g{j}", 4) for j in range(4)), category("y", 4)])


@made("few-number", 800, "800 rows of six numbers, a number as target")
def few_number(n: int, rng: Rng) -> Drawn:
    x = factor_normals(rng, n, 6)
    y = 2 * x[:, 0] - x[:, 1] + 0.5 * x[:, 2] ** 2 + 0.7 * rng.normal(size=n)
    return _numbers(x, {"y": y}, [number("y", -20, 20)])


@made("twins", 20_000, "three numbers that are there four times each, all but equal, two of which act together")
def twins(n: int, rng: Rng) -> Drawn:
    z = rng.normal(size=(n, 3))
    y = yes(rng, 2 * z[:, 0] - 1.5 * z[:, 1] * np.sign(z[:, 2]), rate=0.4)
    return _numbers(np.repeat(z, 4, axis=1) + 0.05 * rng.normal(size=(n, 12)), {"y": y}, [flag("y")])
