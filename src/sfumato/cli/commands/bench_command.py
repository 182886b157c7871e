"""sfumato bench: the evaluation protocol on a public dataset."""

import statistics
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console

from sfumato.cli.console import Quiet, answers, print_json, progress, table_of
from sfumato.cli.non_private import EpsilonIfPrivate, NonPrivate, chosen_baseline, is_baseline, needed, say_not_private
from sfumato.cli.options import MechanismName, Settings, chosen_mechanism
from sfumato.lab.benchmark.datasets import DELTA, BenchmarkError, load, names
from sfumato.lab.benchmark.fetching import fetch
from sfumato.lab.benchmark.learners import IMAGE_LEARNERS, TABLE_LEARNERS
from sfumato.lab.benchmark.protocol import Spread, run, summarise
from sfumato.public.budget import Budget

_LEARNERS = tuple(dict.fromkeys((*IMAGE_LEARNERS, *TABLE_LEARNERS)))


def bench(
    dataset: Annotated[str, typer.Argument(help=f"One of {', '.join(names())}.")],
    epsilon: EpsilonIfPrivate = None,
    mechanism_name: MechanismName = "auto",
    learner: Annotated[
        list[str] | None,
        typer.Option(
            help=f"One of {', '.join(_LEARNERS)}; repeat it for several on the same release. "
            "Default: cnn for images, lightgbm for tables."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many runs, each with fresh noise.", min=1)] = 5,
    delta: Annotated[float, typer.Option(help="The probability of an exception.")] = DELTA,
    settings: Settings = None,
    fetch_first: Annotated[
        bool, typer.Option("--fetch", help="Download the dataset first, into $SFUMATO_DATA or the cache folder.")
    ] = False,
    non_private: NonPrivate = False,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line, as runs are finished.")
    ] = False,
) -> None:
    """Release a public dataset, train on the release, test on real rows, and compare with training on real rows.

    Two row counts of the same fitted model are scored: the recommended one, and as many as there are real rows.
    """
    # Whatever can be refused is refused before anything is read.
    unprotected = is_baseline(mechanism_name, non_private=non_private, epsilon=epsilon, delta=None)
    budget = None if unprotected else Budget(epsilon=needed(epsilon), delta=delta)
    for each in learner or ():
        if each not in _LEARNERS:
            raise BenchmarkError(f"there is no learner {each!r}. Known: {', '.join(_LEARNERS)}.")
    records = []
    with progress(title="bench", quiet=quiet) as step:
        if fetch_first:
            fetch(dataset, on_step=step)
        step("reading the dataset")
        benchmark = load(dataset)
        chosen = chosen_mechanism if budget is not None else chosen_baseline
        method = chosen(mechanism_name, schema=benchmark.schema, settings=settings)
        runs = run(benchmark, epsilon=epsilon, method=method, learner=learner, seeds=seeds, delta=delta, on_step=step)
        for record in runs:
            records.append(record)
            if as_json:
                print_json(record)
    if not as_json:
        _show(answers(), records)


def _show(console: Console, records: list[dict[str, Any]]) -> None:
    first = records[0]
    claimed = "no epsilon"
    if first["epsilon"] is None:
        say_not_private(console)
    else:
        claimed = f"epsilon {first['epsilon']:g}, delta {first['delta']:g}: {first['unit']}"
    console.print(f"[bold]{first['dataset']}[/bold] by {first['method']}, {claimed}\n", soft_wrap=True)
    metric, say = first["metric"], partial(console.print, soft_wrap=True)
    headings = ("learner", "seed", metric, f"{metric}, n rows", "real", "Brier", "(real)", "seconds", "MB")
    rows = []
    for record in records:
        figures = (record[key] for key in ("value", "value_n", "real_value", "brier", "brier_real"))
        memory = "-" if record["peak_memory_mb"] is None else f"{record['peak_memory_mb']:.0f}"
        seconds = f"{record['release_seconds']:.1f}"
        rows.append((record["learner"], str(record["seed"]), *map(_figure, figures), seconds, memory))
    console.print(table_of(headings, rows, numbers=7))
    for learner in dict.fromkeys(record["learner"] for record in records):
        found = summarise([record for record in records if record["learner"] == learner])
        say(f"{learner} on {first['real_rows']:,} real rows: {_spread(found.real)}")
        recommended = f"{learner} on {first['synthetic_rows']:,} synthetic rows (as recommended)"
        say(f"{recommended}: {_spread(found.utility)}, gap {found.gap:.4f}")
        if found.utility_n is not None and found.gap_n is not None:
            as_many = f"{learner} on {first['synthetic_rows_n']:,} synthetic rows (as many as real)"
            say(f"{as_many}: {_spread(found.utility_n)}, gap {found.gap_n:.4f}")
    titles = {"tvd_1way": "one-way TVD", "tvd_2way": "two-way TVD", "class_rate_error": "class rates"}
    fidelity = ", ".join(f"{title} {_figure(_mean(records, key))}" for key, title in titles.items())
    console.print(f"fidelity, mean: {fidelity}")


def _mean(records: list[dict[str, Any]], key: str) -> float | None:
    values = [record[key] for record in records if record[key] is not None]
    return statistics.mean(values) if values else None


def _spread(found: Spread) -> str:
    deviation = "" if found.deviation is None else f", standard deviation {found.deviation:.4f}"
    return f"{found.mean:.4f}{deviation}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
