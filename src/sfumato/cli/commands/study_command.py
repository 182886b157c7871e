"""sfumato study: a published experiment as it was published, beside what is sound."""

import math
import statistics
from typing import Annotated, Any

import typer
from rich.console import Console

from sfumato.cli.commands.plan_command import Epsilon
from sfumato.cli.console import Quiet, answer, progress, table_of
from sfumato.cli.options import Settings, chosen_mechanism
from sfumato.cli.refusals import refusing
from sfumato.lab.benchmark.datasets import DELTA, load, names
from sfumato.lab.studies.clustmix_study import compare
from sfumato.public.budget import Budget

study = typer.Typer(help="A published experiment: as claimed, as it is, and made sound.", no_args_is_help=True)


@study.callback()
def _group() -> None:
    """Keep `study` a group of commands while it holds one."""


@study.command(epilog="Example: SFUMATO_DATA=~/datasets sfumato study clustmix --dataset adult --epsilon 1")
@refusing
def clustmix(
    epsilon: Epsilon,
    dataset: Annotated[str, typer.Option(help=f"One of {', '.join(names())}.")] = "adult",
    learner: Annotated[str, typer.Option(help="Trained on each release and on real rows.")] = "lightgbm",
    seeds: Annotated[int, typer.Option(help="How many runs of each version.", min=1)] = 1,
    delta: Annotated[float, typer.Option(help="Of the sound version; the published one claims 1/rows.")] = DELTA,
    settings: Settings = None,
    quiet: Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all runs.")] = False,
) -> None:
    """ClustMix as published (not private) beside the sound one, on a public dataset."""
    Budget(epsilon=epsilon, delta=delta)
    with progress(title="study", quiet=quiet) as step:
        step("reading the dataset")
        benchmark = load(dataset)
        sound = chosen_mechanism("clustmix", schema=benchmark.schema, settings=settings or ())
        runs = list(
            compare(
                benchmark, epsilon=epsilon, learner=learner, seeds=seeds, delta=delta, mechanism=sound, on_step=step
            )
        )
    answer({"runs": runs}, as_json=as_json, show=lambda console: _show(console, runs))


def _show(console: Console, runs: list[dict[str, Any]]) -> None:
    first = runs[0]
    console.print(f"[bold]ClustMix on {first['dataset']}[/bold], {first['learner']}, {first['metric']}\n")
    table = table_of("version", "claimed eps", "honest eps", "score", "real", "1-way TVD", "rows", numbers=6)
    for version in ("published", "sound"):
        mine = [run for run in runs if run["version"] == version]
        table.add_row(
            version,
            f"{mine[0]['claimed_epsilon']:g}",
            _epsilon(max(run["honest_epsilon"] for run in mine)),
            _mean(mine, "value"),
            _mean(mine, "real_value"),
            _mean(mine, "tvd_1way"),
            f"{statistics.mean(run['synthetic_rows'] for run in mine):.0f}",
        )
    console.print(table)
    more, fewer = first["points_of_neighbours"]
    console.print(
        f"\nAs published: clusters of at least {first['least_size']} rows. Of two datasets that differ in one row, one gives "
        f"{more} points and the other {fewer}, with certainty: no finite epsilon holds. Were that mended, one row would "
        f"still turn all clusters round, and epsilon would be at least {first['clustering_epsilon']:.0f} at delta "
        f"{first['claimed_delta']:.1g}. It is {first['unit']}; it chose among several releases by private scores as well.",
        soft_wrap=False,
    )
    sound = next(run for run in runs if run["version"] == "sound")
    console.print(f"\nSound: {sound['unit']}, delta {sound['claimed_delta']:g}; everything is inside the budget.")


def _epsilon(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.3g}"


def _mean(runs: list[dict[str, Any]], key: str) -> str:
    values = [run[key] for run in runs if run[key] is not None]
    if not values:
        return "-"
    spread = f" ({statistics.stdev(values):.4f})" if len(values) > 1 and key == "value" else ""
    return f"{statistics.mean(values):.4f}{spread}"
