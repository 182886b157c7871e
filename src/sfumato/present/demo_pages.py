"""The page that the demo leaves: real and synthetic rows side by side, which only a made-up population may show."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.outlook.warnings import verdict_on
from sfumato.present.marginals import Marginal
from sfumato.present.pages import render
from sfumato.present.plots import marginal_svg, roc_svg

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def demo_page(
    *,
    claim: Mapping[str, Any],
    plan: Mapping[str, Any],
    aucs: Mapping[str, float],
    curves: Mapping[str, Curve],
    marginals: Sequence[Marginal],
    correlations: Mapping[str, float],
    rows: Mapping[str, int],
    release: str,
    learner: str,
    warnings: Sequence[str],
) -> str:
    """The page as text.

    Args:
        claim: The claim of the certificate.
        plan: The plan, as plain values.
        aucs: Area under the ROC curve by what the learner was trained on: real, synthetic, coin.
        curves: ROC curves of the first two.
        marginals: Columns of both sets of rows.
        correlations: Between age and blood pressure, in real and in synthetic rows.
        rows: How many rows there are: train, synthetic, test.
        release: The name of the release folder beside the page.
        learner: What was trained.
        warnings: What the certificate says of the release's use.
    """
    content = {
        "title": "sfumato: the demo",
        "status": "demo",
        "epsilon": f"{claim['epsilon']:g}",
        "delta": f"{claim['delta']:g}",
        "claim": claim["in_words"],
        "replayed": f"{claim['replayed_epsilon']:.4f}",
        "steps": plan["steps"],
        "aucs": aucs,
        "correlations": correlations,
        "rows": rows,
        "release": release,
        "learner": learner,
        "warnings": warnings,
        "verdict": verdict_on(warnings),
        "roc": roc_svg(curves, label=_roc_label(aucs)),
        "plots": [marginal_svg(entry) for entry in marginals],
    }
    return render("demo.html.jinja", content)


def _roc_label(aucs: Mapping[str, float]) -> str:
    return f"ROC curves: trained on real rows {aucs['real']:.3f}, on synthetic rows {aucs['synthetic']:.3f}"
