"""sfumato assess: a release beside the private rows, for whoever keeps them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from sfumato.cli.console import AsJson, Quiet, answer, progress, table_of, warn
from sfumato.cli.options import Force
from sfumato.lab.assess.assessing import MOST_ROWS, NOT_FOR_RELEASE, Summary, all_attacks
from sfumato.lab.assess.assessing import assess as assess_release
from sfumato.lab.assess.writing import HTML, check_place, headline, interval_words, write


def assess(
    release: Annotated[Path, typer.Argument(help="A release folder.")],
    private: Annotated[Path, typer.Option(help="The rows that it was made from.", metavar="DATA")],
    test: Annotated[Path, typer.Option(help="Real rows that it was not made from.", metavar="DATA")],
    out: Annotated[Path, typer.Option(help="The folder to make. Not the release folder.", metavar="DIR")],
    learner: Annotated[
        list[str] | None,
        typer.Option(help="One of the protocol's learners; may be repeated. Default: all.", metavar="NAME"),
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The column that attackers guess. Default: the target.", metavar="COLUMN")
    ] = None,
    shadows: Annotated[
        int,
        typer.Option(help="Shadow releases for the likelihood-ratio attack: each takes as long as the release.", min=0),
    ] = 0,
    most_rows: Annotated[int, typer.Option(help="Rows of each set that learners see.", min=100)] = MOST_ROWS,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare a release with the private rows: utility, fidelity, attacks. Reads rows without privacy; not for release."""
    check_place(out, release=release, force=force)
    warn(NOT_FOR_RELEASE)
    with progress(title="assess, not private", quiet=quiet) as step:
        found = assess_release(
            release,
            private=private,
            test=test,
            learners=learner,
            sensitive=sensitive,
            shadows=shadows,
            most_rows=most_rows,
            on_step=step,
        )
        step("drawing the pages")
        write(found, to=out, force=force)
    answer({**found, "out": str(out)}, as_json=as_json, show=lambda console: _show(console, found, out=out))


def _distances(table: Summary) -> list[Summary]:
    """What is between tables, and of the columns their mean."""
    columns = table["columns"]
    if not columns:
        return list(table["between"])
    mean = {key: sum(column[key] for column in columns) / len(columns) for key in ("synthetic", "fresh")}
    return [{"name": "columns, mean", **mean}, *table["between"]]


def _show(console: Console, found: Summary, *, out: Path) -> None:
    console.print(Text(f"{found['warning']}\n", style="bold red"))
    told, utility = headline(found), found["utility"]
    for key in ("useful", "alike", "attack"):
        if key in told:
            console.print(f"{told[key]}  {told[f'{key}_about']}", markup=False)
    if found["rows_are"]:
        console.print(f"\n{found['rows_are']} {found['attacks']['not_tested']}", markup=False)
    for each in found["tables"]:
        lines = [(line["name"], f"{line['synthetic']:.3f}", f"{line['fresh']:.3f}") for line in _distances(each)]
        console.print()
        console.print(table_of((f"{each['name']}: distances", "release", "other persons"), lines, numbers=2))
    if utility["learned"]:
        learned = [(e["learner"], e["trained_on"], interval_words(e["score"])) for e in utility["learned"]]
        console.print()
        console.print(table_of(("learner", "trained on", f"{utility['metric']} (95 %)"), learned, numbers=1))
    attacks = [
        (attack["name"], f"{attack['auc']['value']:.3f}", interval_words(attack["rate_at_low"], percent=True))
        for attack in all_attacks(found)
    ]
    console.print()
    console.print(table_of(("attack", "AUC", "found at .1 % false alarms (95 %)"), attacks, numbers=2))
    console.print(f"\npage: {escape(str(out / HTML))}", soft_wrap=True)
