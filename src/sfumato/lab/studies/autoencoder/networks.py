"""The two networks of the report, in torch: an autoencoder of one hidden layer, and five dense layers without activations."""

import copy
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.studies.common.digits import Codes, Pixels
from sfumato.public.machine.torch_extra import default_device, need_torch

_WHAT = "the networks of the report"
_HIDDEN = 64
_DENSE = (512, 256, 128, 64)


def trained_autoencoder(rows: Pixels, *, epochs: int, batch: int, seed: int = 0) -> Any:
    """784 pixels, 64 units with ReLU, 784 pixels with a sigmoid; mean squared error and Adam."""
    torch = need_torch(_WHAT)
    nn, width = torch.nn, rows.shape[1]

    def make() -> Any:
        return nn.Sequential(nn.Linear(width, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, width), nn.Sigmoid())

    return _trained(torch, make, rows, rows, nn.functional.mse_loss, epochs=epochs, batch=batch, seed=seed)


def trained_classifier(rows: Pixels, labels: Codes, *, n_classes: int, epochs: int, batch: int, seed: int = 0) -> Any:
    """Five dense layers. The report gives them no activation, so that they are a linear rule together."""
    torch = need_torch(_WHAT)
    sides = (rows.shape[1], *_DENSE, n_classes)

    def make() -> Any:
        return torch.nn.Sequential(*(torch.nn.Linear(a, b) for a, b in itertools.pairwise(sides)))

    loss = torch.nn.functional.cross_entropy
    return _trained(torch, make, rows, labels, loss, epochs=epochs, batch=batch, seed=seed)


def with_noisy_weights(network: Any, *, noise_stddev: float, seed: int = 0) -> Any:
    """A copy with Gaussian noise on every weight and bias: what the report calls differential privacy."""
    torch, out = need_torch(_WHAT), copy.deepcopy(network)
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in out.parameters():
            weights += noise_stddev * torch.randn(weights.shape, generator=rng).to(weights.device)
    return out


def applied(network: Any, rows: Pixels) -> NDArray[np.float32]:
    """What a network makes of rows."""
    torch = need_torch(_WHAT)
    with torch.no_grad():
        parts = [
            network(torch.from_numpy(part).to(default_device())).cpu().numpy()
            for part in np.array_split(rows, 1 + len(rows) // 4096)
        ]
    return np.concatenate(parts)


def accuracy(network: Any, rows: Pixels, labels: Codes) -> float:
    """Of a classifier."""
    return float((applied(network, rows).argmax(axis=1) == labels).mean())


def _trained(torch: Any, make: Any, x: Any, y: Any, loss: Any, *, epochs: int, batch: int, seed: int) -> Any:
    device, order = default_device(), np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make().to(device)
    x, y = (torch.from_numpy(np.ascontiguousarray(values)).to(device) for values in (x, y))
    optimiser = torch.optim.Adam(network.parameters(), fused=device == "cuda")
    for _ in range(epochs):
        for chosen in torch.from_numpy(order.permutation(len(x))).to(device).tensor_split(max(1, len(x) // batch)):
            optimiser.zero_grad()
            loss(network(x[chosen]), y[chosen]).backward()
            optimiser.step()
    return network.eval()


def linked_share(raw: Pixels, released: Pixels, expected: Pixels) -> float:
    """The part of released rows whose raw row an adversary picks out of all: the one whose image comes nearest.

    Args:
        raw: Rows that the adversary has; any of them may have been released.
        released: Row i was made of row i.
        expected: What the adversary's own copy of the public network makes of the raw rows.

    >>> rows = np.eye(3, dtype=np.float32)
    >>> linked_share(rows, rows, rows)
    1.0
    """
    apart = (expected**2).sum(axis=1)[None] - 2 * released @ expected.T
    return float((apart.argmin(axis=1) == np.arange(len(raw))).mean())
