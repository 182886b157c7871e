"""ClustMix made sound: noisy means of private clusters (Madl, Xu, Choudhury and Howard, 2022).

Approximate: clusters within each class, around private centres (`clusters.py`). Adapt: the
means are moved towards what a noisy kernel statistic asks (`classifier_pull.py`). Anonymize: every number comes from
`noisy_sum` over everyone. What was published takes clusters, their sizes and the adaptation from raw rows, and its
guarantee does not hold: `sfumato study threea` sets both side by side. Proof: docs/proofs/clustmix.md.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PlanError, SchemaError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common import clusters as clustering
from sfumato.mechanisms.common.alpha import check_alpha
from sfumato.mechanisms.common.arrays import Flags, Floats, Integers, Values
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.prepared import PLACE, VECTOR
from sfumato.mechanisms.mixing.clustmix import cluster_means
from sfumato.mechanisms.mixing.clustmix.classifier_pull import with_bias
from sfumato.mechanisms.mixing.clustmix.cluster_means import ClassMeans, Clusters, Contents, KernelStatistic, Lengths
from sfumato.mechanisms.mixing.clustmix.cluster_model import ClusterModel, Mixture, Projection, means_as_rows
from sfumato.mechanisms.mixing.clustmix.cluster_space import ClusterSpace
from sfumato.mechanisms.mixing.clustmix.tilt import CELLS
from sfumato.model import Model
from sfumato.public.accounting import rows_within
from sfumato.public.budget import Budget
from sfumato.public.plan.block import Block, Hot, Outer
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.encoding import one_hot
from sfumato.public.schema.schema import Batch, Schema

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
        alpha: From faithful (0: the density as it is) to predictive (1: means and labels wherever the classifier wants
            them). The paper's Eq. 5 counts the other way, and one sentence below it this way.
        approximator: `lloyd` (each row in one cluster) or `em` (soft assignments) for finding the centres.
        most_clusters: No class has more clusters than this, whatever the noise allows.
        rounds: Rounds of clustering.
        coordinates: Rows are clustered in so many public directions: the lowest frequencies of images, random ones of
            wide tables.
        kernel_width: Features of the classifier, likewise.
        releases: `draws` around the means, any number of them; or the `means` themselves with soft labels.
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

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Sums over everyone. How many clusters are in use is decided later; a row counts in one of them anyway."""
        schema.require_one_table(self.name)
        self._check(schema)
        space = ClusterSpace(schema)
        k, d, groups = self._k(space), space.width, self._clusters(space) * space.n_classes
        lengths = cluster_means.length_blocks()
        in_clusters = clustering.counts_and_sums(groups, k, soft=self.approximator == "em")
        means = (
            Hot(name="counts", width=groups, share=0.1),
            Outer(name="sums", shape=(1, d), groups=groups, l2_bound=1.0, share=0.7),
            *_shape_blocks(space),
        )
        steps = [
            Step(name="lengths", blocks=lengths, share=SHARES["lengths"]),
            Step(name="classes", blocks=clustering.counts_and_sums(space.n_classes, k), share=SHARES["classes"]),
            Step(name="spreads", blocks=lengths, share=SHARES["spreads"]),
            Step(name="clusters", blocks=in_clusters, share=SHARES["clusters"], uses=self.rounds),
            Step(name="means", blocks=means, share=SHARES["means"]),
        ]
        if self._adapts(space):
            m = self._m(space) + 1
            gram = Outer(name="gram", shape=(m, m), l2_bound=1.0, share=0.5)
            cross = Outer(name="cross", shape=(space.n_classes, m), l2_bound=1.0, share=0.5)
            steps.append(Step(name="kernel", blocks=(gram, cross), share=SHARES["kernel"]))
        return tuple(steps)

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Lengths, class means, clusters, then what is in them, and what a classifier would ask."""
        space = ClusterSpace(schema)
        self._refuse_the_impossible(view, space)
        view.prepare(VECTOR, space.vectors)
        view.prepare(PLACE, lambda batch: space.places(batch[VECTOR], self._k(space)))
        whole = cluster_means.measure_lengths(view, "lengths", longest=space.longest)
        classes = self._class_means(view, space, radius=whole.place)
        class_vectors = classes.places @ space.frame(self._k(space)).T

        view.prepare(VECTOR, lambda batch: batch[VECTOR] - class_vectors[space.labels(batch)])
        view.prepare(PLACE, lambda batch: space.places(batch[VECTOR], self._k(space)))
        about_classes = cluster_means.measure_lengths(view, "spreads", longest=space.longest)
        clusters = self._find_clusters(view, space, classes, about_classes)
        measured: dict[str, Any] = {
            "classes": classes,
            "clusters": clusters,
            "contents": self._contents(view, space, clusters.centres, radius=about_classes.vector),
        }
        if self._adapts(space):
            about_all = class_vectors - classes.place_of_all @ space.frame(self._k(space)).T
            measured["kernel"] = self._kernel(view, space, about_all, unit=whole.vector)
        return measured

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> Model:
        """Drop clusters that are too small, take noise out of the means, adapt them: all from noisy numbers."""
        space = ClusterSpace(schema)
        mixture = self._mixture(measurements, space)
        if self.releases == "means":
            return means_as_rows(mixture, space)
        return ClusterModel(schema, mixture, measurements["classes"].total_stddev)

    def held_rows(self, schema: Schema) -> int | None:
        """A row for each cluster where the means themselves are released."""
        space = ClusterSpace(schema)
        return self._clusters(space) * space.n_classes if self.releases == "means" else None

    def _mixture(self, measurements: Measurements, space: ClusterSpace) -> Mixture:
        classes: ClassMeans = measurements["classes"]
        clusters: Clusters = measurements["clusters"]
        contents: Contents = measurements["contents"]
        about_classes = cluster_means.means_about_classes(contents, clusters, classes.rates, space.bands)
        class_vectors = classes.places @ space.frame(self._k(space)).T
        kept = replace(about_classes, means=about_classes.means + class_vectors[about_classes.label])
        means, rule = kept.means, None
        if "kernel" in measurements:
            kernel: KernelStatistic = measurements["kernel"]
            projection = Projection(classes.rates @ class_vectors, space.frame(self._m(space)), kernel.unit)
            means, rule = cluster_means.adapt(kept, kernel, projection, classes, alpha=self.alpha)
        deviation, shapes = None, contents.shapes
        if contents.squares is not None:
            deviation = cluster_means.deviation_around(
                about_classes, contents.squares, space.bands, total=classes.total
            )
        return Mixture(
            label=kept.label,
            share=kept.share,
            means=means,
            deviation=deviation,
            shapes=None if shapes is None else cluster_means.shapes_of(shapes, prior=clusters.least_size),
            n_classes=space.n_classes,
            total=classes.total,
            rule=rule,
            alpha=self.alpha,
        )

    def _k(self, space: ClusterSpace) -> int:
        return min(self.coordinates, space.width)

    def _m(self, space: ClusterSpace) -> int:
        return min(self.kernel_width, space.width)

    def _clusters(self, space: ClusterSpace) -> int:
        return max(1, min(self.most_clusters, _MOST_BLOCKS // space.n_classes))

    def _adapts(self, space: ClusterSpace) -> bool:
        return space.n_classes > 1 and self.alpha > 0

    def _class_means(self, view: Doors, space: ClusterSpace, *, radius: float) -> ClassMeans:
        classes = space.n_classes
        noisy = view.noisy_sum(
            "classes", lambda batch: clustering.in_group(space.labels(batch), batch[PLACE] / radius, classes)
        )
        counts = noisy["counts"].values
        sums = scaled(noisy["sums"], radius, space.n_classes, -1).values
        places = clustering.clipped(sums / np.maximum(counts, 1.0)[:, None], radius)
        return ClassMeans(counts, places, noisy["counts"].stddev)

    def _find_clusters(self, view: Doors, space: ClusterSpace, classes: ClassMeans, about_classes: Lengths) -> Clusters:
        """Clusters that are large enough for the noise that their sums will have."""
        least_size = rows_within(about_classes.vector * view.noise_stddev("means", "sums"), sigma_max=self.sigma_max)
        used = self._used(classes.counts, least_size, space)
        centres, sizes = self._centres(view, space, about_classes, used=used)
        used = clustering.large_enough(sizes, used, least_size)
        return Clusters(clustering.set_aside(centres, used), used, least_size)

    def _used(self, counts: Floats, least: int, space: ClusterSpace) -> Flags:
        """As many clusters in each class as may hold the least number of rows; at least one."""
        most = self._clusters(space)
        return np.asarray(np.arange(most) < np.clip(np.floor(counts / least), 1, most)[:, None])

    def _centres(
        self, view: Doors, space: ClusterSpace, about_classes: Lengths, *, used: Flags
    ) -> tuple[Floats, Floats]:
        """Where the clusters lie, and how many rows they hold."""
        spread = about_classes.place
        return clustering.find_centres(
            view,
            "clusters",
            clustering.public_start(space.n_classes, used.shape[1], self._k(space), spread=spread),
            labels=space.labels,
            vector=PLACE,
            spread=spread,
            rounds=self.rounds,
            used=used,
            energy=about_classes.place_mean_square if self.approximator == "em" else None,
        )

    def _contents(self, view: Doors, space: ClusterSpace, centres: Floats, *, radius: float) -> Contents:
        """A row counts in the one block of its cluster. The sums are about its class's mean, so they are short."""
        classes, clusters = centres.shape[:2]

        def contents(batch: Batch) -> dict[str, NDArray[Any]]:
            label = space.labels(batch)
            group = label * clusters + clustering.nearest_centre(batch[PLACE], label, centres)
            short = clustering.clipped(batch[VECTOR], radius) / radius
            given: dict[str, NDArray[Any]] = {"counts": group, "sums": _in_copy(short, group, classes * clusters)}
            if space.image is not None:
                given["squares"] = _in_copy(short**2, label, classes)
            elif space.numbers:
                given["shapes"] = space.cells(batch)
            return given

        noisy = view.noisy_sum("means", contents)
        return Contents(
            counts=scaled(noisy["counts"], 1.0, classes, clusters),
            sums=scaled(noisy["sums"], radius, classes, clusters, -1),
            squares=scaled(noisy["squares"], radius**2, classes, -1) if "squares" in noisy else None,
            shapes=scaled(noisy["shapes"], 1.0, classes, len(space.numbers), -1) if "shapes" in noisy else None,
        )

    def _kernel(self, view: Doors, space: ClusterSpace, class_vectors: Floats, *, unit: float) -> KernelStatistic:
        """The kernel statistic of rows about the mean of all: about their class, and their class about it."""
        m, classes = self._m(space), space.n_classes

        def products(batch: Batch) -> dict[str, Values]:
            label = space.labels(batch)
            inputs = with_bias(space.places(batch[VECTOR] + class_vectors[label], m) / unit)
            parts = {"gram": inputs, "cross": one_hot(label, size=classes)}
            return {name: np.concatenate([left, inputs], axis=1) for name, left in parts.items()}

        noisy = view.noisy_sum("kernel", products)
        gram, cross = scaled(noisy["gram"], 1.0, m + 1, m + 1), scaled(noisy["cross"], 1.0, classes, m + 1)
        return KernelStatistic(gram, cross, unit)

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
        if not ClusterSpace(schema).columns:
            raise SchemaError("clustmix needs a column besides the target. Declare one under [columns.NAME].")
        for name in ("most_clusters", "rounds", "coordinates", "kernel_width"):
            if getattr(self, name) < 1:
                raise PlanError(f"{name} = {getattr(self, name)} must be at least 1.")
        check_alpha(self.alpha)
        if not 1e-6 <= self.sigma_max <= 1e6:
            raise PlanError(f"sigma_max = {self.sigma_max} must lie between 1e-6 and 1e6.")
        if self.approximator not in ("lloyd", "em") or self.releases not in ("draws", "means"):
            raise PlanError(
                f"approximator = {self.approximator!r} must be lloyd or em, releases = {self.releases!r} draws or means."
            )


def _shape_blocks(space: ClusterSpace) -> tuple[Block, ...]:
    """What says how rows lie around a mean: squares of an image's entries, histograms of a table's numbers."""
    classes, d, numbers = space.n_classes, space.width, len(space.numbers)
    if space.image is not None:
        return (Outer(name="squares", shape=(1, d), groups=classes, l2_bound=1.0, share=0.2),)
    if not numbers:
        return ()
    return (Hot(name="shapes", width=classes * numbers * CELLS, n_hot=numbers, share=0.2),)


def _in_copy(vectors: Floats, group: Integers, groups: int) -> Floats:
    """What an outer block of (1, d) takes: a one, the vector, and where there are several, the copy."""
    parts = [np.ones((len(vectors), 1)), vectors, *([group[:, None]] if groups > 1 else [])]
    return np.concatenate(parts, axis=1)
