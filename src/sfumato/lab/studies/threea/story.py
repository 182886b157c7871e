"""The page of 3A. Sentences about results are made of the figures of full runs that are there."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from sfumato.lab.benchmark.protocol import spread
from sfumato.lab.studies.common.drawing import draw_curves
from sfumato.lab.studies.common.study import Found, Line, markdown_table
from sfumato.lab.studies.threea.clustmix_witness import find_witness
from sfumato.lab.studies.threea.paper import COLUMNS, DATASETS, DEFAULT_ALONE, DIFFERENCES, LINES, TABLE_1, PaperLine
from sfumato.lab.studies.threea.pictures import SHEETS
from sfumato.lab.studies.threea.readings import READINGS, Claim, Reading
from sfumato.present.pages import render

#: The task that runs the trade-off.
ALPHA = "alpha"
#: Our columns beside those of Table 1; the first is the default.
METHODS = ("auto", "clustmix", "dp-merf", "pate-gan", "dp-gan", "ads-gan")
#: A figure agrees with the print where it lies this close.
_CLOSE = 0.03
_MNIST = Claim(epsilon=1.0, delta=1e-5, features=784, classes=10)


def lines_of(found: Found) -> Sequence[Line]:
    """ClustMix: printed, run here under each reading, and the sound default."""
    return [
        Line(
            what=line.name,
            published=f"{_figure(line.printed)} at {line.published.epsilon:g}",
            here=_each_reading(found, line),
            honest=_honest(found, line),
            sound=_sound(found, line.sound, "auto"),
        )
        for line in LINES
    ]


def story_of(found: Found, folder: Path) -> str:
    """What was done, what one row does to it, which noise the print can come from, and the columns of Table 1."""
    full = found.at_full_size
    _draw_alpha(full, folder)
    facts = {
        "witness": find_witness(Claim(epsilon=1.0, delta=1e-5, features=2, classes=2), least=118),
        "mnist": {reading: (_MNIST.noise(reading, 118), _MNIST.honest_epsilon(reading)) for reading in READINGS},
        "fifth": {reading: _fifth().honest_epsilon(reading) for reading in READINGS},
        "sheets": SHEETS,
        "framework": found.figures.get("framework"),
        "toys": found.get("toys", "points"),
        "digits": found.figures.get("digits"),
        "printed": markdown_table(("", *COLUMNS), _printed()),
        "readings": markdown_table(
            (
                "",
                "noise",
                "epsilon, clusters fixed",
                "rows of a mixture",
                "points",
                "settings tried",
                "score",
                "runs",
                "printed",
            ),
            _readings(found),
        ),
        "agreement": _agreement(full),
        "here": markdown_table(
            ("", "real", *METHODS), [(d, _real(found, d), *(_column(found, d, m) for m in METHODS)) for d in DATASETS]
        ),
        "ahead": _ahead(full),
        "differences": _differences(full),
        "alpha": full.figures.get(ALPHA),
        "alpha_says": _alpha_says(full),
        "credit": _credit(full),
        "pate_gan": next(iter(full.each("credit, pate-gan", "value")), None),
    }
    return render("studies/threea.md.jinja", facts)


def _fifth() -> Claim:
    return Claim(epsilon=0.2, delta=1e-5, features=784, classes=10)


def _values(found: Found, line: PaperLine, reading: Reading) -> list[float]:
    """The scores of a line under a reading, one for each seed."""
    readings = found.get(f"{line.name}, as published", "readings")
    return list(readings[reading]["values"]) if readings else []


def _as_published(found: Found, line: PaperLine, reading: Reading) -> str:
    return found.words(f"{line.name}, as published", _mean(_values(found, line, reading)))


def _each_reading(found: Found, line: PaperLine) -> str:
    if f"{line.name}, as published" not in found:
        return "to be run"
    return "; ".join(f"{reading}: {_as_published(found, line, reading)}" for reading in READINGS)


def _honest(found: Found, line: PaperLine) -> str:
    """As it is, and what it would be for each reading if clusters were fixed."""
    readings = found.get(f"{line.name}, as published", "readings")
    if readings is None:
        return "infinite"
    return f"infinite; clusters fixed: {', '.join(_short(readings[r]['fixed_epsilon']) for r in READINGS)}"


def _short(value: float) -> str:
    return f"{value:.3g}".removeprefix("0")


def _sound(found: Found, dataset: str, method: str) -> str:
    values = found.each(f"{dataset}, {method}", "value")
    if not values:
        return "to be run"
    quick = not found.at_full_size.each(f"{dataset}, {method}", "value")
    return f"{_mean(values)}{' (quick)' if quick else ''}"


def _column(found: Found, dataset: str, method: str) -> str:
    return "-" if dataset in DEFAULT_ALONE and method != "auto" else _sound(found, dataset, method)


def _mean(values: Sequence[float]) -> str | None:
    """The mean, with the deviation of several runs.

    >>> _mean([0.9, 0.92]), _mean([0.9]), _mean([])
    ('.910 ± .014', '.900', None)
    """
    return f"{spread(values):.3f}".replace("0.", ".") if values else None


def _real(found: Found, dataset: str) -> str:
    return _mean(_real_values(found, dataset)) or "to be run"


def _real_values(found: Found, dataset: str) -> list[float]:
    """What the learner reaches on real rows: one value for each of its seeds."""
    runs = [
        (figures["seed"], figures["real_value"])
        for method in METHODS
        for key, figures in found.figures.items()
        if key.startswith(f"{dataset.partition(' at ')[0]}, {method}, seed ")
    ]
    return [value for _, value in sorted(dict(runs).items())]


def _printed() -> list[tuple[str, ...]]:
    rows = [(name, *map(_figure, figures)) for name, figures in TABLE_1.items()]
    return [*rows, ("average difference to real", *map(_figure, DIFFERENCES))]


def _readings(found: Found) -> list[tuple[str, ...]]:
    """A row for each line and reading that was run."""
    rows: list[tuple[str, ...]] = []
    for line in LINES:
        key = f"{line.name}, as published"
        for reading, of in (found.get(key, "readings") or {}).items():
            rows.append(
                (
                    f"{line.name}: {reading}",
                    f"{of['noise']:.3g}",
                    f"{of['fixed_epsilon']:.3g}",
                    f"{of['least']:,}",
                    f"{of['points']:,}",
                    str(found.get(key, "rounds")),
                    _as_published(found, line, reading),
                    str(len(of["values"])),
                    _figure(line.printed),
                )
            )
    return rows


def _agreement(full: Found) -> str:
    """How many printed figures each reading comes close to, and which figures none comes close to."""
    run = [line for line in LINES if line.printed is not None and _values(full, line, READINGS[0])]
    if not run:
        return ""
    close = {
        reading: [
            line.name
            for line in run
            if any(
                abs(mean(values) - (line.printed or 0)) <= _CLOSE for values in [_values(full, line, reading)] if values
            )
        ]
        for reading in READINGS
    }
    counts = ", ".join(f"{reading} of {len(close[reading])}" for reading in READINGS)
    away = [line for line in run if not any(line.name in names for names in close.values())]
    none = f" None of them does on {', '.join(_range(full, line) for line in away)}." if away else ""
    return f"Of {len(run)} printed figures the noise comes within {_figure(_CLOSE)}: {counts}.{none}"


def _range(full: Found, line: PaperLine) -> str:
    """From the least to the largest mean of the readings that were run."""
    means = [mean(values) for reading in READINGS if (values := _values(full, line, reading))]
    span = _figure(means[0]) if len(means) == 1 else f"{_figure(min(means))} to {_figure(max(means))}"
    return f"{line.name} ({span}, printed {_figure(line.printed)})"


def _ahead(full: Found) -> str:
    """Where the sound default is ahead of the printed figure, and where not."""
    won: list[str] = []
    lost: list[str] = []
    for line in {line.sound: line for line in LINES if line.printed is not None}.values():
        values = full.each(f"{line.sound}, auto", "value")
        if values and line.printed is not None:
            figures = f"{line.sound} ({_figure(mean(values))} to {_figure(line.printed)})"
            (won if mean(values) > line.printed else lost).append(figures)
    if not won and not lost:
        return ""
    behind = f"; it is behind on {', '.join(lost)}" if lost else ""
    return f"ahead of the print on {len(won)} of {len(won) + len(lost)}: {', '.join(won) or 'none'}{behind}"


def average_differences(full: Found) -> dict[str, Any]:
    """How far below real rows a score lies on average, over the public datasets of Table 1 that were run."""
    lines = [line for line in LINES if line.name in TABLE_1 or line.name == "mnist, mixtures of 118"]
    run = [line for line in lines if all(_values(full, line, r) for r in READINGS) and _real_values(full, line.sound)]
    if not run:
        return {}
    names = [line.sound for line in run]
    real = {name: mean(_real_values(full, name)) for name in names}
    methods = {method: {name: full.each(f"{name}, {method}", "value") for name in names} for method in METHODS}
    return {
        "datasets": names,
        "printed": mean(TABLE_1[name][0] - TABLE_1[name][-1] for name in names),
        "readings": {r: mean(real[line.sound] - mean(_values(full, line, r)) for line in run) for r in READINGS},
        "methods": {
            method: mean(real[name] - mean(values) for name, values in scored.items())
            for method, scored in methods.items()
            if all(scored.values())
        },
    }


def _differences(full: Found) -> str:
    found = average_differences(full)
    if not found:
        return ""
    rows = [
        ("ClustMix, printed, all seven lines", DIFFERENCES[-1]),
        (f"ClustMix, printed, {', '.join(found['datasets'])}", found["printed"]),
        *((f"as published, {reading}, run here", gap) for reading, gap in found["readings"].items()),
        *((f"`{method}`", gap) for method, gap in found["methods"].items()),
    ]
    return markdown_table(("", "average difference to real"), [(name, _figure(gap)) for name, gap in rows])


def _credit(full: Found) -> dict[str, Any] | None:
    """The dataset with 492 frauds: real rows, the default, and how far the learner's seed alone moves the real score."""
    values, real = full.each("credit, auto", "value"), _real_values(full, "credit")
    if not values:
        return None
    return {
        "default": _mean(values),
        "real": _mean(real),
        "low": _figure(min(real)),
        "high": _figure(max(real)),
        "behind": mean(values) < TABLE_1["credit"][-1],
    }


def _draw_alpha(full: Found, folder: Path) -> None:
    curve = full.figures.get(ALPHA)
    if curve is not None:
        over = curve["alphas"]
        scores = {reading: [spread(s) for s in curve["scores"][reading]] for reading in READINGS}
        draw_curves(
            folder / "threea-alpha.png",
            {r: (over, [s.mean for s in scores[r]], [s.deviation or 0.0 for s in scores[r]]) for r in READINGS},
            x="alpha: 0 the classifier alone, 1 the density alone",
            y="AUC on test rows",
            right={"how far points moved": (over[:-1], [mean(moved) for moved in curve["moved"][:-1]])},
            right_name="|X - X0|² / |X0|²",
        )


def _alpha_says(full: Found) -> str:
    """Whether Adapt earns anything: the best alpha against none, beside the spread of runs."""
    curve = full.figures.get(ALPHA)
    if curve is None:
        return ""
    said = []
    for reading in READINGS:
        scores = [spread(values) for values in curve["scores"][reading]]
        best = max(range(len(scores)), key=lambda at: scores[at].mean)
        said.append(
            f"with {reading} the best alpha is {curve['alphas'][best]:g} ({scores[best]:.3f}), "
            f"and without Adapt it is {scores[-1]:.3f}"
        )
    return "; ".join(said)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".replace("0.", ".", 1)
