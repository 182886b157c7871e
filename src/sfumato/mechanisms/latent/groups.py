"""Groups of rows, each of which has an encoder and a mixture of its own: the classes, or clusters found by noisy sums.

A class is a function of the row alone, so that groups by class cost nothing: a row counts in the sums of one group. Clusters
of the published kind, by k-means over the rows, are functions of everyone; here their centres are noisy sums, which cost
a part of the budget, and what classes a cluster holds is a noisy count.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.clusters import counts_and_sums, find_centres, in_group, nearest_centre, public_start
from sfumato.mechanisms.common.counted_classes import class_rates
from sfumato.mechanisms.common.prepared import VECTOR, whole_numbers
from sfumato.mechanisms.latent.rows import LatentRows, Vectors
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch, n_rows_of

Kind = Literal["classes", "clusters"]
#: The prepared column that holds them.
GROUP = " group"
_ROUNDS = 6
#: Of the precision for clusters, how much counts their classes.
_LABELS = 0.1


def group_of(batch: Batch) -> NDArray[np.int64]:
    """The prepared group of each row."""
    return whole_numbers(batch[GROUP])[:, 0]


@dataclass(frozen=True)
class Groups:
    """As many as there are classes."""

    rows: LatentRows
    by: Kind = "classes"

    def steps(self, *, share: float) -> tuple[Step, ...]:
        """The mean of all, rounds of k-means about it, and the classes of each cluster; nothing for classes."""
        if self.by == "classes":
            return ()
        n, width = self.rows.mixed.n_classes, self.rows.width
        labels = Hot(name="labels", width=n * n)
        return (
            Step(name="clusters", blocks=counts_and_sums(n, width), uses=1 + _ROUNDS, share=(1 - _LABELS) * share),
            Step(name="classes of clusters", blocks=(labels,), share=_LABELS * share),
        )

    def measure(self, view: Doors, *, radius: float) -> Vectors:
        """Prepare the group of each row, whose vector is prepared and about as long as the radius; the odds of its classes."""
        n, mixed = self.rows.mixed.n_classes, self.rows.mixed
        if self.by == "classes":
            view.prepare(GROUP, lambda batch: mixed.labels(batch)[:, None].astype(np.float64))
            return np.eye(n)
        everyone = view.noisy_sum("clusters", lambda batch: in_group(_together(batch), batch[VECTOR] / radius, n))
        mean = radius * everyone["sums"].values[: self.rows.width] / max(float(everyone["counts"].values[0]), 1.0)
        start = mean + public_start(1, n, self.rows.width, spread=radius / 2)
        centres, _ = find_centres(
            view, "clusters", start, labels=_together, vector=VECTOR, spread=radius, rounds=_ROUNDS
        )
        view.prepare(
            GROUP, lambda batch: nearest_centre(batch[VECTOR], _together(batch), centres)[:, None].astype(np.float64)
        )
        noisy = view.noisy_sum(
            "classes of clusters", lambda batch: {"labels": group_of(batch) * n + mixed.labels(batch)}
        )
        return np.stack([class_rates(counts) for counts in noisy["labels"].values.reshape(n, n)])


def _together(batch: Batch) -> NDArray[np.int64]:
    return np.zeros(n_rows_of(batch), dtype=np.int64)
