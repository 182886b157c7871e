"""How often intervals of `ask` hold the truth: many releases of tables whose truth is known. Prints a line of JSON for each release.

python benchmarks/intervals.py --releases 50 --jobs 16 >> benchmarks/results/intervals.jsonl
python benchmarks/intervals.py --read benchmarks/results/intervals.jsonl

The four tables are populations by rule (benchmarks/populations.py). Each release is of other rows and other noise, drawn and asked
without a folder or a report. The truth of counts and sums is that of the rows, of all else that of 500,000 other rows. Each line
says by `code` at which commit it was made, and `--read` tells commits and numbers of rows apart.
"""

import argparse
import json
import math
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from populations import Population

import sfumato as sf
from sfumato.asking.asking import Asker
from sfumato.asking.kinds import kind_of
from sfumato.asking.questions import read_question, values_of
from sfumato.public.schema.released import encoded

RULES = ("factors", "causes", "types", "crossed")
#: The constants of `sfumato.asking.totals` were chosen with the first four populations, and tried with the others.
TABLES = {rule: Population(rule, 5, 0.3, 2.0, seed) for seed, rule in enumerate(RULES)}
TABLES |= {f"{rule} again": Population(rule, 5, 0.3, 2.0, 10 + seed) for seed, rule in enumerate(RULES)}
QUESTIONS = (
    "count() where c1 = b and target = yes",
    "count() where c0 > 0.5 and c1 = a",
    "share(c0 > 0) where c3 = b",
    "share(target = yes) where c4 >= 45 and c1 = b",
    "mean(c0) where c1 = b",
    "mean(c4) where target = yes and c3 = c",
    "sum(c0) where target = yes",
    "sum(c4)",
    "quantile(c0, 0.75)",
    "median(c4) where c1 = b",
    "difference(c0, target = yes, target = no)",
    "difference(c4, c1 = a, c1 = b)",
    "ratio(target = yes, c1 = b)",
    "ratio(c4, 1 + c4 ** 2 / 100) where target = no",
    "correlation(c0, c4)",
    "correlation(c0, c4) where c1 = b",
)
_TRUTH_ROWS = 500_000


def name_of_kind(question: str) -> str:
    """One of eight: a median is a quantile."""
    function = question.split("(")[0]
    return "quantile" if function == "median" else function


def plain(question: str, table: pd.DataFrame, schema: sf.Schema) -> float:
    """The answer where all rows are known."""
    asked, rows = read_question(question, schema), encoded(table, schema)
    kept = {name: values[asked.members(rows)[:, 0]] for name, values in rows.items()}
    if asked.level is not None:
        return float(np.nanquantile(values_of(asked.arguments[0], kept), asked.level))
    kind = kind_of(asked, rows)
    return float(kind.value(kind.functions(kept).sum(axis=0)))


@cache
def truths(name: str) -> dict[str, float]:
    """Of the population."""
    rows, schema = TABLES[name].draw(_TRUTH_ROWS, seed=10**6), TABLES[name].schema
    return {
        question: plain(question, rows, schema) for question in QUESTIONS if not question.startswith(("count", "sum"))
    }


def one(job: tuple[str, int, int, float, str]) -> dict[str, object]:
    """One release, asked everything."""
    name, seed, n_rows, epsilon, method = job
    population = TABLES[name]
    rows, schema = population.draw(n_rows, seed=seed), population.schema
    fitted = sf.fit(method, rows, sf.Budget(epsilon=epsilon, delta=1e-5), schema=schema, seed=seed)
    asker = Asker(schema, fitted.mechanism, fitted.plan, fitted.answers, fitted.sample().table)
    found: dict[str, object] = {}
    for question in QUESTIONS:
        (estimate,) = asker.ask(question)
        truth = truths(name).get(question)
        truth = plain(question, rows, schema) if truth is None else truth
        found[question] = [truth, estimate.value, estimate.low, estimate.high, estimate.naive, estimate.from_model]
    facts = {"code": code(), "table": name, "seed": seed, "rows": n_rows, "epsilon": epsilon, "method": method}
    return {**facts, "answers": found}


@cache
def code() -> str:
    """The commit of the code that is run; with an end of its own where files differ from it."""
    said = ("git", "describe", "--always", "--abbrev=8", "--exclude=*", "--dirty")
    return subprocess.run(said, cwd=Path(__file__).parent, capture_output=True, text=True, check=True).stdout.strip()


def summary(lines: list[dict[str, object]]) -> dict[str, object]:
    """Coverage with its standard error, and widths over those of an interval that knows the root mean squared error of the estimates.

    Answers of one release have the same noise, so the standard error is that of means over releases.
    """
    by_question: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    by_release: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        held_here: dict[str, list[float]] = defaultdict(list)
        for question, numbers in line["answers"].items():  # type: ignore[attr-defined]
            by_question[str(line["table"]), question].append(numbers)
            if numbers[1] is not None:
                for key in (str(line["table"]), name_of_kind(question), "all"):
                    held_here[key].append(numbers[2] <= numbers[0] <= numbers[3])
        for key, values in held_here.items():
            by_release[key].append(float(np.mean(values)))
    held: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    each, said_of = {}, defaultdict[str, list[int]](list)
    for (table, question), answers in by_question.items():
        said = [numbers for numbers in answers if numbers[1] is not None]
        keys = (table, name_of_kind(question), "all")
        for key in keys:
            said_of[key] += [numbers[1] is not None for numbers in answers]
        if not said:
            continue
        truth, value, low, high = (np.array([numbers[k] for numbers in said]) for k in range(4))
        covered = float(np.mean((low <= truth) & (truth <= high)))
        error = math.sqrt(np.mean((value - truth) ** 2)) or math.nan  # of whole numbers, all may be right
        naive = np.array([numbers[4] for numbers in said])
        found = covered, float(np.mean(high - low)) / (3.92 * error), math.sqrt(np.mean((naive - truth) ** 2)) / error
        for key in keys:
            held[key].append(found)
        each[f"{table}: {question}"] = (*(round(number, 3) for number in found), len(said))
    means = {}
    for key, values in held.items():
        covered, width, gain = (round(float(x), 3) for x in np.nanmean(values, axis=0))
        of_releases = by_release[key]
        error = float(np.std(of_releases, ddof=1)) / math.sqrt(len(of_releases)) if len(of_releases) > 1 else math.nan
        means[key] = (covered, round(error, 4), width, gain, round(float(np.mean(said_of[key])), 3))
    return {
        "releases": len(lines),
        "coverage, its standard error, width, naive error over ours, answered": means,
        "each: coverage, width, naive error over ours, answers": dict(sorted(each.items())),
    }


def summaries(lines: list[dict[str, object]]) -> dict[str, dict[str, object]]:
    """One for each commit and number of rows."""
    parts: dict[str, list[dict[str, object]]] = defaultdict(list)
    for line in lines:
        parts[f"{line['code']}, {line['rows']:,} rows, epsilon {line['epsilon']}, {line['method']}"].append(line)
    return {key: summary(some) for key, some in parts.items()}


def main() -> None:
    """Run or read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=2, help="of each table")
    parser.add_argument("--tables", nargs="+", default=[f"{rule} again" for rule in RULES])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--method", default="3a-table")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--read", type=Path)
    asked = parser.parse_args()
    if asked.read:
        print(json.dumps(summaries([json.loads(line) for line in asked.read.read_text().splitlines()]), indent=1))
        return
    seeds = range(asked.first, asked.first + asked.releases)
    jobs = [(name, seed, asked.rows, asked.epsilon, asked.method) for seed in seeds for name in asked.tables]
    for name in asked.tables:
        truths(name)  # before the processes part
    with ProcessPoolExecutor(asked.jobs) as pool:
        for line in pool.map(one, jobs):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
