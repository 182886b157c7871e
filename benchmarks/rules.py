"""Rules: whether any released row breaks one, what declaring true ones costs, and the time that a million rows pay for them.

    python benchmarks/rules.py broken [TABLE,...] [MECHANISM,...]     12 kinds of rules, six tables, every mechanism that gives rows
    python benchmarks/rules.py utility [TABLE ...] [SEED ...] [with|without]
                                                        Adult and a made-up table, with and without rules that are true
    python benchmarks/rules.py follows CASE[,...] [SEED ...]
                                                        what depends on what, in cases of the zoo: rows that obey, and both columns' TVD
    python benchmarks/rules.py time [ROWS]                             drawing rows with and without rules

Each line is JSON. The tables of `broken` are samples of public ones; its rules are made from their columns and are not true of
them, so that there is much to mend.
"""

import json
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from zoo.cases import CASES

import sfumato as sf
from sfumato.errors import MissingLibraryError, PlanError, SchemaError
from sfumato.lab.benchmark.datasets import data_folder, load, make_benchmark
from sfumato.lab.benchmark.protocol import run
from sfumato.mechanism import Learner, registered, registered_names
from sfumato.mechanisms import P3GM, DPGan, DPMerf, PateGan
from sfumato.pieces import draw_pieces
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.rules import Rule
from sfumato.public.schema.schema import Column, Schema
from sfumato.verification.rule_checks import RuleCheck

TABLES = ("adult", "census", "diabetes130", "diamonds", "flights", "hospital")
ROWS = 1_500
BUDGET = sf.Budget(epsilon=1.0, delta=1e-5)
#: Mechanisms in which every row reports by itself, so that their number is public.
REPORTING, OF_REPORTS = ("dp-pro", "local-reports"), PrivacyUnit(relation="replace_one")
#: Whether rows obey does not depend on how long somebody trains.
BRIEF: dict[str, Any] = {
    "dp-gan": DPGan(n_steps=20, batch=100),
    "dp-merf": DPMerf(waves=100, n_steps=20, batch=100),
    "p3gm": P3GM(n_steps=20, batch=100),
    "pate-gan": PateGan(rounds=5),
}
TRUE_OF_ADULT = (
    "if capital_gain > 0 then capital_loss = 0",
    "if relationship in (Husband, Wife) then marital_status in ('Married-civ-spouse', 'Married-AF-spouse')",
    "if relationship = Unmarried then marital_status not in ('Married-civ-spouse', 'Married-AF-spouse')",
    "if workclass is missing then occupation is missing",
)
TRUE_OF_HOSPITAL = ("admitted < discharged", "if ward = icu then age >= 18", "if region = north then ward != day")


def hospital(n_rows: int, seed: int) -> tuple[pd.DataFrame, Schema]:
    """Stays in a made-up hospital, in which the rules below are true."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(0, 100, n_rows), rng.choice(["f", "m"], n_rows)
    ward = rng.choice(["icu", "main", "day"], n_rows, p=[0.1, 0.6, 0.3])
    ward = np.where((age < 18) & (ward == "icu"), "main", ward)
    region = rng.choice(["north", "south", "west"], n_rows)
    admitted = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n_rows), unit="D")
    rows = pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "ward": ward,
            "region": np.where((region == "north") & (ward == "day"), "south", region),
            "admitted": admitted,
            "discharged": admitted + pd.to_timedelta(rng.geometric(0.2, n_rows), unit="D"),
            "systolic": rng.normal(120 + age / 5, 12, n_rows),
            "diastolic": rng.normal(70, 10, n_rows),
            "died": rng.random(n_rows) < 0.02 + age / 500,
        }
    )
    days = ("2020-01-01", "2022-12-31")
    columns = (
        Column(name="age", kind="integer", bounds=(0, 110)),
        Column(name="sex", kind="categorical", categories=("f", "m")),
        Column(name="ward", kind="categorical", categories=("icu", "main", "day")),
        Column(name="region", kind="categorical", categories=("north", "south", "west")),
        Column(name="admitted", kind="datetime", bounds=days),
        Column(name="discharged", kind="datetime", bounds=days),
        Column(name="systolic", kind="numeric", bounds=(50, 250)),
        Column(name="diastolic", kind="numeric", bounds=(30, 150)),
        Column(name="died", kind="boolean"),
    )
    return rows, Schema(columns=columns, target="died", rows=n_rows)


def _drafted(frame: pd.DataFrame, target: str) -> Schema:
    """A schema of a public table, read off its rows: these are public."""
    columns = []
    for name in frame:
        values = frame[name]
        if pd.api.types.is_datetime64_any_dtype(values.dtype):
            columns.append(
                Column(name=name, kind="datetime", bounds=(str(values.min()), str(values.max() + pd.Timedelta("1D"))))
            )
        elif pd.api.types.is_numeric_dtype(values.dtype) and values.nunique() > 2:
            columns.append(
                Column(
                    name=name,
                    kind="numeric",
                    bounds=(values.min() - 1, values.max() + 1),
                    missing=bool(values.isna().any()),
                )
            )
        elif values.nunique() <= 40:
            words = tuple(sorted(map(str, values.dropna().unique())))
            columns.append(Column(name=name, kind="categorical", categories=words, missing=bool(values.isna().any())))
    return Schema(columns=tuple(columns), target=target, rows=len(frame))


def table(name: str) -> tuple[pd.DataFrame, Schema]:
    """Some rows of a table, and its schema with at most 14 columns."""
    if name == "hospital":
        return hospital(ROWS, 0)
    if name in ("diamonds", "flights"):
        frame = pd.read_parquet(data_folder() / f"{name}.parquet").sample(ROWS, random_state=0).reset_index(drop=True)
        coded = [
            c for c in frame if not pd.api.types.is_numeric_dtype(frame[c].dtype) and frame[c].nunique() in range(2, 13)
        ]
        schema = _drafted(frame.astype({coded[0]: str}), coded[0])
        frame = frame.astype({c.name: str for c in schema.columns if c.kind == "categorical"})
    else:
        benchmark = load(name)
        frame = pd.DataFrame(benchmark.train).sample(ROWS, random_state=0).reset_index(drop=True)
        schema = replace(benchmark.schema, rows=ROWS)
    kept = [c for c in schema.columns if c.name == schema.target or not c.depends_on][:14]
    kept += [c for c in schema.columns if c.name == schema.target and c not in kept]
    kept = [replace(c, depends_on=(), depends_on_map=()) for c in kept]
    return frame, Schema(columns=tuple(kept), target=schema.target, rows=ROWS)


def twelve_rules(schema: Schema) -> Schema:
    """The schema with a rule of every kind, made from its columns."""
    target, columns = schema.target, list(schema.columns)
    numbers = [c for c in columns if c.is_number and c.name != target]
    words = [c for c in columns if c.is_coded and c.kind != "boolean" and c.name != target and len(c.categories) > 1]
    while len(numbers) < 4:
        numbers.append(Column(name=f"number {len(numbers)}", kind="numeric", bounds=(1, 9 + len(numbers))))
    while len(words) < 3:
        words.append(Column(name=f"word {len(words)}", kind="categorical", categories=("a", "b", "c")))
    a, b, c, d = numbers[:4]
    e, f, g = words[:3]
    plain = {x.name: replace(x, special=(), special_as=None) for x in (a, b, c, d)}
    plain |= {x.name: replace(plain[x.name], missing=True) for x in (c, d)}
    known = {x.name: x for x in columns} | {x.name: x for x in (*numbers, *words)} | plain
    a, b, c, d = (known[x.name] for x in (a, b, c, d))
    q = {x.name: f"`{x.name}`" for x in known.values()}
    low, high = max(a.low, b.low), min(a.high, b.high)
    shift = 0.0 if low < high else a.high - b.low
    days = "date" if a.kind == "datetime" else "number"
    gap = f"({q[b.name]} - {q[a.name]})" if (a.kind == "datetime") == (b.kind == "datetime") else None
    order = (
        f"{q[a.name]} <= {q[b.name]} + {shift / 86400 if days == 'date' else shift!r}"
        if gap
        else f"{q[a.name]} is not missing"
    )
    made = (
        Column(name="made sum", kind="numeric", bounds=(-1e12, 1e12), decimals=2, missing=True),
        Column(name="made ratio", kind="numeric", bounds=(-1e9, 1e9), missing=True),
        Column(name="made flag", kind="boolean", missing=True),
        Column(name="made group", kind="ordinal", categories=("low", "high"), missing=True),
    )
    amounts = [x for x in (a, b, c, d) if x.kind != "datetime"] or [
        Column(name="number 0", kind="numeric", bounds=(1, 9))
    ]
    known |= {x.name: x for x in amounts}
    q |= {x.name: f"`{x.name}`" for x in amounts}
    m, n = amounts[0], amounts[-1]
    pairs = [(i, j) for i in range(len(f.categories)) for j in range(len(g.categories)) if (i + j) % 3 or i == j]
    permitted = tuple((f.categories[i], g.categories[j]) for i, j in pairs)
    first, second = e.categories[0], f.categories[0]
    rules: list[Any] = [
        order,
        f"`made sum` = {q[m.name]} + 2 * {q[n.name]}",
        f"`made ratio` = {q[m.name]} / (abs({q[n.name]}) + 1) ** 2",
        f"`made flag` = ({q[m.name]} > {(m.low + m.high) / 2!r})",
        f"`made group` = if {q[n.name]} < {(n.low + n.high) / 2!r} then 'low' else 'high'",
        f'if {q[e.name]} = "{first}" then {q[f.name]} = "{second}"',
        f'if {q[m.name]} > {m.low + 0.8 * (m.high - m.low)!r} then {q[e.name]} != "{e.categories[-1]}"',
        f'not ({q[f.name]} = "{f.categories[-1]}" and {q[n.name]} < {n.low + 0.05 * (n.high - n.low)!r})',
        Rule(missing_together=(c.name, d.name)),
        Rule(columns=(f.name, g.name), permitted=permitted),
        Rule(columns=(e.name, g.name), forbidden=((e.categories[-1], g.categories[0]),)),
        Rule(key="made id", pattern="[A-Z]{2}-[0-9]{6}"),
    ]  # fmt: skip
    every = (*known.values(), *made)
    return Schema(columns=every, target=target, rows=schema.rows, rules=tuple(rules))


def filled(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The rows with the columns that were made up for rules."""
    rng = np.random.default_rng(1)
    frame = frame.copy()
    for column in schema.columns:
        if column.name not in frame:
            some = (
                rng.uniform(column.low, column.high, len(frame))
                if column.is_number
                else rng.choice(column.categories, len(frame))
            )
            frame[column.name] = some
    return frame


def broken(tables: list[str], mechanisms: list[str]) -> None:
    """Count the rules that released rows break, which must be none."""
    for name in tables:
        frame, plain = table(name)
        schema = twelve_rules(plain)
        frame = filled(frame, schema)
        for mechanism in mechanisms:
            line: dict[str, Any] = {"table": name, "mechanism": mechanism, "rules": len(schema.rules)}
            start = time.perf_counter()
            try:
                asked = replace(schema, unit=OF_REPORTS) if mechanism in REPORTING else schema
                fitted = sf.fit(BRIEF.get(mechanism, mechanism), frame, BUDGET, schema=asked, seed=1)
                check, n_rows = RuleCheck(schema), min(ROWS, fitted.sampled.default_rows)
                for piece in fitted.pieces(n_rows, seed=2):
                    check.add(piece)
                line |= {"rows": n_rows, "broken": check.problems}
            except (PlanError, SchemaError, MissingLibraryError) as error:
                line |= {"refused": str(error).split(". ")[0]}
            print(json.dumps(line | {"seconds": round(time.perf_counter() - start, 1)}), flush=True)


def utility(tables: list[str], seeds: list[int], which: list[bool]) -> None:
    """Score releases with and without rules that are true, in the benchmark's own terms."""
    for name in tables:
        if name == "adult":
            benchmark, rules = load("adult"), TRUE_OF_ADULT
        else:
            (train, schema), (test, _) = hospital(30_000, 0), hospital(10_000, 1)
            benchmark, rules = make_benchmark("hospital", train=train, test=test, schema=schema), TRUE_OF_HOSPITAL
        for declared in (rules if with_rules else () for with_rules in which):
            asked = replace(benchmark, schema=replace(benchmark.schema, rules=declared))
            for line in run(asked, epsilon=1.0, method="3a-table", seeds=seeds):
                kept = ("seed", "value", "tvd_1way", "tvd_2way", "value_n", "tvd_1way_n", "tvd_2way_n", "real_value")
                print(
                    json.dumps({"table": name, "rules": len(declared), **{key: line[key] for key in kept}}), flush=True
                )


def follows(cases: list[str], seeds: list[int]) -> None:
    """How many released rows have what follows in the real ones, and how far columns are from theirs (categories, whole numbers)."""
    for name, seed in ((name, seed) for name in cases for seed in seeds):
        split = CASES[name].load()
        data, source = sf.Sensitive.read(split.train, split.schema), NoiseSource(research_seed=1_000 + seed)
        fitted = sf.fit("3a-table", data, BUDGET, seed=seed, source=source)
        rows = fitted.model.sample(len(split.train), seed=seed).table
        line: dict[str, Any] = {"case": name, "seed": seed}
        for column in (c for c in split.schema.columns if c.is_coded or c.kind == "integer"):
            real, made = (x[column.name].astype(str).value_counts(normalize=True) for x in (split.train, rows))
            line[f"tvd {column.name}"] = round(float(real.sub(made, fill_value=0).abs().sum() / 2), 4)
        for column in (c for c in split.schema.columns if len(c.depends_on) == 1):
            known = split.train.drop_duplicates(column.depends_on[0]).set_index(column.depends_on[0])[column.name]
            expected = rows[column.depends_on[0]].astype(known.index.dtype).map(known)
            right = expected.astype(str) == rows[column.name].astype(str)
            line[f"obey {column.name}"] = round(float(right.mean()), 4)
        print(json.dumps(line), flush=True)


def timed(n_rows: int) -> None:
    """Draw rows of one model with and without rules that are true of the private rows; in seconds of the processor."""
    benchmark = load("adult")
    schema = replace(benchmark.schema, rules=TRUE_OF_ADULT)
    start = time.process_time()
    fitted = sf.fit("3a-table", benchmark.train, BUDGET, schema=schema, seed=1)
    fitting = time.process_time() - start
    fitted.sample(1_000)
    for _ in range(3):
        took = []
        for declared in (schema.without_rules(), schema):
            start = time.process_time()
            for piece in draw_pieces(fitted.sampled, n_rows, schema=declared, seed=3):
                _ = len(piece)
            took.append(time.process_time() - start)
        plain, ruled = took
        more = {"without": round(plain, 2), "with": round(ruled, 2), "of_drawing": round(ruled / plain - 1, 3)}
        print(
            json.dumps(
                {
                    "rows": n_rows,
                    "fit": round(fitting, 1),
                    **more,
                    "of_release": round((ruled - plain) / (plain + fitting), 3),
                }
            ),
            flush=True,
        )


def mechanisms_of_rows() -> list[str]:
    """Every mechanism that gives rows."""
    return [name for name in registered_names() if not issubclass(registered(name), Learner)]


if __name__ == "__main__":
    what, *more = sys.argv[1:] or ["broken"]
    if what == "broken":
        asked = [part.split(",") for part in more]
        broken(asked[0] if asked else list(TABLES), asked[1] if len(asked) > 1 else mechanisms_of_rows())
    elif what == "utility":
        which = [word == "with" for word in more if word in ("with", "without")] or [False, True]
        names = [name for name in more if name in TABLES] or ["adult", "hospital"]
        utility(names, [int(seed) for seed in more if seed.isdigit()] or [1, 2, 3, 4, 5], which)
    elif what == "follows":
        follows(more[0].split(","), [int(seed) for seed in more[1:]] or [1, 2, 3, 4, 5])
    else:
        timed(int(more[0]) if more else 1_000_000)
