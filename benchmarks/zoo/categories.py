"""Columns of hundreds and thousands of categories, rare positives, and persons with several rows."""

import numpy as np

import sfumato as sf

from .case import made
from .drawing import Drawn, Rng, category, coded, factor_normals, flag, levels, number, table, whole, yes, zipf


@made("mixed-800", 20_001, "mixed types, 800 categories, 2.8 % positives")
@made(
    "mixed-800-persons", 20_001, "mixed types, 800 categories, 2.8 % positives, persons with 3 rows each", persons=True
)
@made("mixed-800-number", 20_001, "mixed types, 800 categories, a number as target", numeric=True)
def mixed(n: int, rng: Rng, *, persons: bool = False, numeric: bool = False) -> Drawn:
    # The same rows with and without persons: what the three rows of one share is nothing but the person.
    z = factor_normals(rng, n, 8)
    product, shop = zipf(rng, n, 800, power=0.8), rng.integers(12, size=n)
    score = 0.8 * z[:, 0] - 0.6 * z[:, 1] + 0.5 * z[:, 2] * (z[:, 3] > 0) + 0.5 * rng.normal(size=12)[shop]
    score += 0.4 * rng.normal(size=800)[product]
    values = {
        "amount": np.exp(3 + z[:, 0]),
        "age": np.round(45 + 15 * z[:, 1]),
        "score": 500 + 100 * z[:, 2],
        "balance": 1_000 * z[:, 3],
        "items": rng.poisson(np.exp(0.5 + 0.3 * z[:, 4])),
        "member": z[:, 5] > 0.5,
        "shop": coded("shop", shop, 12),
        "product": coded("product", product, 800),
        "level": coded("level", levels(z[:, 6], 5), 5),
    }
    columns = [
        number("amount", 0, 10_000), whole("age", 0, 120), number("score", 0, 1_000), number("balance", -10_000, 10_000),
        whole("items", 0, 100), flag("member"), category("shop", 12), category("product", 800), category("level", 5),
    ]  # fmt: skip
    unit = sf.PrivacyUnit(person="person", max_rows=3) if persons else sf.PrivacyUnit()
    if persons:
        values["person"] = np.arange(n) // 3
    if numeric:
        values["paid"] = 100 + 20 * (score + 1.18 * rng.normal(size=n))
        return table(values, [*columns, number("paid", -100, 400)], "paid", unit=unit)
    values["returned"] = yes(rng, 1.17 * score, rate=0.028)
    return table(values, [*columns, flag("returned")], "returned", unit=unit)


@made("categories-5000", 30_000, "a column of 5,000 categories that matters, most of them rare")
def thousands(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 4)
    code = zipf(rng, n, 5_000)
    score = 1.2 * rng.normal(size=5_000)[code] + 0.8 * z[:, 0] - 0.5 * z[:, 1]
    values = {f"x{j}": z[:, j] for j in range(4)}
    values |= {"code": coded("code", code, 5_000), "part": coded("part", code % 20, 20), "y": yes(rng, score, rate=0.3)}
    columns = [*(number(f"x{j}", -10, 10) for j in range(4)), category("code", 5_000), category("part", 20), flag("y")]
    return table(values, columns, "y")


@made("codes-5000", 50_000, "5,000 codes, any of which may decide the class, beside three numbers")
def codes_that_decide(n: int, rng: Rng) -> Drawn:
    code, x = rng.permutation(5_000)[zipf(rng, n, 5_000, power=0.9)], rng.normal(size=(n, 3))
    score = 2 * rng.normal(size=5_000)[code] + 0.8 * x[:, 0]
    values = {"code": coded("code", code, 5_000), **{f"x{j}": x[:, j] for j in range(3)}}
    values["y"] = yes(rng, score, rate=0.4)
    return table(values, [category("code", 5_000), *(number(f"x{j}", -10, 10) for j in range(3)), flag("y")], "y")


@made("codes-3-classes", 40_000, "2,000 codes that decide between three classes, beside four numbers")
def codes_of_three_classes(n: int, rng: Rng) -> Drawn:
    code, x = rng.permutation(2_000)[zipf(rng, n, 2_000, power=0.9)], rng.normal(size=(n, 4))
    score = 1.5 * rng.normal(size=(2_000, 3))[code] + np.column_stack([x[:, 0], -x[:, 0], x[:, 1]])
    drawn = (score + rng.gumbel(size=(n, 3))).argmax(axis=1)
    values = {"code": coded("code", code, 2_000), **{f"x{j}": x[:, j] for j in range(4)}, "y": coded("y", drawn, 3)}
    columns = [category("code", 2_000), *(number(f"x{j}", -10, 10) for j in range(4)), category("y", 3)]
    return table(values, columns, "y")


@made("towns-3000", 40_000, "3,000 towns in fifty states, which say more than the towns do")
def towns_in_states(n: int, rng: Rng) -> Drawn:
    state_of = rng.integers(50, size=3_000)
    town, x = rng.permutation(3_000)[zipf(rng, n, 3_000, power=0.8)], rng.normal(size=(n, 3))
    state = state_of[town]
    x[:, 1] += 0.7 * rng.normal(size=50)[state]
    score = 1.2 * rng.normal(size=50)[state] + 0.5 * rng.normal(size=3_000)[town] + 0.8 * x[:, 0]
    values = {"town": coded("town", town, 3_000), "state": coded("state", state, 50)}
    values |= {f"x{j}": x[:, j] for j in range(3)} | {"y": yes(rng, score, rate=0.3)}
    columns = [category("town", 3_000), category("state", 50), *(number(f"x{j}", -10, 10) for j in range(3)), flag("y")]
    return table(values, columns, "y")


@made("wide-codes", 20_000, "120 numbers and 20 columns of 1,000 categories")
def wide_codes(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 120, factors=8)
    codes = [zipf(rng, n, 1_000) for _ in range(20)]
    score = z[:, :10] @ rng.normal(size=10) + sum(0.7 * rng.normal(size=1_000)[code] for code in codes[:3])
    values = {f"x{j}": z[:, j] for j in range(120)}
    values |= {f"c{j}": coded(f"c{j}", code, 1_000) for j, code in enumerate(codes)}
    columns = [*(number(f"x{j}", -10, 10) for j in range(120)), *(category(f"c{j}", 1_000) for j in range(20))]
    return table({**values, "y": yes(rng, score, rate=0.4)}, [*columns, flag("y")], "y")
