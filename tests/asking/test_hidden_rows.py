"""Cells that the model leaves empty because their counts did not stand out: what they may hold is in the interval."""

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.asking import asking
from sfumato.asking.asking import Asker
from sfumato.asking.encoded_rows import stand_ins
from sfumato.asking.hidden_rows import with_hidden_rows
from sfumato.asking.noted_sums import NotedSum
from sfumato.asking.totals import Measurements
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Measured

SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="z", kind="numeric", bounds=(0, 50)),
        sf.Column(name="g", kind="categorical", categories=("a", "b")),
    )
)
CELLS, NOISE, N_ROWS, RELEASES = 50, 20.0, 2_000, 40


def cell_of(batch) -> dict[str, np.ndarray]:
    """Fifty cells of the number and two categories."""
    return {"cells": np.stack([np.minimum(batch["z"], CELLS - 1).astype(np.int64), CELLS + batch["g"]], axis=1)}


def rows(seed: int) -> dict[str, np.ndarray]:
    """Most rows lie between 20 and 50; each cell below has a few."""
    rng = np.random.default_rng(seed)
    z = np.where(rng.random(N_ROWS) < 0.1, rng.uniform(0, 20, N_ROWS), rng.uniform(20, 50, N_ROWS))
    return {"z": z, "g": rng.integers(2, size=N_ROWS)}


def asker_of(private: dict[str, np.ndarray], seed: int) -> Asker:
    """Its model has no row where a count is below twice its noise."""
    rng = np.random.default_rng(seed)
    counts = np.bincount(cell_of(private)["cells"].ravel(), minlength=CELLS + 2) + rng.normal(0, NOISE, CELLS + 2)
    shares = np.where(counts[:CELLS] < 2 * NOISE, 0, counts[:CELLS])
    drawn = rng.choice(CELLS, N_ROWS, p=shares / shares.sum()) + rng.random(N_ROWS)
    synthetic = pd.DataFrame({"z": drawn, "g": np.where(rng.random(N_ROWS) < 0.5, "a", "b")})
    noted = NotedSum((Hot(name="cells", width=CELLS + 2, n_hot=2),), cell_of, (), {"cells": Measured(counts, NOISE)})
    asker = Asker(SCHEMA, None, None, Answers(), synthetic)
    standing = stand_ins(asker.synthetic, SCHEMA, fewer=8)
    asker.__dict__["measurements"] = Measurements(SCHEMA, [noted], standing, float(N_ROWS), discrepancy=0.028)
    return asker


def times_held() -> float:
    held = 0
    for seed in range(RELEASES):
        private = rows(seed)
        (estimate,) = asker_of(private, seed).ask("count() where z < 5")
        held += estimate.low <= (private["z"] < 5).sum() <= estimate.high
    return held / RELEASES


def test_rows_that_noise_may_have_hidden_are_in_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    assert times_held() >= 0.9
    monkeypatch.setattr(
        asking, "with_hidden_rows", lambda measured, *_: measured
    )  # twin: where the model has none there are none
    assert times_held() < 0.7


def test_cells_with_rows_are_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    asker, question = asker_of(rows(0), 0), "count() where z >= 30"
    (estimate,) = asker.ask(question)
    monkeypatch.setattr(asking, "with_hidden_rows", lambda measured, *_: measured)
    (before,) = asker.ask(question)
    assert (estimate.low, estimate.high) == pytest.approx((before.low, before.high), rel=0.02)


def test_each_empty_cell_is_missed_by_as_many_rows_as_its_noise() -> None:
    asker = asker_of(rows(0), 0)
    measured = asker.measurements
    more = with_hidden_rows(measured, ("z",), ("z",))
    n_before = len(measured.rows.weights)
    z, weights = more.rows.batch["z"][n_before:], more.rows.weights[n_before:]
    empty = set(range(CELLS)) - set(np.floor(measured.rows.batch["z"]).astype(int))
    assert empty
    assert empty <= set(np.floor(z[weights > 0]).astype(int))
    of_cells = np.bincount(z.astype(int), weights=weights, minlength=CELLS)
    missed = measured.missed(("z",), n_asked=1) * np.sqrt(of_cells[of_cells > 0])
    assert missed == pytest.approx(NOISE)
    assert with_hidden_rows(measured, ("g",), ("g",)) is measured  # a category has no inside that could be empty
