"""Invariant information clustering (Ji, Henriques and Vedaldi 2019): classes of images that nobody has labelled.

A network names a cluster for an image and for a copy that was cropped and turned. It is trained so that either name tells as much
as possible of the other: the mutual information of the two. That asks for clusters that survive the change, are sure, and are
used alike. A second head with more clusters than there are classes sees finer kinds of images and trains the layers below it. Both
heads are there several times, since some end in a poor optimum; the one that tells most is kept. No label is asked.

It sees images and no rows: on a release it is post-processing, on clean images it protects nobody.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sfumato.errors import PlanError
from sfumato.learn.augment import Images
from sfumato.learn.iic_views import middle, other_view, plain_view
from sfumato.public.machine.torch_extra import default_device, need_torch
from sfumato.public.plan.doors import Tensor

_WHAT = "invariant information clustering"
_LEAST = 1e-9  # of a joint probability, so that its logarithm is finite
#: Images that are named at once.
_AT_ONCE = 4096


def information_between(one: Tensor, two: Tensor) -> Tensor:
    """The mutual information, in nats, of the clusters of images and of their copies.

    Args:
        one: The probability of each cluster for every image, (..., n, k): heads side by side are told of one by one.
        two: The same for the copy of every image.
    """
    joint = one.mT @ two / one.shape[-2]
    joint = ((joint + joint.mT) / 2).clamp_min(_LEAST)  # which of the two was copied does not matter
    joint = joint / joint.sum(dim=(-2, -1), keepdim=True)
    independent = joint.sum(dim=-1, keepdim=True) * joint.sum(dim=-2, keepdim=True)
    return (joint * (joint.log() - independent.log())).sum(dim=(-2, -1))


@dataclass(frozen=True)
class Clustering:
    """A trained network, and which of its equal heads is kept. `information`: of the last epoch, in nats, by head."""

    network: Any = field(repr=False)
    device: str
    information: tuple[float, ...]
    finer_information: float

    @property
    def kept(self) -> int:
        """The head that tells most: no label is asked."""
        return int(np.argmax(self.information))

    def assign(self, images: Images) -> NDArray[np.int64]:
        """The cluster of every image."""
        torch = need_torch(_WHAT)
        self.network.eval()
        with torch.no_grad(), _fast(torch, self.device):
            pieces = _tensor(images).split(_AT_ONCE)
            named = [self.network(middle(piece.to(self.device)))[0][self.kept].argmax(dim=1).cpu() for piece in pieces]
        self.network.train()
        return np.asarray(torch.cat(named), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a clustering is trained.

    Args:
        epochs: Passes over the images; each shows every image in two new views.
        batch: Images in a step. The clusters are told apart within a batch, so it must hold many of each.
        learning_rate: Of Adam. It falls to nothing along half a cosine.
        channels: Of the first of four convolutions; each has twice as many as the one before.
        heads: How many times both heads are there.
        overclusters: Of the finer head, for each cluster of the other.
    """

    epochs: int = 10
    batch: int = 700
    learning_rate: float = 1e-3
    channels: int = 64
    heads: int = 10
    overclusters: int = 5


_USUAL = Training()


def find_clusters(
    images: Images,
    *,
    n_clusters: int,
    training: Training = _USUAL,
    seed: int = 0,
    on_epoch: Callable[[Clustering], None] = lambda clustering: None,
) -> Clustering:
    """Train on images, in any units. Both heads are trained in every step.

    Args:
        images: (n, height, width), or with channels at the end.
        n_clusters: How many clusters to find.
        training: How.
        seed: Public randomness.
        on_epoch: Shown what has been learned after each epoch.
    """
    if n_clusters < 2 or training.overclusters < 1 or len(images) < 2 * n_clusters or training.epochs < 1:
        raise PlanError(
            f"{len(images)} images cannot be told apart into {n_clusters} clusters, each of {training.overclusters} finer ones, in "
            f"{training.epochs} epochs. Ask for at least 2 clusters, for no more than half of the images, and for one or more of the rest."
        )
    torch, device = need_torch(_WHAT), default_device()
    seen = _tensor(images).to(device)
    dice = torch.Generator(device=device).manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _network(tuple(middle(seen[:1]).shape[1:]), n_clusters, training)
    network = network.to(device, memory_format=torch.channels_last)
    optimiser = torch.optim.Adam(network.parameters(), lr=training.learning_rate, fused=device == "cuda")
    n_steps = max(1, len(images) // training.batch)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, training.epochs * n_steps)
    torch.backends.cudnn.benchmark = True  # all steps have one shape: the fastest convolution is looked for once
    for _ in range(training.epochs):
        measured = []
        for chosen in torch.randperm(len(seen), generator=dice, device=device).tensor_split(n_steps):
            pair = torch.cat([plain_view(seen[chosen], dice), other_view(seen[chosen], dice)])
            with _fast(torch, device):
                named = network(pair.contiguous(memory_format=torch.channels_last))
            information = [information_between(*head.float().softmax(dim=2).tensor_split(2, dim=1)) for head in named]
            optimiser.zero_grad(set_to_none=True)
            (-sum(head.mean() for head in information)).backward()
            optimiser.step()
            falling.step()
            measured.append(torch.stack(information).detach())
        by_head, finer = torch.stack(measured).mean(dim=0).cpu().numpy()
        if not np.isfinite(by_head).all():
            raise PlanError("the clustering diverged. Use a smaller learning_rate.")
        clustering = Clustering(network, device, tuple(map(float, by_head)), float(finer.max()))
        on_epoch(clustering)
    return clustering


def clustering_error(clusters: NDArray[np.int64], labels: NDArray[np.int64], *, n_classes: int) -> float:
    """The part of images that is named wrong when every cluster gets a class of its own, in the best way (Hungarian method).

    >>> clustering_error(np.array([2, 2, 0, 1]), np.array([0, 0, 1, 1]), n_classes=2)
    0.25
    """
    n_clusters = max(n_classes, int(clusters.max()) + 1)
    both = np.zeros((n_clusters, n_classes), dtype=np.int64)
    np.add.at(both, (clusters, labels), 1)
    return 1 - float(both[linear_sum_assignment(both, maximize=True)].sum()) / len(labels)


def _network(shape: tuple[int, ...], n_clusters: int, training: Training) -> Any:
    """Four convolutions, and for each number of clusters several linear heads: scores come out, (head, image, cluster)."""
    torch = need_torch(_WHAT)
    nn = torch.nn

    class Heads(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            layers, before = [], shape[0]
            for depth in range(4):
                width = training.channels * 2**depth
                layers += [nn.MaxPool2d(2)] if depth else []
                layers += [nn.Conv2d(before, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
                before = width
            self.body = nn.Sequential(*layers, nn.Flatten())
            width = self.body(torch.zeros(2, *shape)).shape[1]
            sizes = (n_clusters, training.overclusters * n_clusters)
            self.heads = nn.ModuleList(nn.Linear(width, training.heads * size) for size in sizes)

        def forward(self, images: Tensor) -> list[Tensor]:
            known = self.body(images)
            return [head(known).reshape(len(images), training.heads, -1).transpose(0, 1) for head in self.heads]

    return Heads()


def _fast(torch: Any, device: str) -> Any:
    """Half the digits on a GPU, where they cost half the time; all of them elsewhere."""
    return torch.autocast(device, dtype=torch.bfloat16, enabled=device != "cpu")


def _tensor(images: Images) -> Tensor:
    planes = images[..., None] if images.ndim == 3 else images
    return need_torch(_WHAT).from_numpy(np.ascontiguousarray(planes.transpose(0, 3, 1, 2), dtype=np.float32))
