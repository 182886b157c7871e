"""The pages: complete, self-contained, and made of public things alone."""

import ast
import base64
import itertools
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
import sfumato.present
from html_tags import self_contained
from sfumato.model import Synthetic
from sfumato.present import pages
from sfumato.present.columns import column_card, percent_text
from sfumato.present.correlations import correlations_of, correlations_svg
from sfumato.present.histogram_drawing import date_marks
from sfumato.present.marginals import marginal, nearest_values
from sfumato.present.plots import picture_grid
from sfumato.present.report import plain_promise, public_report, summarize
from sfumato.public.schema.schema import Column, Schema

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
    for column in SCHEMA.columns:
        assert f"<summary><strong>{column.name}</strong>" in page


def test_the_first_screen_says_in_plain_words_what_is_promised(fitted):
    first = page_of(fitted, fitted.model.sample(150, seed=1)).split('class="lead"')[1].split("</header>")[0]
    assert "These 150 rows were made up by a computer." in first
    assert "whether or not any one row was in the private table, this folder would look nearly the same" in first
    assert "may come to be 73 % sure" in first
    assert "at most one in 1,000,000" in first
    assert "Not hidden: what many rows have in common" in first
    assert "differential" not in first
    persons = replace(SCHEMA, unit=sf.PrivacyUnit(person="id", max_rows=3, relation="replace_one"))
    words = " ".join(plain_promise(fitted.certificate, persons, what="A folder."))
    assert "whatever any one person's rows in the private table had said" in words
    assert "thinks two values of a certain person equally likely" in words
    known = replace(fitted.certificate, status="research")
    assert plain_promise(known, SCHEMA, what="A folder.")[1].startswith("No promise of privacy holds")


def test_the_report_is_self_contained_and_accessible(fitted):
    page = page_of(fitted, fitted.model.sample(150, seed=1))
    names = self_contained(page)
    assert names.count("script") == 1
    assert names.count("details") >= len(SCHEMA.columns)
    headings = [int(name[1]) for name in names if re.fullmatch(r"h\d", name)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(headings))


def _contrast(a, b):
    def light(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([light(a), light(b)])
    return (high + 0.05) / (low + 0.05)


def test_texts_stand_out_in_light_and_dark(fitted):
    page = page_of(fitted, fitted.model.sample(10, seed=1))
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w{6})", part)) for part in re.findall(r":root \{(.*?)\}", page, re.S)
    )
    assert light.keys() == dark.keys()
    for colours in (light, dark):
        for text, paper in (("ink", "paper"), ("ink", "card"), ("soft", "paper"), ("soft", "card"), ("real", "card")):
            assert _contrast(colours[text], colours[paper]) > 4.5, (text, paper)
        for kind in ("good", "warn", "bad"):
            assert _contrast(colours[kind], colours[f"{kind}-paper"]) > 4.5, kind
        assert _contrast(colours["synthetic"], colours["card"]) > 3  # of bars


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


@pytest.mark.slow
def test_every_column_of_a_wide_table_is_shown_and_the_page_stays_small(fitted, monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 250)), columns=[f"number{i}" for i in range(250)])
    names = [f"a category with quite a long name {i}" for i in range(800)]
    for at in range(250):
        table[f"category{at}"] = pd.Categorical(rng.choice(names, 300), categories=names)
    page = page_of(fitted, Synthetic(table=table.copy()))
    assert "10 of 500 columns" in page
    assert page.count('<details class="column"') == 500
    assert page.count('<details class="column" open>') == 12
    assert page.count("790 more") == 250
    assert len(page.encode()) < 3_000_000
    monkeypatch.setattr(sfumato.present.columns, "MOST_COLUMNS", 3)
    assert "The first 3 of 4 columns." in page_of(fitted, Synthetic(table=table.iloc[:, :4].copy()))


def test_the_line_for_pandas_reads_the_released_rows(fitted, tmp_path, monkeypatch):
    released = sf.release(fitted, to=tmp_path / "release", rows=40)
    monkeypatch.chdir(released.path)
    lines = summarize(fitted.certificate, schema=SCHEMA, plan=fitted.plan.to_json(), synthetic=released.synthetic())[
        "load"
    ]
    scope = {}
    exec(lines["pandas"], scope)  # tests/test_formats.py tries every line for every format
    pd.testing.assert_frame_equal(scope["rows"], released.synthetic().table)


@given(st.lists(st.integers(-6, 6).map(float) | st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0, 1))
def test_numbers_in_order_say_what_numpy_says_of_any(numbers, quantile):
    drawn = marginal("x", {"synthetic": pd.Series([*numbers, math.nan])})
    assert drawn.numbers["synthetic"].tolist() == sorted(numbers)
    assert nearest_values(np.sort(numbers), [quantile]) == [np.quantile(numbers, quantile, method="nearest")]
    counts = np.histogram(numbers, bins=drawn.edges)[0]
    assert (drawn.heights["synthetic"] * (len(numbers) + 1)).round(9).tolist() == counts.tolist()
    assert drawn.beyond["synthetic"] * (len(numbers) + 1) == pytest.approx(len(numbers) - counts.sum())


def test_marginals_share_their_cells():
    drawn = marginal(
        "x", {"real": pd.Series([0.0, 1.0, np.nan]), "synthetic": pd.Series([5.0, 5.0, 5.0])}, bounds=(0, 4)
    )
    assert drawn.heights["real"].sum() == pytest.approx(2 / 3)
    assert drawn.heights["synthetic"][-1] == pytest.approx(1.0)
    ordered = pd.Series(pd.Categorical(["low", "high"], categories=["low", "high"], ordered=True))
    assert marginal("y", {"real": pd.Series(["high", "low"]), "synthetic": ordered}).labels == ("low", "high")
    card = column_card("x", {"real": pd.Series([0.0, 1.0, np.nan]), "synthetic": pd.Series([5.0, 5.0, 5.0])})
    assert 'class="real"' in card["drawing"]
    assert 'class="synthetic"' in card["drawing"]
    assert card["sentences"][0].startswith("Real: from 0 to 1")
    assert "<script" not in str(column_card(EVIL, {"synthetic": pd.Series([1.0, 2.0])})["drawing"])


def test_every_template_but_markdown_is_escaped():
    environment = pages._environment()
    escaped = {name: environment.autoescape(name) for name in environment.list_templates()}
    assert {name for name, is_escaped in escaped.items() if not is_escaped} == {
        n for n in escaped if n.endswith(".md.jinja")
    }
    assert sum(name.endswith(".html.jinja") and is_escaped for name, is_escaped in escaped.items()) >= 8
    assert environment.autoescape(None)  # a template without a name


def test_categories_stand_by_frequency_and_the_rest_is_summed():
    rng = np.random.default_rng(0)
    codes = np.minimum(rng.geometric(0.1, 5_000), 60)
    values = pd.Series([f"c{code}" for code in codes]).astype("category").where(rng.random(5_000) < 0.9)
    card = column_card("code", {"synthetic": values})
    assert [bar["label"] for bar in card["bars"][:3]] == ["c1", "c2", "c3"]
    assert card["bars"][-2]["label"] == f"{len(values.cat.categories) - 10} more"
    assert card["bars"][-1]["label"] == "(missing)"
    assert card["bars"][-1]["shares"] == {"synthetic": percent_text(values.isna().mean())}
    drawn = marginal("code", {"synthetic": values})
    assert drawn.heights["synthetic"].sum() + drawn.missing["synthetic"] == pytest.approx(1)
    ordered = pd.Series(pd.Categorical(["b", "b", "a"], categories=["a", "b"], ordered=True))
    assert [bar["label"] for bar in column_card("grade", {"synthetic": ordered})["bars"]] == ["a", "b"]


def test_a_long_tail_does_not_flatten_the_drawing():
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(50, 10, 5_000), [1e6] * 5)
    card = column_card("income", {"synthetic": pd.Series(values)})
    assert "lie beyond what is drawn." in card["sentences"][0]
    assert "to 1,000,000" in card["sentences"][0]
    marks = [float(text) for text in re.findall(r'class="mark"[^>]*>([^<]*)<', card["drawing"])]
    assert max(marks) < 100
    assert len(marks) >= 2
    zeros = column_card(
        "gain", {"synthetic": pd.Series(np.where(rng.random(1_000) < 0.9, 0, rng.integers(1, 999, 1_000)))}
    )
    assert re.search(r"(89|90|91) % are 0\.", zeros["sentences"][0])


@pytest.mark.parametrize("share", [1.0, 0.4, 0.03, 0.0004, 1e-7])
def test_an_axis_has_marks_that_differ(share):
    """No axis says 0 % three times."""
    rows = pd.Series(np.r_[np.zeros(10), np.ones(10)] * share)
    marks = re.findall(r'class="mark"[^>]*>([^<]*)<', column_card("x", {"synthetic": rows})["drawing"])
    assert 2 <= len(marks) == len(set(marks)) <= 6


def test_the_share_is_written_over_the_bars():
    drawing = column_card("x", {"synthetic": pd.Series(np.arange(100.0))})["drawing"]
    assert drawing.index("% of rows") > drawing.index('class="synthetic"')


def test_small_pictures_are_drawn_large_enough_to_see():
    grid = picture_grid(np.zeros((1, 8, 8)), darkest=0, lightest=1)
    width = int.from_bytes(base64.b64decode(grid.partition(",")[2])[16:20], "big")  # where a PNG file says it
    assert width == 6 * (8 + 2)


@pytest.mark.parametrize("days", [0.3, 2, 20, 100, 400, 2_000, 40_000])
def test_dates_have_marks_of_the_calendar(days):
    marks = date_marks(19_000.0, 19_000.0 + days, most=4)
    assert 1 <= len(marks) <= 5
    assert len({text for _, text in marks}) == len(marks)
    assert all(19_000 <= at <= 19_000 + days for at, _ in marks)


def test_correlations_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=3_000), rng.normal(size=3_000)
    table = pd.DataFrame(
        {
            "x": x,
            "down": pd.array(np.where(np.arange(3_000) % 7 == 0, np.nan, -x + noise), dtype="Float64"),
            "sign": np.where(x > 0, "plus", "minus"),
            "alone": rng.choice(["a", "b", "c"], 3_000),
            "one": 1,
        }
    )
    found = correlations_of(table)
    expected = table[["x", "down"]].astype(float).corr("spearman").iloc[0, 1]
    assert found.strengths[0, 1] == pytest.approx(expected, abs=0.002)  # ranks among all rows or among those there
    assert found.strengths[0, 2] > 0.95
    assert found.strengths[0, 3] < 0.05
    assert np.isnan(found.strengths[0, 4])
    assert found.strongest[0][:2] == ("x", "sign")
    assert found.strongest[1][2].startswith("-0.")
    drawn = correlations_svg(found)
    assert "x and sign" in drawn
    assert 'class="below"' in drawn
    assert correlations_of(table[["x"]]) is None


def test_whole_numbers_are_counted_in_equal_cells():
    flat = pd.Series(np.repeat(np.arange(18, 96), 10))
    heights = marginal("age", {"synthetic": flat}).heights["synthetic"]
    assert np.ptp(heights) == pytest.approx(0, abs=1e-12)
