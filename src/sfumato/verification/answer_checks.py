"""The doors' integers: all that was planned and nothing else, in the planned shapes, and as noisy as planned."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.folder.contents import archive_of
from sfumato.folder.releasing import ANSWERS, answers_of
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.block import Block, Response
from sfumato.public.plan.discovery import DiscoveryPlan, discovered_bounds
from sfumato.public.plan.grid import RESPONSE_PARTS, truth_in_parts
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema
from sfumato.verification import noise_checks
from sfumato.verification.findings import Findings
from sfumato.verification.plan_checks import Recomputed

_CLOSE = 1e-9


def check_answers(
    contents: dict[str, bytes], certificate: Certificate, schema: Schema, planned: Recomputed, found: Findings
) -> Answers | None:
    """The answers, if they are those of the plan; None if they are not."""
    if ANSWERS not in contents:
        return None
    answers = found.attempt(lambda: answers_of(contents[ANSWERS]), garbled=f"{ANSWERS} cannot be read")
    if answers is None:
        return None
    discovery = planned.discovery
    plans = [planned.plan] if discovery is None else [discovery.plan, planned.plan]
    plans += [] if planned.score is None else [planned.score]
    problems = _unplanned(answers, plans)
    if not problems and archive_of(answers.to_arrays()) != contents[ANSWERS]:
        problems.append(f"{ANSWERS} holds something besides the doors' integers, or writes them as sfumato does not.")
    if not found.settle(problems, checked="the doors' integers have the planned shapes, and nothing is among them"):
        return None
    found.settle(
        noise_checks.implausible_noise([block for plan in plans for block in _answered(answers, plan)])
        + noise_checks.implausible_responses([block for plan in plans for block in _responded(answers, plan)]),
        checked="the doors' integers are as noisy as planned, as far as their last digits, marks and sizes show "
        f"(an honest release fails this once in {1 / noise_checks.FALSE_ALARM:.0g})",
    )
    if discovery is not None:
        _check_discovery(answers, schema, discovery, found)
    return answers


def _unplanned(answers: Answers, plans: list[Plan]) -> list[str]:
    """What is missing from the answers, or has no place among them."""
    problems, expected = [], set()
    for step, use, block in (each for plan in plans for each in _asked(answers, plan)):
        key = f"{step.name}/{use}/{block.name}"
        expected.add(key)
        # No sum of rows and noise comes near 2^62: a row's integers are below 2^29, and there are no 2^33 of them.
        if key not in answers.integers:
            problems.append(f"{ANSWERS} holds no answer to {key}, though its step was used.")
        elif answers.integers[key].shape != shape_of(step, block.width):
            problems.append(f"the answer to {key} has another shape than the plan gives it.")
        elif step.choice and not 0 <= answers.integers[key][0] < len(step.choice.widths):
            problems.append(f"the answer to {key} is no candidate of the choice.")
        elif isinstance(block, Response) and _beyond(answers.integers[key], 0, block.categories - 1):
            problems.append(f"the answer to {key} holds a code that its response cannot give.")
        elif _beyond(answers.integers[key], -(2**62), 2**62):
            problems.append(f"the answer to {key} holds a number that no sum of rows comes near.")
    extra = sorted(set(answers.integers) - expected)
    problems += [f"{ANSWERS} holds an answer that was not planned, or not in this order: {n!a}." for n in extra[:20]]
    if not expected:
        problems.append(f"{ANSWERS} holds no answer at all.")
    return problems


def _asked(answers: Answers, plan: Plan) -> Iterator[tuple[Step, int, Block]]:
    """Every block of every use of a step that there are answers to."""
    for step in plan.steps:
        yield from ((step, use, block) for use in range(answers.uses(step)) for block in step.blocks)


def shape_of(step: Step, width: int) -> tuple[int, ...]:
    """The shape of what a door gives for a block: mixtures have a row each."""
    return (step.groups * step.mixtures, width) if step.is_mixed else (width,)


def _beyond(values: NDArray[np.int64], low: int, high: int) -> bool:
    return bool(((values < low) | (values > high)).any())


def _answered(answers: Answers, plan: Plan) -> list[noise_checks.Answered]:
    found = []
    for step, use, block in _asked(answers, plan):
        if not (step.choice or isinstance(block, Response)):  # a place or a code, to which no noise is added
            # A person who is shortened counts parts of a unit.
            whole = not step.clips_persons(plan.unit)
            unit = noise_checks.unit_of(block, plan.units_per_one(step.name, block.name)) if whole else None
            found.append(noise_checks.Answered(answers.of(step.name, use, block.name), unit))
    return found


def _responded(answers: Answers, plan: Plan) -> list[noise_checks.Responded]:
    found = []
    for step, use, block in _asked(answers, plan):
        if isinstance(block, Response):
            told = truth_in_parts(block, noise_multiplier=plan.noise_multiplier(step.name)) / RESPONSE_PARTS
            other = (1 - told) / block.categories
            found.append(noise_checks.Responded(answers.of(step.name, use, block.name), block.categories, other))
    return found


def _check_discovery(answers: Answers, schema: Schema, discovery: DiscoveryPlan, found: Findings) -> None:
    """Bounds follow from the discovery's noisy histograms. Categories do not: counts of texts are not released."""
    if discovery.texts:
        names = ", ".join(repr(column.name) for column in discovery.texts)
        found.declared.append(f"that the categories of {names} passed the discovery's threshold")
    if not discovery.numbers:
        return
    again = found.attempt(lambda: discovered_bounds(discovery, answers), "the bounds cannot be found again")
    if again is None:
        return
    problems = []
    for name, column in again.items():
        known, spread = schema[name], column.high - column.low
        off = max(abs(known.low - column.low), abs(known.high - column.high))
        if off > _CLOSE * spread or not math.isfinite(spread):
            problems.append(
                f"column {name!r} has bounds [{known.low:g}, {known.high:g}], and its noisy histogram gives "
                f"[{column.low:g}, {column.high:g}]."
            )
    found.settle(problems, checked="the discovered bounds follow from the discovery's noisy histograms")
