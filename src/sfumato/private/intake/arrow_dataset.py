"""A `pyarrow.dataset.Dataset` as a source: typed files, wherever Arrow finds them."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow.dataset as ds

from sfumato.errors import SourceError
from sfumato.private.intake.messages import withheld
from sfumato.private.intake.tables import require_distinct
from sfumato.private.intake.values import Values

_TYPED = ("parquet", "ipc", "feather", "orc")
_DAMAGED = "the dataset cannot be read: a file of it was changed, is gone or damaged, or has other types. Make the dataset again."


class DatasetSource:
    """The rows of a dataset, in the order of its fragments. What is read is compared from pass to pass by `SameRows`."""

    follows_values = True  # of how its rows were laid into files nothing is known

    def __init__(self, dataset: ds.Dataset) -> None:
        """Take its declared schema; a dataset that guesses types from rows is refused."""
        formats = {one.format.default_extname for one in _leaves(dataset) if isinstance(one, ds.FileSystemDataset)}
        if not formats <= set(_TYPED):
            raise SourceError(
                "a dataset of texts (CSV, JSON) guesses types from its rows, so that one row changes how others are read. Give "
                "the folder or the files themselves: sf.Sensitive.read('visits/*.csv', schema)."
            )
        require_distinct(dataset.schema.names, "the dataset")
        self._dataset, self.names = dataset, tuple(dataset.schema.names)
        self.types: dict[str, Any] = dict(zip(self.names, dataset.schema.types, strict=True))

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """Batches of its fragments, one after the other."""
        with withheld(_DAMAGED):
            for fragment in self._dataset.get_fragments():
                reader = fragment.scanner(self._dataset.schema, columns=list(names), batch_size=rows)
                for batch in reader.to_batches():
                    if batch.num_rows:
                        yield {name: batch.column(name) for name in names}


def _leaves(dataset: ds.Dataset) -> list[ds.Dataset]:
    children = getattr(dataset, "children", None)
    return [leaf for child in children for leaf in _leaves(child)] if children else [dataset]
