"""A histogram as a few hundred bytes of SVG: a page may hold a thousand, and takes its colours from the style sheet.

Its axis has few marks: round numbers, or the first days of years, months or weeks.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sfumato.present.marginals import Marginal

#: Months, in days, and the steps between marks: of years, of months, of days.
_MONTH, _YEAR = 30.44, 365.25
_YEARS, _MONTHS, _DAYS = (1, 2, 5, 10, 20, 50, 100), (1, 2, 3, 6), (1, 2, 5, 10, 15)


def round_marks(low: float, high: float, *, most: int) -> list[tuple[float, str]]:
    """At most so many round numbers between two others, each with its text."""
    step = round_step(high - low, most=most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(round(at * step, decimals), number_text(at * step, decimals)) for at in range(first, last + 1)]


def round_step(span: float, *, most: int) -> float:
    """The smallest of 1, 2, 5, 10, ... and their tenths that goes into a span fewer than so many times."""
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) < most - 1e-9)


def number_text(value: float, decimals: int) -> str:
    """A mark as it is written: with separators of thousands, and large ones by powers of ten."""
    if abs(value) >= 1e7 or decimals > 5:
        return f"{value:.3g}"
    return f"{value + 0.0:,.{decimals}f}" if round(value, decimals) else f"{0:.{decimals}f}"


def date_marks(low: float, high: float, *, most: int) -> list[tuple[float, str]]:
    """The same for dates in days since 1970."""
    span = high - low
    for unit, days, steps, length in (("Y", _YEAR, _YEARS, 4), ("M", _MONTH, _MONTHS, 7), ("D", 1.0, _DAYS, 10)):
        if span > 2 * days:
            step = next((step for step in steps if span / (step * days) < most), steps[-1])
            return _calendar_marks(low, high, unit=unit, step=step, length=length)
    hours = max(1, math.ceil(span * 24 / 2))  # their texts are long
    return _calendar_marks(low, high, unit="h", step=hours, length=16)


def _calendar_marks(low: float, high: float, *, unit: Any, step: int, length: int) -> list[tuple[float, str]]:
    start, stop = (np.datetime64(round(day * 86_400), "s").astype(f"datetime64[{unit}]") for day in (low, high))
    marks = []
    for at in range(math.ceil(int(start.astype(np.int64)) / step), int(stop.astype(np.int64)) // step + 1):
        mark = np.datetime64(at * step, unit)
        days = float(mark.astype("datetime64[s]").astype(np.int64)) / 86_400
        if low <= days <= high:
            marks.append((days, str(mark)[:length].replace("T", " ")))
    return marks


_WIDTH, _HEIGHT, _TOP, _BELOW = 300, 100, 12, 16
_MOST_MARKS, _THICK = 4, 3


def histogram_svg(marginal: Marginal, *, label: str, spans: Sequence[tuple[float, float]] = ()) -> Markup:
    """Synthetic rows as filled steps, real ones as a line; a share of rows is marked, and round numbers below.

    `spans` are drawn on the axis: where a quartile of the private rows lies. The label is for a reader who does not see it.
    """
    edges = marginal.edges
    if edges is None:
        raise ValueError(f"{marginal.name} has categories, and no axis to draw along.")
    peak = max(float(heights.max(initial=0.0)) for heights in marginal.heights.values()) or 1.0
    x = (edges - edges[0]) / (edges[-1] - edges[0]) * _WIDTH
    tops = np.max([*marginal.heights.values()], axis=0)
    third = max(1, len(tops) // 3)
    line, share = _share_mark(peak, on_the_left=bool(tops[:third].max() < tops[-third:].max()))
    drawn = [line]
    for name, heights in marginal.heights.items():
        outline = _steps(x, heights / peak, closed=name == "synthetic")
        drawn.append(Markup('<path class="{}" d="{}"/>').format(name, outline))
    drawn.append(Markup('<path class="axis" d="M0 {0}H{1}"/>').format(_HEIGHT, _WIDTH))
    drawn += _spans(spans, edges)
    marks = (date_marks if marginal.is_date else round_marks)(float(edges[0]), float(edges[-1]), most=_MOST_MARKS)
    drawn += [share, *_labels(marks, edges)]
    opening = Markup('<svg class="histogram" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    return opening.format(_WIDTH, _HEIGHT + _BELOW, label) + Markup("").join(drawn) + Markup("</svg>")


def _spans(spans: Sequence[tuple[float, float]], edges: NDArray[np.float64]) -> list[Markup]:
    """Thick lines, at least as long as they are thick, as far as they are on the axis."""
    drawn = []
    for span in spans:
        low, high = (min(max((at - edges[0]) / (edges[-1] - edges[0]) * _WIDTH, 0), _WIDTH) for at in span)
        left = min(low, _WIDTH - _THICK)
        path = Markup('<path class="within" d="M{} {}H{}"/>')
        drawn.append(path.format(to_a_tenth(left), _HEIGHT, to_a_tenth(max(high, left + _THICK))))
    return drawn


def _share_mark(peak: float, *, on_the_left: bool) -> tuple[Markup, Markup]:
    """A faint line at a round share of the rows, so that heights can be read, and its text, where bars are low."""
    step = round_step(peak, most=2)
    y = _HEIGHT - (_HEIGHT - _TOP) * step / peak
    x, anchor = (0, "start") if on_the_left else (_WIDTH, "end")
    line = Markup('<path class="rule" d="M0 {}H{}"/>').format(to_a_tenth(y), _WIDTH)
    text = Markup('<text x="{}" y="{}" text-anchor="{}">{} % of rows</text>')
    return line, text.format(x, to_a_tenth(y - 3), anchor, f"{100 * step:g}")


def _steps(x: NDArray[np.float64], shares: NDArray[np.float64], *, closed: bool) -> str:
    tops = zip(_HEIGHT - (_HEIGHT - _TOP) * shares, x[1:], strict=True)
    steps = "".join(f"V{to_a_tenth(height)}H{to_a_tenth(end)}" for height, end in tops)
    return f"M0 {_HEIGHT}{steps}V{_HEIGHT}{'z' if closed else ''}"


def _labels(marks: Sequence[tuple[float, str]], edges: NDArray[np.float64]) -> list[Markup]:
    texts = []
    for value, text in marks:
        at = (value - edges[0]) / (edges[-1] - edges[0]) * _WIDTH
        half = 3.1 * len(text)  # so that no text sticks out on either side
        place = min(max(at, half), _WIDTH - half)
        texts.append(Markup('<text class="mark" x="{}" y="{}">{}</text>').format(to_a_tenth(place), _HEIGHT + 13, text))
    return texts


def to_a_tenth(value: float) -> str:
    """To a tenth of a point, which is finer than a screen."""
    return f"{value:.1f}".rstrip("0").rstrip(".")
