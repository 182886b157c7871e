"""How long a release takes on a cluster that nobody has tried: a model with few terms, from what was measured on one machine.

    seconds = start + read + passes * (told + mapped + added) + prepared + driver + write

`scale_costs.py` measures what a cell, a part and the driver cost; `scale_reduce.py` plays one pass through event by event, and
tests hold the model against it. What a network does is assumed and stands in `Pass`. docs/scale.md shows what comes of it.
"""

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scale_reduce import Luck, Pass
from scipy.special import ndtr

RESULTS = Path(__file__).parent / "results" / "scale.jsonl"
PARTS_PER_WORKER = 4
#: Seconds until workers have imported the package. Assumed.
START = 30.0
MILLION = 10**6


@dataclass(frozen=True)
class Exchange:
    """What follows from the plan and from no row, for one width of tables.

    Attributes:
        passes: Sums over all rows. Some steps are used less often than planned: the most that was seen.
        task_bytes: What every worker is sent, mean over passes.
        sums_bytes: What comes back from a part, mean over passes.
        sums_bytes_most: The same at the widest pass.
        add: Processor seconds in which the driver reads and adds the sums of a part.
        driver: Processor seconds between the doors.
        write: For a million cells that are drawn and written.
    """

    passes: int
    task_bytes: float
    sums_bytes: float
    sums_bytes_most: float
    add: float
    driver: float
    write: float


@dataclass(frozen=True)
class Costs:
    """What rows cost, in processor seconds, for one width of tables.

    Attributes:
        read: For a million cells, read, encoded and packed.
        cell: For a million cells and a pass: map, clip, sum.
        part: For a part and a pass, however few its rows are: the map is tried on public rows first.
        prepare: For a million cells, all prepared columns together.
        write: For a million cells that are drawn and written.
        packed_bytes: Of a cell in memory, prepared columns counted in.
        gap: How far the straight line of the passes is from a run at most, as a share of it.
    """

    read: float
    cell: float
    part: float
    prepare: float
    write: float
    packed_bytes: float
    gap: float


@cache
def bytes_of(columns: int, results: Path = RESULTS) -> Exchange:
    """Means over the releases of one width, and the most passes."""
    runs = _runs(columns, results)
    mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return Exchange(
        passes=max(run["passes"] for run in runs),
        task_bytes=mean["task_bytes"],
        sums_bytes=mean["sums_bytes"],
        sums_bytes_most=mean["sums_bytes_most"],
        add=mean["add_s"],
        driver=mean["driver_s"],
        write=mean["write_s_per_million_cells"],
    )


@cache
def costs_of(columns: int, results: Path = RESULTS) -> Costs:
    """Straight lines through the releases of one width: slopes are costs of cells, what is left at no rows that of parts."""
    runs = _runs(columns, results)
    if len({run["rows"] for run in runs}) < 2:
        raise KeyError(f"results/{results.name} has not two sizes of {columns} columns. Add them to scale_costs.py.")
    cells = np.array([run["rows"] * columns / MILLION for run in runs])
    per_pass = np.array([run["map_s"] / run["passes"] for run in runs])
    cell, at_no_rows = np.polyfit(cells, per_pass, 1).tolist()
    read, prepare = (np.polyfit(cells, [run[key] for run in runs], 1)[0].item() for key in ("read_s", "prepare_s"))
    largest = max(runs, key=lambda run: run["rows"])
    return Costs(
        read=read,
        cell=cell,
        part=at_no_rows / largest["parts"],
        prepare=prepare,
        write=bytes_of(columns, results).write,
        packed_bytes=largest["packed_bytes"] / (largest["rows"] * columns),
        gap=float(np.max(np.abs((at_no_rows + cell * cells) / per_pass - 1))),
    )


def _runs(columns: int, results: Path) -> list[dict[str, Any]]:
    runs = [run for run in map(json.loads, results.read_text("utf-8").splitlines()) if run.get("columns") == columns]
    if not runs:
        raise KeyError(f"results/{results.name} has no release of {columns} columns. Add it to scale_costs.py.")
    return runs


def pass_of(rows: int, columns: int, workers: int, *, parts: int | None = None) -> Pass:
    """One pass over rows in so many parts: four for each worker unless told otherwise."""
    costs, parts = costs_of(columns), PARTS_PER_WORKER * workers if parts is None else parts
    return _passing(columns, workers, parts, costs.part + rows * columns / MILLION * costs.cell / parts)


def _passing(columns: int, workers: int, parts: int, part_seconds: float) -> Pass:
    sent = bytes_of(columns)
    return Pass(
        workers=workers,
        parts=parts,
        part_seconds=part_seconds,
        task_bytes=sent.task_bytes,
        sums_bytes=sent.sums_bytes,
        add_seconds=sent.add,
    )


def seconds_of_pass(asked: Pass, *, fan_in: int | None) -> dict[str, float]:
    """What one pass takes: until all are told, until the last part is mapped, until all is added up."""
    tasks, answer = asked.task_bytes / asked.bandwidth, asked.one_answer * _mean_of(asked.luck.spread)
    waves = asked.parts / asked.workers
    mean, last = _part_factors(asked.luck, min(asked.workers, asked.parts))
    mapped = asked.part_seconds * (max(0.0, waves - 1) * mean + last)
    mapped = max(mapped, asked.parts * asked.dispatch + asked.part_seconds * last)
    if fan_in is None:
        told = asked.latency + asked.workers * tasks
        return {"told": told, "mapped": mapped, "added": asked.latency + asked.parts * answer}
    hops, levels = _levels(asked.workers, fan_in + 1), _levels(asked.parts, fan_in)
    told = hops * (asked.latency + fan_in * tasks)
    return {"told": told, "mapped": mapped, "added": levels * asked.latency + _along_a_branch(asked, fan_in) * answer}


def _along_a_branch(asked: Pass, fan_in: int) -> int:
    """Answers that are added one after the other between a leaf and the root."""
    count, nodes = 0, asked.parts
    while nodes > 1:
        count += min(fan_in, nodes) * max(1, math.ceil(math.ceil(nodes / fan_in) / asked.workers))
        nodes = math.ceil(nodes / fan_in)
    return count


def _levels(nodes: int, fan: int) -> int:
    levels = 0
    while nodes > 1:
        nodes, levels = math.ceil(nodes / fan), levels + 1
    return levels


@cache
def _part_factors(luck: Luck, workers: int) -> tuple[float, float]:
    """The mean time of a part, runs that are lost included, and that of the slowest of one wave; as multiples."""
    times = np.linspace(0.0, 3 * luck.times_as_long, 6_001)[1:]
    usual, slow = (ndtr(np.log(times / factor) / luck.spread) for factor in (1.0, luck.times_as_long))
    done = (1 - luck.slow) * usual + luck.slow * slow
    again = ndtr(np.log(times / 1.5) / 0.2)  # a run that is lost has taken half a run in the mean
    all_are_done = ((1 - luck.lost) * done + luck.lost * again) ** workers
    slowest = float(np.sum(1 - all_are_done) * (times[1] - times[0]))
    mean = _mean_of(luck.spread) * (1 + luck.slow * (luck.times_as_long - 1))
    return mean * (1 + luck.lost / 2), slowest


def _mean_of(spread: float) -> float:
    return math.exp(spread**2 / 2)


def seconds_of_exchange(columns: int, workers: int, *, fan_in: int | None) -> float:
    """What telling and adding take in all passes together: no row matters, only how many parts there are."""
    one = seconds_of_pass(_passing(columns, workers, PARTS_PER_WORKER * workers, 0.0), fan_in=fan_in)
    return bytes_of(columns).passes * (one["told"] + one["added"])


def seconds_of_dispatch(columns: int, workers: int) -> float:
    """What the scheduler needs to hand out all parts in all passes; workers are busy meanwhile."""
    one = _passing(columns, workers, PARTS_PER_WORKER * workers, 0.0)
    return bytes_of(columns).passes * one.parts * one.dispatch


def predicted_locally(rows: int, columns: int, processes: int) -> dict[str, float]:
    """The fit of `engine="local"`: this process alone reads, and nothing goes over a network."""
    costs, sent, cells = costs_of(columns), bytes_of(columns), rows * columns / MILLION
    mapped = costs.part + cells * costs.cell / processes
    return {
        "read": cells * costs.read,
        "mapped": sent.passes * mapped + cells * costs.prepare / processes,
        "added": sent.passes * processes * sent.add,
        "driver": sent.driver,
    }


def predicted(
    rows: int, columns: int, workers: int, *, fan_in: int | None = None, parts: int | None = None
) -> dict[str, float]:
    """Seconds of a release, stage by stage, with as many synthetic rows as real ones, written by one process."""
    costs, sent, cells = costs_of(columns), bytes_of(columns), rows * columns / MILLION
    one = seconds_of_pass(pass_of(rows, columns, workers, parts=parts), fan_in=fan_in)
    return {
        "start": START,
        "read": cells * costs.read / workers,
        "mapped": sent.passes * one["mapped"] + cells * costs.prepare / workers,
        "told and added": sent.passes * (one["told"] + one["added"]),
        "driver": sent.driver,
        "write": cells * costs.write,
    }
