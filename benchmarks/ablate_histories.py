"""What choices of the method for several tables are worth: draws that are not reported, each choice with the same noise.

    python benchmarks/ablate_histories.py --data hospital:1 liver:1 --choices default --seeds 0 1 --jobs 6 --out runs.jsonl

`hospital:1` is the hospital drawn and split by seed 1; reported figures (relational.py) are of draw 0. Runs are appended as they
are finished.
"""

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from relational import scores, tables_of, taught

import sfumato as sf
from sfumato.extending import NoiseSource
from sfumato.mechanisms.histories.mechanism import ThreeATables
from sfumato.mechanisms.histories.settings import HistorySettings


def shares(settings: HistorySettings, **parts: float) -> HistorySettings:
    return replace(settings, shares=replace(settings.shares, **parts))


def taught_more(settings: HistorySettings, **stages: tuple[float, ...]) -> HistorySettings:
    budget = settings.table.budget
    return replace(
        settings,
        table=replace(settings.table, budget=replace(budget, shares=replace(budget.shares, **stages))),
    )


def without_recount(settings: HistorySettings, **stages: tuple[float, ...]) -> HistorySettings:
    settings = taught_more(settings, **stages)
    joint = replace(settings.table.joint, recounts_rare=False)
    return replace(settings, table=replace(settings.table, joint=joint))


#: What is changed in the settings, by the name of the choice.
CHOICES: dict[str, Callable[[HistorySettings], HistorySettings]] = {
    "default": lambda s: s,
    "labels first": lambda s: replace(s, labels_last=False),
    "one list of sorts": lambda s: replace(s, kind_candidates=1),
    "eight lists of sorts": lambda s: replace(s, kind_candidates=8),
    "one list of gaps": lambda s: replace(s, candidates=1),
    "numbers alone": lambda s: replace(s, known=0.0),
    "no exchange": lambda s: replace(s, exchanges=0),
    "former shares": lambda s: shares(s, gaps=0.09, changes=0.06, spreads=0.04, kinds=0.09),
    "gradients": without_recount,
    "gradients .35": lambda s: without_recount(s, teacher=(0.0, 0.20, 0.35)),
    "half to persons": lambda s: shares(s, kinds=0.13),
    "teacher .35": lambda s: taught_more(s, teacher=(0.0, 0.0, 0.35)),
    "classes .30": lambda s: taught_more(s, classes=(0.65, 0.40, 0.30)),
    "moments .25": lambda s: taught_more(s, moments=(0.10, 0.25, 0.25)),
    "levels .08": lambda s: shares(s, levels=0.08),
}


@cache
def data(name: str) -> tuple[Any, Any, Any]:
    kind, draw = name.split(":")
    return tables_of(kind, int(draw))


def run(name: str, choice: str, epsilon: float, seed: int) -> dict[str, Any]:
    schema, real, test = data(name)
    start = time.perf_counter()
    facts = {"data": name, "choice": choice, "epsilon": epsilon, "seed": seed}
    if choice == "real":
        found = taught(real, test, schema)
    else:
        mechanism = ThreeATables(settings=CHOICES[choice](HistorySettings()))
        source = NoiseSource(research_seed=seed)
        fitted = sf.fit(
            mechanism, real, sf.Budget(epsilon=epsilon, delta=1e-6), schema=schema, seed=seed, source=source
        )
        drawn = fitted.sample(len(real["persons"]))
        found = scores(real, test, {"persons": drawn.table, **drawn.tables}, schema)
    rounded = {key: round(value, 4) for key, value in found.items()}
    return {**facts, **rounded, "seconds": round(time.perf_counter() - start, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--choices", nargs="+", default=["default"], choices=[*CHOICES, "real"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1, help="processes, each on one core")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    todo = [
        (name, choice, asked.epsilon, seed)
        for seed in asked.seeds
        for choice in asked.choices
        for name in asked.data
        if choice != "real" or seed == asked.seeds[0]
    ]
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(asked.jobs, mp_context=fresh) as pool, asked.out.open("a", encoding="utf-8") as lines:
        for job in as_completed([pool.submit(run, *one) for one in todo]):
            lines.write(json.dumps(job.result()) + "\n")
            lines.flush()


if __name__ == "__main__":
    main()
