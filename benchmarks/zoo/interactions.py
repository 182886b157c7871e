"""Signals that no column carries alone: crossed columns, products, differences."""

import numpy as np

from .case import made
from .drawing import Drawn, Rng, category, coded, factor_normals, flag, number, table, whole, yes


@made("xor-2", 20_000, "the target is the XOR of two numbers' signs, one label in ten flipped", among=2)
@made("xor-3", 20_000, "the target is the XOR of three numbers' signs, one label in ten flipped", among=3)
@made("xor-2-categories", 20_000, "the XOR of two categories of six values", among=2, coded_columns=True)
@made("xor-3-categories", 20_000, "the XOR of three categories of six values", among=3, coded_columns=True)
def xor(n: int, rng: Rng, *, among: int, coded_columns: bool = False) -> Drawn:
    if coded_columns:
        codes = rng.integers(6, size=(n, 8))
        odd = codes[:, :among] % 2 == 1
        values = {f"c{j}": coded(f"c{j}", codes[:, j], 6) for j in range(8)}
        columns = [category(f"c{j}", 6) for j in range(8)]
    else:
        x = rng.normal(size=(n, 8))
        odd = x[:, :among] > 0
        values = {f"x{j}": x[:, j] for j in range(8)}
        columns = [number(f"x{j}", -10, 10) for j in range(8)]
    label = (odd.sum(axis=1) % 2 == 1) ^ (rng.random(n) < 0.1)
    return table({**values, "y": label}, [*columns, flag("y")], "y")


@made("product", 20_000, "a number as target with a product of two columns")
def product(n: int, rng: Rng) -> Drawn:
    x = rng.normal(size=(n, 8))
    y = x[:, 0] - 0.5 * x[:, 1] + 1.2 * x[:, 2] * x[:, 3] + 0.55 * rng.normal(size=n)
    values = {f"x{j}": x[:, j] for j in range(8)}
    return table({**values, "y": y}, [*(number(f"x{j}", -10, 10) for j in range(8)), number("y", -50, 50)], "y")


@made("difference", 20_000, "a number as target that is the difference of two columns that are nearly equal")
def difference(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 4)
    planned = np.round(720 + 250 * z[:, 0])
    late = np.round(np.exp(2.2 + 1.0 * z[:, 1]) - 8)
    values = {
        "planned": planned,
        "actual": planned + late,
        "distance": np.round(800 * np.exp(0.5 * z[:, 2])),
        "carrier": coded("carrier", rng.integers(8, size=n), 8),
        "delay": np.round(0.9 * late + 2 * rng.normal(size=n) + 1.5 * z[:, 2]),
    }
    columns = [
        whole("planned", 0, 2_000), whole("actual", 0, 3_000), whole("distance", 0, 10_000), category("carrier", 8),
        whole("delay", -200, 1_500),
    ]  # fmt: skip
    return table(values, columns, "delay")


@made("difference-class", 20_000, "two classes by the sign of the difference of two columns that hang together")
def difference_class(n: int, rng: Rng) -> Drawn:
    level = rng.normal(size=n)
    own, other = level + 0.5 * rng.normal(size=n), level + 0.5 * rng.normal(size=n)
    x = rng.normal(size=(n, 4))
    won = own - other + 0.3 * rng.normal(size=n) + 0.2 * x[:, 0] > 0
    values = {"own": 1_500 + 200 * own, "other": 1_500 + 200 * other, **{f"x{j}": x[:, j] for j in range(4)}}
    columns = [number("own", 0, 4_000), number("other", 0, 4_000), *(number(f"x{j}", -10, 10) for j in range(4))]
    return table({**values, "won": won}, [*columns, flag("won")], "won")


@made("parity-4", 20_000, "ten yes-or-no columns, the target the XOR of four, one label in twenty flipped", among=4)
@made("parity-5", 20_000, "the same of five", among=5)
@made("parity-6", 20_000, "the same of six", among=6)
@made("parity-7", 20_000, "the same of seven", among=7)
@made("parity-4-of-30", 20_000, "the XOR of four among thirty yes-or-no columns", among=4, others=20)
@made("parity-5-of-30", 20_000, "the XOR of five among thirty yes-or-no columns", among=5, others=20)
@made("parity-6-named", 20_000, "the XOR of six of ten items among thirty columns", among=6, others=20, stem="item_")
@made("parity-7-named", 20_000, "the XOR of seven of ten items among thirty columns", among=7, others=20, stem="item_")
def parity(n: int, rng: Rng, *, among: int, others: int = 0, stem: str = "") -> Drawn:
    bits = rng.random((n, 10 + others)) < 0.5
    label = (bits[:, :among].sum(axis=1) % 2 == 1) ^ (rng.random(n) < 0.05)
    letters = [chr(ord("a") + j % 26) * (1 + j // 26) for j in range(10 + others)]
    names = [f"{stem}{j}" if stem and j < 10 else letters[j] for j in range(10 + others)]
    order = rng.permutation(len(names))  # columns that belong together need not be neighbours
    values = {names[j]: bits[:, j] for j in order}
    return table({**values, "target": label}, [*map(flag, values), flag("target")], "target")


@made("flags", 20_000, "ten yes-or-no columns that add up, none of them with another")
def flags(n: int, rng: Rng) -> Drawn:
    bits = rng.random((n, 10)) < rng.uniform(0.1, 0.6, size=10)
    score = bits @ rng.normal(size=10)
    values = {chr(ord("a") + j): bits[:, j] for j in range(10)}
    return table({**values, "target": yes(rng, score, rate=0.3)}, [*map(flag, values), flag("target")], "target")


@made("small-joint", 20_000, "five categories of 720 combinations with an effect for each, and two classes")
def small_joint(n: int, rng: Rng) -> Drawn:
    sizes = (4, 3, 4, 3, 5)
    odds = np.exp(0.8 * rng.normal(size=sizes)).ravel()
    cell = rng.choice(len(odds), size=n, p=odds / odds.sum())
    codes = np.unravel_index(cell, sizes)
    values = {f"c{j}": coded(f"c{j}", codes[j], size) for j, size in enumerate(sizes)}
    columns = [category(f"c{j}", size) for j, size in enumerate(sizes)]
    return table({**values, "y": yes(rng, 1.5 * rng.normal(size=len(odds))[cell])}, [*columns, flag("y")], "y")
