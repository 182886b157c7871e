"""An audit by a single fit: many canaries, each in the data or not by its own coin, and a guess about each.

Where a fit is dear, it cannot be repeated a thousand times. One fit with a thousand canaries tells less, and it takes the whole
mechanism as it is: reading, preparing, measuring and building. Proof: docs/proofs/audits.md, section 5.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

from sfumato.fitting import fit
from sfumato.lab.audit.bounds import Scores
from sfumato.mechanism import Mechanism
from sfumato.mechanisms import IndependentHistograms, Logistic
from sfumato.model import Classifier
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Column, Schema

_GUESSED = 0.2  # the part of the canaries of which the attacker is surest
_LARGEST = 64.0
_NUMBERS = 8


@dataclass(frozen=True)
class OneRun:
    """What one fit proves: of so many canaries, so many were guessed, and so many of these rightly."""

    method: str
    epsilon: float
    delta: float
    lower_bound: float
    confidence: float
    canaries: int
    guesses: int
    right: int
    verdict: Literal["holds", "refuted"]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Canaries:
    """Rows that are easy to tell apart, and how much a fitted model speaks for each of them."""

    mechanism: Mechanism
    schema: Schema
    rows: pd.DataFrame
    score: Callable[[Any], Scores]


def chance_of(right: int, *, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """How likely so many right guesses are at most, if the mechanism is (epsilon, delta)-DP (Steinke et al., 2023).

    >>> round(chance_of(8, guesses=10, canaries=10, epsilon=0.0, delta=0.0), 4)  # 8 heads of 10 fair coins
    0.0547
    """
    tails = stats.binom.sf(right - 1 - np.arange(canaries + 1), guesses, expit(epsilon))
    steepest = float(((tails[1:] - tails[0]) / np.arange(1, canaries + 1)).max())
    return float(min(1.0, tails[0] + 2 * canaries * delta * steepest))


def one_run_epsilon(right: int, *, guesses: int, canaries: int, delta: float, confidence: float) -> float:
    """The largest epsilon that so many right guesses refute."""

    def refuted(epsilon: float) -> bool:
        chance = chance_of(right, guesses=guesses, canaries=canaries, epsilon=epsilon, delta=delta)
        return chance <= 1 - confidence

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, _LARGEST
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def audit_in_one_run(canaries: Canaries, budget: Budget, *, confidence: float, seed: int = 0) -> OneRun:
    """Fit once, with about half of the canaries, and guess which.

    The surest guesses are settled by rank: as many for *in* as for *out*.
    """
    start, rng = time.perf_counter(), np.random.default_rng(seed)
    n = len(canaries.rows)
    there = rng.random(n) < 0.5
    data = Sensitive.read(canaries.rows[there], canaries.schema)
    order = np.argsort(canaries.score(fit(canaries.mechanism, data, budget)), kind="stable")
    half = int(n * _GUESSED / 2)
    right = int(there[order[-half:]].sum() + (~there[order[:half]]).sum())
    found = one_run_epsilon(right, guesses=2 * half, canaries=n, delta=budget.delta, confidence=confidence)
    return OneRun(
        method=canaries.mechanism.name,
        epsilon=budget.epsilon,
        delta=budget.delta,
        lower_bound=found,
        confidence=confidence,
        canaries=n,
        guesses=2 * half,
        right=right,
        verdict="refuted" if found > budget.epsilon else "holds",
        seconds=round(time.perf_counter() - start, 1),
    )


def cells_of_their_own(n_canaries: int) -> Canaries:
    """Histograms: every canary has a category of its own, so that none stands in the way of another."""
    names = tuple(f"c{at}" for at in range(n_canaries))
    schema = Schema(columns=(Column(name="cell", kind="categorical", categories=names),), rows=n_canaries)

    def counts(fitted: Any) -> Scores:
        return np.asarray(fitted.measurements["counts"][0], dtype=np.float64)

    return Canaries(IndependentHistograms(), schema, pd.DataFrame({"cell": names}), counts)


def labels_by_chance(n_canaries: int, *, seed: int = 1) -> Canaries:
    """A learner: rows with labels that follow from nothing, which a model can only have remembered."""
    rng = np.random.default_rng(seed)
    names = [f"x{at}" for at in range(_NUMBERS)]
    rows = pd.DataFrame(rng.uniform(-1, 1, (n_canaries, _NUMBERS)), columns=names)
    rows["y"] = rng.random(n_canaries) < 0.5
    columns = tuple(Column(name=name, kind="numeric", bounds=(-1, 1)) for name in names)
    schema = Schema(columns=(*columns, Column(name="y", kind="boolean")), target="y", rows=n_canaries)

    def remembered(fitted: Any) -> Scores:
        model: Classifier = fitted.model
        batch: dict[str, NDArray[Any]] = {name: rows[name].to_numpy() for name in names}
        return np.asarray(model.probabilities(batch)[np.arange(n_canaries), rows["y"].to_numpy().astype(int)])

    return Canaries(Logistic(), schema, rows, remembered)
