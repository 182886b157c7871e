"""alpha counts from faithful (0) to predictive (1) in every mechanism that has it."""

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import schemas
import sfumato as sf
from sfumato.errors import PlanError
from sfumato.extending import NoiseSource
from sfumato.mechanism import registered, registered_names
from sfumato.mechanisms import Moments

ROOT = Path(__file__).parents[2]
BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)


def with_alpha() -> dict[str, type]:
    found = {
        name: registered(name) for name in registered_names() if registered(name).__module__.startswith("sfumato.")
    }
    return {name: cls for name, cls in found.items() if "alpha" in {field.name for field in dataclasses.fields(cls)}}


def test_the_page_names_every_mechanism_that_has_one_and_its_default() -> None:
    page = (ROOT / "docs" / "guide" / "alpha.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([\w-]+)` \|.*\| ([\d.]+) \|$", page, re.MULTILINE))
    assert {name: float(default) for name, default in told.items()} == {
        name: cls().alpha for name, cls in with_alpha().items()
    }
    assert set(told) == {"3a-table", "3a-tables", "3a-image", "clustmix", "kip", "moments"}


@pytest.mark.parametrize("name", with_alpha())
@pytest.mark.parametrize("alpha", [-0.01, 1.01, math.nan, math.inf])
def test_all_refuse_the_same_values_in_the_same_words(name: str, alpha: float) -> None:
    schema = schemas.IMAGES if name == "3a-image" else schemas.TABLE
    with pytest.raises(PlanError, match=rf"alpha = {alpha} must lie between 0 \(faithful\) and 1 \(predictive\)"):
        registered(name)(alpha=alpha).steps(schema, BUDGET)


@pytest.mark.parametrize("name", with_alpha())
def test_all_say_which_end_is_which(name: str) -> None:
    said = " ".join((with_alpha()[name].__doc__ or "").split())
    assert re.search(r"alpha: [^.]*from faithful \(0: .*to predictive \(1: ", said, re.IGNORECASE)


@pytest.mark.slow
def test_a_wide_table_goes_from_its_own_classes_to_the_classifiers() -> None:
    """Three classes overlap, so that a row's own class and what the classifier says of it differ."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 3_000)
    names = [f"x{i}" for i in range(110)]
    shift = rng.normal(0, 0.02, (3, 110))
    frame = pd.DataFrame(np.clip(0.5 + shift[kind] + rng.normal(0, 0.1, (3_000, 110)), 0, 1), columns=names)
    schema = sf.Schema(
        columns=(
            *(sf.Column(name=name, kind="numeric", bounds=(0, 1)) for name in names),
            sf.Column(name="kind", kind="categorical", categories=("a", "b", "c")),
        ),
        target="kind",
        rows=3_000,
    )
    data = sf.Sensitive.read(frame.assign(kind=np.array(["a", "b", "c"])[kind]), schema)
    budget = sf.Budget(epsilon=3.0, delta=1e-6)
    fitted = sf.fit("auto", data, budget, seed=0, source=NoiseSource(research_seed=0))

    def labels(alpha: float) -> np.ndarray:
        model = Moments(alpha=alpha).build(fitted.measurements, schema, seed=0)
        return model.sample(2_000, seed=1).table["kind"].to_numpy()

    own, half, taught = labels(0.0), labels(0.5), labels(1.0)
    changed = (own != taught).mean()
    assert changed > 0.02
    assert (half != own).mean() == pytest.approx(changed / 2, abs=0.03)
    assert ((half == own) | (half == taught)).all()
