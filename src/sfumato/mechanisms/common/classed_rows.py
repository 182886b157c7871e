"""Rows divided by their class: what mechanisms for tables and for pictures ask of a schema alike."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.mechanisms.common.arrays import Integers
from sfumato.public.schema.schema import Batch, Column, Schema, n_rows_of


def class_names(target: Column | None) -> tuple[str, ...]:
    """The names of the classes in the order of their codes, missing ones last; none without a target."""
    return () if target is None else (*target.categories, *(("(missing)",) if target.missing else ()))


def labels_of(batch: Batch, target: str | None) -> Integers:
    """The class of each row; 0 where there is no target."""
    return np.zeros(n_rows_of(batch), dtype=np.int64) if target is None else batch[target].astype(np.int64)


@dataclass(frozen=True)
class ClassedRows:
    """The rows of a schema. A class is a coded target; a target that is a number is one more column."""

    schema: Schema

    @cached_property
    def target(self) -> Column | None:
        """The column of the class, if there are classes."""
        column = self.schema.target_column
        return column if column is not None and column.is_coded else None

    @cached_property
    def n_classes(self) -> int:
        """One where there is no class."""
        return 1 if self.target is None else self.target.size

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns but the class; of images, the image."""
        return self.schema.images or tuple(column for column in self.schema.columns if column != self.target)

    @property
    def image(self) -> Column | None:
        """The image, if the rows are images."""
        return self.schema.images[0] if self.schema.images else None

    def labels(self, batch: Batch) -> Integers:
        """The class of each row."""
        return labels_of(batch, None if self.target is None else self.target.name)
