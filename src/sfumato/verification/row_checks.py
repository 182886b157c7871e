"""The synthetic rows and the report, made again from what the folder holds."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.contents import ARRAYS, TABLE, synthetic_file, synthetic_of
from sfumato.errors import ReleaseError, SfumatoError
from sfumato.folder import GARBLED, REPORT, Release, report_of
from sfumato.model import Classifier, Synthetic, notes_of
from sfumato.outlook.warnings import release_warnings
from sfumato.public.certificate import Certificate
from sfumato.public.schema import Schema
from sfumato.public.software import DRAWN_BY, WRITTEN_BY, installed_software
from sfumato.verification.comparison import MOST_DIFFERENT, share_different
from sfumato.verification.findings import Findings
from sfumato.verification.plan_checks import Recomputed

#: Up to so many synthetic cells and noisy numbers, building again takes seconds and is done unasked.
QUICK_CELLS, QUICK_NUMBERS = 4_000_000, 2_000_000
#: Mechanisms that train on what they measured: minutes, whatever the size.
SLOW = ("3a-image", "aim", "clustmix", "dp-gan", "dp-kip", "dp-merf", "kip", "pate-gan")


@dataclass(frozen=True)
class Rows:
    """The synthetic rows as released, and the name of their file."""

    name: str
    synthetic: Synthetic


def read_rows(contents: dict[str, bytes], certificate: Certificate, found: Findings) -> Rows | None:
    """The released rows, as many as the certificate says, in a file that holds nothing else."""
    name = next((name for name in (TABLE, ARRAYS) if name in contents), None)
    if name is None:
        return None
    try:
        synthetic = synthetic_of(name, contents[name])
        again = synthetic_file(synthetic)
    except SfumatoError as error:
        found.problems.append(str(error))
        return None
    except GARBLED as error:
        found.problems.append(f"{name} does not hold rows ({type(error).__name__}).")
        return None
    problems = []
    if len(synthetic) != certificate.rows:
        problems.append(f"{name} holds {len(synthetic):,} rows, and the certificate speaks of {certificate.rows}.")
    is_same, by_others = _same_software(certificate, WRITTEN_BY)
    if again != (name, contents[name]):
        if is_same:
            problems.append(f"{name} holds something besides its rows, or writes them as sfumato does not.")
        else:
            found.declared.append(f"that {name} holds nothing besides its rows: it was written by {by_others}")
    found.settle(problems, checked=f"there are {len(synthetic):,} synthetic rows, as the certificate says")
    return None if problems else Rows(name, synthetic)


def is_quick(certificate: Certificate, planned: Recomputed, rows: Rows) -> bool:
    """Whether building the rows again takes seconds, judged by public facts."""
    synthetic = rows.synthetic
    held = synthetic.images if synthetic.table is None else synthetic.table
    cells = 0 if held is None else held.size
    numbers = sum(step.width * step.mixtures * step.groups * step.uses for step in planned.plan.steps)
    return cells <= QUICK_CELLS and numbers <= QUICK_NUMBERS and certificate.mechanism.name not in SLOW


def rebuild_rows(release: Release, planned: Recomputed, rows: Rows, found: Findings) -> float | None:
    """Build the model and its rows again. Returns the part of the cells that differ."""
    certificate, released = release.certificate, rows.synthetic
    try:
        model = release.model()
        if isinstance(model, Classifier):
            raise ReleaseError("its mechanism trains a model and gives no rows.")
        again = model.sample(len(released), seed=certificate.seed)
        warnings = release_warnings(
            schema=release.schema,
            plan=certificate.plan(),
            mechanism=planned.mechanism,
            model=model,
            synthetic=released,
        )
        notes = notes_of(model)
        share = share_different(released, again, release.schema)
    except SfumatoError as error:
        found.problems.append(f"the synthetic rows cannot be built again: {error}")
        return None
    except GARBLED as error:
        found.problems.append(f"the synthetic rows cannot be built again ({type(error).__name__}).")
        return None
    problems = []
    if not share <= MOST_DIFFERENT:
        problems.append(
            "the synthetic rows are not those that the doors' integers give with the certificate's seed: "
            f"{share:.2%} of the cells differ, and rounding on another processor explains {MOST_DIFFERENT:.2%} at most."
        )
    elif share:
        found.declared.append(
            f"{share:.2g} of the synthetic cells: they differ when they are built here, as another processor's rounding may"
        )
    found.settle(
        problems, checked="the synthetic rows follow from the doors' integers and the seed, and hold nothing else"
    )
    found.settle(
        [] if warnings == certificate.warnings else ["the warnings are not those that follow from the release."],
        checked="the warnings are those that follow from the release, none left out",
    )
    found.settle(
        [] if notes == certificate.notes else ["the notes are not those that follow from the doors' integers."],
        checked="the notes are those that follow from the doors' integers, none left out",
    )
    return share


def check_report(
    contents: dict[str, bytes], certificate: Certificate, schema: Schema, rows: Rows, found: Findings
) -> None:
    """Make the page again. Its words must be the same; so must its drawings, where the same software draws."""
    compare_report(
        contents,
        certificate,
        lambda: report_of(certificate, schema=schema, synthetic=rows.synthetic),
        found,
        given="certificate, schema and rows",
    )


def compare_report(
    contents: dict[str, bytes], certificate: Certificate, make: Callable[[], bytes], found: Findings, *, given: str
) -> None:
    """The page that `make` gives beside the one in the folder; `given` says what it is made from."""
    if REPORT not in contents:
        return
    try:
        again = make()
    except SfumatoError as error:
        found.problems.append(f"{REPORT} cannot be made again: {error}")
        return
    except GARBLED as error:
        found.problems.append(f"{REPORT} cannot be made again ({type(error).__name__}).")
        return
    edited = [f"{REPORT} is not the page that {given} give: it was edited."]
    if again == contents[REPORT]:
        found.checked.append(f"{REPORT} is, to the byte, the page that {given} give")
        return
    is_same, by_others = _same_software(certificate, DRAWN_BY)
    if is_same or _words(again) != _words(contents[REPORT]):
        found.problems += edited
        return
    found.checked.append(f"{REPORT} says in words what {given} give")
    found.declared.append(f"the drawings in {REPORT}: they were made by {by_others}")


def _words(page: bytes) -> bytes:
    """A page without its drawings."""
    return re.sub(rb"<svg.*?</svg>|data:image/png;base64,[A-Za-z0-9+/=]*", b"", page, flags=re.DOTALL)


def _same_software(certificate: Certificate, names: tuple[str, ...]) -> tuple[bool, str]:
    """Whether the release was written by what is installed here, and by what else if not."""
    here = installed_software()
    others = [
        f"{name} {certificate.software.get(name)}" for name in names if certificate.software.get(name) != here[name]
    ]
    return not others, ", ".join(others)
