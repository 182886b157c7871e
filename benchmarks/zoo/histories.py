"""Persons with histories of known truth: a hospital and a shop."""

import numpy as np
import pandas as pd

Tables = dict[str, pd.DataFrame]

HOSPITAL = """
[dataset]
target = "target"
rows = 14000
[tables.persons]
key = "person"
[tables.persons.columns.age]
type = "integer"
bounds = [0, 100]
[tables.persons.columns.sex]
type = "categorical"
categories = ["f", "m"]
[tables.persons.columns.chronic]
type = "boolean"
[tables.persons.columns.target]
type = "boolean"
[tables.events]
parent = "persons"
order = "day"
kind = "kind"
last = ["death"]
max_rows = 60
[tables.events.columns.day]
type = "integer"
bounds = [0, 3650]
[tables.events.columns.kind]
type = "categorical"
categories = ["visit", "test", "stay", "death"]
[tables.events.columns.value]
type = "numeric"
bounds = [0, 200]
decimals = 1
"""
SHOP = """
[dataset]
target = "returns"
rows = 14000
[tables.persons]
key = "person"
[tables.persons.columns.joined]
type = "integer"
bounds = [0, 1000]
[tables.persons.columns.region]
type = "categorical"
categories = ["north", "south", "east", "west"]
[tables.persons.columns.returns]
type = "boolean"
[tables.events]
parent = "persons"
order = "day"
kind = "kind"
max_rows = 60
[tables.events.columns.day]
type = "integer"
bounds = [0, 1500]
[tables.events.columns.kind]
type = "categorical"
categories = ["book", "film", "toy", "food", "other"]
[tables.events.columns.value]
type = "numeric"
bounds = [0, 500]
decimals = 2
"""


def hospital(rng: np.random.Generator, n: int = 20_000) -> Tables:
    """Visits by a negative binomial of the person, sorts by a chain, values with an effect of the person and a trend."""
    age, male = np.clip(rng.normal(55, 18, n), 0, 100).round(), rng.random(n) < 0.48
    chronic = rng.random(n) < 1 / (1 + np.exp(-(age - 65) / 10))
    mean = np.exp(0.7 + 0.012 * age + 0.6 * chronic)
    number = np.minimum(rng.negative_binomial(2.0, 2.0 / (2.0 + mean)), 60)
    effect, slope = rng.normal(0, 12, n) + 8 * chronic, rng.normal(0.0, 2.5, n)
    chain = np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.4, 0.2, 0.4]])
    base = np.array([90.0, 100.0, 120.0])
    rows, risk = [], np.zeros(n)
    for person in range(n):
        kind, day, values = int(rng.choice(3, p=[0.7, 0.2, 0.1])), rng.integers(0, 900), []
        for at in range(number[person]):
            if at:
                kind = int(rng.choice(3, p=chain[kind]))
                day += 0 if rng.random() < 0.12 else int(rng.exponential(60 if chronic[person] else 150)) + 1
            if day > 3650:
                break
            value = base[kind] + effect[person] + slope[person] * at / 3 + rng.normal(0, 8)
            values.append(value)
            rows.append((person, day, kind, round(float(np.clip(value, 0, 200)), 1)))
        risk[person] = (
            -3 + 0.03 * (age[person] - 55) + (0.05 * (np.mean(values) - 95) + 0.06 * len(values) if values else 0)
        )
        if values and rng.random() < 0.1 + 0.1 * chronic[person]:
            rows.append((person, min(day + int(rng.exponential(100)), 3650), 3, 0.0))
    target = rng.random(n) < 1 / (1 + np.exp(-risk))
    persons = pd.DataFrame(
        {
            "person": np.arange(n),
            "age": age.astype(int),
            "sex": np.where(male, "m", "f"),
            "chronic": chronic,
            "target": target,
        }
    )
    events = pd.DataFrame(rows, columns=["person", "day", "kind", "value"])
    events["kind"] = np.array(["visit", "test", "stay", "death"])[events["kind"]]
    return {"persons": persons, "events": events}


def shop(rng: np.random.Generator, n: int = 20_000) -> Tables:
    """Orders at a rate of the person, mostly of the sort before or of its taste, at prices that go with the person."""
    joined, region = rng.integers(0, 1000, n), rng.integers(0, 4, n)
    rate, taste = rng.gamma(1.2, 1.0, n), rng.integers(0, 5, n)
    purse = rng.normal(0, 0.5, n) + 0.2 * (region == 1)
    price = np.log([15.0, 12.0, 25.0, 40.0, 60.0])
    rows, risk = [], np.zeros(n)
    for person in range(n):
        day, kind, number = int(joined[person]), int(taste[person]), 0
        while number < 60:
            day += int(rng.exponential(120 / (0.2 + rate[person])))
            if day > 1500:
                break
            kind = kind if rng.random() < 0.5 else int(taste[person]) if rng.random() < 0.5 else int(rng.integers(5))
            rows.append((person, day, kind, round(float(np.exp(price[kind] + purse[person] + rng.normal(0, 0.3))), 2)))
            number += 1
        risk[person] = -2 + 0.06 * number + 1.2 * purse[person]
    persons = pd.DataFrame(
        {
            "person": np.arange(n),
            "joined": joined,
            "region": np.array(["north", "south", "east", "west"])[region],
            "returns": rng.random(n) < 1 / (1 + np.exp(-risk)),
        }
    )
    events = pd.DataFrame(rows, columns=["person", "day", "kind", "value"])
    events["kind"] = np.array(["book", "film", "toy", "food", "other"])[events["kind"]]
    return {"persons": persons, "events": events}
