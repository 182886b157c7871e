"""The tables of docs/scale.md, from results/scale.jsonl, results/engines.jsonl and the model; and those of docs/research/scale.md."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scale_model import (
    MILLION,
    PARTS_PER_WORKER,
    RESULTS,
    bytes_of,
    costs_of,
    predicted,
    predicted_locally,
    seconds_of_dispatch,
    seconds_of_exchange,
)

ENGINES = Path(__file__).parent / "results" / "engines.jsonl"
LOCAL = Path(__file__).parent / "results" / "local.jsonl"
LARGE = Path(__file__).parent / "results" / "large.jsonl"
WIDTHS, FITTED = (20, 50, 200), (20, 50)
FAN_IN = 32


def seconds(value: float) -> str:
    """A time as it is said.

    >>> [seconds(value) for value in (0.25, 12.3, 400, 30_000, 400_000)]
    ['0.2 s', '12 s', '7 min', '8.3 h', '4.6 days']
    """
    for unit, size, upto in (("s", 1, 120), ("min", 60, 7_200), ("h", 3_600, 172_800)):
        if value < upto:
            return f"{value / size:.1f} {unit}" if value < 10 or unit == "h" else f"{value / size:.0f} {unit}"
    return f"{value / 86_400:.1f} days"


def size(value: float) -> str:
    """Bytes as they are said.

    >>> [size(value) for value in (27_549, 611_242, 2.4e9, 8e12)]
    ['28 KB', '611 KB', '2.4 GB', '8.0 TB']
    """
    for unit, one in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= one:
            return f"{value / one:.0f} {unit}" if value >= 10 * one else f"{value / one:.1f} {unit}"
    return f"{value / 1e3:.0f} KB"


def costs() -> Iterator[str]:
    """What was measured, by width."""
    yield f"| | {' | '.join(f'{width} columns' for width in WIDTHS)} |"
    yield f"|---|{'---|' * len(WIDTHS)}"
    widths, fitted = [bytes_of(width) for width in WIDTHS], [costs_of(width) for width in FITTED]
    cells = {
        "passes over the rows": [str(w.passes) for w in widths],
        "a million cells and a pass: map, clip, sum": [f"{c.cell:.3f} s" for c in fitted],
        "a million cells, read, encoded and packed": [f"{c.read:.3f} s" for c in fitted],
        "a million cells, all prepared columns": [f"{c.prepare:.3f} s" for c in fitted],
        "a million cells, drawn and written": [f"{w.write:.3f} s" for w in widths],
        "a part and a pass, however few its rows": [f"{1_000 * c.part:.1f} ms" for c in fitted],
        "the driver between the doors": [f"{w.driver:.1f} s" for w in widths],
        "a task": [size(w.task_bytes) for w in widths],
        "the sums of a part, mean": [size(w.sums_bytes) for w in widths],
        "the sums of a part, widest pass": [size(w.sums_bytes_most) for w in widths],
        "the driver reads and adds the sums of a part": [f"{MILLION * w.add:.0f} µs" for w in widths],
        "a cell in memory, prepared columns counted in": [f"{c.packed_bytes:.1f} bytes" for c in fitted],
    }
    for name, shown in cells.items():
        yield f"| {name} | {' | '.join([*shown, *['-'] * (len(WIDTHS) - len(shown))])} |"


def predictions() -> Iterator[str]:
    """Releases that nobody has made."""
    yield (
        "| rows | columns | cores | packed rows a core | read | all passes, at the rows | told and added by the driver "
        f"| in a tree of {FAN_IN} | **fit** | write as many rows, one process |"
    )
    yield f"|{'---|' * 10}"
    for rows in (10**9, 10**10):
        for columns in FITTED:
            for cores in (100, 1_000):
                flat, tree = (predicted(rows, columns, cores, fan_in=fan_in) for fan_in in (None, FAN_IN))
                fit = sum(flat.values()) - flat["write"]
                held = rows * columns * costs_of(columns).packed_bytes / cores
                times = (flat["read"], flat["mapped"], flat["told and added"], tree["told and added"])
                yield (
                    f"| {_power(rows)} | {columns} | {cores:,} | {size(held)} | {' | '.join(map(seconds, times))} "
                    f"| **{seconds(fit)}** | {seconds(flat['write'])} |"
                )


def answers() -> Iterator[str]:
    """What the driver does with sums, by the number of cores: no row matters."""
    yield (
        "| columns | cores | parts | on the driver at once | handed out, all passes | told and added by the driver "
        "| tree of 8 | tree of 32 |"
    )
    yield f"|{'---|' * 8}"
    for columns in WIDTHS:
        for cores in (100, 1_000, 10_000):
            parts = PARTS_PER_WORKER * cores
            times = [seconds_of_dispatch(columns, cores)]
            times += [seconds_of_exchange(columns, cores, fan_in=fan_in) for fan_in in (None, 8, 32)]
            held = parts * bytes_of(columns).sums_bytes_most
            yield f"| {columns} | {cores:,} | {parts:,} | {size(held)} | {' | '.join(map(seconds, times))} |"


def person_bytes() -> dict[str, float]:
    """Bytes of a row on the driver where rows belong to persons."""
    (run,) = [run for run in _runs(RESULTS) if "person_rows" in run]
    return run


def limits() -> Iterator[str]:
    """What one process has to hold or to do as rows become more."""
    person = person_bytes()
    yield "| rows | hashes of persons arrive | while rows are chosen | numbers of persons stay | write 20 columns | write 50 |"
    yield f"|{'---|' * 6}"
    for rows in (10**7, 10**8, 10**9, 10**10):
        held = [size(rows * person[key]) for key in ("hash_bytes", "peak_bytes", "number_bytes")]
        written = [seconds(rows * columns / MILLION * costs_of(columns).write) for columns in FITTED]
        yield f"| {_power(rows)} | {' | '.join([*held, *written])} |"


def engines() -> Iterator[str]:
    """The same release with two processes and with eight, on a machine with 16 cores."""
    yield "| | two processes | eight processes | times as fast | the model says | measurements |"
    yield f"|{'---|' * 6}"
    shapes: dict[str, dict[str, Any]] = {}
    for run in _runs(ENGINES):
        name = "MNIST" if run.get("dataset") == "mnist" else f"{run['rows']:,} x {run['columns']}"
        shapes.setdefault(name, {})[run["engine"]] = run
    for name, runs in shapes.items():
        two, eight = runs["local:2"], runs["local:8"]
        same = "the same, bit for bit" if two["digest"] == eight["digest"] else "others"
        times = two["seconds"], eight["seconds"]
        said = "-"
        if two.get("columns") in FITTED:
            model = [sum(predicted_locally(two["rows"], two["columns"], processes).values()) for processes in (2, 8)]
            said = f"{model[0]:.1f} s, {model[1]:.1f} s, {model[0] / model[1]:.2f}"
        yield f"| {name} | {times[0]:.1f} s | {times[1]:.1f} s | {times[0] / times[1]:.2f} | {said} | {same} |"


def processes() -> Iterator[str]:
    """The same release with one process, two and eight, and what all processes hold together."""
    yield "| | one process | two | eight | two against one | eight against two | memory of one, two, eight |"
    yield f"|{'---|' * 7}"
    shapes: dict[str, dict[str, Any]] = {}
    for run in _runs(LOCAL):
        name = "MNIST" if run.get("dataset") == "mnist" else f"{run['rows']:,} x {run['columns']}"
        shapes.setdefault(name, {})[run["engine"]] = run
    for name, runs in shapes.items():
        for what in ("seconds", "doors"):
            one, two, eight = (runs.get(f"local:{n}", {}).get(what) for n in (1, 2, 8))
            held = ", ".join(
                f"{runs[e]['peak_mb']:,.0f} MB" if e in runs else "-" for e in ("local:1", "local:2", "local:8")
            )
            times = [f"{value:.1f} s" if value else "-" for value in (one, two, eight)]
            ratios = [f"{a / b:.2f}" if a and b else "-" for a, b in ((one, two), (two, eight))]
            label = f"{name}: fit" if what == "seconds" else "its doors alone"
            yield f"| {label} | {' | '.join([*times, *ratios])} | {held if what == 'seconds' else ''} |"


def large() -> Iterator[str]:
    """Releases of large tables, from files to files."""
    yield "| | cores | fit | draw and write | all | processor seconds | memory of all processes |"
    yield f"|{'---|' * 7}"
    for run in _runs(LARGE):
        times = [f"{run[part]['seconds']:.0f} s" if part in run else "-" for part in ("fit", "write")]
        all_of_it = f"{run['seconds']:.0f} s" if "seconds" in run else "-"
        shape, busy = f"{run['rows']:,} x {run['columns']}", f"{run['processor']:,.0f}"
        yield f"| {shape} | {run['cores']} | {' | '.join(times)} | {all_of_it} | {busy} | {run['peak_mb']:,.0f} MB |"


def _runs(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _power(rows: int) -> str:
    return f"10^{len(str(rows)) - 1}"


TABLES = {
    "scale-costs": costs,
    "scale-predictions": predictions,
    "scale-answers": answers,
    "scale-limits": limits,
    "engines": engines,
    "local-processes": processes,
    "large-tables": large,
}
FIGURES = {
    "scale-line-gap": lambda: f"{max(costs_of(columns).gap for columns in FITTED):.0%}",
    "scale-person-bytes": lambda: f"{person_bytes()['peak_bytes']:.0f}",
    "scale-person-rows": lambda: f"{256e9 / person_bytes()['peak_bytes'] / 1e9:.1f}",
}
