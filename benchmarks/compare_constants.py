"""One setting of the table method, several values of it, the same noise: what releases of zoo cases are worth with each.

    python benchmarks/compare_constants.py target.rare_steeper 1.0 2.0 3.0 --cases rare-200 rare-linear --seeds 10
    python benchmarks/compare_constants.py sizes.rows_per_part 1e9 32.0 16.0 --cases levels-300 --seeds 5

Epsilon 1, delta 1e-5, as many rows as were given. One JSON object a release, then one for each case and value: the mean, and the mean
and standard error of what it gains on the first value, release by release.
"""

import argparse
import ast
import json
from dataclasses import replace
from statistics import mean, stdev
from typing import Any

from zoo.case import DELTA
from zoo.cases import CASES
from zoo.learning import every_column, utility
from zoo.scores import encode, with_rhythm

import sfumato as sf
from sfumato.mechanisms import ThreeATable
from sfumato.mechanisms.table.settings.table import TableSettings
from sfumato.private.kernel.randomness import NoiseSource

#: Noise of seed s is drawn from this plus s.
FIRST_NOISE = 1_000


def worth(case: str, seed: int, settings: TableSettings) -> float:
    """The utility of one release; without a target, the mean score of columns that are predicted from the others."""
    split = CASES[case].load()
    source, budget = NoiseSource(research_seed=FIRST_NOISE + seed), sf.Budget(epsilon=1.0, delta=DELTA)
    mechanism = ThreeATable(settings=settings)
    fitted = sf.fit(mechanism, sf.Sensitive.read(split.train, split.schema), budget, seed=seed, source=source)
    released = fitted.model.sample(len(split.train), seed=seed).table
    real, made, test = (encode(rows, split.schema) for rows in (split.train, released, split.test))
    score = every_column if split.schema.target is None else utility
    return score(real, made, test, with_rhythm(split.schema))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("constant", help="group.name, of TableSettings")
    parser.add_argument("values", nargs="+", type=ast.literal_eval, help="Python literals; the first is compared with")
    parser.add_argument("--cases", nargs="+", required=True, choices=sorted(CASES), metavar="CASE")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    group_name, name = options.constant.split(".")
    group: Any = getattr(TableSettings(), group_name, None)
    if not hasattr(group, name):
        parser.error(f"the settings have no {options.constant}")
    for case in options.cases:
        found: list[list[float]] = [[] for _ in options.values]
        for seed in range(options.seeds):
            for scores, value in zip(found, options.values, strict=True):
                settings = replace(TableSettings(), **{group_name: replace(group, **{name: value})})
                scores.append(worth(case, seed, settings))
                print(json.dumps({"case": case, name: value, "seed": seed, "utility": scores[-1]}), flush=True)
        for scores, value in zip(found, options.values, strict=True):
            gains = [after - before for after, before in zip(scores, found[0], strict=True)]
            error = stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else None
            told = {"case": case, name: value, "mean": mean(scores), "gain": mean(gains), "error": error}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
