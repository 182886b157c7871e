"""The report's network and its two trainings: plain gradients, and clipped and noisy ones over shuffled batches.

Not by the library Opacus: the same mechanism (per-example gradients, clipped, summed, noised, divided by the batch) in torch. NOT
private as claimed, because of how rows come into batches: see `claims`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.studies.common.digits import Digits
from sfumato.public.machine.torch_extra import default_device, need_torch

#: By which the report standardises pixels: mean and deviation of the training pixels, as everybody quotes them.
_MEAN, _DEVIATION = 0.1307, 0.3081
_CLIP, _LEARNING_RATE = 1.0, 0.05
_WHAT = "the network of the report"


class Trainer:
    """A network that is trained epoch by epoch. `noise_multiplier`: None for plain gradients."""

    def __init__(self, train: Digits, *, batch: int, noise_multiplier: float | None, seed: int = 0) -> None:
        """Start from the same random weights for the same seed."""
        self.torch, self.device = need_torch(_WHAT), default_device()
        self.x, self.y = self.tensor(train.images), self.torch.from_numpy(train.labels).to(self.device)
        self.batch, self.noise_multiplier = batch, noise_multiplier
        with self.torch.random.fork_rng(devices=[]):
            self.torch.manual_seed(seed)
            self.network = _network(self.torch, int(train.labels.max()) + 1).to(self.device)
            self.network(self.x[:1])  # the first linear layer takes its size from what it sees
        self.order = np.random.default_rng(seed)
        self.noise = self.torch.Generator(device=self.device).manual_seed(seed)

    def epoch(self) -> float:
        """One pass over shuffled batches; the mean loss."""
        # The order goes to the device at once, and the losses come back at once: a step waits for nobody.
        order = self.torch.from_numpy(self.order.permutation(len(self.y))).to(self.device)
        losses = [self._step(self.x[chosen], self.y[chosen]) for chosen in order.split(self.batch)]
        return float(self.torch.stack(losses).mean())

    def accuracy(self, test: Digits) -> float:
        """On real pictures."""
        with self.torch.no_grad():
            named = self.torch.cat([self.network(part).argmax(dim=1) for part in self.tensor(test.images).split(1024)])
        return float((named.cpu().numpy() == test.labels).mean())

    def activations(self, images: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """What the first channel of each convolution makes of pictures: the report's "noisy images"."""
        first, second = (layer for layer in self.network if isinstance(layer, self.torch.nn.Conv2d))
        with self.torch.no_grad():
            one = first(self.tensor(images))
            two = second(one)
        return [layer[:, 0].cpu().numpy() for layer in (one, two)]

    def tensor(self, images: NDArray[np.float32]) -> Any:
        """Pictures as the network takes them."""
        return self.torch.from_numpy((images[:, None] - _MEAN) / _DEVIATION).float().to(self.device)

    def _step(self, x: Any, y: Any) -> Any:
        """Change the weights, and tell the mean loss before that."""
        torch, functional = self.torch, self.torch.nn.functional
        weights = dict(self.network.named_parameters())
        if self.noise_multiplier is None:
            loss = functional.cross_entropy(self.network(x), y)
            gradients = dict(zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True))
            told = loss.detach()
        else:

            def one(known: Any, image: Any, label: Any) -> Any:
                scores = torch.func.functional_call(self.network, known, (image[None],))
                lost = functional.cross_entropy(scores, label[None])
                return lost, lost

            frozen = {name: values.detach() for name, values in weights.items()}
            each, lost = torch.func.vmap(torch.func.grad(one, has_aux=True), in_dims=(None, 0, 0))(frozen, x, y)
            gradients, told = self._noised(each, self.noise_multiplier), lost.mean()
        with torch.no_grad():
            for name, values in weights.items():
                values -= _LEARNING_RATE * gradients[name]
        return told

    def _noised(self, each: dict[str, Any], noise_multiplier: float) -> dict[str, Any]:
        """Clip every example, add up, add noise, and divide by the batch that was meant."""
        torch = self.torch
        length = torch.stack([values.flatten(1).norm(dim=1) for values in each.values()]).norm(dim=0)
        kept = (_CLIP / length.clamp_min(1e-6)).clamp_max(1.0)
        out = {}
        for name, values in each.items():
            summed = torch.einsum("n,n...->...", kept, values)
            grain = torch.randn(summed.shape, generator=self.noise, device=self.device)
            out[name] = (summed + noise_multiplier * _CLIP * grain) / self.batch
        return out


def _network(torch: Any, n_classes: int) -> Any:
    """The network of the report: 26,010 weights for ten classes and 28 x 28."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, 2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Flatten(), nn.LazyLinear(32), nn.ReLU(), nn.Linear(32, n_classes),
    )  # fmt: skip
