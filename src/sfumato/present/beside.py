"""Pages that show real rows beside synthetic ones: of the demo, whose people are made up, and for a custodian alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sfumato.outlook.warnings import verdict_on
from sfumato.present.columns import ColumnCard
from sfumato.present.pages import render
from sfumato.present.plots import roc_svg

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]

#: What every such page of private rows says first and last.
STAMP = "Shows private rows without privacy. Not to be published."


@dataclass(frozen=True)
class Lesson:
    """What one learner reached on real test rows after real and after synthetic ones: not private.

    `scores` are by what it learned from: real, synthetic, and guess for one that learned nothing.
    """

    learner: str
    measure: str
    target: str
    scores: dict[str, float]
    rows: dict[str, int]
    curves: dict[str, Curve]
    tested_on: str


@dataclass(frozen=True)
class Comparison:
    """All that a page shows of both sets of rows: not private. `why_no_lesson` is said where nothing was learned."""

    cards: list[ColumnCard]
    pictures: dict[str, Markup]
    rows: dict[str, int]
    lesson: Lesson | None
    why_no_lesson: str = ""


def demo_page(found: Comparison, *, claim: Mapping[str, Any], release: str, warnings: Sequence[str]) -> str:
    """The page of the demo, as text.

    Args:
        found: Both sets of rows, compared.
        claim: The claim of the certificate, with the epsilon that was replayed.
        release: The name of the release folder beside the page.
        warnings: What the certificate says of the release's use.
    """
    title = f"{found.rows['real']:,} people, released at epsilon {claim['epsilon']:g}"
    return render(
        "demo.html.jinja", _content(found, claim=claim, release=release, warnings=warnings) | {"title": title}
    )


def private_page(found: Comparison, *, claim: Mapping[str, Any], release: str, warnings: Sequence[str]) -> str:
    """The page of a custodian: the same, stamped."""
    content = _content(found, claim=claim, release=release, warnings=warnings)
    return render("private.html.jinja", content | {"title": f"Not to be published: {release}", "stamp": STAMP})


def _content(found: Comparison, *, claim: Mapping[str, Any], release: str, warnings: Sequence[str]) -> dict[str, Any]:
    lesson = found.lesson
    return {
        "found": found,
        "lesson": lesson,
        "claim": claim,
        "release": release,
        "warnings": list(warnings),
        "verdict": verdict_on(warnings),
        "roc": roc_svg(lesson.curves, label=_roc_label(lesson)) if lesson is not None and lesson.curves else None,
    }


def _roc_label(lesson: Lesson) -> str:
    scores = lesson.scores
    return f"ROC curves: trained on real rows {scores['real']:.3f}, on synthetic rows {scores['synthetic']:.3f}"
