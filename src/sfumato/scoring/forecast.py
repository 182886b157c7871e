"""What a private score will be worth, before any row is read: how many rows it takes, and how wide its interval will be."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Mechanism
from sfumato.public.budget import Budget
from sfumato.public.certificate.layout import Grid, Section
from sfumato.public.certificate.score import RANGES, Metric
from sfumato.public.plan.measured import Measured
from sfumato.public.schema.schema import Schema, sketch
from sfumato.scoring.step import BINS, COUNTS, SCORE, SHARE, check_share, metric_of, refuse_public_counts, score_plan
from sfumato.scoring.values import score_of

#: Sizes that are told where none is declared.
_SIZES = (1_000, 10_000, 100_000, 1_000_000)
#: Of two classes: the share of the smaller one.
_RATES = (0.5, 0.1)


@dataclass(frozen=True)
class ExpectedScore:
    """A score that is planned. `stddev` is the noise of each of its counts; of a declared number of rows a `share` is set apart."""

    share: float
    metric: Metric
    stddev: float
    max_rows: int
    rows: int | None

    def half_width(self, rows: int, *, rate: float = _RATES[0]) -> float | None:
        """Of the 95 % interval, for a learner of usual worth: an AUC of .83, an accuracy of .8, an R2 of .5. None: noise leaves nothing."""
        counts = self.share * rows * _usual_counts(self.metric, rate)
        value, low, high = score_of(self.metric, Measured(counts, self.stddev), max_rows=self.max_rows)
        return None if (low, high) == RANGES[self.metric] else max(value - low, high - value)

    def half_widths(self, rows: int) -> dict[str, float | None]:
        """By the share of the rarer class, where there are two; all else has one."""
        if self.metric != "AUC":
            return {self.metric: self.half_width(rows)}
        return {f"a class of {rate:.0%}": self.half_width(rows, rate=rate) for rate in _RATES}

    @property
    def section(self) -> Section:
        """For people."""
        left = 1 - self.share
        sizes = _SIZES if self.rows is None else (self.rows,)
        widths = [(f"{rows:,}", *map(_width_text, self.half_widths(rows).values())) for rows in sizes]
        return Section(
            title="The private score",
            subtitle=f", {self.metric}",
            before=(
                f"A secret coin sets {self.share:.0%} of the rows apart{self._about(self.share)}. They cost no epsilon: nothing else "
                f"measures them. The other {left:.0%}{self._about(left)} have the whole budget, and noise weighs {1 / left:.2f} "
                "times as much as in a release without a score.",
            ),
            grid=Grid(("rows", *self.half_widths(sizes[0])), tuple(widths), numbers=len(widths[0])),
            notes=(
                "The score will be told give or take this, with a confidence of 95 %, if the learner is of usual worth.",
            ),
        )

    def _about(self, share: float) -> str:
        return "" if self.rows is None else f" (about {share * self.rows:,.0f})"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        sizes = _SIZES if self.rows is None else (self.rows,)
        widths = {f"{rows}": self.half_widths(rows) for rows in sizes}
        return {"share": self.share, "metric": self.metric, "noise_stddev": self.stddev, "half_width": widths}


def _width_text(width: float | None) -> str:
    return "noise leaves nothing" if width is None else f"{width:.2g}"


def expected_score(mechanism: Mechanism, schema: Schema, budget: Budget, *, share: float = SHARE) -> ExpectedScore:
    """Plan a score; whatever `fit` would refuse is refused."""
    check_share(share)
    known = sketch(schema)
    refuse_public_counts(mechanism.steps(known, budget))
    stddev = score_plan(known, budget).noise_stddev(SCORE, COUNTS)
    return ExpectedScore(share, metric_of(known), stddev, schema.unit.max_rows, schema.rows)


def _usual_counts(metric: Metric, rate: float) -> NDArray[np.float64]:
    """What one row counts on average, where a learner is of usual worth."""
    if metric == "accuracy":
        return np.array([0.2, 0.8])
    if metric == "AUC":  # the rarer class becomes evenly more frequent from part to part, the other one less
        rising = np.arange(1, 2 * BINS, 2) / BINS**2
        return np.concatenate([(1 - rate) * rising[::-1], rate * rising])
    # Normal numbers whose extremes are four deviations away, half of whose variance is foreseen.
    yy, ee = 1 / 16, 1 / 32
    return np.array([1, 0, yy, ee, 3 * ee**2, 0, 4 * ee**2, 0, 3 * yy**2])
