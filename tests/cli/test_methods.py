"""sfumato methods: every mechanism is listed, with what it takes."""

import json

from typer.testing import CliRunner

from sfumato.cli import app
from sfumato.mechanism import registered_names
from sfumato.outlook.method_list import methods


def test_every_mechanism_is_listed_once_and_takes_something() -> None:
    found = {one.name: one for one in methods()}
    assert tuple(found) == registered_names()
    packaged = [
        one for one in found.values() if one.name in ("3a-table", "3a-image", "moments", "mst", "logistic", "dpmix")
    ]
    assert len(packaged) == 6
    assert all(one.takes and one.about for one in packaged)
    assert found["3a-image"].takes == ("images with classes", "images alone")
    assert all(kind.startswith("tables") for kind in found["3a-table"].takes)
    assert found["moments"].takes == ("tables with classes", "tables without a target")
    assert found["logistic"].releases == "a model"
    assert found["mst"].releases == "rows"


def test_the_command_answers_in_json_and_in_words() -> None:
    result = CliRunner().invoke(app, ["methods", "--json"])
    assert result.exit_code == 0
    assert {one["name"] for one in json.loads(result.stdout)["methods"]} == set(registered_names())
    spoken = CliRunner().invoke(app, ["methods"], env={"COLUMNS": "120"})
    assert spoken.exit_code == 0
    assert "3a-table" in spoken.stdout
    assert "all tables" in spoken.stdout
