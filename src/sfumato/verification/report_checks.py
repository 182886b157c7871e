"""The report, made again from what the folder holds."""

import re
from collections.abc import Callable

from sfumato.errors import SfumatoError
from sfumato.folder.releasing import GARBLED, REPORT, model_report_of, report_of
from sfumato.model import Synthetic
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.software import DRAWN_BY, others_than_here
from sfumato.public.plan.answers import Answers
from sfumato.public.schema.schema import Schema
from sfumato.verification.findings import Findings


def check_report(
    contents: dict[str, bytes], certificate: Certificate, schema: Schema, synthetic: Synthetic, found: Findings
) -> None:
    """The page of synthetic rows."""
    _compare(
        contents,
        certificate,
        lambda: report_of(certificate, schema=schema, synthetic=synthetic),
        found,
        given="certificate, schema and rows",
    )


def check_model_report(
    contents: dict[str, bytes], certificate: Certificate, schema: Schema, answers: Answers, found: Findings
) -> None:
    """The page of a trained model."""
    _compare(
        contents,
        certificate,
        lambda: model_report_of(certificate, schema=schema, answers=answers),
        found,
        given="certificate, schema and answers",
    )


def _compare(
    contents: dict[str, bytes], certificate: Certificate, make: Callable[[], bytes], found: Findings, *, given: str
) -> None:
    """Words must be the same; so must drawings, where the same software draws. `given` says what the page is made from."""
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
    if again == contents[REPORT]:
        found.checked.append(f"{REPORT} is, to the byte, the page that {given} give")
        return
    others = others_than_here(certificate.software, DRAWN_BY)
    if not others or _words(again) != _words(contents[REPORT]):
        found.problems.append(f"{REPORT} is not the page that {given} give: it was edited.")
        return
    found.checked.append(f"{REPORT} says in words what {given} give")
    found.declared.append(f"the drawings in {REPORT}: they were made by {', '.join(others)}")


def _words(page: bytes) -> bytes:
    """A page with a mark in the place of each drawing, so that there is none more, none less and none elsewhere.

    >>> _words(b"<p>one <svg>a line</svg> two</p>")
    b'<p>one <svg/> two</p>'
    """
    return re.sub(rb"<svg.*?</svg>|data:image/png;base64,[A-Za-z0-9+/=]*", b"<svg/>", page, flags=re.DOTALL)
