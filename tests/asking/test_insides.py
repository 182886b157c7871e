"""The inside of a cell: what no noisy number says is in the interval, and questions at the edge of a cell are not widened for it."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.asking.asking import Asker
from sfumato.asking.encoded_rows import stand_ins
from sfumato.asking.insides import FULLER, Counted, least_and_most, moved_about
from sfumato.asking.noted_sums import NotedSum
from sfumato.asking.totals import Measurements
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Measured

SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="z", kind="numeric", bounds=(0, 100)),
        sf.Column(name="years", kind="integer", bounds=(0, 5000), missing=True),
    )
)
NOISE, N_ROWS, RELEASES = 10.0, 2_000, 6


def cell_of(batch) -> dict[str, np.ndarray]:
    """Ten cells of either column; a number that is missing is counted nowhere."""
    years = np.nan_to_num(batch["years"], nan=-1.0)
    both = [np.minimum(batch["z"] // 10, 9), np.where(years < 0, -1, 10 + np.minimum(years // 500, 9))]
    return {"cells": np.stack(both, axis=1).astype(np.int64)}


def asker_of(private: dict[str, np.ndarray], seed: int, noise: np.ndarray | None = None) -> Asker:
    """Of given noisy counts of cells; the model has the rows of each cell spread evenly over it."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, NOISE, 20) if noise is None else noise
    counts = np.bincount(cell_of(private)["cells"].ravel(), minlength=20) + noise
    synthetic = {}
    for column, own in zip(SCHEMA.columns, (counts[:10], counts[10:]), strict=True):
        share = np.maximum(own, 0) / np.maximum(own, 0).sum()
        width = 10.0 if column.name == "z" else 500.0
        drawn = (rng.choice(10, N_ROWS, p=share) + rng.random(N_ROWS)) * width
        synthetic[column.name] = drawn if column.name == "z" else np.floor(drawn)
    noted = NotedSum((Hot(name="cells", width=20, n_hot=2),), cell_of, (), {"cells": Measured(counts, NOISE)})
    asker = Asker(SCHEMA, None, None, Answers(), pd.DataFrame(synthetic))  # type: ignore[arg-type]
    rows = stand_ins(asker.synthetic, SCHEMA, fewer=8)
    asker.__dict__["measurements"] = Measurements(SCHEMA, [noted], rows, float(N_ROWS), discrepancy=0.028)
    return asker


def skewed(seed: int) -> dict[str, np.ndarray]:
    """Half of the rows lie in the lower half of their cell."""
    rng = np.random.default_rng(seed)
    z = np.minimum(rng.exponential(4.0, N_ROWS), 100)
    return {"z": z, "years": np.floor(np.minimum(rng.exponential(300.0, N_ROWS), 5000))}


CUT = {
    "count() where z <= 3": lambda rows: (rows["z"] <= 3).sum(),
    "share(years <= 120)": lambda rows: 1 - np.exp(-121 / 300),
    "quantile(z, 0.3)": lambda rows: -4 * np.log(0.7),
}


def test_what_cuts_a_cell_is_held_wherever_its_rows_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def held() -> dict[str, int]:
        found = dict.fromkeys(CUT, 0)
        for seed in range(RELEASES):
            private = skewed(seed)
            asker = asker_of(private, seed)
            for question, truth in CUT.items():
                (estimate,) = asker.ask(question)
                found[question] += estimate.low <= truth(private) <= estimate.high
        return found

    assert min(held().values()) >= RELEASES - 1  # nearly all are expected, since it is a bound
    monkeypatch.setattr(Asker, "_moved", lambda *arguments: [])  # twin: the model knows what lies in a cell
    assert max(held().values()) < RELEASES / 2


@pytest.mark.parametrize(
    "question",
    [
        "count() where z < 20",
        "count() where z >= 10 and z < 30",
        "count() where years >= 500",
        "mean(z)",
        "share(z >= 10)",
    ],
)
def test_what_ends_at_an_edge_is_as_narrow_as_it_was(monkeypatch: pytest.MonkeyPatch, question: str) -> None:
    asker = asker_of(skewed(0), 0)
    (estimate,) = asker.ask(question)
    monkeypatch.setattr(Asker, "_moved", lambda *arguments: [])
    (before,) = asker.ask(question)
    assert (estimate.low, estimate.high) == pytest.approx((before.low, before.high), rel=1e-6)


def test_close_to_an_edge_hardly_any_rows_are_in_doubt() -> None:
    asker = asker_of(skewed(0), 0)
    widths = []
    for bound in (10, 10.1, 12, 15):
        (estimate,) = asker.ask(f"count() where z <= {bound}")
        widths.append(estimate.high - estimate.low)
    assert widths[0] < widths[2] < widths[3]
    assert widths[1] - widths[0] < 0.5 * (widths[3] - widths[0])


def test_a_mean_of_rows_that_may_mostly_be_elsewhere_cannot_be_said() -> None:
    (inside,), (beyond,) = (asker_of(skewed(0), 0).ask(f"mean(z) where z {where}") for where in ("<= 2", ">= 10"))
    assert inside.value is None
    assert "inside cells" in inside.why
    assert beyond.value is not None


def test_cells_are_found_to_their_edges_and_missing_numbers_stay_missing() -> None:
    measured = asker_of(skewed(0), 0).measurements
    assert isinstance(measured, Measurements)
    z, years = (measured.cells(name, (name,)) for name in ("z", "years"))
    assert z is not None
    assert z.low == pytest.approx(10 * np.arange(10), abs=1e-3)
    assert years is not None
    assert years.low.tolist() == [500 * at for at in range(10)]
    assert years.high.tolist() == [*(500 * at + 499 for at in range(9)), 5000]
    rows = {"years": np.array([3.0, np.nan, 900.0])}
    for copies in moved_about(rows, {"years": years}):
        for copy in copies:
            assert copy["years"][0] < 500 <= copy["years"][2] < 1000
            assert np.isnan(copy["years"][1])
            assert copy["years"][0] == round(copy["years"][0])


def test_the_part_of_a_cell_is_bounded_and_whole_cells_are_certain() -> None:
    rows = {"z": np.linspace(0.05, 9.95, 100)}
    cells = {"z": Counted(np.array([0.0, 5.0]), np.array([4.999, 10.0]))}
    moved = moved_about(rows, cells)
    least, most = least_and_most(partial(lambda rows: rows["z"] <= 5.5), moved)
    assert (least[:50] == 1).all()
    assert (most[:50] == 1).all()
    assert (least[50:] == 0).all()
    assert (most[50:] < 1).all()
    assert (most[50:] <= FULLER * 0.15).all()


def test_that_the_model_has_no_such_rows_does_not_say_that_there_are_none() -> None:
    """Fifteen rows in a cell whose noisy count happens to be nothing."""
    private = skewed(0)
    private["z"] = np.where(private["z"] < 80, private["z"], 20.0)
    private["z"][:15] = 85.0
    noise = np.zeros(20)
    noise[8] = -15.0
    (estimate,) = asker_of(private, 0, noise).ask("count() where z >= 80")
    assert estimate.naive == 0
    assert estimate.low <= 15 <= estimate.high
    assert estimate.high <= 3 * NOISE
