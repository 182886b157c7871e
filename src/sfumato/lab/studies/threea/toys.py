"""Figure 2 of the paper: three toy tables in the plane, as published and made sound, at several epsilons."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sfumato.fitting import fit
from sfumato.lab.studies.common.drawing import draw_planes
from sfumato.lab.studies.threea.clustmix_published import Codes, Setting, Vectors, mixtures_of
from sfumato.lab.studies.threea.readings import EQUATION_7, Claim
from sfumato.mechanisms.table.mechanism import ThreeATable
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.accounting import least_cluster_size
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Column, Schema

_DELTA = 1e-5
_SIGMA_MAX = 0.1
_CLASSES = ("a", "b")


def toy_tables(rows: int) -> dict[str, tuple[Vectors, Codes]]:
    """Moons, rings and heaps in the unit square."""
    from sklearn.datasets import make_blobs, make_circles, make_moons

    made = {
        "moons": make_moons(rows, noise=0.1, random_state=0),
        "rings": make_circles(rows, noise=0.06, factor=0.45, random_state=0),
        "heaps": make_blobs(rows, centers=[(0, 0), (1, 1), (0, 1), (1, 0)], cluster_std=0.13, random_state=0),
    }
    return {name: (_in_the_square(points), labels % 2) for name, (points, labels) in made.items()}


def draw_toys(path: Path, *, rows: int, epsilons: Sequence[float]) -> dict[str, Any]:
    """Real rows, published points and rows of the sound default; how many points there are of each."""
    planes, counts = {}, {}
    for name, (points, labels) in toy_tables(rows).items():
        planes[name] = {
            "real": (points, labels),
            **{f"published, {e:g}": _published(points, labels, epsilon=e) for e in epsilons},
            **{f"default, {e:g}": _sound(points, labels, epsilon=e) for e in epsilons},
        }
        counts[name] = {what: len(classes) for what, (_, classes) in planes[name].items()}
    draw_planes(path, planes)
    return {"points": counts}


def _published(points: Vectors, labels: Codes, *, epsilon: float) -> tuple[Vectors, Codes]:
    """With the noise of Eq. 7, at most `_SIGMA_MAX`: the less epsilon, the larger the clusters."""
    claim = Claim(epsilon=epsilon, delta=_DELTA, features=2, classes=len(_CLASSES))
    least = least_cluster_size(epsilon=epsilon, delta=_DELTA, sigma_max=_SIGMA_MAX, sensitivity=claim.move(EQUATION_7))
    found = mixtures_of(points, labels, n_classes=len(_CLASSES), setting=Setting(least=least))
    return found.released(claim, EQUATION_7, seed=0), found.classes


def _sound(points: Vectors, labels: Codes, *, epsilon: float) -> tuple[Vectors, Codes]:
    numbers = tuple(Column(name=name, kind="numeric", bounds=(0.0, 1.0)) for name in ("x", "y"))
    schema = Schema(
        columns=(*numbers, Column(name="kind", kind="categorical", categories=_CLASSES)),
        target="kind",
        rows=len(labels),
    )
    frame = pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "kind": np.array(_CLASSES)[labels]})
    fitted = fit(ThreeATable(), Sensitive.read(frame, schema), Budget(epsilon=epsilon, delta=_DELTA), seed=0)
    table = pd.DataFrame(fitted.sample(len(labels), seed=0).table)
    return table[["x", "y"]].to_numpy(), (table["kind"].to_numpy() == _CLASSES[1]).astype(np.int64)


def _in_the_square(points: Vectors) -> Vectors:
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray((points - low) / (high - low))
