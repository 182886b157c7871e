"""The contract, on tables of all kinds; and twins of the mechanism and of its doors that break one clause each."""

from dataclasses import replace

import pytest
import sklearn.ensemble  # noqa: F401 (it sets variables of the environment when it is imported first)
from small_tables import TINY, TINY_TABLE

import twins
from schemas import IMAGES, NO_TARGET, PERSONS, REPLACE, TABLE
from sfumato import Budget, Column, Schema
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.rows import made_up, read
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, PlanError, SchemaError
from sfumato.extending import NoiseSource, register
from sfumato.fitting import fit as sf_fit
from sfumato.mechanisms.table.measure_scarce import ScarceStage
from sfumato.mechanisms.table.mechanism import ThreeATable
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.private.kernel.primitives import Primitives

BUDGET = Budget(epsilon=1.0, delta=1e-6)
#: So much that a hundred made-up rows are enough for every stage, the teacher included.
MUCH = Budget(epsilon=200.0, delta=1e-6)

AGE = TABLE.columns[0]
CLASSES = Column(name="y", kind="categorical", categories=tuple("abcdefg"), missing=True)
ONE_HOT = Schema(
    columns=(AGE, *(Column(name=f"soil_{i}", kind="boolean") for i in range(4)), replace(CLASSES, missing=False)),
    target="y",
    rows=20_000,
)
ALIKE = Schema(
    columns=tuple(Column(name=name, kind="numeric", bounds=(0, 1_000), missing=name == "b") for name in "abc"),
    rows=20_000,
)
MANY = Column(name="code", kind="categorical", categories=tuple(f"k{i}" for i in range(2_000)))
FLAGS = tuple(Column(name=name, kind="boolean") for name in "abcdefgh")
LEVEL = Column(name="level", kind="ordinal", categories=("low", "some", "high"), missing=True)
YEARS = Column(name="years", kind="integer", bounds=(0, 20), depends_on=("level",))
#: Of a function that the schema gives, the reasons alone are counted.
OF_AGE = Column(
    name="decade",
    kind="integer",
    bounds=(0, 100),
    depends_on=(AGE.name,),
    depends_on_map=tuple((str(age), str(age // 10)) for age in range(int(AGE.low), int(AGE.high) + 1))
    + ((("", "0"),) if AGE.missing else ()),
)
CASES = {
    "small": (TABLE, BUDGET),
    "rare": (replace(TABLE, rows=20_000), BUDGET),
    "all stages": (replace(TABLE, rows=20_000), MUCH),
    "no target": (replace(NO_TARGET, rows=20_000), BUDGET),
    "persons": (replace(PERSONS, rows=20_000), MUCH),
    "replace one": (replace(REPLACE, rows=300), BUDGET),
    "number": (Schema(columns=TABLE.columns[:4], target="pressure", rows=20_000), MUCH),
    "a number of persons": (replace(PERSONS, target="pressure", rows=20_000), MUCH),
    "classes and groups": (ONE_HOT, BUDGET),
    "differences": (ALIKE, MUCH),
    "all columns whole": (Schema(columns=(LEVEL, *FLAGS[:4]), target="d", rows=20_000), MUCH),
    "a group of columns": (Schema(columns=(AGE, *FLAGS), target="h", rows=20_000), MUCH),
    "groups to choose from": (Schema(columns=(*FLAGS, TABLE.columns[-1]), target=TABLE.target, rows=2_000), BUDGET),
    "rules": (Schema(columns=(AGE, LEVEL, YEARS, TABLE.columns[-1]), target=TABLE.target, rows=20_000), BUDGET),
    "a rule that is given": (
        Schema(columns=(AGE, OF_AGE, TABLE.columns[-1]), target=TABLE.target, rows=20_000),
        BUDGET,
    ),
    "scarce classes": (
        Schema(columns=(AGE, *FLAGS[:3], replace(CLASSES, missing=False)), target="y", rows=20_000),
        MUCH,
    ),
    "scarce classes in the place of gradients": (
        Schema(columns=(AGE, *FLAGS[:3], replace(CLASSES, missing=False)), target="y", rows=20_000),
        MUCH,
    ),
    "codes": (Schema(columns=(AGE, MANY, TABLE.columns[-1]), target=TABLE.target, rows=20_000), BUDGET),
}
#: Made-up classes are hardly rare: here the smaller ones are taken for scarce.
SCARCE = replace(TINY, joint=replace(TINY.joint, scarce_below=50.0, scarce_part=0.5))
COUNTED = replace(SCARCE, sizes=replace(SCARCE.sizes, most_centred=0))
MECHANISMS = {
    "scarce classes": ThreeATable(settings=SCARCE),
    "scarce classes in the place of gradients": ThreeATable(settings=COUNTED),
}
STAGES = {
    "coarse",
    "fine",
    "spikes",
    "classes",
    "moments",
    "pairs",
    "contrasts",
    "links",
    "triples",
    "cubes",
    "teacher",
}


#: Their maps are among those of "all stages", which are tried on batches of the usual size.
SAME_MAPS = ("small", "no target", "replace one")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_keeps_the_contract(case: str, request: pytest.FixtureRequest) -> None:
    schema, budget = CASES[case]
    if case in SAME_MAPS:
        request.getfixturevalue("_small_batches")
    if case == "differences":  # made-up rows have no columns that are nearly equal: here all are taken for it
        columns = replace(TINY.columns, difference_most=-1e9, difference_enough=-1e9)
        check_mechanism(ThreeATable(settings=replace(TINY, columns=columns)), schema, n_rows=100, budget=budget)
        return
    check_mechanism(MECHANISMS.get(case, TINY_TABLE), schema, n_rows=100, budget=budget)


def test_the_cases_reach_every_stage() -> None:
    reached = {name: {step.name for step in TablePlan(*case).steps()} for name, case in CASES.items()}
    assert reached["all stages"] == STAGES
    assert reached["classes and groups"] == STAGES - {"spikes"} | {"groups"}
    assert "differences" in reached["differences"]
    assert "codes" in reached["codes"]
    assert "whole" in reached["all columns whole"]
    assert "whole" in reached["a group of columns"]
    assert {"group", "whole"} <= reached["groups to choose from"]
    assert "rules" in reached["rules"] & reached["a rule that is given"]
    assert {"teacher", "residuals"} <= reached["number"] & reached["a number of persons"]
    assert reached["replace one"] == {"coarse", "fine", "classes"}
    assert reached["small"] == {"coarse", "fine", "classes"}
    assert all(reached[case] <= STAGES for case in SAME_MAPS)


@pytest.mark.parametrize("case", MECHANISMS)
def test_rows_of_scarce_classes_say_sums(case: str, monkeypatch) -> None:
    put_together = []
    tilted = ScarceStage.tilted
    monkeypatch.setattr(ScarceStage, "tilted", lambda *given: put_together.append(given) or tilted(*given))
    schema, budget = CASES[case]
    source = NoiseSource(research_seed=2)  # so that none of the smaller classes happens to look larger
    sf_fit(MECHANISMS[case], read(made_up(schema, n_rows=100, seed=1), schema), budget, source=source)
    assert len(put_together) == 1
    assert (put_together[0][0].uses > 0) == ("gradients" in case)


def run_clause(clause: str, mechanism, schema: Schema, primitives=Primitives, *, budget: Budget = BUDGET) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    check.run(Setting(mechanism, schema, budget, 120, primitives))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "clause"),
    [
        (twins.TableKeepsRows(settings=TINY), "what comes out follows from the doors' answers"),
        (twins.TableBinsByRank(settings=TINY), "steps are public and settled"),
        (twins.TableCountsExactly(settings=TINY), "what comes out follows from the doors' answers"),
    ],
)
def test_broken_twins_are_caught(mechanism, clause: str) -> None:
    register(type(mechanism))
    run_clause(clause, TINY_TABLE, TABLE)
    with pytest.raises(ContractError):
        run_clause(clause, mechanism, TABLE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "case"),
    [
        (twins.TableChoosesItself(settings=TINY), "groups to choose from"),
        (twins.TableCountsOneStepExactly(settings=TINY, step="whole"), "all columns whole"),
        (twins.TableCountsOneStepExactly(settings=TINY, step="rules"), "rules"),
        (twins.TableCountsOneStepExactly(settings=SCARCE, step="classes"), "scarce classes"),
        (
            twins.TableCountsOneStepExactly(settings=COUNTED, step="teacher"),
            "scarce classes in the place of gradients",
        ),
        (twins.TableCountsOneStepExactly(settings=TINY, step="teacher"), "number"),
    ],
)
def test_twins_that_look_past_a_new_door_are_caught(mechanism, case: str) -> None:
    register(type(mechanism))
    clause = "what comes out follows from the doors' answers"
    budget = MUCH if case in MECHANISMS else BUDGET
    run_clause(clause, MECHANISMS.get(case, TINY_TABLE), CASES[case][0], budget=budget)
    with pytest.raises(ContractError):
        run_clause(clause, mechanism, CASES[case][0], budget=budget)


def test_asking_again_is_refused(monkeypatch) -> None:
    with pytest.raises(ContractError, match="'classes' is planned for 1 uses"):
        run_clause("spending stays within the plan", twins.TableAsksAgain(settings=TINY), TABLE)
    twins.forgets_to_charge(monkeypatch)
    with pytest.raises(ContractError, match="more often than it was planned"):  # a door that forgets to count
        run_clause("spending stays within the plan", twins.TableAsksAgain(settings=TINY), TABLE)


@pytest.mark.slow
@pytest.mark.parametrize("twin", [twins.NoClipOfPersons, twins.TwiceTheBoundOfPersons])
def test_persons_who_are_not_clipped_together_are_caught(twin) -> None:
    with pytest.raises(ContractError, match="one person moves a sum by"):  # the honest doors: the case "persons" above
        run_clause("neighbouring data differ by at most the bound", TINY_TABLE, PERSONS, twin)


def test_too_little_noise_on_tables_is_caught() -> None:
    with pytest.raises(ContractError, match="planned standard deviation"):
        run_clause("noise has the planned scale", TINY_TABLE, TABLE, twins.HalfNoise)


def test_refuses_images_and_a_wrong_alpha() -> None:
    with pytest.raises(SchemaError, match="is for tables"):
        ThreeATable().steps(IMAGES, BUDGET)
    with pytest.raises(PlanError, match="alpha = 2"):
        ThreeATable(alpha=2).steps(TABLE, BUDGET)
