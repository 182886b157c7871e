"""Conditions: the time of 5,000 rows of which the model gives few, and whether they are those of a huge sample.

    python benchmarks/conditions.py [MECHANISM] [TABLE]

Each line is JSON. `tvd` is the mean distance over all pairs of columns, each in at most six parts of its own quantiles,
between 5,000 rows under the condition and the same rows of a huge sample. Both are samples, and differ even if they are of
one distribution: `floor` is the mean of that distance where the rows of both are mixed and dealt out anew, and `excess`
what is left above it (less than nothing where rows are drawn more evenly than by chance). In `large_excess` 40,000 rows are
drawn under the condition, so that a bias of some thousandths shows; `deviations` is that excess in standard deviations of a
deal.

The huge sample is drawn by the model's chances (`by_chances`). Where too few of its rows would fulfil a condition, it is
drawn under a part of the condition (`within`), which lines of their own compare with the sample of everything.
"""

import itertools
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sfumato as sf
from sfumato.lab.benchmark.datasets import load
from sfumato.pieces import draw_pieces

PARTS, DEALS, PIECE = 6, 25, 250_000
WANTED, LARGE, ENOUGH, HUGE = 5_000, 40_000, 40_000, 1_500_000
ADULT: Mapping[str, str] = {
    "sex = Female and age >= 30": "",
    "education = Doctorate": "",
    "not (marital_status = 'Married-civ-spouse') and hours_per_week > 45": "",
    "age < 20 or age >= 75": "",
    "education_num > 12 and income = '<=50K'": "",
    "capital_gain > 0": "",
    "native_country in (Italy, Poland)": "",
    "workclass = 'Self-emp-inc' and age >= 60 and sex = Female": "workclass = 'Self-emp-inc'",
    "education = Doctorate and income = '>50K' and hours_per_week >= 70": "education = Doctorate",
    "native_country = Italy and age < 25": "native_country in (Italy, Poland)",
}
VISITS: Mapping[str, str] = {
    "seen < 2020-02-15": "",
    "2020-06-01 <= seen <= 2020-06-05": "",
    "dose is missing": "",
    "ward is missing and ill": "",
    "dose > 3.5 and weight < 60": "",
    "not ill and age >= 85": "",
    "until - seen >= 9": "",
    "if ward = icu then age < 30": "",
}


def visits() -> tuple[pd.DataFrame, sf.Schema]:
    """A made-up table with dates, missing values and decimals."""
    rng, n = np.random.default_rng(8), 20_000
    age = np.clip(rng.normal(55, 18, n), 0, 100).round()
    seen = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.beta(2, 3, n) * 365 * 86_400 // 1, unit="s")
    dose = np.where(rng.random(n) < 0.1 + age / 1_000, np.nan, rng.gamma(2, 0.6, n).clip(0, 9).round(1))
    ward = np.where(rng.random(n) < 0.02 + age / 500, "icu", rng.choice(["main", "day"], n)).astype(object)
    ward[rng.random(n) < 0.04] = None
    columns = {
        "age": age,
        "weight": rng.normal(60 + age / 5, 12, n).clip(20, 200),
        "ward": ward,
        "dose": dose,
        "seen": seen,
        "until": seen + pd.to_timedelta(rng.geometric(0.25, n), unit="D"),
        "ill": rng.random(n) < 1 / (1 + np.exp((60 - age) / 9 + np.nan_to_num(dose) - 1)),
    }
    text = """
[dataset]
target = "ill"
rows = 20000
[columns.age]
type = "integer"
bounds = [0, 100]
[columns.weight]
type = "numeric"
bounds = [20, 200]
decimals = 1
[columns.ward]
type = "categorical"
categories = ["icu", "main", "day"]
missing = true
[columns.dose]
type = "numeric"
bounds = [0, 9]
decimals = 1
missing = true
[columns.seen]
type = "datetime"
bounds = [2020-01-01, 2020-12-31]
[columns.until]
type = "datetime"
bounds = [2020-01-01, 2021-03-31]
[columns.ill]
type = "boolean"
"""
    return pd.DataFrame(columns), sf.Schema.parse(text)


def adult() -> tuple[pd.DataFrame, sf.Schema]:
    """Adult, without the column that follows from another."""
    benchmark = load("adult")
    columns = tuple(replace(column, depends_on=()) for column in benchmark.schema.columns)
    return benchmark.train, replace(benchmark.schema, columns=columns)


TABLES = {"adult": (adult, ADULT), "visits": (visits, VISITS)}


def in_parts(table: pd.DataFrame, like: pd.DataFrame) -> NDArray[np.int64]:
    """Every column as a few codes: quantiles of numbers, categories as they are; what is missing is a part of its own."""
    parts = []
    for name in like:
        values, others = table[name], like[name]
        if isinstance(others.dtype, pd.CategoricalDtype | pd.BooleanDtype) or others.dtype in (bool, object):
            place = {word: at + 1 for at, word in enumerate(sorted(map(str, others.unique())))}
            parts.append(values.astype(str).map(place).fillna(0).to_numpy())
            continue
        if pd.api.types.is_datetime64_any_dtype(others.dtype):
            values, others = (column.astype("int64") for column in (values, others))
        of_all, of_these = others.astype("float64").to_numpy(), values.astype("float64").to_numpy()
        known = of_all[~np.isnan(of_all)]
        edges = np.unique(np.quantile(known, np.linspace(0, 1, PARTS + 1)[1:-1])) if len(known) else known
        parts.append(np.where(np.isnan(of_these), 0, 1 + np.searchsorted(edges, of_these, side="right")))
    return np.stack(parts, axis=1).astype(np.int64)


def distance(one: NDArray[np.int64], two: NDArray[np.int64]) -> float:
    """The mean distance of the tables of all pairs of columns."""
    found = []
    for a, b in itertools.combinations(range(one.shape[1]), 2):
        size = 1 + max(one[:, b].max(), two[:, b].max())
        codes = [rows[:, a] * size + rows[:, b] for rows in (one, two)]
        length = 1 + max(code.max() for code in codes)
        shares = [np.bincount(code, minlength=length) / len(code) for code in codes]
        found.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(found))


def compared(one: NDArray[np.int64], two: NDArray[np.int64], rng: np.random.Generator) -> tuple[float, float, float]:
    """The distance of two samples, its mean if both were one, and how far it is from that in standard deviations."""
    both, deals = np.concatenate([one, two]), []
    for _ in range(DEALS):
        mixed = both[rng.permutation(len(both))]
        deals.append(distance(mixed[: len(one)], mixed[len(one) :]))
    found, floor = distance(one, two), float(np.mean(deals))
    return found, floor, (found - floor) / float(np.std(deals))


def by_chances(model: Any) -> Any:
    """The same model, whose rows are drawn by their weights alone, and each once.

    3a-table balances the rows of a whole release over the values of every column. That moves small groups a little away from the
    model's own chances: of Adult's doctorates, one row in 80, .23 are women in a balanced sample, and .194 by the weights and in rows
    that are drawn under the condition.
    """
    settings = getattr(model, "settings", None)
    return (
        replace(model, settings=replace(settings, balances_rows=False, copies=0.0))
        if hasattr(settings, "balances_rows")
        else model
    )


def everything(fitted: sf.Fitted, schema: sf.Schema, within: str, rows: int) -> Iterator[pd.DataFrame]:
    """A huge sample, piece by piece; or one under a part of a condition."""
    part = fitted.under(within) if within else None
    for turn in range(-(-rows // PIECE)):
        if part is not None:
            yield part.sample(PIECE, seed=900 + turn).table
        else:
            yield from (p.table for p in draw_pieces(by_chances(fitted.sampled), PIECE, schema=schema, seed=900 + turn))


def main(mechanism: str, tables: Sequence[str]) -> None:
    """Fit once, then ask for rows under each condition."""
    for name in tables:
        make, conditions = TABLES[name]
        table, schema = make()
        fitted = sf.fit(mechanism, table, sf.Budget(epsilon=1.0, delta=1e-5), schema=schema, seed=1)
        same: dict[str, list[pd.DataFrame]] = {text: [] for text in conditions}
        for within in dict.fromkeys(conditions.values()):
            waiting = [text for text in conditions if conditions[text] == within]
            for piece in everything(fitted, schema, within, HUGE):
                encoded = {column.name: column.encode(piece[column.name]) for column in schema.columns}
                for text in waiting:
                    same[text].append(piece[schema.expression(text).holds(encoded)])
                waiting = [text for text in waiting if sum(map(len, same[text])) < ENOUGH]
                if not waiting:
                    break
        rng = np.random.default_rng(0)
        for text, within in conditions.items():
            start = time.process_time()
            part = fitted.under(text)
            rows = part.sample(WANTED, seed=3).table
            seconds = time.process_time() - start
            others = pd.concat(same[text], ignore_index=True)
            like = in_parts(others, others)
            tvd, floor, _ = compared(in_parts(rows, others), like, rng)
            many = in_parts(fitted.under(text).sample(LARGE, seed=4).table, others)
            large, large_floor, deviations = compared(many, like, rng)
            line: dict[str, Any] = {"table": name, "mechanism": mechanism, "where": text, "within": within}
            line |= {"one_row_in": round(1 / max(part.share, 1e-12)), "processor_seconds": round(seconds, 2)}
            line |= {"drawn": part.drawn, "rows_of_huge": len(others), "tvd": round(tvd, 4), "floor": round(floor, 4)}
            line |= {"excess": round(tvd - floor, 4), "large_excess": round(large - large_floor, 4)}
            print(json.dumps(line | {"deviations": round(deviations, 1)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "3a-table", sys.argv[2:] or list(TABLES))
