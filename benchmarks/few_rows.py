"""Made-up tables of few rows under small budgets: what LightGBM reaches on other rows. Reads real rows WITHOUT privacy.

    python benchmarks/few_rows.py --rows 500 --columns 50 --target number --epsilons 0.3 1 3 --seeds 4

Beside the default stand class-conditional histograms (of classes), real rows, and real rows with the target shuffled: with these
a learner of few rows is below the mean of a number, since it takes chance for a rule. That much is not the release's fault.
"""

import argparse

import numpy as np
import pandas as pd
from zoo.case import DELTA, Split
from zoo.learning import utility
from zoo.scores import encode

import sfumato as sf

_WEIGHTS = (1.0, 0.8, -0.6, 0.5, 0.4)
_NOISE = {"strong": 0.45, "weak": 3.0, "none": 1e6}
_TESTS = 4_000
_METHODS = ("auto", "independent-histograms", "shuffled", "real")


def drawn(n_rows: int, n_columns: int, target: str, signal: str) -> Split:
    """Normal columns, every fourth of them cut into four categories; five of them make the target."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n_rows + _TESTS, n_columns))
    weights = np.array(_WEIGHTS)
    y = x[:, : len(weights)] @ weights + _NOISE[signal] * np.linalg.norm(weights) * rng.normal(size=len(x))
    y /= y.std()
    columns, values = [], {}
    for j in range(n_columns):
        name, coded = f"x{j}", j % 4 == 3
        values[name] = np.array(list("abcd"))[np.digitize(x[:, j], [-0.7, 0, 0.7])] if coded else x[:, j]
        kind = {"kind": "categorical", "categories": tuple("abcd")} if coded else {"kind": "numeric", "bounds": (-6, 6)}
        columns.append(sf.Column(name=name, **kind))
    kind, values["y"] = _target(target, y)
    frame = pd.DataFrame(values)
    schema = sf.Schema(columns=(*columns, sf.Column(name="y", **kind)), target="y", rows=n_rows)
    return Split(frame[:n_rows].reset_index(drop=True), frame[n_rows:].reset_index(drop=True), schema)


def _target(target: str, y: np.ndarray) -> tuple[dict, np.ndarray]:
    if target == "number":
        return {"kind": "numeric", "bounds": (-15, 15)}, 2.2 * y
    if target == "skewed":
        return {"kind": "numeric", "bounds": (0, 1000)}, 10 * np.exp(y)
    cuts = [0.5] if target == "binary" else np.quantile(y, [0.2, 0.4, 0.6, 0.8])
    names = "AB" if target == "binary" else "ABCDE"
    return {"kind": "categorical", "categories": tuple(names)}, np.array(list(names))[np.digitize(y, cuts)]


def score(split: Split, method: str, *, epsilon: float, seed: int) -> float:
    """Of one release, or of real rows."""
    released = split.train
    if method == "shuffled":
        shuffled = np.random.default_rng(seed).permutation(released["y"].to_numpy())
        released = released.assign(y=shuffled)
    elif method != "real":
        budget = sf.Budget(epsilon=epsilon, delta=DELTA)
        fitted = sf.fit(method, sf.Sensitive.read(split.train, split.schema), budget, seed=seed)
        released = fitted.model.sample(len(split.train), seed=seed).table
    real, rows, test = (encode(frame, split.schema) for frame in (split.train, released, split.test))
    return utility(real, rows, test, split.schema)


def main() -> None:
    """One line for each table and epsilon."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--rows", type=int, nargs="+", default=[100, 300, 1_000, 3_000])
    ask.add_argument("--columns", type=int, nargs="+", default=[5, 20, 50])
    ask.add_argument("--target", nargs="+", default=["number"], choices=["number", "skewed", "binary", "five"])
    ask.add_argument("--signal", default="strong", choices=list(_NOISE))
    ask.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    ask.add_argument("--seeds", type=int, default=3)
    ask.add_argument("--methods", nargs="+", default=list(_METHODS), choices=_METHODS)
    asked = ask.parse_args()
    for target, n_rows, n_columns in ((t, n, k) for t in asked.target for n in asked.rows for k in asked.columns):
        split = drawn(n_rows, n_columns, target, asked.signal)
        methods = [m for m in asked.methods if m != "independent-histograms" or target in ("binary", "five")]
        for epsilon in asked.epsilons:
            found = {m: [score(split, m, epsilon=epsilon, seed=s) for s in range(asked.seeds)] for m in methods}
            said = "  ".join(f"{m} {np.mean(r):.3f} (least {min(r):.3f})" for m, r in found.items())
            print(f"{target} {n_rows} x {n_columns} {asked.signal} epsilon {epsilon:g}: {said}", flush=True)


if __name__ == "__main__":
    main()
