"""How far a private score lies from the real one, and how often its interval holds it. Prints a line of JSON for each release.

SFUMATO_DATA=~/datasets python benchmarks/private_score.py --table adult --releases 100 --jobs 16 > scores.jsonl
python benchmarks/private_score.py --read scores.jsonl

The real score is that of the same learner on other real rows: 16,281 of Adult, drawn anew for every release, so that the private rows are a
sample each time; or 100,000 rows of a population by rule.
"""

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from populations import Population
from sklearn.metrics import roc_auc_score

import sfumato as sf
from sfumato.lab.benchmark.datasets import load
from sfumato.public.schema.released import encoded
from sfumato.scoring.learner import learned, matrix_of

POPULATIONS = {rule: Population(rule, 6, 0.3, 2.0, seed) for seed, rule in enumerate(("factors", "causes", "types"))}
_TEST_ROWS, _ROWS = 100_000, 20_000


@cache
def population_rows(name: str) -> Any:
    """Real rows, encoded, that no release has seen."""
    return encoded(POPULATIONS[name].draw(_TEST_ROWS, seed=10**6), POPULATIONS[name].schema)


def divided(seed: int) -> tuple[pd.DataFrame, Any, Any]:
    """All rows of Adult, training and test rows alike, divided anew: private ones, others, and the schema."""
    adult = load("adult")
    everything = pd.concat([pd.DataFrame(adult.train), pd.DataFrame(adult.test)], ignore_index=True)
    order = np.random.default_rng(seed).permutation(len(everything))
    private, others = (everything.iloc[part] for part in np.split(order, [len(adult.train)]))
    return private, encoded(others, adult.schema), adult.schema


def one(job: tuple[str, int, float]) -> dict[str, object]:
    """One release with a score."""
    name, seed, epsilon = job
    if name == "adult":
        rows, test, schema = divided(seed)
    else:
        rows, schema = POPULATIONS[name].draw(_ROWS, seed=seed), POPULATIONS[name].schema
        test = population_rows(name)
    fitted = sf.fit("auto", rows, sf.Budget(epsilon=epsilon, delta=1e-5), schema=schema, seed=seed, score=True)
    score = fitted.certificate.score
    if score is None:
        raise RuntimeError("a release without the score that was asked for")
    trained = learned(pd.DataFrame(fitted.sample(score.rows).table), schema)
    said = trained.trained.predict_proba(matrix_of(test, trained.features))[:, 1]
    real = float(roc_auc_score(test[trained.target.name], said))
    told = {"value": score.value, "low": score.low, "high": score.high, "real": real}
    return {"table": name, "seed": seed, "epsilon": epsilon, "rows": score.rows, **told}


def summary(lines: list[dict[str, Any]]) -> dict[str, object]:
    """Error and coverage by table."""
    out = {}
    for name in sorted({line["table"] for line in lines}):
        value, low, high, real = (
            np.array([line[key] for line in lines if line["table"] == name]) for key in ("value", "low", "high", "real")
        )
        out[name] = {
            "releases": len(value),
            "mean absolute error": round(float(np.abs(value - real).mean()), 4),
            "bias": round(float((value - real).mean()), 4),
            "root mean squared error": round(float(np.sqrt(((value - real) ** 2).mean())), 4),
            "coverage": round(float(np.mean((low <= real) & (real <= high))), 4),
            "half width": round(float(np.mean(high - low) / 2), 4),
            "real": round(float(real.mean()), 4),
        }
    return out


def main() -> None:
    """Run or read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", nargs="+", default=["causes"])
    parser.add_argument("--releases", type=int, default=2)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--read", type=Path)
    asked = parser.parse_args()
    if asked.read:
        print(json.dumps(summary([json.loads(line) for line in asked.read.read_text().splitlines()]), indent=1))
        return
    jobs = [
        (name, seed, asked.epsilon) for seed in range(asked.first, asked.first + asked.releases) for name in asked.table
    ]
    with ProcessPoolExecutor(asked.jobs) as pool:
        for line in pool.map(one, jobs):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
