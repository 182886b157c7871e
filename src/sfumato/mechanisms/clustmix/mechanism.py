"""ClustMix made sound: noisy means of clusters that are found privately (Madl, Xu, Choudhury and Howard, 2022).

Approximate: clusters within each class, around private centres (`clusters.py`, or `dp_em.py`). Adapt: the
means are moved towards what a noisy kernel statistic asks (`classifier_pull.py`). Anonymize: every number comes from
`noisy_sum` over everyone. What was published takes clusters, their sizes and the adaptation from raw rows, and its
guarantee does not hold: `sfumato study clustmix` sets both side by side. Proof: docs/proofs/clustmix.md.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.clustmix.classifier_pull import with_bias
from sfumato.mechanisms.clustmix.cluster_means import mixture_from
from sfumato.mechanisms.clustmix.cluster_model import ClusterModel, means_as_rows
from sfumato.mechanisms.clustmix.cluster_space import ClusterSpace
from sfumato.mechanisms.clustmix.dp_em import em, soft_counts_and_sums
from sfumato.mechanisms.clustmix.tilt import CELLS
from sfumato.mechanisms.common.clusters import (
    Vectors,
    clipped,
    counts_and_sums,
    in_group,
    large_enough,
    length_block,
    length_cell,
    lloyd,
    mean_square,
    nearest_centre,
    public_start,
    set_aside,
    typical_length,
)
from sfumato.model import Model
from sfumato.public.accounting import rows_within
from sfumato.public.block import Block, Hot, Outer
from sfumato.public.doors import Doors, values_of
from sfumato.public.encoding import one_hot
from sfumato.public.schema import Batch, Schema
from sfumato.public.step import Step

#: What each step gets of the precision; where there is nothing to adapt to, the others share the kernel's part.
SHARES = {"lengths": 0.02, "classes": 0.06, "spreads": 0.02, "clusters": 0.20, "means": 0.50, "kernel": 0.20}
_MOST_BLOCKS = 4096  # clusters over all classes


@register
@dataclass(frozen=True, kw_only=True)
class ClustMix:
    """Noisy means of private clusters, adapted to a classifier, with rows drawn around them.

    Args:
        sigma_max: The largest noise that an entry of a cluster's mean may have, in units of the box. It decides the
            least size of a cluster, and so how many there are.
        alpha: The published trade-off: 1 keeps the density as it is, 0 moves means and labels wherever the classifier
            wants them. (Eq. 5 of the paper says so; one sentence below it says the reverse.)
        approximator: `lloyd` (each row in one cluster) or `em` (soft assignments) for finding the centres.
        most_clusters: No class has more clusters than this, whatever the noise allows.
        rounds: Rounds of clustering.
        coordinates: Clusters are found in so many public directions: the lowest frequencies of images, random ones of
            wide tables.
        kernel_width: Features of the classifier, likewise.
        releases: `draws` around the means, any number of them; or the `means` themselves with soft labels.
        rows: How many rows to release where nobody says. None: the noisy number of private rows.
    """

    name: ClassVar[str] = "clustmix"
    sigma_max: float = 0.1
    alpha: float = 0.5
    approximator: Literal["lloyd", "em"] = "lloyd"
    most_clusters: int = 64
    rounds: int = 4
    coordinates: int = 16
    kernel_width: int = 128
    releases: Literal["draws", "means"] = "draws"
    rows: int | None = None

    def steps(self, schema: Schema) -> tuple[Step, ...]:
        """Sums over everyone. How many clusters are in use is decided later; a row counts in one of them anyway."""
        self._check(schema)
        space = ClusterSpace(schema)
        k, d, groups = self._k(space), space.width, self._clusters(space) * space.n_classes
        lengths = tuple(_half(length_block(name)) for name in ("place", "vector"))
        found = (counts_and_sums if self.approximator == "lloyd" else soft_counts_and_sums)(groups, k)
        means = (
            Hot(name="counts", width=groups, share=0.1),
            Outer(name="sums", shape=(1, d), groups=groups, l2_bound=1.0, share=0.7),
            *_shape_blocks(space),
        )
        steps = [
            Step(name="lengths", blocks=lengths, share=SHARES["lengths"]),
            Step(name="classes", blocks=counts_and_sums(space.n_classes, k), share=SHARES["classes"]),
            Step(name="spreads", blocks=lengths, share=SHARES["spreads"]),
            Step(name="clusters", blocks=found, share=SHARES["clusters"], uses=self.rounds),
            Step(name="means", blocks=means, share=SHARES["means"]),
        ]
        if self._adapts(space):
            m = self._m(space) + 1
            gram = Outer(name="gram", shape=(m, m), l2_bound=1.0, share=0.5)
            shape = (space.n_classes, m)
            cross = Outer(name="cross", shape=shape, l2_bound=1.0, share=0.5)
            steps.append(Step(name="kernel", blocks=(gram, cross), share=SHARES["kernel"]))
        return tuple(steps)

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Lengths, class means, clusters, then what is in them, and what a classifier would ask."""
        space = ClusterSpace(schema)
        self._refuse_the_impossible(view, space)
        view.prepare("vector", space.vectors)
        frame = space.frame(self._k(space))
        view.prepare("place", lambda batch: space.shadow(batch["vector"], self._k(space)))
        near, far = _lengths(view, "lengths", space.longest)
        radius, whole = _typical(view, "lengths", near, space), _typical(view, "lengths", far, space, "vector")

        noisy = values_of(
            view.noisy_sum("classes", lambda b: in_group(space.labels(b), b["place"] / radius, space.n_classes))
        )
        counts = noisy["counts"]
        means = radius * noisy["sums"].reshape(space.n_classes, -1) / np.maximum(counts, 1.0)[:, None]
        means = clipped(means, radius)
        class_vectors = means @ frame.T
        view.prepare("vector", lambda b: b["vector"] - class_vectors[space.labels(b)])
        view.prepare("place", lambda b: space.shadow(b["vector"], self._k(space)))
        near, far = _lengths(view, "spreads", space.longest)
        spread, reach = _typical(view, "spreads", near, space), _typical(view, "spreads", far, space, "vector")

        noise = reach * view.noise_stddev("means", "sums")
        least = rows_within(noise, sigma_max=self.sigma_max)
        used = self._used(counts, least, space)
        centres, sizes = self._centres(
            view, space, spread=spread, used=used, energy=mean_square(near, spread, longest=space.longest)
        )
        used = large_enough(sizes, used, least)
        centres = set_aside(centres, used)
        found = values_of(view.noisy_sum("means", lambda b: self._contents(b, space, centres, reach)))
        measured: dict[str, NDArray[Any]] = {
            "class_counts": counts,
            "class_means": means,
            "used": used.astype(np.uint8),
            "counts": found["counts"].reshape(used.shape),
            "sums": (reach * found["sums"].reshape(*used.shape, -1)).astype(np.float32),
            "scales": np.array([whole, noise, least]),
        }
        if "squares" in found:
            measured["squares"] = (reach**2 * found["squares"].reshape(space.n_classes, -1)).astype(np.float32)
            measured["square_noise"] = np.array([reach**2 * view.noise_stddev("means", "squares")])
        if "shapes" in found:
            measured["shapes"] = found["shapes"].reshape(space.n_classes, len(space.numbers), -1)
            measured["shape_noise"] = np.array([view.noise_stddev("means", "shapes")])
        if self._adapts(space):
            overall = _overall(counts, means) @ frame.T
            kernel = values_of(
                view.noisy_sum("kernel", lambda b: self._kernel(b, space, means @ frame.T - overall, whole))
            )
            m = self._m(space) + 1
            measured["gram"] = kernel["gram"].reshape(m, m)
            measured["cross"] = kernel["cross"].reshape(space.n_classes, m)
            measured["kernel_noise"] = np.array([view.noise_stddev("kernel", "gram")])
        return measured

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> Model:
        """Drop clusters that are too small, take noise out of the means, adapt them: all from noisy numbers."""
        space = ClusterSpace(schema)
        frames = space.frame(self._k(space)), space.frame(self._m(space))
        mixture = mixture_from(measurements, space, frames, alpha=self.alpha)
        if self.releases == "means":
            return means_as_rows(mixture, space)
        return ClusterModel(schema, mixture, self.rows or max(1, round(mixture.total)))

    def _k(self, space: ClusterSpace) -> int:
        return min(self.coordinates, space.width)

    def _m(self, space: ClusterSpace) -> int:
        return min(self.kernel_width, space.width)

    def _clusters(self, space: ClusterSpace) -> int:
        return max(1, min(self.most_clusters, _MOST_BLOCKS // space.n_classes))

    def _adapts(self, space: ClusterSpace) -> bool:
        return space.n_classes > 1 and self.alpha < 1

    def _used(self, counts: Vectors, least: int, space: ClusterSpace) -> NDArray[np.bool_]:
        """As many clusters in each class as may hold the least number of rows; at least one."""
        most = self._clusters(space)
        wanted = np.clip(np.floor(counts / least), 1, most)
        in_use: NDArray[np.bool_] = np.arange(most) < wanted[:, None]
        return in_use

    def _centres(
        self, view: Doors, space: ClusterSpace, *, spread: float, used: NDArray[np.bool_], energy: float
    ) -> tuple[Vectors, Vectors]:
        start = public_start(space.n_classes, used.shape[1], self._k(space), spread=spread)
        find = partial(em, energy=energy) if self.approximator == "em" else lloyd
        return find(
            view,
            "clusters",
            start,
            labels=space.labels,
            vector="place",
            spread=spread,
            rounds=self.rounds,
            used=used,
        )

    def _contents(
        self, batch: Batch, space: ClusterSpace, centres: Vectors, reach: float
    ) -> dict[str, NDArray[np.generic]]:
        """A row in the one block of its cluster. The sums are about its class's mean, so they are short."""
        label = space.labels(batch)
        group = label * centres.shape[1] + nearest_centre(batch["place"], label, centres)
        scaled = clipped(batch["vector"], reach) / reach
        given: dict[str, NDArray[np.generic]] = {
            "counts": group,
            "sums": _in_copy(scaled, group, space.n_classes * centres.shape[1]),
        }
        if space.image is not None:
            given["squares"] = _in_copy(scaled**2, label, space.n_classes)
        elif space.numbers:
            given["shapes"] = space.cells(batch)
        return given

    def _kernel(
        self, batch: Batch, space: ClusterSpace, class_shift: Vectors, whole: float
    ) -> dict[str, NDArray[np.generic]]:
        label = space.labels(batch)
        inputs = with_bias(space.shadow(batch["vector"] + class_shift[label], self._m(space)) / whole)
        of_class = one_hot(label, size=space.n_classes)
        return {"gram": np.concatenate([inputs, inputs], axis=1), "cross": np.concatenate([of_class, inputs], axis=1)}

    def _refuse_the_impossible(self, view: Doors, space: ClusterSpace) -> None:
        """Before a row is read: public rows against the public bound."""
        rows = space.schema.rows
        least = rows_within(space.longest * view.noise_stddev("means", "sums"), sigma_max=self.sigma_max)
        if rows is not None and rows < least:
            raise PlanError(
                f"sigma_max = {self.sigma_max:g} asks for clusters of at least {least} rows at this budget, and the schema "
                f"declares {rows}. Raise epsilon, or set sigma_max to at least {self.sigma_max * least / rows:.2g}."
            )

    def _check(self, schema: Schema) -> None:
        ClusterSpace(schema).check()
        for name in ("most_clusters", "rounds", "coordinates", "kernel_width"):
            if getattr(self, name) < 1:
                raise PlanError(f"{name} = {getattr(self, name)} must be at least 1.")
        if self.rows is not None and self.rows < 1:
            raise PlanError(f"rows = {self.rows} must be at least 1, or none for the noisy number of private rows.")
        if not 0 <= self.alpha <= 1 or not 1e-6 <= self.sigma_max <= 1e6:
            raise PlanError(
                f"alpha = {self.alpha} must lie in [0, 1], and sigma_max = {self.sigma_max} between 1e-6 and 1e6."
            )
        if self.approximator not in ("lloyd", "em") or self.releases not in ("draws", "means"):
            raise PlanError(
                f"approximator = {self.approximator!r} must be lloyd or em, releases = {self.releases!r} draws or means."
            )


def _half(block: Hot) -> Hot:
    return replace(block, share=0.5)


def _shape_blocks(space: ClusterSpace) -> tuple[Block, ...]:
    """What says how rows lie around a mean: squares of an image's entries, histograms of a table's numbers."""
    classes, d, numbers = space.n_classes, space.width, len(space.numbers)
    if space.image is not None:
        return (Outer(name="squares", shape=(1, d), groups=classes, l2_bound=1.0, share=0.2),)
    if not numbers:
        return ()
    return (Hot(name="shapes", width=classes * numbers * CELLS, n_hot=numbers, share=0.2),)


def _in_copy(vectors: Vectors, group: NDArray[np.int64], groups: int) -> Vectors:
    """What an outer block of (1, d) takes: a one, the vector, and where there are several, the copy."""
    parts = [np.ones((len(vectors), 1)), vectors, *([group[:, None]] if groups > 1 else [])]
    return np.concatenate(parts, axis=1)


def _lengths(view: Doors, step: str, longest: float) -> tuple[Vectors, Vectors]:
    noisy = view.noisy_sum(step, lambda b: {name: length_cell(b[name], longest) for name in ("place", "vector")})
    return noisy["place"].values, noisy["vector"].values


def _typical(view: Doors, step: str, counts: Vectors, space: ClusterSpace, block: str = "place") -> float:
    return typical_length(counts, stddev=view.noise_stddev(step, block), longest=space.longest)


def _overall(counts: Vectors, means: Vectors) -> Vectors:
    part = np.maximum(counts, 0.0)
    overall: Vectors = part @ means / max(float(part.sum()), 1e-9)
    return overall
