"""The pages of an assessment: HTML, Markdown and JSON from one summary, in one folder that is whole or absent."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from sfumato.errors import ReleaseError
from sfumato.folder.disk import write_files
from sfumato.folder.releasing import CERTIFICATE
from sfumato.lab.assess.assessing import Summary, all_attacks
from sfumato.lab.assess.likeness import QUANTILES
from sfumato.present.histogram_drawing import histogram_svg
from sfumato.present.marginals import Marginal
from sfumato.present.pages import plain, render
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


def write(found: Summary, *, to: Path, force: bool = False) -> None:
    """Write the three files."""
    text = json.dumps(plain(found), indent=1, ensure_ascii=False, allow_nan=False)
    write_files(to, {HTML: html(found).encode(), MARKDOWN: markdown(found).encode(), JSON: text.encode()}, force=force)


def headline(found: Summary) -> dict[str, str]:
    """The figures of the first screen, in words."""
    utility, attacks, table, pictures = found["utility"], all_attacks(found), found["table"], found["pictures"]
    real, synthetic = _first(utility, "real"), _first(utility, "synthetic")
    if real is not None and synthetic is not None:
        value, of_private = synthetic["score"]["value"], real["score"]["value"]
        about = f"{_METRICS[utility['metric']]} of {synthetic['learner']} trained on the release; "
        about += f"{of_private:.3f} if trained on private rows"
    else:
        value, of_private = (np.mean([pair[key] for pair in utility["columns"]]) for key in ("synthetic", "real"))
        about = "how well columns are predicted from the others, learned from the release (1 is all, 0 nothing); "
        about += f"{of_private:.3f} if learned from private rows"
    words = {"useful": f"{value:.3f}", "useful_about": about}
    if table is not None:
        off, fresh, whose = table["one_way"], table["one_way_fresh"], "rows"
        if found["tables"]:
            columns = [column for each in found["tables"] for column in each["columns"]]
            off, fresh = (np.mean([column[key] for column in columns]) for key in ("synthetic", "fresh"))
            whose = "persons"
        words["alike"] = f"{off:.3f}"
        words["alike_about"] = (
            "how far a column's distribution is off, on average (0: the same, 1: apart); "
            f"other real {whose} are {fresh:.3f} off"
        )
    elif pictures is not None:
        fresh = pictures["frechet_fresh"]
        words["alike"] = f"{pictures['frechet']:.3g}"
        words["alike_about"] = f"Frechet distance (0 is the same); other real pictures: {fresh:.3g}"
    if "alike" in words:  # single columns may agree where rows as a whole do not
        words["alike_about"] += (
            f". A classifier tells real from released with an AUC of {found['told_apart']['value']:.3f}"
        )
    if attacks:
        best = max(attack["rate_at_low"]["value"] for attack in attacks)
        words["attack"] = f"{best:.2%}"
        words["attack_about"] = (
            f"the share of private rows that the best of {len(attacks)} attacks recognises while it mistakes .1 % of others for "
            "them; guessing recognises .1 %"
        )
    return words


_METRICS = {"accuracy": "accuracy", "auc": "AUC", "auc_ovo": "AUC", "R2": "R2"}


def html(found: Summary) -> str:
    """The page as text: self-contained, readable in light and dark, without scripts or outside resources."""
    utility, table, epsilon = found["utility"], found["table"], found["epsilon"]
    content = _common(found) | {
        "title": f"Assessment of {found['release']}: NOT PRIVATE",
        "factor": f"{np.exp(epsilon):.3g}" if epsilon < 20 else f"e^{epsilon:g}",
        "calibrations": _calibrations(utility),
        "matrices": _matrices(utility) if len(utility["class_names"]) <= _MOST_CLASSES else [],
        "classes": _classes(_first(utility, "real"), _first(utility, "synthetic")),
        "importances": _importance_plot(utility),
        "plots": [] if table is None else [(shape["name"], _drawn(shape)) for shape in table["shapes"]],
        "quantile_names": [f"{level:.0%}" for level in QUANTILES],
        "attacks": [(attack, _attack_plot(attack, found)) for attack in all_attacks(found)],
        "shown": _shown,
    }
    return render("assessment.html.jinja", content)


def markdown(found: Summary) -> str:
    """The same for whoever reads plain text: every table, no plots."""
    return render("assessment.md.jinja", _common(found) | {"attacks": all_attacks(found)})


def _common(found: Summary) -> dict[str, Any]:
    utility = found["utility"]
    return {
        "found": found,
        "headline": headline(found),
        "metric": _METRICS.get(utility["metric"], utility["metric"]),
        "learners": [_line(each) for each in utility["learned"]],
        "most_listed": _MOST_LISTED,
        "words": interval_words,
    }


def _first(utility: Summary, trained_on: str) -> Summary | None:
    """The learner that the protocol names first."""
    return next((each for each in utility["learned"] if each["trained_on"] == trained_on), None)


def _attack_plot(attack: Summary, found: Summary) -> Markup:
    curve = zip(attack["false_positive_rate"], attack["true_positive_rate"], strict=True)
    # Where not one other row is mistaken there is no rate to draw.
    false, true = zip(*[point for point in curve if point[0] > 0], strict=True)
    return attack_svg(false, true, title=attack["name"], epsilon=found["epsilon"], delta=found["delta"])


def interval_words(interval: Mapping[str, float], *, percent: bool = False) -> str:
    """A figure with its interval.

    >>> interval_words({"value": 0.5, "low": 0.4, "high": 0.6})
    '0.500 (0.400 to 0.600)'
    """
    value, low, high = (f"{interval[key]:{'.2%' if percent else '.3f'}}" for key in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def _shown(value: float, is_date: bool) -> str:
    return str(np.datetime64(int(value), "s").astype("datetime64[D]")) if is_date else f"{value:.4g}"


def _line(learned: Summary) -> dict[str, str]:
    brier = "–" if learned["brier"] is None else f"{learned['brier']:.4f}"
    score = interval_words(learned["score"])
    return {"learner": learned["learner"], "trained_on": learned["trained_on"], "score": score, "brier": brier}


def _by_learner(utility: Summary) -> dict[str, dict[str, Summary]]:
    """Each learner by what it was trained on."""
    every: dict[str, dict[str, Summary]] = {}
    for each in utility["learned"]:
        every.setdefault(each["learner"], {})[each["trained_on"]] = each
    return every


def _calibrations(utility: Summary) -> list[Markup]:
    plots = []
    for learner, trained in _by_learner(utility).items():
        bins = {name: each["calibration"] for name, each in trained.items() if each["calibration"]}
        curves = {name: ([b["said"] for b in every], [b["seen"] for b in every]) for name, every in bins.items()}
        if curves:
            plots.append(calibration_svg(curves, title=learner))
    return plots


def _matrices(utility: Summary) -> list[dict[str, Any]]:
    """Confusion matrices of the first learner, each cell with its share of the true class."""
    made = []
    for each in next(iter(_by_learner(utility).values()), {}).values():
        if each["confusion"]:
            rows = [[(count, round(100 * count / max(1, sum(row)))) for count in row] for row in each["confusion"]]
            made.append({"learner": each["learner"], "trained_on": each["trained_on"], "rows": rows})
    return made


def _classes(real: Summary | None, synthetic: Summary | None) -> list[dict[str, Any]]:
    if real is None or synthetic is None:
        return []
    return [
        {**a, "recall": (a["recall"], b["recall"]), "precision": (a["precision"], b["precision"])}
        for a, b in zip(real["classes"], synthetic["classes"], strict=True)
    ]


def _importance_plot(utility: Summary) -> Markup | None:
    chosen = utility["importances"][:_MOST_BARS]
    if not chosen:
        return None
    heights = {key: [pair[key] for pair in chosen] for key in ("real", "synthetic")}
    return bars_svg([pair["name"] for pair in chosen], heights, title="what shuffling a column costs")


def _drawn(shape: Summary) -> Markup:
    name, edges = shape["name"], shape["edges"]
    if not edges:
        return bars_svg(shape["labels"], shape["heights"], title="share of rows")
    heights = {key: np.array(values) for key, values in shape["heights"].items()}
    counted = Marginal(name, heights, edges=np.array(edges), is_date=shape["is_date"])
    return histogram_svg(counted, label=f"Histogram of {name}, private rows beside released ones")
