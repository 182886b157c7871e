"""The class-wise generator as published: one subset of a class, and its mean with fresh noise again and again.

It was accounted as if every mixture had a subset of its own (docs/research/known-faults.md). Here it runs as its code runs, on
made-up rows at the noise that such an account asks for; the attacker averages the noise away.
"""

import math
import time

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.audit.auditing import CONFIDENCE, TRIALS, Audit, judge
from sfumato.lab.audit.bounds import Scores
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.plan.block import Dense
from sfumato.public.plan.plan import Plan, make_plan
from sfumato.public.plan.step import Step, WithoutReplacement

NAME = "classwise-as-published"
#: Rows of a class, rows of a mixture, mixtures of a class: those of the publication.
ROWS, DEGREE, MIXTURES = 6_000, 128, 1_200
_KIND = "the generator as published, many times, on a class in which one row is 1 and all others are 0"


def claimed_plan(budget: Budget) -> Plan:
    """What was claimed: a fresh subset for every mixture of rows in [0, 1], which are measured from 1/2."""
    step = Step(
        name="mixtures",
        blocks=(Dense(name="row", width=1, l2_bound=0.5),),
        sampling=WithoutReplacement(DEGREE, ROWS),
        mixtures=MIXTURES,
    )
    return make_plan([step], budget=budget, unit=PrivacyUnit(relation="replace_one"), rows=ROWS)


def published_mixtures(rows: NDArray[np.float64], *, noise: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """As the publication's code does it: the subset is drawn before the loop over the mixtures."""
    chosen = rng.choice(len(rows), DEGREE)
    return np.asarray(rows[chosen].mean() + rng.normal(0.0, noise, MIXTURES))


def audit_classwise(
    budget: Budget, *, trials: int = TRIALS, confidence: float = CONFIDENCE, seed: int | None = None
) -> Audit:
    """Many classes with the canary and without it, and what their mixtures prove."""
    start, plan, rng = time.perf_counter(), claimed_plan(budget), np.random.default_rng(seed)
    noise = plan.noise_stddev("mixtures", "row") / DEGREE
    worlds = tuple(_scores(canary, noise=noise, trials=trials, rng=rng) for canary in (1.0, 0.0))
    return judge(plan, (worlds[0], worlds[1]), method=NAME, confidence=confidence, kind=_KIND, start=start)


def _scores(canary: float, *, noise: float, trials: int, rng: np.random.Generator) -> Scores:
    """The likelihood ratio of the mean of all mixtures: the row is in the one subset, or it is not."""
    rows = np.zeros(ROWS)
    rows[0] = canary
    rate, length = 1 - (1 - 1 / ROWS) ** DEGREE, math.sqrt(MIXTURES) / (DEGREE * noise)
    found = np.array([published_mixtures(rows, noise=noise, rng=rng).mean() for _ in range(trials)])
    seen = found * math.sqrt(MIXTURES) / noise
    return np.asarray(np.logaddexp(math.log1p(-rate), math.log(rate) + length * seen - length**2 / 2))
