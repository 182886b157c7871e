"""Conditions: the time of 5,000 rows of which the model gives few, and how they compare with the same rows of a huge sample.

    python benchmarks/conditions.py [MECHANISM] [ROWS OF THE HUGE SAMPLE]

Each line is JSON. `tvd` is the mean distance over all pairs of columns, each in at most six parts of its own quantiles; `floor` is
the same distance between two independent sets of as many rows from the huge sample: what chance alone makes. `large` compares 60,000
rows under the condition with all such rows of the huge sample, which is drawn by the model's chances (`by_chances`).
"""

import itertools
import json
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.lab.benchmark.datasets import load
from sfumato.pieces import draw_pieces, joined

PARTS = 6
WANTED, LARGE = 5_000, 60_000
CONDITIONS = (
    "sex = Female and age >= 30",
    "education = Doctorate",
    "workclass = 'Self-emp-inc' and age >= 60 and sex = Female",
    "education = Doctorate and income = '>50K' and hours_per_week >= 70",
    "native_country = Italy and age < 25",
    "race = 'Amer-Indian-Eskimo' and education = Masters and sex = Female",
)


def in_parts(table: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Every column as a few codes: quantiles of numbers, categories as they are."""
    parts = {}
    for name in like:
        if isinstance(like[name].dtype, pd.CategoricalDtype) or like[name].dtype == "boolean":
            parts[name] = (
                table[name]
                .astype(str)
                .map({w: i for i, w in enumerate(sorted(map(str, like[name].astype(str).unique())))})
            )
        else:
            edges = np.unique(np.nanquantile(like[name].astype(float), np.linspace(0, 1, PARTS + 1)[1:-1]))
            parts[name] = np.searchsorted(edges, table[name].astype(float), side="right")
    return pd.DataFrame(parts).fillna(-1).astype(int)


def distance(one: pd.DataFrame, two: pd.DataFrame) -> float:
    """The mean distance of the tables of all pairs of columns."""
    found = []
    for a, b in itertools.combinations(one.columns, 2):
        size = 1 + max(one[b].max(), two[b].max()) + 1
        codes = [((t[a] + 1) * size + t[b] + 1).to_numpy() for t in (one, two)]
        length = 1 + max(c.max() for c in codes)
        shares = [np.bincount(c, minlength=length) / len(c) for c in codes]
        found.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(found))


def by_chances(model: Any) -> Any:
    """The same model, whose rows are drawn by their weights alone.

    3a-table balances the rows of a whole release over the values of every column. That moves small groups a little away from the
    model's own chances: of Adult's doctorates, one row in 80, .23 are women in a balanced sample, and .194 by the weights and in rows
    that are drawn under the condition.
    """
    settings = getattr(model, "settings", None)
    return (
        replace(model, settings=replace(settings, balances_rows=False)) if hasattr(settings, "balances_rows") else model
    )


def main(mechanism: str, huge: int) -> None:
    """Fit once, then ask for rows under each condition."""
    benchmark = load("adult")
    schema = replace(benchmark.schema, columns=tuple(replace(c, depends_on=()) for c in benchmark.schema.columns))
    fitted = sf.fit(mechanism, benchmark.train, sf.Budget(epsilon=1.0, delta=1e-5), schema=schema, seed=1)
    every = joined(draw_pieces(by_chances(fitted.sampled), huge, schema=schema, seed=99)).table
    rng = np.random.default_rng(0)
    for text in CONDITIONS:
        start = time.perf_counter()
        part = fitted.under(text)
        rows = part.sample(WANTED, seed=3).table
        seconds = time.perf_counter() - start
        asked = schema.expression(text)
        same = every[asked.holds({c.name: c.encode(every[c.name]) for c in schema.columns})]
        line = {
            "mechanism": mechanism,
            "where": text,
            "one_row_in": round(1 / max(part.share, 1e-12)),
            "seconds": round(seconds, 2),
        }
        line |= {"drawn": part.drawn, "rows_of_huge": len(same)}
        if len(same) >= 400:
            mixed = same.sample(frac=1.0, random_state=int(rng.integers(1 << 30)))
            half = min(len(same) // 2, WANTED)
            halves = in_parts(mixed.iloc[:half], same), in_parts(mixed.iloc[half : 2 * half], same)
            line["tvd"] = round(distance(in_parts(rows.iloc[:half], same), halves[0]), 4)
            line["floor"] = round(distance(*halves), 4)
            line["tvd_to_all"] = round(distance(in_parts(rows, same), in_parts(same, same)), 4)
            # Of many rows the chance is nearly all in the huge sample's: half of what two halves of it differ by.
            large = in_parts(fitted.under(text).sample(LARGE, seed=4).table, same)
            whole = in_parts(mixed.iloc[: len(same) // 2], same), in_parts(mixed.iloc[len(same) // 2 :], same)
            line |= {
                "large": round(distance(large, in_parts(same, same)), 4),
                "large_floor": round(distance(*whole) / 2, 4),
            }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "3a-table", int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000)
