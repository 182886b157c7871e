"""The generator's rule and its teacher: they move towards the truth, and by noise alone nowhere."""

from dataclasses import replace

import numpy as np
import pytest
from small_tables import TARGET

from sfumato.mechanisms.common.layout import BinCodes, Layout
from sfumato.mechanisms.common.logistic import errors, probabilities
from sfumato.mechanisms.table.target.classifier import GeneratorRule, learn_rule
from sfumato.mechanisms.table.target.correction import (
    CorrectionPrior,
    FullestBins,
    learn_corrections,
    no_corrections,
    stand_ins,
)
from sfumato.public.plan.doors import Measured

SIZES = (4, 4, 4)
BINS = BinCodes(Layout(SIZES))
ORDERS = [np.arange(size) for size in SIZES]


def rows(n_rows: int, *, seed: int = 0):
    return np.random.default_rng(seed).integers(4, size=(n_rows, 3))


def drawn(scores, *, seed: int = 1):
    """Classes by their scores."""
    p = probabilities(scores)
    uniform = np.random.default_rng(seed).random((len(p), 1))
    return (uniform < p)[:, 0].astype(np.int64) if p.shape[1] == 1 else (p.cumsum(axis=1) < uniform).sum(axis=1)


def log_loss(scores, labels) -> float:
    p = probabilities(scores)
    p = np.concatenate([1 - p, p], axis=1) if p.shape[1] == 1 else p
    return float(-np.log(np.maximum(p[np.arange(len(labels)), labels], 1e-12)).mean())


def says(rule, at):
    """What the rule says by itself."""
    start = no_corrections(np.zeros(len(rule.additive)), TARGET, width=BINS.width)
    return stand_ins(rule, at, np.ones(len(at))).corrected(start)


def test_a_rule_of_single_columns_is_learned() -> None:
    at = rows(20_000)
    labels = drawn((at[:, :1] - 1.5) * 2.0)
    rule = learn_rule(at, labels, ORDERS, BINS, TARGET, n_classes=2)
    assert rule.additive.shape == (1, 13)
    assert ((says(rule, at)[:, 0] > 0) == (at[:, 0] > 1.5)).mean() > 0.99


def test_trees_find_what_two_columns_decide_together() -> None:
    at = rows(20_000)
    labels = ((at[:, 0] > 1) ^ (at[:, 1] > 1)).astype(np.int64)
    rule = learn_rule(at, labels, ORDERS, BINS, TARGET, n_classes=2)
    assert np.abs(rule.additive_scores(at)).max() < 0.5
    assert ((says(rule, at)[:, 0] > 0) == labels).mean() > 0.99
    assert np.abs(rule.beyond(at, rule.additive_scores(at))).max() <= 1


def test_several_classes_and_one_that_nobody_has() -> None:
    at = rows(20_000)
    labels = np.minimum(at[:, 0], 2)
    rule = learn_rule(at, labels, ORDERS, BINS, TARGET, n_classes=4)
    scores = says(rule, at)
    assert scores.shape == (20_000, 4)
    assert (scores.argmax(axis=1) == labels).mean() > 0.99
    assert probabilities(scores)[:, 3].max() < 0.01


def test_one_class_alone_has_no_rule() -> None:
    at = rows(500)
    assert learn_rule(at, np.ones(500, dtype=np.int64), ORDERS, BINS, TARGET, n_classes=2) is None


def test_each_row_has_its_bins_and_the_intercept() -> None:
    codes = BINS.codes(np.array([[0, 1, 3]]))
    assert codes.tolist() == [[0, 5, 11, 12]]
    assert BINS.one_hot(np.array([[0, 1, 3]])).toarray().nonzero()[1].tolist() == [0, 5, 11, 12]


class Lesson:
    """A generator with a wrong rule, private rows with the true one, and gradients between them."""

    def __init__(self, n_classes: int) -> None:
        rng = np.random.default_rng(3)
        n_sets = 1 if n_classes == 2 else n_classes
        true, false = (rng.normal(size=(n_sets, BINS.width)) for _ in range(2))
        self.private, public = rows(8_000, seed=4), rows(8_000, seed=5)
        self.labels = drawn(self.scores(true, self.private))
        mixed = drawn(self.scores(0.5 * true + 0.5 * false, public))
        self.rule = learn_rule(public, mixed, ORDERS, BINS, TARGET, n_classes=n_classes)
        self.usual = FullestBins(np.array([1, 2, 0]), fewest_others=1)
        self.public = public[:4_000]
        self.seen = stand_ins(self.rule, self.private, np.ones(8_000))
        self.start = no_corrections(np.zeros(n_sets), TARGET, width=BINS.width)

    @staticmethod
    def scores(weights, at):
        return np.stack([w[BINS.codes(at)].sum(axis=1) for w in weights], axis=1)

    def said(self, corrections):
        return self.seen.corrected(corrections)

    def taught(self, *, stddev: float, usual_is_said: bool = True):
        rng = np.random.default_rng(0)
        unseen = np.zeros(BINS.layout.width, dtype=np.bool_)
        weights, of_public = np.ones(8_000), np.ones(4_000)
        if not usual_is_said:
            unseen[[1, 6, 8]] = True  # a bin of each column
            weights, of_public = self.usual.weights(self.private), self.usual.weights(self.public)
        standing = stand_ins(self.rule, self.public, 2 * of_public)

        def ask(corrections):
            wrong = errors(probabilities(self.said(corrections)), self.labels) * weights[:, None]
            at_bins = np.stack(
                [np.bincount(self.seen.codes.ravel(), np.repeat(w, 4), minlength=BINS.width) for w in wrong.T]
            )
            at_bins = at_bins + stddev * rng.standard_normal(at_bins.shape)
            at_bins, everywhere = at_bins[:, :-1], at_bins[:, -1]
            at_bins[:, unseen] = 0.0
            of_trees = (wrong * self.seen.beyond).sum(axis=0)
            of_trees = of_trees + stddev * rng.standard_normal(of_trees.shape)
            return tuple(Measured(one, max(stddev, 1.0)) for one in (at_bins, everywhere, of_trees))

        prior = CorrectionPrior.of_rule(self.rule.additive, BINS.layout, TARGET, runs=[(0, 4), (4, 8), (8, 12)])
        return learn_corrections(ask, standing, self.start, TARGET, prior=prior, unseen=unseen, times=8)


@pytest.mark.slow
@pytest.mark.parametrize("usual_is_said", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_exact_gradients_move_the_rule_to_the_truth(n_classes: int, usual_is_said: bool) -> None:
    lesson = Lesson(n_classes)
    taught = lesson.taught(stddev=0.0, usual_is_said=usual_is_said)
    before, after = (log_loss(lesson.said(c), lesson.labels) for c in (lesson.start, taught))
    best = learn_rule(lesson.private, lesson.labels, ORDERS, BINS, TARGET, n_classes=n_classes)
    best_loss = log_loss(says(best, lesson.private), lesson.labels)
    assert after < before - 0.7 * (before - best_loss)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_drowned_in_noise_the_rule_stays_the_generators(n_classes: int) -> None:
    lesson = Lesson(n_classes)
    after = lesson.taught(stddev=1e6)
    assert np.abs(after - lesson.start).max() < 0.05


def test_the_start_is_the_generators_own_rule() -> None:
    start = no_corrections(np.zeros(2), TARGET, width=5)
    assert start.shape == (2, 6)
    assert (start[:, :-1] == 0).all()
    assert (start[:, -1] == TARGET.tree_believed * TARGET.tree_farthest).all()


def test_columns_that_hang_together_more_than_the_generator_knows_do_not_make_the_steps_swing() -> None:
    def loss_after(*, radius: float) -> tuple[float, float]:
        rng = np.random.default_rng(6)
        n_columns, bins = 30, BinCodes(Layout([4] * 30))
        public = rng.integers(0, 4, size=(8_000, n_columns))
        private = np.repeat(rng.integers(0, 4, size=(8_000, 1)), n_columns, axis=1)  # all columns say the same
        labels = (rng.random(8_000) < 1 / (1 + np.exp(1.5 - private[:, 0]))).astype(np.int64)
        rule = learn_rule(public, rng.integers(0, 2, size=8_000), [np.arange(4)] * n_columns, bins, TARGET, n_classes=2)
        standing, seen = (
            stand_ins(rule, at, np.full(len(at), each)) for at, each in ((public[:4_000], 2.0), (private, 1.0))
        )
        start = no_corrections(np.zeros(1), TARGET, width=bins.width)

        def said(corrections):
            return seen.corrected(corrections)

        def ask(corrections):
            wrong = errors(probabilities(said(corrections)), labels)
            at_bins = np.bincount(seen.codes.ravel(), np.repeat(wrong[:, 0], n_columns + 1), minlength=bins.width)
            everywhere, of_trees = wrong.sum(axis=0), (wrong * seen.beyond).sum(axis=0)
            return tuple(Measured(one, 1.0) for one in (at_bins[None, :-1], everywhere, of_trees))

        unseen, settings = np.zeros(bins.layout.width, dtype=np.bool_), replace(TARGET, radius=radius)
        runs = [(4 * j, 4 * j + 4) for j in range(30)]
        prior = CorrectionPrior.of_rule(rule.additive, bins.layout, settings, runs=runs)
        taught = learn_corrections(ask, standing, start, settings, prior=prior, unseen=unseen, times=8)
        return log_loss(said(start), labels), log_loss(said(taught), labels)

    before, after = loss_after(radius=TARGET.radius)
    assert after < before
    before, after = loss_after(radius=1e9)
    assert after > before + 0.5


def test_a_column_that_the_rule_is_wrong_about_is_corrected_by_a_size_of_its_own() -> None:
    """One column of sixty categories that the rule says nothing about, beside eight of which it knows all."""

    def loss_after(*, by_column: bool) -> float:
        rng = np.random.default_rng(1)
        sizes = [60, *[8] * 8]
        bins, settings = BinCodes(Layout(sizes)), replace(TARGET, sizes_by_column=by_column)
        public, private = (np.stack([rng.integers(0, s, size=n) for s in sizes], axis=1) for n in (4_000, 12_000))
        weights = [rng.normal(size=s) * (1.5 if s == 60 else 0.3) for s in sizes]
        labels = drawn(sum(w[column] for w, column in zip(weights, private.T, strict=True))[:, None])
        known = np.concatenate([np.zeros(60), *weights[1:], [0.0]])[None]
        rule = GeneratorRule(bins, [np.arange(s) for s in sizes], known, None, np.arange(2), 3.0, -9.0)
        standing, seen = (stand_ins(rule, at, np.full(len(at), 12_000 / len(at))) for at in (public, private))

        def ask(corrections):
            wrong = errors(probabilities(seen.corrected(corrections)), labels)
            at_bins = np.bincount(seen.codes.ravel(), np.repeat(wrong[:, 0], len(sizes) + 1), minlength=bins.width)
            noisy = at_bins + 60 * rng.standard_normal(len(at_bins))
            return tuple(Measured(one, 60.0) for one in (noisy[None, :-1], noisy[-1:], np.zeros(1)))

        prior = CorrectionPrior.of_rule(rule.additive, bins.layout, settings, runs=[])
        unseen = np.zeros(bins.layout.width, dtype=np.bool_)
        start = no_corrections(np.zeros(1), settings, width=bins.width)
        taught = learn_corrections(ask, standing, start, settings, prior=prior, unseen=unseen, times=8)
        return log_loss(seen.corrected(taught), labels)

    assert loss_after(by_column=True) < loss_after(by_column=False) - 0.003


def test_little_trust_turns_a_rule_away_from_differences_of_like_columns_and_keeps_it_as_steep() -> None:
    """Two columns that are nearly the same, one of which seems to say the opposite: what noise in their tables looks like."""
    rng = np.random.default_rng(0)
    first = rng.integers(4, size=20_000)
    second = np.where(rng.random(len(first)) < 0.9, first, rng.integers(4, size=len(first)))
    at = np.stack([first, second, rng.integers(4, size=len(first))], axis=1)
    labels = drawn((1.0 * (first - 1.5) - 0.6 * (second - 1.5))[:, None])
    sure, doubting = (
        learn_rule(at, labels, ORDERS, BINS, TARGET, n_classes=2, with_trees=False, trust=trust)
        for trust in (1.0, 1e-3)
    )
    of_second = [rule.additive[0, 7] - rule.additive[0, 4] for rule in (sure, doubting)]
    assert of_second[0] < -1.0
    assert of_second[1] > of_second[0] + 0.5
    assert log_loss(doubting.additive_scores(at), labels) < log_loss(np.zeros((len(at), 1)), labels) - 0.01
    flat = drawn(doubting.additive_scores(at), seed=3)
    assert np.corrcoef(flat, labels)[0, 1] > 0
    assert flat.mean() == pytest.approx(labels.mean(), abs=0.02)
