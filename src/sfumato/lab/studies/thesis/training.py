"""The network of Table 4.1, trained as the thesis trains it: small batches, a rate that is halved, a tenth for validation."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.benchmark.cnn import table_4_1_network
from sfumato.lab.studies.digits import Digits
from sfumato.public.torch_extra import default_device, need_torch

_BATCH = 32  # what Keras takes where nobody says
_VALIDATION = 0.1


@dataclass(frozen=True, kw_only=True)
class Training:
    """How long and how fast. `patience`: epochs without a better validation accuracy after which it stops; None: never."""

    epochs: int = 50
    learning_rate: float = 1e-4
    halved_every: int = 10
    patience: int | None = None


def accuracy_of_training(
    images: NDArray[np.float32], targets: NDArray[np.float32], test: Digits, training: Training, *, seed: int
) -> dict[str, Any]:
    """Train on pictures with soft (or one-hot) targets, and test on real ones.

    The loss is the Kullback-Leibler divergence from targets to what the network says; its gradient is that of the
    cross-entropy, so one loss serves both labels of the thesis.
    """
    torch, device = need_torch("the network of the thesis"), default_device()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(images))
    held = order[: int(_VALIDATION * len(images))]
    used = order[len(held) :]
    x = torch.from_numpy(np.ascontiguousarray(images[:, None], dtype=np.float32)).to(device)
    y = torch.from_numpy(np.ascontiguousarray(targets, dtype=np.float32)).to(device)
    network = _started(torch, x.shape[1:], targets.shape[1], seed).to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=training.learning_rate)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, training.halved_every, 0.5)
    best, best_weights, waited = -1.0, None, 0
    losses: list[float] = []
    for _ in range(training.epochs):
        total = 0.0
        for chosen in np.array_split(rng.permutation(used), max(1, round(len(used) / _BATCH))):
            loss = _divergence(torch, network(x[chosen]), y[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            total += loss.item() * len(chosen)
        schedule.step()
        losses.append(round(total / len(used), 5))
        if training.patience is not None:
            right = _accuracy(torch, network, x[held], y[held].argmax(dim=1))
            if right > best:
                best, best_weights, waited = right, copy.deepcopy(network.state_dict()), 0
            else:
                waited += 1
                if waited >= training.patience:
                    break
    if best_weights is not None:
        network.load_state_dict(best_weights)
    asked = torch.from_numpy(np.ascontiguousarray(test.images[:, None])).to(device)
    right = _accuracy(torch, network, asked, torch.from_numpy(test.labels).to(device))
    return {"accuracy": round(right, 5), "epochs": len(losses), "loss": losses}


def _started(torch: Any, shape: Any, n_classes: int, seed: int) -> Any:
    """Glorot's even weights and no biases, as Keras starts."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = table_4_1_network(torch, shape=tuple(shape), n_classes=n_classes)
        for weights in network.parameters():
            if weights.ndim > 1:
                torch.nn.init.xavier_uniform_(weights)
            else:
                torch.nn.init.zeros_(weights)
    return network


def _divergence(torch: Any, scores: Any, targets: Any) -> Any:
    """Mean divergence; targets need not add up to 1, as the noisy labels of the thesis do not."""
    surprise = -(targets * torch.log_softmax(scores, dim=1)).sum(dim=1)
    certain = torch.special.entr(targets).sum(dim=1)
    return (surprise - certain).mean()


def _accuracy(torch: Any, network: Any, images: Any, labels: Any) -> float:
    with torch.no_grad():
        named = torch.cat([network(part).argmax(dim=1) for part in images.split(1024)])
    return float((named == labels).float().mean())
