"""Numbers that hang together and are missing, by chance or all at once: what is left of their correlation where both are known.

    python benchmarks/missing_together.py --seeds 2

Epsilon 1, delta 1e-5, 10,000 rows of four such numbers and one that is always known. One JSON object for each table: the correlation
that the numbers have and the mean one in every release, the part of rows in which two are known, and that in every release.
"""

import argparse
import json

import numpy as np
import pandas as pd

import sfumato as sf

ROWS, NAMES = 10_000, list("abcd")
#: The part of values that are known, the correlation, and whether a row knows all four or none.
TABLES = [(0.8, 0.6, False), (0.8, 0.6, True), (0.5, 0.5, False), (0.5, 0.5, True), (0.2, 0.5, True), (0.2, 0.0, True)]


def drawn(known: float, correlation: float, *, together: bool) -> tuple[pd.DataFrame, sf.Schema]:
    rng, k = np.random.default_rng(0), len(NAMES)
    z = rng.multivariate_normal(np.zeros(k), np.full((k, k), correlation) + (1 - correlation) * np.eye(k), size=ROWS)
    z[np.broadcast_to(rng.random((ROWS, 1 if together else k)) > known, z.shape)] = np.nan
    columns = [sf.Column(name=name, kind="numeric", bounds=(-6, 6), missing=True) for name in NAMES]
    always = sf.Column(name="always", kind="numeric", bounds=(-6, 6))
    table = pd.DataFrame(z, columns=NAMES).assign(always=rng.normal(size=ROWS))
    return table, sf.Schema(columns=(*columns, always), rows=ROWS)


def found(table: pd.DataFrame) -> tuple[float, float]:
    """The mean correlation of two of the numbers, and the part of rows that know the first two."""
    pairs = table[NAMES].corr(min_periods=50).to_numpy()[np.triu_indices(len(NAMES), 1)]
    return round(float(np.nanmean(pairs)), 3), round(float(table[NAMES[:2]].notna().all(axis=1).mean()), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    seeds = range(parser.parse_args().seeds)
    for known, correlation, together in TABLES:
        table, schema = drawn(known, correlation, together=together)
        budget = sf.Budget(epsilon=1.0, delta=1e-5)
        models = [sf.fit("auto", sf.Sensitive.read(table, schema), budget, seed=seed).model for seed in seeds]
        released = [found(model.sample(ROWS, seed=0).table) for model in models]
        real = found(table)
        told = {"known": known, "together": together, "correlation": real[0], "released": [r for r, _ in released]}
        print(json.dumps({**told, "both": real[1], "released_both": [both for _, both in released]}), flush=True)


if __name__ == "__main__":
    main()
