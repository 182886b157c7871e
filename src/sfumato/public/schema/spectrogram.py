"""A recording as a picture: how loud each band of pitch is, over time. A function of one recording and of public facts.

Phases are lost, and with them the exact wave: what is left is what most recognisers of sound learn from.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Samples a second that a recorder can have had; other rates are those of broken files.
RATES = (1_000, 192_000)
#: Louder than this below full scale is heard by nobody; the logarithm needs a floor.
_SILENT = 1e-15


@dataclass(frozen=True, kw_only=True)
class Spectrogram:
    """What is public about the pictures: bands of pitch and moments, the time that is looked at, the highest pitch.

    >>> tone = np.sin(2 * np.pi * 1000 * np.arange(8000) / 8000)
    >>> picture = Spectrogram(bands=16, frames=8, seconds=1.0, highest=4000.0).of(tone, rate=8000)
    >>> picture.shape, int(picture[:, 4].argmax()), round(float(picture.max()))
    ((16, 8), 7, 0)
    """

    bands: int
    frames: int
    seconds: float
    highest: float

    def of(self, wave: NDArray[np.floating[Any]], *, rate: int) -> NDArray[np.float32]:
        """Decibels below a sine of full scale, (bands, frames), the lowest band first. Silence where there is no sound.

        A recording is cut at `seconds`, or followed by silence. Bands above half its rate are silent.
        """
        window = max(2, round(2 * self.seconds / self.frames * rate))
        padded = np.zeros(round(self.seconds * rate) + window)
        kept = np.clip(np.nan_to_num(wave[: round(self.seconds * rate)]), -1.0, 1.0)
        padded[window // 2 : window // 2 + len(kept)] = kept
        starts = np.round((np.arange(self.frames) + 0.5) * self.seconds / self.frames * rate).astype(np.int64)
        taper = np.hanning(window + 1)[:-1]
        spectra = np.fft.rfft(padded[starts[:, None] + np.arange(window)] * taper, axis=1)
        # A sine of full scale lies in about one and a half bins of this window: 8/3 makes its power 1.
        power = np.abs(spectra) ** 2 * (8 / 3 / taper.sum() ** 2)
        loudness = _filters(self, rate, window) @ power.T
        return np.asarray(10 * np.log10(loudness + _SILENT), dtype=np.float32)


@lru_cache(maxsize=8)
def _filters(facts: Spectrogram, rate: int, window: int) -> NDArray[np.float64]:
    """Triangles that overlap by half, of equal width in mel: narrow for low pitches, wide for high ones."""
    pitches = np.fft.rfftfreq(window, 1 / rate)
    corners = 700 * np.expm1(np.linspace(0, np.log1p(facts.highest / 700), facts.bands + 2))
    low, middle, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    rising, falling = (pitches - low) / (middle - low), (high - pitches) / (high - middle)
    triangles = np.clip(np.minimum(rising, falling), 0, None)
    # A band that lies between two bins takes the nearer one.
    empty = np.flatnonzero(triangles.sum(axis=1) == 0)
    nearest = np.abs(pitches - middle[empty]).argmin(axis=1)
    triangles[empty, nearest] = middle[empty, 0] <= rate / 2
    return np.asarray(triangles, dtype=np.float64)
