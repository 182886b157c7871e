"""Curves and sheets of pictures for the pages of studies, in the colours of the reports, as small PNG files."""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, RULE = "#23262d", "#c9c6bd"
HERE, PUBLISHED, THIRD = "#b5532a", "#3d5a80", "#8a8f98"
_COLOURS = (HERE, PUBLISHED, THIRD, "#6b8f47", "#7a4d8b", "#c29a2b", INK)
_STYLE: Any = {
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": RULE,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}

#: A curve: where, how high; and how far runs lie from it, where it is a mean of several.
Numbers = Sequence[float] | NDArray[np.floating]
Curve = tuple[Numbers, Numbers] | tuple[Numbers, Numbers, Numbers]


@contextmanager
def _drawn(path: Path, size: tuple[float, float], *, tones: tuple[str, int] | None = None) -> "Iterator[Figure]":
    """A figure that is written when all is drawn. `tones`: the mode of its colours, and how many of them are enough."""
    import matplotlib
    from matplotlib.figure import Figure
    from PIL import Image

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        if tones is None:
            figure.savefig(path, dpi=110, metadata={"Software": None})
            return
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=85, bbox_inches="tight", pad_inches=0.05, metadata={"Software": None})
    Image.open(file).convert(tones[0]).quantize(tones[1]).save(path, optimize=True)


def draw_curves(
    path: Path,
    left: Mapping[str, Curve],
    *,
    x: str,
    y: str,
    right: Mapping[str, Curve] | None = None,
    right_name: str = "epsilon",
    log_x: bool = False,
    log_y: bool = False,
) -> None:
    """Curves over one axis; those of the second axis, where there are any, are dashed, on a log scale."""
    from matplotlib.ticker import MaxNLocator

    with _drawn(path, (7.6, 3.8)) as figure:
        axes = figure.add_subplot()
        lines = []
        places = sorted({place for curve in left.values() for place in curve[0]})
        for at, (name, (across, up, *spread)) in enumerate(left.items()):
            lines += axes.plot(across, up, color=_COLOURS[at], marker="o", markersize=3, linewidth=1.6, label=name)
            for far in spread:
                low, high = np.subtract(up, far), np.add(up, far)
                axes.fill_between(across, low, high, color=_COLOURS[at], alpha=0.15, linewidth=0)
        axes.set(xlabel=x, ylabel=y)
        if all(place == int(place) for place in places):  # epochs and sizes: no tick between two of them
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if log_x:
            axes.set_xscale("log")
            axes.set_xticks(places, [f"{place:g}" for place in places])
            axes.set_xticks([], minor=True)
        if log_y:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
        if right:
            second = axes.twinx()
            second.set(yscale="log", ylabel=right_name)
            second.spines["right"].set_visible(True)
            for at, (name, (across, up, *_)) in enumerate(right.items(), start=len(left)):
                lines += second.plot(across, up, color=_COLOURS[at], linewidth=1.2, linestyle=(0, (4, 2)), label=name)
        figure.legend(handles=lines, loc="outside lower center", ncols=2, frameon=False, fontsize=8)


def draw_bars(path: Path, heights: Mapping[str, Sequence[float]], *, labels: Sequence[str], y: str) -> None:
    """Bars side by side, one colour for each name."""
    with _drawn(path, (7.6, 3.0)) as figure:
        axes = figure.add_subplot()
        places, width = np.arange(len(labels)), 0.8 / len(heights)
        for at, (name, values) in enumerate(heights.items()):
            axes.bar(places + (at - (len(heights) - 1) / 2) * width, values, width, color=_COLOURS[at], label=name)
        axes.set_xticks(places, labels)
        axes.set_ylabel(y)
        figure.legend(loc="outside lower center", ncols=len(heights), frameon=False, fontsize=8)


def draw_sheet(path: Path, rows: Mapping[str, NDArray[Any]]) -> None:
    """Pictures in rows with a name before each; every row has the grey scale of its own smallest and largest value."""
    most = max(len(pictures) for pictures in rows.values())
    # Noise does not compress: sixteen greys are enough to see it.
    with _drawn(path, (1.5 + 0.8 * most, 0.86 * len(rows)), tones=("L", 16)) as figure:
        for at, (name, pictures) in enumerate(rows.items()):
            axes = figure.add_subplot(len(rows), 1, at + 1)
            low, high = float(pictures.min()), float(pictures.max())
            strip = np.ones((pictures.shape[1], most * (pictures.shape[2] + 2)))
            for place, picture in enumerate(pictures):
                begin = place * (pictures.shape[2] + 2)
                strip[:, begin : begin + pictures.shape[2]] = (picture - low) / max(high - low, 1e-9)
            axes.imshow(strip, cmap="gray", vmin=0, vmax=1, interpolation="nearest", aspect="equal")
            axes.set_xticks([])
            axes.set_yticks([])
            axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
            for side in axes.spines.values():
                side.set_visible(False)


def draw_planes(path: Path, planes: Mapping[str, Mapping[str, tuple[NDArray[Any], NDArray[Any]]]]) -> None:
    """Points of two classes in the plane: a row for each name, a picture for each set of points."""
    n_columns = max(len(sets) for sets in planes.values())
    # Thousands of small dots with soft edges: a few colours are enough to see them.
    with _drawn(path, (2.1 * n_columns, 1.9 * len(planes)), tones=("RGB", 12)) as figure:
        for row, (name, sets) in enumerate(planes.items()):
            for column, (title, (points, classes)) in enumerate(sets.items()):
                axes = figure.add_subplot(len(planes), n_columns, row * n_columns + column + 1)
                for code, colour in ((0, HERE), (1, PUBLISHED)):
                    mine = points[classes == code]
                    axes.scatter(mine[:, 0], mine[:, 1], s=2 if len(points) > 500 else 12, color=colour, linewidths=0)
                axes.set(xlim=(-0.15, 1.15), ylim=(-0.15, 1.15), xticks=[], yticks=[])
                axes.set_title(f"{name}: {title}", fontsize=8, loc="left")
