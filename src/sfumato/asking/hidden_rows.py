"""Cells that the model leaves empty: their noisy counts did not stand out, which does not say that no private row lies there.

Where rows are counted, some stand in each such cell. They weigh so much that the model is taken to miss as many rows of the cell as
its count has noise: so that count is looked at, and what it leaves open is in the interval.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.asking.encoded_rows import StandIns
from sfumato.asking.insides import Counted
from sfumato.asking.noted_sums import Numbers
from sfumato.asking.totals import Measurements
from sfumato.public.schema.schema import Batch

Floats = NDArray[np.float64]
#: A cell is as good as empty if the model has fewer rows there than this part of the noise of its count.
_EMPTY = 0.25
#: Rows that stand in one cell, and in all cells of a number.
_IN_ONE, _IN_ALL = 8, 1_000


def with_hidden_rows(measured: Measurements, asked: tuple[str, ...], columns: tuple[str, ...]) -> Measurements:
    """The measurements with rows that stand in the empty cells of the numbers asked about, which are measured by `columns`."""
    missed = measured.missed(columns, n_asked=len(asked))
    for name in asked:
        cells = measured.cells(name, (name,)) if measured.schema[name].is_number else None
        if cells is not None:
            measured = _with_rows_in(measured, name, cells, missed)
    return measured


def _with_rows_in(measured: Measurements, name: str, cells: Counted, missed: float) -> Measurements:
    rows, numbers = measured.rows, measured.numbers((name,))
    values = rows.batch[name].astype(np.float64)
    known = ~np.isnan(values)
    mass = np.bincount(cells.place(values[known]), weights=rows.weights[known], minlength=len(cells.low))
    at = np.flatnonzero(measured.n_rows * mass < _EMPTY * numbers.stddevs.max(initial=0.0))
    if not len(at):
        return measured
    copies = max(min(_IN_ONE, _IN_ALL // len(at)), 1)
    tried = measured.with_more(_standing(rows, name, cells, np.repeat(at, copies), copies))
    noise = _own_noise(tried.numbers((name,)), tried.rows.weights, len(at) * copies)[::copies]
    empty = measured.n_rows * mass[at] < _EMPTY * noise
    weights = np.where(empty, (noise / missed) ** 2, 0.0)
    return tried.weighing(np.repeat(weights / copies, copies))


def _standing(rows: StandIns, name: str, cells: Counted, at: NDArray[np.intp], copies: int) -> Batch:
    """Synthetic rows with the number moved into these cells, evenly over each."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(rows.n_synthetic, size=len(at))
    batch = {column: values[chosen] for column, values in rows.batch.items()}
    within = (np.arange(len(at)) % copies + 0.5) / copies
    values = cells.low[at] + (cells.high[at] - cells.low[at]) * within
    batch[name] = (np.round(values) if cells.is_whole else values).astype(rows.batch[name].dtype)
    return batch


def _own_noise(numbers: Numbers, weights: Floats, new: int) -> Floats:
    """The noise of the count, for each of the last rows, that counts least besides it; nothing where none counts it."""
    features = numbers.features.tocsc()
    is_count = np.asarray((features != features.multiply(features)).sum(axis=0)).ravel() == 0
    counted = features[:, is_count]
    order = np.lexsort((numbers.stddevs[is_count], counted.T @ weights))
    own = counted[-new:][:, order].toarray() > 0
    return np.where(own.any(axis=1), numbers.stddevs[is_count][order][own.argmax(axis=1)], 0.0)
