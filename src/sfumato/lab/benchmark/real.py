"""What a learner reaches on the real training rows: computed once for each seed, then kept. Not private.

A learner's own randomness moves its score, on real rows as on synthetic ones, so the anchor of a table is the mean over
the same learner seeds as the releases, and not the score of one seed.
"""

import hashlib
import importlib.metadata
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from sfumato.lab.benchmark.catalogue import cache_folder
from sfumato.lab.benchmark.datasets import Benchmark
from sfumato.lab.benchmark.examples import Examples
from sfumato.lab.benchmark.learners import train_and_predict
from sfumato.lab.benchmark.metrics import brier, utility

#: Raise it when a learner, a metric or a split changes, so that kept scores are not believed any more.
HARNESS_VERSION = 2
_LIBRARIES = {"cnn": "torch", "lightgbm": "lightgbm", "logistic": "scikit-learn", "forest": "scikit-learn"}


@dataclass(frozen=True)
class Scores:
    """Utility and Brier score of a learner on the test rows."""

    value: float
    brier: float


def scores(learner: str, train: Examples, test: Examples, benchmark: Benchmark, *, seed: int = 0) -> Scores:
    """Train on some rows, and score on the test rows."""
    probabilities = train_and_predict(learner, train, test, benchmark.schema, balanced=benchmark.balanced, seed=seed)
    return Scores(utility(benchmark.metric, probabilities, test.label), brier(probabilities, test.label))


def real_scores(learner: str, train: Examples, test: Examples, benchmark: Benchmark, *, seed: int = 0) -> Scores:
    """The same learner with the same seed on the real training rows: the anchor of every line."""
    path = _place(learner, train, test, benchmark, seed)
    found = _kept(path)
    if found is None:
        found = scores(learner, train, test, benchmark, seed=seed)
        _keep(path, found)
    return found


def _kept(path: Path) -> Scores | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Scores(value=float(kept["value"]), brier=float(kept["brier"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not kept yet, or damaged: it will be computed


def _keep(path: Path, found: Scores) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(found)), encoding="utf-8")
    except OSError:
        return  # a cache that cannot be written costs time, nothing else


def _place(learner: str, train: Examples, test: Examples, benchmark: Benchmark, seed: int) -> Path:
    """A name that changes with everything that could change the score."""
    facts = [
        HARNESS_VERSION,
        importlib.metadata.version(_LIBRARIES[learner]),
        importlib.metadata.version("numpy"),
        benchmark.schema.digest(),
        benchmark.metric,
        benchmark.balanced,
        *(_digest(part) for part in (train, test)),
    ]
    version = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]
    return cache_folder() / "real" / f"{benchmark.name}-{learner}-{version}-seed{seed}.json"


def _digest(examples: Examples) -> str:
    """Of every value of every row: another split or another encoding of the same table is other data."""
    found = hashlib.sha256()
    for name in sorted(examples.batch):
        values = np.asarray(examples.batch[name])
        found.update(f"{name} {values.dtype} {values.shape}".encode())
        found.update(values.tobytes())
    return found.hexdigest()
