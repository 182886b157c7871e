"""Rules of a schema: read, refused with their place before any row is read, written again, and part of the digest."""

import tomllib

import numpy as np
import pytest

from sfumato.errors import ModelError, SchemaError
from sfumato.public.schema.made_up import Pattern
from sfumato.public.schema.possible import tasks_of
from sfumato.public.schema.rules import Rule
from sfumato.public.schema.schema import Column, Schema

TEXT = """
[dataset]
target = "ill"
[columns.ill]
type = "boolean"
[columns.a]
type = "integer"
bounds = [0, 100]
[columns.b]
type = "integer"
bounds = [0, 100]
missing = true
[columns.c]
type = "numeric"
bounds = [0, 10]
missing = true
[columns.height]
type = "numeric"
bounds = [50, 220]
[columns.weight]
type = "numeric"
bounds = [20, 300]
[columns.bmi]
type = "numeric"
bounds = [5, 80]
decimals = 2
[columns.sex]
type = "categorical"
categories = ["f", "m"]
[columns.region]
type = "categorical"
categories = ["north", "south"]
[columns.city]
type = "categorical"
categories = ["oslo", "rome", "bari"]
missing = true
[columns.seen]
type = "datetime"
bounds = [2020-01-01, 2020-12-31]
[[rules]]
rule = "a <= b"
[[rules]]
rule = "bmi = weight / (height / 100) ** 2"
"""


def with_rules(*lines: str) -> Schema:
    return Schema.parse(TEXT + "".join(f"[[rules]]\n{line}\n" for line in lines))


def test_rules_are_written_again_and_part_of_the_digest() -> None:
    schema = with_rules(
        'rule = "if ill = yes then sex = f"',
        'columns = ["region", "city"]\npermitted = [["north", "oslo"], ["south", "rome"]]',
        'columns = ["sex", "city"]\nforbidden = [["m", "bari"]]',
        'missing_together = ["b", "c"]',
        'key = "id"\npattern = "P-[0-9]{6}"\nunique = false',
    )
    assert Schema.parse(schema.to_toml()) == schema
    assert schema.digest() != with_rules().digest() != Schema.parse(TEXT.split("[[rules]]")[0]).digest()
    assert [column.name for column in schema.computed] == ["bmi"]
    assert "bmi" not in [column.name for column in schema.columns]
    assert schema.released[-1].name == "bmi"


def test_a_schema_without_rules_keeps_its_digest() -> None:
    plain = Schema(columns=(Column(name="age", kind="integer", bounds=(0, 100)),))
    assert set(plain.to_json()) == {"columns", "target", "rows", "unit"}


def test_rules_in_python_are_texts_or_rules() -> None:
    columns = tuple(Column(name=name, kind="integer", bounds=(0, 9)) for name in "abc")
    schema = Schema(columns=columns, rules=("a <= b", Rule(rule="c = a + b")))
    assert schema.rules == (Rule(rule="a <= b"), Rule(rule="c = a + b"))
    done = schema.ruled.complete({"a": np.array([1.0]), "b": np.array([2.0])})
    assert done["c"].tolist() == [3.0]


def test_files_of_combinations(tmp_path) -> None:
    (tmp_path / "schema.toml").write_text(
        TEXT + '[[rules]]\ncolumns = ["region", "city"]\npermitted_file = "cities.csv"\n'
    )
    (tmp_path / "cities.csv").write_text("region,city\nnorth,oslo\nsouth,rome\n")
    schema = Schema.load(tmp_path / "schema.toml")
    assert schema.rules[-1].permitted == (("north", "oslo"), ("south", "rome"))
    assert Schema.parse(schema.to_toml()) == schema


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('rule = "zzz > 1"', "there is no column 'zzz'"),
        ('rule = "a >"', "something is missing at the end"),
        ('rule = "a > 200"', "no row can obey 'a > 200'"),
        ('rule = "a > b and b is not missing"', "that obeys all of 'a <= b'; 'a > b and b is not missing'. Do"),
        ('rule = "height = bmi * 2"', "go round in a circle"),
        ('rule = "bmi = weight + 1"', "two formulas"),
        ('rule = "c / a > 1"', "a division by zero is possible"),
        ('rule = "c = weight / a"', ""),
        ('rule = "weight = 1 / (a - 3)"', "a division by zero is possible"),
        ('rule = "weight = a ** 16 * 1e300 * height ** 16"', "overflows"),
        ('rule = "weight = height + 1000"', "its bounds are [20, 300]"),
        ('rule = "weight = b * 2 + 20"', "missing where its columns are"),
        ('rule = "import os"', "does not belong here"),
        ('rule = "9**9**9 > a"', "an exponent must be"),
        ('rul = "a > 1"', "Did you mean 'rule'?"),
        ('rule = 3', "rule must be a text"),
        ('rule = "a > 1"\nkey = "id"\npattern = "x"', "This one is rule and key"),
        ('key = "id"', "key and pattern go together"),
        ('key = "a"\npattern = "[0-9]{3}"', "is a column already"),
        ('key = "id"\npattern = "[0-9"', "cannot be read from its character 1"),
        ('key = "id"\npattern = "[9-0]{3}"', "goes backwards"),
        ('missing_together = ["a", "b"]', "is never missing"),
        ('missing_together = ["b"]', "Name at least two"),
        ('columns = ["region", "city"]\npermitted = [["north", "paris"]]', "'city' cannot hold"),
        ('columns = ["region", "city"]\npermitted = [["north"]]', "must have 2 values"),
        ('columns = ["region", "a"]\npermitted = [["north", "1"]]', "categorical or ordinal"),
        ('columns = ["region", "city"]', "either permitted or forbidden"),
        ('columns = ["region", "city"]\npermitted_file = "x.csv"', "looked for beside the schema file"),
        ('rule = "sex = 1"', "cannot be '1'"),
    ],
)  # fmt: skip
def test_what_is_refused_before_any_row_is_read(line: str, sentence: str) -> None:
    if not sentence:
        assert "c" in [
            column.name for column in with_rules(line).computed
        ]  # it may be missing, so a division by zero has a place
        return
    with pytest.raises(SchemaError) as refusal:
        with_rules(line)
    assert sentence in str(refusal.value)
    assert "[[rules]]" in str(refusal.value)


def test_the_line_of_a_rule_is_told() -> None:
    with pytest.raises(SchemaError, match=r"line 44, \[\[rules\]\] 3: there is no column"):
        with_rules('rule = "zzz > 1"')


def test_rules_over_columns_to_be_discovered_are_refused() -> None:
    columns = (Column(name="a", kind="integer", discover=True), Column(name="b", kind="integer", bounds=(0, 9)))
    with pytest.raises(SchemaError, match="to be discovered"):
        Schema(columns=columns, rules=("a <= b",))


def test_the_target_is_measured_and_never_computed() -> None:
    columns = tuple(Column(name=name, kind="integer", bounds=(0, 9)) for name in "ab")
    schema = Schema(columns=columns, target="a", rules=("a = b",))
    assert [column.name for column in schema.computed] == ["b"]


def test_a_thousand_rules_are_read_in_time_and_a_few_thousand_are_refused() -> None:
    columns = tuple(Column(name=f"c{at}", kind="integer", bounds=(0, 1000)) for at in range(150))
    chain = tuple(f"c{at} <= c{at + 1}" for at in range(149))
    schema = Schema(columns=columns, rules=(*chain, *(f"c{at} != 7" for at in range(150))))
    (task,) = tasks_of(schema.ruled)
    row = task.example(np.random.default_rng(0))
    assert row is not None
    values = [row[f"c{at}"][0] for at in range(150)]
    assert values == sorted(values)
    with pytest.raises(SchemaError, match="are the most"):
        Schema(columns=columns, rules=("c1 > 1",) * 2_001)


def test_a_cycle_of_orders_that_leaves_nothing() -> None:
    columns = tuple(Column(name=name, kind="integer", bounds=(0, 20)) for name in "abc")
    with pytest.raises(SchemaError, match="no row"):
        Schema(columns=columns, rules=("a < b", "b < c", "c < a"))
    assert Schema(columns=columns, rules=("a <= b", "b <= c", "c <= a")).rules


def test_keys_are_made_up_each_once() -> None:
    pattern = Pattern(r"\A{2}-[0-9A-F]{3}.")
    assert pattern.size == 26**2 * 16**3
    made = np.concatenate([pattern.draw(3_000, first=first, seed=4, unique=True) for first in (0, 3_000)])
    assert len(set(made)) == 6_000
    assert all(map(pattern.fits, made))
    assert not pattern.fits("AB-0G1.")
    few = Pattern("[0-9]{2}")
    assert len(set(few.draw(100, first=0, seed=1, unique=True))) == 100
    assert len(few.draw(500, first=0, seed=1, unique=False)) == 500
    with pytest.raises(ModelError, match="need as many keys"):
        few.draw(101, first=0, seed=1, unique=True)
    long = Pattern("[0-9]{40}").draw(50, first=0, seed=1, unique=True)
    assert len(set(long)) == 50


def test_the_text_is_toml() -> None:
    assert len(tomllib.loads(with_rules().to_toml())["rules"]) == 2
