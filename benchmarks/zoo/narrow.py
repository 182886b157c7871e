"""Few rows of few columns: simple histograms are hard to beat there."""

import numpy as np

from .case import made
from .drawing import Drawn, Rng, category, coded, flag, number, table, whole, yes


@made("even-1000", 1_000, "two numbers that fill their bounds evenly, no target")
def even(n: int, rng: Rng) -> Drawn:
    values = {f"x{j}": rng.random(n) for j in range(2)}
    return table(values, [number(name, 0, 1) for name in values], None)


@made("shares-800", 800, "three shares of one, steep at either end, no target")
def shares(n: int, rng: Rng) -> Drawn:
    values = {f"x{j}": rng.beta(a, b, size=n) for j, (a, b) in enumerate(((0.5, 0.5), (2, 1), (1, 4)))}
    return table(values, [number(name, 0, 1) for name in values], None)


@made("visitors-2500", 2_500, "age, hour and one of nine rooms, and whether somebody bought")
def visitors(n: int, rng: Rng) -> Drawn:
    room = rng.choice(9, size=n, p=np.arange(9, 0, -1) / 45)
    age = np.where(rng.random(n) < 0.3, rng.integers(6, 17, size=n), np.round(35 + 14 * rng.normal(size=n)))
    hour = np.where(rng.random(n) < 0.5, 11, 15) + rng.normal(size=n)
    values = {"age": age, "hour": hour, "room": coded("room", room, 9)}
    values["bought"] = yes(rng, 0.05 * (age - 30) + np.array([1, 0, 0, -1, 0, 2, 0, -2, 0])[room], rate=0.4)
    columns = [whole("age", 0, 100), number("hour", 0, 24), category("room", 9)]
    return table(values, [*columns, flag("bought")], "bought")
