"""The small network of the protocol: two convolutions, three layers, ten epochs."""

import importlib
import importlib.util
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.benchmark.errors import BenchmarkError

EPOCHS, BATCH, LEARNING_RATE = 10, 256, 1e-3


def cnn_probabilities(
    images: NDArray[np.float32],
    targets: NDArray[np.float32],
    test_images: NDArray[np.float32],
    *,
    seed: int,
) -> NDArray[np.float64]:
    """Train on pictures in [0, 1] and give the class probabilities of others.

    Adam with a cosine decay to zero over all steps, cross-entropy against `targets`, which hold one probability for
    each class. Runs on a GPU where torch finds one.
    """
    torch = _torch()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return _train(torch, device, _channels_first(images), targets, _channels_first(test_images), seed=seed)
    except torch.cuda.OutOfMemoryError:
        raise BenchmarkError(
            "the GPU has no memory left for the network. Free it, or hide it with CUDA_VISIBLE_DEVICES= ."
        ) from None


def _train(
    torch: Any,
    device: Any,
    images: NDArray[np.float32],
    targets: NDArray[np.float32],
    test_images: NDArray[np.float32],
    *,
    seed: int,
) -> NDArray[np.float64]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = table_4_1_network(torch, shape=images.shape[1:], n_classes=targets.shape[1]).to(device)
    order = torch.Generator().manual_seed(seed)
    x, y = torch.from_numpy(images).to(device), torch.from_numpy(targets).to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    n_steps = EPOCHS * -(-len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=n_steps)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(x), generator=order).to(device).split(BATCH):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(x[chosen]), y[chosen]).backward()
            optimiser.step()
            schedule.step()
    with torch.no_grad():
        parts = [
            torch.softmax(network(part.to(device)), dim=1).double().cpu()
            for part in torch.from_numpy(test_images).split(1024)
        ]
    return np.asarray(torch.cat(parts).numpy(), dtype=np.float64)


def table_4_1_network(torch: Any, *, shape: tuple[int, ...], n_classes: int) -> Any:
    """The network of the thesis (Table 4.1). Softmax is part of the loss."""
    nn = torch.nn
    channels, *sides = shape
    # What two convolutions of 5 x 5 without padding, each halved, leave of a side.
    left = [((side - 4) // 2 - 4) // 2 for side in sides]
    if min(left) < 1:
        raise BenchmarkError(f"the network needs pictures of at least 16 x 16, and these are {sides[0]} x {sides[1]}.")
    return nn.Sequential(
        nn.Conv2d(channels, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 48, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(48 * left[0] * left[1], 100), nn.ReLU(),
        nn.Linear(100, 100), nn.ReLU(),
        nn.Linear(100, n_classes),
    )  # fmt: skip


def _channels_first(images: NDArray[np.float32]) -> NDArray[np.float32]:
    if images.ndim == 3:
        images = images[..., None]
    return np.ascontiguousarray(np.moveaxis(images, -1, 1), dtype=np.float32)


def check_torch() -> None:
    """Refuse where torch is not installed: it is large, and needed by this learner alone."""
    if importlib.util.find_spec("torch") is None:
        raise BenchmarkError("the learner cnn needs torch. Install it with: pip install 'sfumato[deep]'")


def _torch() -> Any:
    check_torch()
    return importlib.import_module("torch")
