"""People who do not exist, made from a fixed public seed by causes that could be real.

Age and region shape education; education and age shape work and income; all of them shape weight, blood pressure and
smoking; and the risk of diabetes rises with age and weight together, with pressure above a threshold, and with
smoking after fifty. So there is something worth learning, and columns that depend on each other.
"""

from importlib.resources import files

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.public.schema.schema import Schema

TRAIN_ROWS, TEST_ROWS = 30_000, 10_000
_TRAIN_SEED, _TEST_SEED = 1503, 1519

_REGIONS = np.array(["north", "east", "south", "west", "centre"])
_EDUCATION = np.array(["primary", "secondary", "vocational", "bachelor", "master"])
_WORK = np.array(["office", "trade", "care", "farming", "transport"])

#: Odds of each kind of work by level of education.
_WORK_BY_EDUCATION = np.array(
    [
        [0.05, 0.30, 0.15, 0.25, 0.25],
        [0.20, 0.30, 0.20, 0.10, 0.20],
        [0.25, 0.35, 0.25, 0.05, 0.10],
        [0.65, 0.08, 0.20, 0.03, 0.04],
        [0.75, 0.04, 0.18, 0.02, 0.01],
    ]
)


def demo_schema() -> Schema:
    """The schema of the demo population."""
    return Schema.parse(files("sfumato.lab.demo").joinpath("schema.toml").read_text(encoding="utf-8"))


def patient_population() -> pd.DataFrame:
    """The 30,000 people whose data is released."""
    return make_population(TRAIN_ROWS, seed=_TRAIN_SEED)


def holdout_population() -> pd.DataFrame:
    """10,000 other people, on whom learners are tested."""
    return make_population(TEST_ROWS, seed=_TEST_SEED)


def make_population(n_rows: int, *, seed: int) -> pd.DataFrame:
    """People by cause and effect.

    >>> make_population(2, seed=0).columns.tolist()[:4]
    ['age', 'income', 'systolic_pressure', 'body_mass_index']
    """
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(18 + 77 * rng.beta(1.7, 2.3, n_rows)), 18, 95)
    region = rng.choice(5, size=n_rows, p=[0.24, 0.16, 0.22, 0.20, 0.18])
    leaning = 1.9 - 0.014 * (age - 45) + 0.5 * (region == 4) + rng.normal(0, 1.1, n_rows)
    level = np.clip(np.round(leaning), 0, 4).astype(np.int64)
    work = _occupations(rng, age, level)
    working = ~np.isin(work, ["retired", "none"])
    income = np.exp(2.75 + 0.22 * level + 0.55 * working + 0.008 * (age - 40) + rng.normal(0, 0.45, n_rows))
    smoker = rng.random(n_rows) < _sigmoid(-0.9 - 0.35 * level + 0.5 * (work == "transport") - 0.012 * (age - 45))
    weight = 26 + 3.2 * np.sin((age - 20) / 75 * np.pi) - 0.6 * level + 0.8 * (region == 2)
    weight = np.clip(weight + 4.2 * rng.gamma(2.0, 0.7, n_rows) - 5.5, 15, 50)
    pressure = 88 + 0.55 * age + 0.9 * (weight - 26) + 4 * smoker + rng.normal(0, 11, n_rows)
    old, heavy = (age - 50) / 15, (weight - 27) / 4
    risk = -1.8 + 1.15 * old + 1.05 * heavy + 0.45 * old * heavy
    risk += 1.3 * (pressure > 135) + 1.2 * (smoker & (age > 50)) - 0.2 * level + 0.5 * (work == "transport")
    diabetes = rng.random(n_rows) < _sigmoid(0.85 * risk)
    # Who feels well is measured less often; the day of the last visit tells a little of it too.
    measured = rng.random(n_rows) < np.where(diabetes, 0.90, 0.82)
    since = np.where(diabetes, 300, 420)
    days = -since * np.log(1 - rng.random(n_rows) * (1 - np.exp(-1460 / since)))  # exponential, up to four years
    return pd.DataFrame(
        {
            "age": age.astype(np.int64),
            "income": np.round(income, 2),
            "systolic_pressure": np.where(measured, np.round(pressure), np.nan),
            "body_mass_index": np.round(weight, 1),
            "region": _REGIONS[region],
            "occupation": work,
            "education": _EDUCATION[level],
            "smoker": smoker,
            "last_visit": pd.Timestamp("2024-12-31") - pd.to_timedelta(np.floor(days), unit="D"),
            "diabetes": diabetes,
        }
    )


def _occupations(rng: np.random.Generator, age: NDArray[np.float64], level: NDArray[np.int64]) -> NDArray[np.str_]:
    upto = np.cumsum(_WORK_BY_EDUCATION, axis=1)[level]
    kind = np.minimum((rng.random(len(age))[:, None] > upto).sum(axis=1), 4)
    work = _WORK[kind]
    work = np.where(rng.random(len(age)) < 0.07 + 0.25 * (age < 23), "none", work)
    return np.where(rng.random(len(age)) < _sigmoid((age - 65) / 1.5), "retired", work)


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-x))
