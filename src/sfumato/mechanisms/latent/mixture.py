"""A mixture of Gaussians for the codes of each group, by noisy sums: EM for the centres, then what each component holds."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.clusters import clipped, counts_and_sums, find_centres, nearest_centre, public_start
from sfumato.mechanisms.common.prepared import PLACE
from sfumato.mechanisms.common.shrink import class_covariances, shrunk_means
from sfumato.mechanisms.latent.groundwork import Length, measure_length
from sfumato.mechanisms.latent.groups import group_of
from sfumato.mechanisms.latent.rows import LatentRows, Vectors
from sfumato.public.plan.block import Outer
from sfumato.public.plan.doors import Doors, GroupOf, Measured
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch

#: Of a row's squared norm in a component, how much is its count; the rest is its code.
_COUNT_PART = 0.2
#: Of the precision for the mixture, how much finds the centres.
_CENTRES = 0.3
#: Entries of a code of a table, and coefficients of a picture for each entry; Gaussians of each group.
_TABLES, _PICTURES, _COMPONENTS = 8, 5, 3


@dataclass(frozen=True)
class LatentMixture:
    """Components as (group, component, ...): their rows, their means, and loadings L with covariance L L^T."""

    counts: Vectors = field(repr=False)
    means: Vectors = field(repr=False)
    loadings: Vectors = field(repr=False)

    @property
    def size(self) -> float:
        """About how large an entry of a code is."""
        spread = (self.loadings**2).sum(axis=(2, 3)) + (self.means**2).sum(axis=2)
        return float(np.sqrt(max((self.counts * spread).sum() / self.counts.sum() / self.means.shape[2], 1e-12)))

    def draw(self, groups: NDArray[np.int64], rng: np.random.Generator) -> Vectors:
        """A code for each group: a component of it by its rows, then a draw from it."""
        upto = np.cumsum(self.counts / self.counts.sum(axis=1, keepdims=True), axis=1)[groups]
        component = (rng.random((len(groups), 1)) > upto[:, :-1]).sum(axis=1)
        aside = rng.normal(size=(len(groups), self.means.shape[2]))
        turned: Vectors = np.einsum("nij,nj->ni", self.loadings[groups, component], aside)
        codes: Vectors = self.means[groups, component] + turned
        return codes


@dataclass(frozen=True)
class MixtureStage:
    """Measures codes: so many components of each group, entries of a code, and rounds of EM."""

    rows: LatentRows
    latent: int
    components: int
    rounds: int

    def steps(self, *, share: float) -> tuple[Step, ...]:
        """Rounds of EM, and the second moments of every component."""
        moments = Outer(name="moments", shape=(self.latent + 1,) * 2, groups=self._groups, l2_bound=1.0)
        centres = counts_and_sums(self._groups, self.latent, soft=True)
        return (
            Step(name="centres", blocks=centres, uses=self.rounds, share=_CENTRES * share),
            Step(name="components", blocks=(moments,), share=(1 - _CENTRES) * share),
        )

    def measure(self, view: Doors, codes: GroupOf, *, longest: float) -> LatentMixture:
        """Prepare the codes that a public encoder gives, none of them beyond the longest, and measure them."""
        view.prepare(PLACE, codes)
        length = measure_length(view, lambda batch: batch[PLACE], longest=longest)
        view.prepare(PLACE, lambda batch: clipped(batch[PLACE], length.typical))
        centres = self._centres(view, length)
        heavy, light = np.sqrt([_COUNT_PART, 1 - _COUNT_PART])

        def moments(batch: Batch) -> dict[str, NDArray[np.generic]]:
            group = group_of(batch)
            component = group * self.components + nearest_centre(batch[PLACE], group, centres)
            one = np.concatenate([np.full((len(group), 1), heavy), light * batch[PLACE] / length.typical], axis=1)
            return {"moments": np.concatenate([one, one, *([component[:, None]] if self._groups > 1 else [])], axis=1)}

        noisy = view.noisy_sum("components", moments)["moments"]
        scale = np.array([heavy, *[light / length.typical] * self.latent])
        return _of_moments(noisy, scale, shape=(self.rows.mixed.n_classes, self.components, self.latent))

    def _centres(self, view: Doors, length: Length) -> Vectors:
        n_classes = self.rows.mixed.n_classes
        centres, _ = find_centres(
            view,
            "centres",
            public_start(n_classes, self.components, self.latent, spread=length.typical),
            labels=group_of,
            vector=PLACE,
            spread=length.typical,
            energy=length.mean_square,
            rounds=self.rounds,
        )
        return centres

    @property
    def _groups(self) -> int:
        return self.rows.mixed.n_classes * self.components


def mixture_stage(rows: LatentRows, *, latent: int | None, components: int | None, rounds: int) -> MixtureStage:
    """With sizes that suit tables, or images, where none are given; no code has more entries than a vector."""
    usual = _TABLES if rows.mixed.image is None else max(1, rows.width // _PICTURES)
    return MixtureStage(rows, min(latent or usual, rows.width), components or _COMPONENTS, rounds)


def _of_moments(noisy: Measured, scale: Vectors, *, shape: tuple[int, int, int]) -> LatentMixture:
    """Counts, means and covariances from products of (1, code), entries in units of the scale."""
    classes, components, latent = shape
    products = noisy.values.reshape(-1, latent + 1, latent + 1) / np.outer(scale, scale)
    count_noise, sum_noise, square_noise = (
        noisy.stddev / unit for unit in np.outer(scale[:2], scale[:2])[[0, 0, 1], [0, 1, 1]]
    )
    counts = products[:, 0, 0]
    sums = (products[:, 0, 1:] + products[:, 1:, 0]) / 2  # each is there twice
    means = shrunk_means(sums, counts, stddev=float(sum_noise) / np.sqrt(2))
    kept = np.maximum(counts, 0.0)[:, None, None]
    about = products[:, 1:, 1:] - kept * means[:, :, None] * means[:, None, :]
    loadings = class_covariances(about, counts, stddev=float(square_noise))
    alive = np.where(counts > count_noise, counts, 0.0).reshape(classes, components)
    alive[alive.sum(axis=1) <= 0] = 1.0
    return LatentMixture(alive, means.reshape(shape), loadings.reshape(*shape, latent))
