"""Networks of Table 4.1, trained as the thesis trains: small batches, a rate that is halved, a tenth for validation, perhaps an early end.

Where the thesis is silent, what Keras does by itself is done here: batches of 32, the even weights of Glorot, Adam with its epsilon.
All runs of a point are trained at once: a step of one such network keeps a GPU busy for a moment, and starting it takes longer than
that. A layer of all networks is one grouped convolution, or one batch of products. No network sees another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.benchmark.learners import table_4_1_network
from sfumato.lab.studies.common.digits import Digits
from sfumato.public.machine.torch_extra import default_device, need_torch

#: Weights of all networks, layer by layer: (network, ...).
Weights = list[Any]


def started(torch: Any, *, n_networks: int, shape: Sequence[int], n_classes: int, seed: int) -> Weights:
    """Glorot's even weights and no biases, as Keras starts."""
    alone = []
    with torch.random.fork_rng(devices=[]):
        for at in range(n_networks):
            torch.manual_seed(seed + at)
            network = table_4_1_network(torch, shape=tuple(shape), n_classes=n_classes)
            for weights in network.parameters():
                if weights.ndim > 1:
                    torch.nn.init.xavier_uniform_(weights)
                else:
                    torch.nn.init.zeros_(weights)
            alone.append(list(network.parameters()))
    return [torch.stack([w.detach() for w in layer]) for layer in zip(*alone, strict=True)]


def scores(torch: Any, weights: Weights, images: Any) -> Any:
    """(network, picture, class), before the softmax, of (network, picture, channel, height, width)."""
    functional, n_networks = torch.nn.functional, len(images)
    layers = list(zip(weights[::2], weights[1::2], strict=True))
    seen = images.transpose(0, 1).flatten(1, 2)
    for kernels, biases in layers[:2]:
        seen = functional.conv2d(seen, kernels.flatten(0, 1), biases.flatten(), groups=n_networks)
        seen = functional.max_pool2d(seen, 2).relu()  # the largest of four is positive if one of them is
    flat = seen.unflatten(1, (n_networks, -1)).flatten(2).transpose(0, 1)
    for at, (matrices, biases) in enumerate(layers[2:], start=2):
        flat = torch.baddbmm(biases[:, None], flat, matrices.mT)
        if at < len(layers) - 1:
            flat = flat.relu()
    return flat


class Stopping:
    """Keeps each network's best weights, until it has waited too long. One that has stopped runs along, and nobody looks.

    Args:
        torch: The module.
        weights: Of all networks, changed in place while they learn.
        patience: Epochs without a better accuracy after which a network stops.
    """

    def __init__(self, torch: Any, weights: Weights, *, patience: int) -> None:
        """Nothing is known yet."""
        n_networks, device = len(weights[0]), weights[0].device
        self._torch, self._weights, self._patience = torch, weights, patience
        self._best = torch.full((n_networks,), -1.0, device=device)
        self._waited = torch.zeros(n_networks, dtype=torch.long, device=device)
        self._epochs = torch.zeros_like(self._waited)
        self.kept = [layer.detach().clone() for layer in weights]

    def note(self, accuracy: Any) -> None:
        """What an epoch reached on the pictures that were held back, one number for each network."""
        running = self._waited < self._patience
        better = running & (accuracy > self._best)
        self._epochs += running
        self._waited = self._torch.where(better, 0, self._waited + running)
        self._best = self._torch.where(better, accuracy, self._best)
        for kept, layer in zip(self.kept, self._weights, strict=True):
            kept[better] = layer.detach()[better]

    @property
    def all_stopped(self) -> bool:
        """Whether nobody learns any more."""
        return bool((self._waited >= self._patience).all())

    @property
    def epochs(self) -> list[int]:
        """How long each learned."""
        return [int(n) for n in self._epochs]


_ADAM_EPSILON = 1e-7  # of Keras; torch has 1e-8
_AT_ONCE = 500

#: Pictures and their soft (or one-hot) labels.
Dataset = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True, kw_only=True)
class Training:
    """How long and how fast.

    Attributes:
        epochs: Passes over the pictures, at most.
        batch: Pictures in a step.
        learning_rate: Of Adam, at first.
        halved_every: Epochs after which the rate is halved; None: never.
        validation: The part of the pictures that is held back.
        patience: Epochs without a better validation accuracy after which a network stops, and goes back to its best weights;
            None: it never stops, and keeps its last weights.
    """

    epochs: int = 50
    batch: int = 32
    learning_rate: float = 1e-4
    halved_every: int | None = 10
    validation: float = 0.1
    patience: int | None = None


def accuracies_of_training(
    datasets: Sequence[Dataset], test: Digits, training: Training, *, seed: int
) -> dict[str, Any]:
    """Train a network on each dataset, all of one size, and test on real pictures: the mean, and each by itself."""
    torch, device = need_torch("the network of the thesis"), default_device()
    if device == "cuda":
        torch.backends.cudnn.benchmark = True  # all steps have the same shapes, so the search for the fastest pays
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(np.stack([images for images, _ in datasets])[:, :, None].astype(np.float32)).to(device)
    y = torch.from_numpy(np.stack([targets for _, targets in datasets]).astype(np.float32)).to(device)
    n_networks, n_pictures = x.shape[:2]
    orders = rng.permuted(np.tile(np.arange(n_pictures), (n_networks, 1)), axis=1)
    held, used = np.split(orders, [int(training.validation * n_pictures)], axis=1)
    each = torch.arange(n_networks, device=device)[:, None]
    seen = torch.from_numpy(held).to(device)
    asked, wanted = x[each, seen], y[each, seen].argmax(dim=2)
    weights = [
        layer.to(device).requires_grad_()
        for layer in started(torch, n_networks=n_networks, shape=x.shape[2:], n_classes=y.shape[2], seed=seed)
    ]
    optimiser = torch.optim.Adam(weights, lr=training.learning_rate, eps=_ADAM_EPSILON, fused=device == "cuda")
    stopping = None if training.patience is None else Stopping(torch, weights, patience=training.patience)
    losses: list[float] = []
    for epoch in range(training.epochs):
        for group in optimiser.param_groups:
            group["lr"] = training.learning_rate * 0.5 ** (epoch // (training.halved_every or training.epochs))
        total = torch.zeros(n_networks, device=device)
        # The order goes to the device once an epoch, and the loss comes back once: a step waits for nobody.
        for chosen in torch.from_numpy(rng.permuted(used, axis=1)).to(device).split(training.batch, dim=1):
            loss = _divergences(torch, scores(torch, weights, x[each, chosen]), y[each, chosen])
            optimiser.zero_grad()
            loss.sum().backward()
            optimiser.step()
            total += loss.detach() * chosen.shape[1]
        losses.append(round(float(total.mean()) / used.shape[1], 5))
        if stopping is not None:
            stopping.note(_scores(torch, weights, asked).argmax(dim=2).eq(wanted).float().mean(dim=1))
            if stopping.all_stopped:
                break
    found = _tested(torch, weights if stopping is None else stopping.kept, test, device)
    return {**found, "epochs": [len(losses)] * n_networks if stopping is None else stopping.epochs, "loss": losses}


def _divergences(torch: Any, named: Any, targets: Any) -> Any:
    """The mean Kullback-Leibler divergence from targets to what each network says; targets need not add up to 1.

    For one-hot targets it is the cross-entropy, which the thesis takes there.
    """
    surprise = -(targets * torch.log_softmax(named, dim=2)).sum(dim=2)
    certain = torch.special.entr(targets).sum(dim=2)
    return (surprise - certain).mean(dim=1)


def _scores(torch: Any, weights: Weights, images: Any) -> Any:
    with torch.no_grad():
        return torch.cat([scores(torch, weights, part) for part in images.split(_AT_ONCE, dim=1)], dim=1)


def _tested(torch: Any, weights: Weights, test: Digits, device: str) -> dict[str, Any]:
    images = torch.from_numpy(np.ascontiguousarray(test.images[:, None], dtype=np.float32)).to(device)
    labels = torch.from_numpy(test.labels).to(device)
    named = _scores(torch, weights, images.expand(len(weights[0]), *images.shape))
    right = named.argmax(dim=2).eq(labels).float().mean(dim=1).cpu().numpy()
    lost = torch.nn.functional.cross_entropy(named.flatten(0, 1), labels.repeat(len(named)))
    return {
        "accuracy": round(float(right.mean()), 5),
        "accuracies": [round(float(share), 4) for share in right],
        "test_loss": round(float(lost), 4),
    }
