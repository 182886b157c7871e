"""Do the doors' integers look as if noise had been added to them? Tests that an honest release fails once in 10^9.

An honest answer is s + N: an integer s that we do not know, and a rounded Gaussian N of standard deviation 2^20, drawn
anew for every answer. Whatever the s are, this much is known, and every test below rests on one of these lines alone:

* **Low bits.** N modulo 1,024 is uniform to less than e^-100, so the ten lowest bits of all answers are fair coins.
* **Place between the marks.** In a block of counts s is a multiple of the public unit u, so an answer modulo u is N
  modulo u, a wrapped Gaussian: its distribution function turns it into a uniform number. The bound of Dvoretzky, Kiefer,
  Wolfowitz and Massart holds for any number of answers. Where rows of a person are clipped together, there are no marks.
* **On the mark.** An answer that is a multiple of u to the unit has probability 1/u + p at most, p being N's largest
  mass (3.8e-7); k of them have (sum of these)^k / k! at most. A few exact counts among thousands of noisy ones show.
* **Too small.** N is symmetric with one peak, so |s + N| <= t is at most as likely as |N| <= t (Anderson, 1955). Cells
  that are empty or noise that was halved give more small answers than that, where many cells are next to empty.
* **Repeated.** Two answers are equal with probability p at most, so m equal ones among n have C(n, m) p^(m - 1) at most.
* **Responses.** A response is each category with a probability of at least q, whatever the row's own is: a category that is
  named more seldom than by n coins of probability q was not thrown for.

What a forger can do that no such test sees: add noise of the right kind with a seed that he keeps, subtract nothing, and
describe other rows; scale all answers so that they fit another plan; weaken noise on sums of vectors whose entries are far
from 0, or on counts with units far below 2^20; put sums of many vectors in place of noise. That is why *this code ran* and
*the randomness was secret* are declared.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln, ndtr

from sfumato.public.plan.block import Hot, Votes
from sfumato.public.plan.grid import NOISE_STDDEV

#: An honest release fails one of the tests this often at most, over all of them together.
FALSE_ALARM = 1e-9
_EACH = FALSE_ALARM / 6
_LOW_BITS = 10
_LARGEST_MASS = 1 / (NOISE_STDDEV * math.sqrt(2 * math.pi))
#: How small is small: parts of the noise's standard deviation.
_SMALL = (1 / 4096, 1 / 64, 1 / 8, 1 / 2, 1.0)
#: Between marks closer than this, an answer has too few places for a test.
_LEAST_UNIT = 64


@dataclass(frozen=True)
class Answered:
    """The integers of one block, with the unit between marks where its sums are counts."""

    integers: NDArray[np.int64]
    unit: int | None


@dataclass(frozen=True)
class Responded:
    """The codes of one randomised response, of so many categories, each named with at least the probability `other`."""

    codes: NDArray[np.int64]
    categories: int
    other: float


def unit_of(block: object, units_per_one: float) -> int | None:
    """The distance between marks in a block of counts; None where sums may lie anywhere."""
    is_counts = isinstance(block, Votes) or (isinstance(block, Hot) and not block.weighted)
    whole = units_per_one >= _LEAST_UNIT and float(units_per_one).is_integer()
    return int(units_per_one) if is_counts and whole else None


def implausible_noise(blocks: list[Answered]) -> list[str]:
    """A sentence for each test that the answers fail."""
    if not sum(block.integers.size for block in blocks):
        return []
    everything = np.concatenate([block.integers.ravel() for block in blocks])
    of_all = [*_low_bits(everything), *_too_small(everything), *_repeated(everything)]
    return [*of_all, *_on_the_mark(blocks), *_between_marks(blocks)]


def implausible_responses(blocks: list[Responded]) -> list[str]:
    """A sentence for each response that is truer than planned, as far as its rarest category shows."""
    said = []
    for block in blocks:
        named = int(np.bincount(block.codes.ravel(), minlength=block.categories).min())
        tail = float(stats.binom.cdf(named, block.codes.size, block.other))
        if tail * block.categories * len(blocks) < _EACH:
            said.append(
                f"the responses hold less chance than planned: a category is named {named:,} times, and dice alone would name it "
                f"about {block.other * block.codes.size:,.0f} times."
            )
    return said


def _low_bits(answers: NDArray[np.int64]) -> Iterator[str]:
    n = answers.size
    for bit in range(_LOW_BITS):
        ones = int(((answers >> bit) & 1).sum())
        tail = float(stats.binom.cdf(min(ones, n - ones), n, 0.5))
        if 2 * tail < _EACH / _LOW_BITS:
            yield (
                f"the doors' integers were rounded or hold no noise: bit {bit} is 1 in {ones:,} of {n:,}, "
                "where a fair coin decides."
            )
            return


def _too_small(answers: NDArray[np.int64]) -> Iterator[str]:
    n = answers.size
    for part in _SMALL:
        reach = math.floor(part * NOISE_STDDEV)
        probability = float(2 * ndtr((reach + 0.5) / NOISE_STDDEV) - 1)
        small = int(((answers >= -reach) & (answers <= reach)).sum())
        if float(stats.binom.sf(small - 1, n, probability)) < _EACH / len(_SMALL):
            yield (
                f"the doors' integers hold less noise than planned: {small:,} of {n:,} are smaller than noise alone "
                f"would leave them (about {probability * n:,.0f} may be)."
            )
            return


def _repeated(answers: NDArray[np.int64]) -> Iterator[str]:
    n, most = answers.size, int(np.unique(answers, return_counts=True)[1].max())
    if most < 2:
        return
    log_pairs = float(gammaln(n + 1) - gammaln(most + 1) - gammaln(n - most + 1))
    if log_pairs + (most - 1) * math.log(_LARGEST_MASS) < math.log(_EACH):
        yield f"the doors' integers repeat themselves: one of them stands there {most:,} times, which noise forbids."


def _on_the_mark(blocks: list[Answered]) -> Iterator[str]:
    exact, expected = 0, 0.0
    for block in blocks:
        if block.unit is not None:
            exact += int((block.integers % block.unit == 0).sum())
            expected += block.integers.size * (1 / block.unit + _LARGEST_MASS)
    if exact and exact * math.log(expected) - float(gammaln(exact + 1)) < math.log(_EACH):
        yield f"{exact:,} of the doors' counts are whole numbers to the last unit: they hold no noise."


def _between_marks(blocks: list[Answered]) -> Iterator[str]:
    units = [block.unit for block in blocks if block.unit is not None]
    if not units:
        return
    places = [_place(block.integers.ravel(), unit=block.unit) for block in blocks if block.unit is not None]
    uniform, n = np.sort(np.concatenate(places)), sum(place.size for place in places)
    distance = float(np.max(np.maximum(np.arange(1, n + 1) / n - uniform, uniform - np.arange(n) / n)))
    allowed = math.sqrt(math.log(2 / _EACH) / (2 * n)) + 0.5 / min(units) + 1e-5  # whole units are no points
    if distance > allowed:
        yield (
            "the doors' counts do not lie between whole numbers as their noise would put them: "
            f"off by {distance:.3f}, and chance explains {allowed:.3f}."
        )


def _place(answers: NDArray[np.int64], *, unit: int) -> NDArray[np.float64]:
    """Where each answer lies between two marks, as a number that is uniform on [0, 1] if its noise is as planned."""
    rest = (answers % unit).astype(np.float64)
    if unit <= NOISE_STDDEV // 4:
        return (rest + 0.5) / unit  # wrapped so often that nothing is left of the bell
    # Sum over the turns that matter of P(turn * unit <= N <= turn * unit + rest), the rounding of N included.
    turns = np.arange(-math.ceil(9 * NOISE_STDDEV / unit) - 1, math.ceil(9 * NOISE_STDDEV / unit) + 1) * float(unit)
    upto = ndtr((rest[:, None] + turns + 0.5) / NOISE_STDDEV) - ndtr((turns - 0.5) / NOISE_STDDEV)
    return np.asarray(np.clip(upto.sum(axis=1), 0.0, 1.0))
