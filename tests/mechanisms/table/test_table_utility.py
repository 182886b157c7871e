"""Floors of utility on made-up tables with a known rule, and a ceiling where there is no budget for it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_tables import SMALL

from sfumato import Budget, Column, Schema, Sensitive, fit
from sfumato.extending import NoiseSource
from sfumato.mechanisms import ThreeATable


def released(frame: pd.DataFrame, schema: Schema, *, epsilon: float = 1.0, n_rows: int = 10_000, **settings):
    """A sample of a release with known noise."""
    data = Sensitive.read(frame, schema)
    budget = Budget(epsilon=epsilon, delta=1e-5)
    fitted = fit(ThreeATable(settings=SMALL, **settings), data, budget, seed=0, source=NoiseSource(research_seed=0))
    return fitted.model.sample(n_rows, seed=1).table


def learned(table: pd.DataFrame, columns: list[str], target: str, *, number: bool = False):
    """A learner that was shown the release alone."""
    import lightgbm as lgb

    model = (lgb.LGBMRegressor if number else lgb.LGBMClassifier)(verbose=-1, n_jobs=1, n_estimators=60)
    return model.fit(table[columns].astype(float), table[target] if number else table[target].astype(str))


def accuracy(table: pd.DataFrame, test: pd.DataFrame, columns: list[str], target: str = "y") -> float:
    model = learned(table, columns, target)
    return float((model.predict(test[columns].astype(float)) == test[target].astype(str)).mean())


def numbers(names, *, bounds=(-5, 5)) -> list[Column]:
    return [Column(name=name, kind="numeric", bounds=bounds) for name in names]


def normal(n_rows: int, names: str, *, seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n_rows, len(names))), columns=list(names))


@pytest.mark.slow
@pytest.mark.parametrize(("n_columns", "floor"), [(2, 0.85), (3, 0.75)])
def test_columns_that_decide_together(n_columns: int, floor: float) -> None:
    """No column alone says anything of the class."""

    def made(n_rows: int, seed: int) -> pd.DataFrame:
        frame = normal(n_rows, "abcde", seed=seed)
        odd = np.prod(np.sign(frame[list("abc")[:n_columns]].to_numpy()), axis=1) > 0
        return frame.assign(y=np.where(odd, "yes", "no"))

    schema = Schema(
        columns=(*numbers("abcde"), Column(name="y", kind="categorical", categories=("no", "yes"))),
        target="y",
        rows=20_000,
    )
    table = released(made(20_000, 0), schema)
    assert accuracy(table, made(3_000, 9), list("abcde")) > floor


@pytest.mark.slow
def test_seven_classes_with_one_hot_groups() -> None:
    centres = np.random.default_rng(5).normal(size=(7, 3)) * 1.5

    def made(n_rows: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        y = rng.integers(7, size=n_rows)
        frame = pd.DataFrame(centres[y] + rng.normal(size=(n_rows, 3)), columns=list("abc"))
        soil = np.where(rng.random(n_rows) < 0.7, y % 5, rng.integers(5, size=n_rows))
        for i in range(5):
            frame[f"soil_{i}"] = soil == i
        return frame.assign(y=[f"k{c}" for c in y])

    schema = Schema(
        columns=(
            *numbers("abc", bounds=(-10, 10)),
            *(Column(name=f"soil_{i}", kind="boolean") for i in range(5)),
            Column(name="y", kind="categorical", categories=tuple(f"k{c}" for c in range(8))),
        ),
        target="y",
        rows=20_000,
    )
    table = released(made(20_000, 0), schema)
    soils = [f"soil_{i}" for i in range(5)]
    assert (table[soils].sum(axis=1) == 1).mean() > 0.98
    assert (table["y"].astype(str) == "k7").mean() < 0.02  # a class that no row has
    assert accuracy(table, made(3_000, 9), [*"abc", *soils]) > 0.75  # the rule itself reaches .85


@pytest.mark.slow
def test_a_number_that_is_a_product() -> None:
    def made(n_rows: int, seed: int) -> pd.DataFrame:
        frame = normal(n_rows, "abc", seed=seed).clip(-3, 3)
        noise = np.random.default_rng(seed + 1).normal(size=n_rows)
        return frame.assign(y=frame["a"] * frame["b"] + frame["c"] + 0.3 * noise)

    schema = Schema(columns=(*numbers("abc"), *numbers("y", bounds=(-20, 20))), target="y", rows=20_000)
    table, test = released(made(20_000, 0), schema), made(3_000, 9)
    found = learned(table, list("abc"), "y", number=True).predict(test[list("abc")])
    assert 1 - np.mean((found - test["y"]) ** 2) / test["y"].var() > 0.6  # the rule itself reaches .95
    assert table["y"].std() == pytest.approx(test["y"].std(), rel=0.1)


def test_log_normals_keep_their_correlations_and_their_tails() -> None:
    rng = np.random.default_rng(0)
    gauss = rng.multivariate_normal(np.zeros(3), [[1, 0.8, -0.5], [0.8, 1, 0], [-0.5, 0, 1]], size=20_000)
    frame = pd.DataFrame(np.exp(2 + gauss), columns=list("abc"))
    schema = Schema(columns=tuple(numbers("abc", bounds=(0, 100_000))), rows=20_000)
    table = released(frame, schema)
    apart = frame.corr(method="spearman").to_numpy() - table.corr(method="spearman").to_numpy()
    assert np.abs(apart).max() < 0.1
    for name in "abc":
        for q in (0.05, 0.5, 0.95):
            assert np.log(table[name].quantile(q) / frame[name].quantile(q)) == pytest.approx(0, abs=0.2)


def made(n_rows: int, *, seed: int = 0, rate: float = 0.3) -> pd.DataFrame:
    """Rows with a known rule: two numbers and a category decide the class; the twin follows the category."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=n_rows), rng.exponential(100, size=n_rows), rng.integers(4, size=n_rows)
    score = 2 * a + np.log1p(b) - 4.6 + np.array([-1, 0, 0, 1])[c] + np.log(rate / (1 - rate))
    y = rng.random(n_rows) < 1 / (1 + np.exp(-score))
    names = np.array(["p", "q", "r", "s"])
    twin = np.where(rng.random(n_rows) < 0.95, c, rng.integers(4, size=n_rows))
    frame = {"a": a, "b": b, "c": names[c], "twin": names[twin], "same": 7.0, "y": np.where(y, "yes", "no")}
    return pd.DataFrame(frame)


MADE = Schema(
    columns=(
        *numbers("a", bounds=(-1000, 1000)),
        *numbers("b", bounds=(0, 100_000)),
        *(Column(name=name, kind="categorical", categories=("p", "q", "r", "s")) for name in ("c", "twin")),
        *numbers(["same"], bounds=(0, 10)),
        Column(name="y", kind="categorical", categories=("no", "yes")),
    ),
    target="y",
)


def auc(table: pd.DataFrame, test: pd.DataFrame) -> float:
    from sklearn.metrics import roc_auc_score

    def coded(frame):
        return frame.assign(c=frame["c"].astype(str).map(ord), twin=frame["twin"].astype(str).map(ord))

    columns = ["a", "b", "c", "twin"]
    model = learned(coded(table), columns, "y")
    return float(roc_auc_score(test["y"] == "yes", model.predict_proba(coded(test)[columns].astype(float))[:, 1]))


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "epsilon", "floor"), [(20_000, 1.0, 0.87), (1_000, 1.0, 0.75), (300, 4.0, 0.75)])
def test_a_plain_rule_is_kept_by_many_rows_and_by_few(n_rows: int, epsilon: float, floor: float) -> None:
    table = released(made(n_rows), replace(MADE, rows=n_rows), epsilon=epsilon)
    assert auc(table, made(5_000, seed=99)) > floor  # the rule itself reaches .91


def test_without_budget_there_is_nothing_to_learn() -> None:
    assert auc(released(made(2_000), MADE, epsilon=0.005), made(5_000, seed=99)) < 0.75


def test_the_same_release_is_faithful() -> None:
    frame = made(20_000)
    table = released(frame, MADE, n_rows=30_000)
    real, found = (pd.crosstab(t["c"].astype(str), t["twin"].astype(str), normalize=True) for t in (frame, table))
    assert np.abs(real.to_numpy() - found.to_numpy()).sum() / 2 < 0.05
    assert abs((frame["y"] == "yes").mean() - (table["y"].astype(str) == "yes").mean()) < 0.01
    assert (table["same"] == 7).mean() > 0.9  # a constant column stays one
    for q in (0.1, 0.5, 0.9):
        assert abs(frame["a"].quantile(q) - table["a"].quantile(q)) < 0.2
        assert abs(np.log(frame["b"].quantile(q) / table["b"].quantile(q))) < 0.25


@pytest.mark.slow
def test_a_rare_class_is_kept_and_told_apart() -> None:
    frame = made(60_000, rate=0.002)
    table = released(frame, MADE, n_rows=60_000)
    rate = (frame["y"] == "yes").mean()
    assert 0.3 * rate < (table["y"].astype(str) == "yes").mean() < 3 * rate
    means = table.groupby(table["y"].astype(str))["a"].mean()
    assert means["yes"] > means["no"] + 0.5


def test_alpha_moves_the_labels_and_not_the_rows() -> None:
    one, two = (released(made(5_000), MADE, alpha=alpha, n_rows=2_000) for alpha in (0.0, 1.0))
    assert (one["c"] == two["c"]).all()
    assert (one["y"] != two["y"]).any()


def test_weekdays_are_kept() -> None:
    days = pd.to_datetime("2021-01-04") + pd.to_timedelta(np.random.default_rng(0).integers(0, 700, 9_000), unit="D")
    days = days[days.day_of_week < 5]
    bounds = tuple(pd.Timestamp(day).timestamp() for day in ("2020-12-01", "2023-01-31"))
    schema = Schema(columns=(Column(name="day", kind="datetime", bounds=bounds),), rows=6_000)
    table = released(pd.DataFrame({"day": days}), schema)
    found = pd.to_datetime(table["day"])
    assert (found.dt.day_of_week < 5).mean() > 0.95
    assert (found.dt.hour == 0).mean() > 0.9


@pytest.mark.slow
def test_real_adult(benchmark_data: Path) -> None:
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
    table = released(train, schema, n_rows=100_000)

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
