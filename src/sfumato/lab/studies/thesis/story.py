"""The page of the DPMix thesis: its table, its curves, and how near the runs here come to the published figures."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, variance

from sfumato.lab.studies.common.drawing import Curve, draw_bars, draw_curves
from sfumato.lab.studies.common.study import Found, Line, markdown_table
from sfumato.lab.studies.thesis.claims import (
    APPENDIX,
    BY_DEGREE,
    BY_MIXTURES,
    BY_NOISE,
    CLASS_COUNTS,
    CURVES,
    MAIN_ACCURACY,
    MAIN_EPSILON,
    Classwise,
    main_epsilons,
    published_points,
)
from sfumato.present.pages import render

#: Epochs of the curve over noise, and of those over l and T, at the main run's rate. The thesis names none: FITTED to what it prints.
NOISE_EPOCHS, OTHER_EPOCHS = 2, 6
#: Releases that are attacked and learned from, and where the accuracy of the network on them is found.
ATTACKED = {
    "random mixing": "main, soft labels",
    "within classes, l 128": "noise 0.7, nothing fitted",
    "within classes, l 32": "",
    "sound dpmix": "sound, honest epsilon",
    "sound dpmix within classes": "sound class-wise, published epsilon",
    "the default 3a-image": "default for images, honest epsilon",
}
#: Points of a hundred: what "the same" means for the mean of ten networks.
_NEAR = 0.05
#: Guessing one of ten digits, and a little luck.
_NOTHING_LEARNED = 0.2


def unfitted(key: str) -> str:
    """The same point of a curve, with no number of epochs fitted to what was published.

    >>> unfitted("noise 0.7")
    'noise 0.7, nothing fitted'
    """
    return f"{key}, nothing fitted"


def lines_of(found: Found) -> Sequence[Line]:
    """Main run with both labels, and the points of the curves that the thesis talks about."""
    honest, at = f"{main_epsilons()['honest']:.2f}", "the same honest epsilon"
    main = Line(
        what="random mixing, soft labels",
        published=f"{100 * MAIN_ACCURACY:.1f} % at {MAIN_EPSILON:g}",
        here=found.percent("main, soft labels"),
        honest=honest,
        sound=found.percent("sound, published epsilon"),
    )
    same = [
        Line(
            what="the setting of appendix A.3 (l 128, noise 0.1132)",
            published="15",
            here=found.percent("appendix A.3, soft labels"),
            honest=f"{main_epsilons(degree=APPENDIX[0], noise_stddev=APPENDIX[1])['honest']:.2f}",
        ),
        Line(what="the same, batches of 32", here=found.percent("main, batches of 32"), honest=honest),
        Line(what="the same, argmax labels", here=found.percent("main, argmax labels"), honest=honest),
        Line(what=f"{at}, sound `dpmix`", honest=honest, sound=found.percent("sound, honest epsilon")),
        Line(
            what=f"{at}, the default `3a-image`",
            honest=honest,
            sound=found.percent("default for images, honest epsilon"),
        ),
    ]
    rows = [main, *same]
    for curve, places in ((BY_NOISE, (0.2, 0.7, 1.0)), (BY_DEGREE, (32, 512)), (BY_MIXTURES, (2_500, 30_000))):
        for place in places:
            key, setting = curve.key(place), curve.setting(place)
            line = Line(
                what=f"within classes, {key}",
                published=f"{100 * curve.accuracies[place]:.1f} % at {setting.claimed():.2f}",
                here=f"{found.percent(key)} (nothing fitted: {found.percent(unfitted(key))})",
                honest=f"{setting.honest():.1f}",
                sound=found.percent("sound class-wise, published epsilon") if setting == Classwise() else "-",
            )
            rows.append(line)
    return rows


def story_of(found: Found, folder: Path) -> str:
    """All of it."""
    _draw_the_curves(found, folder)
    if "class-counts" in found:
        counts = {"here": found.get("class-counts", "counts"), "published": CLASS_COUNTS}
        draw_bars(folder / "dpmix-thesis-classes.png", counts, labels=list("0123456789"), y="training images")
    facts = {
        "main": main_epsilons(),
        "usual": Classwise(),
        "wide": Classwise(degree=512).honest(),
        "narrow": Classwise(degree=32).honest(),
        "spread": partial(spread, found),
        "agreement": agreement(found, published_points()),
        "agreement_unfitted": agreement(found, published_points(), run_as=unfitted),
        "noise_epochs": NOISE_EPOCHS,
        "other_epochs": OTHER_EPOCHS,
        "by_noise": BY_NOISE.accuracies,
        "by_degree": BY_DEGREE.accuracies,
        "stuck": _stuck(found, unfitted("noise 1")),
        "points": _table_of_points(found),
        "appendix": main_epsilons(degree=APPENDIX[0], noise_stddev=APPENDIX[1]),
        "best_degree": _best_degree(found.at_full_size),
        "attacks": _table_of_attacks(found),
        "learners": _table_of_learners(found),
    }
    return render("studies/dpmix-thesis.md.jinja", facts)


def agreement(found: Found, published: Mapping[str, float], *, run_as: Callable[[str], str] = str) -> str:
    """Of the points that were run at full size, how many are near, and which is farthest off.

    Args:
        found: The runs.
        published: Accuracies, by the names of the points.
        run_as: From the name of a point to the key of its run.

    >>> run = {"a": {"accuracy": 0.70, "quick": False}, "b": {"accuracy": 0.5, "quick": False}}
    >>> agreement(Found(run), {"a": 0.68, "b": 0.6, "c": 0.7})
    'Of 2 points run at full size, 1 lies within 5 points of the published accuracy; farthest off is b, by -10.0.'
    >>> agreement(Found({}), {"a": 0.68})
    'No point was run at full size yet.'
    """
    off = {
        key: found.get(run_as(key), "accuracy") - accuracy
        for key, accuracy in published.items()
        if run_as(key) in found and not found.get(run_as(key), "quick")
    }
    if not off:
        return "No point was run at full size yet."
    near = sum(abs(difference) <= _NEAR for difference in off.values())
    farthest = max(off, key=lambda key: abs(off[key]))
    return (
        f"Of {len(off)} points run at full size, {near} {'lies' if near == 1 else 'lie'} within {100 * _NEAR:.0f} points of the "
        f"published accuracy; farthest off is {farthest}, by {100 * off[farthest]:+.1f}."
    )


def spread(found: Found, key: str) -> str:
    """The runs of a point, from the lowest to the highest.

    >>> spread(Found({"a": {"accuracies": [0.62, 0.681, 0.65], "quick": False}}), "a")
    '3 runs, from 62.0 % to 68.1 %'
    >>> spread(Found({}), "a")
    'to be run'
    """
    runs = found.get(key, "accuracies")
    return f"{len(runs)} runs, from {100 * min(runs):.1f} % to {100 * max(runs):.1f} %" if runs else "to be run"


def _best_degree(found: Found) -> str:
    """The l with the highest accuracy here, beside the one that the thesis names."""
    here = {at: found.get(BY_DEGREE.key(at), "accuracies") for at in BY_DEGREE.accuracies}
    runs = {at: values for at, values in here.items() if values}
    if len(runs) < len(BY_DEGREE.accuracies):
        return ""
    best, thesis = (
        max(runs, key=lambda at: fmean(runs[at])),
        max(BY_DEGREE.accuracies, key=BY_DEGREE.accuracies.__getitem__),
    )
    error = (variance(runs[best]) / len(runs[best]) + variance(runs[thesis]) / len(runs[thesis])) ** 0.5
    ahead = fmean(runs[best]) - fmean(runs[thesis])
    if best == thesis:
        return f"Here too l = {best} is best."
    seen = "more than" if ahead > 2 * error else "within"
    return (
        f"The thesis finds its best accuracy at l = {thesis}; here it is l = {best}, by {100 * ahead:.1f} points, which is {seen} "
        f"two standard errors ({100 * error:.1f} points) of means of {len(runs[best])} networks."
    )


def _table_of_attacks(found: Found) -> str:
    """Areas under the curve of both attacks, by release."""
    cells = []
    for kind in ATTACKED:
        areas = [found.spread(f"attack on {kind}", f"{attack}_auc") for attack in ("membership", "inversion")]
        proven = found.each(f"attack on {kind}", "membership_least_epsilon")
        epsilon = found.spread(f"attack on {kind}", "epsilon")
        if epsilon is not None:
            guessed = [f"{area:.3f}" for area in areas if area is not None]
            cells.append((kind, f"{epsilon.mean:,.1f}", *guessed, f"{max(proven):.1f}", str(len(proven))))
    headings = (
        "release",
        "epsilon",
        "membership inference, AUC",
        "model inversion, AUC",
        "epsilon that it proves",
        "runs",
    )
    return markdown_table(headings, cells) if cells else "*To be run at full size.*"


def _table_of_learners(found: Found) -> str:
    """The network, a linear model and trees, by release."""
    cells = []
    for kind, network in ATTACKED.items():
        if (epsilon := found.spread(f"learners on {kind}", "epsilon")) is not None:
            others = [found.percent(f"learners on {kind}", name) for name in ("linear", "trees")]
            cells.append((kind, f"{epsilon.mean:,.1f}", found.percent(network) if network else "-", *others))
    headings = ("release", "epsilon", "the network", "linear model", "boosted trees")
    return markdown_table(headings, cells) if cells else "*To be run at full size.*"


def _stuck(found: Found, key: str) -> str:
    runs = found.get(key, "accuracies")
    if not runs:
        return "this is to be run"
    return f"{sum(accuracy < _NOTHING_LEARNED for accuracy in runs)} of {len(runs)} networks learned nothing"


def _table_of_points(found: Found) -> str:
    """Every point that was run, both ways, with both epsilons."""
    cells = []
    for curve in CURVES:
        for at, accuracy in curve.accuracies.items():
            key, setting = curve.key(at), curve.setting(at)
            if key in found or unfitted(key) in found:
                runs = [found.percent(key), found.percent(unfitted(key))]
                epsilons = [f"{setting.claimed():.2f}", f"{setting.honest():.1f}"]
                cells.append((f"{curve.name} {at:g}", f"{100 * accuracy:.1f} %", *runs, *epsilons))
    headings = ("within classes", "published", "here, epochs fitted", "here, nothing fitted")
    return markdown_table((*headings, "claimed epsilon", "honest epsilon"), cells)


def _draw_the_curves(found: Found, folder: Path) -> None:
    """A picture for each, with both epsilons on the second axis."""
    for curve in CURVES:
        places = list(curve.accuracies)
        settings = [curve.setting(at) for at in places]
        draw_curves(
            folder / f"dpmix-thesis-{curve.file}.png",
            {
                "here, epochs fitted": _here(found, {at: curve.key(at) for at in places}),
                "published": (places, list(curve.accuracies.values())),
                "here, nothing fitted": _here(found, {at: unfitted(curve.key(at)) for at in places}),
            },
            x=curve.across,
            y="accuracy",
            right={
                "epsilon, honest": (places, [setting.honest() for setting in settings]),
                "epsilon, claimed": (places, [setting.claimed() for setting in settings]),
            },
            log_x=curve.name == "l",
        )


def _here(found: Found, keys: Mapping[float, str]) -> Curve:
    run = [at for at, key in keys.items() if key in found]
    return run, [found.get(keys[at], "accuracy") for at in run]
