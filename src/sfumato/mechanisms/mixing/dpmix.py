"""DPMix made sound: release noisy mixtures of random rows (Lee et al. 2019), with an account that is true of them.

Each mixture is c + (sum of (x - c) over sampled rows + noise) / l, with c, l and the sampling rate public constants.
Rows lie in the unit box; measured from its centre they are half as long as from its corner, which halves the noise.
Proofs: docs/proofs/doors.md and docs/proofs/poisson-mixing.md.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.arrays import Floats, Singles
from sfumato.mechanisms.common.mixtures import mixtures_as_synthetic
from sfumato.mechanisms.common.settings import rows_needed
from sfumato.model import FixedModel
from sfumato.public.budget import Budget
from sfumato.public.plan.block import Block, Dense, Hot
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.reading import Reading
from sfumato.public.plan.step import KnownPartition, Poisson, Sampling, SecretBins, Step, WithoutReplacement
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Batch, Schema

SamplingName = Literal["poisson", "without_replacement", "secret_bins", "known_partition"]

#: Means are released on this grid: exact in float32, and far finer than any noise that protects.
GRID_STEP = 2.0**-14


@register
@dataclass(frozen=True, kw_only=True)
class DPMix:
    """Mix about `degree` random rows, `mixtures` times.

    Args:
        mixtures: How many mixtures to release (T).
        degree: How many rows a mixture holds, or holds on average (l).
        sampling: `poisson` (default; the number of rows stays private), `secret_bins` (every row in one mixture),
            `without_replacement` and `known_partition` (both need relation = "replace_one").
        classwise: Mix only rows of the same class; `mixtures` are divided evenly among the classes.
        l2_clip: Clip rows to this norm about `centre`, in units of the box. None: the box itself is the bound.
        centre: The point that rows are measured from: 0.5 is the middle of the box.
        label_share: The part of the precision that goes to the labels. None: equal noise on labels and features.
        labels: `soft` releases mixed labels beside the hard ones, `hard` only the most likely class.
    """

    name: ClassVar[str] = "dpmix"
    mixtures: int = 10_000
    degree: int = 256
    sampling: SamplingName = "poisson"
    classwise: bool = False
    l2_clip: float | None = None
    centre: float = 0.5
    label_share: float | None = None
    labels: Literal["soft", "hard"] = "soft"

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """One step: all mixtures at once."""
        schema.require_one_table(self.name)
        self._check(schema)
        n_groups = self._n_groups(schema)
        return (
            Step(
                name="mixtures",
                blocks=self._blocks(schema),
                sampling=self._sampling(schema),
                mixtures=self.mixtures // n_groups,
                groups=n_groups,
            ),
        )

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Sum sampled rows and their labels, with noise, and divide by the public degree."""
        encoder = Encoder(schema.features)

        def centred(batch: Batch) -> dict[str, Floats]:
            features = encoder(batch)
            features -= self.centre  # in place: images are most of the bytes there are
            contribution = {"features": features}
            if self.classwise:
                contribution["size"] = np.zeros(len(features))
            elif schema.target:
                contribution["labels"] = batch[schema.target].astype(np.float64)
            return contribution

        group_of = (lambda batch: batch[schema.target]) if self._n_groups(schema) > 1 else None
        noisy = view.noisy_mixtures("mixtures", centred, group_of=group_of)
        return {name: _on_grid(sums.values / self._degree(schema)) for name, sums in noisy.items()}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> FixedModel:
        """Put the centre back; the mixtures are the release."""
        features, labels = measurements["features"], measurements.get("labels")
        if self.classwise:
            # How full a mixture of each class is on average, from the noisy sizes: many, so nearly exact.
            n_groups = self._n_groups(schema)
            size = measurements["size"].reshape(n_groups, -1).mean(axis=1)
            fullness = np.repeat(np.maximum(size, 0.05), len(features) // n_groups)
            features = features / fullness[:, None]
            labels = np.repeat(np.eye(n_groups, dtype=np.float32), len(features) // n_groups, axis=0)
        features = _on_grid(features + self.centre)
        return FixedModel(mixtures_as_synthetic(features, labels, schema=schema, soft=self.labels == "soft"))

    def held_rows(self, schema: Schema) -> int:
        """The mixtures, and no more."""
        return self.mixtures

    def readings(self, schema: Schema) -> tuple[Reading, ...]:
        """The noise on each entry of a mixture, which is a mean of about `degree` rows."""
        one, measured_by = 1 / self._degree(schema), partial(Reading, step="mixtures")
        readings = []
        for column in schema.features:
            if column.is_coded:
                what, unit, scale = "a mixed share", "share", one
            else:
                what = "a mixed pixel" if column.kind == "image" else "a mixed value"
                unit, scale = "", one * (column.high - column.low)
            readings.append(measured_by(column=column.name, what=what, block="features", per_one=scale, unit=unit))
        if schema.target and not self.classwise:
            readings.append(
                measured_by(column=schema.target, what="a mixed share", block="labels", per_one=one, unit="share")
            )
        return tuple(readings)

    def _check(self, schema: Schema) -> None:
        if self.mixtures < 1 or self.degree < 1:
            raise PlanError(f"mixtures = {self.mixtures} and degree = {self.degree} must both be at least 1.")
        if self.mixtures == 1 and self.sampling == "poisson":
            raise PlanError(
                "one mixture of a Poisson sample is a noisy sum, and no set to train on. Use 2 mixtures or more."
            )
        if self.classwise and self.sampling not in ("poisson", "secret_bins"):
            raise PlanError(
                f"class-wise mixing by {self.sampling} needs public class sizes. Use poisson or secret_bins."
            )
        if self.classwise and self.mixtures % self._n_groups(schema):
            raise PlanError(
                f"mixtures = {self.mixtures} must be a multiple of the {self._n_groups(schema)} classes for class-wise mixing."
            )
        if self.l2_clip is not None and not 1e-6 <= self.l2_clip <= 1e6:
            raise PlanError(f"l2_clip = {self.l2_clip} must lie between 1e-6 and 1e6, in units of the box.")
        if not 0 <= self.centre <= 1:
            raise PlanError(f"centre = {self.centre} must lie in the unit box, between 0 and 1.")
        if self.label_share is not None and not 0 < self.label_share < 1:
            raise PlanError(f"label_share = {self.label_share} must lie strictly between 0 and 1.")
        if schema.target and not self.classwise:
            schema.require_coded_target()

    def _blocks(self, schema: Schema) -> tuple[Block, ...]:
        width = Encoder(schema.features).width
        bound = self.l2_clip or math.sqrt(width) * max(self.centre, 1 - self.centre)
        if schema.target is None:
            return (Dense(name="features", width=width, l2_bound=bound),)
        share = self.label_share or 1 / (1 + bound**2)
        features = Dense(name="features", width=width, l2_bound=bound, share=1 - share)
        if self.classwise:
            return (features, Hot(name="size", width=1, share=share))
        return (features, Hot(name="labels", width=schema.require_coded_target().size, share=share))

    def _n_groups(self, schema: Schema) -> int:
        return schema.require_coded_target().size if self.classwise else 1

    def _degree(self, schema: Schema) -> float:
        """Rows in a mixture, on average: a public constant whatever the data holds."""
        if self.sampling in ("poisson", "without_replacement"):
            return self.degree
        return max(1.0, rows_needed(schema, what="dpmix") / self.mixtures)

    def _sampling(self, schema: Schema) -> Sampling:
        rows = rows_needed(schema, what="dpmix")
        match self.sampling:
            case "poisson":
                return Poisson(self.degree * self._n_groups(schema) / rows)
            case "without_replacement":
                return WithoutReplacement(self.degree, rows)
            case "secret_bins":
                return SecretBins()
            case "known_partition":
                return KnownPartition()
        raise PlanError(
            f"sampling = {self.sampling!r} is not known. Use poisson, without_replacement, secret_bins or known_partition."
        )


def _on_grid(means: NDArray[Any]) -> Singles:
    return (np.round(means / GRID_STEP) * GRID_STEP).astype(np.float32)
