"""Figures 1 and 3 of the paper: its three steps on rows that a line tells apart, and digits as mixtures."""

from pathlib import Path
from typing import Any

import numpy as np

from sfumato.lab.benchmark.datasets import DELTA, Benchmark
from sfumato.lab.studies.common.digits import digits_of, sound_release
from sfumato.lab.studies.common.drawing import HERE, INK, PUBLISHED, _drawn, draw_sheet
from sfumato.lab.studies.threea.adapt import adapted
from sfumato.lab.studies.threea.clustmix_published import Codes, Setting, Vectors, approximate, mixtures_of
from sfumato.lab.studies.threea.readings import EQUATION_7, READINGS, Claim
from sfumato.mechanism import mechanism_for
from sfumato.public.budget import Budget
from sfumato.public.machine.torch_extra import need_torch

#: Epsilon, and digits in a mixture, of the two sheets of Figure 3.
SHEETS = ((1.0, 118), (0.2, 20))
_FIGURE_1 = Setting(least=150, alpha=0.05)


def separable(*, seed: int = 0) -> tuple[Vectors, Codes]:
    """Two classes that a line tells apart; a few rows of the second lie far from the rest of it."""
    rng = np.random.default_rng(seed)
    places, spreads, counts = [(0.3, 0.6), (0.8, 0.7), (0.5, 0.3)], (0.06, 0.06, 0.035), (300, 250, 50)
    rows = np.concatenate([rng.normal(p, s, (n, 2)) for p, s, n in zip(places, spreads, counts, strict=True)])
    return np.clip(rows, 0, 1), np.repeat([0, 1, 1], counts)


def draw_framework(path: Path, *, epsilon: float = 1.0) -> dict[str, Any]:
    """Five panels, a line of a linear classifier in four of them, and how many rows it has on the wrong side."""
    torch = need_torch("the figure")
    rows, labels = separable()
    part = approximate(torch.from_numpy(rows), torch.from_numpy(labels), n_classes=2, least=_FIGURE_1.least)
    moved = adapted(part, n_classes=2, alpha=_FIGURE_1.alpha, ridge=_FIGURE_1.ridge)
    claim = Claim(epsilon=epsilon, delta=1 / len(rows), features=2, classes=2)
    noisy = mixtures_of(rows, labels, n_classes=2, setting=_FIGURE_1)
    classes = part.classes.numpy()
    panels: dict[str, tuple[Vectors, Codes]] = {
        "approximate: clusters": (part.points.numpy(), classes),
        "trained on all rows": (rows, labels),
        "trained on the centroids": (part.points.numpy(), classes),
        "adapt": (moved.numpy(), classes),
        "anonymize": (noisy.released(claim, EQUATION_7, seed=0), noisy.classes),
    }
    errors: dict[str, int] = {}
    with _drawn(path, (12.5, 2.9)) as figure:
        for at, (title, (points, of)) in enumerate(panels.items()):
            axes = figure.add_subplot(1, len(panels), at + 1)
            axes.scatter(rows[:, 0], rows[:, 1], s=3, c=np.where(labels, PUBLISHED, HERE), linewidths=0, alpha=0.45)
            if at:
                weights, wrong = _line(points, of, rows, labels)
                errors[title] = int(wrong.sum())
                axes.scatter(
                    rows[wrong, 0], rows[wrong, 1], s=14, facecolors="none", edgecolors="#d0021b", linewidths=1
                )
                across = np.array([-0.1, 1.1])
                axes.plot(across, -(weights[2] + weights[0] * across) / weights[1], "--", color=INK, linewidth=1)
            if at != 1:
                axes.scatter(
                    points[:, 0],
                    points[:, 1],
                    s=34,
                    c=np.where(of, PUBLISHED, HERE),
                    edgecolors=INK,
                    linewidths=0.8,
                    marker="s",
                )
            axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
            axes.set_title(f"{at + 1}. {title}", fontsize=9, loc="left")
    return {"wrong": errors, "points": len(classes), "rows": len(rows), "least": _FIGURE_1.least, "epsilon": epsilon}


def _line(points: Vectors, classes: Codes, rows: Vectors, labels: Codes) -> tuple[Vectors, Any]:
    """A line between the classes of the points, and which rows lie on the wrong side of it."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(C=1e4, max_iter=1000).fit(points, classes)
    return np.append(fitted.coef_[0], fitted.intercept_), fitted.predict(rows) != labels


def draw_digits(path: Path, benchmark: Benchmark) -> dict[str, Any]:
    """A mixture of each class under each reading of the noise, and a digit of the sound default, at both epsilons."""
    train = digits_of(benchmark, "train")
    rows, n_classes = train.rows.astype(np.float64), benchmark.schema.require_coded_target().size
    sheet, figures = dict[str, Any](real=train.one_of_each()), dict[str, Any](images=len(train))
    shape = (-1, *train.images.shape[1:])
    for epsilon, mixed in SHEETS:
        least = min(mixed, int(np.bincount(train.labels).min()))
        claim = Claim(epsilon=epsilon, delta=DELTA, features=rows.shape[1], classes=n_classes)
        few = _few_of_each(rows, train.labels, most=4 * mixed)
        found = mixtures_of(*few, n_classes=n_classes, setting=Setting(least=least))
        first = _first_of_each(found.classes)
        for reading in READINGS:
            points = found.released(claim, reading, seed=0)
            sheet[f"{reading.replace('sqrt', '√')}, {epsilon:g}"] = points[first].reshape(shape)
            figures[f"noise {reading}, {epsilon:g}"] = round(claim.noise(reading, least), 3)
        sound = mechanism_for("auto", benchmark.schema)
        made = sound_release(sound, benchmark, Budget(epsilon=epsilon, delta=DELTA), synthetic_rows=200)
        sheet[f"default, {epsilon:g}"] = made.batch[benchmark.schema.images[0].name][_first_of_each(made.label)]
        figures[f"mixed, {epsilon:g}"] = least
    draw_sheet(path, sheet)
    return figures


def _few_of_each(rows: Vectors, labels: Codes, *, most: int) -> tuple[Vectors, Codes]:
    """Enough rows of each class for a few mixtures: the sheet shows one of each."""
    some = np.concatenate([np.flatnonzero(labels == c)[:most] for c in np.unique(labels)])
    return rows[some], labels[some]


def _first_of_each(classes: Codes) -> list[int]:
    return [int(np.flatnonzero(classes == c)[0]) for c in np.unique(classes)]
