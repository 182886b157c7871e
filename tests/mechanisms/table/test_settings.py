"""Settings of the table method: recorded where they are not the default ones, read strictly, and switched off one by one."""

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest
from small_tables import DEFAULT

import schemas
import sfumato as sf
from sfumato.errors import VerificationError
from sfumato.mechanism import mechanism_from, record_of
from sfumato.mechanisms import ThreeATable
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.mechanisms.table.settings.table import ABLATIONS
from sfumato.public.certificate.certificate import MechanismRecord

MUCH = sf.Budget(epsilon=50.0, delta=1e-6)
SCHEMA = replace(schemas.TABLE, rows=20_000)


def test_the_default_settings_are_not_recorded_and_others_come_back() -> None:
    assert record_of(ThreeATable()).parameters == {"alpha": 1.0}
    for stage in ABLATIONS:
        changed = ThreeATable(settings=DEFAULT.without(stage))
        record = record_of(changed)
        assert mechanism_from(MechanismRecord(record.name, json.loads(json.dumps(record.parameters)))) == changed
        assert record.parameters["settings"], stage


@pytest.mark.parametrize(
    "settings",
    [
        {"nothing": {}},
        {"target": {"nothing": 1}},
        {"target": {"trees": 1}},
        {"target": {"radius": "2"}},
        {"budget": {"shares": {"pairs": 0.1}}},
        {"joint": 7},
        [],
    ],
)
def test_settings_that_are_none_are_refused(settings) -> None:
    with pytest.raises(VerificationError):
        mechanism_from(MechanismRecord("3a-table", {"alpha": 1.0, "settings": settings}))


def test_every_stage_that_can_be_left_out_has_an_ablation() -> None:
    script = ast.parse((Path(__file__).parents[3] / "benchmarks" / "ablate_tables.py").read_text(encoding="utf-8"))
    (stages,) = [n.value for n in script.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "STAGES"]
    assert isinstance(stages, ast.Dict)
    assert {ast.literal_eval(key) for key in stages.keys if key is not None} == set(ABLATIONS)


def test_corrections_and_trees_are_left_out_separately() -> None:
    def planned(stage: str) -> TablePlan:
        return TablePlan(SCHEMA, MUCH, DEFAULT.without(stage))

    assert not planned("corrections").has("teacher")
    assert planned("corrections").is_worth_correcting  # so the rule still has its trees
    assert planned("corrections").has_trees
    assert planned("trees").has("teacher")
    assert not planned("trees").has_trees
    assert "trees" not in {block.name for step in planned("trees").steps() for block in step.blocks}


@pytest.mark.parametrize("stage", ["moments", "contrasts", "links"])
def test_a_stage_that_is_left_out_is_not_planned(stage: str) -> None:
    assert TablePlan(SCHEMA, MUCH).has(stage)
    assert not TablePlan(SCHEMA, MUCH, DEFAULT.without(stage)).has(stage)
