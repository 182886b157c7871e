"""sfumato account: epsilon of a configuration, by every accountant that applies."""

import math
from typing import Annotated, Any

import typer
from rich.console import Console

from sfumato.cli.console import AsJson, answer, progress, table_of
from sfumato.cli.refusals import refusing
from sfumato.errors import AccountingError
from sfumato.public.accounting import dpmix_epsilons, fresh_subset_epsilon, renoised_subset_epsilon

account = typer.Typer(no_args_is_help=True)


@account.command(
    epilog="Example: sfumato account dpmix --records 60000 --degree 256 --mixtures 10000 --noise-stddev 0.0711 "
    "--features 784 --classes 10 --delta 1.6667e-5"
)
@refusing
def dpmix(
    records: Annotated[int, typer.Option(help="Rows of the private data; with --classwise, of one class.")],
    degree: Annotated[int, typer.Option(help="Rows in a mixture.")],
    mixtures: Annotated[int, typer.Option(help="Released mixtures; with --classwise, of one class.")],
    noise_stddev: Annotated[float, typer.Option(help="Noise on each entry of a mixture, which is a mean.")],
    features: Annotated[int, typer.Option(help="Entries of a row, each in [0, 1].")],
    delta: Annotated[float, typer.Option(help="The delta of the claim.")],
    classes: Annotated[int, typer.Option(help="Length of the one-hot label, mixed and noised too; 0 for none.")] = 0,
    classwise: Annotated[bool, typer.Option("--classwise", help="Mixtures of one class, without label noise.")] = False,
    as_json: AsJson = False,
) -> None:
    """Random mixing: the published formula beside tight ones.

    The entries differ in sampling and relation, so they answer different questions.
    """
    counts = {"records": records, "degree": degree, "mixtures": mixtures, "features": features}
    for name, count in counts.items():
        if count < 1:
            raise AccountingError(f"{name} = {count} must be at least 1.")
    if degree > records:
        raise AccountingError(
            f"degree = {degree} is more than records = {records}. Mix at most as many rows as there are."
        )
    if not (math.isfinite(noise_stddev) and noise_stddev > 0):
        raise AccountingError(f"noise-stddev = {noise_stddev} must be a finite number above 0: no noise, no privacy.")
    if classes < 0:
        raise AccountingError(f"classes = {classes} must be at least 0. Give 0 where labels are not mixed.")
    if not 0 < delta < 1:
        raise AccountingError(f"delta = {delta} must lie strictly between 0 and 1. Try 1e-6.")
    with progress(title="account") as step:
        step("computing epsilon")
        if classwise:
            results = _classwise(records, degree, mixtures, noise_stddev, features, delta)
        else:
            results = dpmix_epsilons(**counts, noise_stddev=noise_stddev, classes=classes, delta=delta)
    answer({"results": results}, as_json=as_json, show=lambda console: _show(console, results, delta=delta))


def _classwise(
    records: int, degree: int, mixtures: int, noise_stddev: float, features: int, delta: float
) -> list[dict[str, Any]]:
    # The diameter is that of the unit box, as labels are not part of it.
    facts = {"noise_stddev": noise_stddev, "diameter": math.sqrt(features), "delta": delta}
    renoised = renoised_subset_epsilon(records=records, degree=degree, copies=mixtures, **facts)
    fresh = fresh_subset_epsilon(records=records, degree=degree, mixtures=mixtures, **facts)
    again = "as published: one subset of the class, its mean noised again and again"
    results = [
        ("exact", "one_subset_renoised", "replace_one", renoised, again),
        ("pld", "without_replacement", "replace_one", fresh, "put right: a fresh subset for every mixture"),
    ]
    return [dict(zip(("accountant", "sampling", "relation", "epsilon", "note"), each, strict=True)) for each in results]


def _show(console: Console, results: list[dict[str, Any]], *, delta: float) -> None:
    console.print(f"[bold]epsilon at delta {delta:g}[/bold]\n")
    words = ("accountant", "sampling", "relation")
    rows = [
        (*(row[key].replace("_", " ") for key in words), f"{row['epsilon']:.2f}", row.get("note", ""))
        for row in results
    ]
    table = table_of((*words, "epsilon", "note"), rows)
    table.columns[3].justify = "right"
    console.print(table)
