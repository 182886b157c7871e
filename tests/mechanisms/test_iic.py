"""Invariant information clustering: its loss has the values of theory, and it finds classes where there are some."""

import math

import numpy as np
import pytest

from sfumato.errors import PlanError
from sfumato.learn.iic import Clustering, Training, clustering_error, find_clusters, information_between
from sfumato.learn.iic_views import middle, other_view, plain_view

torch = pytest.importorskip("torch", reason="torch is not installed: tests of clustering are skipped")
SIDE = 12
SMALL = Training(epochs=2, batch=30, channels=4, learning_rate=2e-3)


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


def test_information_is_what_a_hand_computes() -> None:
    # Of ten images, four are named 0 and 0, four 1 and 1, and one each 0 and 1, 1 and 0.
    one, two = torch.eye(2)[[0] * 4 + [1] * 4 + [0, 1]], torch.eye(2)[[0] * 4 + [1] * 4 + [1, 0]]
    by_hand = 2 * 0.4 * math.log(0.4 / 0.25) + 2 * 0.1 * math.log(0.1 / 0.25)
    assert float(information_between(one, two)) == pytest.approx(by_hand, abs=1e-6)
    # Heads side by side are measured one by one.
    both = information_between(torch.stack([one, one]), torch.stack([two, one]))
    assert both.tolist() == pytest.approx([by_hand, math.log(2)], abs=1e-6)


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
    long = Training(epochs=20, batch=100, channels=8, learning_rate=2e-3)
    found = find_clusters(images, n_clusters=3, training=long, seed=2)
    assert clustering_error(found.assign(images), labels, n_classes=3) < 0.35
    assert 0.5 < max(found.information) <= math.log(3) + 1e-6
    drowned, labels = bars(200, noise=20.0, seed=1)
    lost = find_clusters(drowned, n_clusters=3, training=SMALL, seed=2)
    assert clustering_error(lost.assign(drowned), labels, n_classes=3) > 0.5


def test_the_same_seed_finds_the_same() -> None:
    images, _ = bars(60, noise=0.05, seed=3)
    one, two = (find_clusters(images, n_clusters=2, training=SMALL, seed=4).assign(images) for _ in range(2))
    assert (one == two).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_information_rises_from_epoch_to_epoch(seed) -> None:
    images, _ = bars(120, noise=0.05, seed=5)
    measured = []
    training = Training(epochs=10, batch=30, channels=4, learning_rate=5e-3)
    find_clusters(
        images, n_clusters=3, training=training, seed=seed, on_epoch=lambda c: measured.append(max(c.information))
    )
    assert len(measured) == 10
    assert measured[-1] > measured[0] + 0.02


def test_the_head_that_tells_most_is_kept_and_no_label_is_asked() -> None:
    assert Clustering(network=None, device="cpu", information=(1.0, 1.7, 1.4), finer_information=3.0).kept == 1
    images, _ = bars(60, noise=0.05, seed=3)
    found = find_clusters(images, n_clusters=3, training=SMALL, seed=0)
    assert len(found.information) == SMALL.heads
    with torch.no_grad():
        found.network.eval()
        by_head = found.network(middle(torch.from_numpy(images[:, None])))[0].argmax(dim=2).numpy()
    assert (found.assign(images) == by_head[found.kept]).all()


@pytest.mark.parametrize("view", [plain_view, other_view])
@pytest.mark.parametrize("channels", [1, 3])
def test_views_keep_the_shape_of_a_batch_and_the_range_of_its_pixels(view, channels) -> None:
    images = 4 * torch.rand(50, channels, 28, 28, generator=torch.Generator().manual_seed(1)) - 1
    seen = view(images, torch.Generator().manual_seed(2))
    assert seen.shape == (50, channels, 24, 24)
    assert float(seen.min()) >= float(images.min())
    assert float(seen.max()) <= float(images.max())
    again = view(images, torch.Generator().manual_seed(2))
    assert torch.equal(seen, again)
    assert not torch.equal(seen, view(images, torch.Generator().manual_seed(3)))


def test_a_view_shows_a_part_of_its_image() -> None:
    # Brightness that grows from left to right: a crop of 20 of 28 columns in the middle has 20 / 28 of its range.
    across = torch.linspace(0, 1, 28).expand(1, 1, 28, 28)
    seen = middle(across)
    assert seen[0, 0].std(dim=0).max() > 0
    assert float(seen[0, 0, 12, -1] - seen[0, 0, 12, 0]) == pytest.approx(20 / 28, abs=0.05)
    assert torch.allclose(seen[0, 0, 3], seen[0, 0, 20])  # and is not turned


@pytest.mark.parametrize(
    "settings", [{"n_clusters": 1}, {"n_clusters": 3, "training": Training(epochs=0)}, {"n_clusters": 40}]
)
def test_clusters_that_cannot_be_are_refused(settings) -> None:
    with pytest.raises(PlanError, match="cannot be told apart"):
        find_clusters(np.zeros((60, 8, 8), dtype=np.float32), **settings)
