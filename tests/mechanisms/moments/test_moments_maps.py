"""The maps of moments hold public facts alone, and can travel to another process."""

import dataclasses
import functools
import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from test_moments_contract import THREE, TWO, quick

import sfumato as sf
from sfumato.extending import NoiseSource
from sfumato.mechanisms import Logistic
from sfumato.mechanisms.learners.linear_rule import LinearPlan
from sfumato.mechanisms.moments.plan import MomentsPlan
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.public.plan.answers import AnsweredDoors
from sfumato.public.plan.probe import random_batch
from sfumato.public.schema.schema import Column


class Collecting(AnsweredDoors):
    """Doors that keep the maps they are given."""

    def __init__(self, fitted: sf.Fitted) -> None:
        super().__init__(fitted.plan, fitted.answers)
        self.maps: list[tuple[str, Any]] = []

    def noisy_sum(self, step_name, per_record):
        self.maps.append((step_name, per_record))
        return super().noisy_sum(step_name, per_record)


class QuickLinear(Logistic):
    """The learner, on any table as on wide ones."""

    def _plan(self, schema, budget):
        return LinearPlan(schema, quick.settings)


def maps_of(mechanism, schema: sf.Schema) -> list[tuple[str, Any]]:
    rows = schema.decode(random_batch(schema, n_rows=200, seed=0))
    data, budget = sf.Sensitive.read(rows, schema), sf.Budget(epsilon=2.0, delta=1e-6)
    fitted = sf.fit(mechanism, data, budget, seed=0, source=NoiseSource(research_seed=1))
    doors = Collecting(fitted)
    mechanism.measure(doors, schema)
    assert {step for step, _ in doors.maps} == {step.name for step in fitted.plan.steps}
    return doors.maps


#: What a map may hold besides other frozen dataclasses.
PUBLIC = (str, bool, int, float, type(None), np.ndarray)


def refuse_private(value: Any) -> None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        assert type(value).__dataclass_params__.frozen, type(value)
        for field in dataclasses.fields(value):
            refuse_private(getattr(value, field.name))
    elif isinstance(value, functools.partial):
        refuse_private((*value.args, *value.keywords.values()))
    elif isinstance(value, tuple | list):
        for entry in value:
            refuse_private(entry)
    else:
        assert isinstance(value, PUBLIC), f"a map holds a {type(value).__name__}"


@pytest.mark.parametrize(
    ("mechanism", "schema"),
    [(quick, TWO), (quick, THREE), (QuickLinear(), TWO)],
    ids=["two classes", "three classes", "learner"],
)
def test_every_map_can_be_pickled_and_gives_the_same_bits(mechanism, schema: sf.Schema) -> None:
    batch = random_batch(schema, n_rows=50, seed=2)
    for step, given in maps_of(mechanism, schema):
        refuse_private(given)
        here, there = given(batch), pickle.loads(pickle.dumps(given))(batch)
        assert here.keys() == there.keys()
        assert all(np.array_equal(here[name], there[name]) for name in here), step


def test_a_map_that_holds_a_door_or_cannot_travel_is_noticed() -> None:
    @dataclasses.dataclass(frozen=True)
    class HoldsADoor:
        view: Any
        column: Column

    with pytest.raises(AssertionError, match="a map holds a object"):
        refuse_private(HoldsADoor(object(), TWO.columns[0]))
    with pytest.raises(AssertionError, match="a map holds a function"):
        refuse_private(lambda batch: batch)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(lambda batch: batch)


#: The settings that decide the plan, in the order in which they stand.
IN_THE_PLAN = {
    *("lengths_share", "classes_share", "mean_share", "spreads_share", "squares_share", "moments_share"),
    *("moments_share_without_target", "gradients_share", "evidence_share", "class_means_share"),
    *("margins_share", "columns_each", "most_groups", "cosines"),
    *("cells", "gradients", "intercept", "squares_norm"),
}


def test_the_settings_of_the_plan_change_it_and_the_others_do_not() -> None:
    def plan_of(settings: MomentsSettings) -> list:
        wide = (*(Column(name=f"w{i}", kind="numeric", bounds=(0, 1)) for i in range(135)), TWO.columns[-1])
        middling = (*wide[:31], TWO.columns[-1])  # in two groups, or in one of 16 columns each
        others = [dataclasses.replace(TWO, columns=columns) for columns in (wide, middling)]
        schemas = (TWO, THREE, *others, dataclasses.replace(TWO, columns=TWO.columns[:-1], target=None))
        return [MomentsPlan(schema, settings).steps() for schema in schemas]

    usual = MomentsSettings()
    changing = set()
    for field in dataclasses.fields(usual):
        value = getattr(usual, field.name)
        other = dataclasses.replace(usual, **{field.name: value + 1 if isinstance(value, int) else value * 0.9})
        if plan_of(other) != plan_of(usual):
            changing.add(field.name)
    assert changing == IN_THE_PLAN
    with pytest.raises(dataclasses.FrozenInstanceError):
        usual.cells = 3


def test_every_setting_is_documented() -> None:
    lines = [line.strip() for line in inspect.getsource(MomentsSettings).splitlines()]
    for field in dataclasses.fields(MomentsSettings):
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{field.name}: "))
        assert "#: " in lines[at] or lines[at - 1].startswith("#: "), field.name
