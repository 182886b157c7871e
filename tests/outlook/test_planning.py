"""`sf.plan` in Python shows what the command prints."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

import schemas
import sfumato as sf
from sfumato.cli import app
from sfumato.errors import PlanError

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
OPEN = sf.Schema(
    columns=(sf.Column(name="town", kind="categorical", discover=True), *schemas.TABLE.columns), target="ill"
)


def words(text: str) -> list[str]:
    """What is said, whatever the layout: no rules, no line breaks, no colon after warning and advice."""
    return text.replace("─", " ").replace("warning:", "Warning").replace("advice:", "Advice").split()


@pytest.mark.parametrize(
    "schema", [schemas.TABLE, replace(schemas.TABLE, rows=None), OPEN], ids=["known", "no rows", "open"]
)
@pytest.mark.parametrize("mechanism", ["auto", "independent-histograms"])
def test_python_and_the_command_say_the_same(schema, mechanism, tmp_path) -> None:
    (tmp_path / "schema.toml").write_text(schema.to_toml())
    arguments = ["plan", str(tmp_path / "schema.toml"), "--epsilon", "1", "--delta", "1e-6", "--method", mechanism]
    told = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})
    planned = sf.plan(mechanism, schema, BUDGET)
    assert words(str(planned)) == words(told.stdout)
    assert max(map(len, str(planned).splitlines())) <= 80


def test_what_is_known_and_what_is_not() -> None:
    planned = sf.plan("auto", schemas.TABLE, BUDGET)
    assert planned.plan is not None
    assert planned.spent.epsilon <= 1.0
    assert planned.noise_stddev("fine", "fine") == planned.plan.noise_stddev("fine", "fine")
    assert {entry["column"] for entry in planned.noise} == {column.name for column in schemas.TABLE.columns}
    assert planned.discovery is None
    open_plan = sf.plan("auto", OPEN, BUDGET)
    assert (open_plan.plan, open_plan.noise) == (None, [])
    assert open_plan.discovery["columns"] == [{"name": "town", "what": "categories"}]
    assert repr(open_plan) == "<PlannedRelease: 3a-table, epsilon 1, delta 1e-06, after a discovery>"
    with pytest.raises(PlanError, match="town are to be discovered first"):
        open_plan.noise_multiplier("fine")


def test_a_notebook_shows_it_and_escapes_names() -> None:
    column = sf.Column(name="<b>x</b>", kind="integer", bounds=(0, 9))
    page = sf.plan("auto", sf.Schema(columns=(column,), rows=10_000), BUDGET)._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert page.count("<table>") == page.count("</table>") == 2


def test_the_plan_tells_how_long_it_took_on_data_like_this_and_what_a_gpu_would_do() -> None:
    columns = tuple(sf.Column(name=f"x{j}", kind="numeric", bounds=(0, 1)) for j in range(14))
    schema = sf.Schema(columns=(*columns, sf.Column(name="y", kind="boolean")), target="y", rows=30_000)
    found = sf.plan("3a-table", schema, sf.Budget(epsilon=1.0, delta=1e-6)).duration
    assert found.measured is not None
    assert found.measured["dataset"] == "adult"  # 32,561 rows of 15 columns
    assert found.measured["seconds"] > 0
    assert "no difference" in found.on_gpu
    by_gradients = sf.plan("dp-gan", schema, sf.Budget(epsilon=1.0, delta=1e-6))
    assert "on a GPU" in by_gradients.duration.on_gpu
    assert "How long it takes" in str(by_gradients)
    assert by_gradients.to_json()["duration"]["on_gpu"] == by_gradients.duration.on_gpu


def test_a_plan_begins_with_the_warning_and_what_to_expect_and_ends_with_the_steps():
    columns = (sf.Column(name="age", kind="integer", bounds=(0, 99)), sf.Column(name="ill", kind="boolean"))
    hopeless = sf.plan("auto", sf.Schema(columns=columns, target="ill", rows=100), sf.Budget(epsilon=0.1, delta=1e-6))
    titles = [section.title for section in hopeless.sections()]
    assert (titles[0], titles[-1]) == ("What to expect", "Plan of 3a-table")
    assert str(hopeless).startswith("Warning\n")
    assert "of little use" in str(hopeless).split("What to expect")[0]
    well = sf.plan("auto", sf.Schema(columns=columns, target="ill", rows=100_000), sf.Budget(epsilon=1, delta=1e-6))
    assert str(well).startswith("What to expect")


def test_where_rows_are_not_declared_the_plan_says_how_many_are_needed():
    columns = (sf.Column(name="age", kind="integer", bounds=(0, 99)), sf.Column(name="ill", kind="boolean"))
    planned = sf.plan("auto", sf.Schema(columns=columns, target="ill"), sf.Budget(epsilon=0.1, delta=1e-6))
    needed = planned.outlook.rows_needed
    assert f"With fewer than about {needed:,} rows" in str(planned)
    for rows, is_warned in ((needed // 2, True), (needed * 2, False)):
        assert (replace(planned.outlook, rows=rows).warning is not None) == is_warned


def test_of_several_tables_no_expectations_are_shown_that_were_simulated_for_one():
    planned = sf.plan("auto", schemas.HOSPITAL, BUDGET)
    assert planned.outlook is None
    assert planned.to_json()["expectation"] is None
    assert "No expectations are known for several tables" in " ".join(words(str(planned)))
    assert "3a-table." not in str(planned)
    assert "public simulations" not in str(planned)
