"""The door of discovery: what it lets out, what it costs, and twins that let out too much."""

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato import Budget, Column, PrivacyUnit, Schema, Sensitive
from sfumato.errors import BudgetError, SchemaError
from sfumato.private.discovering import discover
from sfumato.private.doors.discovery import frequent_texts
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.view import View
from sfumato.public.plan.discovery import ROWS, DiscoveryPlan, discovered_bounds, plan_discovery
from sfumato.public.plan.grid import NOISE_STDDEV

BUDGET = Budget(epsilon=1.0, delta=1e-6)
TOWN = Column(name="town", kind="categorical", discover=True)
AGE = Column(name="age", kind="integer", discover=True)


def known_noise() -> NoiseSource:
    """Of 20,000 texts of one row each, some pass by chance once in 500 runs: as often as was accounted. A test is to be sure."""
    return NoiseSource(research_seed=1)


def schema(*columns: Column, person: str | None = None, max_rows: int = 1) -> Schema:
    return Schema(columns=columns, unit=PrivacyUnit(person=person, max_rows=max_rows))


def rare_values(n_values: int, *, copies: int = 1):
    """Values that one unit alone holds: none may pass."""
    return np.repeat(np.array([f"secret {i}" for i in range(n_values)], dtype=object), copies)


def let_out(planned: DiscoveryPlan, towns, *, primitives=Primitives, person=None) -> tuple[str, ...]:
    data = {"town": towns} if person is None else {"town": towns, "person": person}
    unit = planned.plan.unit
    private = Sensitive.read(data, schema(TOWN, person=unit.person, max_rows=unit.max_rows))
    made = primitives(known_noise())
    view = View(private, plan=planned.plan, primitives=made, schema=private.schema)
    return frequent_texts(view.private_texts(["town"]), planned, primitives=made)["town"]


def test_common_texts_pass_and_those_of_one_row_do_not() -> None:
    planned = plan_discovery(schema(TOWN), (TOWN,), budget=BUDGET)
    towns = np.concatenate([np.repeat(np.array(["Ulm", "Bonn"], dtype=object), 5000), rare_values(20_000)])
    assert let_out(planned, towns) == ("Bonn", "Ulm")


class HalfNoise(Primitives):
    def noise(self, shape):
        return super().noise(shape) // 2


def noise_of_the_counts(primitives: type[Primitives]) -> np.ndarray:
    """How the noisy counts of many values scatter around the threshold: by where they pass it."""
    planned = plan_discovery(schema(TOWN), (TOWN,), budget=BUDGET)
    seen = []

    class Noting(primitives):
        def noisy(self, private_sum, *, step, block):
            noisy = super().noisy(private_sum, step=step, block=block)
            seen.append((noisy - private_sum) / NOISE_STDDEV)
            return noisy

    let_out(planned, rare_values(20_000), primitives=Noting)
    return np.concatenate(seen)


@pytest.mark.parametrize(("primitives", "honest"), [(Primitives, True), (HalfNoise, False)])
def test_the_noise_on_the_counts_has_its_scale(primitives, honest: bool) -> None:
    assert (abs(noise_of_the_counts(primitives).std() - 1) < 0.03) == honest


class NoThreshold(DiscoveryPlan):
    """Every text that occurs passes."""

    threshold = -(2**62)


class ThresholdWithoutPersons(DiscoveryPlan):
    """A threshold for one row, although a person may have ten."""

    @property
    def threshold(self) -> int:
        return self.units_per_row + NOISE_STDDEV


@pytest.mark.parametrize(
    ("twin", "passes"), [(DiscoveryPlan, False), (NoThreshold, True), (ThresholdWithoutPersons, True)]
)
def test_texts_of_a_single_person_stay_inside(twin, passes: bool) -> None:
    planned = plan_discovery(
        schema(TOWN, person="person", max_rows=10), (TOWN,), budget=Budget(epsilon=3.0, delta=1e-6)
    )
    planned = twin(**vars(planned))
    towns = rare_values(3000, copies=10)
    out = let_out(planned, towns, person=np.repeat(np.arange(3000), 10))
    assert bool(out) == passes


def test_the_event_is_a_function_of_public_facts() -> None:
    one, two = (plan_discovery(schema(TOWN, AGE), (TOWN, AGE), budget=BUDGET) for _ in range(2))
    assert one.event == two.event
    rng = np.random.default_rng(0)
    data = {"town": np.repeat(np.array(["Ulm", "Bonn"], dtype=object), 3000), "age": rng.integers(18, 80, 6000)}
    found = discover(Sensitive.read(data, schema(TOWN, AGE)), budget=BUDGET, primitives=Primitives(known_noise()))
    assert found.plan.event == one.event
    assert found.schema["town"].categories == ("Bonn", "Ulm")
    # Bounds and the number of rows follow from the integers that the doors gave, and from nothing else.
    assert discovered_bounds(one, found.answers)["age"] == found.schema["age"]
    assert found.answers.measured(one.plan, ROWS, 0)["rows"].values == pytest.approx(6000, abs=200)


def test_what_cannot_be_discovered_is_refused_in_words_without_a_value() -> None:
    replace_one = Schema(columns=(TOWN,), unit=PrivacyUnit(relation="replace_one"))
    with pytest.raises(SchemaError, match="add_or_remove"):
        plan_discovery(replace_one, (TOWN,), budget=BUDGET)
    nobody = Sensitive.read({"town": rare_values(50)}, schema(TOWN))
    with pytest.raises(BudgetError, match="no category is common enough") as refusal:
        discover(nobody, budget=BUDGET, primitives=Primitives(known_noise()))
    assert "secret" not in str(refusal.value)
    # All columns are named at once, and that budget is gone: each further try would cost anew.
    other = replace(TOWN, name="street")
    both = Sensitive.read({"town": rare_values(50), "street": rare_values(50)}, schema(TOWN, other))
    with pytest.raises(BudgetError, match=r"columns 'town', 'street': .* has spent its part \(10%\) of the budget"):
        discover(both, budget=BUDGET, primitives=Primitives(known_noise()))
    ages = Sensitive.read({"age": np.arange(5)}, schema(AGE))
    with pytest.raises(BudgetError, match=r"column 'age': no values rise above the noise\. Declare bounds"):
        discover(ages, budget=BUDGET, primitives=Primitives(known_noise()))


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("texts", [1, 4])
def test_a_unit_moves_all_counts_of_texts_together_by_what_was_booked(max_rows, texts) -> None:
    """All rows of a person may hold one text in every column: that is the farthest."""
    columns = tuple(Column(name=f"town {at}", kind="categorical", discover=True) for at in range(texts))
    asked = schema(*columns, person="person" if max_rows > 1 else None, max_rows=max_rows)
    planned = plan_discovery(asked, columns, budget=BUDGET)
    moved = max_rows * planned.units_per_row * texts**0.5 / NOISE_STDDEV
    assert 0.99 * planned.mu_texts < moved <= planned.mu_texts


class _Read(AssertionError):
    """A row was asked for."""


class _NoRows:
    names = ("town", "size")

    def chunks(self, names, *, rows):
        raise _Read


@pytest.mark.parametrize("column", [TOWN, Column(name="size", kind="numeric", discover=True)])
def test_a_discovery_that_the_plan_knows_to_fail_is_refused_before_anything_is_spent(column) -> None:
    budget = Budget(epsilon=1.0, delta=1e-6)
    few, enough = (Schema(columns=(column,), rows=rows) for rows in (40, 40_000))
    for refused in (
        lambda: sf.plan("auto", few, budget),
        lambda: sf.fit("auto", Sensitive(_NoRows(), schema=few), budget),
    ):
        with pytest.raises(BudgetError, match=r"declares rows = 40.*Nothing was spent"):
            refused()
    sf.plan("auto", enough, budget)
    for asked in (enough, replace(few, rows=None)):  # nobody can know of these beforehand
        with pytest.raises(_Read):
            sf.fit("auto", Sensitive(_NoRows(), schema=asked), budget)


def test_the_rows_that_a_refusal_names_are_those_that_a_discovery_needs() -> None:
    """With half as many rows of one value nothing is found; with twice as many it is, nearly always."""
    budget = Budget(epsilon=1.0, delta=1e-6)
    asked = Schema(columns=(TOWN,))
    needed = plan_discovery(asked, asked.unknown, budget=budget).rows_of_a_category
    with pytest.raises(BudgetError, match=f"{needed:,} rows"):
        sf.plan("auto", replace(asked, rows=needed // 2), budget)
    for rows, is_found in ((needed // 2, False), (2 * needed, True)):
        private = Sensitive.read({"town": np.full(rows, "x")}, asked)
        try:
            discover(private, budget=budget, primitives=Primitives(NoiseSource()))
        except BudgetError:
            assert not is_found
        else:
            assert is_found
