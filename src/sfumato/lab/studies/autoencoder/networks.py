"""The two networks of the report's program, all runs side by side: an autoencoder, and five dense layers without activations.

As in Keras: Glorot's even weights, biases of 0, Adam with an epsilon of 1e-7, whole passes in batches of 32, and after the last pass the
weights of the one that did best on the rows that the program calls validation data, which are the test rows. A step of so small a
network takes a GPU less time than to be asked for it, so the runs share their steps, and a step is recorded once and played back.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.studies.common.digits import Codes, Pixels
from sfumato.public.machine.torch_extra import default_device, need_torch

_WHAT = "the networks of the report"
_HIDDEN = 64
_DENSE = (512, 256, 128, 64)
_EPSILON = 1e-7
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Networks:
    """Dense layers of several runs: `weights` holds (run, weight), layer by layer, a matrix and then its biases."""

    sides: tuple[int, ...]
    activations: tuple[str | None, ...]
    weights: Any

    def layers(self, weights: Any) -> list[tuple[Any, Any]]:
        """(run, in, out) and (run, out) of each layer."""
        shapes = [shape for pair in itertools.pairwise(self.sides) for shape in (pair, pair[1:])]
        parts = weights.split([math.prod(shape) for shape in shapes], dim=1)
        made = [part.unflatten(1, shape) for part, shape in zip(parts, shapes, strict=True)]
        return list(zip(made[::2], made[1::2], strict=True))

    def __call__(self, rows: Any, weights: Any = None) -> Any:
        """(run, row, entry) of (run, row, entry)."""
        torch = need_torch(_WHAT)
        for (matrix, bias), name in zip(
            self.layers(self.weights if weights is None else weights), self.activations, strict=True
        ):
            rows = torch.baddbmm(bias[:, None], rows, matrix)
            rows = rows if name is None else getattr(torch, name)(rows)
        return rows

    def applied(self, rows: Any) -> Any:
        """The same, some rows at a time; rows without a run are those of every run."""
        torch = need_torch(_WHAT)
        with torch.no_grad():
            rows = rows.expand(len(self.weights), *rows.shape[-2:])
            return torch.cat([self(part) for part in rows.split(_ROWS_AT_ONCE, dim=1)], dim=1)

    def accuracies(self, rows: Any, labels: Any) -> list[float]:
        """Of classifiers, one number for each run."""
        return [float(right) for right in (self.applied(rows).argmax(dim=2) == labels).double().mean(dim=1)]

    def with_noise(self, stddev: float, *, layers: int, seed: int) -> "Networks":
        """Copies with Gaussian noise on the matrices and biases of the first layers: what the report calls private."""
        torch = need_torch(_WHAT)
        noisy = sum((a + 1) * b for a, b in itertools.islice(itertools.pairwise(self.sides), layers))
        drawn = torch.randn(len(self.weights), noisy, generator=torch.Generator().manual_seed(seed))
        weights = self.weights.clone()
        weights[:, :noisy] += stddev * drawn.to(weights.device)
        return Networks(self.sides, self.activations, weights)


@dataclass(frozen=True)
class Trained:
    """Networks as the program keeps them, those after the last pass, and losses on the test rows as (epoch, run)."""

    best: Networks
    last: Networks
    losses: NDArray[np.float64]


def started(sides: Sequence[int], activations: Sequence[str | None], *, runs: int) -> Networks:
    """Run r begins with Glorot's even weights of seed r, and with no biases."""
    torch = need_torch(_WHAT)
    flat = []
    for seed in range(runs):
        coins = torch.Generator().manual_seed(seed)
        for a, b in itertools.pairwise(sides):
            even = 2 * torch.rand(a * b, generator=coins) - 1
            flat += [math.sqrt(6 / (a + b)) * even, torch.zeros(b)]
    weights = torch.cat(flat).reshape(runs, -1).to(default_device())
    return Networks(tuple(sides), tuple(activations), weights)


def trained_autoencoders(train: Any, test: Any, *, runs: int, epochs: int, batch: int) -> Trained:
    """784 pixels, 64 units with ReLU, 784 pixels with a sigmoid; mean squared error."""
    torch = need_torch(_WHAT)
    networks = started((train.shape[-1], _HIDDEN, train.shape[-1]), ("relu", "sigmoid"), runs=runs)

    def error(made: Any, rows: Any) -> Any:
        return (made - rows).square().mean(dim=(1, 2))

    return _trained(torch, networks, (train, train), (test, test), error, epochs=epochs, batch=batch)


def trained_classifiers(
    train: tuple[Any, Any], test: tuple[Any, Any], *, n_classes: int, runs: int, epochs: int, batch: int
) -> Trained:
    """Five dense layers. The report gives them no activation, so that they are a linear rule together."""
    torch = need_torch(_WHAT)
    sides = (train[0].shape[-1], *_DENSE, n_classes)
    networks = started(sides, [None] * (len(sides) - 1), runs=runs)

    def surprise(scores: Any, labels: Any) -> Any:
        return (scores.logsumexp(dim=2) - scores.gather(2, labels[..., None])[..., 0]).mean(dim=1)

    return _trained(torch, networks, train, test, surprise, epochs=epochs, batch=batch)


def on_device(values: Pixels | Codes) -> Any:
    """An array as a tensor where networks are trained."""
    return need_torch(_WHAT).from_numpy(np.ascontiguousarray(values)).to(default_device())


def _trained(
    torch: Any, networks: Networks, train: tuple[Any, Any], test: tuple[Any, Any], loss: Any, *, epochs: int, batch: int
) -> Trained:
    weights, runs = networks.weights, len(networks.weights)
    of_run = torch.arange(runs, device=weights.device)[:, None]
    x, y, x_test, y_test = (_of_every_run(part, runs) for part in (*train, *test))
    n_steps = max(1, x.shape[1] // batch)
    chosen = torch.zeros(runs, min(batch, x.shape[1]), dtype=torch.long, device=weights.device)
    start = weights.clone()
    weights.requires_grad_()
    optimiser = torch.optim.Adam([weights], eps=_EPSILON, fused=True, capturable=weights.is_cuda)

    def step() -> None:
        rows = x[of_run, chosen]
        total = loss(networks(rows, weights), rows if train[1] is train[0] else y[of_run, chosen]).sum()
        (weights.grad,) = torch.autograd.grad(total, [weights])
        optimiser.step()

    played, coins = _recorded(torch, step, weights, start, optimiser), torch.Generator().manual_seed(runs)
    best, least, losses = start.clone(), torch.full((runs,), torch.inf, device=weights.device), []
    for _ in range(epochs):
        orders = torch.stack([torch.randperm(x.shape[1], generator=coins) for _ in range(runs)]).to(weights.device)
        for at in range(n_steps):
            chosen.copy_(orders[:, at * batch : at * batch + chosen.shape[1]])
            played()
        with torch.no_grad():
            parts = [
                loss(networks(rows), wanted) * rows.shape[1]
                for rows, wanted in zip(
                    x_test.split(_ROWS_AT_ONCE, dim=1), y_test.split(_ROWS_AT_ONCE, dim=1), strict=True
                )
            ]
            now = sum(parts) / x_test.shape[1]
            better = now < least
            least, best = torch.where(better, now, least), torch.where(better[:, None], weights, best)
            losses.append(now.cpu().numpy())
    kept = [Networks(networks.sides, networks.activations, found.detach()) for found in (best, weights)]
    return Trained(kept[0], kept[1], np.array(losses, dtype=np.float64))


def _of_every_run(part: Any, runs: int) -> Any:
    """(run, row, entry) of pictures or (run, row) of labels, which all runs may share."""
    own = 2 if part.is_floating_point() else 1
    return part.expand(runs, *part.shape[-own:])


def _recorded(torch: Any, step: Callable[[], None], weights: Any, start: Any, optimiser: Any) -> Callable[[], None]:
    """The step itself; on a GPU, a recording of it, for which it is tried a few times, and everything is put back."""
    if not weights.is_cuda:
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    with torch.no_grad():
        weights.copy_(start)
        for values in optimiser.state[weights].values():
            values.zero_()
    replay: Callable[[], None] = graph.replay
    return replay


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
