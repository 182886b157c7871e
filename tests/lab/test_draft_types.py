"""A draft that knows types: types alone, and nothing else of any row."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from command_line import answer_of, run
from sfumato.lab.dry_run.drafting import TYPES_READ, draft_schema
from sfumato.lab.dry_run.kinds import told_kinds
from sfumato.public.schema.schema import Schema

N = 300
AT = np.arange(N)
COLUMNS = {
    "age": (AT % 70 + 20, "integer 0..110"),
    "income": (np.round(AT / 7, 2), "numeric discover"),
    "member": (np.where(AT % 3, "Yes", "No"), "boolean Yes | No"),
    "flag": (AT % 2, "boolean 1 | 0"),
    "truth": (AT % 2 == 0, "boolean"),
    "zip": (np.array([f"{n:05d}" for n in AT % 20 + 990]), "categorical discover"),
    "day": (np.datetime64("2020-01-01") + AT, "datetime discover"),
    "german": (np.array([f"{n % 28 + 1:02d}.01.2020" for n in AT]), "datetime discover"),
    "compact": (np.array([f"202001{n % 28 + 1:02d}" for n in AT]), "datetime discover"),
    "jn": (np.where(AT % 2, "J", "N"), "boolean J | N"),
    "comma": (np.array([f"{n},5" for n in AT]), "numeric discover"),
    "thousands": (np.array([f"1,{n:03d},{n:03d}" for n in AT]), "numeric discover"),
    "town": (np.where(AT % 2, "Aston", "Bury"), "categorical discover"),
    "gaps": (np.where(AT % 10, AT.astype(str), ""), "integer discover ?"),
    "typo": (np.where(AT == 5, "about 7", AT.astype(str)), "integer discover"),
    "mixed": (np.where(AT % 5, AT.astype(str), "many"), "categorical discover"),
    "words": (np.where(AT % 2, "yEs", "no"), "categorical discover"),
}


@pytest.fixture
def table(tmp_path):
    pd.DataFrame({name: values for name, (values, _) in COLUMNS.items()}).assign(void="").to_csv(
        tmp_path / "t.csv", index=False
    )
    return tmp_path / "t.csv"


def lines_of(text):
    pairs = (line.split(" = ", 1) for line in text.split("[columns]")[1].splitlines() if line.startswith('"'))
    return {name.strip('"'): value.split('"')[1] for name, value in pairs}


def test_types_are_told_by_the_rows(table):
    text = draft_schema(table, types=True, header=True)
    assert lines_of(text) == {name: line for name, (_, line) in COLUMNS.items()}
    assert '# "void" = ' in text  # it holds nothing
    assert "of the rows their types alone" in text
    assert "nothing from any row" not in text
    assert Schema.parse(text)["member"].written == ("No", "Yes")


def test_nothing_of_a_value_is_in_a_draft(table, tmp_path):
    """Other rows of the same types give the same draft: so it holds types and no value, bound or count."""
    frame = pd.read_csv(table, dtype=str, keep_default_na=False)
    other = frame.iloc[::-1].iloc[:200].copy()
    other["town"] = other["town"].map({"Aston": "Rome", "Bury": "Oslo"})
    other["income"] = (other["income"].astype(float) * 1e6).map("{:.2f}".format) + "1"
    other["typo"] = np.where(np.arange(200) == 7, "9 or so", np.arange(200).astype(str))
    other["day"] = "1999-12-31"
    other.to_csv(tmp_path / "other.csv", index=False)
    drafts = [draft_schema(path, types=True, header=True) for path in (table, tmp_path / "other.csv")]
    assert drafts[0] == drafts[1]


def test_few_rows_tell_no_type(tmp_path):
    (tmp_path / "t.csv").write_text("age,income\n1,2.5\n" * 1)
    assert lines_of(draft_schema(tmp_path / "t.csv", types=True))["income"] == "numeric discover ?"  # by its name
    assert told_kinds(tmp_path / "t.csv", ["age"])["age"].kind is None


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pa.table, lambda columns: pytest.importorskip("polars").DataFrame(columns)]
)
def test_a_draft_of_a_frame(make):
    frame = make({"age": [41] * 20, "cost": [1.5, 2.5] * 10, "zip": ["01067", "10115"] * 10, "paid": ["1,5"] * 20})
    assert lines_of(draft_schema(frame)) == {
        "age": "integer 0..110",
        "cost": "numeric discover",
        "zip": "categorical discover",
        "paid": "categorical discover",
    }
    assert lines_of(draft_schema(frame, types=True))["paid"] == "numeric discover"


def test_a_draft_is_written_to_a_file_whole_or_not_at_all(table, tmp_path):
    out = tmp_path / "schema.toml"
    result = run("schema", table, "--header", "--types", "--out", out)
    assert result.exit_code == 0, result.output
    assert " ".join(TYPES_READ.split()) in " ".join(result.stderr.split())
    assert Schema.load(out)["income"].kind == "numeric"
    kept = out.read_text()
    again = run("schema", table, "--header", "--out", out)
    assert again.exit_code == 1
    assert "--force" in again.stderr
    refused = run("schema", tmp_path / "no.csv", "--out", out, "--force")
    assert refused.exit_code == 1
    assert out.read_text() == kept
    assert run("schema", table, "--header", "--types", "--interactive").exit_code == 1


LONG = """# mine
[columns.income]
type = "categorical"   # what?
discover = true
[columns.member]
discover = true   # see there
type = "categorical"
missing = true
[columns.town]
type = "categorical"
discover = true
[columns.age]
type = "categorical"
categories = ["41"]
"""


def test_check_writes_types_and_nothing_else(table, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(LONG)
    path.chmod(0o640)
    result = run("check", table, "--schema", path, "--write-types", "--json")
    assert answer_of(result)["types_written"] == {"income": "numeric discover", "member": "boolean Yes | No ?"}
    assert "Types of 2 columns were written" in " ".join(result.stderr.split())
    schema = Schema.load(path)
    assert [(c.name, c.kind, c.discover) for c in schema.columns] == [
        ("income", "numeric", True),
        ("member", "boolean", False),
        ("town", "categorical", True),
        ("age", "categorical", False),  # somebody has said what it is
    ]
    assert schema["member"].missing
    assert path.read_text().startswith("# mine\n")
    assert path.stat().st_mode & 0o777 == 0o640
    written = path.read_text()
    assert answer_of(run("check", table, "--schema", path, "--write-types", "--json"))["types_written"] == {}
    assert path.read_text() == written


def test_check_writes_types_into_lines(table, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(draft_schema(table, header=True))
    run("check", table, "--schema", path, "--write-types")
    assert lines_of(path.read_text())["thousands"] == "numeric discover"
    assert lines_of(path.read_text())["member"] == "boolean Yes | No"
    inline = '[columns]\nincome = {type = "categorical", discover = true}\ntown = "categorical discover"\n'
    path.write_text(inline)
    run("check", table, "--schema", path, "--write-types")
    assert path.read_text() == inline  # what cannot be rewritten line by line stays as it is
