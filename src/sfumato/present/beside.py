"""Pages that show real rows beside synthetic ones: of the demo, whose people are made up, and for a custodian alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.outlook.warnings import verdict_on
from sfumato.present.pages import render
from sfumato.present.plots import roc_svg

#: What every such page of private rows says first and last.
STAMP = "Shows private rows without privacy. Not to be published."

#: All that a page shows of both sets of rows, as plain values: not private. `cards` of columns, `pictures` of correlations, `rows` of each
#: set; `lesson`, what one learner reached on real test rows after real and after synthetic ones, or None and `why_no_lesson`. A lesson
#: has `learner`, `measure`, `target`, `tested_on`, its `rows`, `curves` and `scores` by what it learned from: real, synthetic, and guess
#: for one that learned nothing. Of pictures `strips` instead of cards: a class, its real and its synthetic ones.
#: Of several tables `tables`: each its `name`, what it is `about`, and its cards.
Comparison = dict[str, Any]


def demo_page(found: Comparison, *, claim: Mapping[str, Any], release: str, warnings: Sequence[str]) -> str:
    """The page of the demo, as text; `claim` is that of the certificate, with the epsilon that was replayed."""
    content = _content(found, claim=claim, release=release, warnings=warnings)
    title = f"{found['rows']['real']:,} people, released at epsilon {claim['epsilon']:g}"
    return render("demo.html.jinja", content | {"title": title})


def private_page(found: Comparison, *, claim: Mapping[str, Any], release: str, warnings: Sequence[str]) -> str:
    """The page of a custodian: the same, stamped."""
    content = _content(found, claim=claim, release=release, warnings=warnings)
    return render("private.html.jinja", content | {"title": f"Not to be published: {release}", "stamp": STAMP})


def _content(found: Comparison, *, claim: Mapping[str, Any], release: str, warnings: Sequence[str]) -> dict[str, Any]:
    lesson, roc = found["lesson"], None
    if lesson is not None and lesson["curves"]:
        real, synthetic = (lesson["scores"][key] for key in ("real", "synthetic"))
        label = f"ROC curves: trained on real rows {real:.3f}, on synthetic rows {synthetic:.3f}"
        roc = roc_svg(lesson["curves"], label=label)
    return {
        "found": found,
        "lesson": lesson,
        "claim": claim,
        "release": release,
        "warnings": list(warnings),
        "verdict": verdict_on(warnings),
        "roc": roc,
    }
