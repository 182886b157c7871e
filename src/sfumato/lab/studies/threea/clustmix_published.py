"""ClustMix as published (Madl, Xu, Choudhury and Howard, 2022, Algorithm 2). NOT private: `clustmix_witness` shows why.

Rows are cut into slices at random rows of a random feature. In each slice the rows of each class are clustered under a least size, the
centroids are moved towards a classifier's wish (`adapt`), memberships are computed again, and means are released with noise
(`readings`).

Three things are not said in the paper: how many slices there are (searched here), how many layers the kernel's network has, and how codes
become numbers (a code is its place among the categories, one number for each column, as the paper's table counts features).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.studies.threea.adapt import Slice, adapted
from sfumato.lab.studies.threea.readings import Claim, Reading
from sfumato.lab.studies.threea.size_constrained import assigned, clusters_of, means_of, squares
from sfumato.public.machine.torch_extra import need_torch
from sfumato.public.plan.doors import Tensor

Vectors = NDArray[np.float64]
Codes = NDArray[np.int64]

#: By smallest and largest values, or by a normal quantile transform before that: "whichever worked better".
Scaling = Literal["min-max", "quantile"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The free parameters. The paper names sigma_max, from which the least size follows by Eq. 7: `least` is that size.

    `alpha` weighs the density, as in Eq. 5; `ridge` is the paper's lambda.
    """

    least: int
    slices: int = 1
    alpha: float = 0.5
    ridge: float = 1e-3
    scaling: Scaling = "min-max"


@dataclass(frozen=True)
class Mixtures:
    """Means of rows, their classes and how many rows each has. No noise yet.

    `moved` is how far Adapt moved the points: |X - X0|^2 / |X0|^2, the first term of Eq. 5.
    """

    means: Vectors
    classes: Codes
    sizes: Codes
    moved: float = 0.0

    def released(self, claim: Claim, reading: Reading, *, seed: int) -> Vectors:
        """Steps 16 to 18: with the noise of a reading, put back into the box where rows lie."""
        noise = claim.noise(reading, 1) / self.sizes[:, None]
        drawn = np.random.default_rng([seed, 2]).standard_normal(self.means.shape)
        return np.asarray(np.clip(self.means + noise * drawn, 0, 1))


def mixtures_of(rows: Vectors, labels: Codes, *, n_classes: int, setting: Setting, seed: int = 0) -> Mixtures:
    """Algorithm 2 before the noise, slice by slice. Rows lie in the unit box, one number for each feature."""
    torch = need_torch("ClustMix as published")
    x, y = torch.as_tensor(rows, dtype=torch.float32), torch.as_tensor(labels)
    found = []
    for chosen in slices_of(rows, setting.slices, seed=seed):
        part = approximate(x[chosen], y[chosen], n_classes=n_classes, least=setting.least, seed=seed)
        if len(part.points):
            wanted = adapted(part, n_classes=n_classes, alpha=setting.alpha, ridge=setting.ridge, seed=seed)
            means, sizes = mixed_again(part, wanted, least=setting.least)
            found.append((means, part.classes, sizes, part.points, wanted))
    if not found:
        return Mixtures(np.zeros((0, rows.shape[1])), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    means, classes, sizes, start, end = (torch.cat(list(each)) for each in zip(*found, strict=True))
    moved = float((end - start).square().sum() / start.square().sum().clamp(min=1e-12))
    return Mixtures(means.double().numpy(), classes.numpy(), sizes.numpy(), moved)


def slices_of(rows: Vectors, count: int, *, seed: int) -> list[Codes]:
    """Rows in the order of a random feature, cut at uniformly drawn rows."""
    rng = np.random.default_rng([seed, 1])
    order = np.argsort(rows[:, rng.integers(rows.shape[1])], kind="stable")
    cuts = np.sort(rng.choice(len(rows), size=min(count, len(rows)) - 1, replace=False))
    return [part for part in np.split(order, cuts) if len(part)]


def approximate(rows: Tensor, labels: Tensor, *, n_classes: int, least: int, seed: int = 0, n_starts: int = 1) -> Slice:
    """Steps 3 to 10 in one slice: the centroids of each class, floor(rows / least) of them."""
    torch = need_torch("ClustMix as published")
    points, classes = [rows[:0]], [labels[:0]]
    for c in range(n_classes):
        own = rows[labels == c]
        n_clusters = number_of_clusters(len(own), least)
        if n_clusters:
            clusters = clusters_of(own, n_clusters, least=least, seed=seed, n_starts=n_starts)
            points.append(means_of(own, clusters, n_clusters)[0])
            classes.append(torch.full((n_clusters,), c))
    return Slice(rows, labels, torch.cat(points), torch.cat(classes))


def number_of_clusters(rows: int, least: int) -> int:
    """Step 5: how many points a class gives, from its exact number of rows."""
    return rows // least


def mixed_again(part: Slice, wanted: Tensor, *, least: int) -> tuple[Tensor, Tensor]:
    """Step 14: the rows of a class nearest to each adapted point, at least `least` for each; their means and sizes."""
    torch = need_torch("ClustMix as published")
    found = []
    for c in part.classes.unique().tolist():
        own, points = part.rows[part.labels == c], wanted[part.classes == c]
        found.append(means_of(own, assigned(squares(own, points), least=least), len(points)))
    means, sizes = (torch.cat(list(each)) for each in zip(*found, strict=True))
    return means, sizes
