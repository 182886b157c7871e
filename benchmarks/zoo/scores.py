"""Every figure of one released table. Reads real rows WITHOUT privacy.

Marginals, correlations, class rates and spikes are compared with the training rows that were released; learners are
tested on real test rows that nothing has seen.
"""

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.lab.benchmark.metrics import class_rate_error
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.tables import frame_source
from sfumato.public.schema.schema import Batch

from .case import Split
from .learning import every_column, utility
from .marginals import correlation_errors, cramer_errors, distances, spikes_kept


def scores(split: Split, released: pd.DataFrame) -> dict[str, float | None]:
    """All figures of a released table, or of the real training rows themselves."""
    schema = with_rhythm(split.schema)
    real, test, rows = (encode(frame, split.schema) for frame in (split.train, split.test, released))
    found = {
        **distances(real, rows, schema),
        **correlation_errors(real, rows, schema),
        **(cramer_errors(real, rows, schema) if schema.target is None else {}),
        "class_rates": _class_rates(real, rows, schema),
        "spikes": spikes_kept(real, rows, split.schema),
    }
    key, score = ("every_column", every_column) if schema.target is None else ("utility", utility)
    return {key: score(real, rows, test, schema), **found}


def _class_rates(real: Batch, released: Batch, schema: sf.Schema) -> float | None:
    target = schema.target_column
    if target is None or not target.is_coded:
        return None
    return class_rate_error(real[target.name], released[target.name], n_classes=target.size)


def encode(frame: pd.DataFrame, schema: sf.Schema) -> Batch:
    """Numbers as floats, categories as codes; beside each date its hour, weekday and month, which no tree can read off."""
    names = [column.name for column in schema.columns]
    batch = dict(conform(next(iter(frame_source(frame).chunks(names, rows=max(1, len(frame))))), schema))
    for column in schema.columns:
        if column.kind == "datetime":
            when = pd.to_datetime(pd.Series(batch[column.name]), unit="s")
            parts = {"hour": when.dt.hour, "weekday": when.dt.day_of_week, "month": when.dt.month}
            batch |= {f"{column.name} {part}": np.asarray(values, dtype=float) for part, values in parts.items()}
    return batch


def with_rhythm(schema: sf.Schema) -> sf.Schema:
    """The schema of what `encode` gives."""
    ends = {"hour": 23, "weekday": 6, "month": 12}
    parts = [
        sf.Column(name=f"{column.name} {part}", kind="integer", bounds=(0, high), missing=column.missing)
        for column in schema.columns
        if column.kind == "datetime"
        for part, high in ends.items()
    ]
    return sf.Schema(columns=(*schema.columns, *parts), target=schema.target)
