"""Small plots as text: SVG that takes its colours from the page, and PNG for pictures. No display, no global state.

matplotlib is imported where it is used: it takes longer to import than most of the package.
"""

import base64
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Where, and how high.
Curve = tuple[Sequence[float] | NDArray[np.float64], Sequence[float] | NDArray[np.float64]]

# matplotlib knows no CSS variables. It draws in these colours, which are then replaced by name.
_INK, _RULE = "#010101", "#020202"
_SERIES = {"synthetic": "#030303", "real": "#040404", "coin": "#050505"}
_VARIABLES = {_INK: "--ink", _RULE: "--rule", **{colour: f"--{name}" for name, colour in _SERIES.items()}}
_HALVES: Any = {"xticks": [0, 0.5, 1], "yticks": [0, 0.5, 1]}
_SHEET_WIDTH = 1200
#: Small pictures are drawn about as large as this.
_LEAST_SIDE = 48
_IN_INK = (
    "text.color",
    "axes.labelcolor",
    *(f"{axis}tick.{part}" for axis in "xy" for part in ("color", "labelcolor")),
)
_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: smaller, searchable, in the page's own font
    "svg.hashsalt": "sfumato",
    "font.size": 9,
    **dict.fromkeys(_IN_INK, _INK),
    "axes.edgecolor": _RULE,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def roc_svg(curves: Mapping[str, Curve], *, label: str) -> Markup:
    """ROC curves by the name of what the learner was trained on."""
    at = np.linspace(0, 1, 200)  # a few hundred points draw the same line as ten thousand
    with _plot(width=3.6, height=3.2) as (figure, axes):
        axes.plot([0, 1], [0, 1], color=_SERIES["coin"], linewidth=1, linestyle=(0, (3, 3)))
        for name, (false_positive, true_positive) in curves.items():
            axes.plot(at, np.interp(at, false_positive, true_positive), color=_SERIES[name], linewidth=1.8)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="false alarms", ylabel="cases found", **_HALVES)
        return _svg(figure, label=label)


def calibration_svg(curves: Mapping[str, Curve], *, title: str) -> Markup:
    """What was said against what was seen, by what the learner was trained on; the diagonal is right."""
    with _plot(width=3.3, height=2.6) as (figure, axes):
        axes.plot([0, 1], [0, 1], color=_SERIES["coin"], linewidth=1, linestyle=(0, (3, 3)))
        for name, (said, seen) in curves.items():
            axes.plot(said, seen, color=_SERIES[name], linewidth=1.6, marker="o", markersize=3)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability said", ylabel="share seen", **_HALVES)
        axes.set_title(_short(title), loc="left", fontsize=10, color=_INK)
        return _svg(figure, label=f"Calibration: {title}, trained on {' and '.join(curves)} rows")


def attack_svg(
    false_positive: Sequence[float], true_positive: Sequence[float], *, title: str, epsilon: float, delta: float
) -> Markup:
    """An attack's ROC curve on a logarithmic scale, beside a coin and the most that epsilon and delta allow."""
    with _plot(width=3.3, height=3.0) as (figure, axes):
        floor = 1e-4
        at = np.geomspace(floor, 1, 100)
        allowed = np.minimum(
            1, np.minimum(np.exp(min(epsilon, 50)) * at + delta, 1 - np.exp(-epsilon) * (1 - at - delta))
        )
        axes.plot(at, at, color=_SERIES["coin"], linewidth=1, linestyle=(0, (3, 3)))
        axes.plot(at, allowed, color=_SERIES["real"], linewidth=1.2, linestyle=(0, (6, 2)))
        curve = np.maximum(false_positive, floor), np.maximum(true_positive, floor)
        axes.plot(*curve, color=_SERIES["synthetic"], linewidth=1.8)
        axes.set(
            xscale="log", yscale="log", xlim=(floor, 1), ylim=(floor, 1), xlabel="false alarms", ylabel="members found"
        )
        for axis in (axes.xaxis, axes.yaxis):  # plain numbers: laying out powers of ten takes as long as the curves
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(lambda _value, _at: "")
        axes.set_title(title, loc="left", fontsize=10, color=_INK)
        return _svg(figure, label=f"ROC curve of the attack: {title}")


def bars_svg(labels: Sequence[str], heights: Mapping[str, Sequence[float]], *, title: str) -> Markup:
    """Bars of numbers by name, one colour for each set of rows."""
    with _plot(width=3.6, height=0.9 + 0.28 * len(labels)) as (figure, axes):
        places, thickness = np.arange(len(labels)), 0.8 / len(heights)
        for at, (name, values) in enumerate(heights.items()):
            offset = (at - (len(heights) - 1) / 2) * thickness
            axes.barh(places + offset, values, thickness, color=_SERIES[name])
        axes.set_yticks(places, [_short(label) for label in labels])
        axes.invert_yaxis()
        axes.locator_params(axis="x", nbins=4)
        axes.spines["left"].set_visible(False)
        axes.set_title(title, loc="left", fontsize=10, color=_INK)
        return _svg(figure, label=f"{title}, by {' and '.join(heights)} rows")


def _short(label: str) -> str:
    # A dollar sign would start a formula.
    return (label if len(label) <= 16 else f"{label[:15]}…").replace("$", r"\$")


def picture_grid(images: NDArray[Any], *, darkest: float, lightest: float) -> Markup:
    """Pictures side by side as a PNG data address, from the darkest grey to the lightest."""
    from PIL import Image

    scaled = np.clip((images.astype(np.float64) - darkest) / max(lightest - darkest, 1e-9), 0, 1)
    n_images, height, width = scaled.shape[:3]
    zoom = max(2 if width <= 64 else 1, _LEAST_SIDE // width)
    columns = max(1, min(20, n_images, _SHEET_WIDTH // (zoom * (width + 2))))
    channels = scaled.shape[3] if scaled.ndim == 4 else 1
    scaled = scaled.reshape(n_images, height, width, channels)
    if channels not in (1, 3):
        scaled = scaled.mean(axis=3, keepdims=True)
    rows = math.ceil(n_images / columns)
    sheet = np.ones((rows * (height + 2), columns * (width + 2), scaled.shape[3]))
    for at, picture in enumerate(scaled):
        top, left = at // columns * (height + 2) + 1, at % columns * (width + 2) + 1
        sheet[top : top + height, left : left + width] = picture
    pixels = (sheet * 255).round().astype(np.uint8)
    drawn = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    drawn = drawn.resize((drawn.width * zoom, drawn.height * zoom), Image.Resampling.NEAREST)
    file = io.BytesIO()
    drawn.save(file, format="PNG", optimize=True)
    return Markup("data:image/png;base64,{}").format(base64.b64encode(file.getvalue()).decode())


@contextmanager
def _plot(*, width: float, height: float) -> "Iterator[tuple[Figure, Axes]]":
    """One pair of axes, transparent and in the style of the page, which holds until it is written."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        figure.patch.set_alpha(0.0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0.0)
        axes.tick_params(length=2)
        yield figure, axes


def _svg(figure: "Figure", *, label: str) -> Markup:
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = "<svg" + file.getvalue().partition("<svg")[2]
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    opening = Markup('<svg role="img" aria-label="{}" ').format(label)
    return opening + Markup(text.removeprefix("<svg "))  # drawn by matplotlib, which escapes its text
