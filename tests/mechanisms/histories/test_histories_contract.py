"""The contract with whole persons as neighbours; and twins of the intake and of the mechanism that break one clause each."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import sklearn.ensemble  # noqa: F401 (it sets variables of the environment when it is imported first)
from small_histories import SETTINGS, SMALL

import schemas
import twins
from schemas import HOSPITAL
from sfumato import Budget, Column, PrivacyUnit, Schema
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, SchemaError
from sfumato.extending import register
from sfumato.fitting import fit_with
from sfumato.mechanism import registered, registered_names
from sfumato.mechanisms import ThreeATable, ThreeATables
from sfumato.private.intake import histories
from sfumato.private.intake.sensitive import Sensitive
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource

BUDGET = Budget(epsilon=1.0, delta=1e-6)
#: The contract measures some fifty times: few columns, and two sorts of tests.
#: Tests hang on visits, and visits on persons with a column of their own.
WARD = replace(schemas.WARD, columns=HOSPITAL.columns[1:2])
BOUND = "neighbouring data differ by at most the bound"


def run_clause(
    clause: str, mechanism: ThreeATables = SMALL, primitives: type[Primitives] = Primitives, schema: Schema = WARD
) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    check.run(Setting(mechanism, schema, BUDGET, 60, primitives))


@pytest.mark.usefixtures("_small_batches")
def test_persons_of_a_table_alone_are_kept_apart() -> None:
    run_clause(BOUND, schema=schemas.LOG)


@pytest.mark.usefixtures("_small_batches")
def test_rows_that_are_numbered_within_a_person_are_that_persons_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = replace(WARD, tables=(WARD.tables[0], replace(WARD.tables[1], person_key="patient")))
    run_clause(BOUND, schema=schema)
    monkeypatch.setattr(histories, "paired", lambda keys, persons: keys)  # the twin: all visits of a number are one
    with pytest.raises(ContractError, match="one person moves a sum by"):
        run_clause(BOUND, schema=schema)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
def test_keeps_the_contract() -> None:
    check_mechanism(SMALL, WARD, n_rows=60, budget=BUDGET)


@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize(
    "broken", [twins.counts_events_by_rows, twins.gives_orphans_to_a_neighbour, twins.begins_windows_by_the_number]
)
def test_an_intake_that_breaks_a_person_is_caught(broken: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)  # the honest one: the contract above
    with pytest.raises(ContractError, match="one person moves a sum by"):
        run_clause(BOUND)


@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize("broken", [twins.KeepsTheOrderOfTheData, twins.ShowsTheLongestHistory])
def test_keys_in_the_order_of_the_data_and_counts_that_leak_are_caught(broken: type[ThreeATables]) -> None:
    twin = broken(settings=SETTINGS)
    register(type(twin))
    with pytest.raises(ContractError):
        run_clause("what comes out follows from the doors' answers", twin)


@pytest.mark.usefixtures("_small_batches")
def test_too_little_noise_is_caught() -> None:
    with pytest.raises(ContractError, match="planned standard deviation"):
        run_clause("noise has the planned scale", primitives=twins.HalfNoise)


def test_a_mechanism_for_one_table_is_refused() -> None:
    nobody = {"patients": {}, "visits": {}, "bills": {}}
    with pytest.raises(SchemaError, match="3a-table releases one table, and the schema has several"):
        fit_with(Primitives(NoiseSource(research_seed=1)), ThreeATable(), Sensitive(nobody, schema=HOSPITAL), BUDGET)
    alone = Schema(columns=(Column(name="x", kind="boolean"),), unit=PrivacyUnit())
    with pytest.raises(SchemaError, match="is for persons with tables of events"):
        SMALL.steps(alone, BUDGET)


def of_this_package() -> list[str]:
    """Other tests register mechanisms of their own."""
    return [name for name in registered_names() if registered(name).__module__.startswith("sfumato.")]


@pytest.mark.parametrize("name", [name for name in of_this_package() if name != "3a-tables"])
def test_no_other_mechanism_plans_several_tables(name: str) -> None:
    with pytest.raises(SchemaError, match=f"{name} releases one table, and the schema has several"):
        registered(name)().steps(HOSPITAL, BUDGET)
