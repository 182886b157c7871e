"""Invariant information clustering (Ji, Henriques and Vedaldi 2019): classes of images that nobody has labelled.

A network names a cluster for an image and for a copy that was turned and shifted. It is trained so that either name tells as much
as possible of the other: the mutual information of the two. That asks for clusters that survive the change, are sure, and are
used alike. A second head with more clusters than there are classes sees finer kinds of images and trains the layers below it. Both
heads are there five times, since some end in a poor optimum; the one that tells most is kept.

It sees images and no rows: on a release it is post-processing, on clean images it protects nobody.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sfumato.errors import PlanError
from sfumato.learn.augment import Images, turned
from sfumato.public.machine.torch_extra import default_device, need_torch
from sfumato.public.plan.doors import Tensor

_WHAT = "invariant information clustering"
_LEAST = 1e-9  # of a joint probability, so that its logarithm is finite
_CHANNELS, _COPIES = 16, 5
#: Images that are named at once.
_AT_ONCE = 4096


def information_between(one: Tensor, two: Tensor) -> Tensor:
    """The mutual information, in nats, of the clusters of images and of their copies.

    Both are probabilities of each cluster, (..., n, k): heads side by side are told of one by one.
    """
    joint = one.mT @ two / one.shape[-2]
    joint = ((joint + joint.mT) / 2).clamp_min(_LEAST)  # which of the two was copied does not matter
    joint = joint / joint.sum(dim=(-2, -1), keepdim=True)
    independent = joint.sum(dim=-1, keepdim=True) * joint.sum(dim=-2, keepdim=True)
    return (joint * (joint.log() - independent.log())).sum(dim=(-2, -1))


@dataclass(frozen=True)
class Clustering:
    """A trained network, and which of its equal heads is kept. `information` is that of its last epoch, in nats."""

    network: Any = field(repr=False)
    kept: int
    device: str
    information: float

    def assign(self, images: Images) -> NDArray[np.int64]:
        """The cluster of every image."""
        torch = need_torch(_WHAT)
        pieces = np.split(channels_first(images), range(_AT_ONCE, len(images), _AT_ONCE))
        with torch.no_grad():
            heads = [self.network(torch.from_numpy(piece).to(self.device), 0) for piece in pieces]
            named = [head[self.kept].argmax(dim=1).cpu() for head in heads]
        return np.asarray(torch.cat(named), dtype=np.int64)


def find_clusters(
    images: Images,
    *,
    n_clusters: int,
    overclusters: int | None = None,
    epochs: int = 30,
    batch: int = 256,
    learning_rate: float = 2e-3,
    seed: int = 0,
    on_epoch: Callable[[Clustering], None] = lambda clustering: None,
) -> Clustering:
    """Train on images in [0, 1]. Epochs of the overclustering head and of the one that counts take turns.

    The second head has five times as many clusters where nothing is said. Clusters are told apart within a batch, so it
    must hold many of each. `on_epoch` is shown what has been learned after each epoch of the head that counts.
    """
    over = 5 * n_clusters if overclusters is None else overclusters
    if n_clusters < 2 or over < n_clusters or len(images) < 2 * n_clusters or epochs < 1:
        raise PlanError(
            f"{len(images)} images cannot be told apart into {n_clusters} clusters and {over} finer ones. "
            "Ask for at least 2, for no fewer finer ones, for no more than half of the images, and for an epoch or more."
        )
    torch, device, rng = need_torch(_WHAT), default_device(), np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _network(channels_first(images[:1]).shape[1], (n_clusters, over)).to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=learning_rate)
    for epoch in range(epochs):
        head = (epochs - 1 - epoch) % 2  # the one that counts is trained last
        measured = []
        for chosen in np.array_split(rng.permutation(len(images)), max(1, len(images) // batch)):
            pair = (images[chosen], turned(images[chosen], rng))
            one, two = (network(torch.from_numpy(channels_first(part)).to(device), head) for part in pair)
            information = information_between(one, two)
            optimiser.zero_grad()
            (-information.mean()).backward()
            optimiser.step()
            measured.append(information.detach())
        mean_information = torch.stack(measured).mean(dim=0).cpu().numpy()
        if not np.isfinite(mean_information).all():
            raise PlanError("the clustering diverged. Use a smaller learning_rate.")
        found = Clustering(network.eval(), int(mean_information.argmax()), device, float(mean_information.max()))
        if head == 0:
            on_epoch(found)
        network.train()
    network.eval()
    return found


def clustering_error(clusters: NDArray[np.int64], labels: NDArray[np.int64], *, n_classes: int) -> float:
    """The part of images that is named wrong when every cluster gets a class of its own, in the best way (Hungarian method).

    >>> clustering_error(np.array([2, 2, 0, 1]), np.array([0, 0, 1, 1]), n_classes=2)
    0.25
    """
    n_clusters = max(n_classes, int(clusters.max()) + 1)
    both = np.zeros((n_clusters, n_classes), dtype=np.int64)
    np.add.at(both, (clusters, labels), 1)
    return 1 - float(both[linear_sum_assignment(both, maximize=True)].sum()) / len(labels)


def _network(channels: int, heads: tuple[int, ...]) -> Any:
    """Two convolutions, and for each number of clusters several linear heads: (head, image, cluster) comes out."""
    torch = need_torch(_WHAT)
    nn = torch.nn

    class Heads(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            narrow = [nn.Conv2d(channels, _CHANNELS, 3, padding=1), nn.BatchNorm2d(_CHANNELS), nn.ReLU()]
            wider = [nn.Conv2d(_CHANNELS, 2 * _CHANNELS, 3, padding=1), nn.BatchNorm2d(2 * _CHANNELS), nn.ReLU()]
            self.body = nn.Sequential(*narrow, nn.MaxPool2d(2), *wider, nn.AdaptiveAvgPool2d(4), nn.Flatten())
            self.heads = nn.ModuleList(nn.Linear(2 * _CHANNELS * 16, _COPIES * size) for size in heads)

        def forward(self, images: Tensor, head: int) -> Tensor:
            named = self.heads[head](self.body(images)).reshape(len(images), _COPIES, -1)
            return named.softmax(dim=2).transpose(0, 1)

    return Heads()


def channels_first(images: Images) -> Images:
    """As torch has them."""
    planes = images[..., None] if images.ndim == 3 else images
    return np.ascontiguousarray(planes.transpose(0, 3, 1, 2), dtype=np.float32)
