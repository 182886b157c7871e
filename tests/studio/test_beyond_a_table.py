"""Beyond one table that a person fills in: several tables, types told by the rows, a score, more rows, and releases looked at before."""

import sqlite3
import time
from pathlib import Path

import pandas as pd
import pytest
from visitors import SCHEMA, Custodian

from sfumato.public.schema.schema import Schema
from sfumato.studio import editing
from sfumato.studio.jobs import Job, Progress
from sfumato.studio.pages import results
from sfumato.studio.taking_away import arguments, script

HOSPITAL = """\
[dataset]
rows = 300              # a remark that stays

[tables.patients]
key = "patient"

[tables.patients.columns.age]
type = "integer"
bounds = [0, 100]

[tables.visits]
parent = "patients"
max_rows = 4
order = "day"

[tables.visits.columns.day]
type = "integer"
bounds = [0, 1000]
"""


def ended(custodian: Custodian, kind: str) -> tuple[Job, Progress]:
    (job,) = [job for job in custodian.studio.jobs.all() if job.kind == kind]
    for _ in range(600):
        if (progress := custodian.studio.jobs.progress(job)).is_over:
            return job, progress
        time.sleep(0.05)
    raise AssertionError("the job did not end")


@pytest.fixture
def hospital(custodian: Custodian) -> Path:
    root = custodian.studio.folders.roots[0]
    folder = root / "hospital"
    folder.mkdir()
    pd.DataFrame({"patient": range(300), "age": [at % 90 for at in range(300)]}).to_csv(
        folder / "patients.csv", index=False
    )
    visits = {"patient": [at % 300 for at in range(600)], "day": [at % 900 for at in range(600)]}
    pd.DataFrame(visits).to_csv(folder / "visits.csv", index=False)
    (root / "hospital.toml").write_text(HOSPITAL)
    return folder


def test_several_tables_are_chosen_planned_and_changed_as_text(custodian: Custodian, hospital: Path) -> None:
    project = custodian.studio.projects.new("x")
    chosen = custodian.post(f"/p/{project.id}/data", place="hospital", schema="hospital.toml")
    assert chosen.url.path.endswith("/schema")
    assert "several tables" in chosen.text
    assert "can be used as it stands" in chosen.text
    plan = custodian.post(f"/p/{project.id}/plan", epsilon="1")
    assert plan.status_code == 200
    assert "3a-tables" in plan.text
    version = str(custodian.studio.projects.get(project.id).version)
    text = HOSPITAL.replace("[0, 100]", "[0, 120]")
    assert custodian.post(f"/p/{project.id}/schema/text", version=version, text=text).status_code == 200
    assert custodian.get(f"/p/{project.id}/schema.toml").text == text  # its remarks too
    assert custodian.post(f"/p/{project.id}/schema/text", version=version, text=text).status_code == 409
    version = str(custodian.studio.projects.get(project.id).version)
    wrong = custodian.post(f"/p/{project.id}/schema/text", version=version, text="[tables.")
    assert wrong.status_code == 422
    assert "[tables." in wrong.text  # what was typed is there still
    broken = custodian.post(f"/p/{project.id}/schema/text", version=version, text=text.replace("patients", "nobody", 1))
    assert broken.status_code == 200
    assert 'class="fault"' in broken.text
    assert custodian.post(f"/p/{project.id}/schema/undo", version=str(int(version) + 1)).status_code == 200
    assert custodian.get(f"/p/{project.id}/schema.toml").text == text


def test_a_table_of_columns_is_edited_as_text_too(custodian: Custodian) -> None:
    project = custodian.project()
    text = custodian.get(f"/p/{project.id}/schema.toml").text.replace("110", "99")
    assert "[[rules]]" not in text
    text += '\n[[rules]]\nrule = "age >= 1"\n'
    custodian.post(f"/p/{project.id}/schema/text", version=str(project.version), text=text)
    schema = custodian.studio.projects.schema(custodian.studio.projects.get(project.id))
    assert schema["columns"][0]["entry"]["bounds"] == [0, 99]
    assert schema["rules"] == [{"rule": "age >= 1"}]
    assert not schema["columns"][2]["kept"]


def test_rows_tell_types_alone_and_only_of_open_columns(custodian: Custodian) -> None:
    path = custodian.studio.folders.roots[0] / "rows.csv"
    cells = {"gain": [f"{at}.5" for at in range(60)], "smokes": ["Yes", "No"] * 30, "colour": ["red", "blue"] * 30}
    pd.DataFrame({**cells, "age": range(60)}).to_csv(path, index=False)
    project = custodian.studio.projects.new("x")
    drafted = custodian.post(f"/p/{project.id}/data", place=str(path)).text
    assert "Let the rows tell the types" in drafted
    started = custodian.post(f"/p/{project.id}/schema/types")
    assert started.status_code == 200
    ended(custodian, "schema")
    assert not [
        found for found in custodian.studio.state.rglob("*") if found.is_file() and b"numeric" in found.read_bytes()
    ]
    assert "Take over the types" in custodian.get(f"/p/{project.id}/schema").text
    version = str(custodian.studio.projects.get(project.id).version)
    taken = custodian.post(f"/p/{project.id}/schema/types/take", version=version)
    assert "columns were changed" in taken.text or "column was changed" in taken.text
    entries = {
        one["name"]: one["entry"]
        for one in custodian.studio.projects.schema(custodian.studio.projects.get(project.id))["columns"]
    }
    assert entries["gain"]["type"] == "numeric"
    assert entries["colour"] == {"type": "categorical", "discover": True}
    assert entries["age"]["bounds"] == [0, 110]  # the guess from its name stands
    assert "blue" not in str(entries)
    again = custodian.post(f"/p/{project.id}/schema/types/take", version=version)
    assert "changed." not in again.text  # there is nothing to take any more


def test_types_of_columns_that_somebody_spoke_of_are_not_touched() -> None:
    spoken = editing.column("a", {"type": "categorical", "categories": ["x", "y"]})
    open_one = editing.column("b", {"type": "categorical", "discover": True, "missing": True})
    told = {"a": {"type": "numeric", "discover": True}, "b": {"type": "numeric", "discover": True}}
    changed, n_changed = editing.with_types({**SCHEMA, "columns": [spoken, open_one]}, told)
    assert n_changed == 1
    assert [one["entry"] for one in changed["columns"]] == [
        spoken["entry"],
        {"type": "numeric", "discover": True, "missing": True},
    ]


def test_a_score_is_planned_and_asked_for(custodian: Custodian) -> None:
    project = custodian.project({**SCHEMA, "dataset": {"rows": 1000, "target": "ward"}})
    plain = custodian.post(f"/p/{project.id}/plan", epsilon="1", method="independent-histograms").text
    scored = custodian.post(f"/p/{project.id}/plan", epsilon="1", method="independent-histograms", score="yes").text
    assert "95 %" in scored.replace("95%", "95 %")
    assert len(scored) > len(plain)
    chosen = custodian.studio.projects.get(project.id).chosen
    assert "--score" in arguments(project.source, chosen, schema="s", out="o")
    assert ", score=True" in script(project.source, chosen, schema="s", out="o")
    assert "score=" not in script(project.source, {**chosen, "score": False}, schema="s", out="o")


def test_a_release_is_warned_of_what_nobody_has_checked(custodian: Custodian) -> None:
    project = custodian.project()
    custodian.studio.projects.keep(project, epsilon=1.0)
    assert "was not checked" in custodian.get(f"/p/{project.id}/release").text
    answer = {"faults": 2, "findings": [], "columns_left_out": [], "rows": 3}
    job = Job("0" * 16, "check", project.id, 1.0, 2, facts={"version": project.version})
    custodian.studio.jobs.all = lambda: [job]  # type: ignore[method-assign]
    custodian.studio.jobs.progress = lambda _: Progress("done", answer=answer)  # type: ignore[method-assign]
    assert "The check found 2 faults" in custodian.get(f"/p/{project.id}/release").text


def test_what_a_check_finds_leads_to_its_column(custodian: Custodian) -> None:
    project = custodian.project()
    finding = {"column": "ward", "is_fault": True, "rows": 3, "share": 0.1, "what": "x", "remedy": "y", "examples": []}
    answer = {"faults": 1, "findings": [finding], "columns_left_out": [], "rows": 30}
    job = Job("0" * 16, "check", project.id, 1.0, 2, facts={"version": project.version})
    custodian.studio.jobs.all = lambda: [job]  # type: ignore[method-assign]
    custodian.studio.jobs.progress = lambda _: Progress("done", answer=answer)  # type: ignore[method-assign]
    assert f'/p/{project.id}/schema/column/1">' in custodian.get(f"/p/{project.id}/check").text


def test_rows_of_one_kind_are_asked_of_a_release(custodian: Custodian, monkeypatch: pytest.MonkeyPatch) -> None:
    project = custodian.project()
    root = custodian.studio.folders.roots[0]
    release = Job("0" * 16, "release", project.id, 1.0, 2, target=str(root / "released"), facts={})
    asked: list[list[str]] = []
    monkeypatch.setattr("sfumato.studio.pages.results._finished", lambda *_: release)
    custodian.studio.jobs.start = lambda kind, given, **_: asked.append([kind, *given])  # type: ignore[method-assign]
    (root / "there.csv").write_text("")
    good = {"more_rows": "50", "file": "more.csv", "where": "age >= 65"}
    for wrong in (
        {"more_rows": "many"},
        {"more_rows": "0"},
        {"file": "../x.csv"},
        {"file": "x.sh"},
        {"file": "there.csv"},
    ):
        assert custodian.post(f"/p/{project.id}/sample", **{**good, **wrong}).status_code == 422
    assert not asked
    assert results._free_name(root) == "more-rows.csv"
    (root / "more-rows.csv").write_text("")
    assert results._free_name(root) == "more-rows-2.csv"
    assert custodian.post(f"/p/{project.id}/sample", **good).status_code == 200
    assert asked == [
        ["sample", "sample", str(root / "released"), f"--out={root / 'more.csv'}", "--rows=50", "--where=age >= 65"]
    ]


def test_what_was_handed_in_is_listed_and_removed(custodian: Custodian, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.studio.jobs._START", "import sys, time; sys.stdin.read(); time.sleep(60)")
    files = [("folder", ("theirs/certificate.json", b"{}")), ("folder", ("theirs/schema.toml", b""))]
    answer = custodian.post("/receive/upload", files=files)
    (job,) = custodian.studio.jobs.all()
    assert "Cancel" in answer.text
    assert "theirs" in custodian.get("/receive").text
    identity = job.facts["received"]
    assert custodian.studio.received.get(identity) is not None
    assert custodian.post(f"/receive/{job.id}/remove").status_code == 200
    assert custodian.studio.received.get(identity) is None
    assert not custodian.studio.jobs.all()


def test_a_database_of_several_tables_is_read_with_its_schema(custodian: Custodian, hospital: Path) -> None:
    path = custodian.studio.folders.roots[0] / "hospital.db"
    with sqlite3.connect(path) as database:
        for name in ("patients", "visits"):
            pd.read_csv(hospital / f"{name}.csv").to_sql(name, database, index=False)
    project = custodian.studio.projects.new("x")
    assert custodian.post(f"/p/{project.id}/data", place="hospital.db", schema="hospital.toml").url.path.endswith(
        "/schema"
    )
    kept = custodian.studio.projects.get(project.id)
    assert Schema.parse(editing.to_toml(custodian.studio.projects.schema(kept))).tables
    custodian.post(f"/p/{project.id}/check")
    _, progress = ended(custodian, "check")
    assert progress.answer["rows"] > 0


def test_a_folder_of_pictures_goes_the_same_way(custodian: Custodian) -> None:
    image = pytest.importorskip("PIL.Image")
    folder = custodian.studio.folders.roots[0] / "pictures"
    for name in ("cats", "dogs"):
        (folder / name).mkdir(parents=True)
        for at in range(3):
            image.new("L", (28, 28), at * 40).save(folder / name / f"{at}.png")
    project = custodian.studio.projects.new("x")
    schema = custodian.post(f"/p/{project.id}/data", place="pictures")
    assert schema.url.path.endswith("/schema")
    assert "picture" in schema.text
    columns = custodian.studio.projects.schema(custodian.studio.projects.get(project.id))["columns"]
    at = next(at for at, one in enumerate(columns) if one["entry"]["type"] == "image")
    form = custodian.get(f"/p/{project.id}/schema/column/{at}").text
    assert 'name="type"' not in form  # none of the types of a table is put in its place
    version = str(custodian.studio.projects.get(project.id).version)
    custodian.post(f"/p/{project.id}/schema/column/{at}", version=version, kept="yes")
    again = custodian.studio.projects.schema(custodian.studio.projects.get(project.id))["columns"]
    assert again[at]["entry"] == columns[at]["entry"]
    text = editing.to_toml({**editing.EMPTY, "columns": again}).replace(
        "discover = true", 'categories = ["cats", "dogs"]'
    )
    version = str(custodian.studio.projects.get(project.id).version)
    assert (
        custodian.post(f"/p/{project.id}/schema/text", version=version, text=text + "[dataset]\nrows = 6\n").status_code
        == 200
    )
    assert "3a-image" in custodian.post(f"/p/{project.id}/plan", epsilon="1").text
