"""One noisy report of every row, and rows made of the reports: what `local-reports` and `dp-pro` share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements
from sfumato.mechanisms.common.classed_rows import class_names
from sfumato.mechanisms.common.pictures import in_bounds
from sfumato.mechanisms.local.calibration import calibrated, sure
from sfumato.mechanisms.local.directions import Directions, NearDirections
from sfumato.mechanisms.local.space import Space, decoded
from sfumato.model import FixedModel, Synthetic
from sfumato.public.budget import Budget
from sfumato.public.plan.block import Block, Dense, Response
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import EachRow, Step
from sfumato.public.schema.schema import Batch, Column, Schema


@dataclass(frozen=True, kw_only=True)
class Reporting(ABC):
    """Every row in a public space, randomised by itself, and its label by randomised response.

    Args:
        randomiser: `gaussian` noise in every entry, or `privunit`: one of many public directions, more often one near the row,
            at an epsilon without a delta.
        label_share: The part of the precision, or of epsilon, that goes to the label.
        l2_clip: Rows are clipped to this length about the centre of the space. None: as long as any row can be.
        calibrate: Whether reports are drawn towards the mean of their label as far as they are noise; otherwise they stay as
            they came.
    """

    name: ClassVar[str]
    randomiser: Literal["gaussian", "privunit"] = "gaussian"
    label_share: float = 0.5
    l2_clip: float | None = None
    calibrate: bool = True

    @abstractmethod
    def width(self, schema: Schema, budget: Budget) -> int:
        """How many numbers a report holds: a public fact."""

    @abstractmethod
    def space(self, schema: Schema, width: int) -> Space:
        """The public space of so many numbers that rows are reported in."""

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """One step: all reports."""
        schema.require_one_table(self.name)
        if self.randomiser not in ("gaussian", "privunit"):
            raise PlanError(f"randomiser = {self.randomiser!r} must be gaussian or privunit.")
        if not 0 < self.label_share < 1:
            raise PlanError(f"label_share = {self.label_share} must lie strictly between 0 and 1.")
        if self.l2_clip is not None and not 1e-6 <= self.l2_clip <= 1e6:
            raise PlanError(f"l2_clip = {self.l2_clip} must lie between 1e-6 and 1e6, in units of the space.")
        return (Step(name="reports", blocks=self._blocks(schema, budget), sampling=EachRow(), mixtures=_rows(schema)),)

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Ask for all reports."""
        space, label = self._space(schema, view.budget), label_of(schema)
        near = self._near(schema, view.budget)

        def report(batch: Batch) -> dict[str, NDArray[Any]]:
            row = space(batch) if near is None else near.codes(space(batch))
            return {"row": row} | ({} if label is None else {"label": batch[label.name]})

        noisy = view.noisy_reports("reports", report)
        row = noisy["row"] if near is None else near.reports(noisy["row"].values[:, 0].astype(np.int64))
        measured: dict[str, Any] = {"reports": row.values, "stddev": np.array(row.stddev)}
        return measured if label is None else {**measured, "labels": noisy["label"].values[:, 0].astype(np.int64)}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> FixedModel:
        """Take noise out, undo the projection, put values into their bounds."""
        reports, labels, lacking = measurements["reports"], measurements.get("labels"), None
        space, label = self.space(schema, reports.shape[1]), label_of(schema)
        if self.calibrate:
            reports, lacking = calibrated(reports, labels, stddev=float(measurements["stddev"]))
        if schema.images:
            if lacking is not None:
                spread = np.sqrt(sure(lacking, n_rows=len(reports), stddev=float(measurements["stddev"])))
                reports = reports + spread * np.random.default_rng(seed).normal(size=reports.shape)
            encoded, image = space.back(reports), schema.images[0]
            images = in_bounds(encoded.reshape(-1, *image.shape), image)
            return FixedModel(Synthetic(images=images, labels=labels, classes=class_names(label)))
        batch: dict[str, NDArray[Any]] = dict(
            decoded(space.back(reports), space.columns, lacking=space.variance_back(lacking), seed=seed)
        )
        if label is not None:
            batch[label.name] = measurements["labels"]
        return FixedModel(Synthetic(table=schema.decode(batch)))

    def held_rows(self, schema: Schema) -> int:
        """As many as there are rows, and no more."""
        return _rows(schema)

    def _blocks(self, schema: Schema, budget: Budget) -> tuple[Block, ...]:
        label, near = label_of(schema), self._near(schema, budget)
        space, share = self._space(schema, budget), self.row_share(schema)
        row: Block = Dense(name="row", width=space.width, l2_bound=self.l2_clip or space.length, share=share)
        if near is not None:
            row = near.block("row", share=share)
        if label is None:
            return (row,)
        pure = near is not None
        return (row, Response(name="label", categories=label.size, share=self.label_share, pure=pure))

    def _space(self, schema: Schema, budget: Budget) -> Space:
        return self.space(schema, self.width(schema, budget))

    def _near(self, schema: Schema, budget: Budget) -> NearDirections | None:
        """The directions that a row is reported by, if it is."""
        if self.randomiser == "gaussian":
            return None
        space = self._space(schema, budget)
        epsilon = budget.epsilon * self.row_share(schema)
        return NearDirections(Directions(space.width + 1), self.l2_clip or space.length, epsilon)

    def row_share(self, schema: Schema) -> float:
        """The part of the precision, or of epsilon, that the label leaves."""
        return 1.0 if label_of(schema) is None else 1 - self.label_share


def label_of(schema: Schema) -> Column | None:
    """The target, where it is a code: a number is reported like every other column."""
    target = schema.target_column
    return target if target is not None and target.is_coded and target.size > 1 else None


def reported_columns(schema: Schema) -> tuple[Column, ...]:
    """All columns but the label: of images, the picture."""
    label = label_of(schema)
    return schema.images or tuple(column for column in schema.columns if label is None or column.name != label.name)


def _rows(schema: Schema) -> int:
    if schema.rows is None:
        raise PlanError(
            "reports show how many rows there are, so their number must be declared, exactly. Set rows = N under [dataset] and "
            'relation = "replace_one" under [privacy] in schema.toml.'
        )
    return schema.rows
