"""What comes out: tables whose keys fit, in order, near to the truth; and a folder that verify reads to the last file."""

import io
import re
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from small_histories import SETTINGS, SMALL, ward

import sfumato as sf
from command_line import answer_of, run
from forger import Forged
from html_tags import self_contained
from schemas import HOSPITAL, HOSPITAL_TOML
from sfumato import pieces
from sfumato.cli.commands.assess_command import _show
from sfumato.cli.private_page import asked_page
from sfumato.errors import ModelError, PlanError, ReleaseError, SchemaError
from sfumato.folder.rows import file_names, read_synthetic, rows_writer, settled
from sfumato.lab.assess.assessing import all_attacks, assess
from sfumato.lab.assess.writing import headline, html, markdown
from sfumato.mechanisms import ThreeATables
from sfumato.mechanisms.histories.ranks import evenly
from sfumato.present.beside import STAMP
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.verification.product_checks import _look_through
from sfumato.verification.shape_checks import misfits

N = 400


@pytest.fixture(scope="module")
def made() -> sf.Synthesis:
    return sf.synthesize(ward(N), replace(HOSPITAL, rows=N), epsilon=300, method=SMALL, seed=1)


@pytest.fixture(scope="module")
def folder(made: sf.Synthesis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("histories") / "release"
    made.save(path)
    return path


def test_keys_fit_and_order_is_kept(made: sf.Synthesis) -> None:
    patients, visits, bills = (made.tables[name] for name in ("patients", "visits", "bills"))
    assert list(patients.columns) == ["patient", "age", "sex", "died"]
    assert list(visits.columns) == ["patient", "day", "test", "value"]
    assert patients["patient"].tolist() == list(range(1, N + 1))
    assert visits["patient"].isin(patients["patient"]).all()
    assert bills["who"].isin(patients["patient"]).all()
    assert visits.groupby("patient").size().max() <= 6
    assert bills.groupby("who").size().max() <= 3
    assert visits.groupby("patient")["day"].is_monotonic_increasing.all()


def test_nothing_happens_after_what_is_last(made: sf.Synthesis) -> None:
    visits = made.tables["visits"]
    dead = visits[visits["test"] == "death"]
    assert 10 < len(dead) < N / 2
    last = visits.groupby("patient").cumcount(ascending=False)
    assert (last[dead.index] == 0).all()


def test_with_much_budget_histories_are_near_the_truth() -> None:
    real, budget = ward(N), sf.Budget(epsilon=300.0, delta=1e-6)
    source = NoiseSource(research_seed=1)  # of 400 persons, what goes with age varies by .1 with the noise
    found = sf.fit(SMALL, real, budget, schema=replace(HOSPITAL, rows=N), seed=1, source=source).sample(N)
    assert found.table is not None
    drawn = {"patients": found.table, **found.tables}

    def facts(tables: dict[str, pd.DataFrame]) -> np.ndarray:
        visits = tables["visits"].sort_values(["patient", "day"], kind="stable")
        number = visits.groupby("patient").size().reindex(tables["patients"]["patient"]).fillna(0).to_numpy()
        age = np.corrcoef(number, tables["patients"]["age"].astype(float))[0, 1]
        pairs = visits.assign(kind=visits["test"].astype(str))
        pairs = pairs.assign(
            then=pairs.groupby("patient")["kind"].shift(-1), value2=pairs.groupby("patient")["value"].shift(-1)
        )
        same = pairs.dropna()
        hearts = float((same["then"] == same["kind"]).mean())
        siblings = same["value"].astype(float).corr(same["value2"].astype(float))
        gaps = visits.groupby("patient")["day"].diff().dropna().astype(float)
        return np.array([number.mean() / 6, age, hearts, siblings, gaps.mean() / 60, float((gaps == 0).mean())])

    truth, seen = facts(real), facts(drawn)
    # Of 400 persons little is believed of how values go together across sorts.
    assert np.abs(truth - seen)[3] < 0.2, (truth.round(2), seen.round(2))
    assert np.delete(np.abs(truth - seen), 3).max() < 0.15, (truth.round(2), seen.round(2))


def test_classes_go_with_what_histories_became() -> None:
    """Who has had a stay is ill, in all that was counted: also of those whose drawn history has one that the table did not want."""
    real = ward(1000)
    ill = real["patients"]["patient"].isin(real["visits"][real["visits"]["test"] == "heart"]["patient"])
    real["patients"] = real["patients"].assign(died=ill)
    source, budget = NoiseSource(research_seed=1), sf.Budget(epsilon=100.0, delta=1e-6)
    schema = replace(HOSPITAL, rows=1000, target="died")
    model = sf.fit(SMALL, real, budget, schema=schema, seed=1, source=source).model
    agree = {}
    for last in (True, False):
        settings = replace(SETTINGS, labels_last=last)
        drawn = replace(model, plan=replace(model.plan, settings=settings)).sample(1000, seed=1)
        visits = drawn.tables["visits"]
        has = drawn.table["patient"].isin(visits[visits["test"] == "heart"]["patient"])
        agree[last] = (has == drawn.table["died"].astype(bool)).mean()
    assert agree[True] > agree[False] + 0.05
    assert agree[True] > 0.9


def test_a_folder_has_a_file_for_each_table_and_verifies(made: sf.Synthesis, folder: Path) -> None:
    names = {"synthetic.parquet", "synthetic.visits.parquet", "synthetic.bills.parquet"}
    assert names <= {path.name for path in folder.iterdir()}
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "synthetic.visits.parquet"), made.tables["visits"])
    found = sf.verify(folder, rebuild=True)
    assert found.ok, found.problems
    assert (
        "the synthetic rows are what the doors' integers give with the certificate's seed, to the last bit"
        in found.checked
    )
    assert "one person (column 'patient') with all that hangs on it" in found.claim


def test_an_event_that_was_changed_is_found(folder: Path, tmp_path: Path) -> None:
    to = tmp_path / "changed"
    shutil.copytree(folder, to)
    visits = pd.read_parquet(to / "synthetic.visits.parquet")
    visits.loc[0, "day"] = 3650 - visits.loc[0, "day"]
    visits.to_parquet(to / "synthetic.visits.parquet", index=False, compression="snappy")
    assert any("synthetic.visits.parquet differs from the file" in problem for problem in sf.verify(to).problems)
    (to / "synthetic.visits.parquet").unlink()
    assert any("missing from the folder" in problem for problem in sf.verify(to).problems)


def exchanged(file: Path) -> pa.Table:
    """The events of two persons with two events each, exchanged: every value and every key stays as often as it was."""
    visits = pq.read_table(file)
    key = visits["patient"].to_numpy()
    whose, number = np.unique(key, return_counts=True)
    one, other = (np.flatnonzero(key == person) for person in whose[number == 2][:2])
    places = np.arange(len(key))
    places[one], places[other] = other, one
    return visits.take(places).set_column(0, visits.schema.field("patient"), visits["patient"])


def test_events_of_two_persons_that_were_exchanged_are_found(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "exchanged")
    file = tmp_path / "exchanged" / "synthetic.visits.parquet"
    changed = exchanged(file)
    assert not changed.equals(pq.read_table(file))
    pq.write_table(changed, file)
    assert any(f"{file.name} differs from the file" in problem for problem in sf.verify(file.parent).problems)


def test_an_exchange_with_all_digests_made_anew_is_found_by_building_again(made: sf.Synthesis, tmp_path: Path) -> None:
    """Whoever writes a certificate anew writes its digests anew; of an unsigned one the doors' integers alone hold the rows."""
    made.save(tmp_path / "forged")
    forged = Forged(tmp_path / "forged")
    file = forged.path / "synthetic.visits.parquet"
    rows = settled(made.synthetic)
    theirs = exchanged(file).to_pandas().astype(rows.tables["visits"].dtypes)
    changed = replace(rows, tables={**rows.tables, "visits": theirs})
    contents = {name: io.BytesIO() for name in file_names(changed)}
    with rows_writer(contents, len(changed)) as writer:
        writer.add(changed)
    forged.put(file.name, contents[file.name].getvalue())
    without, rebuilt = sf.verify(forged.path, rebuild=False), sf.verify(forged.path)
    assert without.ok, without.problems
    assert any("the synthetic rows" in problem for problem in rebuilt.problems), rebuilt.problems


def test_rows_out_of_order_and_after_the_end_are_no_rows_of_the_schema(made: sf.Synthesis) -> None:
    synthetic, schema = made.synthetic, made.fitted.schema
    visits = synthetic.tables["visits"]
    assert misfits(synthetic, schema) == []
    second = visits.index[visits["patient"].duplicated()][0]
    back, dead = visits["day"].copy(), visits["test"].copy()
    back[second - 1], back[second], dead[second - 1] = 300, 200, "death"
    for changed, sentence in (
        (visits.assign(day=back), "do not go up in 'day'"),
        (visits.assign(test=dead), "come last"),
    ):
        (problem,) = misfits(replace(synthetic, tables={**synthetic.tables, "visits": changed}), schema)
        assert sentence in problem


def test_more_events_than_persons_may_have_are_not_read(folder: Path, tmp_path: Path) -> None:
    to = tmp_path / "many"
    shutil.copytree(folder, to)
    bills = pd.read_parquet(to / "synthetic.bills.parquet")
    pd.concat([bills] * 40).to_parquet(to / "synthetic.bills.parquet", index=False)
    release = sf.load_release(to)
    with pytest.raises(ReleaseError, match="holds more rows than"):
        _look_through(to / "synthetic.parquet", {}, release.certificate, release.n_rows, release.schema)


def test_a_table_that_nobody_declared_is_refused(folder: Path, tmp_path: Path) -> None:
    to = tmp_path / "more"
    shutil.copytree(folder, to)
    shutil.copy(to / "synthetic.visits.parquet", to / "synthetic.secrets.parquet")
    assert any("not listed in the certificate" in problem for problem in sf.verify(to).problems)


def test_pieces_have_keys_of_their_own(made: sf.Synthesis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 150)
    drawn = made.fitted.sample(400, seed=5)
    assert drawn.table is not None
    assert drawn.table["patient"].tolist() == list(range(1, 401))
    assert drawn.tables["visits"]["patient"].is_monotonic_increasing
    sf.release(made.fitted, to=tmp_path / "pieces", rows=400)
    read = read_synthetic(tmp_path / "pieces")
    assert read.table is not None
    assert len(read.table) == 400
    assert read.tables["visits"]["patient"].max() > 300


def test_the_command_line_draws_more_into_a_folder(folder: Path, tmp_path: Path) -> None:
    shown = run("sample", folder, "--rows", "30", "--out", tmp_path / "more.csv")
    assert shown.exit_code != 0
    assert "several tables" in shown.stderr
    assert run("sample", folder, "--rows", "30", "--out", tmp_path / "more").exit_code == 0
    assert len(pd.read_parquet(tmp_path / "more" / "synthetic.parquet")) == 30


def test_check_counts_rows_that_belong_to_nobody(tmp_path: Path) -> None:
    data = ward(60)
    lost = data["visits"].iloc[:9].assign(patient="nobody")
    twice = data["patients"].iloc[:2]
    data |= {"visits": pd.concat([data["visits"], lost]), "patients": pd.concat([data["patients"], twice])}
    for name, table in data.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "schema.toml").write_text(HOSPITAL_TOML)
    findings = answer_of(run("check", tmp_path, "--schema", tmp_path / "schema.toml", "--json"))["findings"]
    rows = {(found["column"], found["what"].split(":")[0][:21]): found["rows"] for found in findings}
    assert rows["visits.patient", "rows that name nobody"] == 9
    assert rows["patients.patient", "rows that do not coun"] == 2


def test_what_is_for_one_table_says_so(made: sf.Synthesis, folder: Path) -> None:
    for asked in ({"where": "age > 50"}, {"balance": "sex"}, {"given": {"sex": "f"}}):
        with pytest.raises(ModelError, match="conditions are for one table"):
            made.fitted.sample(5, **asked)
    with pytest.raises(ModelError, match="questions are asked of one"):
        sf.load_release(folder).ask("mean(age)")
    with pytest.raises(SchemaError, match="rules hold in the rows of one table"):
        sf.Schema.parse(HOSPITAL_TOML + '[[rules]]\nrule = "age > 3"\n')
    with pytest.raises(ModelError, match="none of them is taken out"):
        made.synthetic.take(slice(1))


def test_the_report_draws_the_columns_of_all_tables(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "bills (synthetic.bills.parquet), visits (synthetic.visits.parquet)" in page
    assert "visits.value" in page


@pytest.fixture(scope="module")
def assessed(folder: Path) -> dict[str, Any]:
    return assess(folder, private=ward(N), test=ward(N, 1), learners=["logistic"])


def test_several_tables_are_assessed(assessed: dict[str, Any]) -> None:
    patients, visits, bills = assessed["tables"]
    assert [each["name"] for each in (patients, visits, bills)] == ["patients", "visits", "bills"]
    assert patients["rows"] == {"real": N, "synthetic": N, "test": N}
    assert [column["name"] for column in visits["columns"]] == ["day", "test", "value"]
    between = {line["name"]: line for line in visits["between"]}
    assert between["number of events"]["synthetic"] < 0.15
    assert between["gaps between events"]["synthetic"] < 0.3
    assert between["an event and the next"].keys() == {"name", "synthetic", "fresh"}
    assert not any("gaps" in line["name"] for line in bills["between"])
    assert not patients["between"]
    assert assessed["table"]["columns"][3]["name"] == "visits.number"
    real, synthetic = assessed["utility"]["learned"]
    assert (real["trained_on"], synthetic["trained_on"]) == ("real", "synthetic")
    assert {attack["name"] for attack in all_attacks(assessed)} >= {"density ratio, trees", "attribute died"}
    assert "with all that hangs on it" in assessed["without"]


def test_pages_and_console_say_the_same_of_every_table(assessed: dict[str, Any]) -> None:
    page, text = html(assessed), markdown(assessed)
    self_contained(page)
    visits = assessed["tables"][1]
    for line in (*visits["columns"], *visits["between"]):
        assert f"{line['synthetic']:.4f}" in page
        assert f"| {line['name']} | {line['synthetic']:.4f} | {line['fresh']:.4f} |" in text
    columns = [column["synthetic"] for each in assessed["tables"] for column in each["columns"]]
    assert headline(assessed)["alike"] == f"{np.mean(columns):.3f}"
    console = Console(width=200, record=True, file=io.StringIO())
    _show(console, assessed, out=Path("out"))
    said = console.export_text()
    assert f"{visits['between'][0]['synthetic']:.3f}" in said
    for where in (page, text, re.sub(r"\s+", " ", said)):
        assert assessed["rows_are"] in where
        assert assessed["attacks"]["not_tested"] in where


def test_shadows_of_persons_are_refused(folder: Path) -> None:
    with pytest.raises(PlanError, match="persons have several"):
        assess(folder, private=ward(N), test=ward(N, 1), shadows=1)


def test_the_private_page_shows_every_table(folder: Path, tmp_path: Path) -> None:
    for name, table in ward(N).items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    asked = asked_page(tmp_path / "mine.html", tmp_path, out=folder, schema=HOSPITAL, force=False)
    assert asked is not None
    asked.write(sf.load_release(folder), str(tmp_path))
    page = (tmp_path / "mine.html").read_text()
    self_contained(page)
    assert page.count(STAMP) == 2
    assert stat.S_IMODE((tmp_path / "mine.html").stat().st_mode) == 0o600
    for shown in ("patients", "number of visits of a person", "from one to the next of a person", "paid"):
        assert shown in page
    assert f"Both were tested on {N} other real persons." in page


def test_a_table_is_not_what_there_is(made: sf.Synthesis) -> None:
    with pytest.raises(ModelError, match="has several tables"):
        _ = made.table


def test_one_event_each_and_columns_of_every_kind() -> None:
    """A level of one event, without order or sorts; and one with dates."""
    day = sf.Column(name="day", kind="datetime", bounds=("2020-01-01", "2021-01-01"))
    visits = replace(HOSPITAL.tables[0], columns=(day, *HOSPITAL.tables[0].columns[1:]), max_rows=1)
    schema = replace(HOSPITAL, tables=(visits, replace(HOSPITAL.tables[1], max_rows=1)))
    data = ward(60)
    data["visits"] = data["visits"].assign(day=pd.Timestamp("2020-02-01") + pd.to_timedelta(data["visits"]["day"], "D"))
    drawn = sf.synthesize(data, schema, epsilon=5, method=ThreeATables(settings=SETTINGS), rows=40)
    assert drawn.tables["visits"].groupby("patient").size().max() == 1
    assert str(drawn.tables["visits"]["day"].dtype).startswith("datetime64")


def test_one_person_and_nobody_with_events() -> None:
    data = ward(1)
    data["visits"] = data["visits"].iloc[:0]
    assert len(sf.synthesize(data, HOSPITAL, epsilon=1, method=SMALL, rows=20).tables["patients"]) == 20


def test_numbers_are_drawn_evenly() -> None:
    drawn = evenly(np.zeros(1000), np.array([0.2, 0.5, 0.3]), np.random.default_rng(0))
    assert np.bincount(drawn).tolist() == [200, 500, 300]
