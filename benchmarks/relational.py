"""Persons with histories, scored: how near released tables are to real ones, and what they teach about real persons.

python benchmarks/relational.py liver hospital shop --seeds 0 1 2 3 4 >> benchmarks/results/relational.jsonl
python benchmarks/relational.py liver hospital shop --seeds 0 1 2 3 4 --method naive >> benchmarks/results/relational.jsonl
python benchmarks/relational.py liver hospital shop --method real >> benchmarks/results/relational.jsonl
python benchmarks/relational.py hospital --write /tmp/hma; python benchmarks/peers/sdv_histories.py /tmp/hma (in an environment
with sdv); python benchmarks/relational.py hospital --drawn /tmp/hma/drawn >> benchmarks/results/relational.jsonl

The hospital and the shop are drawn (zoo/histories.py), so that their truth is known. The liver study is read from SFUMATO_DATA.
Persons are split 70 to 30, seed 0; a release sees the first part. How near its tables are is told by distances to the tables
of the persons it was made of: that is what the release replaces, and against other persons chance would add more than there is
to see (the number of children of two sets of real persons differs by .03). What it teaches is tested on persons of the
second part, whom no release has seen. `real` is that second part in the place of a release, with learners of the first.
"""

import argparse
import json
import os
import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from zoo.histories import HOSPITAL, SHOP, Tables, hospital, shop

import sfumato as sf
from sfumato.lab.assess.relations import Related, differences
from sfumato.learn.boosted_trees import boosting
from sfumato.public.accounting.gdp import epsilon_of_mu, mu_of_budget

LIVER = """
[dataset]
target = "died"
rows = 12000
[tables.persons]
key = "person"
[tables.persons.columns.age]
type = "integer"
bounds = [18, 100]
[tables.persons.columns.male]
type = "boolean"
[tables.persons.columns.weight]
type = "numeric"
bounds = [30, 200]
decimals = 1
missing = true
[tables.persons.columns.height]
type = "integer"
bounds = [120, 220]
missing = true
[tables.persons.columns.bmi]
type = "numeric"
bounds = [10, 90]
missing = true
[tables.persons.columns.follow_up_days]
type = "integer"
bounds = [0, 7500]
[tables.persons.columns.died]
type = "boolean"
[tables.events]
parent = "persons"
order = "day"
kind = "kind"
max_rows = 60
[tables.events.columns.day]
type = "integer"
bounds = [-7500, 7500]
[tables.events.columns.kind]
type = "categorical"
categories = ["hdl", "sbp", "fib4", "smoke"]
[tables.events.columns.value]
type = "numeric"
bounds = [0, 300]
decimals = 2
"""


def liver() -> Tables:
    """A follow-up study of fatty liver disease."""
    folder = Path(os.environ["SFUMATO_DATA"])
    persons = pd.read_parquet(folder / "liver_persons.parquet").assign(
        male=lambda t: t["male"].astype(bool), died=lambda t: t["died"].astype(bool)
    )
    labs = pd.read_parquet(folder / "liver_labs.parquet").rename(columns={"days": "day", "test": "kind"})
    return {"persons": persons, "events": labs.assign(kind=labs["kind"].astype(str))}


DATASETS = {"liver": LIVER, "hospital": HOSPITAL, "shop": SHOP}


def tables_of(name: str, draw: int = 0) -> tuple[sf.Schema, Tables, Tables]:
    """A schema, the tables to release and those of other persons; other draws are for whoever chooses settings."""
    rng = np.random.default_rng(draw)
    tables = liver() if name == "liver" else hospital(rng) if name == "hospital" else shop(rng)
    schema = sf.Schema.parse(DATASETS[name])
    events = tables["events"].sort_values(["person", "day"], kind="stable").reset_index(drop=True)
    value = schema.tables[0]["value"]
    events["value"] = events["value"].clip(value.low, value.high)
    events = events[events.groupby("person").cumcount() < schema.tables[0].max_rows]
    people = np.random.default_rng(draw).permutation(tables["persons"]["person"].to_numpy())
    seen = set(people[: round(0.7 * len(people))].tolist())
    split = {}
    for part in (True, False):
        split[part] = {
            "persons": tables["persons"][tables["persons"]["person"].isin(seen) == part].reset_index(drop=True),
            "events": events[events["person"].isin(seen) == part].reset_index(drop=True),
        }
    return schema, split[True], split[False]


def related(tables: Tables, schema: sf.Schema) -> Related:
    """The tables as their distances are measured."""
    persons, events = tables["persons"], tables["events"]
    places = pd.Series(np.arange(len(persons)), index=persons["person"].to_numpy())
    whose = places.loc[events["person"]].to_numpy(dtype=np.int64)
    own, theirs = ([column.name for column in columns] for columns in (schema.columns, schema.tables[0].columns))
    return Related(persons[own], events[theirs], whose, whose, order="day", kind="kind")


def sibling_correlations(tables: Tables) -> dict[str, tuple[int, float, float]]:
    """For every sort the pairs there are, and the correlation of the ranks of two values of one person: next ones, any ones."""
    found = {}
    for kind, events in tables["events"].groupby(tables["events"]["kind"].astype(str)):
        if events["value"].nunique() < 5:
            continue
        ranks = pd.Series(events["value"].rank(pct=True).to_numpy(), index=events["person"].to_numpy())
        pairs = pd.DataFrame({"p": ranks.index, "x": ranks.to_numpy()})
        pairs["y"] = pairs.groupby("p")["x"].shift(-1)
        near = pairs.dropna()
        sums, sizes = pairs.groupby("p")["x"].transform("sum"), pairs.groupby("p")["x"].transform("size")
        other = pairs.assign(y=(sums - pairs["x"]) / np.maximum(sizes - 1, 1))[sizes > 1]
        found[str(kind)] = len(near), float(near["x"].corr(near["y"])), float(other["x"].corr(other["y"]))
    return found


def sibling_error(real: Tables, made: Tables) -> float:
    """By how much these correlations are off, a sort weighing as many pairs as it really has."""
    truth, found = sibling_correlations(real), sibling_correlations(made)
    weights = np.array([truth[kind][0] for kind in truth], dtype=float)
    off = [abs(np.subtract(truth[kind][1:], found.get(kind, (0, 0.0, 0.0))[1:])).mean() for kind in truth]
    return float(np.nan_to_num(off, nan=1.0) @ weights / weights.sum())


def features(tables: Tables, schema: sf.Schema) -> pd.DataFrame:
    """Simple aggregates of the children, for every person."""
    persons, events = tables["persons"].set_index("person"), tables["events"]
    kinds = list(schema.tables[0].kind_column.categories)
    out = pd.DataFrame(index=persons.index)
    by = events.groupby("person")
    out["number"] = by.size().reindex(out.index).fillna(0)
    out["first"], out["last"] = by["day"].min().astype(float), by["day"].max().astype(float)
    for kind in kinds:
        mine = events[events["kind"].astype(str) == kind].groupby("person")["value"]
        out[f"number {kind}"] = mine.size().reindex(out.index).fillna(0)
        out[f"mean {kind}"], out[f"last {kind}"] = mine.mean(), mine.last()
    return out


def next_event(tables: Tables, schema: sf.Schema) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of every event but a person's first: the three before it; its value; its sort."""
    events = tables["events"]
    kinds = list(schema.tables[0].kind_column.categories)
    code = events["kind"].astype(str).map({k: i for i, k in enumerate(kinds)}).to_numpy()
    columns, person = [np.eye(len(kinds))[code]], events["person"].to_numpy()
    value, day = events["value"].to_numpy(dtype=float), events["day"].to_numpy(dtype=float)
    last_same = events.groupby(["person", events["kind"].astype(str)])["value"].shift(1).to_numpy(dtype=float)
    columns = [np.eye(len(kinds))[code], np.nan_to_num(last_same, nan=-1)[:, None]]
    for lag in (1, 2, 3):
        there = np.r_[np.zeros(lag, bool), person[lag:] == person[:-lag]]
        columns.append(np.where(there, np.roll(code, lag), -1)[:, None])
        columns.append(np.where(there, np.roll(value, lag), -1)[:, None])
        if lag > 1:
            columns.append(np.where(there, np.roll(day, lag - 1) - np.roll(day, lag), -1)[:, None])
    x = np.hstack(columns)
    has = x[:, len(kinds) + 1] >= 0
    return x[has], value[has], code[has]


def taught(train: Tables, test: Tables, schema: sf.Schema) -> dict[str, float]:
    """What learners of one set of tables know about persons of another."""
    y = train["persons"].set_index("person")[schema.target].astype(bool).to_numpy()
    z = test["persons"].set_index("person")[schema.target].astype(bool).to_numpy()
    learner = boosting([]).fit(features(train, schema).to_numpy(float), y)
    auc = roc_auc_score(z, learner.predict_proba(features(test, schema).to_numpy(float))[:, 1])
    n = len(schema.tables[0].kind_column.categories)
    x, value, kind = next_event(train, schema)
    xt, value_t, kind_t = next_event(test, schema)
    some = np.random.default_rng(0).permutation(len(x))[:40_000]
    known = x[:, n] >= 0
    cross = np.hstack([x[:, :n], x[:, :n] * x[:, n : n + 1]])
    cross_t = np.hstack([xt[:, :n], xt[:, :n] * xt[:, n : n + 1]])
    known_t = xt[:, n] >= 0
    r2 = r2_score(value_t[known_t], Ridge(1.0).fit(cross[known], value[known]).predict(cross_t[known_t]))
    rest, rest_t = x[:, n + 1 :], xt[:, n + 1 :]
    sort = boosting([]).fit(rest[some], kind[some])
    probabilities = np.full((len(xt), n), 1e-6)
    probabilities[:, sort.classes_] += sort.predict_proba(rest_t)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    rates = np.bincount(kind_t, minlength=n) / len(kind_t)
    flat = -np.log(np.maximum(rates[kind_t], 1e-9)).mean()
    return {
        "auc": float(auc),
        "next_value": float(r2),
        "next_kind": float(flat - log_loss(kind_t, probabilities, labels=range(n))),
    }


def scores(real: Tables, test: Tables, made: Tables, schema: sf.Schema) -> dict[str, float]:
    """Distances to the persons that a release was made of, and what it teaches about others."""
    (each,) = differences(related(real, schema), related(made, schema))

    def mean(word: str) -> float:
        return float(np.mean([value for name, value in each.items() if name[0] == word]))

    return {
        **{word: mean(word) for word in ("parent", "child", "number", "group", "pair", "consecutive", "kinds", "gap")},
        "siblings": sibling_error(real, made),
        **taught(made, test, schema),
    }


def naive(real: Tables, schema: sf.Schema, *, seed: int) -> Tables:
    """Children as independent rows of the table method, with half of the precision each: what there is without histories."""
    persons = sf.Schema(columns=schema.columns, target=schema.target, rows=schema.rows)
    table = schema.tables[0]
    events = sf.Schema(
        columns=table.columns, rows=schema.rows, unit=sf.PrivacyUnit(person="person", max_rows=table.max_rows)
    )
    half = epsilon_of_mu(mu_of_budget(1.0, delta=1e-6) / np.sqrt(2), delta=1e-6)
    parents = sf.synthesize(real["persons"].drop(columns="person"), persons, epsilon=half, delta=1e-6, seed=seed).table
    children = sf.synthesize(real["events"], events, epsilon=half, delta=1e-6, seed=seed).table
    rng = np.random.default_rng(seed)
    whose = rng.integers(len(parents), size=len(children))
    children = pd.concat([pd.Series(whose, name="person"), children], axis=1)
    parents = pd.concat([pd.Series(np.arange(len(parents)), name="person"), parents], axis=1)
    return {"persons": parents, "events": children.sort_values(["person", "day"], kind="stable")}


def write(real: Tables, schema: sf.Schema, to: Path) -> None:
    """The tables for a tool in another environment, and of which types their columns are."""
    to.mkdir(parents=True, exist_ok=True)
    for name, table in real.items():
        table.to_csv(to / f"{name}.csv", index=False)
    types = {
        "persons": {column.name: column.kind for column in schema.columns},
        "events": {column.name: column.kind for column in schema.tables[0].columns},
    }
    asked = {"method": "hma", "persons": 3_000, "draw": len(real["persons"]), "epochs": 32, "types": types}
    (to / "asked.json").write_text(json.dumps(asked, indent=2))


def drawn_by_another(folder: Path, schema: sf.Schema) -> Tables:
    """What another tool has drawn, with values brought within their bounds and events in order."""
    tables = {name: pd.read_csv(folder / f"{name}.csv") for name in ("persons", "events")}
    for name, columns in (("persons", schema.columns), ("events", schema.tables[0].columns)):
        for column in columns:
            values = tables[name][column.name]
            if column.is_number:
                tables[name][column.name] = values.clip(column.low, column.high)
            elif column.kind == "boolean":
                tables[name][column.name] = values.astype(bool)
    persons, events = tables["persons"], tables["events"]
    codes = pd.Series(np.arange(len(persons)), index=persons["person"].to_numpy())
    events = events[events["person"].isin(codes.index)]
    events = events.assign(person=codes.loc[events["person"]].to_numpy()).sort_values(["person", "day"], kind="stable")
    events = events[events.groupby("person").cumcount() < schema.tables[0].max_rows].reset_index(drop=True)
    return {"persons": persons.assign(person=np.arange(len(persons))), "events": events}


def main() -> None:
    """One line of JSON for each release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=DATASETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--method", choices=["3a-tables", "naive", "real"], default="3a-tables")
    parser.add_argument("--write", type=Path, help="write the persons to release into this folder, for another tool")
    parser.add_argument("--drawn", type=Path, help="score what another tool has drawn (peers/sdv_histories.py)")
    asked = parser.parse_args()
    for name in asked.names:
        schema, real, test = tables_of(name)
        if asked.write is not None:
            write(real, schema, asked.write)
            continue
        if asked.drawn is not None:
            found = scores(real, test, drawn_by_another(asked.drawn, schema), schema)
            facts = {"data": name, **json.loads((asked.drawn / "made.json").read_text())}
            print(json.dumps({**facts, **{key: round(value, 4) for key, value in found.items()}}), flush=True)
            continue
        for seed in asked.seeds:
            start = time.perf_counter()
            if asked.method == "naive":
                made = naive(real, schema, seed=seed)
            elif asked.method == "real":
                made = test
            else:
                budget = sf.Budget(epsilon=asked.epsilon, delta=1e-6)
                fitted = sf.fit("auto", real, budget, schema=schema, seed=seed)
                drawn = fitted.sample(len(real["persons"]))
                made = {"persons": drawn.table, **drawn.tables}
            seconds = time.perf_counter() - start
            found = (
                scores(real, test, made, schema)
                if asked.method != "real"
                else {**scores(real, test, test, schema), **taught(real, test, schema)}
            )
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            facts = {"data": name, "method": asked.method, "epsilon": asked.epsilon, "seed": seed}
            rounded = {key: round(value, 4) for key, value in found.items()}
            print(json.dumps({**facts, **rounded, "seconds": round(seconds, 1), "gb": round(memory, 2)}), flush=True)


if __name__ == "__main__":
    main()
