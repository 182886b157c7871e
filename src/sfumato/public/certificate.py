"""The certificate: what is claimed about a release, and all that is needed to check it without the data."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.errors import VerificationError
from sfumato.public.accounting import Spent, event_from_json, event_to_json
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.plan import Plan
from sfumato.public.schema import Schema
from sfumato.public.step import step_from_json

FORMAT = "sfumato-certificate/1"
Status = Literal["certified", "research", "non_private"]
Severity = Literal["Critical", "Theoretical", "Negligible"]

ASSUMPTIONS: tuple[tuple[Severity, str], ...] = (
    (
        "Critical",
        "The schema (columns, bounds, categories, approximate size) comes from public knowledge, not from the rows.",
    ),
    (
        "Critical",
        "Nobody chose the mechanism, its settings or this very release by looking at what it did to the private rows.",
    ),
    (
        "Critical",
        "Each row (or person) enters this dataset once; other releases of the same rows add their own epsilon.",
    ),
    ("Theoretical", "The file format delimits the rows: a record of the file is a record of the guarantee."),
    (
        "Critical",
        "Maps of the mechanism keep nothing of the rows that they are handed; the contract suite looks for it.",
    ),
    ("Theoretical", "Where rows are divided by their place in the file, that place does not follow from their values."),
    (
        "Theoretical",
        "Maps give a row the same bits at every place of a batch, among any rows; each is tried on public rows first.",
    ),
    ("Theoretical", "The time that a release takes is not observed by the attacker."),
    ("Negligible", "AES-256 in counter mode is indistinguishable from random."),
    ("Negligible", "Noise is exact to a total variation distance of 2^-114 a draw: below 1e-24 for 10^10 draws."),
)


@dataclass(frozen=True)
class Certificate:
    """A claim and its evidence, as plain JSON."""

    body: dict[str, Any]

    @property
    def epsilon(self) -> float:
        """The claimed epsilon."""
        return float(self.body["claim"]["epsilon"])

    @property
    def delta(self) -> float:
        """The claimed delta."""
        return float(self.body["claim"]["delta"])

    @property
    def status(self) -> str:
        """certified, research or non_private."""
        return str(self.body["status"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What maker and receiver should be told about the use of the release."""
        return tuple(self.body.get("warnings", ()))

    def with_warnings(self, warnings: tuple[str, ...]) -> "Certificate":
        """A copy that says so."""
        return Certificate({**self.body, "warnings": list(warnings)})

    def plan(self) -> Plan:
        """The plan that the certificate was issued for, from its steps and their noise."""
        claim = self.body["claim"]
        return Plan(
            budget=Budget(epsilon=self.epsilon, delta=self.delta),
            unit=PrivacyUnit(**claim["unit"]),
            steps=tuple(step_from_json(entry) for entry in self.body["steps"]),
            scale=self.body["scale"],
            event=event_from_json(self.body["event"]),
            spent=Spent(claim["spent_epsilon"], claim["accountant"], claim["numeric_error"]),
        )

    def with_files(self, digests: dict[str, str]) -> "Certificate":
        """A copy that names the files of the release and their SHA-256."""
        return Certificate({**self.body, "files": dict(sorted(digests.items()))})

    def to_text(self) -> str:
        """JSON, the same for the same certificate."""
        return json.dumps(self.body, indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def from_text(text: str) -> "Certificate":
        """Read a certificate, refusing what is none."""
        try:
            body = json.loads(text)
        except json.JSONDecodeError as error:
            raise VerificationError(
                f"certificate.json is not JSON (line {error.lineno}). Get the release again."
            ) from None
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise VerificationError(
                f"certificate.json is not of the format {FORMAT}. Use the sfumato version that made it."
            )
        return Certificate(body)


def make_certificate(
    *,
    plan: Plan,
    schema: Schema,
    mechanism: dict[str, Any],
    seed: int,
    randomness: str,
    status: Status,
    software: dict[str, str],
    discovery: dict[str, Any] | None = None,
) -> Certificate:
    """Write down the claim and its evidence. No hash of the input is among them."""
    return Certificate(
        {
            "format": FORMAT,
            "status": status,
            "claim": {
                "epsilon": plan.budget.epsilon,
                "delta": plan.budget.delta,
                "unit": plan.unit.to_json(),
                "in_words": in_words(plan),
                "accountant": plan.spent.accountant,
                "spent_epsilon": plan.spent.epsilon,
                "numeric_error": plan.spent.numeric_error,
            },
            "event": event_to_json(plan.event),
            "scale": plan.scale,
            "steps": [{**step.to_json(), "noise_multiplier": plan.noise_multiplier(step.name)} for step in plan.steps],
            "grid": {
                f"{step.name}/{block.name}": plan.units_per_one(step.name, block.name)
                for step in plan.steps
                for block in step.blocks
            },
            "discovery": discovery,
            "mechanism": mechanism,
            "seed": seed,
            "randomness": randomness,
            "schema_sha256": schema.digest(),
            "assumptions": [{"severity": severity, "text": text} for severity, text in ASSUMPTIONS],
            "software": software,
            "warnings": [],
            "files": {},
        }
    )


def in_words(plan: Plan) -> str:
    """The claim as a sentence."""
    return (
        f"({plan.budget.epsilon:g}, {plan.budget.delta:g})-differentially private for {plan.unit.describe()}: "
        f"its presence changes the odds of any outcome by at most a factor of e^{plan.budget.epsilon:g}, "
        f"but for an event of probability {plan.budget.delta:g}."
    )
