"""Declared groups: one list or several, in a file and in Python, in the digest, and kept by every row."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Column, Schema
from sfumato.errors import SchemaError
from sfumato.public.schema.one_of import OneOf

NAMES = ("a", "b", "c")
PLAIN = Schema(columns=tuple(Column(name=name, kind="boolean") for name in (*NAMES, "d", "y")), target="y")


def test_one_list_and_several_in_a_file_and_in_python() -> None:
    one = replace(PLAIN, one_of=NAMES)
    assert one == replace(PLAIN, one_of=[list(NAMES)])
    assert one.one_of == (NAMES,)
    assert one.groups == (OneOf(NAMES),)
    text = PLAIN.to_toml().replace("[dataset]", '[dataset]\none_of = ["a", "b"]\nat_most_one_of = [["d", "c"]]')
    both = Schema.parse(text)
    assert both == replace(PLAIN, one_of=("a", "b"), at_most_one_of=("d", "c"))
    assert both.groups == (OneOf(("a", "b")), OneOf(("d", "c"), or_none=True))
    assert Schema.parse(both.to_toml()) == both


def test_the_digest_changes_with_groups_and_no_other_schemas_does() -> None:
    digests = {
        schema.digest()
        for schema in (
            PLAIN,
            replace(PLAIN, one_of=NAMES),
            replace(PLAIN, at_most_one_of=NAMES),
            replace(PLAIN, one_of=NAMES[:2]),
        )
    }
    assert len(digests) == 4
    assert "one_of" not in PLAIN.to_json()
    # As it was before there were groups.
    assert PLAIN.digest() == "2724704910785ac820ca6e2dcc93e4ee3973d461362d83413828547f939ccf82"


rows = st.lists(st.tuples(*[st.integers(0, 1)] * len(NAMES)), min_size=1, max_size=30)


@given(rows, st.booleans())
def test_every_row_has_a_place_that_it_alone_decides(drawn, or_none: bool) -> None:
    group = OneOf(NAMES, or_none=or_none)
    batch = dict(zip(NAMES, np.array(drawn).T, strict=True))
    codes = group.code(batch)
    assert ((codes >= 0) & (codes < group.size)).all()
    for at, row in enumerate(drawn):
        alone = group.code({name: np.array([value]) for name, value in zip(NAMES, row, strict=True)})
        assert alone[0] == codes[at]
        if sum(row) == 1:
            assert codes[at] == row.index(1)
    back = np.stack(list(group.spelled(codes).values()), axis=1)
    kept = np.array([sum(row) == 1 or (or_none and sum(row) == 0) for row in drawn])
    assert np.array_equal(back[kept], np.array(drawn)[kept])
    assert set(back.sum(axis=1)) <= ({0, 1} if or_none else {1})


@given(rows, st.booleans())
def test_decoded_rows_keep_the_group(drawn, or_none: bool) -> None:
    schema = replace(PLAIN, **{"at_most_one_of" if or_none else "one_of": NAMES})
    batch = dict(zip(NAMES, np.array(drawn).T, strict=True))
    batch |= {"d": np.ones(len(drawn), dtype=np.int64), "y": np.zeros(len(drawn), dtype=np.int64)}
    table = schema.decode(batch)
    held = table[list(NAMES)].astype(int).to_numpy()
    assert set(held.sum(axis=1)) <= ({0, 1} if or_none else {1})
    for row, now in zip(drawn, held, strict=True):
        if sum(row) == 1 or (or_none and sum(row) == 0):
            assert tuple(now) == row
        elif sum(row) > 1:
            assert row[int(now.argmax())] == 1  # one of those that were set
    assert table["d"].all()


def test_no_member_is_favoured() -> None:
    nothing = {name: np.zeros(300, dtype=np.int64) for name in NAMES}
    assert [int(values.sum()) for values in OneOf(NAMES).obeyed(nothing).values()] == [100, 100, 100]


@pytest.mark.parametrize("group", [("a",), ("a", "nobody"), ("a", "y"), ("a", "a")])
def test_python_refuses_what_a_file_refuses(group) -> None:
    with pytest.raises(SchemaError, match="one_of"):
        replace(PLAIN, one_of=(group,))
