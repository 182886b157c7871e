"""Mistakes that a newcomer makes in Python: each ends in a sentence with a remedy, and before a row is read."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf

TEXT = """
[dataset]
target = "ill"
rows = 300
[columns]
age = "integer 18..90"
ward = "categorical north | south"
ill = "boolean"
"""
SCHEMA = sf.Schema.parse(TEXT)
SIMPLE = "independent-histograms"


def people(n=300):
    rng = np.random.default_rng(0)
    ages, wards = rng.integers(18, 91, n), rng.choice(["north", "south"], n)
    return pd.DataFrame({"age": ages, "ward": wards, "ill": rng.random(n) < 0.3})


@pytest.fixture(scope="module")
def fitted():
    return sf.fit(SIMPLE, people(), 1, schema=SCHEMA)


@pytest.mark.parametrize("delta", ["1e-6", None, True, [1e-6]])
def test_a_delta_that_is_no_number(delta):
    with pytest.raises(sf.SfumatoError, match=r"delta = .* must be a number"):
        sf.Budget(epsilon=1.0, delta=delta)


def test_an_epsilon_that_is_a_text():
    with pytest.raises(sf.SfumatoError, match="epsilon = '1' must be a number"):
        sf.Budget(epsilon="1", delta=1e-6)


@pytest.mark.parametrize("seed", ["x", -1, 1.5, True])
def test_a_seed_that_no_generator_takes_costs_nothing(fitted, seed, tmp_path):
    with pytest.raises(sf.SfumatoError, match=r"seed = .* must be a whole number"):
        fitted.sample(10, seed=seed)
    steps = []
    with pytest.raises(sf.SfumatoError, match="seed = "):
        sf.fit(SIMPLE, people(), 1, schema=SCHEMA, seed=seed, on_step=steps.append)
    assert steps == []  # no access to a row was begun


def test_misspelt_names_are_answered_with_the_nearest(fitted):
    with pytest.raises(sf.SfumatoError, match="Did you mean 'independent-histograms'"):
        sf.fit("independent-histogram", people(), 1, schema=SCHEMA)
    with pytest.raises(sf.SfumatoError, match="Did you mean 'ill'"):
        fitted.sample(10, balance="il")
    with pytest.raises(AttributeError, match="Did you mean 'verify'"):
        _ = sf.verfy


def test_what_is_no_release(fitted, tmp_path):
    with pytest.raises(sf.SfumatoError, match=r"what sf\.fit gives, and this is of type DataFrame"):
        sf.release(people(), to=tmp_path / "out")
    with pytest.raises(sf.SfumatoError, match="is no path"):
        sf.release(fitted, to=None)
    made = sf.release(fitted, to=tmp_path / "out")
    with pytest.raises(sf.SfumatoError, match=r"path of a folder.*release\.path"):
        sf.verify(made)
    with pytest.raises(sf.SfumatoError, match="Did you mean 'age'"):
        made.ask("mean(agee)")
    with pytest.raises(sf.SfumatoError, match="a question is a text"):
        made.ask(3)
    with pytest.raises(sf.SfumatoError, match="an expression is a text"):
        fitted.sample(10, where=3)


def test_a_schema_s_text_in_the_place_of_its_path():
    with pytest.raises(sf.SfumatoError, match=r"sf\.Schema\.parse") as refused:
        sf.Schema.load(TEXT)
    assert "north" not in str(refused.value)


def test_a_lazy_frame():
    with pytest.raises(sf.SfumatoError, match=r"LazyFrame is not known.*\.collect\(\)"):
        sf.fit(SIMPLE, pl.from_pandas(people()).lazy(), 1, schema=SCHEMA)
