"""What a table goes without is named, from public facts, and nothing is named that it has."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schemas
from sfumato import Budget, Column, Schema, plan
from sfumato.mechanisms import IndependentHistograms, ThreeATable
from sfumato.mechanisms.table.explain import _LACKS, outline_table
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.mechanisms.table.settings.table import TableSettings
from sfumato.public.plan.outline import outline_of

ROOT = Path(__file__).parents[3]
BUDGET = Budget(epsilon=1.0, delta=1e-6)


def numbers(count: int) -> tuple[Column, ...]:
    return tuple(Column(name=f"x{i}", kind="numeric", bounds=(0, 1)) for i in range(count))


def coded(name: str, count: int) -> Column:
    return Column(name=name, kind="categorical", categories=tuple(f"k{i}" for i in range(count)))


def left_out(columns, **settings) -> dict[str, str]:
    settings = {"target": "y", "rows": 1_000_000, **settings}
    found = outline_table(Schema(columns=tuple(columns), **settings), BUDGET, TableSettings())
    return {entry.what: entry.why for entry in found.left_out}


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    n_numbers=st.sampled_from([0, 1, 2, 3, 30, 33, 65, 99]),
    sizes=st.lists(st.sampled_from([2, 5, 65, 3_000]), max_size=4),
    target=st.sampled_from(["none", "number", 1, 2, 3, 50, 20_000]),
    rows=st.sampled_from([None, 10, 300, 1_500, 3_000, 100_000, 10**7]),
    epsilon=st.sampled_from([0.01, 1.0, 100.0]),
)
def test_every_stage_is_planned_or_named(n_numbers, sizes, target, rows, epsilon) -> None:
    columns = [*numbers(n_numbers), *(coded(f"c{i}", size) for i, size in enumerate(sizes))]
    if isinstance(target, int):
        columns.append(coded("y", target))
    elif target == "number" or not columns:
        columns.append(Column(name="y", kind="numeric", bounds=(0, 1)))
    schema = Schema(columns=tuple(columns), target="y" if columns[-1].name == "y" else None, rows=rows)
    budget = Budget(epsilon=epsilon, delta=1e-9)
    blueprint = TablePlan(schema, budget)
    named = {entry.what for entry in outline_table(schema, budget, TableSettings()).left_out}
    planned = {step.name for step in blueprint.steps()}
    for stage, what in _LACKS.items():
        assert not (stage in planned and what in named), stage
        if stage in blueprint.possible and stage not in planned:
            assert what in named, stage


def test_a_table_that_has_everything_is_told_of_nothing() -> None:
    assert left_out([*numbers(10), coded("y", 2)]) == {}
    assert left_out(numbers(10), target=None) == {}
    assert "levels" in outline_table(Schema(columns=numbers(10), target="x0", rows=10**6), BUDGET, TableSettings()).path


def test_few_rows_are_the_reason_until_there_are_as_many_as_it_says() -> None:
    schema = Schema(columns=(*numbers(5), coded("y", 2)), target="y", rows=400)
    for entry in outline_table(schema, BUDGET, TableSettings()).left_out:
        assert entry.why.startswith("too few rows at this budget; from about ")
        needed = int(entry.why.split()[-2].replace(",", ""))
        assert needed > 400
        enough, short = (
            outline_table(replace(schema, rows=round(part * needed)), BUDGET, TableSettings()).left_out
            for part in (1.1, 0.9)
        )
        assert entry.what not in {other.what for other in enough}
        assert entry.what in {other.what for other in short}


def test_many_columns_classes_and_categories_are_named() -> None:
    assert left_out([*numbers(33), coded("y", 2)]) == {
        "Interactions of three columns with the target": "33 columns, and they are asked for up to 32"
    }
    assert "65 columns" in left_out([*numbers(65), coded("y", 2)])["Interactions of two columns with the target"]
    teacher = "A teacher that corrects the labels by private rows (so alpha changes nothing above 0)"
    assert "10,000 classes" in left_out([*numbers(3), coded("y", 10_000)])[teacher]
    assert "Trees in the rule for the classes" in left_out([*numbers(3), coded("y", 100)])
    many = left_out([*numbers(3), *(coded(f"c{i}", 1_000) for i in range(5)), coded("y", 2)])
    assert list(many) == ["Rare categories of c0 (1,000), c1 (1,000), c2 (1,000) and 2 columns more"]
    assert (
        "too many products"
        in left_out([*numbers(40), *(coded(f"c{i}", 2) for i in range(60)), coded("y", 1_000)], rows=100_000_000)[
            "Correlations that differ between classes"
        ]
    )


def test_python_json_and_sections_say_the_same() -> None:
    planned = plan("auto", schemas.TABLE, BUDGET)
    assert planned.outline == outline_of(ThreeATable(), schemas.TABLE, BUDGET)
    assert planned.to_json()["outline"] == planned.outline.to_json()
    said = " ".join(str(planned).split())
    assert planned.outline.path in said
    assert planned.outline.left_out
    for entry in planned.outline.left_out:
        assert entry.sentence in said


def test_a_mechanism_that_does_the_same_with_all_tables_says_nothing() -> None:
    planned = plan(IndependentHistograms(), schemas.TABLE, BUDGET)
    assert planned.outline is None
    assert planned.to_json()["outline"] is None
    assert "will do" not in str(planned)


def test_before_a_discovery_it_says_that_this_may_change() -> None:
    schema = Schema(
        columns=(Column(name="town", kind="categorical", discover=True), *schemas.TABLE.columns), target="ill"
    )
    assert "what is found may change this" in " ".join(str(plan("auto", schema, BUDGET)).split())


def test_the_page_on_the_method_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import draw_table_method

    page = (ROOT / "docs" / "research" / "table-method.md").read_text(encoding="utf-8")
    assert draw_table_method.left_out() in page
