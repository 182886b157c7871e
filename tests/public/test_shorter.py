"""Less to type in schema.toml: what a shorter file says is what the longer one says, to the digest."""

import pytest

from sfumato.errors import SchemaError
from sfumato.public.schema.one_line import line_of, read_line
from sfumato.public.schema.schema import Schema

SHORT = """
[dataset]
target = "churn"

[defaults]
missing = true
true = ["Yes"]
false = ["No"]

[defaults."online_*"]
type = "boolean"

[defaults."*_kg"]
type = "numeric"
bounds = [0, 300]
decimals = 1

[columns]
age = "integer 18..90"
tenure = "ditto"
ward = "categorical north | south wing"
grade = "ordinal low | high ?"
seen = "datetime 2020-01-01..2024-12-31"
paid = "numeric 0..99.5 decimals 2"
online_backup = {}
online_tv = {missing = false}
weight_kg = {}
churn = {type = "boolean", missing = false, true = ["gone"], false = ["there"]}
"""
LONG = """
[dataset]
target = "churn"
[columns.age]
type = "integer"
bounds = [18, 90]
missing = true
[columns.tenure]
type = "integer"
bounds = [18, 90]
missing = true
[columns.ward]
type = "categorical"
categories = ["north", "south wing"]
missing = true
[columns.grade]
type = "ordinal"
categories = ["low", "high"]
missing = true
[columns.seen]
type = "datetime"
bounds = [2020-01-01, 2024-12-31]
missing = true
[columns.paid]
type = "numeric"
bounds = [0, 99.5]
decimals = 2
missing = true
[columns.online_backup]
type = "boolean"
true = ["Yes"]
false = ["No"]
missing = true
[columns.online_tv]
type = "boolean"
true = ["Yes"]
false = ["No"]
[columns.weight_kg]
type = "numeric"
bounds = [0, 300]
decimals = 1
missing = true
[columns.churn]
type = "boolean"
true = ["gone"]
false = ["there"]
"""


def test_a_shorter_file_means_the_same_and_is_forgotten():
    short, long = Schema.parse(SHORT), Schema.parse(LONG)
    assert short == long
    assert short.digest() == long.digest()
    assert short.to_toml() == long.to_toml()  # what a release holds has every column whole
    assert Schema.parse(short.to_toml()) == short
    assert len([line for line in SHORT.splitlines() if line]) < 0.6 * len([line for line in LONG.splitlines() if line])


def test_a_key_of_its_own_goes_before_a_pattern_and_a_pattern_before_a_default():
    text = '[defaults]\ndecimals = 3\n[defaults."a*"]\ndecimals = 2\nbounds = [0, 1]\n[columns]\n'
    schema = Schema.parse(text + 'a1 = {type = "numeric", decimals = 1}\na2 = "numeric 5..6"\nb = "numeric 0..1"\n')
    assert [column.decimals for column in schema.columns] == [1, 2, 3]
    assert schema["a2"].bounds == (5, 6)
    # A column that is to be discovered has no bounds of a pattern's, and words belong to truth alone.
    schema = Schema.parse(
        '[defaults]\ntrue = ["Y"]\nfalse = ["N"]\n[defaults."a*"]\nbounds = [0, 1]\n[columns]\na = "numeric discover"'
    )
    assert schema["a"].discover
    assert schema["a"].bounds is None


def test_only_a_star_is_a_pattern():
    text = '[defaults."a[1]?*"]\nmissing = true\n[columns]\n"a[1]?x" = "integer 0..1"\na1bx = "integer 0..1"'
    assert [column.missing for column in Schema.parse(text).columns] == [True, False]
    with pytest.raises(SchemaError, match=r"line 1.*no column of the schema is called as 'x\*' says"):
        Schema.parse('[defaults."x*"]\nmissing = true\n[columns]\ny = "boolean"')


FAULTS = {
    'x = "integr 0..1"': "begins with no type. Did you mean 'integer'?",
    'x = "integer 0-1"': "has no bounds. Write low..high",
    'x = "integer a..b"': "'a' is no number",
    'x = "integer 5..1"': "low before high",
    'x = "categorical a || b"': "an empty value",
    'x = "boolean yes"': "the word for false",
    'x = "image 28"': "needs a section of its own",
    'x = "ditto"': "no column above",
    "x = 5": "has no type",
    'x = "datetime 2020..soon"': "dates such as 2020-01-31",
}


@pytest.mark.parametrize("line", FAULTS)
def test_a_line_that_cannot_be_read_is_told_once_with_its_number(line):
    with pytest.raises(SchemaError) as told:
        Schema.parse(f"[columns]\n{line}")
    assert FAULTS[line] in str(told.value)
    assert "line 2" in str(told.value)
    assert "faults" not in str(told.value)


def test_unknown_defaults_are_told():
    with pytest.raises(SchemaError, match=r"\[defaults\] has an unknown key 'mising'. Did you mean 'missing'"):
        Schema.parse('[defaults]\nmising = true\n[columns]\nx = "boolean"')
    with pytest.raises(SchemaError, match="unknown key 'bound'"):
        Schema.parse('[defaults."x*"]\nbound = [0, 1]\n[columns]\nx = "numeric 0..1"')
    with pytest.raises(SchemaError, match="missing must be true or false"):
        Schema.parse('[defaults]\nmissing = "yes"\n[columns]\nx = "boolean"')


@pytest.mark.parametrize(
    "values", [["a", "b"], ["a | b"], ["b ?"], ["?"], ["file x"], ["discover"], [" a"], ["a, b", "ü"]]
)
def test_a_line_is_written_only_where_it_is_read_back(values):
    line = line_of("categorical", values=values, missing=True)
    assert not line or read_line(line) == {"type": "categorical", "categories": values, "missing": True}
    assert bool(line) == (values not in (["a | b"], ["file x"], ["discover"], [" a"]))
