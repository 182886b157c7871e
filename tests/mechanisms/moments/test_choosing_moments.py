"""Which tables `auto` gives to moments: by the schema alone, and what happens to the others."""

from dataclasses import replace

import pytest

import schemas
import sfumato as sf
from sfumato.mechanisms import Moments, ThreeATable
from sfumato.public.schema.wide import MOST_ENTRIES, has_few_rows_each, is_wide

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
YES = sf.Column(name="y", kind="boolean")


def numbers(n: int, **settings) -> tuple[sf.Column, ...]:
    return tuple(sf.Column(name=f"x{i}", kind="numeric", bounds=(0, 1), **settings) for i in range(n))


def coded(name: str, size: int) -> sf.Column:
    return sf.Column(name=name, kind="categorical", categories=tuple(f"k{i}" for i in range(size)))


def codes(n: int, size: int = 2) -> tuple[sf.Column, ...]:
    return tuple(coded(f"c{i}", size) for i in range(n))


def table(*columns: sf.Column, target: str | None = "y", rows: int = 5_000) -> sf.Schema:
    return sf.Schema(columns=columns, target=target, rows=rows)


WIDE = {
    "101 numbers": table(*numbers(101), YES),
    "no target": table(*numbers(101), target=None),
    "four fifths": table(*numbers(104), *codes(26), YES),
    "32 classes": table(*numbers(101), coded("y", 32)),
    "2,048 entries": table(*numbers(1_024, missing=True), YES),
    "bounds to be discovered": table(sf.Column(name="z", kind="numeric", discover=True), *numbers(101), YES),
    "classes to be discovered": table(*numbers(101), sf.Column(name="y", kind="categorical", discover=True)),
}
NOT_WIDE = {
    "100 numbers": table(*numbers(100), YES),
    "fewer than four fifths": table(*numbers(103), *codes(26), YES),
    "33 classes": table(*numbers(101), coded("y", 33)),
    "a number as target": table(*numbers(120), target="x0"),
    "2,049 entries": table(*numbers(1_024, missing=True), sf.Column(name="z", kind="numeric", bounds=(0, 1)), YES),
    "categories to be discovered": table(*numbers(101), sf.Column(name="c", kind="categorical", discover=True), YES),
}


@pytest.mark.parametrize("case", WIDE)
def test_wide_tables_go_to_moments(case: str) -> None:
    assert is_wide(WIDE[case])
    assert sf.method("auto", WIDE[case]).name == "moments"
    assert sf.plan("auto", WIDE[case], BUDGET).mechanism == Moments()


FEW = table(*numbers(21), *codes(4), coded("y", 16), rows=1_024)
NOT_FEW = {
    "a row more": replace(FEW, rows=1_025),
    "rows that nobody declared": replace(FEW, rows=None),
    "fifteen classes": table(*numbers(21), coded("y", 15), rows=960),
    "twenty numbers": table(*numbers(20), coded("y", 16), rows=1_024),
    "a number as target": table(*numbers(30), target="x0", rows=100),
}


def test_many_classes_of_few_rows_go_to_moments_which_measures_their_means() -> None:
    assert has_few_rows_each(FEW)
    planned = sf.plan("auto", FEW, BUDGET)
    assert planned.mechanism == Moments()
    assert [step.name for step in planned.steps] == [
        "lengths",
        "mean",
        "spreads",
        "squares",
        "moments",
        "means",
        "margins",
    ]
    assert planned.steps[-2].share > 0.6 * sum(step.share for step in planned.steps)
    assert any("Labels of a classifier" in entry.what for entry in planned.outline.left_out)


@pytest.mark.parametrize("case", NOT_FEW)
def test_others_with_many_classes_do_not(case: str) -> None:
    assert not has_few_rows_each(NOT_FEW[case])
    assert sf.method("auto", NOT_FEW[case]).name == "3a-table"


@pytest.mark.parametrize("case", NOT_WIDE)
def test_others_go_to_3a_table(case: str) -> None:
    assert not is_wide(NOT_WIDE[case])
    assert sf.method("auto", NOT_WIDE[case]).name == "3a-table"


def test_images_go_to_3a_image() -> None:
    assert not is_wide(schemas.IMAGES)
    assert sf.method("auto", schemas.IMAGES).name == "3a-image"


def test_the_limit_of_the_choice_is_the_mechanisms_own() -> None:
    """What auto chooses it never refuses."""
    assert sum(step.name == "moments" for step in Moments().steps(WIDE["2,048 entries"], BUDGET)) == 1
    with pytest.raises(sf.SfumatoError, match=f"at most {MOST_ENTRIES:,} entries"):
        Moments().steps(NOT_WIDE["2,049 entries"], BUDGET)


def test_3a_table_by_name_counts_columns_of_a_wide_table_too() -> None:
    steps = {step.name for step in ThreeATable().steps(WIDE["101 numbers"], BUDGET)}
    assert {"coarse", "fine", "classes"} <= steps
    assert not {"lengths", "spreads", "squares"} & steps


def test_moments_by_name_takes_narrow_tables_too() -> None:
    names = [step.name for step in Moments().steps(schemas.TABLE, BUDGET)]
    assert names == ["lengths", "mean", "spreads", "squares", "moments", "teacher", "evidence", "margins"]


def test_a_plan_says_that_moments_was_not_simulated() -> None:
    planned = sf.plan("auto", replace(WIDE["101 numbers"], rows=20_000), BUDGET)
    assert planned.outlook.simulated == "3a-table"
    said = " ".join(str(planned).split())
    assert "These are figures for 3a-table. moments was not simulated." in said
    assert not [line for line in planned.advice if "Use fewer cells" in line]  # nobody can change its cells


def test_the_outline_says_what_is_left_out() -> None:
    planned = sf.plan("auto", table(*numbers(150), YES), BUDGET)
    assert planned.outline.path.startswith("150 of 150 columns are numbers: rows are taken as points")
    left_out = {entry.what for entry in planned.outline.left_out}
    assert "The shape of a single column" in left_out
    spread = "Classes that differ in their spread or in their correlations"
    assert spread not in left_out
    assert spread in {entry.what for entry in sf.plan("auto", WIDE["32 classes"], BUDGET).outline.left_out}
    unlabelled = sf.plan("auto", WIDE["no target"], BUDGET).outline.left_out
    assert len(unlabelled) == 2
