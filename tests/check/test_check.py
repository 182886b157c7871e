"""The contract suite: every mechanism of the package keeps it, every broken twin is caught at its own clause."""

import subprocess
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import accidents  # noqa: F401 - it adds to the cheats
import cheats  # noqa: F401 - it adds to the cheats
import numpy as np
import pytest
from cheats_maps import RankOfARow
from plain import CHEATS

import choosing
import schemas
import twins
from sfumato import Budget, PrivacyUnit, Schema
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.clauses import doors
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, SfumatoError
from sfumato.mechanisms import DPMix, DPPro, IndependentHistograms, LocalReports
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.grid import NOISE_STDDEV

MIX = DPMix(mixtures=60, degree=30)
CHOOSER = choosing.TellingColumns()
REPORTS = LocalReports()
REPLACED_IMAGES = replace(schemas.IMAGES, unit=PrivacyUnit(relation="replace_one"))
KEPT = [
    pytest.param(IndependentHistograms(), schemas.TABLE, id="histograms"),
    pytest.param(IndependentHistograms(), schemas.NO_TARGET, id="histograms-no-target"),
    pytest.param(IndependentHistograms(), schemas.REPLACE, id="histograms-replace"),
    pytest.param(IndependentHistograms(), schemas.PERSONS, id="histograms-persons"),
    pytest.param(MIX, schemas.TABLE, id="dpmix-table"),
    pytest.param(MIX, schemas.IMAGES, id="dpmix-images"),
    pytest.param(MIX, schemas.NO_TARGET, id="dpmix-no-target"),
    pytest.param(MIX, schemas.PERSONS, id="dpmix-persons"),
    pytest.param(MIX, schemas.REPLACE, id="dpmix-poisson-replace"),
    pytest.param(DPMix(mixtures=60, degree=30, sampling="without_replacement"), schemas.REPLACE, id="dpmix-fixed-size"),
    pytest.param(DPMix(mixtures=60, sampling="known_partition"), schemas.REPLACE, id="dpmix-known-partition"),
    pytest.param(DPMix(mixtures=60, sampling="secret_bins"), schemas.TABLE, id="dpmix-secret-bins"),
    pytest.param(DPMix(mixtures=60, degree=30, classwise=True), schemas.IMAGES, id="dpmix-classwise"),
    pytest.param(DPMix(mixtures=60, classwise=True, sampling="secret_bins"), schemas.TABLE, id="dpmix-classwise-bins"),
    pytest.param(
        DPMix(mixtures=60, degree=30, l2_clip=2.0, centre=0.0, label_share=0.3, labels="hard"),
        schemas.IMAGES,
        id="dpmix-clipped",
    ),
    pytest.param(CHOOSER, schemas.TABLE, id="chooser"),
    pytest.param(REPORTS, schemas.REPLACE, id="reports"),
    pytest.param(REPORTS, REPLACED_IMAGES, id="reports-images"),
    pytest.param(LocalReports(calibrate=False), replace(schemas.REPLACE, target="pressure"), id="reports-of-numbers"),
    pytest.param(DPPro(dimensions=4), schemas.REPLACE, id="dp-pro"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "schema"), KEPT)
def test_every_mechanism_keeps_the_contract(mechanism, schema: Schema) -> None:
    check_mechanism(mechanism, schema)


FIXED = DPMix(mixtures=60, degree=30, sampling="without_replacement")
BINS = DPMix(mixtures=60, sampling="secret_bins")
CLIPPED = DPMix(mixtures=60, degree=30, l2_clip=1.0, centre=0.0)
BROKEN_DOORS = [
    (twins.HalfNoise, MIX, schemas.TABLE, "noise has the planned scale"),
    (twins.HalfNoise, IndependentHistograms(), schemas.TABLE, "noise has the planned scale"),
    (twins.TooMuchNoise, MIX, schemas.TABLE, "noise has the planned scale"),
    (twins.SameNoiseInEveryRow, MIX, schemas.TABLE, "noise is drawn afresh"),
    (twins.ConstantSeedNoise, MIX, schemas.IMAGES, "noise is drawn afresh"),
    (twins.ConstantSeedNoise, IndependentHistograms(), schemas.TABLE, "noise is drawn afresh"),
    (twins.NoClip, CLIPPED, schemas.IMAGES, "neighbouring data differ by at most the bound"),
    (twins.SameCoinsForEveryMixture, MIX, schemas.TABLE, "sampling is what was accounted"),
    (twins.SameCoinsForEveryMixture, FIXED, schemas.REPLACE, "sampling is what was accounted"),
    (twins.ShuffledBatches, MIX, schemas.TABLE, "sampling is what was accounted"),
    (twins.TwiceTheRate, MIX, schemas.IMAGES, "sampling is what was accounted"),
    (twins.LoadedDice, BINS, schemas.TABLE, "sampling is what was accounted"),
    (twins.SubsetsOfTheFirstRows, FIXED, schemas.REPLACE, "sampling is what was accounted"),
    (twins.TwiceTheRateOfChoices, CHOOSER, schemas.TABLE, "choices have the planned odds"),
    (twins.ChoosesTheBest, CHOOSER, schemas.TABLE, "choices have the planned odds"),
    (twins.PersonsCountOnceInChoices, CHOOSER, schemas.PERSONS, "choices have the planned odds"),
    (twins.HalfNoise, REPORTS, schemas.REPLACE, "noise has the planned scale"),
    (twins.SameNoiseInEveryRow, REPORTS, schemas.REPLACE, "noise is drawn afresh"),
    (twins.NoClip, DPPro(dimensions=4), schemas.REPLACE, "neighbouring data differ by at most the bound"),
    (twins.KeepsLabels, REPORTS, schemas.REPLACE, "responses have the planned odds"),
    (twins.TwiceTheTruth, REPORTS, schemas.REPLACE, "responses have the planned odds"),
    (twins.NeverThrowsTheLast, REPORTS, schemas.REPLACE, "responses have the planned odds"),
]


def run_clause(clause: str, mechanism, schema: Schema, primitives: type[Primitives] = Primitives) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    check.run(Setting(mechanism, schema, Budget(epsilon=1.0, delta=1e-6), 300, primitives))


@pytest.mark.slow
@pytest.mark.parametrize(("primitives", "mechanism", "schema", "clause"), BROKEN_DOORS)
def test_broken_doors_are_caught(primitives, mechanism, schema: Schema, clause: str) -> None:
    with pytest.raises(ContractError):
        run_clause(clause, mechanism, schema, primitives)


@pytest.mark.slow
@pytest.mark.parametrize(("primitives", "mechanism", "schema", "clause"), BROKEN_DOORS[::5])
def test_the_whole_suite_finds_them(primitives, mechanism, schema: Schema, clause: str) -> None:
    with pytest.raises(ContractError, match=f"{mechanism.name}: {clause}"):
        check_mechanism(mechanism, schema, primitives=primitives)


@pytest.mark.parametrize(("n_values", "n_again"), [(1_000, 6), (300_000, 3_000)])
def test_noise_that_is_used_again_is_told_from_chance(n_values: int, n_again: int, monkeypatch) -> None:
    noise = np.round(NOISE_STDDEV * np.random.default_rng(0).standard_normal(n_values)) / NOISE_STDDEV
    monkeypatch.setattr(doors, "_noise", lambda setting: noise)
    setting = Setting(MIX, schemas.TABLE, Budget(epsilon=1.0, delta=1e-6), 300, Primitives)
    doors.noise_is_fresh(setting)  # of very many values some are equal by chance
    noise[:n_again] = noise[n_again : 2 * n_again]
    with pytest.raises(ContractError, match="more than once"):
        doors.noise_is_fresh(setting)


@pytest.mark.parametrize("mechanism", [MIX, IndependentHistograms(), CHOOSER])
def test_a_view_that_does_not_charge_is_caught(mechanism, monkeypatch) -> None:
    twins.forgets_to_charge(monkeypatch)
    with pytest.raises(ContractError, match="more often than it was planned"):
        run_clause("a step used too often is refused", mechanism, schemas.TABLE)


def test_a_map_that_mixes_rows_is_told_so() -> None:
    with pytest.raises(ContractError, match="another value when other rows stand beside it"):
        check_mechanism(RankOfARow(), schemas.TABLE)


def test_every_clause_has_a_twin_that_breaks_it() -> None:
    # A ledger's twin breaks neither doors nor mechanisms: tests/ledger/test_before_reading.py, `ChargesAfterReading`.
    of_a_ledger = {"a ledger is charged with the whole plan before a row is read"}
    broken = {row[3] for row in BROKEN_DOORS} | {clause for _, clause in CHEATS} | of_a_ledger
    assert broken == {check.name for check in CHECKS}


def test_a_schema_that_a_mechanism_does_not_support_is_a_clear_error() -> None:
    with pytest.raises(SfumatoError, match="is for tables"):
        check_mechanism(IndependentHistograms(), schemas.IMAGES)


def test_a_door_that_draws_nobody_is_caught(monkeypatch) -> None:
    twins.tosses_no_coins(monkeypatch)
    with pytest.raises(ContractError, match=r"sampling is what was accounted.*was not drawn"):
        check_mechanism(MIX, schemas.TABLE)


SCRIPT = """
import sys
from dataclasses import dataclass
from typing import ClassVar
from sfumato import Column, Schema
from sfumato.check import check_mechanism
from sfumato.extending import register
from sfumato.mechanisms import IndependentHistograms

@register
@dataclass(frozen=True, kw_only=True)
class Mine(IndependentHistograms):
    name: ClassVar[str] = "mine"

if "guard" in sys.argv:
    @register
    @dataclass(frozen=True, kw_only=True)
    class Mine(IndependentHistograms):
        name: ClassVar[str] = "guarded"
    Mine.__qualname__ = "Guarded"

schema = Schema(columns=(Column(name="day", kind="integer", bounds=(0, 10_000)),))
check_mechanism(Mine(bins=2_000), schema, n_rows=40)
print("passed", __name__)
"""


def run_script(tmp_path, *arguments: str) -> subprocess.CompletedProcess:
    (tmp_path / "script.py").write_text(SCRIPT)
    return subprocess.run([sys.executable, "script.py", *arguments], cwd=tmp_path, capture_output=True, text=True)


@pytest.mark.slow
def test_a_script_without_a_main_guard_can_check_its_mechanism(tmp_path) -> None:
    """A fresh process loads the script up to the check, and no further."""
    found = run_script(tmp_path)
    assert found.stdout == "passed __main__\n", found.stderr


@pytest.mark.slow
def test_a_class_that_no_fresh_process_finds_is_told_so(tmp_path) -> None:
    assert "does not define Guarded" in run_script(tmp_path, "guard").stderr


@dataclass(frozen=True, kw_only=True)
class Unregistered(IndependentHistograms):
    """A name that nobody knows."""

    name: ClassVar[str] = "unregistered"


@dataclass(frozen=True, kw_only=True)
class OneStep(IndependentHistograms):
    """No comma behind a single step."""

    def steps(self, schema, budget):
        return super().steps(schema, budget)[0]


@pytest.mark.parametrize(
    ("mechanism", "schema", "options", "remedy"),
    [
        (IndependentHistograms, schemas.TABLE, {}, r"Give a mechanism: IndependentHistograms\(\)"),
        (IndependentHistograms(), "schema.toml", {}, "Schema.load"),
        (IndependentHistograms(), schemas.TABLE, {"budget": 1.0}, "Give sf.Budget"),
        (OneStep(), schemas.TABLE, {}, r"return \(step,\)"),
    ],
)
def test_first_steps_that_go_wrong_are_told_how_to_go_on(mechanism, schema, options, remedy: str) -> None:
    with pytest.raises(ContractError, match=remedy):
        check_mechanism(mechanism, schema, **options)


def test_a_mechanism_that_is_not_registered_is_told_so() -> None:
    with pytest.raises(ContractError, match=r"@sf\.register"):
        run_clause("a release loads, samples and verifies without the data", Unregistered(), schemas.TABLE)
