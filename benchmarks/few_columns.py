"""Few rows of one to four made-up columns: is the default ever below independent histograms? Reads real rows WITHOUT privacy.

    python benchmarks/few_columns.py --rows 1000 --columns ee hh --seeds 6
    python benchmarks/few_columns.py --rows 300 1000 5000 --columns e ee hhhh fb cc zisc --target none two number

A letter is a column: e even within its bounds, w even within a part of them, h one hump, b two humps, f falling, l log-normal,
i whole numbers, z half zeros, c five uneven categories, s twelve even ones. Every seed draws rows of its own; distances are from
these rows.
"""

import argparse

import numpy as np
import pandas as pd
from zoo.case import DELTA, Split
from zoo.drawing import Rng, category, coded, flag, number, whole
from zoo.learning import utility
from zoo.marginals import distances
from zoo.scores import encode

import sfumato as sf

_TESTS = 4_000
_WEIGHTS = (4, -3, 2, 1)


def column(letter: str, name: str, n: int, rng: Rng) -> tuple[object, sf.Column]:
    """Values, and what is public about them."""
    z, even = rng.normal(size=n), rng.random(n)
    numbers = {
        "e": (even, 0, 1),
        "w": (10 * even - 3, -5, 10),
        "h": (z, -10, 10),
        "b": (np.where(rng.random(n) < 0.4, -2, 2) + 0.5 * z, -6, 6),
        "f": (-np.log(1 - even), 0, 20),
        "l": (np.exp(8 + z), 0, 1e6),
        "z": (np.where(rng.random(n) < 0.5, 0, np.exp(5 + z)), 0, 1e5),
    }
    if letter == "i":
        return rng.integers(18, 91, size=n), whole(name, 0, 120)
    if letter in "cs":
        odds = np.array([0.4, 0.3, 0.15, 0.1, 0.05]) if letter == "c" else np.full(12, 1 / 12)
        return coded(name, rng.choice(len(odds), size=n, p=odds), len(odds)), category(name, len(odds))
    values, low, high = numbers[letter]
    return np.clip(values, low, high), number(name, low, high)


def drawn(letters: str, n_rows: int, target: str, seed: int) -> Split:
    """Independent columns, and a target that hangs on the rank of each."""
    rng, n = np.random.default_rng(seed + 7), n_rows + _TESTS
    named = {f"x{j}": column(letter, f"x{j}", n, rng) for j, letter in enumerate(letters)}
    frame, columns = pd.DataFrame({name: values for name, (values, _) in named.items()}), [c for _, c in named.values()]
    if target != "none":
        ranks = [
            frame[c.name].cat.codes / c.size if c.is_coded else frame[c.name].rank(pct=True).to_numpy() for c in columns
        ]
        score = sum(weight * (np.asarray(rank) - 0.5) for weight, rank in zip(_WEIGHTS, ranks, strict=False))
        is_two = target == "two"
        frame["y"] = rng.random(n) < 1 / (1 + np.exp(-score)) if is_two else score + rng.normal(size=n)
        columns.append(flag("y") if is_two else number("y", -10, 10))
    schema = sf.Schema(columns=tuple(columns), target=None if target == "none" else "y", rows=n_rows)
    return Split(frame[:n_rows].reset_index(drop=True), frame[n_rows:].reset_index(drop=True), schema)


def figures(split: Split, method: str, *, epsilon: float, seed: int) -> dict[str, float | None]:
    """Of one release."""
    fitted = sf.fit(
        method, sf.Sensitive.read(split.train, split.schema), sf.Budget(epsilon=epsilon, delta=DELTA), seed=seed
    )
    released = fitted.model.sample(len(split.train), seed=seed).table
    real, rows, test = (encode(frame, split.schema) for frame in (split.train, released, split.test))
    found = distances(real, rows, split.schema)
    return found if split.schema.target is None else {"utility": utility(real, rows, test, split.schema), **found}


def main() -> None:
    """One line for each table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--rows", type=int, nargs="+", default=[1_000])
    ask.add_argument("--columns", nargs="+", default=["e", "ee", "hh", "fb", "cc", "zisc"])
    ask.add_argument("--target", nargs="+", default=["none"], choices=["none", "two", "number"])
    ask.add_argument("--epsilon", type=float, default=1.0)
    ask.add_argument("--seeds", type=int, default=6)
    ask.add_argument("--methods", nargs="+", default=["auto", "independent-histograms"])
    asked = ask.parse_args()
    for target, n_rows, letters in ((t, n, k) for t in asked.target for n in asked.rows for k in asked.columns):
        for method in asked.methods:
            if target == "number" and method != "auto":
                continue  # histograms do not take a number as target
            splits = [(seed, drawn(letters, n_rows, target, seed)) for seed in range(asked.seeds)]
            runs = [figures(split, method, epsilon=asked.epsilon, seed=seed) for seed, split in splits]
            keys = [key for key in ("utility", "tvd_1", "tvd_2") if runs[0].get(key) is not None]
            said = ", ".join(f"{key} {np.mean([run[key] for run in runs]):.4f}" for key in keys)
            print(f"{letters} {n_rows} target {target} {method}: {said}", flush=True)


if __name__ == "__main__":
    main()
