"""Made-up pictures in ten classes, drawn by code: filled shapes, outlines, strokes and textures.

The constants of the image method are chosen on these and not on the benchmarks. Every picture is turned, stretched, moved
and bent by chance, its ink and its line differ, and half of them carry a stroke that belongs to no class.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import Column, Schema

Floats = NDArray[np.float64]
KINDS = ("disc", "ring", "box", "wedge", "cross", "zigzag", "hook", "stripes", "bars", "checks")
_AT_ONCE = 2_000

#: Corners of the lines that outlines and strokes are made of, in a square from -1 to 1.
_LINES: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "box": (((-0.7, -0.7), (-0.7, 0.7), (0.7, 0.7), (0.7, -0.7), (-0.7, -0.7)),),
    "cross": (((-0.7, -0.7), (0.7, 0.7)), ((-0.7, 0.7), (0.7, -0.7))),
    "zigzag": (((-0.7, -0.6), (-0.7, 0.6), (0.7, -0.6), (0.7, 0.6)),),
    "hook": (((-0.8, 0.0), (0.4, 0.0), (0.8, -0.3), (0.4, -0.7), (0.1, -0.4)),),
}


@dataclass(frozen=True)
class Marks:
    """Grey pictures, or tinted ones, with the first so many of the ten kinds as classes.

    Args:
        side: Height and width in pixels.
        classes: How many kinds; beyond ten, kinds come in several sizes that are classes of their own.
        colour: Whether pictures have three channels and a tint by chance.
        rates: The rates of the classes; even where they are not given.
    """

    side: int = 28
    classes: int = 10
    colour: bool = False
    rates: tuple[float, ...] = ()

    def schema(self, rows: int | None = None) -> Schema:
        """What would be public of such pictures."""
        shape = (self.side, self.side, 3) if self.colour else (self.side, self.side)
        names = tuple(f"{KINDS[c % 10]}{c // 10 or ''}" for c in range(self.classes))
        return Schema(
            columns=(
                Column(name="image", kind="image", shape=shape),
                Column(name="label", kind="categorical", categories=names),
            ),
            target="label",
            rows=rows,
        )

    def draw(self, n_rows: int, *, seed: int) -> dict[str, NDArray[np.generic]]:
        """Pictures as bytes, and the names of their classes."""
        rng = np.random.default_rng([17, seed])
        label = rng.choice(self.classes, size=n_rows, p=self.rates or None)
        parts = [self._drawn(label[at : at + _AT_ONCE], rng) for at in range(0, n_rows, _AT_ONCE)]
        names = np.array(self.schema()["label"].categories, dtype=object)
        return {"image": np.concatenate(parts), "label": names[label]}

    def _drawn(self, label: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.uint8]:
        n = len(label)
        size = 0.55 + 0.4 * rng.random(n) if self.classes <= 10 else 0.45 + 0.5 * (label // 10 + rng.random(n)) / 10
        x, y = self._places(n, size, rng)
        soft = 2.5 / self.side / size[:, None, None]
        width = rng.uniform(0.07, 0.16, (n, 1, 1))
        ink = np.zeros(x.shape)
        for kind, name in enumerate(KINDS):
            mine = np.flatnonzero(label % 10 == kind)
            if len(mine):
                ink[mine] = _ink(name, x[mine], y[mine], width[mine], soft[mine], rng)
        stray = np.flatnonzero(rng.random(n) < 0.5)
        ends = rng.uniform(-1.4, 1.4, (2, 2, len(stray), 1, 1))
        far = _to_lines(x[stray], y[stray], ((tuple(ends[0]), tuple(ends[1])),))
        ink[stray] = np.maximum(ink[stray], 0.6 * _edge(far - 0.04, soft[stray]))
        ink = ink * rng.uniform(0.45, 1.0, (n, 1, 1)) + 0.03 * rng.standard_normal(ink.shape)
        if self.colour:
            ink = ink[..., None] * rng.uniform(0.3, 1.0, (n, 1, 1, 3))
        return np.round(255 * np.clip(ink, 0, 1)).astype(np.uint8)

    def _places(self, n: int, size: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Where each pixel lies in the square of its mark: turned, stretched, moved, and bent a little."""
        at = (np.arange(self.side) + 0.5) * 2 / self.side - 1
        turn, stretch = rng.normal(0, 0.2, (n, 1, 1)), rng.uniform(0.8, 1.25, (n, 1, 1))
        moved = rng.uniform(-0.2, 0.2, (2, n, 1, 1))
        down, across = at[None, :, None] - moved[0], at[None, None, :] - moved[1]
        x = (np.cos(turn) * across + np.sin(turn) * down) / size[:, None, None] * stretch
        y = (np.cos(turn) * down - np.sin(turn) * across) / size[:, None, None] / stretch
        bend = rng.normal(0, 0.12, (2, n, 1, 1))
        return x + bend[0] * np.sin(3 * y), y + bend[1] * np.sin(3 * x)


def _ink(name: str, x: Floats, y: Floats, width: Floats, soft: Floats, rng: np.random.Generator) -> Floats:
    n, away = len(x), np.hypot(x, y)
    match name:
        case "disc":
            return _edge(away - 0.7, soft)
        case "ring":
            return _edge(np.abs(away - 0.65) - width, soft)
        case "wedge":
            return _edge(np.maximum(np.abs(x) * 1.6 + y, -y) - 0.6, soft)
        case "stripes" | "bars" | "checks":
            blob = _edge(np.maximum(np.abs(x), np.abs(y)) - 0.8, soft)
            phase, pitch = rng.uniform(0, 2 * np.pi, (2, n, 1, 1)), rng.uniform(7, 10, (n, 1, 1))
            lying, upright = np.sin(pitch * y + phase[0]), np.sin(pitch * x + phase[1])
            wave = {"stripes": lying, "bars": upright, "checks": lying * upright}[name]
            return blob * (0.5 + 0.5 * np.tanh(4 * wave))
    return _edge(_to_lines(x, y, _LINES[name]) - width, soft)


def _edge(outside: Floats, soft: Floats) -> Floats:
    return np.clip(0.5 - outside / soft, 0, 1)


def _to_lines(x: Floats, y: Floats, lines: tuple[tuple[Any, ...], ...]) -> Floats:
    """The distance to the nearest of these lines, each given by its corners."""
    nearest = np.full(x.shape, np.inf)
    for corners in lines:
        for (ax, ay), (bx, by) in itertools.pairwise(corners):
            along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)
            along = np.clip(along, 0, 1)
            nearest = np.minimum(nearest, np.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay)))
    return nearest
