"""The features of `oriented.py` in compiled loops: several times as fast as matrix products, which filter with mostly zeros.

So many images are worked on side by side, one in each lane of the innermost axis, as the processor's vectors are filled.
What is added up for an image is added in the order in which it is written here, without fused or reordered sums, and lanes
never meet: so the features of an image have the same bits whatever images stand in the other lanes, or none.
"""

from typing import Any

import numba
import numpy as np

from sfumato.learn.gabor import FREQUENCIES, ORIENTATIONS, STRIDE

CELLS, SECOND_CELLS = 8, 4
_LANES = 64
TINY = np.float32(1e-8)  # keeps the root away from zero
SHORT = np.float32(1e-3)  # a group of features that is shorter is taken for nothing

compiled = numba.njit(cache=True, nogil=True)


@compiled  # type: ignore[untyped-decorator,unused-ignore]
def describe(pictures: Any, across: Any, fine: Any, coarse: Any, again: Any, out: Any) -> None:
    """The features of pictures of shape (n, side, side, channels), a row of `out` for each; banks as of `filter_bank`.

    `across` has the cosine waves of the channels, one a row: brightness, then opponent colours.
    """
    n, side, _, channels = pictures.shape
    half, quarter = (side + 1) // STRIDE, (side // STRIDE + 1) // STRIDE
    planes = np.zeros((channels, side, side, _LANES), np.float32)
    grey = np.empty((side, side, _LANES), np.float32)
    first = np.empty((2, ORIENTATIONS, half, half, _LANES), np.float32)
    second = np.empty((ORIENTATIONS, quarter, quarter, _LANES), np.float32)
    rows = np.empty((2, half, side, _LANES), np.float32), np.empty((2, quarter, half, _LANES), np.float32)
    waves = np.empty((5, half, half, _LANES), np.float32), np.empty((5, quarter, quarter, _LANES), np.float32)
    features = np.empty((out.shape[1], _LANES), np.float32)
    ends = (
        CELLS**2,
        channels * CELLS**2,
        (channels + ORIENTATIONS) * CELLS**2,
        (channels + 2 * ORIENTATIONS) * CELLS**2,
        len(features),
    )
    groups = np.float32(np.sqrt(4 if channels == 1 else 5))  # grey pictures have no colour
    for start in range(0, n, _LANES):
        some = min(_LANES, n - start)
        grey[:] = 0.0
        planes[:] = 0.0
        for c in range(channels):
            for y in range(side):
                for x in range(side):
                    for i in range(some):
                        value = pictures[start + i, y, x, c]
                        grey[y, x, i] += value / np.float32(channels)
                        for wave in range(channels):
                            planes[wave, y, x, i] += across[wave, c] * value
        magnitudes(grey, fine, rows[0], waves[0], first[0])
        magnitudes(grey, coarse, rows[0], waves[0], first[1])
        at = 0
        for c in range(channels):
            _average(planes[c], 4, 2, features[at : at + CELLS**2])
            at += CELLS**2
        for maps in first:
            for one in maps:
                _average(one, 2, 1, features[at : at + CELLS**2])
                at += CELLS**2
        for t in range(ORIENTATIONS):
            magnitudes(first[0, t], again, rows[1], waves[1], second)
            for u in range(ORIENTATIONS):
                place = at + (u * ORIENTATIONS + t) * SECOND_CELLS**2
                _average(second[u], 2, 0, features[place : place + SECOND_CELLS**2])
        begin = 0
        for end in ends:
            length = np.zeros(_LANES, np.float32)
            for k in range(begin, end):
                for i in range(_LANES):
                    length[i] += features[k, i] * features[k, i]
            for i in range(_LANES):
                length[i] = (np.sqrt(length[i]) + SHORT) * groups
            for k in range(begin, end):
                for i in range(some):
                    out[start + i, k] = features[k, i] / length[i]
            begin = end


@compiled  # type: ignore[untyped-decorator,unused-ignore]
def magnitudes(maps: Any, bank: Any, rows: Any, both: Any, out: Any) -> None:
    """How strongly each orientation answers at every second place, as (orientation, height, width, lane).

    Even filters have no mean, all have norm 1, and outside of a map there is nothing. `rows` and `both` are for what lies
    between: two maps filtered along their rows, which lie as columns then, and five filtered along both.
    """
    waves, reach, of_bell, of_even, of_odd = bank
    bell, cc, cs, sc, ss = both[0], both[1], both[2], both[3], both[4]
    last = FREQUENCIES - 1  # of frequency 0: its cosine is the bell alone, and its sine nothing, which nobody adds up
    _filter_even(maps, waves[last, 0], reach, rows[0])
    _filter_even(rows[0], waves[last, 0], reach, bell)
    _filter(rows[0], waves[0], reach, cc, cs)
    _combine_straight(cc, cs, bell, of_bell[last], of_even[last], of_odd[last], out[last])
    for i in range(last):
        _filter(maps, waves[i], reach, rows[0], rows[1])
        if i == 0:
            _filter_even(rows[0], waves[last, 0], reach, cc)
            _filter_even(rows[1], waves[last, 0], reach, sc)
            _combine_straight(cc, sc, bell, of_bell[0], of_even[0], of_odd[0], out[0])
            continue
        _filter(rows[0], waves[last - i], reach, cc, cs)
        _filter(rows[1], waves[last - i], reach, sc, ss)
        t = ORIENTATIONS - i  # beyond upright, the wave along the row runs backwards
        _combine(cc, cs, sc, ss, bell, np.float32(1.0), of_bell[i], of_even[i], of_odd[i], out[i])
        _combine(cc, cs, sc, ss, bell, np.float32(-1.0), of_bell[t], of_even[t], of_odd[t], out[t])


@compiled  # type: ignore[untyped-decorator,unused-ignore]
def _combine(
    cc: Any, cs: Any, sc: Any, ss: Any, bell: Any, turn: Any, of_bell: Any, of_even: Any, of_odd: Any, out: Any
) -> None:
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            for i in range(_LANES):
                even = (cc[y, x, i] - turn * ss[y, x, i] - of_bell * bell[y, x, i]) * of_even
                odd = (cs[y, x, i] + turn * sc[y, x, i]) * of_odd
                out[y, x, i] = np.sqrt(even * even + odd * odd + TINY)


@compiled  # type: ignore[untyped-decorator,unused-ignore]
def _combine_straight(cosine: Any, sine: Any, bell: Any, of_bell: Any, of_even: Any, of_odd: Any, out: Any) -> None:
    """The same for a wave along rows or columns alone."""
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            for i in range(_LANES):
                even = (cosine[y, x, i] - of_bell * bell[y, x, i]) * of_even
                odd = sine[y, x, i] * of_odd
                out[y, x, i] = np.sqrt(even * even + odd * odd + TINY)


@compiled  # type: ignore[untyped-decorator,unused-ignore]
def _filter(lines: Any, waves: Any, reach: int, cosine: Any, sine: Any) -> None:
    """Every line filtered along itself by both waves. Lines come first in the maps and second in what comes of them.

    Seven pixels at once where there are as many, which is nearly everywhere: a sum that goes through memory on the way costs
    more than what is added to it, and so does a slice of an array.
    """
    for place in range(cosine.shape[0]):
        k, end = max(place * STRIDE - reach, 0), min(place * STRIDE + reach + 1, lines.shape[1])
        first, second = waves[0, place], waves[1, place]
        a, b, c, d = first[k], first[k + 1], first[k + 2], first[k + 3]
        e, f, g, h = second[k], second[k + 1], second[k + 2], second[k + 3]
        if k + 7 <= end:
            p, q, r = first[k + 4], first[k + 5], first[k + 6]
            s, t, u = second[k + 4], second[k + 5], second[k + 6]
            for y in range(cosine.shape[1]):
                for i in range(_LANES):
                    v, w, x, z = lines[y, k, i], lines[y, k + 1, i], lines[y, k + 2, i], lines[y, k + 3, i]
                    l, m, n = lines[y, k + 4, i], lines[y, k + 5, i], lines[y, k + 6, i]  # noqa: E741
                    cosine[place, y, i] = (a * v + b * w) + (c * x + d * z) + p * l + q * m + r * n
                    sine[place, y, i] = (e * v + f * w) + (g * x + h * z) + s * l + t * m + u * n
            k += 7
        else:
            for y in range(cosine.shape[1]):
                for i in range(_LANES):
                    v, w, x, z = lines[y, k, i], lines[y, k + 1, i], lines[y, k + 2, i], lines[y, k + 3, i]
                    cosine[place, y, i] = (a * v + b * w) + (c * x + d * z)
                    sine[place, y, i] = (e * v + f * w) + (g * x + h * z)
            k += 4
        while k + 4 <= end:
            a, b, c, d = first[k], first[k + 1], first[k + 2], first[k + 3]
            e, f, g, h = second[k], second[k + 1], second[k + 2], second[k + 3]
            for y in range(cosine.shape[1]):
                for i in range(_LANES):
                    v, w, x, z = lines[y, k, i], lines[y, k + 1, i], lines[y, k + 2, i], lines[y, k + 3, i]
                    cosine[place, y, i] += (a * v + b * w) + (c * x + d * z)
                    sine[place, y, i] += (e * v + f * w) + (g * x + h * z)
            k += 4
        while k < end:
            for y in range(cosine.shape[1]):
                for i in range(_LANES):
                    cosine[place, y, i] += first[k] * lines[y, k, i]
                    sine[place, y, i] += second[k] * lines[y, k, i]
            k += 1


@compiled  # type: ignore[untyped-decorator,unused-ignore]
def _filter_even(lines: Any, wave: Any, reach: int, cosine: Any) -> None:
    """The same by one wave."""
    for place in range(cosine.shape[0]):
        k, end = max(place * STRIDE - reach, 0), min(place * STRIDE + reach + 1, lines.shape[1])
        a, b, c, d = wave[place, k], wave[place, k + 1], wave[place, k + 2], wave[place, k + 3]
        for y in range(cosine.shape[1]):
            for i in range(_LANES):
                v, w, x, z = lines[y, k, i], lines[y, k + 1, i], lines[y, k + 2, i], lines[y, k + 3, i]
                cosine[place, y, i] = (a * v + b * w) + (c * x + d * z)
        k += 4
        while k < end:
            for y in range(cosine.shape[1]):
                for i in range(_LANES):
                    cosine[place, y, i] += wave[place, k] * lines[y, k, i]
            k += 1


@compiled  # type: ignore[untyped-decorator,unused-ignore]
def _average(maps: Any, cell: int, margin: int, out: Any) -> None:
    """Means over square cells, the first of which begins so far outside of the map, where there is nothing."""
    height, width = maps.shape[:2]
    cells = int(np.sqrt(len(out)))
    part = np.float32(1.0 / (cell * cell))
    for k in range(len(out)):
        top, left = k // cells * cell - margin, k % cells * cell - margin
        to = out[k]
        to[:] = 0.0
        for y in range(max(top, 0), min(top + cell, height)):
            for x in range(max(left, 0), min(left + cell, width)):
                for i in range(_LANES):
                    to[i] += part * maps[y, x, i]
