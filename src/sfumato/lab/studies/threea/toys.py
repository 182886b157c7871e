"""Figure 2 of the paper: three toy tables in the plane, as published at three epsilons, and made sound at one."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.fitting import fit
from sfumato.lab.studies.common.drawing import draw_planes
from sfumato.lab.studies.threea.clustmix_published import PublishedSettings, publish
from sfumato.mechanism import Mechanism
from sfumato.mechanisms.mixing.clustmix.mechanism import ClustMix
from sfumato.mechanisms.table.mechanism import ThreeATable
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Column, Schema

Points = NDArray[np.float64]
Codes = NDArray[np.int64]

_DELTA = 1e-5
_SIGMA_MAX = 0.1
#: Of the published points: the fewer, the larger the clusters, as the paper's figure shows.
_EPSILONS = (0.1, 1.0, 10.0)
_CLASSES = ("a", "b")


def toy_tables(rows: int) -> dict[str, tuple[Points, Codes]]:
    """Moons, rings and heaps in the unit square."""
    from sklearn.datasets import make_blobs, make_circles, make_moons

    made = {
        "moons": make_moons(rows, noise=0.1, random_state=0),
        "rings": make_circles(rows, noise=0.06, factor=0.45, random_state=0),
        "heaps": make_blobs(rows, centers=[(0, 0), (1, 1), (0, 1), (1, 0)], cluster_std=0.13, random_state=0),
    }
    return {name: (_in_the_square(points), labels % 2) for name, (points, labels) in made.items()}


def draw_toys(path: Path, *, rows: int, epsilon: float) -> dict[str, Any]:
    """Real rows, published points, rows of sound ClustMix and of the default; the number of points of each."""
    planes, counts = {}, {}
    for name, (points, labels) in toy_tables(rows).items():
        planes[name] = {
            "real": (points, labels),
            **{f"published, {e:g}": _published(points, labels, epsilon=e) for e in _EPSILONS},
            f"sound, {epsilon:g}": _sound(ClustMix(), points, labels, epsilon=epsilon),
            f"default, {epsilon:g}": _sound(ThreeATable(), points, labels, epsilon=epsilon),
        }
        counts[name] = {what: len(classes) for what, (_, classes) in planes[name].items()}
    draw_planes(path, planes)
    return {"points": counts}


def _published(points: Points, labels: Codes, *, epsilon: float) -> tuple[Points, Codes]:
    settings = PublishedSettings(epsilon=epsilon, delta=_DELTA, sigma_max=_SIGMA_MAX)
    return publish(points, labels, n_classes=len(_CLASSES), settings=settings)


def _sound(mechanism: Mechanism, points: Points, labels: Codes, *, epsilon: float) -> tuple[Points, Codes]:
    numbers = tuple(Column(name=name, kind="numeric", bounds=(0.0, 1.0)) for name in ("x", "y"))
    schema = Schema(
        columns=(*numbers, Column(name="kind", kind="categorical", categories=_CLASSES)),
        target="kind",
        rows=len(labels),
    )
    frame = pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "kind": np.array(_CLASSES)[labels]})
    fitted = fit(mechanism, Sensitive.read(frame, schema), Budget(epsilon=epsilon, delta=_DELTA), seed=0)
    table = pd.DataFrame(fitted.sample(len(labels), seed=0).table)
    return table[["x", "y"]].to_numpy(), (table["kind"].to_numpy() == _CLASSES[1]).astype(np.int64)


def _in_the_square(points: Points) -> Points:
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray((points - low) / (high - low))
