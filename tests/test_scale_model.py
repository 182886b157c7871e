"""The model behind docs/scale.md: held against a pass that is played through, and against the runs that it is fitted to."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
#: How far the model may be from the simulation.
MOST_APART = 0.15
WORKERS, WAVES, SECONDS, BYTES, FANS = (10, 100, 1_000), (1, 4), (0.1, 10.0), (3e4, 3e6, 1e8), (None, 8, 32)


@pytest.fixture(scope="module")
def scale() -> Iterator[Any]:
    """The scripts, which find their neighbours in benchmarks/."""
    sys.path.insert(0, str(BENCHMARKS))
    import scale_model
    import scale_page
    import scale_reduce

    yield SimpleNamespace(model=scale_model, played=scale_reduce, page=scale_page)
    sys.path.remove(str(BENCHMARKS))


def pass_with(scale: Any, workers: int, waves: int, seconds: float, sums_bytes: float) -> Any:
    return scale.played.Pass(workers, workers * waves, seconds, 4 * sums_bytes, sums_bytes, sums_bytes * 1e-9)


def gap(scale: Any, asked: Any, fan_in: int | None) -> float:
    """What the model says beside the mean of simulations, of which few workers need more."""
    seeds = range(max(2, 3_000 // asked.parts))
    mean = sum(scale.played.simulated(asked, fan_in=fan_in, seed=seed) for seed in seeds) / len(seeds)
    return float(sum(scale.model.seconds_of_pass(asked, fan_in=fan_in).values()) / mean - 1)


@pytest.mark.parametrize(("workers", "waves"), list(product(WORKERS, WAVES)))
def test_the_model_is_near_the_simulation(scale: Any, workers: int, waves: int) -> None:
    for seconds, sums_bytes, fan_in in product(SECONDS, BYTES, FANS):
        asked = pass_with(scale, workers, waves, seconds, sums_bytes)
        assert abs(gap(scale, asked, fan_in)) < MOST_APART, (seconds, sums_bytes, fan_in)


def test_the_passes_of_the_page_are_near_the_simulation(scale: Any) -> None:
    for rows, columns, workers, fan_in in product((10**9, 10**10), (20, 50), (100, 1_000), (None, 32)):
        asked = scale.model.pass_of(rows, columns, workers)
        assert abs(gap(scale, asked, fan_in)) < MOST_APART, (rows, columns, workers, fan_in)


@pytest.mark.parametrize("fan_in", FANS)
@pytest.mark.parametrize("term", ["told", "mapped", "added"])
def test_a_model_without_a_term_would_be_noticed(scale: Any, term: str, fan_in: int | None) -> None:
    def missed(asked: Any) -> bool:
        terms = scale.model.seconds_of_pass(asked, fan_in=fan_in)
        played = scale.played.simulated(asked, fan_in=fan_in, seed=0)
        return bool(sum(terms.values()) - terms[term] < (1 - MOST_APART) * played)

    assert any(missed(pass_with(scale, *asked)) for asked in product(WORKERS, WAVES, SECONDS, BYTES))


def test_a_model_without_slow_parts_would_be_noticed(scale: Any) -> None:
    asked = pass_with(scale, 100, 1, 10.0, 3e4)
    smooth = replace(asked, luck=replace(asked.luck, slow=0.0, lost=0.0))
    played = scale.played.simulated(asked, fan_in=None, seed=0)
    assert sum(scale.model.seconds_of_pass(smooth, fan_in=None).values()) < (1 - MOST_APART) * played


def test_without_luck_a_pass_is_what_can_be_added_up_by_hand(scale: Any) -> None:
    luck = scale.played.Luck(spread=1e-9, slow=0.0, lost=0.0)
    asked = scale.played.Pass(2, 8, 3.0, 1e9, 2e9, 0.5, dispatch=0.0, latency=0.25, luck=luck)
    by_hand = (0.25 + 2 * 1.0) + 4 * 3.0 + (0.25 + 8 * 2.5)
    assert scale.played.simulated(asked, fan_in=None, seed=1) == pytest.approx(by_hand)
    assert sum(scale.model.seconds_of_pass(asked, fan_in=None).values()) == pytest.approx(by_hand, rel=1e-3)


def test_a_lost_part_runs_again(scale: Any) -> None:
    luck = scale.played.Luck(spread=1e-9, slow=0.0, lost=1.0)
    asked = scale.played.Pass(4, 4, 10.0, 0.0, 0.0, 0.0, dispatch=0.0, latency=0.0, luck=luck)
    assert 10.0 < scale.played.simulated(asked, fan_in=None, seed=0) <= 20.0


def test_what_a_cell_costs_does_not_follow_the_rows(scale: Any) -> None:
    """All predictions are far beyond the runs: the slope of the two largest must be that of the line through all."""
    runs = [json.loads(line) for line in scale.model.RESULTS.read_text("utf-8").splitlines()]
    for columns in scale.page.FITTED:
        few, many = sorted((run for run in runs if run.get("columns") == columns), key=lambda run: run["rows"])[-2:]
        more = many["map_s"] / many["passes"] - few["map_s"] / few["passes"]
        slope = more / ((many["rows"] - few["rows"]) * columns / 10**6)
        costs = scale.model.costs_of(columns)
        assert costs.cell == pytest.approx(slope, rel=MOST_APART)
        assert min(costs.read, costs.cell, costs.part, costs.prepare, costs.write) > 0


def test_a_width_that_was_not_measured_is_refused(scale: Any) -> None:
    with pytest.raises(KeyError, match="no release of 33 columns"):
        scale.model.bytes_of(33)
    with pytest.raises(KeyError, match="not two sizes of 200 columns"):
        scale.model.costs_of(200)


def test_ten_times_the_cores_divide_what_rows_cost_and_nothing_else(scale: Any) -> None:
    few, many = (scale.model.predicted(10**10, 50, cores) for cores in (100, 1_000))
    assert few["read"] == pytest.approx(10 * many["read"])
    assert 8 < few["mapped"] / many["mapped"] <= 10
    assert few["told and added"] < many["told and added"]
    assert (few["driver"], few["write"]) == (many["driver"], many["write"])


def test_the_model_is_near_what_was_measured_on_a_machine_with_16_cores(scale: Any) -> None:
    """Seconds belong to a machine; how much faster eight processes are than two does not."""
    runs = map(json.loads, (BENCHMARKS / "results" / "engines.jsonl").read_text("utf-8").splitlines())
    two, eight = (run for run in runs if run.get("columns") == 50)
    model = [sum(scale.model.predicted_locally(two["rows"], 50, processes).values()) for processes in (2, 8)]
    assert model[0] / model[1] == pytest.approx(two["seconds"] / eight["seconds"], rel=MOST_APART)


def test_handing_out_bounds_a_billion_rows_on_a_thousand_cores(scale: Any) -> None:
    """As the page says: there it is the scheduler that takes longest, and not so with ten times the rows."""
    for columns in scale.page.FITTED:
        few, many = (scale.model.pass_of(rows, columns, 1_000) for rows in (10**9, 10**10))
        assert few.parts * few.dispatch > few.part_seconds * few.parts / few.workers
        assert many.parts * many.dispatch < many.part_seconds * many.parts / many.workers
