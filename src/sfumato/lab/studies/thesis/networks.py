"""Several networks of Table 4.1 in one, side by side: each with its own weights and its own pictures.

A step of one such network keeps a GPU busy for a moment, and starting it takes longer than that. All runs of a point are
therefore trained at once: a layer of all networks is one grouped convolution, or one batch of products. No network sees
another, so what each of them learns is what it would learn alone.
"""

from collections.abc import Sequence
from typing import Any

from sfumato.lab.benchmark.cnn import table_4_1_network

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
