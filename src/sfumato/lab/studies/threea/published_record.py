"""ClustMix as published, on a benchmark: its search for settings, and its score under each reading of its noise.

Settings are tried release after release, and the best by its score on the private rows is taken: none of it is accounted in the paper.
Its search is HEBO over 30 rounds; here it is a Latin hypercube of 30 settings, the same for all readings, so that they differ in
nothing but the noise.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from sfumato.lab.benchmark.datasets import BenchmarkError
from sfumato.lab.studies.threea.clustmix_published import Setting, mixtures_of
from sfumato.lab.studies.threea.clustmix_witness import find_witness
from sfumato.lab.studies.threea.numbers import Numbers
from sfumato.lab.studies.threea.readings import EQUATION_7, READINGS, Reading

#: Rows of a cluster that are tried: fewer are mostly noise, and there would be very many points.
_LEAST, _MOST, _MOST_POINTS = 8, 1_000, 4_000
_ROWS_OF_A_SLICE = (2_000, 100_000)
_RIDGES = (1e-6, 1e-1)
#: Of the curve. At 1 Adapt does nothing.
ALPHAS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.98, 1.0)


@dataclass(frozen=True)
class Trial:
    """One release: a setting, a seed, and which rows judge it."""

    setting: Setting
    seed: int = 0
    on_test: bool = False
    readings: tuple[Reading, ...] = READINGS


#: What a trial gives: a score for each reading, and how many points; no score where fewer than two classes have a point.
Outcome = dict[str, Any]
#: Runs trials; a study runs them one after the other, a program that has many cores side by side.
Runner = Callable[[Sequence[Trial]], list[Outcome]]


def outcome_of(numbers: Numbers, trial: Trial, *, epsilon: float) -> Outcome:
    """Carry one trial out."""
    setting = trial.setting
    rows = numbers.box(setting.scaling).train
    mixed = mixtures_of(rows, numbers.labels, n_classes=numbers.n_classes, setting=setting, seed=trial.seed)
    scores: dict[str, float] = {}
    if len(np.unique(mixed.classes)) > 1:
        for reading in trial.readings:
            points = mixed.released(numbers.claim(epsilon), reading, seed=trial.seed)
            score = numbers.score(points, mixed.classes, setting.scaling, seed=trial.seed, on_test=trial.on_test)
            scores[reading] = round(score, 6)
    return {"scores": scores, "points": len(mixed.classes), "moved": round(mixed.moved, 5)}


def settings_to_try(numbers: Numbers, *, rounds: int, least: int | None = None) -> list[Setting]:
    """A Latin hypercube over the free parameters; the least size may be given."""
    n_rows, rarest = len(numbers.labels), int(np.bincount(numbers.labels, minlength=numbers.n_classes).min())
    most_slices, fewest_slices = (max(1, math.ceil(n_rows / rows)) for rows in _ROWS_OF_A_SLICE)
    lowest = max(_LEAST, n_rows // _MOST_POINTS)
    tried = []
    for a, b, c, d, e in qmc.LatinHypercube(d=5, seed=0).random(rounds):
        slices = round(_between(a, fewest_slices, most_slices))
        highest = max(lowest, min(_MOST, rarest // slices))
        tried.append(
            Setting(
                least=least or round(_between(b, lowest, highest)),
                slices=slices,
                alpha=round(float(c), 3),
                ridge=float(f"{_between(d, *_RIDGES):.2g}"),
                scaling=numbers.scalings[int(e * len(numbers.scalings))],
            )
        )
    return tried


def _between(share: float, low: float, high: float) -> float:
    """On a log scale.

    >>> round(_between(0.5, 1, 100), 6)
    10.0
    """
    return float(low * (high / low) ** share)


@dataclass(frozen=True, kw_only=True)
class Published:
    """A line of the paper: a dataset, the claimed epsilon and, where the paper says so, the rows of a mixture.

    `rounds` and `seeds` are the most that are run: the larger a dataset, the fewer.
    """

    dataset: str
    epsilon: float = 1.0
    least: int | None = None
    rounds: int = 30
    seeds: int = 5

    def record(self, numbers: Numbers, *, rounds: int, seeds: int, run: Runner) -> dict[str, Any]:
        """What is claimed, what is true, and what LightGBM makes of the points under each reading of the noise.

        Args:
            numbers: The dataset.
            rounds: Settings that are tried, with seed 0.
            seeds: The chosen setting is run with so many.
            run: Carries out trials.
        """
        rounds, seeds = min(rounds, self.rounds), min(seeds, self.seeds)
        settings = settings_to_try(numbers, rounds=rounds, least=self.least)
        # One setting alone needs no judge.
        found = run([Trial(setting) for setting in settings]) if rounds > 1 else []
        chosen = {reading: _best(settings, found, reading) for reading in READINGS}
        runs = [
            Trial(setting, seed, on_test=True, readings=tuple(r for r in READINGS if chosen[r][0] == setting))
            for setting in dict.fromkeys(setting for setting, _ in chosen.values())
            for seed in range(seeds)
        ]
        outcomes = list(zip(runs, run(runs), strict=True))
        claim = numbers.claim(self.epsilon)
        readings = {}
        for reading, (setting, private) in chosen.items():
            mine = [outcome for trial, outcome in outcomes if reading in trial.readings]
            readings[reading] = {
                **asdict(setting),
                "noise": float(f"{claim.noise(reading, setting.least):.3g}"),
                "fixed_epsilon": float(f"{claim.honest_epsilon(reading):.4g}"),
                "private_score": private,
                "points": mine[0]["points"],
                "values": [outcome["scores"][reading] for outcome in mine if outcome["scores"]],
            }
        witness = find_witness(claim, least=max(chosen[EQUATION_7][0].least, 4))
        return {
            "readings": readings,
            "claimed_epsilon": self.epsilon,
            "claimed_delta": claim.delta,
            "honest_epsilon": "infinite" if math.isinf(witness.honest_epsilon) else witness.honest_epsilon,
            "clustering_epsilon": round(witness.epsilon, 1),
            "rounds": rounds,
            "seeds": list(range(seeds)),
            "rows": len(numbers.labels),
            "features": claim.features,
            "classes": claim.classes,
            "metric": numbers.metric,
            "unit": "any one row, replaced by any other",
        }


def _best(settings: Sequence[Setting], found: Sequence[Outcome], reading: Reading) -> tuple[Setting, float | None]:
    """The setting with the highest score on the private rows."""
    if len(settings) == 1:
        return settings[0], None
    scored = {at: outcome["scores"][reading] for at, outcome in enumerate(found) if outcome["scores"]}
    if not scored:
        raise BenchmarkError("no setting that was tried leaves two classes with a cluster: nothing would be released.")
    best = max(scored, key=scored.__getitem__)
    return settings[best], scored[best]


@dataclass(frozen=True, kw_only=True)
class AlphaCurve:
    """The trade-off of Eq. 5: one setting, and alpha from the classifier alone (0) to the density alone (1)."""

    dataset: str
    epsilon: float = 1.0
    least: int = 60
    slices: int = 4
    ridge: float = 1e-3

    def record(self, numbers: Numbers, *, rounds: int, seeds: int, run: Runner) -> dict[str, Any]:
        """Scores on the test rows at each alpha, a list of seeds for each, and how far the points were moved."""
        runs = [
            Trial(Setting(least=self.least, slices=self.slices, ridge=self.ridge, alpha=alpha), seed, on_test=True)
            for alpha in ALPHAS
            for seed in range(seeds)
        ]
        outcomes = list(zip(runs, run(runs), strict=True))
        at = {alpha: [outcome for trial, outcome in outcomes if trial.setting.alpha == alpha] for alpha in ALPHAS}
        return {
            **asdict(self),
            "alphas": list(ALPHAS),
            "moved": [[outcome["moved"] for outcome in at[alpha]] for alpha in ALPHAS],
            "scores": {
                reading: [[outcome["scores"][reading] for outcome in at[alpha]] for alpha in ALPHAS]
                for reading in READINGS
            },
            "seeds": list(range(seeds)),
        }
