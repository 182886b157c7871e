"""A schema file is judged as a whole: all faults at once with their lines; and the keys that spare typing."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import SchemaError
from sfumato.public.schema.faults import lines_of
from sfumato.public.schema.following import followed
from sfumato.public.schema.schema import Schema
from sfumato.public.spelling import did_you_mean

FAULTY = """\
[dataset]
target = "il"
one_of = [
  ["soil_1"]
]

[privcy]
person = "x"

[columns.age]
typ = "integer"

[columns."a b"]
type = "number"
[columns.weight]
type = "numeric"
bounds = ["a", 3]
bound = [1, 2]
[columns.ill]
type = "boolean"
"""


def test_all_faults_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(FAULTY)
    with pytest.raises(SchemaError) as caught:
        Schema.load(tmp_path / "mine.toml")
    first, *said = str(caught.value).splitlines()
    assert first == "mine.toml has 9 faults:"
    expected = [
        ("line 2, [dataset]", "target 'il' is not a column of the schema. Did you mean 'ill'?"),
        ("line 3, [dataset]", "a group of one_of has 1 columns"),
        ("line 3, [dataset]", "one_of names 'soil_1', which is not a column"),
        ("line 7, [privcy]", "unknown section [privcy]. Did you mean 'privacy'?"),
        ("line 10, [columns.age]", "column 'age' has no type"),
        ("line 11, [columns.age]", "unknown key 'typ'. Did you mean 'type'?"),
        ("line 13, [columns.a b]", "has type 'number'. Did you mean 'numeric'?"),
        ("line 17, [columns.weight]", "bounds must be numbers"),
        ("line 18, [columns.weight]", "unknown key 'bound'. Did you mean 'bounds'?"),
    ]
    assert len(said) == len(expected)
    for line, (place, words) in zip(said, expected, strict=True):
        assert line.startswith(f"  {place}: ")
        assert words in line


def test_one_fault_is_one_sentence() -> None:
    with pytest.raises(SchemaError, match=r"^schema\.toml line 3, \[columns\.a\]: column 'a' has an unknown key 'x'"):
        Schema.parse('[columns.a]\ntype = "boolean"\nx = 1')
    with pytest.raises(SchemaError, match=r"^schema\.toml: the schema has no columns"):
        Schema.parse("")


def test_a_column_with_a_fault_is_not_called_absent() -> None:
    text = '[dataset]\ntarget = "a"\none_of = ["b", "c"]\n[columns.a]\ntype = "x"\n[columns.b]\ntype = "y"\n'
    with pytest.raises(SchemaError, match="has 2 faults") as caught:
        Schema.parse(text + '[columns.c]\ntype = "boolean"')
    assert "not a column" not in str(caught.value)


def test_a_schema_file_as_editors_leave_it(tmp_path: Path) -> None:
    text = '[columns.a]\ntype = "boolean"\n'
    (tmp_path / "s.toml").write_text(text, encoding="utf-8-sig")
    assert Schema.load(tmp_path / "s.toml") == Schema.parse(text)
    (tmp_path / "s.toml").write_text(text, encoding="utf-16")
    with pytest.raises(SchemaError, match="Is it a text in UTF-8"):
        Schema.load(tmp_path / "s.toml")
    with pytest.raises(SchemaError, match=r"at line 1, column \d+\)\. Texts need quotes"):
        Schema.parse("[columns.a b]\n")


def test_lines_are_found_in_every_spelling_of_toml() -> None:
    text = (
        "# [columns.no]\n"
        "[columns.a] # x = 1\n"
        'type = """\n[columns.b]\nx = 1\n"""\n'
        "list = [ # [\n"
        '  ["x"]\n'
        "]\n"
        "  [ columns . 'c d' ]\n"
        "e.'f g' = {h = ']'}\n"
        "last = '''\n[y]'''\n"
    )
    assert lines_of(text) == {
        ("columns", "a"): 2,
        ("columns", "a", "type"): 3,
        ("columns", "a", "list"): 7,
        ("columns", "c d"): 10,
        ("columns", "c d", "e", "f g"): 11,
        ("columns", "c d", "last"): 12,
    }


def test_a_guess_is_made_only_where_it_is_near() -> None:
    assert did_you_mean("AGE", ["weight", "age"]) == " Did you mean 'age'?"
    assert did_you_mean("zzz", ["weight", "age"]) == ""


ZIP = '[columns.zip]\ntype = "categorical"\n'


def test_categories_of_a_file_are_as_if_typed(tmp_path: Path) -> None:
    typed = Schema.parse(ZIP + 'categories = ["00100", "20121", "a, b"]')
    for content in (
        "00100\n20121\n\n  a, b \n",
        'Zip,town\n00100,Rome\n20121,Milan\n"a, b",x\n',
        "\ufeff00100\r\n20121\r\n",
    ):
        (tmp_path / "zip.csv").write_text(content.replace("  a, b ", '"a, b"'), encoding="utf-8")
        (tmp_path / "schema.toml").write_text(ZIP + 'categories_file = "zip.csv"')
        found = Schema.load(tmp_path / "schema.toml")
        assert found["zip"].categories == typed["zip"].categories[: 3 if "a, b" in content else 2]
        if "a, b" in content:
            assert found == typed
            assert found.digest() == typed.digest()
            assert found.to_toml() == typed.to_toml()


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (None, 'categories_file = "zip.csv"', "there is no file .*zip.csv"),
        (b"\n \n", 'categories_file = "zip.csv"', "holds no categories"),
        (b"\xff\xfe\x00", 'categories_file = "zip.csv"', r"UnicodeDecodeError.*in UTF-8"),
        (b"a\na\n", 'categories_file = "zip.csv"', "a category twice"),
        (b"a\n", 'categories_file = "zip.csv"\ncategories = ["a"]', "Keep one of them"),
        (b"a\n", "categories_file = 3", "must be the name of a file"),
    ],
)
def test_a_bad_file_of_categories(tmp_path: Path, content: bytes | None, line: str, said: str) -> None:
    if content is not None:
        (tmp_path / "zip.csv").write_bytes(content)
    (tmp_path / "schema.toml").write_text(ZIP + line)
    with pytest.raises(SchemaError, match=said):
        Schema.load(tmp_path / "schema.toml")
    with pytest.raises(SchemaError, match=r"read from a text|Keep one|name of a file"):
        Schema.parse(ZIP + line)  # as `verify` reads it: no file of the receiver's is opened


BAD = {
    "special of a text": ('type = "boolean"\nspecial = [1]', "special belongs to numeric and integer"),
    "special no list": ('type = "integer"\nbounds = [0, 9]\nspecial = 9', "special must be a list"),
    "special twice": ('type = "integer"\nbounds = [0, 9]\nspecial = [9, 9.0]', "each once"),
    "special fraction": ('type = "integer"\nbounds = [0, 9]\nspecial = [0.5]', "so must its special"),
    "special infinite": ('type = "numeric"\nbounds = [0, 9]\nspecial = [inf]', "finite numbers"),
    "decimals of a text": ('type = "boolean"\ndecimals = 2', "numeric. For whole numbers"),
    "decimals below 0": ('type = "numeric"\nbounds = [0, 9]\ndecimals = -1', "from 0 to 12"),
    "decimals broken": ('type = "numeric"\nbounds = [0, 9]\ndecimals = 1.5', "must be a whole number"),
    "decimals too few": ('type = "numeric"\nbounds = [0.2, 0.3]\ndecimals = 0', "no number of 0 decimals"),
    "decimals too many": ('type = "numeric"\nbounds = [0, 1e300]\ndecimals = 2', "no room for 2 decimals"),
    "depends on a stranger": ('type = "boolean"\ndepends_on = ["z"]', "not another column"),
    "depends on itself": ('type = "boolean"\ndepends_on = ["a"]', "not another column"),
    "depends on a number": ('type = "boolean"\ndepends_on = ["n"]', "which is numeric"),
    "a number depends": ('type = "numeric"\nbounds = [0, 1]\ndepends_on = ["b"]', "cannot have depends_on"),
    "a circle": ('type = "boolean"\ndepends_on = ["b"]', "by way of others"),
    "depends on no name": ('type = "boolean"\ndepends_on = [1]', "must be a list of columns"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_meant_is_refused(case: str) -> None:
    lines, said = BAD[case]
    circle = '\ndepends_on = ["a"]' if case == "a circle" else ""
    others = f'\n[columns.b]\ntype = "boolean"{circle}\n[columns.n]\ntype = "numeric"\nbounds = [0, 1]'
    with pytest.raises(SchemaError, match=said):
        Schema.parse(f"[columns.a]\n{lines}{others}")


def test_the_target_depends_on_nothing() -> None:
    text = '[dataset]\ntarget = "a"\n[columns.a]\ntype = "boolean"\ndepends_on = ["b"]\n[columns.b]\ntype = "boolean"'
    with pytest.raises(SchemaError, match="neither the target"):
        Schema.parse(text)


ALL = """
[columns.days]
type = "integer"
bounds = [0, 30]
special = [999, -1]
[columns.pay]
type = "numeric"
bounds = [0.004, 9.999]
decimals = 2
[columns.left]
type = "numeric"
bounds = [0, 1]
special = [-9]
missing = true
[columns.level]
type = "categorical"
categories = ["low", "high"]
[columns.years]
type = "integer"
bounds = [0, 20]
depends_on = ["level"]
"""


def test_the_new_keys_survive_their_file_and_change_the_digest() -> None:
    schema = Schema.parse(ALL)
    again = Schema.parse(schema.to_toml())
    assert again == schema
    assert again.digest() == schema.digest()
    digests = {schema.digest()}
    for line in ("special = [999, -1]", "decimals = 2", "special = [-9]", 'depends_on = ["level"]'):
        digests.add(Schema.parse(ALL.replace(line, "")).digest())
    assert len(digests) == 5


def test_special_numbers_are_read_as_missing_and_released_as_the_first() -> None:
    schema = Schema.parse(ALL)
    days, left = schema["days"], schema["left"]
    assert days.decode(np.array([np.nan, 7.2, 99.0])).tolist() == [999, 7, 30]
    assert days.decode(np.array([np.nan])).dtype == "int64"
    assert left.decode(np.array([np.nan, 0.5])).isna().tolist() == [True, False]


def test_a_special_value_is_one_of_the_list() -> None:
    for special in ((), (7,)):
        with pytest.raises(SchemaError, match="special_as"):
            sf.Column(name="a", kind="integer", bounds=(0, 9), missing=True, special=special, special_as=8)


def test_released_numbers_have_their_decimals_and_stay_in_bounds() -> None:
    pay = Schema.parse(ALL)["pay"]
    drawn = pay.decode(np.array([0.004, 0.0051, 3.14159, 9.999]))
    assert drawn.tolist() == [0.01, 0.01, 3.14, 9.99]


def test_equal_reasons_have_equal_consequences() -> None:
    text = '[columns.a]\ntype = "boolean"\n[columns.b]\ntype = "boolean"\n'
    text += '[columns.c]\ntype = "integer"\nbounds = [0, 9]\nmissing = true\ndepends_on = ["a", "b"]\n'
    text += '[columns.d]\ntype = "boolean"\ndepends_on = ["c"]\n'
    schema = Schema.parse(text)
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 2, 500) for name in "abd"}
    rows["c"] = np.where(rng.random(500) < 0.7, rows["a"] * 2.0 + rows["b"], rng.integers(0, 9, 500))
    rows["c"][(rows["a"] == 0) & (rows["b"] == 0)] = np.nan
    table = schema.decode(rows)
    assert (table.groupby(["a", "b"])["c"].nunique(dropna=False) == 1).all()
    assert (table.groupby("c", dropna=False)["d"].nunique() == 1).all()
    assert table.loc[table["a"] & table["b"], "c"].iloc[0] == 3
    assert table.loc[~table["a"] & ~table["b"], "c"].isna().all()
    assert not followed({name: values[:0] for name, values in rows.items()}, schema.columns)["c"].size


@pytest.mark.parametrize("method", ["auto", "independent-histograms"])
def test_a_release_obeys_the_new_keys(tmp_path: Path, method: str) -> None:
    rng, n = np.random.default_rng(1), 3_000
    level = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "days": np.where(rng.random(n) < 0.6, 999, rng.integers(0, 30, n)),
            "pay": rng.uniform(1, 9, n),
            "left": np.where(rng.random(n) < 0.3, -9, rng.random(n)),
            "level": np.where(level, "high", "low"),
            "years": np.where(level, 16, 9),
        }
    )
    schema = Schema.parse(f"[dataset]\nrows = {n}\n{ALL}")
    fitted = sf.fit(method, sf.Sensitive.read(frame, schema), sf.Budget(epsilon=2.0, delta=1e-6), seed=0)
    rows = fitted.model.sample(n, seed=0).table
    assert abs((rows["days"] == 999).mean() - 0.6) < 0.1
    assert (rows.loc[rows["days"] != 999, "days"] <= 30).all()
    assert np.allclose(rows["pay"] * 100, (rows["pay"] * 100).round(), atol=1e-6)
    assert abs(rows["left"].isna().mean() - 0.3) < 0.1
    assert (rows.groupby("level", observed=True)["years"].nunique() == 1).all()
    if method != "auto":  # the slower of the two
        sf.release(fitted, to=tmp_path / "out")
        assert sf.verify(tmp_path / "out", rebuild=True).ok


def test_a_plan_says_what_has_no_effect() -> None:
    schema = Schema.parse(f"[dataset]\nrows = 4000\n{ALL}")
    budget = sf.Budget(epsilon=1.0, delta=1e-6)
    said = [line for line in sf.plan("dpmix", schema, budget).advice if "has no effect" in line]
    assert [line.split(": ")[1].split(" of ")[0] for line in said] == ["decimals", "depends_on", "special"]
    assert not [line for line in sf.plan("auto", schema, budget).advice if "has no effect" in line]


GIVEN = """
[columns.level]
type = "categorical"
categories = ["low", "high"]
missing = true
[columns.years]
type = "integer"
bounds = [0, 20]
depends_on = ["level"]
depends_on_map = [["low", 9], ["high", 13], ["", 0]]
"""


def test_a_declared_function_holds_in_every_row_and_survives_its_file(tmp_path) -> None:
    schema = Schema.parse(GIVEN)
    assert Schema.parse(schema.to_toml()) == schema
    assert schema.digest() != Schema.parse(GIVEN.replace("9]", "8]")).digest()
    rows = {"level": np.array([0, 1, 2, 1]), "years": np.array([1.0, 1.0, 1.0, 2.0])}
    assert schema.decode(rows)["years"].tolist() == [9, 13, 0, 13]
    (tmp_path / "years.csv").write_text("level,years\nlow,9\nhigh,13\n,0\n", encoding="utf-8")
    line = 'depends_on_map = [["low", 9], ["high", 13], ["", 0]]'
    (tmp_path / "schema.toml").write_text(GIVEN.replace(line, 'depends_on_file = "years.csv"'), encoding="utf-8")
    assert Schema.load(tmp_path / "schema.toml") == schema


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ('[["low", 9], ["high", 13]]', "lacks 1 of 3 combinations"),
        ('[["low", 9], ["low", 8], ["high", 13], ["", 0]]', "twice"),
        ('[["low", 9], ["tall", 13], ["", 0]]', "'tall', which 'level' cannot hold"),
        ('[["low", 99], ["high", 13], ["", 0]]', "'99', which 'years' cannot hold"),
        ('[["low"], ["high", 13], ["", 0]]', "must have 1 reasons"),
        ("[]", "must be a list of reasons"),
    ],
)
def test_a_declared_function_must_be_one(entries: str, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        Schema.parse(GIVEN.replace('[["low", 9], ["high", 13], ["", 0]]', entries))


def test_a_declared_function_needs_its_reasons() -> None:
    with pytest.raises(SchemaError, match="needs depends_on"):
        Schema.parse(GIVEN.replace('depends_on = ["level"]\n', ""))
    with pytest.raises(SchemaError, match="goes with depends_on"):
        Schema.parse(GIVEN.replace("depends_on_map", 'depends_on_file = "x.csv"\ndepends_on_map'))
