"""The doors: what one row can move, the noise on it, and the coins. Statistical checks raise a false alarm once in 10^6 runs."""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.check.instruments.recorder import Drawn, whitened_distance
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.plan.block import Response
from sfumato.public.plan.choice import LOSS
from sfumato.public.plan.grid import NOISE_STDDEV, RESPONSE_PARTS, truth_in_parts
from sfumato.public.plan.step import Poisson, SecretBins, Step, WithoutReplacement

FALSE_ALARM = 1e-6
_RUNGS, _CHOICES, _RESPONSES, _ENOUGH_NOISE = 5, 2000, 20_000, 4000
#: The probability that two values of the noise are equal, which lies on whole numbers.
_EQUAL = 1 / (2 * math.sqrt(math.pi) * NOISE_STDDEV)


def neighbours_stay_close(setting: Setting) -> None:
    """With the same coins, data that differ in one unit give sums that differ by at most the accounted bound."""
    for pair in setting.pairs():
        for name, distance in whitened_distance(pair.one.record, pair.two.record, plan=setting.plan):
            step = setting.plan.step(name)
            bound = step.norm_of(setting.schema.unit) * (step.diameter() if setting.size_is_public else 1.0)
            if distance > bound * (1 + 1e-9):
                who, alone = ("row", "row") if setting.schema.unit.person is None else ("person", "person's sum")
                raise ContractError(
                    f"step {name!r}: one {who} moves a sum by {distance:.3g} times the norm of a row, and the accountant was "
                    f"told {bound:.3g} ({pair.label}). Some {alone} is not clipped, or does not act alone."
                )


def noise_has_its_scale(setting: Setting) -> None:
    """The variance of the noise is the planned one, neither less nor more."""
    values = _noise(setting)
    if not values.size:  # all steps are choices
        return
    total = float((values**2).sum())
    low, high = (float(stats.chi2.ppf(p, df=values.size)) for p in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
    if not low <= total <= high:
        ratio = np.sqrt(total / values.size)
        raise ContractError(f"the noise has {ratio:.3g} times its planned standard deviation.")


def noise_is_fresh(setting: Setting) -> None:
    """No noise is used twice: not between entries, not between mixtures, not between runs."""
    every = _noise(setting)
    often = np.unique(every, return_counts=True)[1]
    equal = float((often * (often - 1)).sum()) / 2
    # Noise lies on a grid, so some of very many values are equal by chance.
    by_chance = every.size * (every.size - 1) / 2 * _EQUAL
    if equal > stats.poisson.isf(FALSE_ALARM, by_chance):
        raise ContractError("the same noise was used more than once.")


def _noise(setting: Setting) -> NDArray[np.float64]:
    """What was added to the sums, in units of its planned scale: in two runs, and in more until there are thousands."""
    while len(setting.noise) < 2 or 0 < sum(values.size for values in setting.noise) <= _ENOUGH_NOISE:
        record = setting.run_well(setting.ordinary(), seed=None if setting.noise else 3).record
        steps = {key: setting.plan.step(key[0]) for key in record.sums}
        added = [key for key in steps if not (steps[key].choice or isinstance(steps[key].block(key[2]), Response))]
        found = [(record.answers[key] - record.sums[key]).ravel() / NOISE_STDDEV for key in added]
        setting.noise.append(np.concatenate([np.empty(0), *found]))
    return np.concatenate(setting.noise)


def choices_have_their_odds(setting: Setting) -> None:
    """A choice falls on each candidate as often as the planned rate says, on scores that are a public ladder."""
    for step in setting.plan.steps:
        if step.choice is None:
            continue
        rate = int(setting.plan.units_per_one(step.name, step.choice.name))
        ladder = [
            place * LOSS // (2 * rate) for place in range(_RUNGS)
        ]  # each e^(1/2) times as likely as the one before
        choose = partial(setting.primitives(NoiseSource()).choose, step=step.name, block=step.choice.name, rate=rate)
        found = np.bincount([choose(ladder) for _ in range(_CHOICES)], minlength=_RUNGS)
        odds = np.exp(0.5 * np.arange(_RUNGS))
        if stats.chisquare(found, _CHOICES * odds / odds.sum()).pvalue < FALSE_ALARM:
            raise ContractError(f"step {step.name!r}: candidates are not chosen at the rate that was accounted.")


def responses_have_their_odds(setting: Setting) -> None:
    """A response is any code of the row as often as planned, and every other code as often as any."""
    for step in setting.plan.steps:
        for block in step.blocks:
            if not isinstance(block, Response):
                continue
            parts = truth_in_parts(block, noise_multiplier=setting.plan.noise_multiplier(step.name))
            first, facts = np.arange(_RESPONSES)[:, None], {"categories": block.categories, "parts": parts}
            own = (first + np.arange(block.codes)) % block.categories
            given = setting.primitives(NoiseSource()).respond(own, step=step.name, block=block.name, **facts)
            turned = np.bincount(((given - first) % block.categories).ravel(), minlength=block.categories)
            odds = np.full(block.categories, (1 - parts / RESPONSE_PARTS) / block.categories)
            odds[: block.codes] += parts / RESPONSE_PARTS / block.codes
            # A category that no die shows, turning hides: how often is each named by rows that start at another code?
            named = np.bincount(given.ravel(), minlength=block.categories)
            codes = np.arange(block.categories)
            starts = np.bincount(first.ravel() % block.categories, minlength=block.categories)
            even = [starts @ odds[(code - codes) % block.categories] for code in codes]
            tails = (stats.chisquare(turned, _RESPONSES * odds).pvalue, stats.chisquare(named, even).pvalue)
            if min(tails) < FALSE_ALARM / 2:
                raise ContractError(f"step {step.name!r}: responses are not given at the odds that were accounted.")


def sampling_is_as_planned(setting: Setting) -> None:
    """Coins are independent, subsets have their size and are drawn anew, every row has one bin."""
    record = setting.run_well(setting.ordinary(), seed=5).record
    for step in setting.plan.steps:
        uses = [drawn for (name, _), drawn in sorted(record.drawn.items()) if name == step.name]
        if not uses:
            drawn_for = step.is_sampled or step.votes or isinstance(step.sampling, SecretBins)
            if drawn_for and record.uses(step.name, step.blocks[0].name):
                raise ContractError(f"step {step.name!r}: who takes part was not drawn by coins, dice or subsets.")
            continue
        if any(drawn.n_rows != setting.n_rows for drawn in uses):
            raise ContractError(f"step {step.name!r}: some row had no coin of its own.")
        if step.votes:
            _check_parts(setting, step, step.votes.teachers, uses)
        elif step.is_mixed:
            for drawn in uses:
                _check_members(step, *drawn.members(), n_rows=setting.n_rows)
        elif isinstance(step.sampling, Poisson):  # every use draws anew: to the account, uses are like mixtures
            rows, rate = [drawn.members()[0] for drawn in uses], step.sampling.rate
            _check_binomial(step, np.array([len(chosen) for chosen in rows]), trials=setting.n_rows, rate=rate)
            per_row = np.bincount(np.concatenate(rows), minlength=setting.n_rows)
            _check_binomial(step, per_row, trials=len(uses), rate=rate)


def _check_members(step: Step, rows: NDArray[np.int64], mixtures: NDArray[np.int64], *, n_rows: int) -> None:
    per_mixture = np.bincount(mixtures, minlength=step.mixtures)
    per_row = np.bincount(rows, minlength=n_rows)
    if len(np.unique(rows * step.mixtures + mixtures)) != rows.size:
        raise ContractError(f"step {step.name!r}: a row takes part twice in one mixture.")
    match step.sampling:
        case Poisson(rate):
            _check_binomial(step, per_mixture, trials=n_rows, rate=rate)
            _check_binomial(step, per_row, trials=step.mixtures, rate=rate)
        case WithoutReplacement(degree, population):
            if (per_mixture != degree).any():
                raise ContractError(f"step {step.name!r}: a mixture does not hold exactly {degree} rows.")
            _check_binomial(step, per_row, trials=step.mixtures, rate=degree / population)
        case SecretBins():
            _check_dice(step, per_mixture, per_row)


def _check_dice(step: Step, per_side: NDArray[np.int64], per_row: NDArray[np.int64]) -> None:
    if (per_row != 1).any():
        raise ContractError(f"step {step.name!r}: a row is not in exactly one bin.")
    _check_binomial(step, per_side, trials=len(per_row), rate=1 / len(per_side))


def _check_parts(setting: Setting, step: Step, n_teachers: int, uses: list[Drawn]) -> None:
    """Every row has one teacher, by a fair die that falls otherwise in another run."""
    for drawn in uses:
        rows, teachers = drawn.members()
        per_teacher = np.bincount(teachers, minlength=n_teachers)
        _check_dice(step, per_teacher, np.bincount(rows, minlength=setting.n_rows))
    again = setting.run_well(setting.ordinary(), seed=None).record.drawn[step.name, 0]
    if n_teachers > 1 and np.array_equal(again.members()[1], uses[0].members()[1]):
        raise ContractError(
            f"step {step.name!r}: who learns from which rows is the same in every run, so it is no secret."
        )


def _check_binomial(step: Step, counts: NDArray[np.int64], *, trials: int, rate: float) -> None:
    """Pearson's dispersion: too wide means shared coins, too narrow means batches of a fixed size."""
    if rate >= 1:
        return
    expected = trials * rate
    dispersion = float(((counts - expected) ** 2).sum() / (expected * (1 - rate)))
    # Few trials make the statistic wider than chi-square: scale by its exact variance.
    excess = (1 - 6 * rate * (1 - rate)) / (expected * (1 - rate))
    spread = np.sqrt(counts.size * (2 + max(excess, 0.0)))
    reach = stats.norm.isf(FALSE_ALARM / 2) * spread + 20  # and some room for its skewness
    if abs(dispersion - counts.size) > reach:
        raise ContractError(
            f"step {step.name!r}: who takes part does not look like independent draws at rate {rate:.3g} "
            f"(dispersion {dispersion / counts.size:.3g}, expected 1)."
        )
