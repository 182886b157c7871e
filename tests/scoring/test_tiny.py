"""Scores of tables with hardly a row, and of targets that say nothing: a release and a sentence, never an error of Python's."""

import numpy as np
import pandas as pd
import pytest

import sfumato as sf

BUDGET = sf.Budget(epsilon=1.0, delta=1e-5)
TARGETS = {
    "two classes": sf.Column(name="y", kind="categorical", categories=("no", "yes")),
    "one class": sf.Column(name="y", kind="categorical", categories=("no", "yes")),
    "three classes": sf.Column(name="y", kind="categorical", categories=("r", "s", "t")),
    "no class": sf.Column(name="y", kind="categorical", categories=("no", "yes"), missing=True),
    "numbers": sf.Column(name="y", kind="numeric", bounds=(-20, 20)),
    "one number": sf.Column(name="y", kind="numeric", bounds=(-20, 20)),
    "no number": sf.Column(name="y", kind="numeric", bounds=(-20, 20), missing=True),
}


def schema_of(target: str) -> sf.Schema:
    x = sf.Column(name="x", kind="numeric", bounds=(-5, 5))
    return sf.Schema(
        columns=(x, sf.Column(name="g", kind="categorical", categories=("a", "b")), TARGETS[target]), target="y"
    )


def rows_of(target: str, n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(n_rows)
    column = TARGETS[target]
    values = {
        "one class": np.full(n_rows, "no"),
        "no class": np.full(n_rows, None),
        "one number": np.full(n_rows, 3.0),
        "no number": np.full(n_rows, np.nan),
        "numbers": rng.normal(size=n_rows),
    }
    y = values[target] if target in values else rng.choice(column.categories, n_rows)
    return pd.DataFrame({"x": rng.normal(size=n_rows).clip(-5, 5), "g": rng.choice(["a", "b"], n_rows), "y": y})


@pytest.mark.parametrize(
    ("target", "n_rows"),
    [("two classes", n) for n in (1, 2, 5, 20, 100)]
    + [("one class", 0), ("one class", 1), ("one class", 100), ("three classes", 5), ("no class", 1), ("no class", 100)]
    + [("numbers", 1), ("numbers", 100), ("one number", 1), ("one number", 100), ("no number", 5)],
)
def test_a_score_of_hardly_anything_cannot_be_said(target: str, n_rows: int, tmp_path) -> None:
    schema = schema_of(target)
    method = "3a-table" if schema.target_column.is_number else "independent-histograms"
    fitted = sf.fit(method, rows_of(target, n_rows), BUDGET, schema=schema, seed=1, score=True)
    record = fitted.certificate.score
    assert record.low < record.value < record.high
    assert "cannot be said" in record.in_words
    sf.release(fitted, to=tmp_path / "release")
    found = sf.verify(tmp_path / "release")
    assert found.ok, found.problems
    assert "cannot be said" in (tmp_path / "release" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["one class", "one number", "no number"])
def test_many_rows_that_are_all_alike_have_no_score_either(target: str) -> None:
    """Noise is small beside 4,000 rows: here what is wanting is a difference between them."""
    fitted = sf.fit("3a-table", rows_of(target, 4_000), BUDGET, schema=schema_of(target), seed=1, score=0.5)
    assert "cannot be said" in fitted.certificate.score.in_words


def test_a_score_of_enough_rows_is_said() -> None:
    fitted = sf.fit(
        "independent-histograms",
        rows_of("two classes", 8_000),
        BUDGET,
        schema=schema_of("two classes"),
        seed=1,
        score=0.5,
    )
    assert "cannot be said" not in fitted.certificate.score.in_words
