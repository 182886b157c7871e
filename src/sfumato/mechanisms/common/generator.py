"""A generator of mixed rows: a small network from a latent draw and a class to what a row is drawn from."""

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ModelError
from sfumato.learn.dct import cosine_basis
from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.pictures import n_channels
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.schema.schema import Column

#: Cosine coefficients of each channel that pictures are drawn with: finer ones would hold noise.
MOST_COEFFICIENTS = 250
_CONTRAST, _DARK = 10.0, -2.0  # pixels begin dark, and away from the ends of the sigmoid
_LARGEST_SPREAD, _FIRST_SPREAD = 0.2, -2.0
#: Latent draws on which a trained generator is tried.
_TRIED = 1000


class Outputs(NamedTuple):
    """What rows are drawn from, one row each: tensors.

    Numbers are the middles, in [0, 1]; pixels, which are what they are, have no spreads. Probabilities are of each
    code, columns side by side.
    """

    numbers: Any
    spreads: Any | None
    probabilities: Any


@dataclass(frozen=True)
class Generator:
    """A network of two hidden layers of so many units, after so many latent entries; apart from its parameters."""

    rows: MixedRows
    latent: int
    hidden: int

    def start(self, seed: int) -> list[Any]:
        """Weights and biases in turn, drawn so that signals keep their size.

        He, Zhang, Ren and Sun, "Delving deep into rectifiers" (2015).
        """
        torch = need_torch("a generator")
        rng = np.random.default_rng(seed)
        sizes = [self.latent + self.rows.n_classes, self.hidden, self.hidden, self._n_outputs]
        parameters = []
        for n_in, n_out in itertools.pairwise(sizes):
            parameters += [rng.normal(size=(n_in, n_out)) * math.sqrt(2 / n_in), np.zeros(n_out)]
        return [torch.from_numpy(values).requires_grad_(True) for values in parameters]

    def __call__(self, parameters: list[Any], latent: Any, labels: Any) -> Outputs:
        """What rows of these classes are drawn from, after so many latent draws."""
        torch = need_torch("a generator")
        signal = self.signal(parameters, latent, labels)
        if self.rows.image is not None:
            return Outputs(torch.sigmoid(_CONTRAST * pixels_of(signal, self.rows.image) + _DARK), None, signal[:, :0])
        middles, spreads, *logits = signal.split([self.rows.n_numbers] * 2 + list(self.rows.code_sizes), dim=1)
        codes = [torch.softmax(part, dim=1) for part in logits]
        spreads = _LARGEST_SPREAD * torch.sigmoid(spreads + _FIRST_SPREAD)
        return Outputs(torch.sigmoid(middles), spreads, torch.cat([signal[:, :0], *codes], dim=1))

    def signal(self, parameters: list[Any], latent: Any, labels: Any) -> Any:
        """What comes out of the last layer: of pictures, cosine coefficients, one channel after another."""
        torch = need_torch("a generator")
        classes = torch.nn.functional.one_hot(labels, self.rows.n_classes).to(latent.dtype)
        signal = torch.cat([latent, classes], dim=1)
        *hidden, last = zip(parameters[::2], parameters[1::2], strict=True)
        for weight, bias in hidden:
            signal = torch.relu(signal @ weight + bias)
        return signal @ last[0] + last[1]

    def trained(self, parameters: list[Any]) -> tuple[Floats, ...]:
        """Parameters as arrays; refused where training has diverged, so that no row can hold what is not a number."""
        torch = need_torch("a generator")
        latent = np.random.default_rng(0).normal(size=(_TRIED, self.latent))
        with torch.no_grad():
            out = self(parameters, torch.from_numpy(latent), torch.arange(_TRIED) % self.rows.n_classes)
        arrays = tuple(values.detach().numpy() for values in parameters)
        shown = [values.numpy() for values in out if values is not None]
        if not all(np.isfinite(values).all() for values in (*arrays, *shown)):
            raise ModelError(
                "the training of the generator diverged, and nothing is released. The budget is spent all the same; lower "
                "the learning rates, and count what was spent if you release again."
            )
        return arrays

    @property
    def _n_outputs(self) -> int:
        image = self.rows.image
        if image is None:
            return 2 * self.rows.n_numbers + sum(self.rows.code_sizes)
        return min(MOST_COEFFICIENTS, image.shape[0] * image.shape[1]) * n_channels(image)


def pixels_of(coefficients: Any, image: Column) -> Any:
    """Pixels of cosine coefficients, channel by channel."""
    torch = need_torch("a generator")
    basis: NDArray[Any] = cosine_basis(image.shape[0], image.shape[1], MOST_COEFFICIENTS)
    by_channel = coefficients.reshape(len(coefficients), n_channels(image), -1)
    pixels = by_channel @ torch.from_numpy(basis.T).to(coefficients.dtype)
    return pixels.transpose(1, 2).reshape(len(coefficients), -1)
