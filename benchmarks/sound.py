"""What a learner makes of released recordings: ten words spoken by code (`words.py`), as spectrograms through the doors.

    python benchmarks/sound.py --seeds 5 --jobs 4        # appends to results/sound.jsonl; what is there is not run again

Accuracy on 1,000 other recordings, of a network trained on the release and of one trained on the recordings themselves.
"""

import argparse
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import words

import sfumato as sf
from sfumato.extending import NoiseSource
from sfumato.lab.benchmark.examples import Examples, real_examples, synthetic_examples
from sfumato.lab.benchmark.learners import train_and_predict
from sfumato.mechanisms import DPMix

RUNS = Path(__file__).parent / "results" / "sound.jsonl"
RECORDINGS, TESTED, DELTA = 3_000, 1_000, 1e-5
EPSILONS = (1.0, 10.0)
METHODS = {"auto": "auto", "dpmix": DPMix(mixtures=12_000, degree=256, classwise=True, labels="hard")}


def run(seed: int, method: str | None, epsilon: float | None, recordings: int) -> list[dict[str, Any]]:
    """One release, or the recordings themselves, and two learners."""
    schema = words.schema(recordings)
    rows, others = words.draw(recordings, seed=2 * seed), words.draw(TESTED, seed=2 * seed + 1)
    train = real_examples(rows, schema)
    if method is not None and epsilon is not None:
        budget, source = sf.Budget(epsilon=epsilon, delta=DELTA), NoiseSource(research_seed=seed)
        fitted = sf.fit(METHODS[method], sf.Sensitive.read(rows, schema), budget, seed=seed, source=source)
        train = synthetic_examples(fitted.sample(4 * recordings, seed=seed), schema)
    facts = {"seed": seed, "method": method or "real", "epsilon": epsilon, "recordings": recordings}
    return [
        {**facts, "learner": name, "accuracy": _accuracy(name, train, others, schema)} for name in ("cnn", "logistic")
    ]


def _accuracy(learner: str, train: Examples, others: dict[str, Any], schema: sf.Schema) -> float:
    test = real_examples(others, schema)
    named = train_and_predict(learner, train, test, schema).argmax(axis=1)
    return round(float(np.mean(named == test.label)), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--recordings", type=int, default=RECORDINGS)
    options = parser.parse_args()
    done = set()
    if RUNS.exists():
        done = {(r["seed"], r["method"], r["epsilon"]) for r in map(json.loads, RUNS.read_text().splitlines())}
    wanted = [(seed, method, e) for seed in range(options.seeds) for method in METHODS for e in EPSILONS]
    wanted += [(seed, None, None) for seed in range(options.seeds)]
    todo = [(seed, method, e) for seed, method, e in wanted if (seed, method or "real", e) not in done]
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=fresh) as pool, RUNS.open("a", encoding="utf-8") as lines:
        for job in as_completed([pool.submit(run, *asked, options.recordings) for asked in todo]):
            lines.writelines(json.dumps(line) + "\n" for line in job.result())
            lines.flush()
            print(job.result(), flush=True)


if __name__ == "__main__":
    main()
