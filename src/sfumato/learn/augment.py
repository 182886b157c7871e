"""Variety for synthetic images: transformations that widen what a student sees of its teacher. All of it is free."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Images = NDArray[np.float32]


def varied(images: Images, *, rng: np.random.Generator) -> Images:
    """Random contrast for all; shape, patches, texture and brightness for a random half of them each."""
    out = with_contrast(images, rng=rng)
    for change in (_moved, _patched, _textured, _dimmed):
        chosen = np.flatnonzero(rng.random(len(out)) < 0.5)
        if len(chosen):
            out[chosen] = change(out[chosen], rng)
    return out


def with_contrast(images: Images, *, rng: np.random.Generator, most: float = 3.5) -> Images:
    """Stretch each image about mid-grey by a factor between 1 and `most`: smooth densities give pale images."""
    gain = rng.uniform(1.0, most, size=_per_image(images)).astype(np.float32)
    return _inside((images - 0.5) * gain + 0.5)


def _moved(images: Images, rng: np.random.Generator) -> Images:
    """Turn, stretch, shear and shift, with linear interpolation."""
    n_images, height, width = images.shape[:3]
    angle, shear = rng.uniform(-0.3, 0.3, size=(n_images, 1, 1)), rng.uniform(-0.2, 0.2, size=(n_images, 1, 1))
    scale, shift = rng.uniform(0.8, 1.2, size=(2, n_images, 1, 1)), rng.uniform(-0.07, 0.07, size=(2, n_images, 1, 1))
    rows, columns = np.meshgrid(np.arange(height) - (height - 1) / 2, np.arange(width) - (width - 1) / 2, indexing="ij")
    cos, sin = np.cos(angle), np.sin(angle)
    middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
    from_row = scale[0] * (cos * rows + sin * columns) + shift[0] * height + middle_row
    from_column = scale[1] * (cos * columns - sin * rows) + shear * rows + shift[1] * width + middle_column
    return _at(images, from_row.astype(np.float32), from_column.astype(np.float32))


def _at(images: Images, rows: NDArray[np.float32], columns: NDArray[np.float32]) -> Images:
    """Linear interpolation at fractional places; black outside."""
    height, width = images.shape[1:3]
    first_row, first_column = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    part_row, part_column = rows - first_row, columns - first_column
    which = np.arange(len(images))[:, None, None]
    extra = (slice(None),) * 3 + (None,) * (images.ndim - 3)
    out = np.zeros_like(images)
    for row_step, row_weight in ((0, 1 - part_row), (1, part_row)):
        for column_step, column_weight in ((0, 1 - part_column), (1, part_column)):
            r, c = first_row + row_step, first_column + column_step
            inside = (r >= 0) & (r < height) & (c >= 0) & (c < width)
            weight = (row_weight * column_weight * inside)[extra]
            out += weight * images[which, np.clip(r, 0, height - 1), np.clip(c, 0, width - 1)]
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
    sizes: Any = (0, 3, 3) + (0,) * (images.ndim - 3)
    grain = ndimage.uniform_filter(rng.standard_normal(images.shape, dtype=np.float32), size=[max(1, s) for s in sizes])
    return _inside(images + 3 * strength * grain * (images > 0.08))


def _dimmed(images: Images, rng: np.random.Generator) -> Images:
    return _inside(images * rng.uniform(0.4, 1.3, size=_per_image(images)).astype(np.float32))


def _inside(images: Images) -> Images:
    clipped: Images = np.clip(images, 0, 1)
    return clipped


def _per_image(images: Images) -> tuple[int, ...]:
    return (len(images), *(1,) * (images.ndim - 1))
