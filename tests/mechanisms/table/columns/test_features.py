"""One-hot groups are found by their names, confirmed by a noisy count, and spelled out again."""

import numpy as np
from small_tables import COLUMNS, SIZES

from sfumato import Column
from sfumato.mechanisms.table.columns.features import candidate_groups, exactly_one, features_of, one_of
from sfumato.public.schema.one_of import OneOf


def booleans(*names: str) -> list[Column]:
    return [Column(name=name, kind="boolean") for name in names]


def test_groups_are_neighbours_with_one_stem() -> None:
    columns = booleans("soil_1", "soil_2", "soil_3", "wet", "Area 1", "Area 2", "Area 3", "day1", "day2", "x=a", "x=b")
    assert candidate_groups(columns) == [("soil_1", "soil_2", "soil_3"), ("Area 1", "Area 2", "Area 3")]
    apart = booleans("soil_1", "soil_2", "wet", "soil_3")
    assert candidate_groups(apart) == []


def test_zeros_and_ones_may_be_written_as_integers_but_never_as_missing() -> None:
    numbers = [Column(name=f"k{i}", kind="integer", bounds=(0, 1)) for i in range(3)]
    assert candidate_groups(numbers) == [("k0", "k1", "k2")]
    assert candidate_groups([Column(name=f"k{i}", kind="integer", bounds=(0, 2)) for i in range(3)]) == []
    assert candidate_groups([Column(name=f"k{i}", kind="boolean", missing=True) for i in range(3)]) == []


def test_a_candidate_is_a_group_where_nearly_all_rows_have_exactly_one() -> None:
    assert exactly_one(np.array([10.0, 990.0, 200.0, 800.0, -30.0, 1_000.0]), least=COLUMNS.group_rows).tolist() == [
        True,
        False,
        True,
    ]


def test_a_group_is_one_category_and_comes_back_as_its_members() -> None:
    columns = [Column(name="age", kind="integer", bounds=(0, 9)), *booleans("k1", "k2", "k3"), *booleans("z")]
    age, group, z = features_of(columns, [("k1", "k2", "k3")], SIZES, bend=60.0)
    assert (age.group, group.group, z.group) == (None, OneOf(("k1", "k2", "k3"), or_none=True), None)
    batch = {"k1": np.array([1, 0, 0, 0, 1]), "k2": np.array([0, 1, 0, 0, 1]), "k3": np.array([0, 0, 1, 0, 0])}
    codes = group.code(batch)
    assert codes.tolist() == [0, 1, 2, 3, 3]
    assert one_of(("k1", "k2", "k3"), batch).tolist() == codes.tolist()
    back = group.decode(codes, codes)
    assert {name: values.tolist()[:4] for name, values in back.items()} == {n: v.tolist()[:4] for n, v in batch.items()}


def test_columns_that_are_no_group_stay_as_they_are() -> None:
    features = features_of(booleans("k1", "k2", "k3"), [], SIZES, bend=60.0)
    assert [feature.cells.column.name for feature in features] == ["k1", "k2", "k3"]
    assert features[0].decode(np.array([0, 1]), np.array([0, 1]))["k1"].tolist() == [0, 1]


def test_declared_groups_are_joined_without_a_count_and_break_the_run_of_candidates() -> None:
    columns = booleans("soil_1", "soil_2", "soil_3", "soil_4", "soil_5", "soil_6", "soil_7")
    declared = (OneOf(("soil_4", "soil_2")), OneOf(("soil_5", "soil_1"), or_none=True))
    assert candidate_groups(columns, declared=declared) == []
    assert candidate_groups(columns, declared=declared[:1]) == [("soil_5", "soil_6", "soil_7")]
    features = features_of(columns, [], SIZES, bend=60.0, declared=declared)
    assert [feature.group for feature in features] == [None, declared[0], declared[1], None, None]
    assert [feature.cells.count for feature in features] == [2, 2, 3, 2, 2]
    batch = {c.name: np.array([0, 1]) for c in columns}
    assert features[1].code(batch).tolist() == [0, 0]
    assert features[2].code(batch).tolist() == [2, 0]
