"""Invariant information clustering: its loss has the values of theory, and it finds classes where there are some."""

import math

import numpy as np
import pytest

from sfumato.errors import PlanError
from sfumato.learn.iic import clustering_error, find_clusters, information_between

torch = pytest.importorskip("torch", reason="torch is not installed: tests of clustering are skipped")
SIDE = 12


def bars(n_images, *, noise, seed):
    """A lying bar, a standing one, or a frame, at places of their own."""
    rng = np.random.default_rng(seed)
    labels, images = rng.integers(0, 3, size=n_images), np.zeros((n_images, SIDE, SIDE), dtype=np.float32)
    for image, label in zip(images, labels, strict=True):
        at = int(rng.integers(3, 8))
        if label == 0:
            image[at : at + 2, 1:-1] = 1
        elif label == 1:
            image[1:-1, at : at + 2] = 1
        else:
            image[2:-2, 2:-2] = 1
            image[4:-4, 4:-4] = 0
    return (images + noise * rng.normal(size=images.shape)).astype(np.float32), labels


def test_sure_equal_and_even_clusters_tell_all() -> None:
    names = torch.eye(4).repeat(5, 1)
    assert float(information_between(names, names)) == pytest.approx(math.log(4), abs=1e-5)


@pytest.mark.parametrize(
    "two", [torch.full((20, 4), 0.25), torch.eye(4)[[0] * 20]], ids=["nothing is sure", "one cluster takes all"]
)
def test_clusters_without_news_tell_nothing(two) -> None:
    assert float(information_between(two, two)) == pytest.approx(0.0, abs=1e-5)


def test_it_does_not_matter_which_is_the_copy() -> None:
    one, two = torch.rand(2, 30, 5, generator=torch.Generator().manual_seed(0)).softmax(dim=2)
    assert float(information_between(one, two)) == pytest.approx(float(information_between(two, one)), abs=1e-6)


def test_the_error_is_that_of_the_best_names() -> None:
    labels = np.array([0, 0, 1, 1, 2, 2])
    assert clustering_error((labels + 1) % 3, labels, n_classes=3) == 0.0
    assert clustering_error(np.zeros(6, dtype=np.int64), labels, n_classes=3) == pytest.approx(2 / 3)


@pytest.mark.slow
def test_classes_are_found_without_labels_and_lost_in_noise() -> None:
    images, labels = bars(400, noise=0.05, seed=1)
    found = find_clusters(images, n_clusters=3, epochs=16, batch=100, seed=2)
    assert clustering_error(found.assign(images), labels, n_classes=3) < 0.35
    assert 0.5 < found.information <= math.log(3) + 1e-6
    drowned, labels = bars(200, noise=20.0, seed=1)
    lost = find_clusters(drowned, n_clusters=3, epochs=2, batch=100, seed=2)
    assert clustering_error(lost.assign(drowned), labels, n_classes=3) > 0.5


def test_the_same_seed_finds_the_same() -> None:
    images, _ = bars(60, noise=0.05, seed=3)
    one, two = (find_clusters(images, n_clusters=2, epochs=2, batch=30, seed=4).assign(images) for _ in range(2))
    assert (one == two).all()


@pytest.mark.parametrize("settings", [{"n_clusters": 1}, {"n_clusters": 3, "overclusters": 2}, {"n_clusters": 40}])
def test_clusters_that_cannot_be_are_refused(settings) -> None:
    with pytest.raises(PlanError, match="cannot be told apart"):
        find_clusters(np.zeros((60, 8, 8), dtype=np.float32), **settings)
