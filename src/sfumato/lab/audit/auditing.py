"""An audit: the worst neighbours, the best score, many releases, and an epsilon that these prove.

No private rows are needed: the attacker of the definition knows all rows but one, so that the worst ones may be made up.
"""

import time
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.audit.bounds import Scores, advantage, direct_epsilon
from sfumato.lab.audit.promise import Promise, epsilon_of_advantage
from sfumato.lab.audit.scores import MakePrimitives, scores_of_step, stage_of
from sfumato.mechanism import Mechanism
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.budget import Budget
from sfumato.public.plan.plan import Plan, make_plan
from sfumato.public.schema.schema import Schema

#: An honest release is called refuted once in 10,000 audits at most; the bound at the usual 95 % is given beside it.
CONFIDENCE, USUAL = 1 - 1e-4, 0.95
TRIALS = 40_000
#: How the steps were attacked.
KIND = "white box: every step of the plan through its door, worst-case neighbours, likelihood ratios, f-DP inversion"


@dataclass(frozen=True)
class Audit:
    """What many releases prove.

    Attributes:
        method: The mechanism.
        epsilon: The epsilon of the certificate.
        delta: Its delta.
        relation: What neighbours are.
        lower_bound: The epsilon that the guesses prove of the promised mechanism with whatever noise it had.
        confidence: Of the lower bound, and of the verdict.
        lower_bound_95: The same at 95 %.
        direct_bound: The epsilon that the error rates prove by themselves, whatever mechanism made them.
        right: The share of right guesses.
        promised_right: The most that the certificate allows.
        trials: Releases in each of the two worlds.
        verdict: `holds` or `refuted`.
        seconds: What it took.
        kind: How it was attacked.
        scores: Of all releases with the canary, and without it.
        plan: What was promised.
    """

    method: str
    epsilon: float
    delta: float
    relation: str
    lower_bound: float
    confidence: float
    lower_bound_95: float
    direct_bound: float
    right: float
    promised_right: float
    trials: int
    verdict: Literal["holds", "refuted"]
    seconds: float
    kind: str
    scores: tuple[Scores, Scores] = field(repr=False)
    plan: Plan = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the scores."""
        return {key: value for key, value in vars(self).items() if key not in ("scores", "plan")}

    def promised_hits(self, alarms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The most hits that the certificate allows at each rate of false alarms."""
        return Promise(self.plan).most_hits(alarms)

    def trade_off(self, alarms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share of hits at each rate of false alarms, as it was seen."""
        present, absent = self.scores
        return np.asarray((present[:, None] > np.quantile(absent, 1 - alarms)).mean(axis=0))


def audit_mechanism(
    mechanism: Mechanism,
    schema: Schema,
    budget: Budget,
    *,
    trials: int = TRIALS,
    confidence: float = CONFIDENCE,
    primitives: MakePrimitives = Primitives,
    seed: int | None = None,
) -> Audit:
    """Audit the plan of a mechanism.

    Args:
        mechanism: What to audit.
        schema: Public facts. No rows are read: the worst ones are made up.
        budget: The guarantee that is put to the test.
        trials: Releases in each world.
        confidence: How sure the lower bound is to be.
        primitives: What the doors are built of: for the broken twins of these.
        seed: For tests: the same audit again. By default the noise is secret, as in a release.
    """
    steps = mechanism.steps(schema, budget)
    plan = make_plan(steps, budget=budget, unit=schema.unit, rows=schema.rows)
    return audit_plan(
        plan, method=mechanism.name, trials=trials, confidence=confidence, primitives=primitives, seed=seed
    )


def audit_plan(
    plan: Plan,
    *,
    method: str,
    trials: int = TRIALS,
    confidence: float = CONFIDENCE,
    primitives: MakePrimitives = Primitives,
    seed: int | None = None,
) -> Audit:
    """The same for a plan. The scores of independent steps add up, so that all steps are attacked together."""
    start, source = time.perf_counter(), NoiseSource(research_seed=seed)
    worlds = []
    for canary in (True, False):
        found = np.zeros(trials)
        for step in plan.steps:
            found += scores_of_step(
                stage_of(plan, step, primitives=primitives, source=source), canary=canary, trials=trials
            )
        worlds.append(found)
    return judge(plan, (worlds[0], worlds[1]), method=method, confidence=confidence, kind=KIND, start=start)


def judge(
    plan: Plan, scores: tuple[Scores, Scores], *, method: str, confidence: float, kind: str, start: float
) -> Audit:
    """What scores of releases with the canary, and without it, prove of a plan."""
    present, absent = scores
    promised = Promise(plan).advantage
    sure = advantage(present, absent, confidence=confidence)
    budget = plan.budget
    direct = direct_epsilon(present, absent, claimed=budget.epsilon, delta=budget.delta, confidence=confidence)
    refuted = sure > promised or direct > budget.epsilon
    return Audit(
        method=method,
        epsilon=budget.epsilon,
        delta=budget.delta,
        relation=plan.unit.relation,
        lower_bound=max(epsilon_of_advantage(plan, sure), direct),
        confidence=confidence,
        lower_bound_95=max(epsilon_of_advantage(plan, advantage(present, absent, confidence=USUAL)), direct),
        direct_bound=direct,
        right=float(((present > 0).mean() + (absent <= 0).mean()) / 2),
        promised_right=(1 + promised) / 2,
        trials=len(present),
        verdict="refuted" if refuted else "holds",
        seconds=round(time.perf_counter() - start, 1),
        kind=kind,
        scores=scores,
        plan=plan,
    )
