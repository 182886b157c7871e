"""A histogram as a few hundred bytes of SVG: a page may hold a thousand, and takes its colours from the style sheet."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sfumato.present.axes import date_marks, round_marks, round_step
from sfumato.present.marginals import Marginal

_WIDTH, _HEIGHT, _TOP, _BELOW = 300, 100, 12, 16
_MOST_MARKS = 4


def histogram_svg(marginal: Marginal, *, label: str) -> Markup:
    """Synthetic rows as filled steps, real ones as a line; a share of rows is marked, and round numbers below.

    Args:
        marginal: A column of numbers or dates.
        label: What a reader is told who does not see it.
    """
    edges = marginal.edges
    if edges is None:
        raise ValueError(f"{marginal.name} has categories, and no axis to draw along.")
    peak = max(float(heights.max(initial=0.0)) for heights in marginal.heights.values()) or 1.0
    x = (edges - edges[0]) / (edges[-1] - edges[0]) * _WIDTH
    line, share = _share_mark(peak, on_the_left=_is_lower_on_the_left(marginal))
    drawn = [line]
    for name, heights in marginal.heights.items():
        outline = _steps(x, heights / peak, closed=name == "synthetic")
        drawn.append(Markup('<path class="{}" d="{}"/>').format(name, outline))
    drawn.append(Markup('<path class="axis" d="M0 {0}H{1}"/>').format(_HEIGHT, _WIDTH))
    marks = (date_marks if marginal.is_date else round_marks)(float(edges[0]), float(edges[-1]), most=_MOST_MARKS)
    drawn += [share, *_labels(marks, edges)]
    opening = Markup('<svg class="histogram" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    return opening.format(_WIDTH, _HEIGHT + _BELOW, label) + Markup("").join(drawn) + Markup("</svg>")


def _is_lower_on_the_left(marginal: Marginal) -> bool:
    tops = np.max([*marginal.heights.values()], axis=0)
    third = max(1, len(tops) // 3)
    return bool(tops[:third].max() < tops[-third:].max())


def _share_mark(peak: float, *, on_the_left: bool) -> tuple[Markup, Markup]:
    """A faint line at a round share of the rows, so that heights can be read, and its text, where bars are low."""
    step = round_step(peak, most=2)
    y = _HEIGHT - (_HEIGHT - _TOP) * step / peak
    x, anchor = (0, "start") if on_the_left else (_WIDTH, "end")
    line = Markup('<path class="rule" d="M0 {}H{}"/>').format(to_a_tenth(y), _WIDTH)
    text = Markup('<text x="{}" y="{}" text-anchor="{}">{} % of rows</text>')
    return line, text.format(x, to_a_tenth(y - 3), anchor, f"{100 * step:g}")


def _steps(x: NDArray[np.float64], shares: NDArray[np.float64], *, closed: bool) -> str:
    y = _HEIGHT - (_HEIGHT - _TOP) * shares
    parts = [f"M0 {_HEIGHT}"]
    for at, height in enumerate(y):
        parts.append(f"V{to_a_tenth(height)}H{to_a_tenth(x[at + 1])}")
    return "".join([*parts, f"V{_HEIGHT}", "z" if closed else ""])


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
