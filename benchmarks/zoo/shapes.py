"""Shapes of single numbers: tails, spikes, few values, and many numbers that hang together."""

import numpy as np

from .case import made
from .drawing import Drawn, Rng, category, coded, factor_normals, flag, levels, number, table, whole, yes


@made("heavy-tails", 20_000, "log-normal, Pareto, Cauchy and t columns: tails far beyond where the rows are")
def heavy_tails(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 8)
    uniform = np.clip((np.argsort(np.argsort(z, axis=0), axis=0) + 0.5) / n, 1e-6, 1 - 1e-6)
    values = {
        "income": np.exp(8 + 2 * z[:, 0]),
        "wealth": 1_000 * (1 - uniform[:, 1]) ** (-1 / 1.2),
        "drift": 10 * np.tan(np.pi * (uniform[:, 2] - 0.5)),
        "returns": rng.standard_t(2.5, size=n),
        "wait": -30 * np.log(1 - uniform[:, 4]),
        "claims": np.exp(3 + 1.5 * z[:, 5]),
        "age": 45 + 12 * z[:, 6],
        "bought": yes(rng, 1.2 * z[:, 0] - 1.0 * z[:, 1] + 0.8 * z[:, 2] + 0.6 * (z[:, 5] > 1), rate=0.3),
    }
    columns = [
        number("income", 0, 10_000_000), number("wealth", 0, 100_000_000), number("drift", -100_000, 100_000),
        number("returns", -1_000, 1_000), number("wait", 0, 1_000), number("claims", 0, 100_000),
        number("age", 0, 120), flag("bought"),
    ]  # fmt: skip
    return table(values, columns, "bought")


@made("sentinels", 29_000, "96 % of a number at 999, 90 % zeros, -1 for unknown, 11 values in 29,000 rows")
def sentinels(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 7)
    rates = np.array([-3.4, -3.0, -2.9, -1.8, -1.7, -1.1, -0.2, -0.1, 0.7, 1.1, 1.4])
    called = rng.random(n) < np.clip(0.027 * np.exp(0.8 * z[:, 0]), 0, 0.5)
    economy = levels(z[:, 1], 11)
    gains = np.where(z[:, 3] > 1.3, np.round(np.exp(7 + z[:, 4])), 0)
    owed = np.where(rng.random(n) < 0.3, -1, np.round(np.exp(4 + z[:, 5])))
    seconds = np.round(np.exp(5.2 + 0.9 * z[:, 2]))
    score = (
        2.2 * called - 0.35 * rates[economy] + 1.5 * (np.log(seconds) - 5.2) + 0.8 * (gains > 0) - 0.7 * (owed == -1)
    )
    values = {
        "days_since": np.where(called, rng.poisson(6, n), 999),
        "rate": rates[economy],
        "gains": gains,
        "owed": owed,
        "seconds": seconds,
        "age": 40 + 10 * z[:, 6],
        "job": coded("job", levels(z[:, 0] + rng.normal(size=n) * 0.5, 12), 12),
        "said_yes": yes(rng, 1.4 * score, rate=0.11),
    }
    columns = [
        whole("days_since", 0, 999), number("rate", -10, 10), whole("gains", 0, 100_000), whole("owed", -1, 100_000),
        whole("seconds", 0, 10_000), whole("age", 0, 120), category("job", 12), flag("said_yes"),
    ]  # fmt: skip
    return table(values, columns, "said_yes")


@made("zero-heavy", 20_000, "a number as target with 60 % zeros, from zero-heavy and few-valued numbers")
def zero_heavy(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 6)
    hours = np.where(z[:, 0] > -0.2, np.clip(np.round((38 + 12 * z[:, 1]) / 5) * 5, 0, 80), 0)
    children = rng.poisson(np.exp(0.4 * z[:, 2] - 0.5))
    rent = np.where(z[:, 3] > 0.5, np.round(np.exp(6.5 + 0.4 * z[:, 4]), -1), 0)
    earns = 0.02 * hours - 0.5 * (children > 1) + 0.7 * (rent > 0) + 0.5 * rng.normal(size=n)
    spent = np.where(earns > np.quantile(earns, 0.6), 50 * (earns + 1) ** 2, 0)
    values = {"hours": hours, "children": children, "rent": rent, "age": 40 + 12 * z[:, 5], "spent": spent}
    columns = [
        whole("hours", 0, 100), whole("children", 0, 20), whole("rent", 0, 20_000), whole("age", 0, 120),
        number("spent", 0, 10_000),
    ]  # fmt: skip
    return table(values, columns, "spent")


@made("lognormals-5000", 5_000, "20 log-normal columns, no target: correlations (mean size .24)")
@made("lognormals", 20_000, "20 log-normal columns, no target: correlations (mean size .24)")
def lognormals(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 20, factors=3, strength=0.75)
    values = {f"x{j}": np.exp(z[:, j] * (0.5 + j / 20)) for j in range(20)}
    return table(values, [number(f"x{j}", 0, 1_000) for j in range(20)], None)


@made("no-target-mixed", 10_000, "numbers and categories with causes among each other, no target")
def no_target_mixed(n: int, rng: Rng) -> Drawn:
    z = rng.normal(size=(n, 12))
    for j in range(1, 12):  # each has two causes before it
        z[:, j] = (z[:, j] + 0.9 * z[:, j - 1] - 0.6 * z[:, j // 2]) / 1.3
    z /= z.std(axis=0)
    values = {f"x{j}": z[:, j] * 10 for j in range(6)} | {
        f"c{j}": coded(f"c{j}", np.random.default_rng(j).permutation(j)[levels(z[:, j], j)], j) for j in range(6, 12)
    }
    columns = [*(number(f"x{j}", -100, 100) for j in range(6)), *(category(f"c{j}", j) for j in range(6, 12))]
    return table(values, columns, None)
