"""Check a release without the data: hashes, schema, plan, and the accounting replayed by independent code."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import SfumatoError, VerificationError
from sfumato.folder import CERTIFICATE, SCHEMA, load_release, read_synthetic, sha256_of
from sfumato.mechanism import registered
from sfumato.public import grid
from sfumato.public.accounting import event_to_json
from sfumato.public.budget import PrivacyUnit
from sfumato.public.certificate import Certificate
from sfumato.public.schema_file import load_schema
from sfumato.public.step import step_from_json
from sfumato.verification.comparison import MOST_DIFFERENT, share_different
from sfumato.verification.replay import replay_epsilon

#: How far the replayed epsilon may lie above the claim: two pessimistic grids need not agree to the last digit.
REPLAY_TOLERANCE = 2e-3


@dataclass(frozen=True)
class Verification:
    """What a check found. `ok` means certified and borne out.

    `different` is the part of the cells that came out otherwise when the rows were built again: 0 on the same kind of
    machine. None: they were not built again.
    """

    path: Path
    epsilon: float
    delta: float
    replayed_epsilon: float | None
    claim: str
    problems: tuple[str, ...]
    different: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the release is certified and everything fits."""
        return not self.problems

    def raise_if_bad(self) -> None:
        """Raise with the first problem, if there is one."""
        if self.problems:
            raise VerificationError(self.problems[0])


def verify(path: str | Path, *, rebuild: bool = False) -> Verification:
    """Check a release folder.

    Args:
        path: The folder.
        rebuild: Also build the model again and compare the synthetic rows with those of the folder. This shows that
            they are a function of the noisy measurements and of nothing else, up to what another processor's rounding
            changes (`comparison.py`). The claim of privacy does not rest on it.
    """
    folder = Path(path)
    if not (folder / CERTIFICATE).is_file():
        raise VerificationError(f"{folder} holds no {CERTIFICATE}, so there is no claim to check.")
    try:
        text = (folder / CERTIFICATE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise VerificationError(
            f"{CERTIFICATE} cannot be read ({type(error).__name__}). Get the release again."
        ) from None
    certificate = Certificate.from_text(text)
    try:
        problems = [
            *_status(certificate),
            *_files(folder, certificate),
            *_schema(folder, certificate),
            *_plan(certificate),
            *_mechanism(folder, certificate),
        ]
        replayed, accounting = _accounting(certificate)
        problems += accounting
        different = None
        if rebuild and not problems:
            different, unlike = _rebuilt(folder)
            problems += unlike
        claim = certificate.body["claim"]
        return Verification(
            folder, certificate.epsilon, certificate.delta, replayed, claim["in_words"], tuple(problems), different
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise VerificationError(
            f"{CERTIFICATE} lacks or garbles a part that it must have ({type(error).__name__}: {error}). Get the release again."
        ) from None


def _status(certificate: Certificate) -> list[str]:
    if certificate.status == "certified":
        return []
    why = {
        "research": "it was made with a known seed, so its noise can be subtracted",
        "non_private": "it was not made by the doors of the package",
    }.get(certificate.status, "its status is unknown")
    return [f"the release is marked {certificate.status!r}: {why}. Do not treat it as private."]


def _files(folder: Path, certificate: Certificate) -> list[str]:
    listed: dict[str, str] = certificate.body["files"]
    present = {file.name for file in folder.iterdir()} - {CERTIFICATE}
    problems = [
        f"{name} is listed in the certificate and missing from the folder." for name in sorted(set(listed) - present)
    ]
    problems += [
        f"{name} is in the folder and not listed in the certificate." for name in sorted(present - set(listed))
    ]
    for name in sorted(present & set(listed)):
        if sha256_of(folder / name) != listed[name]:
            problems.append(f"{name} differs from the file that the certificate was made for (SHA-256).")
    return problems


def _schema(folder: Path, certificate: Certificate) -> list[str]:
    try:
        schema = load_schema(folder / SCHEMA)
    except SfumatoError as error:
        return [str(error)]
    problems = []
    if schema.digest() != certificate.body["schema_sha256"]:
        problems.append("schema.toml is not the schema that the certificate was made for.")
    if schema.unit.to_json() != certificate.body["claim"]["unit"]:
        problems.append("the unit of privacy in schema.toml differs from the one in the certificate.")
    return problems


def _plan(certificate: Certificate) -> list[str]:
    """The events that were accounted must be those that the steps cause, on the grid that their noise implies."""
    body = certificate.body
    unit = PrivacyUnit(**body["claim"]["unit"])
    events: list[dict[str, Any]] = []
    problems = []
    for entry in body["steps"]:
        step, noise = step_from_json(entry), float(entry["noise_multiplier"])
        events.append(event_to_json(step.event(noise_multiplier=noise, unit=unit)))
        for block in step.blocks:
            if body["grid"][f"{step.name}/{block.name}"] != grid.units_per_one(block, noise_multiplier=noise):
                problems.append(f"the grid of {step.name}/{block.name} does not fit its noise.")
    accounted = body["event"]["events"] if body["event"]["event"] == "composed" else [body["event"]]
    if body.get("discovery") is not None:
        accounted = accounted[1:]  # the first event is the discovery's, which came before the steps
    if accounted != events:
        problems.append("the accounted events differ from those that the listed steps cause.")
    return problems


def _mechanism(folder: Path, certificate: Certificate) -> list[str]:
    """The listed steps must be those that the named mechanism plans for the schema."""
    body = certificate.body
    try:
        mechanism = registered(body["mechanism"]["name"])(**body["mechanism"]["parameters"])
        planned = [step.to_json() for step in mechanism.steps(load_schema(folder / SCHEMA))]
    except SfumatoError as error:
        return [f"the steps of the mechanism cannot be planned again: {error}"]
    listed = [{key: value for key, value in entry.items() if key != "noise_multiplier"} for entry in body["steps"]]
    if json.loads(json.dumps(planned)) != listed:
        return ["the listed steps are not those that the mechanism plans for this schema."]
    return []


def _accounting(certificate: Certificate) -> tuple[float | None, list[str]]:
    claim = certificate.body["claim"]
    try:
        replayed = replay_epsilon(
            certificate.body["event"], delta=float(claim["delta"]), relation=claim["unit"]["relation"]
        )
    except SfumatoError as error:
        return None, [f"the accounting cannot be replayed: {error}"]
    if replayed <= float(claim["epsilon"]) * (1 + REPLAY_TOLERANCE):
        return replayed, []
    return replayed, [
        f"the certificate claims epsilon {claim['epsilon']:g}, and its own events amount to {replayed:.4g}."
    ]


def _rebuilt(folder: Path) -> tuple[float, list[str]]:
    release = load_release(folder)
    released = read_synthetic(folder)
    again = release.model().sample(len(released), seed=release.certificate.body["seed"])
    share = share_different(released, again, release.schema)
    if share <= MOST_DIFFERENT:
        return share, []
    return share, [
        "the synthetic rows are not those that the measurements give with the certificate's seed: "
        f"{share:.2%} of the cells differ, and rounding on another processor explains {MOST_DIFFERENT:.2%} at most."
    ]
