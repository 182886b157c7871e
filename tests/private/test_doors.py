"""The doors: what they clip, charge, count and give back."""

import math
import pickle
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import schemas
import twins
from sfumato import Budget, Column, PrivacyUnit, Schema, Sensitive
from sfumato.check import CHECKS
from sfumato.check.instruments.rows import made_up, read
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, PlanError, PrivacyError
from sfumato.extending import Dense, Everyone, Hot, Outer, Poisson, Step
from sfumato.mechanisms import DPMix, IndependentHistograms
from sfumato.private.kernel import sums
from sfumato.private.kernel.clip import (
    FINE_NORM,
    LIMB_BITS,
    add_codes,
    clip_to_grid,
    distinct_codes,
    outer_to_grid,
    weights_in_units,
)
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.rows.prepared import PreparedRows
from sfumato.private.view import View
from sfumato.public.plan.grid import norm_in_units, units_per_one
from sfumato.public.plan.plan import Plan, make_plan

BUDGET = Budget(epsilon=1.0, delta=1e-6)
ONE_COLUMN = Schema(columns=(Column(name="x", kind="numeric", bounds=(0, 1)),), rows=100)


class Silent(Primitives):
    """Doors without noise: for arithmetic only."""

    def noise(self, shape):
        return np.zeros(shape, dtype=np.int64)


def open_view(
    schema: Schema, raw, steps, *, primitives: type[Primitives] = Silent, unit: PrivacyUnit | None = None
) -> tuple[View, Plan]:
    plan = make_plan(steps, budget=BUDGET, unit=unit or schema.unit, rows=schema.rows)
    source = NoiseSource(research_seed=1)
    return View(read(raw, schema), plan=plan, primitives=primitives(source), schema=schema), plan


def outer_sum(rows, *, block: Outer):
    total = sums.nothing(Step(name="s", blocks=(block,)))
    plan = make_plan((Step(name="s", blocks=(block,)),), budget=BUDGET, unit=PrivacyUnit(), rows=None)
    numbered = {block.name: rows}, np.arange(len(rows))
    sums.add_rows(total, numbered, step=plan.steps[0], plan=plan, primitives=Silent(NoiseSource()))
    return total[block.name]


floats = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(
    values=st.lists(st.lists(floats, min_size=3, max_size=3), min_size=1, max_size=6),
    bound=st.floats(1e-3, 1e6),
    share=st.floats(0.01, 1.0),
    noise=st.floats(2.0**-8, 1e4),
    nonnegative=st.booleans(),
)
def test_no_row_on_the_grid_is_longer_than_its_bound(values, bound, share, noise, nonnegative) -> None:
    block = Dense(name="b", width=3, l2_bound=bound, share=share, nonnegative=nonnegative)
    integers = clip_to_grid(np.array(values), block=block, noise_multiplier=noise).astype(object)
    limit = share * norm_in_units(noise) ** 2
    assert all(sum(int(v) ** 2 for v in row) <= limit for row in integers)
    assert not nonnegative or (integers >= 0).all()


def test_clipping_keeps_directions_and_what_is_short_enough() -> None:
    block = Dense(name="b", width=2, l2_bound=1.0)
    units = units_per_one(block, noise_multiplier=1.0)
    integers = clip_to_grid(np.array([[3.0, 4.0], [0.3, -0.4], [np.nan, 0.5]]), block=block, noise_multiplier=1.0)
    assert np.allclose(integers / units, [[0.6, 0.8], [0.3, -0.4], [0.0, 0.5]], atol=2 / units)


def test_codes_that_repeat_or_lie_outside_count_nothing() -> None:
    block = Hot(name="b", width=5, n_hot=3)
    counted, _ = distinct_codes(np.array([[1, 1, 1], [4, 5, -2], [0, 3, 0]]), block=block)
    assert [sorted(row[row >= 0].tolist()) for row in counted] == [[1], [4], [0, 3]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int8", "uint8", "uint16", "int64", "uint64", "float32", "float64"])
def test_codes_outside_count_nothing_whatever_their_type(kind: str) -> None:
    """No type may wrap -1 around: a code past the width would be counted in somebody else's memory."""
    largest = np.finfo(kind).max if kind.startswith("f") else np.iinfo(kind).max
    counted, _ = distinct_codes(
        np.array([[largest, 0], [1, largest]], dtype=kind), block=Hot(name="b", width=5, n_hot=2)
    )
    assert [sorted(row[row != -1].tolist()) for row in counted] == [[0], [1]]


@given(st.lists(st.lists(st.integers(-3, 12), min_size=5, max_size=5), min_size=1, max_size=6))
def test_each_code_of_a_row_counts_once_in_whatever_order(rows: list[list[int]]) -> None:
    block = Hot(name="b", width=9, n_hot=5)
    counted, _ = distinct_codes(np.array(rows), block=block)
    for row, codes in zip(rows, counted, strict=True):
        assert sorted(codes[codes >= 0].tolist()) == sorted({code for code in row if 0 <= code < 9})


def test_more_rows_than_sums_can_hold_are_refused_by_what_is_declared() -> None:
    steps, plan = (
        (Step(name="sum", blocks=(Hot(name="b", width=5),)),),
        {"budget": Budget(1.0, 1e-12), "unit": PrivacyUnit()},
    )
    make_plan(steps, **plan, rows=2**34 - 1)
    with pytest.raises(PlanError, match=r"rows = 17179869184: .* fewer than 17179869184"):
        make_plan(steps, **plan, rows=2**34)


def test_a_sum_that_passes_64_bits_is_the_exact_one_modulo_these() -> None:
    """So that data with more rows than are declared are as private as others."""
    block = Hot(name="b", width=2)
    private_sum = np.array([2**63 - 1, 7])
    add_codes(private_sum, np.array([[0]]), np.array([5]))
    noisy = Primitives(NoiseSource(research_seed=3)).noisy(private_sum, step="s", block=block.name)
    noise = Primitives(NoiseSource(research_seed=3)).noisy(np.zeros(2, dtype=np.int64), step="s", block=block.name)
    assert [int(n) % 2**64 for n in noisy] == [(2**63 + 4 + int(noise[0])) % 2**64, (7 + int(noise[1])) % 2**64]


@pytest.mark.parametrize("kind", ["int32", "int64", "uint8", "uint64"])
@given(st.lists(st.lists(st.integers(0, 10), min_size=3, max_size=3, unique=True).map(sorted), max_size=4), st.data())
def test_codes_of_whole_types_that_rise_are_those_of_the_longer_way(kind: str, rows: list[list[int]], data) -> None:
    """They are not copied: what a row counts for must not show it, nor whether others beside it rise."""
    if data.draw(st.booleans()):
        least = -2 if kind.startswith("i") else 0
        rows = [*rows, data.draw(st.lists(st.integers(least, 10), min_size=3, max_size=3))]
    values, block = np.array(rows, dtype=kind).reshape(-1, 3), Hot(name="b", width=9, n_hot=3)
    counted, n_codes = distinct_codes(values, block=block)
    expected, private_sum = np.zeros(9, dtype=np.int64), np.zeros(11, dtype=np.int64)
    for row in rows:
        expected[[code for code in set(row) if 0 <= code < 9]] += 5
    add_codes(private_sum, counted, np.full(len(rows), 5))
    assert private_sum.tolist() == [*expected, 0, 0]
    assert n_codes.tolist() == [len({code for code in row if 0 <= code < 9}) for row in rows]


_ODD_CODES = st.sampled_from([math.nan, math.inf, -math.inf, -1.0, -0.5, 0.5, 1.9, 2.0, 8.999, 9.0, 1e300])
_RISING = st.lists(st.integers(0, 8), max_size=5, unique=True).map(sorted)


@given(
    st.lists(st.lists(st.integers(0, 8) | _ODD_CODES, min_size=5, max_size=5) | _RISING, min_size=1, max_size=6),
    st.sampled_from(["float64", "float32"]),
)
@example([[0.5, 0.9]], "float64")  # these rise, and are one code
@example([[0, 2**53, 3]], "float64")  # the sum of a huge code and one is no larger
def test_what_a_row_adds_is_one_at_each_of_its_codes(rows: list[list[float]], kind: str) -> None:
    block = Hot(name="b", width=9, n_hot=5)
    with np.errstate(over="ignore"):
        values = np.array([row + [-1] * (5 - len(row)) for row in rows]).astype(kind)
    counted, given = np.zeros(9, dtype=np.int64), values.copy()
    add_codes(counted, distinct_codes(values, block=block)[0], np.full(len(rows), 3))
    held = [{int(code) for code in row if 0 <= code < 9} for row in values.tolist()]
    assert counted.tolist() == [3 * sum(code in codes for codes in held) for code in range(9)]
    assert np.array_equal(values, given, equal_nan=True)  # what the map gave is not ours to change


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "int64", "uint64"])
def test_a_code_past_the_largest_of_its_type_does_not_pass_for_a_small_one(kind: str) -> None:
    largest = np.iinfo(kind).max
    counted = np.zeros(5, dtype=np.int64)
    codes, _ = distinct_codes(np.array([[1, largest, 1], [0, 1, 4]], dtype=kind), block=Hot(name="b", width=5, n_hot=3))
    add_codes(counted, codes, np.ones(2, dtype=np.int64))
    assert counted.tolist() == [1, 2, 0, 0, 1]


def test_weights_are_clipped_and_counted_at_every_position() -> None:
    block = Hot(name="w", width=3, n_hot=2, weighted=True)
    step = Step(name="s", blocks=(block,))
    assert step.diameter() == 2.0  # weights of either sign: two rows may lie on opposite sides
    view, plan = open_view(ONE_COLUMN, {"x": np.array([0.0, 0.25, 0.5, 1.0])}, (step,))

    def weighted(batch):
        weight = np.select([batch["x"] == 0, batch["x"] == 1], [np.nan, -np.inf], 4 * batch["x"] - 1.5)
        return {"w": np.stack([np.zeros(len(weight)), 1 + (batch["x"] > 0.3), weight], axis=1)}

    total = view.noisy_sum("s", weighted)["w"].values  # weights nan, -0.5, 0.5, -inf
    assert total == pytest.approx([-1.0, -0.5, -0.5], abs=3 / plan.units_per_one("s", "w"))


@given(
    rows=st.lists(
        st.tuples(
            st.lists(st.integers(-2, 9) | st.just(10**12), min_size=4, max_size=4),
            floats | st.floats(-3, 3) | st.sampled_from([1e308, -1e308, 2.0, -2.0]),
        ),
        min_size=1,
        max_size=6,
    ),
    units=st.integers(0, 2**29) | st.floats(0.5, 16.0),
)
def test_no_weighted_row_is_longer_than_its_bound_whatever_it_weighs(rows, units) -> None:
    block = Hot(name="w", width=8, n_hot=4, weighted=True)
    values = np.array([[*codes, weight] for codes, weight in rows])
    codes, n_codes = distinct_codes(values, block=block)
    weights = weights_in_units(values, n_codes, block=block, units=units)
    for own, weight in zip(codes, weights.tolist(), strict=True):
        assert (own >= 0).sum() * weight**2 <= block.n_hot * int(units) ** 2


def test_the_fewer_codes_a_row_has_the_more_each_may_weigh() -> None:
    block = Hot(name="w", width=9, n_hot=4, weighted=True)
    values = np.array([[0, 1, 2, 3, 9.0], [0, 1, 2, 2, 9.0], [5, 99, -1, 5, -9.0], [0, -1, -1, -1, 0.25]])
    _, n_codes = distinct_codes(values, block=block)
    weights = weights_in_units(values, n_codes, block=block, units=1e6) / 1e6
    assert weights == pytest.approx([1.0, math.sqrt(4 / 3), -2.0, 0.25], abs=2e-6)


@dataclass(frozen=True)
class Heavy(IndependentHistograms):
    """Asks for far more weight than it may have, at all codes of every row."""

    name: ClassVar[str] = "heavy"

    def steps(self, schema, budget):
        return (Step(name="w", blocks=(Hot(name="w", width=6, n_hot=4, weighted=True),)),)

    def measure(self, view, schema):
        return {"w": view.noisy_sum("w", lambda batch: {"w": np.tile([0, 1, 2, 3, 1e9], (len(batch["x"]), 1))})}


@pytest.mark.slow
def test_a_clip_that_ignores_how_many_codes_a_row_has_is_caught(monkeypatch) -> None:
    (clause,) = [check for check in CHECKS if check.name == "neighbouring data differ by at most the bound"]
    clause.run(Setting(Heavy(), ONE_COLUMN, BUDGET, 60))
    twins.weighs_every_code_as_if_alone(monkeypatch)
    with pytest.raises(ContractError, match="one row moves a sum by 2 times"):
        clause.run(Setting(Heavy(), ONE_COLUMN, BUDGET, 60))


@given(
    rows=st.lists(st.lists(floats, min_size=6, max_size=6), min_size=1, max_size=5),
    extra=st.lists(floats, min_size=6, max_size=6),
    bound=st.floats(1e-3, 1e3),
    noise=st.floats(0.01, 1e3),
    groups=st.sampled_from([1, 3]),
)
def test_one_row_moves_an_outer_sum_by_no_more_than_its_bound(rows, extra, bound, noise, groups) -> None:
    block = Outer(name="o", shape=(2, 3), l2_bound=bound, groups=groups)
    units = units_per_one(block, noise_multiplier=noise)
    rows, extra = (np.array(values)[:, : block.columns] for values in (rows, [extra]))
    without, together = (
        outer_to_grid(outer_sum(values, block=block), block=block, units=units).astype(object)
        for values in (rows, np.concatenate([rows, extra]))
    )
    assert sum(int(d) ** 2 for d in together - without) <= norm_in_units(noise) ** 2


def test_outer_sums_are_the_products_of_clipped_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 7))
    rows[:, -1] = rng.integers(0, 2, 3000)
    block = Outer(name="o", shape=(2, 4), l2_bound=1.5, groups=2)
    high, low = outer_sum(rows, block=block).reshape(2, 2, 2, 4)
    total = (high * 2.0**LIMB_BITS + low) * (1.5 / FINE_NORM**2)
    u, v = rows[:, :2], rows[:, 2:6]
    clip = np.minimum(1, 1.5 / (np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)))[:, None]
    for g in (0, 1):
        mine = rows[:, -1] == g
        assert total[g] == pytest.approx((u * clip)[mine].T @ v[mine], abs=1e-2)


def test_products_of_any_number_of_rows_add_up() -> None:
    """A hundred million rows of full length: one more would wrap a single 64-bit sum, and move it by all of its range."""
    block = Outer(name="o", shape=(1, 1), l2_bound=1.0)
    batch, times = outer_sum(np.ones((4096, 2)), block=block), 100_000_000 // 4096
    units = units_per_one(block, noise_multiplier=1.0)
    (found,) = outer_to_grid(batch * times, block=block, units=units)
    assert found == pytest.approx(units * 4096 * times, rel=1e-5)


def test_prepared_columns_are_kept_and_act_on_each_row_alone() -> None:
    step = Step(name="sum", blocks=(Dense(name="x", width=1, l2_bound=100.0),), uses=2)
    view, _ = open_view(ONE_COLUMN, {"x": np.full(9000, 0.5)}, (step,))
    seen = []

    def doubled(batch):
        seen.append(float(batch["x"][0]))
        return 2 * batch["x"]

    view.prepare("twice", doubled)
    first = view.noisy_sum("sum", lambda b: {"x": b["twice"]})["x"].values
    reads = len(seen)
    view.prepare("twice", lambda b: b["twice"] + 1)
    second = view.noisy_sum("sum", lambda b: {"x": b["twice"]})["x"].values
    assert (first[0], second[0]) == pytest.approx((9000, 18000), rel=1e-3)
    assert len(seen) == reads, "kept rows are not prepared again"
    with pytest.raises(ContractError, match="other rows stand beside it"):
        view.prepare("mixed", lambda b: b["x"] - b["x"].mean())
    with pytest.raises(PlanError, match="column 'x' already"):
        view.prepare("x", doubled)


def test_rows_that_do_not_fit_are_read_again(monkeypatch) -> None:
    monkeypatch.setattr("sfumato.private.rows.room.MOST_BYTES", 1000)
    step = Step(name="sum", blocks=(Dense(name="x", width=1, l2_bound=1.0),), uses=2)
    view, _ = open_view(ONE_COLUMN, {"x": np.full(9000, 0.5)}, (step,))
    view.prepare("same", lambda b: b["x"])
    for _ in range(2):
        assert view.noisy_sum("sum", lambda b: {"x": b["same"]})["x"].values[0] == pytest.approx(4500, rel=1e-3)


@pytest.mark.slow
def test_sums_and_counts_are_exact_without_noise() -> None:
    raw = {"x": np.array([0.25, 0.5, 1.0, 0.0])}
    steps = (
        Step(name="sum", blocks=(Dense(name="x", width=1, l2_bound=1.0),)),
        Step(name="counts", blocks=(Hot(name="high", width=2),)),
    )
    view, plan = open_view(ONE_COLUMN, raw, steps)
    total = view.noisy_sum("sum", lambda batch: {"x": batch["x"]})["x"].values
    counts = view.noisy_sum("counts", lambda batch: {"high": batch["x"] > 0.4})["high"].values
    assert total == pytest.approx([1.75], abs=4 / plan.units_per_one("sum", "x"))
    assert counts.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("mechanism", [IndependentHistograms(), DPMix(mixtures=40, degree=20)])
def test_everything_released_lies_on_the_public_grid(mechanism) -> None:
    view, plan = open_view(
        schemas.TABLE,
        made_up(schemas.TABLE, n_rows=300, seed=1),
        mechanism.steps(schemas.TABLE, BUDGET),
        primitives=Primitives,
    )
    measured = mechanism.measure(view, schemas.TABLE)
    for step in plan.steps:
        for name, noisy in view.answers.measured(plan, step.name, 0).items():
            units = plan.units_per_one(step.name, name)
            assert (np.round(noisy.values * units) / units == noisy.values).all()
            assert noisy.stddev == plan.noise_stddev(step.name, name)
    if isinstance(mechanism, DPMix):
        assert all((np.ldexp(values, 14) == np.round(np.ldexp(values, 14))).all() for values in measured.values())


def test_a_poisson_sum_takes_about_its_share() -> None:
    step = Step(name="part", blocks=(Hot(name="n", width=1),), sampling=Poisson(0.25))
    view, _ = open_view(replace(ONE_COLUMN, rows=None), {"x": np.full(40_000, 0.5)}, (step,))
    count = view.noisy_sum("part", lambda batch: {"n": np.zeros(len(batch["x"]))})["n"].values[0]
    assert abs(count - 10_000) < 5 * math.sqrt(40_000 * 0.25 * 0.75)


def test_mixtures_of_several_batches_equal_those_of_one(monkeypatch) -> None:
    mechanism = DPMix(mixtures=12, sampling="known_partition")
    schema = replace(schemas.REPLACE, rows=1000)
    raw = made_up(schema, n_rows=1000, seed=3)
    results = []
    for cells in (1 << 22, 700):
        monkeypatch.setattr("sfumato.private.view._CELLS_PER_BATCH", cells)
        view, _ = open_view(schema, raw, mechanism.steps(schema, BUDGET))
        results.append(mechanism.measure(view, schema)["features"])
    assert (results[0] == results[1]).all()


def test_groups_keep_to_themselves() -> None:
    schema = replace(schemas.IMAGES, rows=300)
    raw = made_up(schema, n_rows=300, seed=4)
    dark = np.array([name == "a" for name in raw["label"]])
    raw["image"] = np.where(dark[:, None, None], 0.0, 255.0).astype(np.float32) * np.ones((300, 6, 6), dtype=np.float32)
    mechanism = DPMix(mixtures=30, degree=40, classwise=True)
    view, _ = open_view(schema, raw, mechanism.steps(schema, BUDGET))
    rows = mechanism.build(mechanism.measure(view, schema), schema, seed=0).rows
    assert rows.images[:10].max() < 0.3 * 255  # class a holds dark pictures alone
    assert rows.images[10:].min() > 0.7 * 255
    assert rows.labels.tolist() == [0] * 10 + [1] * 10 + [2] * 10


def test_a_door_refuses_what_was_not_planned() -> None:
    step = Step(name="sum", blocks=(Dense(name="x", width=1, l2_bound=1.0),))
    view, _ = open_view(ONE_COLUMN, {"x": np.zeros(3)}, (step,))
    with pytest.raises(PlanError, match="no step 'other'"):
        view.noisy_sum("other", lambda batch: {"x": batch["x"]})
    with pytest.raises(PlanError, match="exactly the blocks x"):
        view.noisy_sum("sum", lambda batch: {"y": batch["x"]})
    view, _ = open_view(ONE_COLUMN, {"x": np.zeros(3)}, (step,))
    with pytest.raises(PlanError, match=r"exactly the blocks x \(1 columns\)"):
        view.noisy_sum("sum", lambda batch: {"x": np.zeros((len(batch["x"]), 2))})
    with pytest.raises(PlanError, match="used as often"):
        view.noisy_sum("sum", lambda batch: {"x": batch["x"]})
    with pytest.raises(PlanError, match="Use the door noisy_sum"):
        open_view(ONE_COLUMN, {"x": np.zeros(3)}, (step,))[0].noisy_mixtures("sum", lambda batch: {"x": batch["x"]})


def test_the_door_of_mixtures_refuses_one_sampled_sum() -> None:
    """It spells out each row's integers, and a sum may have products, which have none: it would read past the rows."""
    blocks = (
        Dense(name="x", width=1, l2_bound=1.0, share=0.5),
        Outer(name="o", shape=(9, 9), l2_bound=1.0, share=0.5),
    )
    step = Step(name="sum", blocks=blocks, sampling=Poisson(0.5))
    view, _ = open_view(ONE_COLUMN, {"x": np.ones(300)}, (step,))
    with pytest.raises(PlanError, match="Use the door noisy_sum"):
        view.noisy_mixtures("sum", lambda b: {"x": b["x"], "o": np.ones((len(b["x"]), 18))})


@pytest.mark.parametrize(
    "mixing",
    [
        lambda x: x - x.mean(),
        lambda x: x / max(1e-9, np.abs(x).max()),
        lambda x: np.sort(x),
        lambda x: np.cumsum(x),
        lambda x: x * (1 + (x > 0.5).sum()),
    ],
)
def test_maps_that_mix_rows_are_refused_before_any_row_is_read(mixing) -> None:
    step = Step(name="sum", blocks=(Dense(name="x", width=1, l2_bound=1.0),))
    view, _ = open_view(ONE_COLUMN, {"x": np.linspace(0, 1, 9)}, (step,))
    with pytest.raises(ContractError, match="other rows stand beside it"):
        view.noisy_sum("sum", lambda batch: {"x": mixing(batch["x"])})


def test_groups_that_depend_on_other_rows_are_refused() -> None:
    step = Step(name="m", blocks=(Dense(name="x", width=1, l2_bound=1.0),), sampling=Poisson(0.1), mixtures=3, groups=2)
    view, _ = open_view(ONE_COLUMN, {"x": np.linspace(0, 1, 9)}, (step,))
    with pytest.raises(ContractError, match="other rows stand beside it"):
        view.noisy_mixtures("m", lambda b: {"x": b["x"]}, group_of=lambda b: b["x"] > b["x"].mean())


def test_odd_values_make_no_warning(recwarn) -> None:
    blocks = (Dense(name="x", width=2, l2_bound=1.0, share=0.5), Hot(name="h", width=2, share=0.5))
    view, _ = open_view(ONE_COLUMN, {"x": np.array([0.0, 1.0])}, (Step(name="s", blocks=blocks),))
    view.noisy_sum("s", lambda b: {"x": np.stack([np.log(b["x"]), 1 / b["x"]], axis=1), "h": np.log(b["x"] - 1)})
    assert len(recwarn) == 0


def test_splitting_and_reordering_the_rows_changes_no_sum() -> None:
    rng = np.random.default_rng(0)
    values = rng.random(1000)
    step = Step(name="sum", blocks=(Dense(name="x", width=2, l2_bound=1.0),))
    totals = []
    for order in (np.arange(1000), rng.permutation(1000)):
        view, _ = open_view(ONE_COLUMN, {"x": values[order]}, (step,))
        totals.append(
            view.noisy_sum("sum", lambda batch: {"x": np.stack([batch["x"], batch["x"] ** 2], axis=1)})["x"].values
        )
    assert (totals[0] == totals[1]).all()


def test_a_view_cannot_be_pickled_and_shows_no_rows() -> None:
    step = Step(name="sum", blocks=(Dense(name="x", width=1, l2_bound=1.0),))
    view, _ = open_view(ONE_COLUMN, {"x": np.full(3, 0.123456789)}, (step,))
    with pytest.raises(PrivacyError):
        pickle.dumps(view)
    assert "0.1234" not in repr(view)


# Steps and plans.


def test_events_follow_relation_unit_and_sampling() -> None:
    ball = Step(name="s", blocks=(Dense(name="x", width=3, l2_bound=2.0),))
    assert ball.event(noise_multiplier=5.0, unit=PrivacyUnit()).noise_multiplier == 5.0
    assert ball.event(noise_multiplier=5.0, unit=PrivacyUnit(relation="replace_one")).noise_multiplier == 2.5
    assert ball.event(noise_multiplier=6.0, unit=PrivacyUnit(person="p", max_rows=3)).noise_multiplier == 2.0
    codes = Step(name="s", blocks=(Hot(name="x", width=3),))
    assert codes.event(
        noise_multiplier=5.0, unit=PrivacyUnit(relation="replace_one")
    ).noise_multiplier == pytest.approx(5 / math.sqrt(2))
    box = Step(
        name="s",
        blocks=(
            Dense(name="x", width=784, l2_bound=14.0, share=196 / 197),
            Hot(name="y", width=10, share=1 / 197),
        ),
    )
    assert box.diameter() * math.sqrt(197) == pytest.approx(math.sqrt(786))
    coins = replace(ball, sampling=Poisson(0.1), mixtures=7)
    assert coins.event(noise_multiplier=5.0, unit=PrivacyUnit()).count == 7
    persons = coins.event(noise_multiplier=5.0, unit=PrivacyUnit(person="p", max_rows=2)).event
    assert persons.sampling_probs == pytest.approx([0.81, 0.18, 0.01])


@pytest.mark.parametrize(
    ("mechanism", "unit", "message"),
    [
        (DPMix(degree=20, mixtures=10, sampling="without_replacement"), PrivacyUnit(), "public number of rows"),
        (DPMix(mixtures=10, sampling="known_partition"), PrivacyUnit(), "public number of rows"),
        (DPMix(degree=20, mixtures=10, classwise=True), PrivacyUnit(relation="replace_one"), "group by group"),
        (DPMix(degree=20, mixtures=10), PrivacyUnit(relation="replace_one", person="p", max_rows=2), "several rows"),
        (
            DPMix(mixtures=10, sampling="known_partition"),
            PrivacyUnit(relation="replace_one", person="p", max_rows=2),
            "another person's rows would move",
        ),
        (DPMix(degree=20, mixtures=11, classwise=True), PrivacyUnit(), "multiple of the 2 classes"),
        (
            DPMix(degree=20, mixtures=10, classwise=True, sampling="known_partition"),
            PrivacyUnit(),
            "public class sizes",
        ),
        (DPMix(degree=301, mixtures=10), PrivacyUnit(), "may not exceed the number of rows"),
        (DPMix(degree=20, mixtures=0), PrivacyUnit(), "at least 1"),
        (DPMix(degree=20, mixtures=1), PrivacyUnit(), "2 mixtures or more"),
        (DPMix(degree=20, mixtures=10), PrivacyUnit(person="p", max_rows=10**9), "too many to be accounted for"),
    ],
)
def test_plans_that_no_proof_covers_are_refused(mechanism, unit: PrivacyUnit, message: str) -> None:
    schema = replace(schemas.TABLE, unit=unit)
    with pytest.raises(PlanError, match=message):
        make_plan(mechanism.steps(schema, BUDGET), budget=BUDGET, unit=schema.unit, rows=schema.rows)


def test_shares_divide_the_precision() -> None:
    blocks = (Dense(name="x", width=1, l2_bound=1.0),)
    steps = (Step(name="a", blocks=blocks, share=3.0), Step(name="b", blocks=blocks, share=1.0, uses=4))
    plan = make_plan(steps, budget=BUDGET, unit=PrivacyUnit(), rows=None)
    precision = {s.name: s.uses / plan.noise_multiplier(s.name) ** 2 for s in steps}
    assert precision["a"] == pytest.approx(3 * precision["b"])
    assert plan.spent.epsilon == pytest.approx(1.0, rel=1e-3)
    assert plan.spent.epsilon <= 1.0


def test_default_dpmix_on_mnist_needs_the_published_noise() -> None:
    """Accept: epsilon 1, delta 1/60000, T 10000, l 256, Poisson, centred box: 0.0935 +- 0.001 per pixel."""
    mnist = Schema(
        columns=(
            Column(name="image", kind="image", shape=(28, 28)),
            Column(name="label", kind="categorical", categories=tuple("0123456789")),
        ),
        target="label",
        rows=60_000,
    )
    mechanism = DPMix()
    plan = make_plan(
        mechanism.steps(mnist, BUDGET), budget=Budget(epsilon=1.0, delta=0.9999 / 60_000), unit=mnist.unit, rows=60_000
    )
    assert plan.noise_stddev("mixtures", "features") / mechanism.degree == pytest.approx(0.0935, abs=0.001)
    assert plan.noise_stddev("mixtures", "labels") / mechanism.degree == pytest.approx(0.0935, abs=0.001)


def test_everyone_is_the_default_sampling() -> None:
    assert isinstance(Step(name="s", blocks=(Dense(name="x", width=1, l2_bound=1.0),)).sampling, Everyone)


def test_fixed_size_draws_need_the_declared_number_of_rows() -> None:
    schema = replace(schemas.REPLACE, rows=299)
    mechanism = DPMix(mixtures=10, degree=20, sampling="without_replacement")
    view, _ = open_view(schema, made_up(schema, n_rows=300, seed=1), mechanism.steps(schema, BUDGET))
    with pytest.raises(PlanError, match="the plan says 299 rows"):
        mechanism.measure(view, schema)


def test_sensitive_is_what_a_view_opens() -> None:
    assert isinstance(read(made_up(schemas.TABLE, n_rows=1, seed=1), schemas.TABLE), Sensitive)


def test_kept_rows_are_packed_and_come_back_as_they_were() -> None:
    """Whatever the schema allows survives the small types, whole numbers at the edge of a type included."""
    columns = [
        Column(name=f"i{high}", kind="integer", bounds=(-high, high))
        for high in (0.5, 127, 128, 32768, 2**31 - 1, 2**40)
    ]
    columns += [
        Column(name=f"c{size}", kind="categorical", categories=tuple(map(str, range(size))), missing=True)
        for size in (1, 255, 256, 70_000)
    ]
    columns += [Column(name="x", kind="numeric", bounds=(0, 1)), Column(name="b", kind="boolean")]
    columns.append(Column(name="absent", kind="integer", bounds=(0, 9), missing=True))
    schema = Schema(columns=tuple(columns))
    rng = np.random.default_rng(0)
    raw = {c.name: rng.choice([c.low, c.high, np.nan], 50) for c in columns if c.is_number}
    raw |= {c.name: rng.choice([c.categories[0], c.categories[-1], "?"], 50) for c in columns if c.is_coded}
    rows = PreparedRows(Sensitive.read(raw, schema), schema=schema, keep=True)
    [first], [again] = ([piece.batch for piece in rows] for _ in range(2))
    for name in raw:
        assert first[name].dtype == again[name].dtype
        np.testing.assert_array_equal(first[name], again[name])
    packed = rows._private_kept[0].batch
    assert packed["i127"].itemsize == packed["c255"].itemsize == packed["b"].itemsize == 1
