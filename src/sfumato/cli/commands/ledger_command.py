"""sfumato ledger: what all releases of a dataset cost together, and the policy that they are held to."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from sfumato.cli.charging import LedgerAddress, make_ledger, open_ledger
from sfumato.cli.commands.keys_command import signing_key
from sfumato.cli.console import AsJson, answer, table_of
from sfumato.cli.options import PassphraseFile, SignWith
from sfumato.cli.refusals import NOT_VERIFIED, refusing
from sfumato.errors import LedgerError
from sfumato.folder.disk import check_file_target, whole_file
from sfumato.ledger.registry import registry_entry
from sfumato.public.budget import PrivacyUnit, Relation

ledger = typer.Typer(no_args_is_help=True)

DatasetName = Annotated[str, typer.Argument(help="The name of a dataset.", metavar="DATASET")]
PolicyFile = Annotated[Path | None, typer.Option("--policy", help="A policy.toml instead of a total.", metavar="FILE")]


@ledger.command(epilog="Example: sfumato ledger init sqlite:///ledger.db")
@refusing
def init(
    url: Annotated[str, typer.Argument(help="sqlite:///FILE, or postgresql://USER@HOST/DATABASE.", metavar="URL")],
    sign: SignWith = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a new ledger."""
    made = make_ledger(url, sign=signing_key(sign, passphrase_file))
    _say({"ledger": made.shown, "identity": made.identity}, f"made the ledger {made.shown}", as_json=as_json)


@ledger.command(epilog="Example: sfumato ledger add patients --epsilon 2 --ledger sqlite:///ledger.db")
@refusing
def add(
    dataset: DatasetName,
    epsilon: Annotated[float | None, typer.Option(help="The total of all releases.")] = None,
    delta: Annotated[float, typer.Option(help="The total probability of an exception.")] = 1e-6,
    policy: PolicyFile = None,
    relation: Annotated[str, typer.Option("--unit", help="add_or_remove or replace_one.")] = "add_or_remove",
    person: Annotated[str | None, typer.Option(help="The column that identifies a person. Default: a row.")] = None,
    url: LedgerAddress = None,
    sign: SignWith = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Enter a dataset with its total, or with a whole policy."""
    counted: Relation = "replace_one" if relation == "replace_one" else "add_or_remove"
    if relation != counted:
        raise LedgerError(f"--unit {relation} is not known. Use add_or_remove or replace_one.")
    book = open_ledger(url)
    unit = PrivacyUnit(relation=counted, person=person)
    book.add(dataset, epsilon=epsilon, delta=delta, unit=unit, policy=policy, sign=signing_key(sign, passphrase_file))
    _say({"dataset": dataset, **book.show()[dataset]}, f"entered {dataset!r}", as_json=as_json)


@ledger.command(epilog="Example: sfumato ledger policy patients policy.toml --sign office.key")
@refusing
def policy(
    dataset: DatasetName,
    file: Annotated[Path, typer.Argument(help="The policy.toml.", metavar="FILE")],
    url: LedgerAddress = None,
    sign: SignWith = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Change the policy: tighter at once, looser with the signatures that it names."""
    book = open_ledger(url)
    book.change_policy(dataset, file, sign=signing_key(sign, passphrase_file))
    state = book.state(dataset)
    _say(
        {"dataset": dataset, "version": state.version}, f"policy {state.version} of {dataset!r} holds", as_json=as_json
    )


@ledger.command(epilog="Example: sfumato ledger approve patients DIGEST --sign second.key")
@refusing
def approve(
    dataset: DatasetName,
    digest: Annotated[str, typer.Argument(help="What waits for signatures, as sfumato ledger show lists it.")],
    sign: SignWith = None,
    url: LedgerAddress = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Sign a release or a change of policy that waits for signatures."""
    key = signing_key(sign, passphrase_file)
    if key is None:
        raise LedgerError("an approval is a signature. Give the key: --sign KEY.")
    open_ledger(url).approve(dataset, digest, sign=key)
    _say({"dataset": dataset, "digest": digest}, "approved", as_json=as_json)


@ledger.command(epilog="Example: sfumato ledger close patients")
@refusing
def close(
    dataset: DatasetName,
    url: LedgerAddress = None,
    sign: SignWith = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """No more releases of a dataset."""
    open_ledger(url).close(dataset, sign=signing_key(sign, passphrase_file))
    _say({"dataset": dataset, "closed": True}, f"{dataset!r} is closed", as_json=as_json)


@ledger.command()
@refusing
def moved(
    url: LedgerAddress = None, sign: SignWith = None, passphrase_file: PassphraseFile = None, as_json: AsJson = False
) -> None:
    """Say that this is the ledger itself at another place, and no copy."""
    book = open_ledger(url)
    book.moved(sign=signing_key(sign, passphrase_file))
    _say({"ledger": book.shown}, f"the ledger is at {book.shown} from now on", as_json=as_json)


@ledger.command(epilog="Example: sfumato ledger show")
@refusing
def show(url: LedgerAddress = None, as_json: AsJson = False) -> None:
    """Every dataset with its total, what is spent, and what waits for signatures."""
    book = open_ledger(url)
    found = book.show()

    def shown(console: Console) -> None:
        rows = [
            (
                name if block == "all" else f"{name} {block}",
                f"{facts['epsilon']:g}",
                f"{facts['delta']:g}",
                str(facts["releases"]),
                f"{part['part_spent']:.1%}",
                "closed" if facts["closed"] else "",
            )
            for name, facts in found.items()
            for block, part in facts["spent"].items()
        ]
        console.print(table_of(("dataset", "epsilon", "delta", "releases", "spent", ""), rows, numbers=0))
        for name, facts in found.items():
            for digest, signed in facts["pending"].items():
                console.print(f"{name}: {digest} waits for signatures; {signed} there", markup=False, soft_wrap=True)

    answer({"ledger": book.shown, "datasets": found}, as_json=as_json, show=shown)


@ledger.command(epilog="Example: sfumato ledger history --json")
@refusing
def history(
    dataset: Annotated[str | None, typer.Option("--dataset", help="Of this one only.", metavar="NAME")] = None,
    url: LedgerAddress = None,
    as_json: AsJson = False,
) -> None:
    """Every line, from the first to the last."""
    lines = [line.told for line in open_ledger(url).lines() if dataset in (None, line.dataset)]

    def shown(console: Console) -> None:
        rows = [[str(line[key]) for key in ("number", "at", "kind", "dataset", "what")] for line in lines]
        console.print(table_of(("line", "at", "kind", "dataset", "what"), rows))

    answer({"lines": lines}, as_json=as_json, show=shown)


@ledger.command(epilog="Example: sfumato ledger verify --release release-1 --release release-2")
@refusing
def verify(
    url: LedgerAddress = None,
    releases: Annotated[
        list[Path] | None,
        typer.Option(
            "--release", help="A release folder whose statement the history must hold. May be repeated.", metavar="DIR"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute every cost, sum, digest and signature, and name the first line that is wrong."""
    found = open_ledger(url).verify(releases=releases or ())

    def shown(console: Console) -> None:
        if found.problem is not None:
            console.print(f"wrong: {found.problem}", style="bold red", markup=False, soft_wrap=True)
        else:
            console.print(f"{found.lines} lines, {found.signed} of them signed: all are borne out.", markup=False)

    answer({"ok": found.ok, **vars(found)}, as_json=as_json, show=shown)
    if not found.ok:
        raise typer.Exit(NOT_VERIFIED)


@ledger.command(epilog="Example: sfumato ledger export patients --registry --out entry.json")
@refusing
def export(
    dataset: DatasetName,
    registry: Annotated[
        bool, typer.Option("--registry", help="As an entry of OpenDP's registry of deployments.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The file to write. Default: on stdout.", metavar="FILE")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    url: LedgerAddress = None,
) -> None:
    """Write a dataset's history as JSON: all of its lines as they lie, or an entry for a registry."""
    book = open_ledger(url)
    lines = [line for line in book.lines() if line.dataset in (dataset, "")]
    state = book.state(dataset)
    body: Any = registry_entry(dataset, state, lines) if registry else [line.stored for line in lines]
    text = json.dumps(body, indent=2, ensure_ascii=False) + "\n"
    if out is None:
        typer.echo(text, nl=False)
        return
    check_file_target(out, force=force)
    with whole_file(out) as file:
        file.write(text.encode())


def _say(payload: dict[str, Any], sentence: str, *, as_json: bool) -> None:
    answer(payload, as_json=as_json, show=lambda console: console.print(sentence, markup=False, soft_wrap=True))
