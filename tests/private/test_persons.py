"""All rows of a person are clipped together: what they add up to, wherever they lie and whoever else is there."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import schemas
import twins
from sfumato import Budget, Column, PrivacyUnit, Schema, Sensitive
from sfumato.check import CHECKS
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, PlanError, PrivacyError
from sfumato.extending import Dense, Hot, Outer, Poisson, SecretBins, Step
from sfumato.mechanisms import IndependentHistograms
from sfumato.private.intake import together
from sfumato.private.intake.sensitive import open_persons
from sfumato.private.kernel import sums
from sfumato.private.kernel.persons import of_whole_persons
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.view import View
from sfumato.public.plan.gradient_step import gradient_block
from sfumato.public.plan.grid import norm_in_units
from sfumato.public.plan.plan import make_plan

BUDGET = Budget(epsilon=1.0, delta=1e-6)
UNIT = PrivacyUnit(person="who", max_rows=4)
SCHEMA = Schema(columns=(Column(name="x", kind="numeric", bounds=(0, 1)),), rows=100, unit=UNIT)

BLOCKS = {
    "vectors": Dense(name="b", width=3, l2_bound=2.0),
    "nonnegative": Dense(name="b", width=3, l2_bound=0.5, nonnegative=True),
    "codes": Hot(name="b", width=5, n_hot=3),
    "weights": Hot(name="b", width=5, n_hot=2, weighted=True),
    "products": Outer(name="b", shape=(2, 1), l2_bound=1.5),
    "copies": Outer(name="b", shape=(1, 1), l2_bound=1.0, groups=3),
}


def summed(rows, numbers, *, block, bound: float = 1.5, unit: PrivacyUnit = UNIT, primitives=twins.Silent):
    """What the rows of some persons add up to on the grid, and the plan."""
    step = Step(name="s", blocks=(block,), person_bound=bound)
    plan = make_plan((step,), budget=BUDGET, unit=unit, rows=None)
    total = sums.nothing(step)
    batches = [({"b": np.asarray(rows)}, np.asarray(numbers))]
    for batch in of_whole_persons(batches):
        sums.add_rows(total, batch, step=step, plan=plan, primitives=primitives(NoiseSource()))
    return sums.on_grid(total, step=step, plan=plan)["b"].astype(object), plan


floats = st.floats(allow_nan=True, allow_infinity=True, width=64) | st.floats(-3, 9) | st.integers(0, 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BLOCKS)
@given(
    rows=st.lists(st.lists(floats, min_size=3, max_size=3), min_size=1, max_size=4),
    others=st.lists(st.lists(floats, min_size=3, max_size=3), max_size=3),
    bound=st.floats(1.0, 4.0),
)
def test_no_person_moves_a_sum_by_more_than_the_bound(kind, rows, others, bound) -> None:
    block = BLOCKS[kind]
    rows, others = ([row[: block.columns] for row in some] for some in (rows, others))
    numbers = np.repeat([0, 1], [len(others), len(rows)])
    with_all, plan = summed([*others, *rows], numbers, block=block, bound=bound)
    without = summed(others, numbers[: len(others)], block=block, bound=bound)[0] if others else 0 * with_all
    square = sum(int(d) ** 2 for d in with_all - without)
    assert square <= (bound * norm_in_units(plan.noise_multiplier("s"))) ** 2
    assert not block.nonnegative or (with_all - without >= 0).all()


odd_codes = st.sampled_from(
    [math.nan, math.inf, -math.inf, -0.5, -0.0, -1.0, 0.5, 0.9, 1.0, 3.9, 4.0, 5.0, -7.0, 1e30, -1e30, 2.0**31, 2.0**53]
)
odd_rows = st.tuples(odd_codes, odd_codes, st.sampled_from([1.0, -1.0, 0.3, -1.4, math.nan, 1e300]))


@pytest.mark.slow
@given(
    rows=st.lists(odd_rows, min_size=1, max_size=4),
    others=st.lists(odd_rows, max_size=4),
    dtype=st.sampled_from(["float64", "float32", "int64", "int8", "uint64", "bool"]),
)
def test_whatever_codes_a_map_gives_nobody_moves_a_sum_by_more_than_the_bound(rows, others, dtype) -> None:
    """Fractions, wrong signs and types: one and the same whole numbers make a person's norm and the sum."""
    block = BLOCKS["weights"]
    with np.errstate(all="ignore"):
        rows, others = (np.array(some, dtype=float).reshape(-1, 3).astype(dtype) for some in (rows, others))
    last = np.array([[0, 1, 1]]).astype(dtype)  # somebody behind, so that the batch holds them all

    def of(*persons):
        numbers = np.repeat(range(len(persons) + 1), [*map(len, persons), 1])
        return summed(np.concatenate([*persons, last]), numbers, block=block)

    (with_all, plan), (without, _), (nobody, _) = of(others, rows), of(others), of()
    alone = of(rows)[0] - nobody
    assert (with_all - without == alone).all(), "another person's rows decide what these count"
    assert sum(int(d) ** 2 for d in alone) <= (1.5 * norm_in_units(plan.noise_multiplier("s"))) ** 2


def moved_by_fractional_codes(other: float) -> float:
    """In norms of a row: twenty rows at the code 0, and as many of the opposite weight at the code -0.5."""
    rows = [[0.0, -1.0, 1.0]] * 20 + [[-0.5, -1.0, -1.0]] * 20
    unit = replace(UNIT, max_rows=40)
    others = [[other, -1.0, 0.0]], [[4.0, -1.0, 0.0]]  # of one batch, with no weight
    with_all, plan = summed([*others[0], *rows, *others[1]], [0, *[1] * 40, 2], block=BLOCKS["weights"], unit=unit)
    return math.sqrt(sum(int(v) ** 2 for v in with_all)) / norm_in_units(plan.noise_multiplier("s"))


def test_fractional_codes_cannot_hide_the_length_of_a_person(monkeypatch) -> None:
    assert moved_by_fractional_codes(other=1.0) <= 1.5
    assert moved_by_fractional_codes(other=99.0) == moved_by_fractional_codes(other=1.0)
    twins.leaves_codes_as_the_map_gave_them(monkeypatch)
    assert moved_by_fractional_codes(other=1.0) > 10


@pytest.mark.parametrize("kind", BLOCKS)
def test_copies_of_one_row_are_shortened_to_the_bound_and_rows_apart_are_not(kind) -> None:
    block = BLOCKS[kind]
    row = {"weights": [0, 1, 1.0], "codes": [0, 1, 2], "copies": [1.0, 1.0, 0], "products": [3.0, 4.0, 1.0]}.get(
        kind, [1.0, 2.0, 3.0]
    )
    row = row[: block.columns]
    one, plan = summed([row], [0], block=block)
    four, _ = summed([row] * 4, [0] * 4, block=block)
    apart, _ = summed([row] * 4, range(4), block=block)
    unit = norm_in_units(plan.noise_multiplier("s"))
    norms = [math.sqrt(sum(int(v) ** 2 for v in total)) / unit for total in (one, four, apart)]
    assert norms == pytest.approx([1.0, 1.5, 4.0], rel=1e-3)


def test_what_is_short_enough_stays_as_it_is_to_the_last_unit() -> None:
    block = BLOCKS["codes"]
    rows, numbers = [[0, -1, -1], [1, -1, -1], [2, -1, -1], [3, -1, -1]], [0, 0, 0, 0]
    together, plan = summed(rows, numbers, block=block, bound=1.2)
    assert together.tolist() == [int(plan.units_per_one("s", "b"))] * 4 + [0]


def test_the_order_of_rows_and_of_persons_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    numbers = np.sort(rng.integers(0, 60, 200))
    for kind, block in BLOCKS.items():
        unit = replace(UNIT, max_rows=20)
        rows = rng.normal(size=(200, block.columns)) * 3
        if kind in ("codes", "weights"):
            rows[:, : block.n_hot] = rng.integers(0, 5, (200, block.n_hot))
        expected = summed(rows, numbers, block=block, unit=unit)[0]
        order = np.lexsort((rng.random(200), rng.permutation(60)[numbers]))
        again = np.cumsum(np.diff(numbers[order], prepend=-1) != 0)
        assert (summed(rows[order], again, block=block, unit=unit)[0] == expected).all(), kind


def test_rows_of_two_batches_are_brought_to_one_person() -> None:
    rng = np.random.default_rng(1)
    numbers = np.repeat(np.arange(30), rng.integers(1, 9, 30))
    values = rng.normal(size=(len(numbers), 2))
    cuts = np.sort(rng.integers(0, len(numbers), 12))
    parts = zip(np.split(values, cuts), np.split(numbers, cuts), strict=True)
    whole = list(of_whole_persons([({"b": v}, n) for v, n in parts]))
    assert np.concatenate([rows["b"] for rows, _ in whole]).tolist() == values.tolist()
    seen = [set(n.tolist()) for _, n in whole]
    assert sum(len(s) for s in seen) == 30, "somebody is in two batches"
    assert list(of_whole_persons([])) == []


# Through the door.


@dataclass(frozen=True)
class Sums(IndependentHistograms):
    """One sum of each kind of block, with bounds for persons; rows at the upper bound are as long as they may be."""

    name: ClassVar[str] = "sums"

    def steps(self, schema, budget):
        blocks = {
            "dense": Dense(name="b", width=2, l2_bound=1.0),
            "hot": Hot(name="b", width=6, n_hot=2),
            "weighted": Hot(name="b", width=6, n_hot=2, weighted=True),
            "outer": Outer(name="b", shape=(1, 2), l2_bound=1.0),
        }
        return tuple(Step(name=name, blocks=(block,), person_bound=1.25) for name, block in blocks.items())

    def measure(self, view, schema):
        def codes(batch):
            first = np.nan_to_num(batch["age"]) > 50
            return np.stack([first, 2 + (np.nan_to_num(batch["pressure"]) > 130)], axis=1).astype(float)

        maps = {
            "dense": lambda b: codes(b) + 1,
            "hot": codes,
            "weighted": lambda b: np.column_stack([codes(b), np.where(codes(b)[:, 0] > 0, 1.0, -1.0)]),
            "outer": lambda b: np.column_stack([np.ones(len(codes(b))), codes(b) - 0.5]),
        }
        return {name: view.noisy_sum(name, lambda b, f=f: {"b": f(b)})["b"] for name, f in maps.items()}

    def build(self, measurements, schema, *, seed):
        return None


def clause():
    (found,) = [check for check in CHECKS if check.name == "neighbouring data differ by at most the bound"]
    return found


def run_clause(schema=schemas.PERSONS, primitives=Primitives) -> None:
    clause().run(Setting(Sums(), schema, BUDGET, 60, primitives=primitives))


REPLACED = replace(schemas.PERSONS, unit=replace(schemas.PERSONS.unit, relation="replace_one"), rows=60)


@pytest.mark.slow
@pytest.mark.parametrize("schema", [schemas.PERSONS, REPLACED], ids=["added", "replaced"])
def test_the_door_keeps_its_bound_for_persons(schema) -> None:
    run_clause(schema)


@pytest.mark.slow
@pytest.mark.parametrize("schema", [schemas.PERSONS, REPLACED], ids=["added", "replaced"])
@pytest.mark.parametrize("twin", [twins.NoClipOfPersons, twins.TwiceTheBoundOfPersons, twins.ShortensPersonsByTheFirst])
def test_a_door_that_leaves_out_the_clip_of_persons_is_caught(schema, twin) -> None:
    with pytest.raises(ContractError, match="one person moves a sum by"):
        run_clause(schema, twin)


@pytest.mark.slow
@pytest.mark.parametrize("twin", [twins.leaves_persons_apart, twins.tears_persons_at_the_ends_of_batches])
def test_persons_whose_rows_are_not_all_together_are_caught(twin, monkeypatch) -> None:
    twin(monkeypatch)
    with pytest.raises(ContractError, match="one person moves a sum by"):
        run_clause()


def total_of(raw, *, bound: float = 2.0) -> list[int]:
    step = Step(name="s", blocks=(Hot(name="b", width=4),), person_bound=bound)
    plan = make_plan((step,), budget=BUDGET, unit=UNIT, rows=SCHEMA.rows)
    view = View(Sensitive.read(raw, SCHEMA), plan=plan, primitives=twins.Silent(NoiseSource()), schema=SCHEMA)
    view.noisy_sum("s", lambda batch: {"b": (batch["x"] * 4).astype(int)})
    return view.answers.of("s", 0, "b").tolist()


def test_it_does_not_matter_where_a_persons_rows_lie_in_the_file(monkeypatch) -> None:
    rng = np.random.default_rng(2)
    who, x = np.repeat(np.arange(900), 4), rng.integers(0, 4, 3600) / 4
    order = rng.permutation(3600)
    expected = total_of({"who": who, "x": x})
    apart = {"who": who[order], "x": x[order]}
    assert total_of(apart) == expected
    monkeypatch.setattr(together, "MOST_BYTES", 20_000)  # not all at once
    assert total_of(apart) == expected


def test_the_sum_of_all_is_the_sum_of_each() -> None:
    """What a person adds depends on that person's rows alone."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 4, 40) / 4
    who = np.repeat(np.arange(10), 4)
    alone = np.sum([total_of({"who": who[who == p], "x": x[who == p]}) for p in range(10)], axis=0)
    assert total_of({"who": who, "x": x}) == alone.tolist()


def test_the_rows_of_a_person_come_side_by_side_in_their_own_order() -> None:
    raw = {"who": ["b", "a", "b", "", "c", "a", "b"], "x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]}
    raw = {name: np.array(values) for name, values in raw.items()}
    batches = list(open_persons(Sensitive.read(raw, SCHEMA), rows=4))
    assert np.concatenate([b["x"] for b in batches]).tolist() == [0.1, 0.3, 0.7, 0.2, 0.6, 0.5]
    assert np.concatenate([b["who"] for b in batches]).tolist() == [0, 0, 0, 1, 1, 2]
    assert [len(b["x"]) for b in batches] == [4, 2]


def test_maps_are_not_told_whose_rows_they_see() -> None:
    seen = set()

    def spying(batch):
        seen.update(batch)
        return {"b": np.zeros(len(batch["x"]))}

    step = Step(name="s", blocks=(Hot(name="b", width=4),), person_bound=2.0)
    plan = make_plan((step,), budget=BUDGET, unit=UNIT, rows=SCHEMA.rows)
    data = Sensitive.read({"who": np.arange(9) // 3, "x": np.zeros(9)}, SCHEMA)
    View(data, plan=plan, primitives=twins.Silent(NoiseSource()), schema=SCHEMA).noisy_sum("s", spying)
    assert seen == {"x"}


def test_a_plan_for_another_unit_does_not_open_the_data() -> None:
    step = Step(name="s", blocks=(Hot(name="b", width=4),), person_bound=2.0)
    rows = replace(SCHEMA, unit=PrivacyUnit())
    plan = make_plan((step,), budget=BUDGET, unit=UNIT, rows=SCHEMA.rows)
    with pytest.raises(PrivacyError, match="another unit"):
        View(Sensitive.read({"x": np.zeros(3)}, rows), plan=plan, primitives=Primitives(NoiseSource()), schema=rows)


# What the accountant is told.


def test_noise_grows_by_the_bound_and_not_by_the_rows() -> None:
    step = Step(name="s", blocks=(Dense(name="x", width=3, l2_bound=2.0),), person_bound=2.5)
    told = [step.event(noise_multiplier=5.0, unit=replace(UNIT, max_rows=m)).noise_multiplier for m in (1, 2, 3, 9)]
    assert told == [5.0, 2.5, 2.0, 2.0]
    replaced = replace(UNIT, relation="replace_one")
    assert step.event(noise_multiplier=5.0, unit=replaced).noise_multiplier == 1.0


@pytest.mark.parametrize("bound", [0.5, math.nan, math.inf])
def test_a_bound_is_at_least_one_row(bound) -> None:
    with pytest.raises(PlanError, match="at least 1"):
        Step(name="s", blocks=(Hot(name="b", width=4),), person_bound=bound)


@pytest.mark.parametrize(
    "more", [{"sampling": Poisson(0.1)}, {"sampling": SecretBins(), "mixtures": 4}], ids=["coins", "bins"]
)
def test_only_sums_over_everyone_clip_persons_together(more) -> None:
    with pytest.raises(PlanError, match="sums over everyone alone"):
        Step(name="s", blocks=(Hot(name="b", width=4),), person_bound=2.0, **more)


def test_gradients_are_clipped_row_by_row() -> None:
    step = Step(name="s", blocks=(Dense(name="b", width=4, l2_bound=1.0),), person_bound=2.0)
    with pytest.raises(PlanError, match="row by row"):
        gradient_block(step)


def test_more_rows_of_a_person_than_integers_can_add_up_are_refused() -> None:
    step = Step(name="s", blocks=(Hot(name="b", width=4),), person_bound=1.0)
    with pytest.raises(PlanError, match="Lower max_rows"):
        make_plan((step,), budget=BUDGET, unit=replace(UNIT, max_rows=10**9), rows=None)
