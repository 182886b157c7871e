"""The pages: complete, self-contained, and made of public things alone."""

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
import sfumato.present
from html_tags import self_contained
from sfumato.model import Synthetic
from sfumato.present.marginals import marginal
from sfumato.present.plots import marginal_svg, picture_grid
from sfumato.present.report import public_report, summarize
from sfumato.public.schema import Column, Schema

EVIL = '<script>alert("$x$")</script>'
SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", bounds=(0, 100)),
        Column(name="weight", kind="numeric", bounds=(30, 200), missing=True),
        Column(name="town", kind="categorical", categories=(EVIL, "milan"), missing=True),
        Column(name="seen", kind="datetime", bounds=(0, 1e9)),
        Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=200,
)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    data = {
        "age": rng.integers(0, 100, 200),
        "weight": rng.normal(75, 10, 200),
        "town": rng.choice([EVIL, "milan"], 200),
        "seen": rng.uniform(0, 1e9, 200).astype("datetime64[s]"),
        "ill": rng.random(200) < 0.4,
    }
    return sf.fit("independent-histograms", sf.Sensitive.read(data, SCHEMA), sf.Budget(epsilon=1.0, delta=1e-6))


def page_of(fitted, synthetic, *, schema=SCHEMA):
    return public_report(fitted.certificate, schema=schema, plan=fitted.plan.to_json(), synthetic=synthetic)


def test_the_report_says_all_it_must(fitted):
    page = page_of(fitted, fitted.model.sample(150, seed=1))
    text = re.sub(r"\s+", " ", page)
    assert fitted.certificate.claim.in_words in text
    assert 'class="badge certified"' in page
    assert "the odds differ by a factor of at most 2.72" in text
    for entry in fitted.certificate.assumptions:
        assert entry.text in text
    for words in ("histograms", "What is not promised", "read_parquet", "sfumato verify", "bins = 32", "150"):
        assert words in text


def test_the_report_is_self_contained_and_accessible(fitted):
    page = page_of(fitted, fitted.model.sample(150, seed=1))
    names = self_contained(page)
    assert names.count("svg") == 5
    assert re.search(r"stroke: var\(--synthetic\)|fill: var\(--synthetic\)", page)


def test_names_and_categories_are_escaped(fitted):
    page = page_of(fitted, fitted.model.sample(150, seed=1))
    assert EVIL not in page
    assert "&lt;script&gt;" in page


def test_only_the_synthetic_rows_reach_the_page(fitted):
    """The same arguments give the same page, and no argument holds a private row."""
    rows = fitted.model.sample(100, seed=1)
    assert page_of(fitted, rows) == page_of(fitted, rows)
    for file in Path(sfumato.present.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            imported = [node.module] if isinstance(node, ast.ImportFrom) else []
            imported += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert not any(name.startswith(("sfumato.private", "sfumato.lab.assess")) for name in imported), file


@pytest.mark.parametrize("n_rows", [1, 3])
def test_few_or_strange_rows_are_drawn(fitted, n_rows):
    strange = Synthetic(
        table=pd.DataFrame(
            {
                "age": pd.array([None] * n_rows, dtype="Int64"),
                "weight": np.full(n_rows, np.nan),
                "town": pd.Categorical([None] * n_rows, categories=[EVIL, "milan"]),
                "seen": pd.array([pd.NaT] * n_rows, dtype="datetime64[s]"),
                "ill": pd.array([None] * n_rows, dtype="boolean"),
            }
        )
    )
    assert "–" in page_of(fitted, strange)


def test_pictures_are_shown_as_a_sheet(fitted):
    rng = np.random.default_rng(0)
    for shape in ((28, 28), (32, 32, 3), (224, 224, 3), (8, 8, 2)):
        images = rng.normal(0.5, 1, (100, *shape)).astype(np.float32)
        synthetic = Synthetic(images=images, labels=np.arange(100) % 10, classes=tuple("0123456789"))
        schema = Schema(
            columns=(Column(name="image", kind="image", shape=shape, bounds=(-1, 1)), SCHEMA["ill"]), target="ill"
        )
        page = page_of(fitted, synthetic, schema=schema)
        n_shown = page.count('src="data:image/png;base64,')
        assert n_shown == (4 if shape[0] == 224 else 10)
        assert f"{n_shown} of 10 classes" in page
        assert "Synthetic pictures of class 3" in page
        assert len(page) < 1_500_000
        assert "numpy.load" in page
        assert ".sub(-1).div(2)" in page
    assert picture_grid(np.zeros((1, 5, 5)), darkest=0.0, lightest=0.0).startswith("data:image/png")


def test_wide_tables_are_cut(fitted):
    wide = Synthetic(table=pd.DataFrame(np.zeros((20, 400)), columns=[f"pixel{i}" for i in range(400)]))
    page = page_of(fitted, wide)
    assert "10 of 400 columns" in page
    assert page.count("<svg") == 5
    assert len(page) < 200_000


def test_the_line_for_pandas_reads_the_released_rows(fitted, tmp_path, monkeypatch):
    released = sf.release(fitted, to=tmp_path / "release", rows=40)
    monkeypatch.chdir(released.path)
    lines = summarize(fitted.certificate, schema=SCHEMA, plan=fitted.plan.to_json(), synthetic=released.synthetic())[
        "load"
    ]
    scope = {}
    exec(lines["pandas"], scope)  # tests/test_formats.py tries every line for every format
    pd.testing.assert_frame_equal(scope["rows"], released.synthetic().table)


def test_marginals_share_their_cells():
    drawn = marginal(
        "x", {"real": pd.Series([0.0, 1.0, np.nan]), "synthetic": pd.Series([5.0, 5.0, 5.0])}, bounds=(0, 4)
    )
    assert drawn.heights["real"].sum() == pytest.approx(2 / 3)
    assert drawn.heights["synthetic"][-1] == pytest.approx(1.0)
    ordered = pd.Series(pd.Categorical(["low", "high"], categories=["low", "high"], ordered=True))
    assert marginal("y", {"real": pd.Series(["high", "low"]), "synthetic": ordered}).labels == ("low", "high")
    svg = marginal_svg(drawn)
    assert "var(--real)" in svg
    assert "<script" not in marginal_svg(marginal(EVIL, {"synthetic": pd.Series(["a"])}))


def test_whole_numbers_are_counted_in_equal_cells():
    flat = pd.Series(np.repeat(np.arange(18, 96), 10))
    heights = marginal("age", {"synthetic": flat}).heights["synthetic"]
    assert np.ptp(heights) == pytest.approx(0, abs=1e-12)
