"""Persons with several rows, each case beside the same rows as rows: what differs is who is protected, and nothing else."""

import numpy as np
from numpy.typing import NDArray

import sfumato as sf

from .case import made
from .drawing import (
    Drawn,
    Rng,
    category,
    coded,
    factor_normals,
    flag,
    levels,
    number,
    table,
    whole,
    yes,
    zipf,
)


def _unit(max_rows: int, *, persons: bool) -> sf.PrivacyUnit:
    return sf.PrivacyUnit(person="person", max_rows=max_rows) if persons else sf.PrivacyUnit()


@made("persons-8", 24_000, "persons with 8 rows each that have nothing in common, 20 % positives", persons=True)
@made("persons-8-rows", 24_000, "the rows of persons-8 as rows", persons=False)
def independent(n: int, rng: Rng, *, persons: bool) -> Drawn:
    z = factor_normals(rng, n, 7)
    shop = zipf(rng, n, 30, power=0.7)
    score = 1.2 * z[:, 0] - 0.8 * z[:, 1] + 0.7 * z[:, 2] * (z[:, 3] > 0) + 0.6 * rng.normal(size=30)[shop]
    values = {
        "amount": np.exp(3 + z[:, 0]),
        "age": np.round(45 + 15 * z[:, 1]),
        "score": 500 + 100 * z[:, 2],
        "balance": 1_000 * z[:, 3],
        "items": rng.poisson(np.exp(0.5 + 0.3 * z[:, 4])),
        "member": z[:, 5] > 0.5,
        "level": coded("level", levels(z[:, 6], 5), 5),
        "shop": coded("shop", shop, 30),
        "person": np.arange(n) // 8,
        "returned": yes(rng, score, rate=0.2),
    }
    columns = [
        number("amount", 0, 10_000), whole("age", 0, 120), number("score", 0, 1_000), number("balance", -10_000, 10_000),
        whole("items", 0, 100), flag("member"), category("level", 5), category("shop", 30), flag("returned"),
    ]  # fmt: skip
    return table(values, columns, "returned", unit=_unit(8, persons=persons))


@made("persons-alike", 20_001, "persons with 3 rows each of the same age, sex and town, 3 % positives", persons=True)
@made("persons-alike-rows", 20_001, "the rows of persons-alike as rows", persons=False)
def alike(n: int, rng: Rng, *, persons: bool) -> Drawn:
    """What a person is does not change from row to row; what is measured does, around a level of the person's own."""
    return _visits(np.arange(n) // 3, rng, rate=0.03, max_rows=3, persons=persons)


@made(
    "persons-unequal", 20_000, "persons with 1 to 12 rows that lie apart, the more rows the likelier positives", persons=True
)  # fmt: skip
@made("persons-unequal-rows", 20_000, "the rows of persons-unequal as rows", persons=False)
def unequal(n: int, rng: Rng, *, persons: bool) -> Drawn:
    """Most have one row or two; the rows of a person lie apart in the file."""
    n_rows = np.minimum(rng.geometric(0.35, size=n), 12)
    who = np.repeat(np.arange(n), n_rows)[:n]
    frame, schema = _visits(who, rng, rate=0.15, max_rows=12, persons=persons, ill=0.5 * np.log(n_rows))
    return frame.iloc[np.argsort(who + 5 * rng.random(n), kind="stable")].reset_index(drop=True), schema


def _visits(
    who: NDArray[np.int64], rng: Rng, *, rate: float, max_rows: int, persons: bool, ill: NDArray[np.float64] | None = None
) -> Drawn:  # fmt: skip
    n, n_persons = len(who), int(who.max()) + 1
    own = factor_normals(rng, n_persons, 5)  # what a person is
    now = factor_normals(rng, n, 4)  # what is measured
    town, ward = zipf(rng, n_persons, 40, power=0.7)[who], rng.integers(12, size=n)
    sugar, pressure = 0.7 * own[who, 2] + 0.7 * now[:, 0], 0.7 * own[who, 3] + 0.7 * now[:, 1]
    score = 0.9 * sugar + 0.6 * pressure * (own[who, 0] > 0) + 0.5 * own[who, 0] + 0.5 * rng.normal(size=12)[ward]
    score += 0.4 * rng.normal(size=40)[town] + (0 if ill is None else ill[who])
    values = {
        "age": np.round(50 + 15 * own[who, 0]),
        "sex": coded("sex", (own[who, 1] > 0).astype(int), 2),
        "town": coded("town", town, 40),
        "school": coded("school", levels(own[who, 4], 5), 5),
        "sugar": np.exp(4.6 + 0.3 * sugar),
        "pressure": np.round(120 + 15 * pressure),
        "pulse": np.round(75 + 12 * now[:, 2]),
        "days": rng.poisson(np.exp(1 + 0.4 * now[:, 3])),
        "ward": coded("ward", ward, 12),
        "person": who,
        "back": yes(rng, 1.3 * score, rate=rate),
    }
    columns = [
        whole("age", 0, 120), category("sex", 2), category("town", 40), category("school", 5), number("sugar", 0, 1_000),
        whole("pressure", 0, 300), whole("pulse", 0, 250), whole("days", 0, 100), category("ward", 12), flag("back"),
    ]  # fmt: skip
    return table(values, columns, "back", unit=_unit(max_rows, persons=persons))
