"""Fidelity of pictures: mean pictures, nearest real neighbours, a Frechet distance on public features. Not private."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.assess.likeness import cross_judged
from sfumato.lab.assess.material import Material
from sfumato.lab.attacks.inference import given_away, invert
from sfumato.lab.attacks.roc import Interval
from sfumato.learn.oriented import oriented_features
from sfumato.present.plots import picture_grid
from sfumato.public.schema.schema import Batch

#: Pictures of each set whose features are compared, and released ones whose neighbours are shown.
MOST_PICTURES, _SHOWN = 2_000, 12
#: The largest directions of the features, in which Gaussians are compared.
_DIRECTIONS = 64
_MOST_CLASSES = 20

Points = dict[str, NDArray[np.float32]]


def describe(material: Material) -> Points:
    """Public features of some pictures of each set."""
    name, most = material.schema.images[0].name, MOST_PICTURES
    keys = ("real", "synthetic", "test")
    return {key: oriented_features(material.examples(key, most=most).batch[name]) for key in keys}


def compare_pictures(material: Material, points: Points) -> dict[str, Any]:
    """All figures of pictures: Frechet distances, mean pictures of each class, and released pictures with their nearest real ones.

    Beside each distance stands that of other real pictures. A sheet has a `title`, a PNG as a data `address`, and what it is `about`.
    """
    released, private, held_back = _neighbours(material, points)
    means = {"private": _means(material, material.real), "released": _means(material, material.synthetic)}
    return {
        "frechet": frechet(points["real"], points["synthetic"]),
        "frechet_fresh": frechet(points["real"], points["test"]),
        "means": [_sheet(f"mean {n} pictures", made, f"Mean {n} picture of each class") for n, made in means.items()],
        "neighbours": [
            _sheet("released", released[0], "Released pictures, one of each class"),
            _sheet("nearest private picture", private[0], "The private picture nearest to each released one"),
            _sheet("nearest held-back picture", held_back[0], "The held-back picture nearest to each released one"),
        ],
        "nearest_private": private[1].tolist(),
        "nearest_held_back": held_back[1].tolist(),
    }


def frechet(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """The Frechet distance of two Gaussians that are fitted to features, in the largest directions of the first.

    >>> x = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    >>> round(frechet(x, x), 6), round(frechet(x, x + np.float32(2)), 2)
    (0.0, 12.0)
    """
    centre = one.mean(axis=0)
    directions = np.linalg.svd((one - centre).astype(np.float64), full_matrices=False)[2][:_DIRECTIONS]
    a, b = ((points - centre) @ directions.T for points in (one, other))
    first, second = (np.atleast_2d(np.cov(points, rowvar=False)) for points in (a, b))
    values, vectors = np.linalg.eigh(first)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    cross = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ second @ root), 0)).sum()
    between = float(((a.mean(axis=0) - b.mean(axis=0)) ** 2).sum())
    return max(0.0, float(between + np.trace(first) + np.trace(second) - 2 * cross))


def pictures_told_apart(points: Points, *, other: str) -> Interval:
    """A linear classifier on the features that tells private pictures from others: .5 is not at all."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = np.concatenate([points["real"], points[other]])
    y = np.repeat([1, 0], [len(points["real"]), len(points[other])])
    return cross_judged(x, y, make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=200)).fit)


def inverted(material: Material) -> dict[str, Any]:
    """What a learner on the release holds for each class (`pictures`), and whether it gives private ones away (`membership`)."""
    schema = material.schema
    name, target = schema.images[0].name, schema.require_coded_target()
    read_off = invert(material.examples("synthetic", most=4_000), name, n_classes=target.size)
    members, others = (material.examples(key, most=5_000) for key in ("real", "test"))
    shown = read_off[:_MOST_CLASSES].reshape(-1, *material.real[name].shape[1:])
    sheet = _sheet("read off a learner", shown, "What a learner on the release holds for each class")
    return {"pictures": [sheet], "membership": asdict(given_away(read_off, members, others, name))}


def _means(material: Material, batch: Batch) -> NDArray[np.float32]:
    name, target = material.schema.images[0].name, material.schema.require_coded_target()
    pixels, label = batch[name], batch[target.name]
    shown = range(min(target.size, _MOST_CLASSES))
    grey = np.zeros(pixels.shape[1:], dtype=np.float32)
    return np.stack([pixels[label == code].mean(axis=0) if (label == code).any() else grey for code in shown])


Found = tuple[NDArray[np.float32], NDArray[np.float64]]


def _neighbours(material: Material, points: Points) -> tuple[Found, Found, Found]:
    """Some released pictures, and of each the nearest private and the nearest held-back one, by their features."""
    name = material.schema.images[0].name
    sets = {key: material.examples(key, most=MOST_PICTURES) for key in points}
    label = sets["synthetic"].label
    first = [int(np.flatnonzero(label == code)[0]) for code in np.unique(label)[:_SHOWN]]
    found: list[Found] = [(sets["synthetic"].batch[name][first], np.zeros(len(first)))]
    for key in ("real", "test"):
        far = np.linalg.norm(points["synthetic"][first][:, None, :] - points[key][None, :, :], axis=2)
        nearest = far.argmin(axis=1)
        found.append((sets[key].batch[name][nearest], far.min(axis=1).astype(np.float64)))
    return found[0], found[1], found[2]


def _sheet(title: str, pictures: NDArray[np.float32], about: str) -> dict[str, str]:
    return {"title": title, "address": str(picture_grid(pictures, darkest=0.0, lightest=1.0)), "about": about}
