"""The curve of a training as a few hundred bytes of SVG, drawn here: so that anybody can make the same page again."""

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from sfumato.present.histogram_drawing import round_marks, to_a_tenth

_WIDTH, _HEIGHT, _LEFT, _TOP, _BELOW = 300, 130, 36, 20, 16
_MOST_MARKS, _MOST_LOOKS = 4, 6


def curve_svg(values: Sequence[float], *, noise: Sequence[float] | None, title: str) -> Markup:
    """Values over the looks of a training, with bars of one standard deviation of noise."""
    middle = np.asarray(values, dtype=np.float64)
    spread = np.zeros_like(middle) if noise is None else np.asarray(noise, dtype=np.float64)
    low, high = float((middle - spread).min()), float((middle + spread).max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    x = _LEFT + (np.arange(len(middle)) + 0.5) / len(middle) * (_WIDTH - _LEFT)

    def y(value: float) -> str:
        return to_a_tenth(_HEIGHT - (_HEIGHT - _TOP) * (value - low) / (high - low))

    line = "L".join(f"{to_a_tenth(at)} {y(value)}" for at, value in zip(x, middle, strict=True))
    bars = "".join(
        f"M{to_a_tenth(at)} {y(value - by)}V{y(value + by)}" for at, value, by in zip(x, middle, spread, strict=True)
    )
    drawn = [
        Markup('<path class="axis" d="M{0} {1}V{2}H{3}"/>').format(_LEFT, _TOP, _HEIGHT, _WIDTH),
        Markup('<path class="line" d="M{}"/>').format(line),
        *([] if noise is None else [Markup('<path class="line" d="{}"/>').format(bars)]),
        Markup('<text x="0" y="11">{}</text>').format(title),
        Markup('<text x="{}" y="{}">look</text>').format(0, _HEIGHT + 13),
    ]
    for value, text in round_marks(low, high, most=_MOST_MARKS):
        drawn.append(Markup('<text text-anchor="end" x="{}" y="{}">{}</text>').format(_LEFT - 4, y(value), text))
    for look in range(0, len(middle), math.ceil(len(middle) / _MOST_LOOKS)):
        at = to_a_tenth(x[look])
        drawn.append(Markup('<text class="mark" x="{}" y="{}">{}</text>').format(at, _HEIGHT + 13, look + 1))
    opening = Markup('<svg class="histogram" viewBox="0 0 {} {}" role="img" aria-label="Training curve: {}">')
    return opening.format(_WIDTH, _HEIGHT + _BELOW, title) + Markup("").join(drawn) + Markup("</svg>")
