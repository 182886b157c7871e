"""The first hour: ten awkward tables from a file to a verified release, by the commands of the guide alone.

    python benchmarks/first_hour.py --folder build/first-hour --only clinic genes

Five tables are public (SFUMATO_DATA names their folder), five are made up. Each gets a folder with its file and the schema that
a person would write, and then: schema, check, plan, release with a private page, verify. Every command's words are kept beside
the file, and a line for docs/research/first-hour.md is printed.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

Column = dict[str, object]
Made = tuple[pd.DataFrame, dict[str, object], dict[str, Column]]
TABLES: dict[str, Callable[[np.random.Generator], Made]] = {}
#: Options of pandas for files that are not plain CSV.
WRITTEN = {"clinic": {"sep": ";", "encoding": "utf-8-sig"}}


def table(make: Callable[[np.random.Generator], Made]) -> Callable[[np.random.Generator], Made]:
    TABLES[make.__name__] = make
    return make


def public(name: str, rows: int | None = None) -> pd.DataFrame:
    found = pd.read_parquet(Path(os.environ["SFUMATO_DATA"]) / f"{name}.parquet")
    return found if rows is None else found.sample(rows, random_state=0)


def number(low: float, high: float, kind: str = "numeric", **more: object) -> Column:
    return {"type": kind, "bounds": [low, high], **more}


def one(*names: str, kind: str = "categorical", **more: object) -> Column:
    return {"type": kind, "categories": list(names), **more}


BOOLEAN: Column = {"type": "boolean"}


@table
def mortgage(rng: np.random.Generator) -> Made:
    ratio = number(0, 3)
    words = dict.fromkeys(("black", "deny", "dmi", "single"), BOOLEAN)
    gaps = {name: BOOLEAN | {"missing": True} for name in ("pbcr", "self")}
    codes = {"ccs": number(1, 6), "mcs": number(1, 4), "uria": number(1, 11), "comdominiom": number(0, 1, "integer")}
    return public("mortgage"), {"target": "deny"}, {**words, **gaps, **codes, "dir": ratio, "hir": ratio, "lvr": ratio}


@table
def insurance(rng: np.random.Generator) -> Made:
    schools = one("<9years", "9-11years", "12years", "13-15years", "16years", ">16years", kind="ordinal")
    columns = {
        **dict.fromkeys(("whi", "hhi", "hhi2", "hispanic"), BOOLEAN),
        "education": schools,
        "experience": number(-1, 60),
        "husby": number(0, 200),
        "kids618": number(0, 10, "integer"),
        "kidslt6": number(0, 10, "integer"),
        "race": one("white", "black", "other"),
        "region": one("northcentral", "other", "south", "west"),
        "whrswk": number(0, 90, "integer"),
    }
    return public("health_insurance", 5_000), {"target": "whi"}, columns


@table
def diamonds(rng: np.random.Generator) -> Made:
    sizes = {"x": number(0, 12), "y": number(0, 12), "z": number(0, 8), "carat": number(0, 5.5)}
    grades = {
        "cut": one("Fair", "Good", "Very Good", "Premium", "Ideal", kind="ordinal"),
        "color": one(*"JIHGFED", kind="ordinal"),
        "clarity": one("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF", kind="ordinal"),
    }
    others = {"depth": number(40, 80), "table": number(40, 100), "price": number(300, 20_000, "integer")}
    return public("diamonds", 5_000), {"target": "price"}, {**sizes, **grades, **others}


@table
def flights(rng: np.random.Generator) -> Made:
    delay = number(-60, 600, missing=True)
    columns = {
        "arr_delay": delay,
        "dep_delay": delay,
        "air_time": number(0, 700, missing=True),
        "distance": number(0, 5_000, "integer"),
        "month": number(1, 12, "integer"),
        "day": number(1, 31, "integer"),
        "hour": number(0, 23, "integer"),
        "carrier": one(
            *["UA", "AA", "B6", "DL", "EV", "MQ", "US", "WN", "VX", "FL", "AS", "9E", "F9", "HA", "YV", "OO"]
        ),
        "origin": one("EWR", "LGA", "JFK"),
        "dest": {"type": "categorical", "discover": True, "missing": True},
        "time_hour": {"type": "datetime", "bounds": ["2013-01-01", "2014-01-01"]},
    }
    return public("flights", 5_000), {"target": "arr_delay"}, columns


@table
def ratings(rng: np.random.Generator) -> Made:
    rows = public("lecture_ratings")
    rows = rows[rows["s"].isin(rng.choice(rows["s"].unique(), 200, replace=False))]
    columns = {
        "studage": number(2, 8, "integer"),
        "lectage": number(1, 6, "integer"),
        "service": BOOLEAN,
        "dept": one(*map(str, range(1, 16))),
        "y": one(*map(str, range(1, 6)), kind="ordinal"),
    }
    return rows, {"target": "y", "person": "s", "max_rows": 20}, columns


@table
def clinic(rng: np.random.Generator) -> Made:
    n = 4_000
    age = rng.integers(18, 90, n)
    sugar = rng.normal(95 + age / 3, 15)
    ill = rng.random(n) < 1 / (1 + np.exp(-(sugar - 115) / 8))
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1_000, n), unit="D")
    rows = pd.DataFrame(
        {
            "Größe in cm": [f"{x:.1f}".replace(".", ",") for x in rng.normal(172, 9, n)],
            "Kosten €": [f"{x:,.0f}".replace(",", ".") for x in rng.lognormal(8, 0.6, n)],
            "Aufnahme": day.strftime("%d.%m.%Y"),
            "Alter": age,
            "Zucker": [f"{x:.1f}".replace(".", ",") for x in sugar],
            "Station": rng.choice(["Süd", "Nord", "Überwachung"], n),
            "Raucher": np.where(rng.random(n) < 0.3, "Ja", "Nein"),
            "krank": np.where(ill, "J", "N"),
        }
    )
    columns = {
        "Größe in cm": number(100, 230),
        "Kosten €": number(0, 50_000),
        "Aufnahme": {"type": "datetime", "bounds": ["2019-01-01", "2024-01-01"]},
        "Alter": number(0, 110, "integer"),
        "Zucker": number(30, 300),
        "Station": one("Nord", "Süd", "Überwachung"),
        "Raucher": BOOLEAN,
        "krank": BOOLEAN | {"true": ["J"], "false": ["N"]},
    }
    return rows, {"target": "krank"}, columns


def mended_clinic(rows: pd.DataFrame) -> pd.DataFrame:
    """What `check` asks for: decimal points, no separators, ISO dates."""
    commas = {name: rows[name].str.replace(",", ".") for name in ("Größe in cm", "Zucker")}
    return rows.assign(
        **commas,
        **{"Kosten €": rows["Kosten €"].str.replace(".", "", regex=False)},
        Aufnahme=pd.to_datetime(rows["Aufnahme"], format="%d.%m.%Y").dt.strftime("%Y-%m-%d"),
    )


@table
def bank(rng: np.random.Generator) -> Made:
    n = 8_000
    income = rng.lognormal(10, 0.5, n)
    late = rng.random(n) < 0.08 / (1 + income / 25_000)
    zips = [f"{20_000 + 7 * at}" for at in range(800)]
    rows = pd.DataFrame(
        {
            "income": np.where(rng.random(n) < 0.1, -999, income.round(2)),
            "last_call_days": np.where(rng.random(n) < 0.6, 999, rng.integers(0, 30, n)),
            "zip": rng.choice(zips, n),
            "job": rng.choice(["blue", "white", "self", "none"], n),
            "married": np.where(rng.random(n) < 0.5, "Y", "N"),
            "late": np.where(late, "Y", "N"),
        }
    )
    columns = {
        "income": number(0, 200_000, special=[-999], decimals=2),
        "last_call_days": number(0, 30, "integer", special=[999]),
        "zip": {"type": "categorical", "categories_file": "zip.csv"},
        "job": one("blue", "white", "self", "none"),
        "married": BOOLEAN,
        "late": BOOLEAN,
    }
    Path("zip.csv").write_text("zip\n" + "\n".join(zips) + "\n")
    return rows, {"target": "late"}, columns


@table
def forest(rng: np.random.Generator) -> Made:
    n, soils = 6_000, [f"soil_{at}" for at in range(12)]
    soil = rng.integers(0, 12, n)
    height, slope = rng.normal(2_500, 400, n), rng.gamma(3, 5, n)
    kind = np.digitize(height + 40 * soil, [2_300, 2_700, 3_100, 3_700])
    rows = pd.DataFrame({"height": height.round(), "slope": slope.round(1)})
    rows = rows.assign(**{name: (soil == at).astype(int) for at, name in enumerate(soils)}, cover=kind)
    columns = {
        "height": number(500, 4_500),
        "slope": number(0, 90),
        **{name: number(0, 1, "integer") for name in soils},
        "cover": one(*"01234"),
    }
    return rows, {"target": "cover", "one_of": soils}, columns


@table
def shop(rng: np.random.Generator) -> Made:
    n = 5_000
    day = pd.Series(pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"))
    spelled = np.stack([day.dt.strftime(form) for form in ("%Y-%m-%d", "%d.%m.%Y", "%b %d, %Y")])
    rows = pd.DataFrame(
        {
            "day": spelled[rng.integers(0, 3, n), np.arange(n)],
            "group": rng.choice(["food", "toys", "nan"], n),
            "note": [f"call {at} back" for at in range(n)],
            "paid €": rng.gamma(2, 20, n).round(2),
        }
    )
    columns = {
        "day": {"type": "datetime", "bounds": ["2022-01-01", "2024-01-01"], "missing": True},
        "group": one("food", "toys", "nan"),
        "paid €": number(0, 500, decimals=2),
    }
    return rows, {}, columns


@table
def genes(rng: np.random.Generator) -> Made:
    n, width = 3_000, 150
    x = rng.normal(size=(n, width))
    y = x[:, :10] @ rng.normal(size=10) + 0.5 * x[:, 10] * x[:, 11] + rng.normal(scale=0.7, size=n)
    rows = pd.DataFrame(x.round(3), columns=[f"gene_{at}" for at in range(width)]).assign(dose=y.round(3))
    return rows, {"target": "dose"}, {**{f"gene_{at}": number(-5, 5) for at in range(width)}, "dose": number(-20, 20)}


def toml(dataset: dict[str, object], columns: dict[str, Column], *, rows: int) -> str:
    privacy = {key: dataset.pop(key) for key in ("person", "max_rows") if key in dataset}
    parts = {"dataset": {**dataset, "rows": rows}, "privacy": privacy}
    parts |= {f"columns.{json.dumps(name, ensure_ascii=False)}": column for name, column in columns.items()}
    text = ""
    for head, body in parts.items():
        text += f"[{head}]\n" + "".join(f"{key} = {json.dumps(v, ensure_ascii=False)}\n" for key, v in body.items())
    return re.sub(r'"(\d{4}-\d\d-\d\d)"', r"\1", text)  # dates stand without quotes


def command(*words: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "sfumato.cli", *words], capture_output=True, text=True, check=False)
    Path(f"{words[0]}.txt").write_text(done.stdout + done.stderr)
    return done.returncode, done.stdout


def go(name: str) -> str:
    """Make the file and its schema here, and walk through the guide."""
    rows, dataset, columns = TABLES[name](np.random.default_rng(len(name)))
    size = round(len(rows), -2)
    Path("schema.toml").write_text(toml(dataset, columns, rows=size))
    rows.to_csv("data.csv", index=False, **WRITTEN.get(name, {}))
    drafted, _ = command("schema", "data.csv")
    if drafted:
        drafted, _ = command("schema", "data.csv", "--header")
    checked, said = command("check", "data.csv", "--schema", "schema.toml", "--json")
    faults = [f"{f['column'] or '-'}: {f['what']}" for f in json.loads(said)["findings"] if f["is_fault"]]
    if name == "clinic":
        mended_clinic(rows).to_csv("data.csv", index=False, **WRITTEN[name])
    command("plan", "schema.toml", "--epsilon", "1")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    options = ["--schema", "schema.toml", "--epsilon", "1", "--out", "release", "--force", "--json"]
    released, told = command("release", "data.csv", *options, "--private-page", "mine.html")
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    verified, _ = command("verify", "release")
    warnings = json.loads(told)["warnings"] if released == 0 else ["refused"]
    page = Path("mine.html").read_text() if released == 0 else ""
    real, synthetic, *_ = [*re.findall(r"<strong>(-?\d\.\d{3})</strong>", page), "-", "-"]
    codes = f"draft {drafted}, check {checked}, release {released}, verify {verified}"
    lines = [f"{name}: {len(rows):,} x {rows.shape[1]}; {codes}; real {real}, release {synthetic}; {seconds:.0f} s"]
    return "\n".join([*lines, *(f"  fault: {f}" for f in faults[:6]), *(f"  warning: {w}" for w in warnings)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/first-hour"))
    parser.add_argument("--only", nargs="*", choices=[*TABLES], default=[*TABLES])
    options = parser.parse_args()
    root = options.folder.resolve()
    for name in options.only:
        (root / name).mkdir(parents=True, exist_ok=True)
        os.chdir(root / name)
        print(go(name), flush=True)


if __name__ == "__main__":
    main()
