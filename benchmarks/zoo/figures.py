"""Runs of one case, gathered: the score that is compared, its spread over seeds, and what counts as worse."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.lab.benchmark.protocol import Spread
from sfumato.lab.benchmark.protocol import spread as spread_of

Record = dict[str, Any]

AUTO, REAL, HISTOGRAMS = "auto", "real", "independent-histograms"
#: Stands for the standard deviation of a single seed, which has none.
ONE_SEED = 0.01


def spread(records: Sequence[Record], key: str) -> Spread | None:
    """Of the runs that have this figure.

    >>> f"{spread([{'a': 0.5}, {'a': 0.7}, {'a': None}], 'a'):.3f}"
    '0.600 ± 0.141'
    """
    values = [record[key] for record in records if record.get(key) is not None]
    return spread_of(values) if values else None


def standard_error(found: Spread) -> float:
    """Of the mean."""
    return (ONE_SEED if found.deviation is None else found.deviation) / math.sqrt(found.count)


def with_score(record: Record) -> Record:
    """The run with `score`, what it is compared by: more is better. Without a target it is minus an error."""
    if record.get("utility") is not None:
        return {**record, "score": record["utility"]}
    errors = [record[key] for key in ("correlation", "cramer") if record.get(key) is not None]
    return {**record, "score": -statistics.mean(errors) if errors else None}


def trivial(record: Record) -> float:
    """The score of rows that say nothing: a coin, the mean, or no correlation at all."""
    if record.get("utility") is not None:
        return 0.0 if record["target"] == "number" else 0.5
    sizes = [record[key] for key in ("correlation_size", "cramer_size") if record.get(key) is not None]
    return -statistics.mean(sizes) if sizes else 0.0


def worse(one: Spread | None, other: Spread | None) -> bool:
    """Whether the first is below the second by more than two standard errors."""
    if other is None:
        return False
    return one is None or other.mean - one.mean > 2 * math.hypot(standard_error(one), standard_error(other))


@dataclass(frozen=True)
class Figures:
    """All runs of one case with one epsilon, by method: the default in two versions, the others in their latest."""

    case: str
    runs: dict[str, list[Record]]
    before: list[Record]

    def score(self, method: str) -> Spread | None:
        """Over the seeds of a method."""
        return spread(self.runs.get(method, []), "score")

    @property
    def facts(self) -> Record:
        """A run that was finished, for what does not depend on the method."""
        return next((r for runs in self.runs.values() for r in runs if r["status"] == "done"), {})

    def shown(self, value: Spread | None) -> str:
        """A score in words: without a target it is minus an error, and is shown as the error."""
        if value is None:
            return "-"
        told = f"{value:.3f}"
        return f"error {told.lstrip('-')}" if self.facts.get("target") == "none" else told

    @property
    def best_other(self) -> tuple[str, Spread] | None:
        """The best of the mechanisms besides the default and the histograms."""
        others = [(name, self.score(name)) for name in self.runs if name not in (AUTO, REAL, HISTOGRAMS)]
        found = [(name, score) for name, score in others if score is not None]
        return max(found, key=lambda item: item[1].mean, default=None)

    @property
    def lost(self) -> float | None:
        """The share of what real rows teach that is lost: 0 is as good as real, 1 no better than nothing."""
        real, mine = self.score(REAL), self.score(AUTO)
        if real is None or mine is None:
            return None
        return (real.mean - mine.mean) / max(1e-9, real.mean - trivial(self.facts))

    @property
    def beaten_by(self) -> list[str]:
        """Simpler mechanisms that are better beyond the noise of seeds."""
        mine = self.score(AUTO)
        return [name for name in self.runs if name not in (AUTO, REAL) and worse(mine, self.score(name))]

    @property
    def below_a_coin(self) -> bool:
        """Whether rows that say nothing would be better, beyond the noise of seeds."""
        mine = self.score(AUTO)
        return mine is not None and mine.mean + 2 * standard_error(mine) < trivial(self.facts)


def gather(records: Sequence[Record], *, present: str, previous: str | None, epsilon: float) -> list[Figures]:
    """One for each case of which the default was run, in the present version."""
    records = [with_score(r) for r in records if r["method"] == REAL or r["epsilon"] == epsilon]
    older = [r["as"] for r in records if r["method"] == AUTO and r["as"] != present]
    previous = previous or (older[-1] if older else None)
    found = []
    for case in dict.fromkeys(r["case"] for r in records if r["method"] == AUTO and r["as"] == present):
        mine = [r for r in records if r["case"] == case]
        runs = {method: _of_version(mine, method, present) for method in dict.fromkeys(r["method"] for r in mine)}
        before = [r for r in mine if r["method"] == AUTO and r["as"] == previous]
        found.append(Figures(case, {method: kept for method, kept in runs.items() if kept}, before))
    return found


def _of_version(records: Sequence[Record], method: str, present: str) -> list[Record]:
    """Runs of the present version; of a method that was not run again, those of its last one."""
    mine = [r for r in records if r["method"] == method]
    labels = [r["as"] for r in mine]
    label = present if present in labels or method == AUTO else labels[-1]
    return [r for r in mine if r["as"] == label]
