"""Ten made-up words, spoken by code: vowels and hisses by made-up speakers, as a folder of WAV files.

    python benchmarks/words.py words --recordings 6000     # words/oma/00000.wav, ...

A buzz of the speaker's pitch goes through the resonances of a vocal tract (source and filter: Fant 1960; the formants of
vowels: Peterson and Barney 1952). Pitch, length of the tract, tempo, loudness, the start and the noise of the room differ
from recording to recording.
"""

import argparse
import wave
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

import sfumato as sf
from sfumato.public.schema.spectrogram import Spectrogram

Floats = NDArray[np.float64]
RATE, SECONDS, HIGHEST, SIDE = 8_000, 1.0, 4_000.0, 28
#: The first three resonances of a vowel, in hertz, of a grown man.
VOWELS = {
    "a": (730, 1090, 2440),
    "e": (530, 1840, 2480),
    "i": (270, 2290, 3010),
    "o": (570, 840, 2410),
    "u": (300, 870, 2240),
}
#: Hisses by the pitch around which they lie, and nasals by low resonances.
HISSES, NASALS = {"s": 3_400, "f": 1_600, "k": 2_200}, {"m": (250, 1000, 2200), "n": (250, 1500, 2600)}
WORDS = ("oma", "ima", "asu", "iso", "eki", "ufo", "ano", "uni", "efa", "oku")
_WIDTHS = (80, 100, 140)


def schema(rows: int | None = None) -> sf.Schema:
    """What is public of the recordings."""
    picture = sf.Column(name="recording", kind="image", shape=(SIDE, SIDE), sound=(SECONDS, HIGHEST))
    word = sf.Column(name="word", kind="categorical", categories=tuple(sorted(WORDS)))
    return sf.Schema(columns=(picture, word), target="word", rows=rows)


def speak(word: str, rng: np.random.Generator) -> Floats:
    """One recording of a second, from -1 to 1."""
    pitch, tract, tempo = rng.uniform(85, 255), rng.uniform(0.9, 1.2), rng.uniform(0.75, 1.25)
    sounds = [_sound(letter, rng.uniform(0.12, 0.22) / tempo, pitch, tract, rng) for letter in word]
    spoken = np.concatenate(sounds)
    whole = rng.normal(0, 10 ** rng.uniform(-4, -2), round(RATE * SECONDS))
    start = int(rng.integers(0, max(1, len(whole) - len(spoken))))
    kept = spoken[: len(whole) - start]
    whole[start : start + len(kept)] += rng.uniform(0.15, 0.9) * kept
    return np.clip(whole, -1, 1)


def _sound(letter: str, seconds: float, pitch: float, tract: float, rng: np.random.Generator) -> Floats:
    time = np.arange(round(seconds * RATE)) / RATE
    if letter in HISSES:
        made = _resonant(rng.normal(size=len(time)), (HISSES[letter] * min(tract, 1.1),), (700,))
        loudness = 0.5
    else:
        bent = pitch * (1 + 0.06 * np.sin(2 * np.pi * rng.uniform(1, 3) * time + rng.uniform(0, 6)))
        buzz = 2 * np.mod(np.cumsum(bent) / RATE, 1) - 1
        resonances = VOWELS.get(letter) or NASALS[letter]
        moved = tuple(tract * r * rng.uniform(0.96, 1.04) for r in resonances)
        made, loudness = _resonant(buzz, moved, _WIDTHS), 0.35 if letter in NASALS else 1.0
    edges = np.minimum(1, np.minimum(time, time[::-1]) / 0.02)
    return loudness * edges * made / (np.abs(made).max() + 1e-9)


def _resonant(source: Floats, pitches: tuple[float, ...], widths: tuple[int, ...]) -> Floats:
    for pitch, width in zip(pitches, widths, strict=True):
        radius, angle = np.exp(-np.pi * width / RATE), 2 * np.pi * min(pitch, 0.48 * RATE) / RATE
        source = lfilter([1 - radius], [1, -2 * radius * np.cos(angle), radius**2], source)
    return source


def draw(recordings: int, *, seed: int) -> dict[str, NDArray[np.generic]]:
    """Spectrograms and words, without files in between."""
    rng, facts = (
        np.random.default_rng([23, seed]),
        Spectrogram(bands=SIDE, frames=SIDE, seconds=SECONDS, highest=HIGHEST),
    )
    named = np.array(WORDS)[rng.integers(len(WORDS), size=recordings)]
    return {"recording": np.stack([facts.of(speak(word, rng), rate=RATE) for word in named]), "word": named}


def write(folder: Path, recordings: int, *, seed: int) -> None:
    """A subfolder for each word, 16 bits a sample."""
    rng = np.random.default_rng([23, seed])
    for at, word in enumerate(np.array(WORDS)[rng.integers(len(WORDS), size=recordings)]):
        (folder / word).mkdir(parents=True, exist_ok=True)
        with wave.open(str(folder / word / f"{at:05}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes((speak(word, rng) * 32767).astype("<i2").tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recordings", type=int, default=6_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    write(options.folder, options.recordings, seed=options.seed)
    (options.folder / ".schema.toml").write_text(schema(options.recordings).to_toml(), encoding="utf-8")


if __name__ == "__main__":
    main()
