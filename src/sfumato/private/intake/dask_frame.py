"""A Dask frame as a source: partition by partition, never whole."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from sfumato.errors import SourceError
from sfumato.private.intake.messages import withheld
from sfumato.private.intake.quiet import silence
from sfumato.private.intake.tables import ArraySource, frame_source, require_distinct
from sfumato.private.intake.values import Values

_UNREADABLE = (
    "the Dask frame cannot be read: a step of it fails over a row. The message is withheld, because it may hold private values. "
    "Try it with len(frame) where you may see them."
)


class DaskSource:
    """The partitions of a frame, in their order. An engine reads them where they are; this process, one after the other."""

    def __init__(self, frame: Any) -> None:
        """Take a frame whose rows are not computed yet."""
        if not hasattr(frame, "columns"):
            raise SourceError("a Dask collection that is no frame has no columns. Give a dask.dataframe.")
        self.names = tuple(str(name) for name in frame.columns)
        require_distinct(list(self.names), "the frame")
        #: Rows may lie where their values say, as behind a shuffle: a row that is replaced does not keep its place.
        self.follows_values = True
        #: What an engine reads by itself.
        self.parts = tuple(frame.to_delayed())

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The chunks of all partitions."""
        for private_partition in self.parts:
            # Its steps are somebody else's, and so is what they raise.
            with withheld(_UNREADABLE, (Exception,)), silence():
                private_frame = private_partition.compute()
            yield from partition_source(private_frame, names).chunks(names, rows=rows)


def partition_source(private_frame: Any, names: Sequence[str]) -> ArraySource:
    """One partition, which may be something else than the frame has promised. What it has instead is not told."""
    if not isinstance(private_frame, pd.DataFrame) or not set(names) <= {str(name) for name in private_frame.columns}:
        raise SourceError(
            "a partition of the Dask frame has not the columns that the frame says (frame.columns), so nothing is released. Give "
            "map_partitions and from_delayed the meta of what they make, or write the frame to files first."
        )
    return frame_source(private_frame)
