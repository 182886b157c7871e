"""Made-up scenes in ten classes, drawn by code: things of a shape, a texture and a hue before a ground, in any light.

They stand in for small sets of photographs. What makes a class is a habit and no rule: its thing mostly has one shape, one
texture and a hue from a wide range, its ground has a hue and a grain of its own, and each of these is another one often enough
that a small network on a few thousand of them is right about half of the time. Light comes from some side in some tint, a
second thing belongs to no class, and pixels are noisy. Constants are chosen on seeds below a hundred; others are for figures.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import Column, Schema

Floats = NDArray[np.float32]
KINDS = ("berry", "brick", "cloud", "crab", "fern", "lamp", "moth", "pond", "sail", "wheel")
_SHAPES, _TEXTURES = 5, 5
#: What each class mostly has: the shape and the texture of its thing, both hues as turns of the wheel, the grain of its ground.
_SHAPE = np.array([0, 1, 0, 2, 3, 1, 2, 0, 3, 4])
_TEXTURE = np.array([0, 1, 4, 2, 1, 0, 3, 4, 2, 3])
_HUE = np.array([0.95, 0.05, 0.6, 0.02, 0.33, 0.14, 0.1, 0.5, 0.62, 0.75])
_GROUND = np.array([0.3, 0.1, 0.62, 0.12, 0.28, 0.7, 0.35, 0.4, 0.55, 0.08])
_GRAIN = np.array([2.0, 1.0, 6.0, 1.5, 2.5, 6.0, 3.0, 4.0, 5.0, 1.0])
_AT_ONCE = 1_000


@dataclass(frozen=True)
class Scenes:
    """Pictures of three channels, or grey ones.

    Args:
        side: Height and width in pixels.
        colour: Whether there are three channels, or their mean alone.
        habit: How often a class has what it mostly has, of each of its traits.
    """

    side: int = 32
    colour: bool = True
    habit: float = 0.7

    def schema(self, rows: int | None = None) -> Schema:
        """What would be public of such pictures."""
        shape = (self.side, self.side, 3) if self.colour else (self.side, self.side)
        columns = (
            Column(name="image", kind="image", shape=shape),
            Column(name="label", kind="categorical", categories=KINDS),
        )
        return Schema(columns=columns, target="label", rows=rows)

    def draw(self, n_rows: int, *, seed: int) -> dict[str, NDArray[np.generic]]:
        """Pictures as bytes, and the names of their classes."""
        rng = np.random.default_rng([23, seed])
        label = rng.integers(len(KINDS), size=n_rows)
        parts = [self._drawn(label[at : at + _AT_ONCE], rng) for at in range(0, n_rows, _AT_ONCE)]
        return {"image": np.concatenate(parts), "label": np.array(KINDS, dtype=object)[label]}

    def _drawn(self, label: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint8]:
        n, keeps = len(label), rng.random((4, len(label))) < self.habit
        shape = np.where(keeps[0], _SHAPE[label], rng.integers(_SHAPES, size=n))
        texture = np.where(keeps[1], _TEXTURE[label], rng.integers(_TEXTURES, size=n))
        hue = np.where(keeps[2], _HUE[label] + 0.06 * rng.normal(size=n), rng.random(n))
        ground = np.where(keeps[3], _GROUND[label] + 0.08 * rng.normal(size=n), rng.random(n))
        grain = _GRAIN[label] * np.exp(0.3 * rng.normal(size=n))
        x, y = self._places(n, rng)
        shade = 0.5 + 0.2 * _smooth(rng, n, self.side, grain)
        picture = _coloured(ground, rng.uniform(0.1, 0.6, n), shade)
        for of, hues in ((rng.integers(_SHAPES, size=n), rng.random(n)), (shape, hue)):  # the first belongs to no class
            is_thing = of is shape
            at = rng.uniform(-0.3, 0.3, (2, n, 1, 1)) if is_thing else rng.uniform(-1, 1, (2, n, 1, 1))
            size = rng.uniform(0.45, 0.85, (n, 1, 1)) * (1.0 if is_thing else 0.6)
            turn = rng.normal(0, 0.35, (n, 1, 1))
            u = (np.cos(turn) * (x - at[0]) + np.sin(turn) * (y - at[1])) / size
            v = (np.cos(turn) * (y - at[1]) - np.sin(turn) * (x - at[0])) / size
            cover = np.clip(0.5 - _outside(of, u, v) * size * self.side / 5, 0, 1)[..., None]
            textures = texture if is_thing else rng.integers(_TEXTURES, size=n)
            light = 0.6 + 0.3 * _texture(textures, u, v, rng) - 0.15 * v
            thing = _coloured(hues, rng.uniform(0.25, 0.9, n), light)
            picture = picture * (1 - cover) + thing * cover
        side = rng.normal(0, 0.25, (2, n, 1, 1))
        lit = rng.uniform(0.5, 1.2, (n, 1, 1)) * np.exp(side[0] * x + side[1] * y)
        picture = picture * lit[..., None] * np.exp(0.12 * rng.normal(size=(n, 1, 1, 3)))
        picture = picture + rng.uniform(-0.1, 0.15, (n, 1, 1, 1)) + 0.03 * rng.normal(size=picture.shape)
        if not self.colour:
            picture = picture.mean(axis=3)
        return np.round(255 * np.clip(picture, 0, 1)).astype(np.uint8)

    def _places(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Where pixels lie in a square from -1 to 1, bent a little."""
        at = ((np.arange(self.side) + 0.5) * 2 / self.side - 1).astype(np.float32)
        bend = rng.normal(0, 0.08, (2, n, 1, 1)).astype(np.float32)
        return at + bend[0] * np.sin(3 * at[:, None]), at[:, None] + bend[1] * np.sin(3 * at)


def _coloured(hue: NDArray[np.float64], saturation: NDArray[np.float64], light: Floats) -> Floats:
    """Hues of the wheel at a light of every pixel."""
    turns = 2 * np.pi * (hue[:, None] - np.array([0, 1 / 3, 2 / 3]))
    tint = 1 + saturation[:, None] * np.cos(turns)
    return np.asarray(light[..., None] * tint[:, None, None], dtype=np.float32)


def _smooth(rng: np.random.Generator, n: int, side: int, grain: NDArray[np.float64]) -> Floats:
    """Noise in patches of about so many pixels, of deviation 1."""
    waves = np.fft.rfft2(rng.normal(size=(n, side, side)))
    far = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)) * side
    waves *= np.exp(-0.5 * (far * grain[:, None, None] * 2 / side) ** 2)
    out = np.fft.irfft2(waves, s=(side, side))
    return np.asarray(out / out.std(axis=(1, 2), keepdims=True), dtype=np.float32)


def _outside(shape: NDArray[np.int64], u: Floats, v: Floats) -> Floats:
    """How far outside of its thing each pixel lies: disc, box, star, leaf, ring."""
    away, angle = np.hypot(u, v), np.arctan2(v, u)
    kinds = [
        away - 0.7,
        np.maximum(np.abs(u), np.abs(v)) - 0.62,
        away - 0.55 - 0.3 * np.cos(5 * angle),
        np.maximum(np.abs(u) * 1.8 + v, -v) - 0.6,
        np.abs(away - 0.55) - 0.22,
    ]
    return np.choose(shape[:, None, None], kinds)


def _texture(texture: NDArray[np.int64], u: Floats, v: Floats, rng: np.random.Generator) -> Floats:
    """Plain, lying stripes, spots, upright stripes, patches."""
    n, pitch = len(u), rng.uniform(6, 11, (len(u), 1, 1))
    phase = rng.uniform(0, 2 * np.pi, (2, n, 1, 1))
    lying, upright = np.sin(pitch * v + phase[0]), np.sin(pitch * u + phase[1])
    patches = _smooth(rng, n, u.shape[1], np.full(n, 3.0))
    kinds = [np.zeros_like(lying), lying, np.where(lying * upright > 0.2, 1.0, -0.4), upright, patches]
    return np.asarray(np.choose(texture[:, None, None], kinds), dtype=np.float32)
