"""Variety for synthetic images: transformations that widen what a student sees of its teacher. All of it is free."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Images = NDArray[np.float32]
PALE = 3.5  # by so much images of smooth densities are stretched at most, which have no edges


def varied(images: Images, *, rng: np.random.Generator, contrast: float = PALE) -> Images:
    """Random contrast for all, and each of seven changes for a random half of them."""
    out = with_contrast(images, rng=rng, most=contrast)
    for change in (turned, _patched, _textured, _dimmed, _thinned, _sharpened, _grained):
        chosen = np.flatnonzero(rng.random(len(out)) < 0.5)
        if len(chosen):
            out[chosen] = change(out[chosen], rng)
    return out


def with_contrast(images: Images, *, rng: np.random.Generator, most: float = PALE) -> Images:
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
