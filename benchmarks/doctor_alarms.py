"""How often `sfumato doctor` raises a false alarm, and how often it finds a leak that was put there.

    make doctor-alarms                                   # hundreds of tables, then results/doctor.md
    .venv/bin/python benchmarks/doctor_alarms.py --table # the page alone, from results/doctor.jsonl

Every table is drawn from a made-up population (`populations.py`), with as many rows held back as half of it has. Honest tables: fresh
rows of the same population, and releases of this package at epsilon 1. Leaky ones: a release of which 1 % was replaced by real
rows; the same with each number a little off; columns that were shuffled, so that every marginal is exact; rows drawn from
exact histograms of single columns. Resumable: a line for each table.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from populations import RULES, Population

import sfumato as sf
from sfumato.lab.doctor.findings import ALARM
from sfumato.lab.doctor.panel import examine

RESULTS = Path(__file__).parent / "results" / "doctor.jsonl"
PAGE = RESULTS.with_suffix(".md")
SIZES = (500, 2_000, 6_000)
HONEST = ("fresh rows", "auto at epsilon 1", "independent-histograms at epsilon 1", "mst at epsilon 1")
LEAKY = ("1 % copied", "1 % nearly copied", "columns shuffled", "drawn from exact histograms")


def population(seed: int) -> Population:
    """Another rule, size and signal for each seed."""
    rng = np.random.default_rng(seed)
    rule = sorted(RULES)[seed % len(RULES)]
    return Population(rule=rule, columns=int(rng.integers(4, 11)), rate=0.3, strength=2.0, seed=seed)


def released(real: pd.DataFrame, schema: sf.Schema, *, method: str, seed: int) -> pd.DataFrame:
    data = sf.Sensitive.read(real, schema)
    fitted = sf.fit(method, data, sf.Budget(epsilon=1.0, delta=1e-6), seed=seed)
    return fitted.sample(len(real)).table


def copied(real: pd.DataFrame, synthetic: pd.DataFrame, *, jitter: float, seed: int) -> pd.DataFrame:
    """The synthetic rows, the first 1 % of them replaced by real ones; numbers off by a share of their quartiles' distance."""
    rng = np.random.default_rng(seed)
    n_copies = max(1, len(real) // 100)
    copies = real.sample(n_copies, random_state=seed).reset_index(drop=True)
    for name in copies.select_dtypes("float"):
        quartiles = real[name].quantile([0.25, 0.75])
        copies[name] += jitter * (quartiles.iloc[1] - quartiles.iloc[0]) * rng.normal(size=n_copies)
    return pd.concat([copies, synthetic.iloc[n_copies:]], ignore_index=True)


def tables(n_rows: int, seed: int) -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    """Synthetic tables of a population by what was done to them."""
    drawn = population(seed)
    real, fresh = drawn.draw(n_rows, seed=1), drawn.draw(n_rows, seed=3)
    yield "fresh rows", lambda: fresh
    for name in HONEST[1:]:
        yield name, lambda name=name: released(real, drawn.schema, method=name.split()[0], seed=seed)
    yield "1 % copied", lambda: copied(real, fresh, jitter=0.0, seed=seed)
    yield "1 % nearly copied", lambda: copied(real, fresh, jitter=1e-3, seed=seed)
    rng = np.random.default_rng(seed)
    yield "columns shuffled", lambda: pd.DataFrame({name: rng.permutation(real[name]) for name in real})
    yield "drawn from exact histograms", lambda: pd.DataFrame({name: rng.choice(real[name], n_rows) for name in real})


def run(n_rows: int, seed: int, done: set[tuple[str, int, int]]) -> Iterator[dict]:
    drawn = population(seed)
    real, holdout = drawn.draw(n_rows, seed=1), drawn.draw(n_rows // 2, seed=2)
    for name, make in tables(n_rows, seed):
        if (name, n_rows, seed) in done:
            continue
        synthetic = make()
        for held_back in (None, holdout):
            found = examine(real, synthetic, holdout=held_back)
            p_values = {finding.check: finding.p_value for finding in found.findings}
            leaks = [finding.check for finding in found.leaks]
            least = max((attack.least_epsilon for attack in found.attacks), default=None)
            yield {
                "table": name, "rows": n_rows, "seed": seed, "holdout": held_back is not None,
                "leaks": leaks, "p_values": p_values, "least_epsilon": least,
            }  # fmt: skip


def page(lines: list[dict]) -> str:
    groups = defaultdict(list)
    for line in lines:
        groups[line["table"], line["holdout"]].append(line)
    head = (
        "# How often the doctor is wrong\n\n"
        f"Tables of {', '.join(f'{n:,}' for n in SIZES)} rows from made-up populations; half as many rows held back where the third "
        f"column says so. A test raises an alarm where chance would do what was seen less than once in {1 / ALARM:,.0f} times. "
        "Written by `make doctor-alarms`; the runs are in `doctor.jsonl`.\n\n"
    )
    rows = ["| table | tables | held back | with an alarm | which tests |", "|---|---|---|---|---|"]
    for name in (*HONEST, *LEAKY):
        for holdout in (False, True):
            mine = groups[name, holdout]
            if not mine:
                continue
            alarms = sum(bool(line["leaks"]) for line in mine)
            which = Counter(check for line in mine for check in line["leaks"])
            told = ", ".join(f"{check} {count}" for check, count in which.most_common()) or "none"
            held = "yes" if holdout else "no"
            rows.append(f"| {name} | {len(mine)} | {held} | {alarms} ({alarms / len(mine):.1%}) | {told} |")
    heads = " | ".join(f"{n:,}" for n in SIZES)
    sizes = ["", "", "The leaky tables by their size, as alarms of tables:", "", f"| table | held back | {heads} |"]
    sizes.append("|---|---|" + "---|" * len(SIZES))
    for name in LEAKY:
        for holdout in (False, True):
            cells = []
            for n_rows in SIZES:
                mine = [line for line in groups[name, holdout] if line["rows"] == n_rows]
                cells.append(f"{sum(bool(line['leaks']) for line in mine)} of {len(mine)}")
            sizes.append(f"| {name} | {'yes' if holdout else 'no'} | {' | '.join(cells)} |")
    honest = [line for line in lines if line["table"] in HONEST]
    tests = sum(p is not None for line in honest for p in line["p_values"].values())
    alarms = sum(len(line["leaks"]) for line in honest)
    foot = (
        f"\n\nOver all honest tables: {alarms} alarms in {tests:,} tests. The rate that is stated for each test, {ALARM:g}, is an "
        "upper bound: most tests are discrete, and cautious.\n\n"
        "What cannot be found: fewer than 18 copied rows where nothing is held back and the synthetic table is as long as the real "
        "one (1 % of 1,700 rows and less), since so many equal rows may be chance by all that the real rows alone can say; and rows "
        "drawn at random from exact histograms of common categories, where chance in the drawing is larger than an honest noise would be.\n"
    )
    return head + "\n".join(rows) + "\n".join(sizes) + foot


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=60, help="populations of each size")
    parser.add_argument("--table", action="store_true", help="write the page alone")
    asked = parser.parse_args()
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    done = {(line["table"], line["rows"], line["seed"]) for line in lines if line["holdout"]}
    if not asked.table:
        with RESULTS.open("a") as file:
            for seed in range(asked.seeds):
                for n_rows in SIZES:
                    for line in run(n_rows, seed, done):
                        lines.append(line)
                        file.write(json.dumps(line) + "\n")
                        file.flush()
    PAGE.write_text(page(lines))
    print(PAGE)


if __name__ == "__main__":
    main()
