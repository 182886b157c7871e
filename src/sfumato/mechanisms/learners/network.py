"""A small convolutional network in torch: two convolutions, each pooled, and two linear layers.

16 filters of 8 x 8 and 32 of 4 x 4, both with stride 2, then 32 units: 26,010 weights for grey images of 28 x 28. With tanh in
the place of ReLU, whose gradients grow without bound (Papernot, Thakurta, Song, Chien and Erlingsson, "Tempered sigmoid
activations for deep learning with differential privacy", 2021).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.errors import SchemaError
from sfumato.mechanisms.common.arrays import Singles
from sfumato.mechanisms.common.pictures import n_channels
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Tensor
from sfumato.public.schema.schema import Column

Arrays = dict[str, Singles]

#: Filters, their side, their stride and the zeros around the image, of both convolutions; units of the hidden layer.
_FIRST, _SECOND, _HIDDEN = (16, 8, 2, 3), (32, 4, 2, 0), 32
_POOL = 2  # a window of 2 x 2 that moves by 1
_FLAT = 0.05  # an image of one grey has no contrast to be divided by


@dataclass(frozen=True)
class Network:
    """The network for images of a column, and so many classes. It holds no weights."""

    image: Column
    n_classes: int

    def __post_init__(self) -> None:
        """Refuse images that are too small for the filters."""
        if min(self._left) < 1:
            side = next(n for n in range(1, 100) if _left_of(n) >= 1)
            height, width = self.image.shape[:2]
            raise SchemaError(f"cnn needs images of at least {side} x {side}, and these are {height} x {width}.")

    @property
    def _left(self) -> tuple[int, int]:
        return _left_of(self.image.shape[0]), _left_of(self.image.shape[1])

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every weight."""
        (first, wide, *_), (second, narrow, *_) = _FIRST, _SECOND
        inputs = second * math.prod(self._left)
        return {
            "first.weight": (first, n_channels(self.image), wide, wide),
            "first.bias": (first,),
            "second.weight": (second, first, narrow, narrow),
            "second.bias": (second,),
            "hidden.weight": (_HIDDEN, inputs),
            "hidden.bias": (_HIDDEN,),
            "last.weight": (self.n_classes, _HIDDEN),
            "last.bias": (self.n_classes,),
        }

    @property
    def width(self) -> int:
        """How many weights there are."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def start(self, *, seed: int) -> Arrays:
        """Public random weights: even ones of variance 1 / inputs (LeCun), and no biases."""
        rng = np.random.default_rng(seed)
        out: Arrays = {}
        for name, shape in self.shapes.items():
            reach = math.sqrt(3 / math.prod(shape[1:])) if len(shape) > 1 else 0.0
            out[name] = (reach * rng.uniform(-1, 1, shape)).astype(np.float32)
        return out

    def scores(self, weights: Mapping[str, Tensor], images: Tensor) -> Tensor:
        """A score for every class of each image, in the units of the schema."""
        torch = need_torch("cnn")
        functional = torch.nn.functional
        x = self._standardised(images)
        for name, (_, _, stride, padding) in (("first", _FIRST), ("second", _SECOND)):
            x = functional.conv2d(x, weights[f"{name}.weight"], weights[f"{name}.bias"], stride, padding)
            x = functional.max_pool2d(torch.tanh(x), _POOL, 1)
        x = torch.tanh(functional.linear(x.flatten(1), weights["hidden.weight"], weights["hidden.bias"]))
        return functional.linear(x, weights["last.weight"], weights["last.bias"])

    def _standardised(self, images: Tensor) -> Tensor:
        """Channels first, and each image by its own mean and contrast: a function of that image alone."""
        x = images.reshape(len(images), *self.image.shape[:2], -1).permute(0, 3, 1, 2)
        x = (x - self.image.low) / (self.image.high - self.image.low)
        apart = x - x.mean(dim=(1, 2, 3), keepdim=True)
        return apart / (apart.square().mean(dim=(1, 2, 3), keepdim=True).sqrt() + _FLAT)


def _left_of(side: int) -> int:
    """What both convolutions, each pooled, leave of a side.

    >>> _left_of(28)
    4
    """
    for _, filter_side, stride, padding in (_FIRST, _SECOND):
        side = (side + 2 * padding - filter_side) // stride + 1 - (_POOL - 1)
    return side
