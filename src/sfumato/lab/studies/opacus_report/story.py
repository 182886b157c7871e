"""The page of the report on Opacus: its table, its curves, and what may be said of the runs that are there."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sfumato.lab.studies.common.drawing import draw_curves
from sfumato.lab.studies.common.study import Found, Line, apart, markdown_table
from sfumato.lab.studies.opacus_report import claims
from sfumato.lab.studies.opacus_report.claims import APPENDIX, BODY, PUBLISHED, Setting
from sfumato.lab.studies.opacus_report.incremental import SCHEDULES
from sfumato.present.pages import render

#: Noise multipliers of the study; the report has two of them.
NOISES = (0.5, 1.0, 1.2, 2.0, 4.0, 8.0)
#: After how many epochs they are compared.
LEVEL_EPOCHS = 6


def noise_task(noise_multiplier: float | None) -> str:
    """The name of a training, without its seed.

    >>> noise_task(None), noise_task(1.2)
    ('plain', 'noise 1.2')
    """
    return "plain" if noise_multiplier is None else f"noise {noise_multiplier:g}"


def lines_of(found: Found) -> Sequence[Line]:
    """Both trainings, as the appendix and as the body has them."""
    printed = f"{100 * claims.PUBLISHED_ACCURACY:.1f} % at {PUBLISHED[-1]}"
    published = {APPENDIX: printed, BODY: "no figure of its own"}
    tasks = {APPENDIX: "appendix", BODY: "body"}
    titles = {APPENDIX: "noise 1.0, nine epochs (appendix)", BODY: "noise 1.2, ten epochs (body)"}
    return [
        Line(
            what="plain",
            published=f"{100 * claims.PUBLISHED_PLAIN:.1f} %",
            here=found.percent("plain to nine"),
            honest="none",
        ),
        *(
            Line(
                what=titles[setting],
                published=published[setting],
                here=found.percent(tasks[setting]),
                honest=f"row left out: {_between(setting, 'left_out')}; row replaced: {_between(setting, 'replaced')}",
                sound=found.percent("sound"),
            )
            for setting in (APPENDIX, BODY)
        ),
    ]


def story_of(found: Found, folder: Path) -> str:
    """All below the table, from what was run."""
    keys = {"plain": "plain to nine", "noise 1.0 (appendix)": "appendix", "noise 1.2 (body)": "body"}
    for figure, y in (("accuracies", "accuracy on test digits"), ("losses", "mean loss of an epoch")):
        curves = found.curves(keys, figure)
        if figure == "losses":
            printed = {f"{name}, printed": list(values) for name, values in claims.PUBLISHED_LOSSES.items()}
            curves |= {name: (range(1, 1 + len(values)), values) for name, values in printed.items()}
        draw_curves(folder / f"opacus-{figure}.png", curves, x="epoch", y=y, log_y=figure == "losses")
    _draw_noise(found, folder)
    _draw_epsilon(folder)
    full = found.at_full_size
    facts = {
        "found": full,
        "quick": not full.each("appendix", "accuracy"),
        "level_epochs": LEVEL_EPOCHS,
        "earlier": ", ".join(f"`{key}`" for key, figures in found.figures.items() if figures.get("earlier version")),
        "drawn": found.figures.get("pictures", {}),
        "between_epochs": _between_epochs(full),
        "least": [f"{claims.lower_bound(s):.2f}" for s in (APPENDIX.after(1), APPENDIX)],
        "most": [f"{claims.upper_bound(APPENDIX, relation):.1f}" for relation in ("left_out", "replaced")],
        "with_coins": f"{claims.with_coins(APPENDIX):.2f}",
        "bounds": _bounds_table(),
        "by_epoch": _by_epoch_table(),
        "losses": _loss_table(full),
        "levels": markdown_table(
            ("noise multiplier", "accuracy here", "epsilon if by coins", "at least", "at most"), _levels(full)
        ),
        "schedules": _schedule_table(found),
        "schedule_says": _what_schedules_say(full),
    }
    return render("studies/opacus.md.jinja", facts)


def _between(setting: Setting, relation: claims.Relation) -> str:
    return f"{claims.lower_bound(setting, relation):.2f} to {claims.upper_bound(setting, relation):.1f}"


def _bounds_table() -> str:
    rows = [
        (
            f"{setting.noise_multiplier:g} over {setting.epochs}",
            f"{claims.claimed_epsilon(setting):.2f}",
            f"{claims.with_coins(setting):.2f}",
            _between(setting, "left_out"),
            _between(setting, "replaced"),
        )
        for setting in (APPENDIX, BODY)
    ]
    headings = (
        *("noise and epochs", "booked by the library (coins; a row added or removed)", "the same, booked tightly"),
        *("true of shuffled batches, a row left out", "true of shuffled batches, a row replaced"),
    )
    return markdown_table(headings, rows)


def _by_epoch_table() -> str:
    after = [APPENDIX.after(epoch) for epoch in range(1, APPENDIX.epochs + 1)]
    bounds = (claims.claimed_epsilon, claims.lower_bound, claims.upper_bound)
    rows = [
        (
            str(s.epochs),
            str(printed),
            *(f"{bound(s):.2f}" for bound in bounds),
            f"{claims.upper_bound(s, 'replaced'):.2f}",
        )
        for s, printed in zip(after, PUBLISHED, strict=True)
    ]
    headings = (
        *("epoch", "printed", "booked, computed here", "at least (row left out)", "at most (row left out)"),
        "at most (row replaced)",
    )
    return markdown_table(headings, rows)


def _loss_table(found: Found) -> str:
    here = {
        name: found.curves({name: task}, "losses").get(name)
        for name, task in (("plain", "plain to nine"), ("private", "appendix"))
    }
    rows = []
    for epoch in range(APPENDIX.epochs):
        cells = [str(epoch + 1)]
        for name, printed in claims.PUBLISHED_LOSSES.items():
            curve = here[name]
            cells += [f"{printed[epoch]:.3f}", "to be run" if curve is None else f"{curve[1][epoch]:.3f}"]
        rows.append(cells)
    return markdown_table(
        ("epoch", "plain, printed", "plain, here", "private, printed", "private, here (noise 1.0)"), rows
    )


def _levels(found: Found) -> list[tuple[str, ...]]:
    return [
        (
            f"{noise:g}",
            found.percent(noise_task(noise)),
            f"{claims.with_coins(setting):.2f}",
            *(f"{bound(setting):.2f}" for bound in (claims.lower_bound, claims.upper_bound)),
        )
        for noise in NOISES
        for setting in (Setting(noise, LEVEL_EPOCHS),)
    ]


def _draw_noise(found: Found, folder: Path) -> None:
    each = {noise: found.each(noise_task(noise), "accuracy") for noise in NOISES}
    there = {noise: values for noise, values in each.items() if values}
    if not there:
        return
    far = [float(np.std(values, ddof=1)) if len(values) > 1 else 0.0 for values in there.values()]
    curve = (list(there), [float(np.mean(values)) for values in there.values()], far)
    plain = found.each("plain", "accuracy")
    curves = {"private": curve}
    if plain:
        curves["plain"] = (list(there), [float(np.mean(plain))] * len(there), [0.0] * len(there))
    epsilon = {
        "epsilon if by coins (right)": (list(there), [claims.with_coins(Setting(n, LEVEL_EPOCHS)) for n in there])
    }
    draw_curves(
        folder / "opacus-noise.png",
        curves,
        x="noise multiplier",
        y="accuracy on test digits",
        right=epsilon,
        log_x=True,
    )


def _draw_epsilon(folder: Path) -> None:
    after = [APPENDIX.after(epoch) for epoch in range(1, APPENDIX.epochs + 1)]
    epochs = [setting.epochs for setting in after]
    curves = {
        "at least (row left out)": [claims.lower_bound(s) for s in after],
        "booked (coins)": [claims.claimed_epsilon(s) for s in after],
        "at most (row left out)": [claims.upper_bound(s) for s in after],
        "at most (row replaced)": [claims.upper_bound(s, "replaced") for s in after],
    }
    path = folder / "opacus-epsilon.png"
    draw_curves(path, {name: (epochs, values) for name, values in curves.items()}, x="epoch", y="epsilon", log_y=True)


def _schedule_table(found: Found) -> str:
    rows = [
        (name, " ".join(f"{noise:g}" for noise in SCHEDULES[name]), found.percent(f"budget, {name} noise"))
        for name in SCHEDULES
    ]
    return markdown_table(
        ("schedule", "noise of the five phases, relative", f"accuracy at epsilon {PUBLISHED[-1]}"), rows
    )


def _what_schedules_say(found: Found) -> str:
    """Only what the spread over runs supports."""
    spreads = {name: found.spread(f"budget, {name} noise", "accuracy") for name in SCHEDULES}
    known = {name: value for name, value in spreads.items() if value is not None}
    if len(known) < len(SCHEDULES):
        return ""
    constant = known["constant"]
    better = [name for name, value in known.items() if value.mean > constant.mean and apart(value, constant)]
    worse = [name for name, value in known.items() if value.mean < constant.mean and apart(value, constant)]
    said = [f"{' and '.join(names)} noise is {how}" for names, how in ((better, "better"), (worse, "worse")) if names]
    if not said:
        return "No schedule differs from constant noise by more than runs differ among themselves."
    return f"Against constant noise, {'; '.join(said)}, by more than runs differ among themselves."


def _between_epochs(found: Found) -> str:
    """The last epoch is what is told, and it may be a poor one."""
    each = [run[:LEVEL_EPOCHS] for task in ("plain", "plain to nine") for run in found.each(task, "accuracies")]
    if not each:
        return ""
    after_first = [accuracy for run in each for accuracy in run[1:]]
    return (
        f"The table has the accuracy after the last epoch. That of plain networks goes up and down between epochs: from the second to the "
        f"sixth, in {len(each)} runs, from {100 * min(after_first):.1f} % to {100 * max(after_first):.1f} %."
    )
