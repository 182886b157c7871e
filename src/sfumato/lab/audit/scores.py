"""Scores of many releases of one step, in a world without the canary and in one with it.

What the doors add up is exact and noted as it passes (`check.recorder`). Where everyone takes part it is the same in every
release, so that a door is run once in each world, and noise, choices and responses are drawn in bulk from the very primitives of
that door. Where rows are sampled, the door itself is run, with the mixtures of many releases side by side. Scores are logarithms
of likelihood ratios under the promised noise: no other score tells more.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.check.instruments.recorder import Record, Recorder
from sfumato.check.instruments.rows import read
from sfumato.lab.audit import canaries
from sfumato.lab.audit.bounds import Scores
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.view import View
from sfumato.public.budget import PrivacyUnit
from sfumato.public.plan.block import Response
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.doors import Noisy
from sfumato.public.plan.grid import NOISE_STDDEV, RESPONSE_PARTS, truth_in_parts
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import Everyone, KnownPartition, Poisson, SecretBins, Step, WithoutReplacement
from sfumato.public.schema.schema import Batch

MakePrimitives = Callable[[NoiseSource], Primitives]
_NUMBERS_AT_ONCE = 1 << 18
_LEAST_CALLS = 64  # so that coins which a call shares among its releases are seen
_TOGETHER = 25  # factors that are multiplied before their logarithm is taken: none is below 1 - q
_ROWS_A_TEACHER = 16


@dataclass(frozen=True)
class Stage:
    """One step on trial: the narrow step, a plan that gives it its planned noise, and what the doors are built of."""

    step: Step
    plan: Plan
    primitives: Primitives

    @property
    def noise(self) -> float:
        """The planned noise multiplier."""
        return self.plan.noise_multiplier(self.step.name)

    @property
    def replaces(self) -> bool:
        """Whether neighbours have equally many rows."""
        return self.plan.unit.relation == "replace_one"

    def rows(self, *, canary: bool, plain: int = 0) -> NDArray[np.float64]:
        """The rows of a world: the canary, and in the other world its opposite, or nothing; plain ones beside them."""
        own = [canaries.CANARY] if canary else [canaries.OPPOSITE] if self.replaces else []
        return np.array([*own, *[canaries.PLAIN] * plain])

    def view(self, rows: NDArray[np.float64], *, record: Record | None = None) -> View:
        """The doors over these rows, noted where a record is given."""
        primitives = self.primitives if record is None else Recorder(self.primitives, record)
        schema = replace(canaries.SCHEMA, unit=self.plan.unit)
        return View(read({"row": rows}, schema), plan=self.plan, primitives=primitives, schema=schema)

    def twin(self, **changes: object) -> "Stage":
        """The same with another step at the same noise."""
        step = replace(self.step, **changes)  # type: ignore[arg-type]
        return Stage(step, _at_noise(self.plan, step, noise=self.noise), self.primitives)


def stage_of(plan: Plan, step: Step, *, primitives: MakePrimitives, source: NoiseSource) -> Stage:
    """The narrow twin of a planned step, at its planned noise."""
    if plan.unit.tables:  # a person with all that hangs on it is one row, whatever the intake makes it of
        plan = replace(plan, unit=PrivacyUnit(relation=plan.unit.relation))
    few, pairs = step.is_mixed or step.is_sampled, plan.unit.relation == "replace_one"
    blocks = tuple(canaries.narrow(block, few=few, pairs=pairs) for block in step.blocks)
    thin = replace(step, blocks=blocks, groups=1, mixtures=1 if step.is_reported else step.mixtures)
    noise = plan.noise_multiplier(step.name)
    return Stage(thin, _at_noise(plan, thin, noise=noise), primitives(source))


def _at_noise(plan: Plan, step: Step, *, noise: float) -> Plan:
    return replace(plan, steps=(step,), scale=noise / math.sqrt(step.uses))


def scores_of_step(stage: Stage, *, canary: bool, trials: int) -> Scores:
    """One score for each of many releases of all uses of a step."""
    step, score = stage.step, _scores_of_sums
    if step.choice:
        score = _scores_of_choices
    elif step.is_reported:
        score = _scores_of_reports
    elif step.is_sampled or step.is_mixed:
        score = _scores_of_mixtures
    return score(stage, canary=canary, trials=trials)


# Everyone takes part.


def _scores_of_sums(stage: Stage, *, canary: bool, trials: int) -> Scores:
    """Sums and votes: with m the promised distance, m s - m^2 / 2 for each use, s being the noisy sum along the canary."""
    step = stage.step
    before, after = (_exact_sum(stage, canary=there) for there in (False, True))
    length = step.norm_of(stage.plan.unit) * (step.diameter() if stage.replaces else 1.0) / stage.noise
    along, there = _direction(before, after), after if canary else before
    found = np.zeros(trials)
    for part in _parts(trials, step.uses * sum(v.size for v in there.values())):
        shape = (part.stop - part.start) * step.uses
        seen = np.zeros(shape)
        for name, exact in there.items():
            noisy = stage.primitives.noisy(np.tile(exact, (shape, 1)), step=step.name, block=name)
            seen += ((noisy - before[name]) / NOISE_STDDEV) @ along[name]
        found[part] = (length * seen - length**2 / 2).reshape(-1, step.uses).sum(axis=1)
    return found


def _exact_sum(stage: Stage, *, canary: bool) -> dict[str, NDArray[np.int64]]:
    """What the door adds up in a world, or reports of it, to the unit: noted as it gets its noise."""
    record, step = Record(), stage.step
    if step.votes:
        rows = stage.rows(canary=canary, plain=_ROWS_A_TEACHER * step.votes.teachers)
        stage.view(rows, record=record).noisy_votes(step.name, _teacher, np.zeros((step.votes.queries, 1)))
    else:
        view = stage.view(stage.rows(canary=canary), record=record)
        door = view.noisy_reports if step.is_reported else view.noisy_sum
        door(step.name, canaries.contribution_of(step))
    return {block.name: record.sums[step.name, 0, block.name].ravel() for block in step.blocks}


def _teacher(part: Batch) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Votes for the second class if the canary is among its rows, and for the first otherwise."""
    vote = int((part["row"] == canaries.CANARY).any())
    return lambda queries: np.full(len(queries), vote)


def _direction(
    before: dict[str, NDArray[np.int64]], after: dict[str, NDArray[np.int64]]
) -> dict[str, NDArray[np.float64]]:
    """From one world's sum to the other's, of length 1."""
    way = {name: (after[name] - before[name]).astype(np.float64) for name in after}
    length = math.sqrt(sum(float(part @ part) for part in way.values()))
    return {name: part / max(length, 1.0) for name, part in way.items()}


def _parts(trials: int, numbers: int) -> list[slice]:
    """Trials in pieces that memory holds easily."""
    size = max(1, _NUMBERS_AT_ONCE // numbers)
    return [slice(start, min(start + size, trials)) for start in range(0, trials, size)]


# Rows are sampled, or divided among sums.


def _scores_of_mixtures(stage: Stage, *, canary: bool, trials: int) -> Scores:
    """Mixtures, and the uses of a sampled sum, which the account takes for the same."""
    step = stage.step
    sampling, n_sums = step.sampling, step.uses * step.mixtures
    divided = isinstance(sampling, SecretBins | KnownPartition)
    least = 2 if n_sums == 1 else 1  # one sampled sum is no mixture
    fitting = min(trials // _LEAST_CALLS, _NUMBERS_AT_ONCE // (n_sums * step.width))
    at_once = 1 if divided else max(least, fitting)
    calls = math.ceil(trials / at_once)
    many = stage.twin(mixtures=at_once * n_sums, uses=calls, sampling=sampling)
    rows = many.rows(canary=canary)
    if isinstance(sampling, WithoutReplacement):  # the worst rows beside the canary are all like the one in its place
        rows = np.concatenate([rows, np.full(sampling.population - 1, canaries.OPPOSITE)])
    view = many.view(rows)
    ways, base, length = _ways(stage)
    found = []
    for _ in range(calls):
        noisy = view.noisy_mixtures(step.name, canaries.contribution_of(step))
        seen = [_along(noisy, way).reshape(at_once, n_sums) - base for way in ways]
        found.append(_sampled_ratio(seen, sampling=sampling, length=length))
        view.answers.integers.clear()
    return np.concatenate(found)[:trials]


def _ways(stage: Stage) -> tuple[list[dict[str, NDArray[np.float64]]], float, float]:
    """Along which directions mixtures are looked at, from where, and how far the canary moves them.

    One direction where the canary comes or goes, or takes the place of a row like all others; else its own and its opposite's.
    """
    step, sampling = stage.step, stage.step.sampling
    everyone = stage.twin(sampling=Everyone(), mixtures=1, uses=1)
    own = {there: _exact_sum(everyone, canary=there) for there in (True, False)}
    nobody = {name: np.zeros_like(exact) for name, exact in own[True].items()}
    if isinstance(sampling, WithoutReplacement):
        way = _direction(own[False], own[True])
        base = sum(float(own[False][name] @ way[name]) for name in way) * sampling.degree / NOISE_STDDEV
        return [way], base, step.diameter() / stage.noise
    there = (True, False) if stage.replaces else (True,)
    return [_direction(nobody, own[canary]) for canary in there], 0.0, 1 / stage.noise


def _along(noisy: Noisy, way: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Noisy sums along a direction, in units of their noise."""
    parts = [measured.values @ (way[name] / measured.stddev) for name, measured in noisy.items()]
    return np.asarray(np.sum(parts, axis=0))


def _sampled_ratio(seen: list[NDArray[np.float64]], *, sampling: object, length: float) -> Scores:
    """The canary's likelihood over that of nobody in its place, or of its opposite."""
    ratios = []
    for along in seen:
        shift = np.exp(length * along - length**2 / 2)
        match sampling:
            case Poisson(rate):
                ratios.append(_log_product(1 - rate + rate * shift))
            case WithoutReplacement(degree, population):
                ratios.append(_log_product(1 + (shift - 1) * (degree / population)))
            case KnownPartition():
                ratios.append(np.log(shift[:, 0]))
            case _:
                ratios.append(np.log(shift.mean(axis=1)))
    return np.asarray(ratios[0] - ratios[1] if len(ratios) > 1 else ratios[0])


def _log_product(factors: NDArray[np.float64]) -> Scores:
    """The sum of logarithms along rows, with fewer logarithms."""
    rest = factors.shape[1] % _TOGETHER
    filled = np.pad(factors, ((0, 0), (0, (_TOGETHER - rest) % _TOGETHER)), constant_values=1.0)
    return np.asarray(np.log(filled.reshape(len(factors), -1, _TOGETHER).prod(axis=2)).sum(axis=1))


# Choices and reports.


def _scores_of_choices(stage: Stage, *, canary: bool, trials: int) -> Scores:
    """Two tables, of which the canary brings one nearer to what is expected of it and the other farther away."""
    step, record = stage.step, Record()
    name = step.blocks[0].name
    expected = {0: Expected(np.zeros(2)), 1: Expected(np.array([1.0, 0.0]))}
    view = stage.view(stage.rows(canary=canary), record=record)
    view.noisy_choice(step.name, canaries.contribution_of(step), expected)
    exact = [int(score) for score in record.sums[step.name, 0, name]]
    rate = int(stage.plan.units_per_one(step.name, name))
    length = step.norm_of(stage.plan.unit) * (step.diameter() if stage.replaces else 1.0) / stage.noise
    told = math.log(float(ndtr(length / 2)) / float(ndtr(-length / 2)))
    choose = stage.primitives.choose
    places = [choose(exact, step=step.name, block=name, rate=rate) for _ in range(trials * step.uses)]
    return np.asarray(np.where(np.array(places) == 0, told, -told).reshape(trials, -1).sum(axis=1))


def _scores_of_reports(stage: Stage, *, canary: bool, trials: int) -> Scores:
    """The report of one row: its vectors, as sums are scored, and its responses by their odds."""
    step = stage.step
    exact = {there: _exact_sum(stage, canary=there) for there in (False, True)}
    found = np.zeros(trials)
    for block in step.blocks * step.uses:
        before, after = (exact[there][block.name] for there in (False, True))
        shown, place = np.tile(after if canary else before, (trials, 1)), {"step": step.name, "block": block.name}
        if not isinstance(block, Response):
            way = (after - before) / NOISE_STDDEV
            noisy = stage.primitives.noisy(shown, **place)
            found += ((noisy - before) / NOISE_STDDEV) @ way - float(way @ way) / 2
            continue
        parts = truth_in_parts(block, noise_multiplier=stage.noise)
        given = stage.primitives.respond(shown, categories=block.categories, parts=parts, **place)[:, 0]
        told, other = parts / RESPONSE_PARTS / block.codes, (1 - parts / RESPONSE_PARTS) / block.categories
        odds = [np.log(other + told * np.isin(np.arange(block.categories), codes)) for codes in (before, after)]
        found += odds[1][given] - odds[0][given]
    return found
