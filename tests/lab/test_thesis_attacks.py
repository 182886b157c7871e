"""Attacks on the releases of the thesis: they find members where there is something to find, and nobody else."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the studies' networks need torch")

from sfumato.lab.studies.common.digits import Digits
from sfumato.lab.studies.thesis.attacks import in_class_means, in_random_mixtures, split
from sfumato.lab.studies.thesis.claims import APPENDIX, main_epsilons
from sfumato.lab.studies.thesis.generators import class_subsets, noised_copies, random_mixtures
from sfumato.lab.studies.thesis.learners import accuracies_of_others

SIDE, CLASSES = 6, 3


def digits(n_rows: int, *, seed: int = 0) -> Digits:
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=n_rows)
    centres = np.random.default_rng(9).uniform(0.2, 0.8, (CLASSES, SIDE, SIDE))
    images = np.clip(centres[labels] + 0.15 * rng.normal(size=(n_rows, SIDE, SIDE)), 0, 1)
    return Digits(images.astype(np.float32), labels)


def guessed(*, degree: int, noise: float, copies: int) -> float:
    rng = np.random.default_rng(1)
    used, suspects = split(digits(3_000), used=1_500, rng=rng)
    subsets = class_subsets(used, degree=degree, n_classes=CLASSES, rng=rng)
    images, _ = noised_copies(used, subsets, copies=copies, noise_stddev=noise, rng=rng)
    return in_class_means(images, subsets, used, suspects, noise_stddev=noise).auc.value


def test_members_of_a_mean_that_is_noised_again_and_again_are_found() -> None:
    assert guessed(degree=10, noise=0.3, copies=2_000) > 0.8
    assert 0.35 < guessed(degree=100, noise=5.0, copies=10) < 0.65


def test_more_copies_give_more_away() -> None:
    assert guessed(degree=20, noise=1.0, copies=4_000) > guessed(degree=20, noise=1.0, copies=20) + 0.05


@pytest.mark.parametrize(("degree", "noise", "found"), [(2, 0.01, True), (200, 0.5, False)])
def test_random_mixtures_give_members_away_where_few_are_mixed(degree: int, noise: float, found: bool) -> None:
    used, suspects = split(digits(1_200), used=600, rng=np.random.default_rng(1))
    facts = {"mixtures": 2_000, "degree": degree, "noise_stddev": noise, "n_classes": CLASSES}
    images, _ = random_mixtures(used, **facts, rng=np.random.default_rng(2))
    auc = in_random_mixtures(images, suspects, degree=degree, records=600).auc.value
    assert (auc > 0.7) == found
    assert auc > 0.4


def test_members_and_others_are_different_digits() -> None:
    every = digits(600)
    used, suspects = split(every, used=500, rng=np.random.default_rng(0))
    rows = {row.tobytes() for row in used.rows}
    assert all(row.tobytes() in rows for row in suspects.members.rows)
    assert not any(row.tobytes() in rows for d in (suspects.others, suspects.known) for row in d.rows)


def test_the_appendix_claims_as_much_and_keeps_less() -> None:
    found = main_epsilons(degree=APPENDIX[0], noise_stddev=APPENDIX[1])
    assert found["claimed"] == pytest.approx(15.0, abs=0.01)
    assert found["honest"] == pytest.approx(9.15, abs=0.02)


def test_a_linear_model_and_trees_learn_shares_of_classes() -> None:
    pytest.importorskip("lightgbm")
    train, test = digits(400), digits(200, seed=1)
    soft = 0.8 * np.eye(CLASSES)[train.labels] + 0.2 / CLASSES
    found = accuracies_of_others((train.images, soft), test, seed=0)
    assert min(found.values()) > 0.8
