"""What a class is like of which noise hides nearly all: like the classes that its tables are nearest to, but for exceptions.

Its rows are fewer than the noise of a single bin, so no bin says anything of it by itself. All bins of all columns together still
say which other classes it resembles: that is a few numbers, fitted to hundreds of counts by least squares. In what it differs
from them, exceptions show best: bins that hardly any row has. They are counted together, one number a column, and believed
as far as noise allows: a column makes an exception of the class or it does not, and how many do is learned over all columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.stats import norm

from sfumato.mechanisms.common.arrays import Flags, Floats
from sfumato.mechanisms.table.joint.class_tables import ClassTable
from sfumato.mechanisms.table.settings.joint import JointSettings


@dataclass(frozen=True)
class Exceptions:
    """How many rows of class `c` are in exceptional bins of each column, with noise; and which bins these are."""

    c: int
    rows: Floats
    stddev: float
    bins: Sequence[Flags]


def scarce_classes(tables: Sequence[ClassTable], per_class: Floats, settings: JointSettings) -> Flags:
    """Classes with too few rows for a bin to say anything, where there are others."""
    scarce: Flags = per_class < settings.scarce_below * tables[0].stddev
    return scarce if not scarce.all() else np.zeros_like(scarce)


def exceptional_bins(margin: Floats, settings: JointSettings) -> Flags:
    """The rarest bins of a column, as many as have few rows together."""
    order = np.argsort(margin, kind="stable")
    rare = np.zeros(len(margin), dtype=np.bool_)
    rare[order[np.cumsum(margin[order]) <= settings.scarce_part]] = True
    return rare


def rows_of_scarce(per_class: Floats, scarce: Flags, *, stddev: float) -> Floats:
    """Rows of each class, where noise may have taken all that a scarce one has: as many as are likely, given that there are some.

    That is the mean of a normal distribution cut off at 0. The largest class has what this adds less.
    """
    likely = per_class + stddev * np.exp(norm.logpdf(per_class / stddev) - norm.logcdf(per_class / stddev))
    rows = np.where(scarce, likely, per_class)
    rows[int(np.argmax(per_class))] -= rows.sum() - per_class.sum()
    return np.asarray(rows)


def expected_shares(
    joints: Sequence[Floats],
    tables: Sequence[ClassTable],
    margins: Sequence[Floats],
    per_class: Floats,
    exceptions: Sequence[Exceptions],
    settings: JointSettings,
) -> list[Floats]:
    """What to expect of every class in each column before its own counts are looked at: (class, bin)."""
    plenty = np.ones(len(per_class), dtype=np.bool_)
    plenty[[one.c for one in exceptions]] = False
    others = [joint[plenty] / joint[plenty].sum(axis=1, keepdims=True) for joint in joints]
    expected = [np.tile(margin, (len(per_class), 1)) for margin in margins]
    for one in exceptions:
        kin = _kin(one.c, others, tables, per_class, plenty)
        shares = [np.maximum(kin @ share, 1e-9) for share in others]
        usual = np.array([float(share[bins].sum()) for share, bins in zip(shares, one.bins, strict=True)])
        parts = _parts(one, usual, rows=float(per_class[one.c]), settings=settings)
        for of_column, share, bins, part in zip(expected, shares, one.bins, parts, strict=True):
            if bins.any():
                inside, outside = share * bins, share * ~bins
                share = part * inside / inside.sum() + (1 - part) * outside / outside.sum()
            of_column[one.c] = share / share.sum()
    return expected


def _parts(one: Exceptions, usual: Floats, *, rows: float, settings: JointSettings) -> Floats:
    """In each column the part of the class's rows that are exceptions: the usual one of its kind, or any, whichever is likelier."""
    like_kin = norm.pdf(one.rows, rows * usual, one.stddev)
    steps = (np.arange(settings.scarce_steps) + 0.5) / settings.scarce_steps
    likely = norm.pdf(one.rows[:, None], rows * steps, one.stddev)
    is_own = settings.scarce_own
    for _ in range(settings.ratio_rounds):
        own = is_own * likely.mean(axis=1) / (is_own * likely.mean(axis=1) + (1 - is_own) * like_kin + 1e-300)
        is_own = (own.sum() + settings.scarce_own) / (len(own) + 1)  # as if one more column had said what is usual
    mean = (likely @ steps) / (likely.sum(axis=1) + 1e-300)
    return np.asarray(own * mean + (1 - own) * usual)


def _kin(c: int, others: Sequence[Floats], tables: Sequence[ClassTable], per_class: Floats, plenty: Flags) -> Floats:
    """The mixture of other classes that a class's noisy tables are nearest to; where they say nothing, that of all rows."""
    profiles = np.concatenate([share - share.mean(axis=1, keepdims=True) for share in others], axis=1)
    counts = np.concatenate([table.counts[c] for table in tables])
    rates = per_class[plenty] / per_class[plenty].sum()
    stddev = float(tables[0].stddev[c])
    rows = max(float(per_class[c]), stddev / np.sqrt(len(tables)))
    # Noise of one count, and before anything is counted a mixture like that of all rows, give or take all of the class.
    design = np.concatenate([profiles.T / stddev, np.eye(len(rates)) / rows])
    amounts, _ = nnls(design, np.concatenate([counts / stddev, rates]))
    return np.asarray(amounts / amounts.sum()) if amounts.sum() > 0 else rates
