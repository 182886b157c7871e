"""What the worker does: the same functions as the command line, given and giving plain values.

Imports stand inside the functions: the server names these functions too, and must stay small.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import SfumatoError

Plain = dict[str, Any]


def _data(source: Mapping[str, Any]) -> Any:
    from sfumato.private.intake.query import Query

    if source.get("table") or source.get("sql"):
        return Query(source["place"], source.get("sql") or None, table=source.get("table") or None)
    return source["place"]


def draft(source: Mapping[str, Any], header: bool) -> Plain:
    """Names and types of the source's columns with what these suggest: no row is looked at."""
    import tomllib

    from sfumato.errors import SourceError
    from sfumato.private.intake.drafts import draft_schema, proposals_for
    from sfumato.studio.editing import column, from_toml

    data = _data(source)
    try:
        proposals, shown = proposals_for(data, header=header)
    except SourceError as error:
        if "is no table" not in str(error):
            raise
        return {**from_toml(draft_schema(data, header=header)), "shown": "shapes"}
    columns = []
    for proposal in proposals:
        entry: Plain = {"type": proposal.kind or "categorical"}
        if proposal.bounds:
            low, high = tomllib.loads(f"x = {proposal.bounds}")["x"]
            entry["bounds"] = [low.isoformat() if hasattr(low, "isoformat") else low for low in (low, high)]
        elif proposal.categories:
            entry["categories"] = list(proposal.categories)
        elif entry["type"] != "boolean":
            entry["discover"] = True
        entry |= {"missing": True} if proposal.missing else {}
        kept = proposal.kind is not None and not proposal.dropped
        columns.append(column(proposal.name, entry, kept=kept, why=proposal.dropped, note=proposal.note))
    return {"columns": columns, "dataset": {}, "privacy": {}, "rules": [], "shown": shown}


def demo(folder: str) -> Plain:
    """Made-up people, written as a file, and their schema."""
    from sfumato.folder.disk import whole_file
    from sfumato.lab.demo.population import demo_schema, patient_population
    from sfumato.studio.editing import from_toml

    place = Path(folder) / "demo-patients.csv"
    if not place.exists():
        with whole_file(place) as file:
            file.write(patient_population().to_csv(index=False).encode())
    return {**from_toml(demo_schema().to_toml()), "place": str(place)}


def faults(text: str) -> list[tuple[list[str], str]]:
    """What is wrong with a schema, each fault with its place; nothing where it can be used."""
    from sfumato.errors import SchemaError
    from sfumato.public.schema.schema import Schema

    try:
        Schema.parse(text)
    except SchemaError as error:
        found = [(list(fault.place), fault.sentence) for fault in getattr(error, "faults", ())]
        return found or [([], str(error))]
    return []


def imported(path: str) -> str:
    """The text of a schema file, with lists of categories that lie beside it taken in."""
    from sfumato.public.schema.schema import Schema

    return Schema.load(path).to_toml()


def told_types(text: str) -> dict[str, Plain]:
    """The columns of a draft whose rows have told their types, as the editor has them."""
    from sfumato.public.schema.schema import Schema
    from sfumato.studio.editing import from_toml

    read = from_toml(Schema.parse(text).to_toml())
    return {one["name"]: one["entry"] for one in read["columns"]}


def spelled_out(text: str) -> str:
    """A schema with its defaults and patterns written out for each column; one with faults as it stands, to be mended."""
    from sfumato.errors import SchemaError
    from sfumato.public.schema.schema import Schema

    try:
        return Schema.parse(text).to_toml()
    except SchemaError:
        return text


def plan(text: str, chosen: Mapping[str, Any], ledger: str | None) -> Plain:
    """What a release would do and be worth, and what it would leave in the ledger."""
    from dataclasses import asdict

    from sfumato.mechanism import mechanism_for, refuse_learner
    from sfumato.outlook.planning import plan as plan_release
    from sfumato.outlook.sections import noise_by_column, noise_notes
    from sfumato.public.budget import budget_of
    from sfumato.public.certificate.claim import claim_of
    from sfumato.public.schema.schema import Schema

    schema = Schema.parse(text)
    budget = budget_of(chosen["epsilon"], rows=schema.rows, delta=chosen.get("delta"))
    mechanism = mechanism_for(chosen.get("method") or "auto", schema)
    refuse_learner(mechanism)
    planned = plan_release(mechanism, schema, budget)
    sections = [asdict(section) for section in planned.sections()]
    if chosen.get("score"):
        from sfumato.scoring.forecast import expected_score

        sections.insert(1, asdict(expected_score(mechanism, schema, budget).section))
    return {
        "mechanism": mechanism.name,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "unit": schema.unit.describe(),
        "claim": None if planned.plan is None else claim_of(planned.plan).in_words,
        "noise": list(noise_by_column(planned.noise, schema).items()),
        "noise_notes": noise_notes(planned.noise),
        "discovered": [column.name for column in schema.unknown],
        "duration": planned.duration.sentences,
        "seconds": (planned.duration.measured or {}).get("seconds"),
        "rows": planned.rows.sentences,
        "sections": sections,
        "remarks": planned.remarks,
        "left": _left(planned, chosen, ledger),
    }


def _left(planned: Any, chosen: Mapping[str, Any], ledger: str | None) -> Plain | None:
    if not ledger or not chosen.get("dataset"):
        return None
    from sfumato.ledger.booking import left_after
    from sfumato.ledger.ledger import Ledger

    recipient, purpose = chosen.get("recipient") or None, chosen.get("purpose") or None
    try:
        account = Ledger(ledger).dataset(chosen["dataset"], recipient=recipient, purpose=purpose)
        left = left_after(planned, account, score=bool(chosen.get("score")))
    except SfumatoError as error:
        return {"refused": str(error), "sentences": []}
    return {"refused": None, "sentences": [] if left is None else list(left.sentences)}


def methods() -> list[Plain]:
    """All mechanisms that release rows."""
    from sfumato.outlook.method_list import methods as every

    return [vars(one) for one in every()]


def ledger_state(url: str) -> Plain:
    """Every dataset of a ledger, what is left of it, what waits for signatures, and the history."""
    from sfumato.ledger.ledger import Ledger

    book = Ledger(url)
    lines = [line.told for line in book.lines()]
    return {"shown": book.shown, "datasets": book.show(), "lines": lines[-200:][::-1]}


def ledger_add(url: str, dataset: str, epsilon: float, delta: float, person: str | None) -> None:
    """Enter a dataset with its total, in a ledger that is made where there is none and it is a file."""
    from sfumato.ledger.ledger import Ledger
    from sfumato.public.budget import PrivacyUnit

    path = Path(url.removeprefix("sqlite:///"))
    is_new = url.startswith("sqlite:///") and not path.exists()
    book = Ledger.create(url) if is_new else Ledger(url)
    book.add(dataset, epsilon=epsilon, delta=delta, unit=PrivacyUnit(person=person or None))


def ledger_approve(url: str, dataset: str, digest: str, key: str, passphrase: str) -> None:
    """Sign what waits."""
    from sfumato.folder.signing import load_signing_key
    from sfumato.ledger.ledger import Ledger

    signer = load_signing_key(key, passphrase=passphrase.encode() or None)
    Ledger(url).approve(dataset, digest, sign=signer)


def look(folder: str) -> Plain:
    """The public facts of a release folder, whose content anybody may have written."""
    from sfumato.folder.releasing import load_release

    found = load_release(folder)
    certificate = found.certificate
    columns = [(c.name, c.kind, c.discover) for c in found.schema.columns]
    return {
        "name": found.path.name,
        "status": certificate.status,
        "mechanism": certificate.mechanism.name,
        "rows": None if certificate.rows is None else found.n_rows,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "columns": columns[:200],
        "n_columns": len(columns),
        "files": sorted((path.name, path.stat().st_size) for path in found.path.iterdir()),
        "load": {} if certificate.rows is None else found.load_lines(),
    }
