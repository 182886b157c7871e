"""What is told of a release that went wrong silently, and that a good one is left in peace."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

import schemas
import sfumato as sf
from sfumato.check.instruments.rows import made_up, read
from sfumato.extending import NoiseSource
from sfumato.mechanisms import ThreeAImage
from sfumato.model import Counted, FixedModel, Synthetic
from sfumato.outlook.forecast import LITTLE_USE
from sfumato.outlook.tally import Tally
from sfumato.outlook.warnings import release_warnings, verdict_on

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
ROWS = 20_000
SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(0, 100), missing=True),
        sf.Column(name="cost", kind="numeric", bounds=(0, 1e6)),
        sf.Column(name="seen", kind="datetime", bounds=(1.5e9, 1.7e9)),
        sf.Column(name="ward", kind="categorical", categories=("north", "south", "west")),
        sf.Column(name="smoker", kind="boolean"),
        sf.Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=ROWS,
)


CONSTANT = "What really is constant is better left out: it takes precision from the rest."


def patients(n_rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, n_rows),
            "cost": rng.lognormal(10, 1, n_rows),
            "seen": pd.to_datetime(rng.uniform(1.5e9, 1.7e9, n_rows), unit="s"),
            "ward": rng.choice(["north", "south", "west"], n_rows),
            "smoker": rng.random(n_rows) < 0.2,
            "ill": rng.random(n_rows) < 0.028,
        }
    )


def warnings_of(
    frame: pd.DataFrame, *, schema: sf.Schema = SCHEMA, mechanism: str = "independent-histograms", rows=None
):
    """Known noise: a class that is not there is told nearly always, and a test is to be sure."""
    source = NoiseSource(research_seed=1)
    fitted = sf.fit(mechanism, sf.Sensitive.read(frame, schema), BUDGET, seed=1, source=source)
    synthetic = fitted.model.sample(rows or fitted.model.default_rows, seed=1)
    told = {"schema": fitted.schema, "plan": fitted.plan, "mechanism": fitted.mechanism, "model": fitted.model}
    whole, pieces = Tally(fitted.schema, fitted.model), Tally(fitted.schema, fitted.model)
    whole.add(synthetic)
    for at in range(0, len(synthetic), 1000):
        pieces.add(synthetic.take(slice(at, at + 1000)))
    said = release_warnings(**told, tally=whole)
    assert said == release_warnings(**told, tally=whole) == release_warnings(**told, tally=pieces)
    return said


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["independent-histograms", "auto"])
def test_a_good_release_is_left_in_peace(mechanism: str) -> None:
    assert warnings_of(patients(), mechanism=mechanism) == ()
    assert warnings_of(patients(), mechanism=mechanism, schema=replace(SCHEMA, rows=None)) == ()
    assert warnings_of(patients(), mechanism=mechanism, rows=40) == ()  # few rows lack a rare class by chance


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["independent-histograms", "auto", "clustmix"])
def test_a_file_with_a_header_alone_is_told(mechanism: str) -> None:
    said = warnings_of(patients().iloc[:0], mechanism=mechanism)
    assert said[0].startswith(f"{LITTLE_USE}: the noisy number of rows is ")
    assert "declares rows = 20,000. Is this the whole file" in said[0]
    assert not any("a learner would keep" in sentence for sentence in said)  # there is nothing to learn from
    assert verdict_on(said) == "private, but of little use: see How good is it?"
    undeclared = warnings_of(patients().iloc[:0], mechanism=mechanism, schema=replace(SCHEMA, rows=None))
    assert "there may be no rows at all" in undeclared[0]


def test_a_size_that_was_rounded_is_not_called_wrong() -> None:
    for declared in (14_500, 29_000):
        assert warnings_of(patients(), schema=replace(SCHEMA, rows=declared)) == ()
    (fewer,) = warnings_of(patients(), schema=replace(SCHEMA, rows=40_000))
    assert fewer.startswith("Rows are not as declared")
    assert "Is this the whole file" in fewer
    (more,) = warnings_of(patients(), schema=replace(SCHEMA, rows=10_000))
    assert "Correct rows in the schema" in more
    assert verdict_on([more]) == "private, but not all is well: see How good is it?"


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["independent-histograms", "auto"])
def test_words_for_true_that_nobody_declared_are_told(mechanism: str) -> None:
    frame = patients()
    (said,) = warnings_of(frame.assign(ill=np.where(frame["ill"], "jawohl", "nein")), mechanism=mechanism)
    assert said.startswith(f"{LITTLE_USE}: class 'true' of the target 'ill' has nearly no rows")
    assert "Are the words for true and false declared" in said


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["independent-histograms", "auto"])
def test_columns_that_collapsed_are_told(mechanism: str) -> None:
    frame = patients()
    broken = frame.assign(
        smoker="?", ward="Nord", cost=frame["cost"] * 1e6, age=np.nan, seen=pd.Timestamp("2030-01-01")
    )
    said = warnings_of(broken, mechanism=mechanism)
    assert said == (
        "Column 'ward' has nearly one value alone: the others drown in the noise. Are the categories spelled as in the "
        f"file? {CONSTANT}",
        "Column 'age' is nearly all missing. Do the names in the file agree with the schema, and the types?",
        "Columns 'cost' and 'seen' have nearly all rows at the upper bound. Are bounds and units right?",
        "Column 'smoker' has nearly one value alone: the other drowns in the noise. Are the words for true and false "
        f"declared? {CONSTANT}",
    )


@pytest.mark.slow
def test_bounds_in_another_unit_are_told() -> None:
    frame = patients()
    (said,) = warnings_of(frame.assign(cost=frame["cost"] / 1e6), mechanism="auto")
    assert said == "Column 'cost' has nearly all rows at the lower bound. Are bounds and units right?"


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["independent-histograms", "auto"])
def test_numbers_and_dates_that_cannot_be_read_are_told(mechanism: str) -> None:
    frame = patients()
    written = frame.assign(
        cost=[f"{value:.2f}".replace(".", ",") for value in frame["cost"]], seen=frame["seen"].dt.strftime("%d.%m.%Y")
    )
    (said,) = warnings_of(written, mechanism=mechanism)
    assert said.startswith("Columns 'cost' and 'seen' have nearly all rows exactly in the middle of the bounds")
    assert "decimal points" in said


@pytest.mark.slow
def test_values_that_lie_in_the_middle_are_not_called_unreadable() -> None:
    """A wide table in bounds that are far too wide has its rows about the middle, and nothing is wrong with the file."""
    numbers = [sf.Column(name=f"x{i}", kind="numeric", bounds=(-5_000, 5_000)) for i in range(110)]
    schema = sf.Schema(columns=(*numbers, SCHEMA["ill"]), target="ill", rows=2_000)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(0, 40, (2_000, 110)), columns=[c.name for c in numbers])
    said = warnings_of(frame.assign(ill=rng.random(2_000) < 0.5), schema=schema, mechanism="auto")
    assert not [sentence for sentence in said if "middle" in sentence]


def test_some_rare_classes_among_many_are_named_and_the_rest_is_of_use() -> None:
    frame, names = patients(), tuple("abcdefgh")
    kind = np.random.default_rng(1).choice(names[:6], ROWS)
    target = sf.Column(name="ill", kind="categorical", categories=names)
    (said,) = warnings_of(frame.assign(ill=kind), schema=SCHEMA.with_columns({"ill": target}))
    assert said.startswith("Classes 'g' and 'h' of the target 'ill' have nearly no rows")


def test_a_number_to_predict_is_looked_at_too() -> None:
    frame = patients()
    schema = sf.Schema(columns=(SCHEMA["ward"], SCHEMA["cost"]), target="cost", rows=ROWS)
    (said,) = warnings_of(frame[["ward"]].assign(cost=frame["cost"] * 1e6), schema=schema, mechanism="auto")
    assert said.startswith("Column 'cost' has nearly all rows at the upper bound")


def test_what_the_plan_says_is_told_to_the_receiver() -> None:
    small = replace(SCHEMA, rows=100)
    said = warnings_of(patients(100), schema=small)
    assert any("a learner would keep about" in sentence and "What would help" in sentence for sentence in said)


@dataclass(frozen=True)
class Silent:
    """A model that knows nothing of the number of rows."""

    default_rows: int = 10


def test_mixtures_are_not_judged_by_their_shares() -> None:
    mechanism = ThreeAImage()
    plan = sf.plan(mechanism, schemas.IMAGES, BUDGET).plan
    images = np.zeros((20_000, 6, 6), dtype=np.uint8)
    rows = Synthetic(images=images, labels=np.zeros(20_000, dtype=np.int64), classes=("a", "b", "c"))
    told = {"schema": replace(schemas.IMAGES, rows=100_000), "plan": plan, "mechanism": mechanism}
    fixed, drawn = Tally(told["schema"], FixedModel(rows)), Tally(told["schema"], Silent())
    for tally in (fixed, drawn):
        tally.add(rows)
    assert release_warnings(**told, model=fixed.model, tally=fixed) == ()
    (said,) = release_warnings(**told, model=drawn.model, tally=drawn)
    assert "classes 'b' and 'c' of the target 'label' have nearly no rows" in said
    assert "merge the rare ones" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("independent-histograms", schemas.TABLE),
        ("3a-table", schemas.TABLE),
        ("3a-table", schemas.NO_TARGET),
        ("moments", schemas.TABLE),
        ("moments", schemas.NO_TARGET),
        ("clustmix", schemas.TABLE),
    ],
)
def test_models_know_their_number_of_rows_up_to_noise(name: str, schema: sf.Schema) -> None:
    schema = replace(schema, rows=3_000)
    model = sf.fit(name, read(made_up(schema, n_rows=3_000, seed=1), schema), BUDGET).model
    assert isinstance(model, Counted)
    assert 0 < model.noisy_rows_stddev < 300
    assert abs(model.noisy_rows - 3_000) < 5.5 * model.noisy_rows_stddev
