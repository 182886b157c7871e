"""The command line as tests use it: a table of patients, its schema, and commands that are run in this process."""

import json

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from sfumato.cli import app

SCHEMA = """
[dataset]
target = "ill"
rows = 400
[columns.age]
type = "integer"
bounds = [0, 100]
[columns.weight]
type = "numeric"
bounds = [30, 200]
missing = true
[columns.town]
type = "categorical"
categories = ["rome", "milan"]
missing = true
[columns.ill]
type = "boolean"
"""


def run(*arguments, **environment):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "100", **environment})


def answer_of(result):
    """The one JSON object on stdout."""
    assert result.stdout.count("\n") == 1, result.stdout
    return json.loads(result.stdout)


def patients(n_rows=400):
    rng = np.random.default_rng(n_rows)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, n_rows),
            "weight": rng.normal(75, 12, n_rows).round(1),
            "town": rng.choice(["rome", "milan"], n_rows),
            "ill": rng.random(n_rows) < 0.3,
        }
    )


def release_it(*more, data="patients.csv", epsilon=1, **environment):
    return run("release", data, "--schema", "schema.toml", "--epsilon", epsilon, "--out", "out", *more, **environment)


# ---------------------------------------------------------------------------------------------- what commands answer
