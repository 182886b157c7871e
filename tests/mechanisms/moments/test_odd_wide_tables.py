"""Odd wide tables: whatever the rows hold, a release has the columns of the schema within their bounds; and it keeps a rule."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_choosing_moments import YES, codes, numbers, table

import sfumato as sf
from sfumato.extending import NoiseSource

NAMES = [f"x{i}" for i in range(101)]
SCHEMA = table(*numbers(101, missing=True), YES)


def made(n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.random((n_rows, 101)), columns=NAMES).assign(y=rng.random(n_rows) < 0.5)


def released(frame: pd.DataFrame, schema: sf.Schema, *, epsilon: float = 1.0, n_rows: int = 200) -> pd.DataFrame:
    """A sample of a release, which has what the schema says."""
    data, budget = sf.Sensitive.read(frame, schema), sf.Budget(epsilon=epsilon, delta=1e-6)
    fitted = sf.fit("auto", data, budget, seed=0, source=NoiseSource(research_seed=0))
    assert fitted.mechanism.name == "moments"
    assert fitted.model.default_rows >= 1
    out = fitted.model.sample(n_rows, seed=1).table
    assert list(out.columns) == [column.name for column in schema.columns]
    for column in schema.columns:
        values = out[column.name]
        assert column.missing or values.notna().all(), column.name
        if column.is_number:
            assert values.dropna().between(column.low, column.high).all(), column.name
    return out


ODD = {
    "no rows": (made(0), SCHEMA),
    "one row": (made(1), SCHEMA),
    "one class alone": (made(300).assign(y=True), SCHEMA),
    "constant columns": (made(300).assign(**dict.fromkeys(NAMES, 0.25)), SCHEMA),
    "all missing": (made(300).assign(**dict.fromkeys(NAMES, np.nan)), SCHEMA),
    "beyond the bounds": (made(300).assign(x0=1e300, x1=-np.inf, x2=np.inf), SCHEMA),
    "text in the place of numbers": (made(300).assign(x0="a lot"), SCHEMA),
    "no target": (made(300), replace(SCHEMA, columns=SCHEMA.columns[:-1], target=None)),
    "codes of one category": (made(300).assign(c0="k0"), table(*numbers(101), *codes(1, 1), YES)),
    "persons": (
        made(300).assign(who=np.arange(300) // 3),
        replace(SCHEMA, unit=sf.PrivacyUnit(person="who", max_rows=3)),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", ODD)
def test_odd_rows_come_out_within_the_schema(case: str) -> None:
    released(*ODD[case])


def test_a_tiny_epsilon_too() -> None:
    released(made(300), SCHEMA, epsilon=0.01)


def test_missing_values_are_kept() -> None:
    frame = made(4_000)
    missing = released(frame.assign(x0=frame["x0"].mask(frame["x1"] < 0.5)), SCHEMA, epsilon=5.0, n_rows=2_000)
    assert missing["x0"].isna().mean() == pytest.approx(0.5, abs=0.1)
    assert missing["x2"].isna().mean() < 0.05


@pytest.mark.slow
def test_wide_tables_keep_the_rule() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    rng, names = np.random.default_rng(0), [f"x{i}" for i in range(120)]
    schema = table(*(replace(column, bounds=(-1.0, 1.0)) for column in numbers(120)), YES)
    factor = rng.normal(size=(8_000, 3)) @ rng.normal(size=(3, 120))
    x = np.clip(0.12 * factor + 0.1 * rng.normal(size=(8_000, 120)), -1, 1)
    y = x[:, :20].sum(axis=1) + 0.3 * rng.normal(size=8_000) > 0
    frame = pd.DataFrame(x, columns=names).assign(y=y)
    out = released(frame, schema, n_rows=8_000)
    model = LogisticRegression(max_iter=300).fit(out[names], out["y"].astype(bool))
    assert roc_auc_score(y, model.decision_function(frame[names])) > 0.85  # the rule itself reaches .97
