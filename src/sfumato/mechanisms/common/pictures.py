"""What mechanisms for images need of each picture: its class, its pixels in the unit box, its cosine coefficients."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.dct import cosine_basis
from sfumato.learn.waves import Waves
from sfumato.mechanisms.common.arrays import Floats, Singles
from sfumato.public.machine.exact_arithmetic import grid_products, on_grid, rounded_matrix
from sfumato.public.schema.schema import Column, Schema

#: Bounds that are whole numbers with fewer greys between them are those of fractions, such as [0, 1] and [-1, 1].
_FEWEST_GREYS = 16


def n_channels(column: Column) -> int:
    """One for grey images."""
    return column.shape[2] if len(column.shape) == 3 else 1


def n_classes(schema: Schema) -> int:
    """One where there is no target."""
    return schema.require_coded_target().size if schema.target else 1


def unit_box(images: NDArray[Any], column: Column) -> Singles:
    """Pixels scaled by their bounds."""
    return ((images.astype(np.float32) - column.low) / (column.high - column.low)).astype(np.float32)


def in_bounds(images: NDArray[Any], column: Column) -> NDArray[Any]:
    """Pictures of the unit box in the units and the type of their schema.

    Pixels are whole numbers where the bounds are, and lie far enough apart: bytes for [0, 255], and for [0, 16] too.

    >>> in_bounds(np.array([[0.0, 0.52]]), Column(name="x", kind="image", shape=(1, 2), bounds=(0, 16)))
    array([[0, 8]], dtype=uint8)
    """
    pixels = column.low + (column.high - column.low) * np.clip(np.asarray(images, dtype=np.float64), 0, 1)
    kind = _whole_type(column)
    return pixels.astype(np.float32) if kind is None else np.rint(pixels).astype(kind)


def _whole_type(column: Column) -> np.dtype[Any] | None:
    whole = column.low.is_integer() and column.high.is_integer() and column.high - column.low >= _FEWEST_GREYS - 1
    kinds = [np.iinfo(kind) for kind in (np.uint8, np.int8, np.uint16, np.int16, np.int32)]
    return next((kind.dtype for kind in kinds if whole and kind.min <= column.low <= column.high <= kind.max), None)


def cosine_coefficients(images: NDArray[Any], column: Column, k: int, *, about: float = 0.0) -> Floats:
    """The first `k` cosine coefficients of each channel, as (n, channel, coefficient), of pictures in units of the schema.

    Pixels are brought to the unit box, and measured from the grey `about`.
    """
    channels = n_channels(column)
    pixels = (unit_box(images, column) - np.float32(about)).reshape(len(images), -1, channels).transpose(0, 2, 1)
    flat = on_grid(pixels).reshape(len(images) * channels, -1)
    return grid_products(flat, _rounded_basis(column.shape[0], column.shape[1], k)).reshape(len(images), channels, k)


@cache
def _rounded_basis(height: int, width: int, k: int) -> Floats:
    return rounded_matrix(cosine_basis(height, width, k))


@cache
def waves_of(column: Column) -> Waves:
    """The cosine waves of a column of pictures."""
    return Waves.of(column.shape)
