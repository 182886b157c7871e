"""Whatever a table's columns are called, no mechanism trips over names of its own."""

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.mechanisms import ThreeAImage

NAMES = ("vector", "place", "inputs", "codes", "bins", "rule")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["3a-table", "clustmix", "kip", "independent-histograms"])
def test_columns_may_have_the_names_that_mechanisms_use(method: str) -> None:
    rng = np.random.default_rng(0)
    columns = [sf.Column(name=name, kind="numeric", bounds=(0, 1)) for name in NAMES]
    target = sf.Column(name="counts", kind="boolean")
    schema = sf.Schema(columns=(*columns, target), target="counts", rows=2_000)
    frame = pd.DataFrame(rng.random((2_000, len(NAMES))), columns=list(NAMES)).assign(counts=rng.random(2_000) < 0.4)
    fitted = sf.fit(method, sf.Sensitive.read(frame, schema), sf.Budget(epsilon=1.0, delta=1e-6), seed=0)
    assert fitted.model is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vector", "inputs"])
def test_the_label_of_an_image_may_too(name: str) -> None:
    rng = np.random.default_rng(0)
    image = sf.Column(name="image", kind="image", shape=(8, 8), bounds=(0, 1))
    label = sf.Column(name=name, kind="categorical", categories=("a", "b"))
    schema = sf.Schema(columns=(image, label), target=name, rows=200)
    rows = {"image": rng.random((200, 8, 8)), name: rng.choice(["a", "b"], size=200)}
    mechanism = ThreeAImage(practice=200, teacher_steps=2)
    assert (
        sf.fit(mechanism, sf.Sensitive.read(rows, schema), sf.Budget(epsilon=1.0, delta=1e-6), seed=0).model is not None
    )
