"""The pages of an assessment: HTML, Markdown and JSON from one summary, in one folder that is whole or absent."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from sfumato.errors import ReleaseError
from sfumato.folder.disk import write_files
from sfumato.folder.releasing import CERTIFICATE
from sfumato.lab.assess.likeness import QUANTILES
from sfumato.lab.assess.summary import Assessment, Learned, Shape
from sfumato.lab.attacks.roc import Attack, Interval
from sfumato.present.histogram_drawing import histogram_svg
from sfumato.present.marginals import Marginal
from sfumato.present.pages import render
from sfumato.present.plots import attack_svg, bars_svg, calibration_svg

HTML, MARKDOWN, JSON = "assessment.html", "assessment.md", "assessment.json"
#: Columns of importance, classes of a matrix, and rows of a table on a page.
_MOST_BARS, _MOST_CLASSES, _MOST_LISTED = 15, 12, 40


def check_place(out: Path, *, release: Path, force: bool) -> None:
    """Refuse a place inside of a release, or one that cannot be written, before any work is done."""
    target, folder = out.absolute().resolve(), release.absolute().resolve()
    if target == folder or folder in target.parents or (target / CERTIFICATE).exists():
        raise ReleaseError(
            f"{out} is a release folder, or lies in one. An assessment is not private and must not be published with it: "
            "choose another place."
        )
    if any((parent / CERTIFICATE).exists() for parent in target.parents):
        raise ReleaseError(f"{out} lies in a release folder. An assessment is not private: choose another place.")
    if out.exists() and not force:
        raise ReleaseError(f"{out} exists already. Choose another folder, or replace it: force=True (--force).")
    if out.exists() and not (out / JSON).is_file():
        raise ReleaseError(f"{out} exists and is no assessment, so it is not replaced. Choose another folder.")
    if not target.parent.is_dir():
        raise ReleaseError(f"there is no folder {target.parent} to write into. Make it first.")


def write(found: Assessment, *, to: Path, force: bool = False) -> None:
    """Write the three files."""
    plain = json.dumps(found.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    files = {HTML: html(found).encode(), MARKDOWN: markdown(found).encode(), JSON: plain.encode()}
    write_files(to, files, force=force)


def headline(found: Assessment) -> dict[str, str]:
    """The figures of the first screen, in words."""
    utility, attacks = found.utility, found.attacks.all()
    real, synthetic = utility.best("real"), utility.best("synthetic")
    if real is not None and synthetic is not None:
        told = {
            "useful": f"{synthetic.score.value:.3f}",
            "useful_about": f"{_METRICS[utility.metric]} of {synthetic.learner} trained on the release; "
            f"{real.score.value:.3f} if trained on private rows",
        }
    else:
        mean = [float(np.mean([getattr(pair, key) for pair in utility.columns])) for key in ("synthetic", "real")]
        told = {
            "useful": f"{mean[0]:.3f}",
            "useful_about": "how well columns are predicted from the others, learned from the release (1 is all, 0 nothing); "
            f"{mean[1]:.3f} if learned from private rows",
        }
    if found.table is not None:
        told["alike"] = f"{found.table.one_way:.3f}"
        told["alike_about"] = (
            "how far a column's distribution is off, on average (0: the same, 1: apart); "
            f"other real rows are {found.table.one_way_fresh:.3f} off"
        )
    elif found.pictures is not None:
        told["alike"] = f"{found.pictures.frechet:.3g}"
        told["alike_about"] = (
            f"Frechet distance (0 is the same); other real pictures: {found.pictures.frechet_fresh:.3g}"
        )
    best = max(attacks, key=lambda attack: attack.rate_at_low.value, default=None)
    if best is not None:
        told["attack"] = f"{best.rate_at_low.value:.2%}"
        told["attack_about"] = (
            f"the share of private rows that the best of {len(attacks)} attacks recognises while it mistakes .1 % of others for "
            "them; guessing recognises .1 %"
        )
    return told


_METRICS = {"accuracy": "accuracy", "auc": "AUC", "auc_ovo": "AUC", "R2": "R2"}


def html(found: Assessment) -> str:
    """The page as text: self-contained, readable in light and dark, without scripts or outside resources."""
    utility, table = found.utility, found.table
    real, synthetic = utility.best("real"), utility.best("synthetic")
    content: dict[str, Any] = {
        "title": f"Assessment of {found.release}: NOT PRIVATE",
        "found": found,
        "headline": headline(found),
        "factor": f"{np.exp(found.epsilon):.3g}" if found.epsilon < 20 else f"e^{found.epsilon:g}",
        "metric": _METRICS.get(utility.metric, utility.metric),
        "learners": [_line(each) for each in utility.learned],
        "calibrations": _calibrations(found),
        "matrices": _matrices(found) if len(utility.class_names) <= _MOST_CLASSES else [],
        "classes": _classes(real, synthetic),
        "importances": _importance_plot(found),
        "most_listed": _MOST_LISTED,
        "plots": [] if table is None else [(shape.name, _drawn(shape)) for shape in table.shapes],
        "quantile_names": [f"{level:.0%}" for level in QUANTILES],
        "attacks": [(attack, _attack_plot(attack, found)) for attack in found.attacks.all()],
        "words": interval_words,
        "shown": _shown,
    }
    return render("assessment.html.jinja", content)


def _attack_plot(attack: Attack, found: Assessment) -> Any:
    curve = list(zip(attack.false_positive_rate, attack.true_positive_rate, strict=True))
    # Where not one other row is mistaken there is no rate to draw.
    false, true = zip(*[point for point in curve if point[0] > 0], strict=True)
    return attack_svg(false, true, title=attack.name, epsilon=found.epsilon, delta=found.delta)


def interval_words(value: Interval, *, percent: bool = False) -> str:
    """A figure with its interval.

    >>> interval_words(Interval(0.5, 0.4, 0.6))
    '0.500 (0.400 to 0.600)'
    """
    if percent:
        return f"{value.value:.2%} ({value.low:.2%} to {value.high:.2%})"
    return f"{value.value:.3f} ({value.low:.3f} to {value.high:.3f})"


def _shown(value: float, is_date: bool) -> str:
    return str(np.datetime64(int(value), "s").astype("datetime64[D]")) if is_date else f"{value:.4g}"


def _line(learned: Learned) -> dict[str, str]:
    return {
        "learner": learned.learner,
        "trained_on": learned.trained_on,
        "score": interval_words(learned.score),
        "brier": "–" if learned.brier is None else f"{learned.brier:.4f}",
    }


def _of_learner(found: Assessment, learner: str) -> dict[str, Learned]:
    return {each.trained_on: each for each in found.utility.learned if each.learner == learner}


def _names(found: Assessment) -> list[str]:
    return list(dict.fromkeys(each.learner for each in found.utility.learned))


def _calibrations(found: Assessment) -> list[Any]:
    plots = []
    for learner in _names(found):
        curves = {
            name: ([bin.said for bin in each.calibration], [bin.seen for bin in each.calibration])
            for name, each in _of_learner(found, learner).items()
            if each.calibration
        }
        if curves:
            plots.append(calibration_svg(curves, title=learner))
    return plots


def _matrices(found: Assessment) -> list[dict[str, Any]]:
    """Confusion matrices of the first learner, each cell with its share of the true class."""
    made = []
    for each in _of_learner(found, _names(found)[0]).values() if found.utility.learned else ():
        if not each.confusion:
            continue
        rows = [[(count, round(100 * count / max(1, sum(row)))) for count in row] for row in each.confusion]
        made.append({"learner": each.learner, "trained_on": each.trained_on, "rows": rows})
    return made


def _classes(real: Learned | None, synthetic: Learned | None) -> list[dict[str, Any]]:
    if real is None or synthetic is None:
        return []
    return [
        {"name": a.name, "rows": a.rows, "recall": (a.recall, b.recall), "precision": (a.precision, b.precision)}
        for a, b in zip(real.classes, synthetic.classes, strict=True)
    ]


def _importance_plot(found: Assessment) -> Any:
    chosen = found.utility.importances[:_MOST_BARS]
    if not chosen:
        return None
    heights = {"real": [pair.real for pair in chosen], "synthetic": [pair.synthetic for pair in chosen]}
    return bars_svg([pair.name for pair in chosen], heights, title="what shuffling a column costs")


def _drawn(shape: Shape) -> Markup:
    if not shape.edges:
        return bars_svg(shape.labels, shape.heights, title="share of rows")
    heights = {key: np.array(values) for key, values in shape.heights.items()}
    counted = Marginal(shape.name, heights, edges=np.array(shape.edges), is_date=shape.is_date)
    return histogram_svg(counted, label=f"Histogram of {shape.name}, private rows beside released ones")


def markdown(found: Assessment) -> str:
    """The same for whoever reads plain text: every table, no plots."""
    told = headline(found)
    lines = [
        f"# Assessment of {found.release}", "", f"**{found.warning}**", "",
        f"Promised of the release, not of this page: {found.claim}", "",
        f"- {told['useful']}: {told['useful_about']}.",
        f"- {told['alike']}: {told['alike_about']}.",
    ]  # fmt: skip
    if "attack" in told:
        lines.append(f"- {told['attack']}: {told['attack_about']}.")
    lines += ["", "## Utility", ""]
    if found.utility.learned:
        metric = _METRICS[found.utility.metric]
        lines += [
            f"Target: {found.utility.target}.",
            "",
            f"| learner | trained on | {metric} (95 %) | Brier |",
            "|---|---|---|---|",
        ]
        lines += [
            "| {learner} | {trained_on} | {score} | {brier} |".format(**_line(each)) for each in found.utility.learned
        ]
    for pair in found.utility.columns:
        lines.append(f"- {pair.name}: {pair.synthetic:.3f} from synthetic rows, {pair.real:.3f} from real ones")
    if found.utility.importances:
        lines += ["", "| column | worth, real | worth, synthetic |", "|---|---|---|"]
        lines += [f"| {p.name} | {p.real:.4f} | {p.synthetic:.4f} |" for p in found.utility.importances[:_MOST_LISTED]]
    lines += ["", "## Fidelity", ""]
    lines.append(
        f"A classifier tells real from synthetic rows with an AUC of {interval_words(found.told_apart)}; real from other real "
        f"rows {interval_words(found.told_apart_fresh)}."
    )
    if found.table is not None:
        lines += ["", "| column | distance | of other real rows |", "|---|---|---|"]
        lines += [f"| {c.name} | {c.synthetic:.4f} | {c.fresh:.4f} |" for c in found.table.columns]
        if found.table.correlation_error is not None:
            lines += ["", f"Mean error of rank correlations: {found.table.correlation_error:.4f}."]
    lines += [
        "",
        "## Attacks",
        "",
        "| attack | AUC (95 %) | found at .1 % false alarms (95 %) | least epsilon |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {a.name} | {interval_words(a.auc)} | {interval_words(a.rate_at_low, percent=True)} | {a.least_epsilon:.2f} |"
        for a in found.attacks.all()
    ]
    if found.attacks.attribute is not None:
        guessed = found.attacks.attribute
        lines += [
            "",
            f"{guessed.column} is guessed for {interval_words(guessed.of_members, percent=True)} of private rows and for "
            f"{interval_words(guessed.of_others, percent=True)} of others.",
        ]
    if found.attacks.closest is not None:
        lines += [
            "",
            f"Sanity figure that proves nothing, distance to the closest record: AUC {found.attacks.closest.auc.value:.3f}.",
        ]
    return "\n".join([*lines, "", f"**{found.warning}**", ""])
