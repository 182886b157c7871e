"""The certificate: what is claimed about a release, and all that is needed to check it without the data.

It is read as strictly as it is written: every field has a type and a range, no key is missing, unknown or there twice, and
the text must be, to the byte, the one that `to_text` gives. So there is one certificate for one claim, and no place in it
for anything else.
"""

import json
import re
from dataclasses import asdict, dataclass, replace
from typing import Any

import dp_accounting as dpa

from sfumato.errors import SfumatoError, VerificationError
from sfumato.public.accounting import Spent, event_from_json, event_to_json
from sfumato.public.certificate.assumptions import ASSUMPTIONS, Assumption
from sfumato.public.certificate.claim import Claim, claim_of, exact_text
from sfumato.public.certificate.layout import Section, as_html
from sfumato.public.certificate.non_private import FORMAT as NON_PRIVATE_FORMAT
from sfumato.public.certificate.non_private import NOT_A_CLAIM
from sfumato.public.certificate.randomness import Status
from sfumato.public.certificate.score import ScoreRecord
from sfumato.public.certificate.software import SOFTWARE, installed_software
from sfumato.public.certificate.statement import Statement
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import Step, step_from_json
from sfumato.public.schema.schema import Schema
from sfumato.public.strict_json import parse_json, read_fields, types_of

NAME = "certificate.json"
FORMAT = "sfumato-certificate/3"
FORMER_FORMATS = ("sfumato-certificate/1", "sfumato-certificate/2")
_MOST_SENTENCES = 100
_VERSION = re.compile(r"[\w.+!-]{1,60}", flags=re.ASCII)


@dataclass(frozen=True)
class DiscoveryRecord:
    """Which columns were left open and found privately, in the order of the schema: numbers, and texts.

    `grid` has the units for a row by step and column. `threshold`, in units, is what the counts of texts had to pass.
    """

    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    grid: dict[str, float]
    threshold: int | None


@dataclass(frozen=True)
class MechanismRecord:
    """A mechanism by its name and its public settings, as plain JSON values."""

    name: str
    parameters: dict[str, Any]


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate:
    """A claim and its evidence. `rows` and `files` are those of the folder: none before it is written.

    Beside a trained model there are no rows.
    """

    status: Status
    claim: Claim
    event: dpa.DpEvent
    scale: float
    steps: tuple[Step, ...]
    noise_multipliers: tuple[float, ...]
    grid: dict[str, float]
    discovery: DiscoveryRecord | None
    mechanism: MechanismRecord
    seed: int
    randomness: str
    schema_sha256: str
    assumptions: tuple[Assumption, ...]
    software: dict[str, str]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rows: int | None = None
    files: dict[str, str] | None = None
    score: ScoreRecord | None = None
    ledger: Statement | None = None

    @property
    def epsilon(self) -> float:
        """The claimed epsilon."""
        return self.claim.epsilon

    @property
    def delta(self) -> float:
        """The claimed delta."""
        return self.claim.delta

    @property
    def summary(self) -> str:
        """The mechanism, the promise and the status in a few words."""
        kind = "" if self.status == "certified" else f", {self.status.upper()}"
        warned = "" if not self.warnings else f", {len(self.warnings)} warning{'s' * (len(self.warnings) > 1)}"
        promise = f"epsilon {exact_text(self.epsilon)}, delta {exact_text(self.delta)}"
        return f"{self.mechanism.name}, {promise}{kind}{warned}"

    def sections(self) -> list[Section]:
        """What a person should read first: the claim, and whatever speaks against the release."""
        status, claimed = self.status.replace("_", " ").capitalize(), (self.claim.in_words,)
        scored = () if self.score is None else (self.score.in_words,)
        told = {status: claimed, "Score": scored, "Warnings": self.warnings, "Notes": self.notes}
        told |= {} if self.ledger is None else {"Ledger": (f"This is {self.ledger.in_words}",)}
        return [Section(title=title, before=sentences) for title, sentences in told.items() if sentences]

    def __repr__(self) -> str:
        return f"<Certificate: {self.summary}>"

    def _repr_html_(self) -> str:
        return as_html(self.sections())

    def plan(self) -> Plan:
        """The plan that the certificate was issued for, from its steps and their scale."""
        claim = self.claim
        spent = Spent(claim.spent_epsilon, claim.accountant, claim.numeric_error)
        return Plan(
            budget=claim.budget, unit=claim.unit, steps=self.steps, scale=self.scale, event=self.event, spent=spent
        )

    def for_rows(self, rows: int, *, warnings: tuple[str, ...], notes: tuple[str, ...]) -> "Certificate":
        """A copy that speaks of so many synthetic rows, with what their maker and receiver should be told."""
        return replace(self, rows=rows, warnings=warnings, notes=notes)

    def for_model(self, *, warnings: tuple[str, ...], notes: tuple[str, ...]) -> "Certificate":
        """A copy that speaks of a trained model, and of no rows."""
        return replace(self, rows=None, warnings=warnings, notes=notes)

    def with_files(self, digests: dict[str, str]) -> "Certificate":
        """A copy that names the files of the release and their SHA-256."""
        return replace(self, files=dict(sorted(digests.items())))

    def to_json(self) -> dict[str, Any]:
        """Plain values, the same for the same certificate."""
        return {
            "format": FORMAT,
            "status": self.status,
            "claim": self.claim.to_json(),
            "event": event_to_json(self.event),
            "scale": self.scale,
            "steps": [
                {**step.to_json(), "noise_multiplier": noise}
                for step, noise in zip(self.steps, self.noise_multipliers, strict=True)
            ],
            "grid": self.grid,
            "discovery": self.discovery and json.loads(json.dumps(asdict(self.discovery))),  # lists for tuples
            "mechanism": asdict(self.mechanism),
            "seed": self.seed,
            "randomness": self.randomness,
            "schema_sha256": self.schema_sha256,
            "assumptions": [asdict(entry) for entry in self.assumptions],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "software": dict(sorted(self.software.items())),
            "rows": self.rows,
            "files": None if self.files is None else dict(sorted(self.files.items())),
            **({} if self.score is None else {"score": asdict(self.score)}),
            **({} if self.ledger is None else {"ledger": self.ledger.to_json()}),
        }

    def to_text(self) -> str:
        """The certificate as a file: the same bytes for the same certificate."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @staticmethod
    def from_json(body: Any) -> "Certificate":
        """Read plain values, refusing with a sentence whatever `to_json` would not have given."""
        refuse_other_formats(body)
        wanted = {"format": str, **types_of(Certificate), "claim": dict, "steps": list}
        del wanted["noise_multipliers"]  # each stands beside its step
        if "score" not in body:  # there only where a score was asked for
            del wanted["score"]
        if isinstance(body, dict) and "ledger" in body:
            wanted["ledger"] = dict
        else:
            del wanted["ledger"]  # most releases have none
        try:
            fields = read_fields(body, wanted, what=NAME)
            del fields["format"]
            fields["claim"], fields["event"] = Claim.from_json(fields["claim"]), event_from_json(fields["event"])
            fields["steps"], fields["noise_multipliers"] = _steps(fields["steps"])
            fields["scale"] = _positive(fields["scale"], "scale")
            fields["grid"] = _grid(fields["grid"])
            if "ledger" in fields:
                fields["ledger"] = Statement.from_json(fields["ledger"])
            if fields["discovery"] is not None:
                fields["discovery"] = replace(fields["discovery"], grid=_grid(fields["discovery"].grid))
        except VerificationError:
            raise
        except SfumatoError as error:
            raise VerificationError(f"{NAME} holds what no certificate does: {error}") from None
        certificate = Certificate(**fields)
        _check_ranges(certificate)
        return certificate

    @staticmethod
    def from_text(text: str) -> "Certificate":
        """Read a certificate, refusing what is none."""
        certificate = Certificate.from_json(parse_json(text, what=NAME))
        if certificate.to_text() != text:
            raise VerificationError(f"{NAME} is not written as sfumato writes it. Get the release again.")
        return certificate


def refuse_other_formats(body: Any) -> None:
    """Name the version that can read a certificate which this one cannot."""
    named = body.get("format") if isinstance(body, dict) else None
    if named in FORMER_FORMATS:
        raise VerificationError(
            f"the release was made by sfumato 0.1 ({named}), whose folders this version does not read. "
            "Install sfumato 0.1 and verify it with that, or ask for a new release."
        )
    if named == NON_PRIVATE_FORMAT:
        raise VerificationError(NOT_A_CLAIM)
    if named != FORMAT:
        raise VerificationError(f"{NAME} is not of the format {FORMAT}. Use the sfumato version that made it.")


def make_certificate(
    *,
    plan: Plan,
    schema: Schema,
    mechanism: MechanismRecord,
    seed: int,
    randomness: str,
    status: Status,
    discovery: DiscoveryRecord | None,
    ledger: Statement | None = None,
) -> Certificate:
    """Write down the claim and its evidence. No hash of the input is among them."""
    return Certificate(
        status=status,
        claim=claim_of(plan),
        event=plan.event,
        scale=float(plan.scale),
        steps=plan.steps,
        noise_multipliers=tuple(float(plan.noise_multiplier(step.name)) for step in plan.steps),
        grid=grid_of(plan),
        discovery=discovery,
        mechanism=mechanism,
        seed=seed,
        randomness=randomness,
        schema_sha256=schema.digest(),
        assumptions=ASSUMPTIONS,
        software=installed_software(),
        ledger=ledger,
    )


def grid_of(plan: Plan) -> dict[str, float]:
    """Units for a one of each block, by step and block."""
    return {
        f"{step.name}/{block.name}": float(plan.units_per_one(step.name, block.name))
        for step in plan.steps
        for block in step.blocks
    }


def _steps(entries: list[Any]) -> tuple[tuple[Step, ...], tuple[float, ...]]:
    steps, noise = [], []
    for entry in entries:
        body = dict(entry) if isinstance(entry, dict) else {}
        noise.append(_positive(body.pop("noise_multiplier", None), "the noise multiplier of a step"))
        try:
            steps.append(step_from_json(body))
        except VerificationError:
            raise
        except SfumatoError as error:
            raise VerificationError(f"{NAME} lists a step that cannot be carried out: {error}") from None
    if len({step.name for step in steps}) != len(steps):
        raise VerificationError(f"{NAME} lists two steps of the same name.")
    return tuple(steps), tuple(noise)


def _grid(body: dict[str, Any]) -> dict[str, float]:
    return {key: _positive(value, f"the grid of {key}") for key, value in body.items()}


def _positive(value: Any, what: str) -> float:
    if type(value) not in (int, float) or not value > 0:
        raise VerificationError(f"{NAME}: {what} must be a finite number above 0.")
    return float(value)


def _check_ranges(certificate: Certificate) -> None:
    for name, value, least in (("seed", certificate.seed, 0), ("rows", certificate.rows, 1)):
        if value is not None and value < least:
            raise VerificationError(f"{NAME}: {name} = {value} must be at least {least}.")
    if certificate.score is not None:
        certificate.score.check(what=NAME)
    for name, texts in (("warnings", certificate.warnings), ("notes", certificate.notes)):
        # They are printed as they are, so each must be one line that can move no cursor.
        if len(texts) > _MOST_SENTENCES or not all(text.isprintable() and text.strip() for text in texts):
            raise VerificationError(f"{NAME}: {name} must be a few sentences of one printable line each.")
    versions = certificate.software
    if not set(versions) <= set(SOFTWARE) or not all(_VERSION.fullmatch(version) for version in versions.values()):
        raise VerificationError(f"{NAME}: software must hold names and versions only, of what makes a release.")
