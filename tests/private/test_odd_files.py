"""Files as people have them: each is read, or refused with a sentence that names the remedy and holds nothing of a row."""

import gzip

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from command_line import run
from sfumato.errors import SourceError
from sfumato.lab.dry_run.reading import dry_run
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.drafts import draft_schema
from sfumato.private.intake.sources import open_source
from sfumato.public.schema.schema import Schema

SECRET = "zq7secret"
SCHEMA = Schema.parse(
    '[columns.age]\ntype = "integer"\nbounds = [0, 100]\n'
    '[columns.town]\ntype = "categorical"\ncategories = ["rome", "Zürich", "nan"]\nmissing = true\n'
)
ROWS = "41,rome\n17,Zürich\n"


def read(path, schema=SCHEMA):
    names = [column.name for column in schema.columns]
    batches = [conform(chunk, schema) for chunk in open_source(path, schema).chunks(names, rows=100)]
    return {name: np.concatenate([batch[name] for batch in batches]).tolist() for name in names}


READ = {
    "a byte-order mark": b"\xef\xbb\xbfage,town\n" + ROWS.encode(),
    "semicolons": f"age;town\n{ROWS.replace(',', ';')}".encode(),
    "semicolons, and a comma in a name": b"age;town;weight, kg\n41;rome;80\n17;Z\xc3\xbcrich;70\n",
    "commas, and semicolons in a name": b"age,town,a;b;c;d;e\n41,rome,1\n17,Z\xc3\xbcrich,1\n",
    "bars": f"age|town\n{ROWS.replace(',', '|')}".encode(),
    "tabs": f"age\ttown\n{ROWS.replace(',', chr(9))}".encode(),
    "the separator above the header": f"sep=;\r\nage;town\r\n{ROWS.replace(',', ';')}".encode(),
    "lines of an old Mac": f"age,town\n{ROWS}".replace("\n", "\r").encode(),
    "quotes everywhere": b'"age","town"\n"41","rome"\n"17","Z\xc3\xbcrich"\n',
    "a name of two lines": b'age,town,"weight\n(kg)"\n41,rome,80\n17,Z\xc3\xbcrich,70\n',
    "blank lines above": f"\n\nage,town\n{ROWS}".encode(),
    "whole numbers with a point": b"age,town\n41.0,rome\n17.00,Z\xc3\xbcrich\n",
    "spaces": b" age , town\n 41 , rome \n17, Z\xc3\xbcrich\n",
}


@pytest.mark.parametrize("case", READ)
def test_files_that_are_read(tmp_path, case):
    (tmp_path / "t.csv").write_bytes(READ[case])
    assert read(tmp_path / "t.csv") == {"age": [41, 17], "town": [0, 1]}
    with gzip.open(tmp_path / "t.csv.gz", "wb") as file:
        file.write(READ[case])
    assert read(tmp_path / "t.csv.gz") == {"age": [41, 17], "town": [0, 1]}


def test_nan_is_a_category_where_it_is_declared(tmp_path):
    (tmp_path / "t.csv").write_text("age,town\n41,nan\n17,NA\n")
    assert read(tmp_path / "t.csv")["town"] == [2, 3]


HEAD = f"age,town\n41,{SECRET}\n"
REFUSED = {
    "UTF-16": ("t.csv", HEAD.encode("utf-16"), "it is in UTF-16. Save it as UTF-8, for instance with: iconv -f utf-16"),
    "UTF-16 without a mark": ("t.csv", HEAD.encode("utf-16-le"), "in UTF-16 has to be saved as UTF-8"),
    "latin-1": ("t.csv", f"age,größe\n41,{SECRET}\n".encode("latin-1"), "iconv -f latin1"),
    "a spreadsheet": (
        "t.xlsx",
        b"PK\x03\x04" + SECRET.encode(),
        "It is a spreadsheet, which is not read. Save the sheet",
    ),
    "an old one": ("t.xls", SECRET.encode(), "pandas.read_excel"),
    "a spreadsheet named csv": (
        "t.csv",
        b"PK\x03\x04" + SECRET.encode(),
        "a spreadsheet or an archive. Save the sheet",
    ),
    "SPSS": ("t.sav", SECRET.encode(), "pandas.read_spss"),
    "JSON": ("t.json", SECRET.encode(), "pandas.read_json"),
    "a web page": ("t.csv", f"<!DOCTYPE html>{SECRET}".encode(), "a web page"),
    "plain text": ("t.txt", HEAD.encode(), "name it .csv"),
    "names twice": (
        "t.csv",
        f"age,age\n41,{SECRET}\n".encode(),
        "names a column twice in its header: columns 1 and 2.",
    ),
    "a quote of the header": ("t.csv", f'age,"town\n41,{SECRET}\n'.encode() * 3, "with quotes that close"),
    "a quote that a row closes": ("t.csv", f'x,age,"town\n41,{SECRET}"\n41,x,{SECRET}\n'.encode(), "for 'town'"),
    "a header without an end": ("t.csv", f"age,{SECRET},".encode() * 80_000, "longer than a million bytes"),
    "another file": ("t.csv", f"alter,stadt\n41,{SECRET}\n".encode(), "Or is the schema that of another file?"),
    "capitals": ("t.csv", f"Age,Town\n41,{SECRET}\n".encode(), "It has 'Age': names must agree to the letter"),
    "a misspelt name": ("t.csv", f"age,twon\n41,{SECRET}\n".encode(), "Did you mean 'twon'?"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_are_refused(tmp_path, case):
    name, content, words = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError) as caught:
        read(tmp_path / name)
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(tmp_path))


def test_a_refused_file_leaves_nothing_behind(tmp_path):
    (tmp_path / "t.csv").write_bytes(REFUSED["a quote that a row closes"][1])
    (tmp_path / "schema.toml").write_text(sf.Schema.to_toml(SCHEMA))
    for command in (
        ["check"],
        ["release", "--epsilon", 1, "--out", tmp_path / "out", "--method", "independent-histograms"],
    ):
        result = run(*command, tmp_path / "t.csv", "--schema", tmp_path / "schema.toml")
        assert result.exit_code == 1
        assert "for 'town'" in result.stderr
        assert SECRET not in result.output
    assert {file.name for file in tmp_path.iterdir()} == {"t.csv", "schema.toml"}


@pytest.mark.parametrize("line", ['41,"rome', '"41,rome', '41,"Rome,\nthe city"'])
def test_a_quote_that_does_not_close_in_its_line_is_told_to_the_custodian(tmp_path, line):
    good = "41,rome\n" * 5
    (tmp_path / "t.csv").write_text(f"age,town\n{good}{line}\n{good}")
    found = dry_run(tmp_path / "t.csv", SCHEMA)
    (fault,) = found.faults
    assert "a quote that does not close" in fault.what
    assert "write the table as Parquet" in fault.remedy
    assert (fault.rows, found.rows) == (1 + line.count("\n"), 10)


ODD_NAMES = ["class", "weight (kg)", "🐘", 'say "no"', "[x.y]", "1"]


def test_odd_names_go_all_the_way(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((300, len(ODD_NAMES))), columns=ODD_NAMES)
    frame.to_csv(tmp_path / "t.csv", index=False)
    draft = draft_schema(tmp_path / "t.csv", header=True)
    assert [column.name for column in Schema.parse(draft).columns] == ODD_NAMES
    columns = tuple(sf.Column(name=name, kind="numeric", bounds=(0, 1)) for name in ODD_NAMES)
    schema = sf.Schema(columns=columns, rows=300)
    (tmp_path / "schema.toml").write_text(schema.to_toml())
    assert not dry_run(tmp_path / "t.csv", sf.Schema.load(tmp_path / "schema.toml")).findings
    words = [
        "release",
        tmp_path / "t.csv",
        "--schema",
        tmp_path / "schema.toml",
        "--epsilon",
        1,
        "--out",
        tmp_path / "out",
    ]
    result = run(*words, "--method", "independent-histograms")
    assert result.exit_code == 0, result.output
    assert list(sf.load_release(tmp_path / "out").synthetic().table.columns) == ODD_NAMES


@pytest.mark.slow
def test_ten_thousand_columns_are_drafted_and_checked(tmp_path):
    names = [f"x{at}" for at in range(10_000)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + (",".join(["0.5"] * 10_000) + "\n") * 3)
    draft = draft_schema(tmp_path / "t.csv")
    assert draft.count(' = "categorical discover"') == 10_000
    schema = sf.Schema(columns=tuple(sf.Column(name=name, kind="numeric", bounds=(0, 1)) for name in names))
    assert dry_run(tmp_path / "t.csv", schema).rows == 3
