"""The report's network and its two trainings: plain gradients, and clipped and noisy ones over shuffled batches.

Not by the library Opacus: the same mechanism (each example's gradient, clipped, summed, noised, divided by the batch) in torch. NOT
private as claimed, because of how rows come into batches: see `claims`. Networks with other noise, or from other seeds, are trained
side by side, since a step of one of them is too small for a GPU.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.studies.common.digits import Digits
from sfumato.public.machine.torch_extra import default_device, need_torch

#: By which the report standardises pixels: mean and deviation of the training pixels, as everybody quotes them.
_MEAN, _DEVIATION = 0.1307, 0.3081
_CLIP, _LEARNING_RATE = 1.0, 0.05
_TESTED_AT_ONCE = 500
_WHAT = "the network of the report"


@dataclass(frozen=True)
class Run:
    """One training. `noise_multiplier`: None for plain gradients, which are not clipped either."""

    noise_multiplier: float | None
    seed: int = 0


@dataclass(frozen=True)
class _Convolution:
    side: int
    stride: int
    padding: int

    def out(self, size: int) -> int:
        return (size + 2 * self.padding - self.side) // self.stride + 1


_CONVOLUTIONS = (_Convolution(8, 2, 3), _Convolution(4, 2, 0))
_CHANNELS, _HIDDEN = (16, 32), 32


class Trainer:
    """Networks that are trained epoch by epoch. All weights of one network are a row of `weights`."""

    def __init__(self, train: Digits, runs: Sequence[Run], *, batch: int) -> None:
        """Start from the same random weights, and the same order of rows, for the same seed."""
        self.torch, self.device = need_torch(_WHAT), default_device()
        self.x, self.y = self.tensor(train.images), self.torch.from_numpy(train.labels).to(self.device)
        self.batch = batch
        self.clip = self._by_network([math.inf if run.noise_multiplier is None else _CLIP for run in runs])
        self.stddev = self._by_network([_CLIP * (run.noise_multiplier or 0.0) for run in runs])
        self.shapes = _shapes(train.images.shape[1], int(train.labels.max()) + 1)
        self.weights = self.torch.stack([self._started(run.seed) for run in runs]).to(self.device)
        self.orders = [np.random.default_rng(run.seed) for run in runs]
        self.noise = self.torch.Generator(device=self.device).manual_seed(runs[0].seed)

    def epoch(self) -> NDArray[np.float64]:
        """One pass of each network over its shuffled batches; the mean losses."""
        # The orders go to the device at once, and the losses come back at once: a step waits for nobody.
        orders = np.stack([order.permutation(len(self.y)) for order in self.orders])
        chosen = self.torch.from_numpy(orders).to(self.device).split(self.batch, dim=1)
        losses = [self._step(self.x[rows], self.y[rows]) for rows in chosen]
        return np.asarray(self.torch.stack(losses).double().mean(dim=0).cpu())

    def accuracies(self, test: Digits) -> NDArray[np.float64]:
        """Of each network on real pictures."""
        with self.torch.no_grad():
            parts = [
                self._layers(part.expand(len(self.stddev), *part.shape))[1][-1].argmax(dim=-1)[:, :, 0]
                for part in self.tensor(test.images).split(_TESTED_AT_ONCE)
            ]
        named = self.torch.cat(parts, dim=1).cpu().numpy()
        return np.asarray((named == test.labels).mean(axis=1))

    def activations(self, network: int, images: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """What each channel of both convolutions makes of pictures, with nothing between them: the report's "noisy images"."""
        functional, maps, made = self.torch.nn.functional, self.tensor(images), []
        for convolution, (weights, bias) in zip(_CONVOLUTIONS, self._parts(), strict=False):
            kernel = weights[network].unflatten(1, (maps.shape[1], convolution.side, convolution.side))
            maps = functional.conv2d(maps, kernel, bias[network], convolution.stride, convolution.padding)
            made.append(maps.cpu().numpy())
        return made

    def tensor(self, images: NDArray[np.float32]) -> Any:
        """Pictures as the network takes them."""
        return self.torch.from_numpy((images[:, None] - _MEAN) / _DEVIATION).float().to(self.device)

    def gradients(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Each example's own gradient, (network, example, weight), and its loss."""
        torch = self.torch
        taken, said = self._layers(x)
        lost = torch.nn.functional.cross_entropy(said[-1][:, :, 0].flatten(0, 1), y.flatten(), reduction="none")
        each = []
        for known, slope in zip(taken, torch.autograd.grad(lost.sum(), said), strict=True):
            each += [(slope.mT @ known.detach()).flatten(2), slope.sum(dim=2)]
        return torch.cat(each, dim=2), lost.detach().reshape(y.shape)

    def clipped_sums(self, each: Any) -> Any:
        """Every example's gradient no longer than the clip, added up."""
        kept = (self.clip[:, None] / each.norm(dim=2).clamp_min(1e-6)).clamp_max(1.0)
        return (kept[:, None] @ each)[:, 0]

    def _step(self, x: Any, y: Any) -> Any:
        """Change the weights, and tell the mean losses before that."""
        torch = self.torch
        each, lost = self.gradients(x, y)
        grain = torch.randn(self.weights.shape, generator=self.noise, device=self.device)
        noisy = self.clipped_sums(each) + self.stddev[:, None] * grain
        # The library divides by the batch that was meant, a plain mean by the batch that came.
        divisor = torch.where(self.stddev > 0, float(self.batch), float(y.shape[1]))
        self.weights -= _LEARNING_RATE * noisy / divisor[:, None]
        return lost.mean(dim=1)

    def _layers(self, x: Any) -> tuple[list[Any], list[Any]]:
        """What each of four layers takes, (network, example, place, entry), and what it says."""
        functional, parts = self.torch.nn.functional, self._parts()
        taken: list[Any] = []
        said: list[Any] = []
        # Nothing but what layers say is derived by, so that their inputs alone need be followed, from the first on.
        x = x.detach().requires_grad_(self.torch.is_grad_enabled())
        for convolution in _CONVOLUTIONS:
            size = convolution.out(x.shape[-1])
            patches = functional.unfold(
                x.flatten(0, 1), convolution.side, stride=convolution.stride, padding=convolution.padding
            )
            taken.append(patches.mT.unflatten(0, x.shape[:2]))
            said.append(_said(taken[-1], *parts[len(said)]))
            maps = said[-1].mT.unflatten(-1, (size, size))
            x = functional.max_pool2d(maps.relu().flatten(0, 1), 2, 1).unflatten(0, maps.shape[:2])
        taken.append(x.flatten(2)[:, :, None])
        said.append(_said(taken[-1], *parts[2]))
        taken.append(said[-1].relu())
        said.append(_said(taken[-1], *parts[3]))
        return taken, said

    def _parts(self) -> list[tuple[Any, Any]]:
        """The weights and biases of every layer, (network, out, in) and (network, out)."""
        sizes = [size for out, into in self.shapes for size in (out * into, out)]
        flat = self.weights.split(sizes, dim=1)
        return [(flat[2 * at].unflatten(1, shape), flat[2 * at + 1]) for at, shape in enumerate(self.shapes)]

    def _started(self, seed: int) -> Any:
        """As torch starts its layers: even between plus and minus one over the root of what comes in."""
        torch, dice = self.torch, self.torch.Generator().manual_seed(seed)
        reaches = [torch.full((out * (into + 1),), 1 / math.sqrt(into)) for out, into in self.shapes]
        reach = torch.cat(reaches)
        return reach * (2 * torch.rand(reach.shape, generator=dice) - 1)

    def _by_network(self, values: Sequence[float]) -> Any:
        return self.torch.tensor(values, device=self.device)


def _said(taken: Any, weights: Any, bias: Any) -> Any:
    # One product for all examples of a network: they have its weights in common.
    return (taken.flatten(1, 2) @ weights.mT + bias[:, None]).unflatten(1, taken.shape[1:3])


def _shapes(side: int, n_classes: int) -> list[tuple[int, int]]:
    """Of the weights of each layer: 26,010 of them with the biases, for ten classes and 28 x 28.

    >>> sum(out * (into + 1) for out, into in _shapes(28, 10))
    26010
    """
    shapes, channels = [], 1
    for convolution, wider in zip(_CONVOLUTIONS, _CHANNELS, strict=True):
        shapes.append((wider, channels * convolution.side**2))
        side, channels = convolution.out(side) - 1, wider
    return [*shapes, (_HIDDEN, channels * side**2), (n_classes, _HIDDEN)]
