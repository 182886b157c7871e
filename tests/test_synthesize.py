"""One call from a frame to rows and a certificate, and the natural calls of fit, plan and train."""

import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from command_line import SCHEMA, patients
from sfumato.errors import BudgetError, ModelError, PlanError, SchemaError
from sfumato.extending import FixedModel
from sfumato.mechanisms import DPMix
from sfumato.public.budget import default_delta

SCHEMA_OBJECT = sf.Schema.parse(SCHEMA)
PLAIN = "independent-histograms"


@pytest.fixture(scope="module")
def made() -> sf.Synthesis:
    return sf.synthesize(patients(), SCHEMA_OBJECT, epsilon=1, method=PLAIN)


@pytest.fixture(scope="module")
def saved(made: sf.Synthesis, tmp_path_factory: pytest.TempPathFactory) -> sf.Release:
    return made.save(tmp_path_factory.mktemp("saved") / "out")


def test_rows_certificate_and_a_folder_that_verifies(made: sf.Synthesis, saved: sf.Release) -> None:
    assert isinstance(made.table, pd.DataFrame)
    assert len(made) == len(made.table) == 400
    assert (made.certificate.status, made.certificate.epsilon) == ("certified", 1.0)
    assert made.certificate.rows == 400
    assert sf.verify(saved.path, rebuild=True).ok
    pd.testing.assert_frame_equal(saved.synthetic().table, made.synthetic.table)
    assert saved.certificate.warnings == made.certificate.warnings
    assert made.certificate.files is None
    assert saved.certificate.files is not None
    with pytest.raises(sf.SfumatoError, match=r"exists already.*force=True"):
        made.save(saved.path)


def test_more_rows_cost_nothing_and_are_other_rows(made: sf.Synthesis) -> None:
    assert len(made.sample(17)) == 17
    pd.testing.assert_frame_equal(made.sample(), made.table)
    assert not made.sample(seed=made.certificate.seed + 1).equals(made.table)
    asked = sf.synthesize(patients(), SCHEMA_OBJECT, epsilon=1, method=PLAIN, rows=55)
    assert len(asked) == len(asked.table) == asked.certificate.rows == 55


def test_the_frame_is_not_kept(made: sf.Synthesis) -> None:
    frame = patients()
    frame["town"] = pd.Categorical(frame["town"], categories=["rome", "milan", "the only one"])
    held = pickle.dumps(sf.synthesize(frame, SCHEMA_OBJECT, epsilon=1, method=PLAIN))
    assert b"the only one" not in held


def test_a_path_will_do_for_data_and_schema(tmp_path: Path) -> None:
    patients().to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    made = sf.synthesize(tmp_path / "p.csv", tmp_path / "schema.toml", epsilon=1, method=PLAIN)
    assert made.table.columns.tolist() == ["age", "weight", "town", "ill"]


def test_a_path_will_do_for_a_schema_wherever_one_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA)
    assert sf.plan("auto", str(path), 1).to_json() == sf.plan("auto", SCHEMA_OBJECT, 1).to_json()
    assert sf.method("auto", path) == sf.method("auto", SCHEMA_OBJECT)
    data = sf.Sensitive.read(patients(20), path)
    assert data.schema == SCHEMA_OBJECT
    for rows in (data, patients(20)):
        assert sf.fit(PLAIN, rows, 1, schema=path).schema == SCHEMA_OBJECT


def test_delta_is_by_the_rule_of_the_command_line() -> None:
    many = sf.Schema(columns=SCHEMA_OBJECT.columns, target="ill", rows=50_000_000)
    assert sf.plan(PLAIN, many, 1).budget == sf.Budget(epsilon=1.0, delta=default_delta(50_000_000))
    fitted = sf.fit(PLAIN, patients(), 1, schema=SCHEMA_OBJECT)
    assert (fitted.certificate.epsilon, fitted.certificate.delta) == (1.0, 1e-6)
    made = sf.synthesize(patients(), SCHEMA_OBJECT, epsilon=2, delta=1e-5, method=PLAIN)
    assert (made.certificate.epsilon, made.certificate.delta) == (2.0, 1e-5)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda f, s: sf.fit("auto", f, 1), SchemaError, "DataFrame has no schema.*schema="),
        (lambda f, s: sf.synthesize(f, epsilon=1), SchemaError, "DataFrame has no schema"),
        (lambda f, s: sf.fit(f, s, 1), SchemaError, r"in the place of the data.*sf\.synthesize"),
        (lambda f, s: sf.synthesize(s, f, epsilon=1), SchemaError, "in the place of the data"),
        (lambda f, s: sf.fit(f, f, 1, schema=s), PlanError, "mechanism of type DataFrame.*'auto'"),
        (lambda f, s: sf.plan(DPMix, s, 1), PlanError, r"DPMix is a class.*DPMix\(\)"),
        (lambda f, s: sf.plan("auto", f, 1), SchemaError, r"schema of type DataFrame.*schema\.toml"),
        (lambda f, s: sf.fit("auto", f, 1, schema=1), SchemaError, r"schema of type int.*schema\.toml"),
        (lambda f, s: sf.plan("auto", "nowhere.toml", 1), SchemaError, "nowhere.toml"),
        (lambda f, s: sf.fit("auto", f, "1", schema=s), BudgetError, "budget of type str"),
        (lambda f, s: sf.fit("auto", f, True, schema=s), BudgetError, "budget of type bool"),
        (lambda f, s: sf.train("logistic", f, 1), SchemaError, "DataFrame has no schema"),
        (lambda f, s: sf.train("logistic", f, 0, schema=s), BudgetError, "epsilon = 0.0"),
        (lambda f, s: sf.synthesize(f, s, epsilon=1, method="logistic"), PlanError, "releases no rows"),
        (
            lambda f, s: sf.fit("auto", sf.Sensitive.read(f, s), 1, schema=sf.Schema(columns=s.columns)),
            SchemaError,
            "another schema",
        ),
    ],
)
def test_what_cannot_be_meant_is_answered_with_what_to_do(call, error, said) -> None:
    with pytest.raises(error, match=said):
        call(patients(20), SCHEMA_OBJECT)


def test_images_have_no_table(made: sf.Synthesis) -> None:
    pictures = FixedModel(sf.Synthetic(images=np.zeros((20, 8, 8)), labels=np.zeros(20, dtype=np.int64)))
    of_images = replace(made, fitted=replace(made.fitted, model=pictures))
    assert of_images.synthetic.images.shape == (20, 8, 8)
    with pytest.raises(ModelError, match=r"synthetic\.images"):
        _ = of_images.table


def test_reprs_are_one_line_and_notebooks_get_html(made: sf.Synthesis, saved: sf.Release, tmp_path: Path) -> None:
    found = sf.verify(saved.path)
    shown = (made, made.certificate, made.fitted, saved, found)
    for thing in (*shown, made.schema, made.fitted.plan, sf.plan(PLAIN, SCHEMA_OBJECT, 1)):
        assert len(repr(thing)) < 160, repr(thing)
        assert repr(thing).startswith(f"<{type(thing).__name__}: "), repr(thing)
        assert "\n" not in repr(thing)
    for thing in shown:
        page = thing._repr_html_()
        assert "differentially private" in page
        assert "<h4>" in page
    assert repr(found).endswith("bears out its claim>")
    shutil.copytree(saved.path, tmp_path / "out")
    (tmp_path / "out" / "report.html").write_text("<script>alert(1)</script>")
    broken = sf.verify(tmp_path / "out", rebuild=False)
    assert "not to be believed" in repr(broken)
    assert "Problems" in broken._repr_html_()
    assert "differentially private" not in broken._repr_html_().partition("Recomputed")[0]


def test_a_notebook_escapes_what_a_schema_says() -> None:
    name = "<script>alert(1)</script>"
    schema = sf.Schema(columns=(sf.Column(name=name, kind="boolean"),), rows=50)
    made = sf.synthesize({name: np.ones(50)}, schema, epsilon=1, method=PLAIN)
    assert name not in made._repr_html_()
