"""3A for tables: the contract, bad inputs, a floor and a ceiling of utility, and fidelity from the same release."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import twins
from helpers import set_constant
from schemas import IMAGES, NO_TARGET, PERSONS, REPLACE, TABLE
from sfumato import Budget, Column, Schema, fit, register
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.setting import Setting
from sfumato.errors import ContractError, PlanError, SchemaError
from sfumato.mechanisms.table.mechanism import ThreeATable
from sfumato.mechanisms.table.wide_path import method as wide
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.sensitive import Sensitive

REGRESSION = replace(TABLE, target="pressure")
MANY_CLASSES = Schema(
    columns=(
        Column(name="x", kind="numeric", bounds=(-5, 5)),
        Column(name="y", kind="categorical", categories=("a", "b", "c"), missing=True),
    ),
    target="y",
)
ONLY_TARGET = Schema(columns=(Column(name="y", kind="boolean"),), target="y")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Made-up rows need no large population."""
    set_constant(monkeypatch, "sfumato.mechanisms.table.population.ROWS", 20_000)
    set_constant(monkeypatch, "sfumato.mechanisms.table.narrow.LEARNING_ROWS", 5_000)


def wide_schema(n_columns=120, bound=1):
    columns = [Column(name=f"x{i}", kind="numeric", bounds=(-bound, bound)) for i in range(n_columns)]
    return Schema(columns=(*columns, Column(name="y", kind="boolean")), target="y")


def made(n_rows, *, seed=0, rate=0.3):
    """Rows with a known rule: two numbers and a category decide the class; the twin follows the category."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n_rows), rng.exponential(100, size=n_rows)
    c = rng.integers(4, size=n_rows)
    score = 2 * a + np.log1p(b) - 4.6 + np.array([-1, 0, 0, 1])[c]
    score = score + np.log(rate / (1 - rate))
    y = rng.random(n_rows) < 1 / (1 + np.exp(-score))
    names = np.array(["p", "q", "r", "s"])
    twin = np.where(rng.random(n_rows) < 0.95, c, rng.integers(4, size=n_rows))
    frame = {"a": a, "b": b, "c": names[c], "twin": names[twin], "same": 7.0, "y": np.where(y, "yes", "no")}
    return pd.DataFrame(frame)


MADE = Schema(
    columns=(
        Column(name="a", kind="numeric", bounds=(-1000, 1000)),
        Column(name="b", kind="numeric", bounds=(0, 100_000)),
        Column(name="c", kind="categorical", categories=("p", "q", "r", "s")),
        Column(name="twin", kind="categorical", categories=("p", "q", "r", "s")),
        Column(name="same", kind="numeric", bounds=(0, 10)),
        Column(name="y", kind="categorical", categories=("no", "yes", "nobody")),
    ),
    target="y",
)
TWO_CLASSES = MADE.with_columns({"y": Column(name="y", kind="categorical", categories=("no", "yes"))})


def fitted(frame, schema, *, epsilon=1.0, seed=0, **settings):
    data = Sensitive.read(frame, schema)
    budget = Budget(epsilon=epsilon, delta=1e-5)
    return fit(ThreeATable(**settings), data, budget, seed=seed, source=NoiseSource(research_seed=seed))


def auc(synthetic, test):
    import lightgbm as lgb
    from sklearn.metrics import roc_auc_score

    def numbers(frame):
        return np.column_stack(
            [frame["a"], frame["b"], frame["c"].astype(str).map(ord), frame["twin"].astype(str).map(ord)]
        )

    model = lgb.LGBMClassifier(verbose=-1, n_jobs=2, n_estimators=50)
    model.fit(numbers(synthetic), synthetic["y"].astype(str) == "yes")
    return roc_auc_score(test["y"] == "yes", model.predict_proba(numbers(test))[:, 1])


@pytest.mark.parametrize(
    "schema",
    [TABLE, NO_TARGET, REPLACE, PERSONS, REGRESSION, MANY_CLASSES, ONLY_TARGET],
    ids=["table", "no-target", "replace", "persons", "regression", "classes", "only-target"],
)
def test_keeps_the_contract(schema, monkeypatch):
    set_constant(monkeypatch, "sfumato.mechanisms.table.population.ROWS", 2_000)
    set_constant(monkeypatch, "sfumato.mechanisms.table.narrow.LEARNING_ROWS", 500)
    set_constant(monkeypatch, "sfumato.mechanisms.table.narrow.BINS", 12)
    check_mechanism(ThreeATable(), schema, n_rows=120)


@pytest.mark.parametrize("target", ["two classes", "three classes", "none"])
def test_keeps_the_contract_on_wide_tables(target, monkeypatch):
    set_constant(
        monkeypatch, "sfumato.mechanisms.table.wide_path.method._MORE_THAN", 5
    )  # the same path, in a fraction of the time
    # Wide bounds, so that private values stay distinct also as whole numbers when the check looks for them: within
    # (-1, 1) they are all 0, and zeros stand in any model.
    schema = wide_schema(8, bound=1000)
    if target == "three classes":
        schema = schema.with_columns({"y": Column(name="y", kind="categorical", categories=("a", "b", "c"))})
    if target == "none":
        schema = replace(schema, columns=schema.columns[:-1], target=None)
    check_mechanism(ThreeATable(), schema, n_rows=60)


def run_clause(clause, mechanism, schema, primitives=Primitives):
    (check,) = [check for check in CHECKS if check.name == clause]
    check.run(Setting(mechanism, schema, Budget(epsilon=1.0, delta=1e-6), 120, primitives))


@pytest.fixture
def _tiny(monkeypatch):
    """The clauses of the contract fit the mechanism many times."""
    set_constant(monkeypatch, "sfumato.mechanisms.table.population.ROWS", 1_000)
    set_constant(monkeypatch, "sfumato.mechanisms.table.narrow.LEARNING_ROWS", 500)
    set_constant(monkeypatch, "sfumato.mechanisms.table.narrow.BINS", 8)
    set_constant(monkeypatch, "sfumato.mechanisms.table.wide_path.method._MORE_THAN", 5)


@pytest.mark.parametrize(
    ("mechanism", "clause"),
    [
        (twins.TableKeepsRows(), "what comes out follows from the doors' answers"),
        (twins.TableBinsByRank(), "steps are public and settled"),
        (twins.TableCountsExactly(), "what comes out follows from the doors' answers"),
    ],
)
@pytest.mark.usefixtures("_tiny")
def test_broken_twins_are_caught(mechanism, clause):
    register(type(mechanism))
    run_clause(clause, ThreeATable(), TABLE)
    with pytest.raises(ContractError):
        run_clause(clause, mechanism, TABLE)


@pytest.mark.usefixtures("_tiny")
def test_asking_again_is_refused(monkeypatch):
    with pytest.raises(ContractError, match="'classes' is planned for 1 uses"):
        run_clause("spending stays within the plan", twins.TableAsksAgain(), TABLE)
    twins.forgets_to_charge(monkeypatch)
    with pytest.raises(ContractError, match="more often than it was planned"):  # a door that forgets to count
        run_clause("spending stays within the plan", twins.TableAsksAgain(), TABLE)


@pytest.mark.parametrize(
    ("primitives", "clause"),
    [
        (twins.NoClip, "neighbouring data differ by at most the bound"),
        (twins.HalfNoise, "noise has the planned scale"),
    ],
)
@pytest.mark.usefixtures("_tiny")
def test_broken_doors_are_caught(primitives, clause):
    with pytest.raises(ContractError):
        run_clause(clause, ThreeATable(), wide_schema(8, bound=1000), primitives)


def test_refuses_images_and_a_wrong_alpha():
    with pytest.raises(SchemaError, match="is for tables"):
        ThreeATable().steps(IMAGES)
    with pytest.raises(PlanError, match="alpha = 2"):
        ThreeATable(alpha=2).steps(TABLE)


def test_utility_has_a_floor_and_a_ceiling():
    test = made(5_000, seed=99)
    good = fitted(made(20_000), TWO_CLASSES)
    assert auc(good.model.sample(30_000, seed=1).table, test) > 0.87  # the rule itself reaches .91
    bad = fitted(made(2_000), TWO_CLASSES, epsilon=0.005)
    assert auc(bad.model.sample(5_000, seed=1).table, test) < 0.75


def test_the_same_release_is_faithful():
    frame = made(20_000)
    table = fitted(frame, MADE).model.sample(50_000, seed=1).table
    real, found = (pd.crosstab(t["c"].astype(str), t["twin"].astype(str), normalize=True) for t in (frame, table))
    assert np.abs(real.to_numpy() - found.to_numpy()).sum() / 2 < 0.05
    assert abs((frame["y"] == "yes").mean() - (table["y"].astype(str) == "yes").mean()) < 0.01
    assert (table["y"].astype(str) == "nobody").mean() < 0.02
    assert abs(table["same"].median() - 7) < 0.1  # a constant column stays one, up to its grid
    for q in (0.1, 0.5, 0.9):
        assert abs(frame["a"].quantile(q) - table["a"].quantile(q)) < 0.2
        assert abs(np.log(frame["b"].quantile(q) / table["b"].quantile(q))) < 0.25


def test_a_rare_class_is_kept_and_told_apart():
    frame = made(60_000, rate=0.002)
    table = fitted(frame, TWO_CLASSES).model.sample(60_000, seed=1).table
    rate = (frame["y"] == "yes").mean()
    assert 0.3 * rate < (table["y"].astype(str) == "yes").mean() < 3 * rate
    means = table.groupby(table["y"].astype(str))["a"].mean()
    assert means["yes"] > means["no"] + 0.5


def test_alpha_moves_the_labels_and_not_the_rows():
    one, two = (fitted(made(5_000), TWO_CLASSES, alpha=a).model.sample(2_000, seed=3).table for a in (0.0, 1.0))
    assert (one["c"] == two["c"]).all()
    assert (one["y"] != two["y"]).any()


def test_the_seed_decides():
    model = fitted(made(2_000), TWO_CLASSES).model
    assert model.sample(100, seed=5).table.equals(model.sample(100, seed=5).table)
    assert not model.sample(100, seed=5).table.equals(model.sample(100, seed=6).table)


def test_many_categories_and_few_rows():
    many = Column(name="code", kind="categorical", categories=tuple(f"k{i}" for i in range(10_000)), missing=True)
    schema = Schema(columns=(many, *TWO_CLASSES.columns), target="y")
    frame = made(500)
    frame["code"] = np.where(np.arange(500) % 2, "k17", "k4000")
    table = fitted(frame, schema).model.sample(400, seed=1).table
    assert len(table) == 400
    frame = pd.concat([frame.assign(code="k17")] * 40)
    table = fitted(frame, schema).model.sample(4_000, seed=1).table
    assert (table["code"] == "k17").mean() > 0.8


def test_a_regression_target_is_drawn_within_its_bins():
    frame = made(20_000)
    schema = replace(TWO_CLASSES, target="a")
    table = fitted(frame, schema).model.sample(20_000, seed=1).table
    assert abs(frame["a"].std() - table["a"].std()) < 0.2
    gap = [t.groupby(t["y"].astype(str))["a"].mean().diff().iloc[-1] for t in (frame, table)]
    assert gap[1] == pytest.approx(gap[0], abs=0.4)


@pytest.mark.parametrize("n_classes", [3, 20])
def test_many_classes_are_taught(n_classes):
    centres = np.random.default_rng(0).normal(size=(n_classes, 5)) * 1.5
    schema = Schema(
        columns=(
            *(Column(name=name, kind="numeric", bounds=(-10, 10)) for name in "abcde"),
            Column(name="y", kind="categorical", categories=tuple(f"k{c}" for c in range(n_classes + 1))),
        ),
        target="y",
    )
    y = np.random.default_rng(1).integers(n_classes, size=20_000)
    x = centres[y] + np.random.default_rng(2).normal(size=(20_000, 5))
    frame = pd.DataFrame(x, columns=list("abcde")).assign(y=[f"k{c}" for c in y])
    table = fitted(frame, schema).model.sample(10_000, seed=1).table
    assert (table["y"].astype(str) == f"k{n_classes}").mean() < 0.02  # a class that no row has
    found = table.groupby(table["y"].astype(str))[list("abcde")].mean()
    nearest = [np.linalg.norm(centres - found.loc[f"k{c}"].to_numpy(), axis=1).argmin() for c in range(n_classes)]
    assert np.mean(np.array(nearest) == np.arange(n_classes)) > 0.8


@pytest.mark.parametrize(("n_rows", "epsilon"), [(100, 1.0), (500, 1.0), (2_000, 0.01)])
def test_few_rows_or_little_budget_still_give_rows_of_the_schema(n_rows, epsilon):
    model = fitted(made(n_rows), MADE, epsilon=epsilon).model
    assert model.default_rows >= 1
    table = model.sample(300, seed=1).table
    assert table["a"].between(-1000, 1000).all()
    assert table["b"].between(0, 100_000).all()
    assert set(table["y"].astype(str)) <= {"no", "yes", "nobody"}


def test_wide_tables_keep_the_rule():
    rng = np.random.default_rng(0)
    schema = wide_schema()
    assert wide.is_wide(schema)
    factor = rng.normal(size=(8_000, 3)) @ rng.normal(size=(3, 120))
    x = np.clip(0.12 * factor + 0.1 * rng.normal(size=(8_000, 120)), -1, 1)
    y = x[:, :20].sum(axis=1) + 0.3 * rng.normal(size=8_000) > 0
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(120)]).assign(y=y)
    table = fitted(frame, schema).model.sample(8_000, seed=1).table
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    names = [f"x{i}" for i in range(120)]
    learned = LogisticRegression(max_iter=300).fit(table[names], table["y"].astype(bool))
    assert roc_auc_score(y, learned.decision_function(frame[names])) > 0.85  # the rule itself reaches .97


def test_real_adult(benchmark_data: Path):
    from lightgbm import LGBMClassifier
    from sklearn.metrics import roc_auc_score

    train, test = (pd.read_parquet(benchmark_data / f"adult_{part}.parquet") for part in ("train", "test"))
    bounds = {
        "age": (17, 90), "fnlwgt": (0, 1_500_000), "education_num": (1, 16), "capital_gain": (0, 99_999),
        "capital_loss": (0, 4_500), "hours_per_week": (1, 99),
    }  # fmt: skip
    columns = []
    for name in train.columns:
        if name in bounds:
            columns.append(Column(name=name, kind="integer", bounds=bounds[name]))
        else:
            seen = tuple(sorted(set(train[name].astype(str)) | set(test[name].astype(str))))
            columns.append(Column(name=name, kind="categorical", categories=seen))
    schema = Schema(columns=tuple(columns), target="income")
    model = fitted(train, schema).model
    table = model.sample(model.default_rows, seed=0).table

    def features(frame):
        return pd.DataFrame(
            {
                c.name: pd.Categorical(frame[c.name].astype(str), categories=c.categories)
                if c.is_coded
                else frame[c.name].astype(float).to_numpy()
                for c in schema.features
            }
        )

    learner = LGBMClassifier(verbose=-1, n_jobs=2).fit(features(table), table["income"].astype(str) == ">50K")
    rich = test["income"].astype(str) == ">50K"
    assert roc_auc_score(rich, learner.predict_proba(features(test))[:, 1]) > 0.895
    rates = [(t["income"].astype(str) == ">50K").mean() for t in (train, table)]
    assert abs(rates[0] - rates[1]) < 0.02
    apart = []
    for column in (c for c in schema.columns if c.is_coded):
        real, found = (t[column.name].astype(str).value_counts(normalize=True) for t in (train, table))
        apart.append(real.sub(found, fill_value=0).abs().sum() / 2)
    assert np.mean(apart) < 0.03
