"""What the noisy numbers of a table say about its model, in sentences: for the certificate and the report."""

from collections.abc import Iterator

import numpy as np

from sfumato.mechanisms.table.columns.binned import Binned
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.mechanisms.table.measure_classes import Labels
from sfumato.mechanisms.table.measure_number import TaughtNumbers

#: Columns that are told of one by one.
_NAMED = 20


def table_notes(binned: Binned, labels: Labels | TaughtNumbers | None) -> tuple[str, ...]:
    """All that is worth a sentence. Names are quoted as Python does, so that each is one printable line."""
    return (*_groups_found(binned), *_nearly_equal(binned), *_pooled(binned), *_judged(labels))


def _groups_found(binned: Binned) -> Iterator[str]:
    for feature in binned.features:
        if feature.group is not None and not feature.declared:
            yield (
                f"Nearly all rows have exactly one of {_name(feature)} set, by a noisy count: so have the synthetic ones, or none."
            )


def _nearly_equal(binned: Binned) -> Iterator[str]:
    for feature in binned.features:
        if feature.reference is not None:
            yield (
                f"Nearly all rows have {_name(feature)} close to {feature.reference.name!r}, by a noisy count: it was measured by "
                "how far it lies from there."
            )


def _pooled(binned: Binned) -> Iterator[str]:
    columns = zip(binned.features, binned.binnings, strict=True)
    pools = {
        _name(f): (_n_pooled(b), b.cells.inner, j in binned.codes)
        for j, (f, b) in enumerate(columns)
        if b.cells.column.is_coded and _n_pooled(b)
    }
    for name, (pooled, of_all, by_class) in list(pools.items())[:_NAMED]:
        kept = "share, and its classes as far as noise allows" if by_class else "share"
        yield (
            f"Categories of {name}: {pooled:,} of {of_all:,} are pooled as too rare, by noisy counts. Each keeps its own noisy "
            f"{kept}; how it goes with other columns is that of the whole pool."
        )
    if len(pools) > _NAMED:
        yield f"Rare categories of {len(pools) - _NAMED:,} columns more are pooled likewise."


def _n_pooled(binning: Binning) -> int:
    """Categories that share a bin with others."""
    held = np.bincount(binning.bin_of, minlength=binning.size)
    return int(held[held > 1].sum())


def _judged(labels: Labels | TaughtNumbers | None) -> Iterator[str]:
    if labels is not None and not labels.is_better:
        yield (
            "The teacher's corrections of the labels were worse on private rows, by a noisy number: they are left out, and "
            "alpha changes nothing above 0."
        )


def _name(feature: Feature) -> str:
    """A column, or a group by its first member and its last."""
    if feature.group is None:
        return repr(feature.cells.column.name)
    return f"{feature.group.members[0]!r} to {feature.group.members[-1]!r}"
