"""Rows that were copied in some of their columns, or with rounded numbers. Reads real rows WITHOUT privacy.

A row whose other columns were drawn afresh equals no real row, and neither does one whose numbers were moved a little. So
some columns alone are looked at, as many as it takes to tell most rows apart, and numbers by the bin that they fall into.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.attacks.sheets import Comparison, Sheet
from sfumato.lab.doctor.findings import ALARM, Finding, judged, not_tested
from sfumato.lab.doctor.values import copies

#: Choices of columns, each looked at as it is and with numbers in bins, and the rows that are looked at.
_CHOICES, _MOST_ROWS, _MOST_SYNTHETIC = 24, 10_000, 40_000
#: Made of each real row: fewer than for whole rows, as there are many choices.
_PHANTOMS = 3
#: So many bins hold equally many numbers of both tables.
_BINS = 32
#: Columns tell rows apart if so many of the real rows are like no other.
_APART = 0.95


def copied_parts(found: Comparison) -> Finding:
    """The choice of columns in which more lonely rows stand among the synthetic ones than chance brings."""
    some = found.at_most(_MOST_ROWS, synthetic=_MOST_SYNTHETIC)
    rng = np.random.default_rng(0)
    looks = (some, _binned(some))
    tried: list[tuple[float, int, int, tuple[int, ...], bool]] = []
    seen: set[tuple[int, ...]] = set()
    for choice in range(_CHOICES):
        order = rng.permutation(len(some.names))
        for is_binned, look in enumerate(looks):
            at = tuple(sorted(range(len(order)) if choice == 0 else _enough(look.real, order)))
            if (is_binned, *at) in seen or (not is_binned and len(at) == len(order)):
                continue  # whole rows as they are have a test of their own
            seen.add((is_binned, *at))
            hits, lonely, p, best = copies(_only(look, at), phantoms=_PHANTOMS)
            if best < ALARM / (2 * _CHOICES):
                tried.append((p, hits, lonely, at, bool(is_binned)))
    if not tried:
        return not_tested(
            "copied parts",
            "Not tested: too few real rows are like no other in the columns that the tables share.",
        )
    p, hits, lonely, at, is_binned = min(tried)
    names = ", ".join(found.names[each] for each in at[:6]) + (" and more" if len(at) > 6 else "")
    nearly = ", with numbers that are nearly the same" if is_binned else ""
    sentence = f"{hits:,} of the {lonely:,} real rows that are like no other in {names} stand among the synthetic rows there{nearly}."
    return judged("copied parts", len(tried) * p, sentence, copied=hits, lonely=lonely)


def _enough(real: Sheet, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first columns in this order that tell most rows apart; all of them where none do."""
    for n_columns in range(1, len(order)):
        codes = Sheet(real.codes[:, order[:n_columns]], real.values[:, order[:n_columns]])
        counts = np.unique(codes.keys(), return_counts=True)[1]
        if (counts == 1).sum() >= _APART * len(codes):
            return order[:n_columns]
    return order


def _only(found: Comparison, at: tuple[int, ...]) -> Comparison:
    """The tables with these columns alone."""
    chosen = list(at)
    some = [Sheet(sheet.codes[:, chosen], sheet.values[:, chosen]) for sheet in found.sheets]
    return replace(found, real=some[0], synthetic=some[1], holdout=some[2] if len(some) > 2 else None)


def _binned(found: Comparison) -> Comparison:
    """Numbers by the bin of equally many that they fall into."""
    sheets = [sheet.codes.copy() for sheet in found.sheets]
    for at in (at for at, is_number in enumerate(found.is_number) if is_number):
        pooled = np.concatenate([sheet.values[:, at] for sheet in found.sheets[:2]])
        known = pooled[~np.isnan(pooled)]
        if len(np.unique(known)) <= _BINS:
            continue
        edges = np.unique(np.quantile(known, np.linspace(0, 1, _BINS + 1)[1:-1]))
        for codes, sheet in zip(sheets, found.sheets, strict=True):
            values = sheet.values[:, at]
            codes[:, at] = np.where(np.isnan(values), -1, np.searchsorted(edges, values, "right"))
    some = [Sheet(codes, sheet.values) for codes, sheet in zip(sheets, found.sheets, strict=True)]
    return replace(found, real=some[0], synthetic=some[1], holdout=some[2] if len(some) > 2 else None)
