"""Which columns are counted whole follows from names, sizes, declared rows and the budget alone."""

from dataclasses import replace

import pytest
from small_tables import DEFAULT

import sfumato as sf
from sfumato.mechanisms.table.explain import outline_table
from sfumato.mechanisms.table.plan import TablePlan

BUDGET = sf.Budget(epsilon=1.0, delta=1e-5)


def flags(*names: str) -> tuple[sf.Column, ...]:
    return tuple(sf.Column(name=name, kind="boolean") for name in names)


def plan_of(columns: tuple[sf.Column, ...], *, rows: int = 20_000, **more) -> TablePlan:
    schema = sf.Schema(columns=(*columns, *flags("y")), target="y", rows=rows, **more)
    return TablePlan(schema, BUDGET)


LETTERS = tuple("abcdefghijklmnopqrstuvwxz")
SIZE = sf.Column(name="size", kind="numeric", bounds=(0, 1))


def test_all_columns_where_they_have_few_combinations() -> None:
    plan = plan_of(flags(*LETTERS[:10]))
    assert plan.whole is not None
    assert plan.whole.is_all
    assert plan.whole.widths == (2**11,)
    assert plan.has("whole")
    assert not plan.has("group")
    assert "All columns are counted whole" in outline_table(plan.schema, BUDGET, DEFAULT).path


def test_yes_or_no_columns_beside_others_are_one_group() -> None:
    plan = plan_of((*flags(*LETTERS[:10]), SIZE))
    assert plan.whole is not None
    assert plan.whole.candidates == (LETTERS[:10],)
    assert not plan.whole.is_all
    assert not plan.has("group")


def test_of_too_many_a_group_is_chosen_and_names_that_are_alike_are_among_them() -> None:
    items = tuple(f"item_{i}" for i in range(10))
    plan = plan_of((*flags(*LETTERS[:20]), *flags(*items)))
    assert plan.whole is not None
    assert plan.has("group")
    assert plan.has("whole")
    assert items in plan.whole.candidates
    assert len(plan.whole.candidates) > 100
    assert max(plan.whole.widths) <= DEFAULT.sizes.whole_cells
    assert plan_of((*flags(*LETTERS[:20]), *flags(*items))).whole == plan.whole  # a public seed


@pytest.mark.parametrize(
    "columns",
    [
        (SIZE, *flags(*LETTERS[:4])),
        tuple(sf.Column(name=name, kind="categorical", categories=tuple("abcdef")) for name in LETTERS[:8]),
    ],
)
def test_too_few_columns_or_too_many_combinations_are_not_counted(columns) -> None:
    assert plan_of(columns).whole is None


def test_few_rows_many_classes_and_a_number_as_target() -> None:
    columns = flags(*LETTERS[:10])
    assert plan_of(columns, rows=500).whole is None
    number = sf.Schema(columns=(*columns, SIZE), target="size", rows=20_000)
    assert TablePlan(number, BUDGET).whole is None
    off = replace(DEFAULT, sizes=replace(DEFAULT.sizes, counts_whole=False))
    assert TablePlan(plan_of(columns).schema, BUDGET, off).whole is None


def test_many_rows_have_fewer_groups_to_choose_from() -> None:
    groups = plan_of(flags(*LETTERS), rows=1_000_000).whole
    assert groups is not None
    assert len(groups.candidates) <= 16


def test_long_lists_of_names_that_are_alike_are_no_group() -> None:
    """They are one-hot groups, most of the time."""
    soils = flags(*(f"soil_{i}" for i in range(40)))
    assert plan_of((SIZE, *soils)).whole is None
    groups = plan_of((SIZE, *soils, *flags(*LETTERS[:6]))).whole
    assert groups is not None
    assert groups.candidates == (LETTERS[:6],)
