"""Baselines on the command line: asked for by name and by --non-private, and answered in red."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from sfumato.cli.console import answer, progress, warn
from sfumato.cli.options import with_settings
from sfumato.errors import PlanError, SfumatoError
from sfumato.folder.releasing import CERTIFICATE, check_target
from sfumato.lab.baselines import Baseline, baseline_for, release_non_private
from sfumato.outlook.method_list import KINDS, Method, figures_of
from sfumato.outlook.row_counts import AskedRows
from sfumato.private.intake.query import Query
from sfumato.public.certificate.non_private import BASELINES, NOT_PRIVATE
from sfumato.public.schema.schema import Schema

NonPrivate = Annotated[
    bool,
    typer.Option("--non-private", help="Allow a baseline that promises no privacy: ads-gan. It has no epsilon."),
]
#: An epsilon that every private method needs and no baseline has.
EpsilonIfPrivate = Annotated[
    float | None, typer.Option("--epsilon", help="How much may leak. 1 is a usual choice. Needed unless --non-private.")
]


def is_baseline(name: str, *, non_private: bool, epsilon: float | None, delta: float | None) -> bool:
    """Whether a baseline is meant. Refuse one that is not asked for in so many words, or that is given a budget."""
    if name not in BASELINES:
        if non_private:
            raise PlanError(f"--non-private is for baselines ({', '.join(BASELINES)}), and {name} is private.")
        return False
    if not non_private:
        raise PlanError(f"{name} is not private, and promises nothing. If that is what you want, say --non-private.")
    if epsilon is not None or delta is not None:
        raise PlanError(f"{name} is not private: it has no epsilon and no delta. Leave them out.")
    return True


def needed(epsilon: float | None) -> float:
    """The epsilon of a private method, which has no default."""
    if epsilon is None:
        raise typer.BadParameter("a private method needs it.", param_hint="--epsilon")
    return epsilon


def chosen_baseline(name: str, *, schema: Schema, settings: Sequence[str] | None) -> Baseline:
    """The baseline of that name with some of its settings replaced; refused if it does not take such data."""
    baseline = with_settings(baseline_for(name), settings)
    baseline.check(schema)
    return baseline


def plan_baseline(baseline: Baseline, *, as_json: bool) -> None:
    """What a plan would say: that there is none."""
    payload: dict[str, Any] = {
        "mechanism": baseline.name,
        "status": "non_private",
        "epsilon": None,
        "steps": [],
        "warning": NOT_PRIVATE,
    }

    def show(console: Console) -> None:
        say_not_private(console)
        console.print(f"{baseline.name} reads all rows as they are, so there is nothing to plan.", soft_wrap=True)

    answer(payload, as_json=as_json, show=show)


def release_baseline(
    baseline: Baseline,
    data: str | Query,
    schema: Schema,
    *,
    out: Path,
    rows: AskedRows,
    seed: int | None,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Train on rows as they are, and write a folder that `verify` refuses."""
    check_target(out, force=force)
    warn(NOT_PRIVATE)
    seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    with progress(title="not private", quiet=quiet) as step:
        fitted = baseline.fit(data, schema, seed=seed, on_step=step)
        step("writing the folder")
        paper = release_non_private(fitted, to=out, rows=rows, force=force)
    payload = {
        "release": str(out),
        "status": "non_private",
        "mechanism": {"name": paper.method, "parameters": paper.parameters},
        **dict.fromkeys(("epsilon", "delta", "claim")),
        "warnings": [NOT_PRIVATE],
        "notes": list(paper.notes),
        "rows": paper.rows,
        "seed": paper.seed,
        "files": sorted([CERTIFICATE, *paper.files]),
    }

    def show(console: Console) -> None:
        say_not_private(console)
        console.print(f"wrote {paper.rows:,} rows to {escape(str(out))}", soft_wrap=True)
        for sentence in paper.notes:
            console.print(f"note: {sentence}", style="dim", markup=False)

    answer(payload, as_json=as_json, show=show)


def say_not_private(console: Console) -> None:
    """In red, before anything else."""
    console.print(Text(f"NOT PRIVATE. {NOT_PRIVATE}", style="bold red"))


def baselines() -> list[Method]:
    """All baselines, as `sfumato methods` lists them."""
    found = []
    for name in BASELINES:
        baseline = baseline_for(name)
        about = (type(baseline).__doc__ or "").split("\n")[0]
        takes = tuple(kind for kind, schema in KINDS.items() if _takes(baseline, schema))
        found.append(Method(name=name, about=about, releases="rows", takes=takes, figures=figures_of(name)))
    return found


def _takes(baseline: Baseline, schema: Schema) -> bool:
    try:
        baseline.check(schema)
    except SfumatoError:  # the refusal is the answer
        return False
    return True
