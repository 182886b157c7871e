"""Variety for synthetic images: transformations that widen what a student sees of its teacher. All of it is free."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Images = NDArray[np.float32]
Change = Callable[[Images, np.random.Generator], Images]
_LEAVES = 3  # so many things of other images at most lie in one
_LEAF = 0.6  # how often each of them is there
_LOBES = (2, 7)  # how often the outline of a thing goes in and out


class Variety(NamedTuple):
    """By how much images are stretched at most, and what else is done to a random half of them, in this order."""

    contrast: float
    changes: tuple[Change, ...]


def varied(images: Images, *, rng: np.random.Generator, variety: Variety) -> Images:
    """Random contrast for all, and each change for a random half of them."""
    out = with_contrast(images, rng=rng, most=variety.contrast)
    for change in variety.changes:
        chosen = np.flatnonzero(rng.random(len(out)) < 0.5)
        if len(chosen):
            out[chosen] = change(out[chosen], rng)
    return out


def with_contrast(images: Images, *, rng: np.random.Generator, most: float) -> Images:
    """Stretch each image about mid-grey by a factor between 1 and `most`: smooth densities give pale images."""
    gain = rng.uniform(1.0, most, size=_per_image(images)).astype(np.float32)
    return _inside((images - 0.5) * gain + 0.5)


def turned(images: Images, rng: np.random.Generator) -> Images:
    """Turn, stretch, shear and shift, with linear interpolation."""
    n_images, height, width = images.shape[:3]
    angle, shear = rng.uniform(-0.3, 0.3, size=n_images), rng.uniform(-0.2, 0.2, size=n_images)
    scale, shift = rng.uniform(0.8, 1.2, size=(2, n_images)), rng.uniform(-0.07, 0.07, size=(2, n_images))
    to_row = [scale[0] * np.cos(angle), scale[0] * np.sin(angle), shift[0] * height]
    to_column = [shear - scale[1] * np.sin(angle), scale[1] * np.cos(angle), shift[1] * width]
    turns = np.stack([np.stack(to_row, axis=1), np.stack(to_column, axis=1)], axis=1).astype(np.float32)
    planes = np.ascontiguousarray(images).reshape(n_images, height, width, -1)
    seen: Images = moved(planes, turns)
    return seen.reshape(images.shape)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator,unused-ignore]
def moved(images: NDArray[Any], turns: NDArray[Any]) -> NDArray[Any]:
    """Images of shape (n, height, width, channels) seen from elsewhere, by linear interpolation; black outside.

    `turns` has for each image a 2 x 3 matrix that takes (row, column, 1), from the middle, to where to look. One compiled
    loop, since whole-array indexing takes ten times as long. It runs in one thread and lets others run: images are varied
    in pieces, several pieces at a time.
    """
    n, height, width, channels = images.shape
    out = np.zeros_like(images)
    one = np.float32(1)
    middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
    for i in range(n):
        a = turns[i]
        for r in range(height):
            for c in range(width):
                row = a[0, 0] * (r - middle_row) + a[0, 1] * (c - middle_column) + a[0, 2] + middle_row
                column = a[1, 0] * (r - middle_row) + a[1, 1] * (c - middle_column) + a[1, 2] + middle_column
                top, left = int(np.floor(row)), int(np.floor(column))
                if 0 <= top < height - 1 and 0 <= left < width - 1:  # nearly always: four pixels without a question
                    down, right = np.float32(row - top), np.float32(column - left)
                    for k in range(channels):
                        above = (one - right) * images[i, top, left, k] + right * images[i, top, left + 1, k]
                        below = (one - right) * images[i, top + 1, left, k] + right * images[i, top + 1, left + 1, k]
                        out[i, r, c, k] = (one - down) * above + down * below
                    continue
                for at_row in range(max(top, 0), min(top + 2, height)):
                    for at_column in range(max(left, 0), min(left + 2, width)):
                        weight = (1 - abs(row - at_row)) * (1 - abs(column - at_column))
                        for k in range(channels):
                            out[i, r, c, k] += weight * images[i, at_row, at_column, k]
    return out


def _patched(images: Images, rng: np.random.Generator) -> Images:
    """A rectangle of another image."""
    n_images, height, width = images.shape[:3]
    others = images[rng.permutation(n_images)]
    inside = np.ones((n_images, height, width), dtype=bool)
    for axis, side in ((1, height), (2, width)):
        start = rng.integers(0, side, size=(n_images, 1))
        length = rng.integers(max(1, side // 5), max(2, 4 * side // 5), size=(n_images, 1))
        place = np.arange(side)[None]
        band = (place >= start) & (place < start + length)
        inside &= band[:, :, None] if axis == 1 else band[:, None, :]
    return np.where(inside[(..., *(None,) * (images.ndim - 3))], others, images)


def _leaved(images: Images, rng: np.random.Generator) -> Images:
    """Things of other images before an image, one before the other, each with an edge: dead leaves.

    A density of waves has no edges, and things that hide each other are most of what photographs have beside (Lee, Mumford and
    Huang, "Occlusion models for natural images", 2001). Half of the things show no more than their image's colours.
    """
    out, (n_images, height, width) = images, images.shape[:3]
    window = (1, max(1, height // 4), max(1, width // 4), 1)
    for _ in range(_LEAVES):
        others = images[rng.permutation(n_images)]
        even = ndimage.uniform_filter(others, size=window, mode="nearest")
        others = np.where(rng.random(_per_image(images)) < 0.5, even, others)
        cover = _things(n_images, height, width, rng)[..., None] * (rng.random(_per_image(images)) < _LEAF)
        out = out + cover.astype(np.float32) * (others - out)
    return np.asarray(out, dtype=np.float32)


def _things(n_images: int, height: int, width: int, rng: np.random.Generator) -> Images:
    """How much of each pixel a thing covers, of any size, place and turn: a box, or a disc whose edge goes in and out."""

    def any_of(low: float, high: float) -> Images:
        return rng.uniform(low, high, size=(n_images, 1, 1)).astype(np.float32)

    down, along = (((np.arange(side) + 0.5) * 2 / side - 1).astype(np.float32) for side in (height, width))
    y, x = down[:, None] - any_of(-0.8, 0.8), along - any_of(-0.8, 0.8)
    turn, longer = any_of(0, 2 * np.pi), any_of(0.6, 1.6)
    u, v = (np.cos(turn) * x + np.sin(turn) * y) * longer, (np.cos(turn) * y - np.sin(turn) * x) / longer
    lobes, size = rng.integers(*_LOBES, size=(n_images, 1, 1)), any_of(0.15, 0.9)
    reach = size * (1 + any_of(0, 0.5) * np.cos(lobes.astype(np.float32) * np.arctan2(v, u) + any_of(0, 2 * np.pi)))
    is_box = rng.random((n_images, 1, 1)) < 0.35
    outside = np.where(is_box, np.maximum(np.abs(u), np.abs(v)) - 0.8 * size, np.hypot(u, v) - reach)
    return _inside(0.5 - outside * max(height, width) / 3)


def _mirrored(images: Images, rng: np.random.Generator) -> Images:
    return images[:, :, ::-1]


def _textured(images: Images, rng: np.random.Generator) -> Images:
    """Smooth noise where there is something to see."""
    strength = 0.35 * rng.random(_per_image(images)).astype(np.float32) ** 2
    grain = _blurred(rng.standard_normal(images.shape, dtype=np.float32))
    return _inside(images + 3 * strength * grain * (images > 0.08))


def _dimmed(images: Images, rng: np.random.Generator) -> Images:
    return _inside(images * rng.uniform(0.4, 1.3, size=_per_image(images)).astype(np.float32))


def _thinned(images: Images, rng: np.random.Generator) -> Images:
    """Soft threshold: what is darker than a level goes, the rest keeps its full range."""
    level = rng.uniform(0.0, 0.35, size=_per_image(images)).astype(np.float32)
    return _inside((images - level) / (1 - level))


def _sharpened(images: Images, rng: np.random.Generator) -> Images:
    """Unsharp mask: smooth densities give no edges."""
    strength = rng.uniform(0.0, 4.0, size=_per_image(images)).astype(np.float32)
    return _inside(images + strength * (images - _blurred(images)))


def _grained(images: Images, rng: np.random.Generator) -> Images:
    """Noise of single pixels where there is something to see."""
    strength = 0.25 * rng.random(_per_image(images)).astype(np.float32) ** 2
    grain = rng.standard_normal(images.shape, dtype=np.float32)
    return _inside(images + strength * grain * (images > 0.05))


def _blurred(images: Images) -> Images:
    """Means over 3 x 3 pixels."""
    return np.asarray(ndimage.uniform_filter(images, size=(1, 3, 3, *(1,) * (images.ndim - 3)), mode="nearest"))


def _inside(images: Images) -> Images:
    clipped: Images = np.clip(images, 0, 1)
    return clipped


def _per_image(images: Images) -> tuple[int, ...]:
    return (len(images), *(1,) * (images.ndim - 1))


#: For images that are smooth, so that they may be stretched far: strokes on an even ground.
STROKES = Variety(3.5, (turned, _patched, _textured, _dimmed, _thinned, _sharpened, _grained))
#: For images that have a texture, and so are not pale.
PHOTOGRAPHS = Variety(1.5, (turned, _leaved, _patched, _dimmed, _grained, _mirrored))
