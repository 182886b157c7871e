"""An audit: the worst neighbours, the best score, many releases, and an epsilon that these prove.

No private rows are needed: the attacker of the definition knows all rows but one, so that the worst ones may be made up. What is put to
the test is the trade-off of a plan, and that of the same plan with more or less noise.
"""

import math
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from dp_accounting import dp_event
from numpy.typing import NDArray
from scipy.optimize import brentq

from sfumato.errors import PlanError, SfumatoError
from sfumato.lab.audit.bounds import Scores, advantage, direct_epsilon
from sfumato.lab.audit.scores import MakePrimitives, scores_of_step, stage_of
from sfumato.mechanism import Mechanism
from sfumato.present.plots import roc_svg
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.accounting import epsilon_of
from sfumato.public.accounting.gdp import deltas_of_mu
from sfumato.public.accounting.leaves import Leaves, flatten
from sfumato.public.accounting.pld import compose
from sfumato.public.budget import Budget, PrivacyUnit, Relation
from sfumato.public.plan.plan import Plan, event_of, make_plan
from sfumato.public.schema.schema import Column, Schema
from sfumato.public.schema.tables import EventTable

_FARTHEST = 2.0**8  # times as much or as little noise as planned
_CLOSE = 1e-3  # of the noise, to the safe side


class Promise:
    """What the accountant was told, at `noise` times the planned noise."""

    def __init__(self, plan: Plan, *, noise: float = 1.0) -> None:
        self._plan, self._noise = plan, noise

    @cached_property
    def _event(self) -> dp_event.DpEvent:
        return event_of(self._plan.steps, scale=self._plan.scale * self._noise, unit=self._plan.unit, prior=None)

    @cached_property
    def _leaves(self) -> Leaves:
        return flatten(self._event, relation=self._plan.unit.relation)

    @property
    def epsilon(self) -> float:
        """The epsilon of that much noise, at the delta of the budget."""
        return epsilon_of(self._event, delta=self._plan.budget.delta, relation=self._plan.unit.relation).epsilon

    @cached_property
    def advantage(self) -> float:
        """The distance in variation that neighbours may have: delta at epsilon 0.

        Pure steps have at most tanh(epsilon / 2), and independent steps are alike together as often as each is.
        """
        alike = (1 - float(self.deltas(np.zeros(1))[0])) * (1 - math.tanh(self._leaves.pure_epsilon / 2))
        return 1 - alike + self._leaves.failure

    def deltas(self, epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
        """The delta of each epsilon, for all Gaussian noise of the plan together."""
        if self._leaves.sampled:
            composed = compose(self._leaves, relation=self._plan.unit.relation)
            return np.array([float(composed.get_delta_for_epsilon(float(epsilon))) for epsilon in epsilons])
        if not self._leaves.mu_squared:
            return np.zeros(len(epsilons))
        return deltas_of_mu(epsilons, mu=math.sqrt(self._leaves.mu_squared))

    def most_hits(self, alarms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The trade-off curve: the most hits that any attack may have at each rate of false alarms."""
        epsilons = np.linspace(0.0, max(2.0, 2 * self._plan.budget.epsilon), 41)
        deltas = self.deltas(epsilons) + self._leaves.failure
        epsilons = epsilons + self._leaves.pure_epsilon
        above = np.exp(epsilons)[:, None] * alarms + deltas[:, None]
        below = 1 - np.exp(-epsilons)[:, None] * np.maximum(1 - alarms - deltas[:, None], 0)
        return np.asarray(np.minimum(np.minimum(above, below).min(axis=0), 1.0))


def epsilon_of_advantage(plan: Plan, advantage: float) -> float:
    """The epsilon of the plan at the noise whose promise just admits this advantage: more noise would not."""
    if advantage <= 0:
        return 0.0

    def excess(log_noise: float) -> float:
        return Promise(plan, noise=math.exp(log_noise)).advantage - advantage

    low, high = 0.0, 0.0
    while excess(high) > 0:
        low, high = high, high + math.log(2) / 2
        if high > math.log(_FARTHEST):
            return 0.0
    while low == high or excess(low) < 0:
        high, low = low, low - math.log(2) / 2
        if low < -math.log(_FARTHEST):
            return math.inf
    return Promise(plan, noise=math.exp(brentq(excess, low, high, xtol=_CLOSE) + _CLOSE)).epsilon


#: An honest release is called refuted once in 10,000 audits at most; the bound at the usual 95 % is given beside it.
CONFIDENCE, USUAL = 1 - 1e-4, 0.95
TRIALS = 40_000
#: How the steps were attacked.
KIND = "white box: every step of the plan through its door, worst-case neighbours, likelihood ratios, f-DP inversion"


@dataclass(frozen=True)
class Audit:
    """What many releases, so many in each of two worlds, prove of the promised plan.

    `lower_bound` is the epsilon that the guesses prove of the promised mechanism with whatever noise it had, and
    `direct_bound` what the error rates prove by themselves, whatever mechanism made them. `right` is the share of right
    guesses, and `promised_right` the most that the certificate allows. `scores` are with the canary, and without it.
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
    """Audit the plan of a mechanism. No rows are read: the worst ones are made up.

    The scores of independent steps add up, so that all steps are attacked together. Broken twins of the `primitives` are
    for tests, and so is the seed: by default the noise is secret, as in a release.
    """
    plan = make_plan(mechanism.steps(schema, budget), budget=budget, unit=schema.unit, rows=schema.rows)
    start, source = time.perf_counter(), NoiseSource(research_seed=seed)
    worlds = np.zeros((2, trials))
    for found, canary in zip(worlds, (True, False), strict=True):
        for step in plan.steps:
            stage = stage_of(plan, step, primitives=primitives, source=source)
            found += scores_of_step(stage, canary=canary, trials=trials)
    scores = worlds[0], worlds[1]
    return judge(plan, scores, method=mechanism.name, confidence=confidence, kind=KIND, start=start)


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


_COLOURS = {"--ink": "#222222", "--rule": "#999999", "--synthetic": "#b2182b", "--real": "#2166ac", "--coin": "#999999"}


def trade_off_file(audit: Audit, *, to: Path) -> None:
    """Hits against false alarms: the promise in blue, what was seen in red, a coin in grey."""
    alarms, (present, absent) = np.linspace(0.0, 1.0, 101), audit.scores
    seen = (present[:, None] > np.quantile(absent, 1 - alarms)).mean(axis=0)
    curves = {"real": (alarms, Promise(audit.plan).most_hits(alarms)), "synthetic": (alarms, seen)}
    drawn = str(roc_svg(curves, label=f"Trade-off of {audit.method}: promised (blue) and seen (red)"))
    for variable, colour in _COLOURS.items():  # outside of a page nobody sets its colours
        drawn = drawn.replace(f"var({variable})", colour)
    if "xmlns=" not in drawn:
        drawn = drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    to.write_text(drawn)


ROWS = 60_000
_DIGITS = Column(name="digit", kind="categorical", categories=tuple("0123456789"))
IMAGES = Schema(
    columns=(Column(name="image", kind="image", shape=(28, 28), bounds=(0, 255)), _DIGITS), target="digit", rows=ROWS
)
TABLE = Schema(
    columns=(
        Column(name="age", kind="numeric", bounds=(0, 100)),
        Column(name="hours", kind="integer", bounds=(0, 80)),
        Column(name="town", kind="categorical", categories=("Pisa", "Rome", "Siena")),
        Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=ROWS,
)
#: A person with all that happened to it is the canary of this one.
TABLES = replace(
    TABLE,
    unit=PrivacyUnit(person="patient"),
    persons="patients",
    tables=(
        EventTable(
            name="visits",
            key="patient",
            order="day",
            max_rows=20,
            columns=(
                Column(name="day", kind="integer", bounds=(0, 3650)),
                Column(name="value", kind="numeric", bounds=(0, 100)),
            ),
        ),
    ),
)


def schema_for(mechanism: Mechanism, budget: Budget) -> Schema:
    """The first of these that the mechanism takes, under the first relation that it can keep."""
    refusal: SfumatoError | None = None
    relations: tuple[Relation, ...] = ("add_or_remove", "replace_one")
    for schema in (IMAGES, TABLE, TABLES):
        for relation in relations:
            asked = replace(schema, unit=replace(schema.unit, relation=relation))
            try:
                for step in mechanism.steps(asked, budget):
                    step.event(noise_multiplier=1.0, unit=asked.unit)
            except SfumatoError as error:
                refusal = refusal or error
            else:
                return asked
    raise PlanError(f"{mechanism.name} takes none of the schemas that audits know. Give --schema. ({refusal})")
