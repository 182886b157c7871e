"""What is compared: the rows of a release, the private rows it was made from, and other real rows. WITHOUT privacy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import ReleaseError
from sfumato.folder.releasing import Release, load_release
from sfumato.lab.assess.aggregates import as_rows
from sfumato.lab.assess.histories import Persons, read_persons, released_persons
from sfumato.lab.benchmark.examples import Examples, encoded, synthetic_examples
from sfumato.model import Synthetic
from sfumato.public.schema.schema import Batch, Schema, n_rows_of


@dataclass(frozen=True)
class Material:
    """Encoded rows of one schema: pictures in [0, 1], numbers as they are, codes of categories."""

    release: Release
    schema: Schema
    real: Batch = field(repr=False)
    synthetic: Batch = field(repr=False)
    test: Batch = field(repr=False)
    soft: Any = field(default=None, repr=False)
    #: Of several tables the persons of each set; the rows above are these with aggregates of their events.
    persons: Mapping[str, Persons] = field(default_factory=dict, repr=False)

    def rows(self) -> dict[str, int]:
        """How many there are of each."""
        return {"real": n_rows_of(self.real), "synthetic": n_rows_of(self.synthetic), "test": n_rows_of(self.test)}

    def examples(self, name: str, *, most: int) -> Examples:
        """The rows of that name with their labels, at most so many of them, drawn by a fixed seed."""
        batch: Batch = getattr(self, name)
        n = n_rows_of(batch)
        chosen = np.sort(np.random.default_rng(0).choice(n, most, replace=False)) if n > most else np.arange(n)
        held = {key: values[chosen] for key, values in batch.items()}
        target = self.schema.target_column
        label = held[target.name] if target is not None and target.is_coded else np.zeros(len(chosen), dtype=np.int64)
        soft = self.soft[chosen] if name == "synthetic" and self.soft is not None else None
        return Examples(held, label, soft)


def gather(release: str | Path, *, private: Any, test: Any) -> Material:
    """Read a release folder and both sets of real rows. Not private."""
    folder = load_release(release)
    if folder.certificate.rows is None:
        raise ReleaseError(f"{folder.path} holds a trained model and no rows, so there is nothing to assess here.")
    if folder.schema.tables:
        return _gather_persons(folder, private=private, test=test)
    synthetic, soft = _released(folder.synthetic(), folder.schema)
    real, held_back = (encoded(rows, folder.schema) for rows in (private, test))
    return Material(folder, folder.schema, real, synthetic, held_back, soft)


def _gather_persons(release: Release, *, private: Any, test: Any) -> Material:
    schema = release.schema
    persons = {"real": read_persons(private, schema), "test": read_persons(test, schema)}
    persons["synthetic"] = released_persons(release.synthetic(), schema)
    sets, rows = {}, schema
    for name, each in persons.items():
        rows, sets[name] = as_rows(each)
    return Material(release, rows, **sets, persons=persons)


def _released(synthetic: Synthetic, schema: Schema) -> tuple[Batch, Any]:
    """What a release holds, encoded as real rows are."""
    if synthetic.table is not None:
        missing = [column.name for column in schema.columns if column.name not in synthetic.table.columns]
        if missing:
            raise ReleaseError(
                f"the release has no column {missing[0]!r}: it holds mixed or encoded features and no rows of the schema, "
                "so columns cannot be compared."
            )
        return encoded(synthetic.table, schema), None
    if schema.target is None:
        raise ReleaseError("the release holds pictures without labels, and only labelled ones are assessed.")
    held = synthetic_examples(synthetic, schema)
    return held.batch, held.soft
