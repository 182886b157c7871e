"""A file with a header and no rows is a dataset like every other: it is read, and released, without a crash.

That its release says little is a matter of the report; how many rows there were is private.
"""

import gzip

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli import app
from sfumato.private.intake.sources import open_source
from sfumato.public.schema.schema import Schema

COLUMNS = """
[columns.age]
type = "integer"
bounds = [0, 100]
[columns.town]
type = "categorical"
categories = ["rome", "milan"]
missing = true
[columns.ill]
type = "boolean"
"""
UNKNOWN = """
[columns.age]
type = "integer"
discover = true
[columns.town]
type = "categorical"
discover = true
[columns.ill]
type = "boolean"
"""
HEADER = b"age,town,ill,who"
FILES = {
    "no line end": HEADER,
    "one line": HEADER + b"\n",
    "windows": HEADER + b"\r\n",
    "byte order mark": b"\xef\xbb\xbf" + HEADER + b"\n",
    "blank lines": HEADER + b"\n\n\n",
    "windows, blank lines": HEADER + b"\r\n\r\n",
    "quoted": b'"age","town","ill","who"\n',
    "only lines of another length": HEADER + b"\n1\n1,2\n",
    "a space": HEADER + b"\n \n",
    "semicolons": HEADER.replace(b",", b";") + b"\n",
}


def release(folder, data, schema, *options):
    (folder / "schema.toml").write_text(schema)
    words = ["release", data, "--schema", folder / "schema.toml", "--epsilon", 1, "--out", folder / "out", *options]
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", FILES)
def test_a_header_alone_gives_no_rows(tmp_path, case, packed):
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(FILES[case]) if packed else FILES[case])
    source = open_source(path, Schema.parse(COLUMNS))
    assert sum(len(chunk["age"]) for chunk in source.chunks(["age", "town", "ill"], rows=100)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("case", ["no line end", "blank lines", "only lines of another length"])
@pytest.mark.parametrize("method", ["auto", "independent-histograms"])
def test_a_header_alone_is_released(tmp_path, case, method):
    (tmp_path / "t.csv").write_bytes(FILES[case])
    schema = f'[dataset]\ntarget = "ill"\nrows = 20000\n{COLUMNS}'
    result = release(tmp_path, tmp_path / "t.csv", schema, "--method", method)
    assert result.exit_code == 0, result.output
    assert sf.verify(tmp_path / "out", rebuild=True).ok
    table = sf.load_release(tmp_path / "out").synthetic().table
    assert len(table) >= 1
    assert table["age"].between(0, 100).all()


@pytest.mark.parametrize("unit", ["", '[privacy]\nperson = "who"\nmax_rows = 2\n'])
@pytest.mark.parametrize("columns", [COLUMNS, UNKNOWN])
def test_no_rows_of_persons_or_of_unknown_columns_end_in_a_release_or_a_sentence(tmp_path, unit, columns):
    (tmp_path / "t.csv").write_bytes(FILES["one line"])
    result = release(tmp_path, tmp_path / "t.csv", unit + columns)
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in (0, 1)
    assert (tmp_path / "out").exists() == (result.exit_code == 0)


def test_no_rows_of_every_other_make():
    schema = Schema.parse(COLUMNS)
    frame = pd.DataFrame({"age": [1], "town": ["rome"], "ill": [True]}).iloc[:0]
    for data in (frame, {name: np.zeros(0) for name in frame}, {name: [] for name in frame}):
        fitted = sf.fit("independent-histograms", sf.Sensitive.read(data, schema), sf.Budget(1.0, 1e-6))
        assert len(fitted.model.sample(5, seed=0)) == 5
