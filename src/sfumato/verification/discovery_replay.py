"""What a discovery must cost and keep back, from its proof alone (docs/proofs/discovery.md).

It shares no code with the discovery that it checks. Units of privacy are k rows, n columns of numbers and C of texts.

* A tenth of the precision mu^2 that (epsilon, .9 delta) allows pays for it; the texts take half of that tenth. Of the rest
  the number of rows takes one part in n + 2 and the bounds the other n + 1.
* A row adds u units to its cell, and the noise has 2^20 of them. So a unit of privacy moves n histograms by k u sqrt(n), and
  that may be no more than the event says. The same holds of C columns of counted texts.
* A unit has at most k C texts for itself, each of them at most k times. All of them together may pass the threshold with
  probability f, a tenth of delta.
"""

import math
from collections.abc import Mapping
from typing import Any

from scipy.special import log_ndtr

from sfumato.verification.replay import gaussian_delta

_NOISE = 2.0**20
_TENTH = 0.1
ROWS, BOUNDS, TEXTS = "discovered rows", "discovered bounds", "discovered categories"


def replay_discovery(*, epsilon: float, delta: float, numbers: int, texts: int) -> dict[str, Any]:
    """The event of a discovery, as a certificate holds it."""
    precision = _TENTH * _largest_mu(epsilon, delta=(1 - _TENTH) * delta) ** 2
    histograms = precision / 2 if texts else precision
    parts = [1, numbers + 1] if numbers else [1]
    events: list[dict[str, Any]] = [
        {"event": "composed", "events": [_gaussian(histograms * part / sum(parts)) for part in parts]}
    ]
    if texts:
        events += [_gaussian(precision / 2), {"event": "epsilon_delta", "epsilon": 0.0, "delta": _TENTH * delta}]
    return {"event": "composed", "events": events}


def faults_of_discovery(
    event: Mapping[str, Any],
    *,
    numbers: tuple[str, ...],
    texts: tuple[str, ...],
    grid: Mapping[str, float],
    threshold: int | None,
    max_rows: int,
) -> list[str]:
    """Where the grid or the threshold of a discovery lets a unit of privacy do more than its event says."""
    histograms, *of_texts = event["events"]
    steps = {ROWS: ["rows"], BOUNDS: list(numbers)} if numbers else {ROWS: ["rows"]}
    booked = dict(zip(steps, (leaf["noise_multiplier"] for leaf in histograms["events"]), strict=True))
    if texts:
        steps[TEXTS], booked[TEXTS] = list(texts), of_texts[0]["noise_multiplier"]
    if set(grid) != {f"{step}/{block}" for step, blocks in steps.items() for block in blocks}:
        return ["the grid of the discovery is not that of its columns."]
    problems = []
    for step, blocks in steps.items():
        moved = max_rows * math.sqrt(math.fsum(grid[f"{step}/{block}"] ** 2 for block in blocks)) / _NOISE
        # Units are whole and rounded down: they fall short by one at most. Less would be noise that nobody asked for.
        if not moved <= (1 + 1e-12) / booked[step]:
            problems.append(f"the step {step!r} moves farther for one unit of privacy than its event says.")
    if not texts:
        return problems if threshold is None else [*problems, "a discovery without texts has no threshold."]
    if threshold is None or not of_texts[1]["delta"] > 0:
        return [*problems, "a discovery of texts needs a threshold, and a failure probability that pays for it."]
    beyond = (threshold - max_rows * max(grid[f"{TEXTS}/{name}"] for name in texts)) / _NOISE
    passing = math.log(max_rows * len(texts)) + float(log_ndtr(-beyond))
    if not passing <= math.log(of_texts[1]["delta"]) + 1e-12:
        problems.append("the threshold of the discovery lets texts of one unit pass more often than its event says.")
    return problems


def _gaussian(precision: float) -> dict[str, Any]:
    return {"event": "gaussian", "noise_multiplier": 1 / math.sqrt(precision)}


def _largest_mu(epsilon: float, *, delta: float) -> float:
    """The mu at which N(mu, 1) against N(0, 1) costs exactly (epsilon, delta)."""
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) < delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) < delta else (low, middle)
    return low
