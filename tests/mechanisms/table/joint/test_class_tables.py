"""Class tables without their noise: exact where there is none, those of all rows where there is nothing else."""

import numpy as np
import pytest
from small_tables import JOINT

from sfumato import Column
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.columns.point_masses import PointMasses
from sfumato.mechanisms.table.joint.class_tables import ClassTable, joint_tables

SIZES = (9, 4, 9)
PER_CLASS = np.array([6_000.0, 3_000.0, 1_000.0])


def binnings() -> list[Binning]:
    columns = [
        Column(name="a", kind="integer", bounds=(0, 8)),
        Column(name="b", kind="categorical", categories=tuple("pqrs")),
        Column(name="c", kind="integer", bounds=(0, 7), missing=True),
    ]
    return [
        Binning(Cells(c), size, np.arange(size), np.ones(size), PointMasses())
        for c, size in zip(columns, SIZES, strict=True)
    ]


def truth(*, seed: int = 0, apart: float = 1.0) -> list[np.ndarray]:
    """Rows of each class in each bin."""
    rng = np.random.default_rng(seed)
    given = [np.exp(apart * rng.normal(size=(3, size))) for size in SIZES]
    return [PER_CLASS[:, None] * g / g.sum(axis=1, keepdims=True) for g in given]


def tables(counts, *, stddev: float, seed: int = 1) -> list[ClassTable]:
    rng = np.random.default_rng(seed)
    noisy = [c + stddev * rng.standard_normal(c.shape) for c in counts]
    return [ClassTable(t - t.mean(axis=1, keepdims=True), np.full(3, max(stddev, 1e-6))) for t in noisy]


def joints(counts, *, stddev: float, lengthened: bool = False) -> list[np.ndarray]:
    margins = [c.sum(axis=0) / c.sum() for c in counts]
    return joint_tables(tables(counts, stddev=stddev), binnings(), margins, PER_CLASS, JOINT, lengthened=lengthened)


def test_without_noise_the_class_tables_are_found() -> None:
    counts = truth()
    for found, exact in zip(joints(counts, stddev=0.0), counts, strict=True):
        assert np.abs(found - exact / exact.sum()).sum() / 2 < 0.02


@pytest.mark.parametrize(("lengthened", "most"), [(False, 0.04), (True, 0.08)])
@pytest.mark.parametrize("stddev", [300.0, 100_000.0])
def test_noise_alone_leaves_every_class_with_all_rows(stddev: float, lengthened: bool, most: float) -> None:
    counts = truth(apart=0.0)
    for found in joints(counts, stddev=stddev, lengthened=lengthened):
        alike = np.outer(found.sum(axis=1), found.sum(axis=0))
        assert np.abs(found - alike).sum() / 2 < most


def test_between_the_two_it_is_nearer_than_the_noisy_table_itself() -> None:
    counts, stddev = truth(apart=0.3), 150.0
    apart, plain = 0.0, 0.0
    for found, table, exact in zip(joints(counts, stddev=stddev), tables(counts, stddev=stddev), counts, strict=True):
        apart += float(np.abs(found * exact.sum() - exact).sum())
        plain += float(np.abs(table.counts + exact.mean(axis=1, keepdims=True) - exact).sum())
    assert apart < 0.7 * plain


@pytest.mark.parametrize("stddev", [0.0, 100.0, 1e6])
def test_tables_are_probabilities_and_keep_the_rates_of_the_classes(stddev: float) -> None:
    for found in joints(truth(), stddev=stddev):
        assert found.sum() == pytest.approx(1.0)
        assert (found > 0).all()
        assert found.sum(axis=1) == pytest.approx(PER_CLASS / PER_CLASS.sum(), abs=1e-6)


def test_a_small_class_departs_as_far_as_it_does_in_truth_where_noise_hides_a_part() -> None:
    """Shrunk tables alone would say that a class is harder to tell apart than it is; longer ones are hardly less right."""
    column = Column(name="x", kind="categorical", categories=tuple("abcdefghij"))
    binning = Binning(Cells(column), 10, np.arange(10), np.ones(10), PointMasses())
    margin, per_class, rng = np.full(10, 0.1), np.array([19_800.0, 200.0]), np.random.default_rng(4)
    length, wrong, n_columns = {False: 0.0, True: 0.0}, {False: 0.0, True: 0.0}, 8
    true_length = 0.0
    for _ in range(20):
        shares = np.exp(0.7 * rng.normal(size=(n_columns, 10)))
        shares /= shares.sum(axis=1, keepdims=True)
        true_length += float(((shares - margin) ** 2).sum())
        given = []
        for share in shares:
            noisy = np.stack([19_800 * margin, 200 * share]) + 16.0 * rng.standard_normal((2, 10))
            given.append(ClassTable(noisy - noisy.mean(axis=1, keepdims=True), np.full(2, 16.0)))
        for lengthened in length:
            found = joint_tables(
                given, [binning] * n_columns, [margin] * n_columns, per_class, JOINT, lengthened=lengthened
            )
            of_class = np.stack([joint[1] / joint[1].sum() for joint in found])
            length[lengthened] += float(((of_class - margin) ** 2).sum())
            wrong[lengthened] += float(((of_class - shares) ** 2).sum())
    assert length[False] < 0.5 * true_length
    assert 0.65 * true_length < length[True] < 1.25 * true_length
    assert wrong[True] < 1.1 * wrong[False] < true_length


def test_all_classes_together_have_a_margin_that_is_better_known() -> None:
    """Adding up classes, each with noise of its own, would lose what is known of a column."""
    counts, exact = tables(truth(), stddev=100.0), truth()
    margins = [c.sum(axis=0) / c.sum() for c in exact]

    def error(*, known: bool) -> float:
        found = joint_tables(counts, binnings(), margins, PER_CLASS, JOINT, better_known=[known] * len(SIZES))
        return float(np.abs(found[1].sum(axis=0) - margins[1]).sum() / 2)

    assert error(known=True) < 0.002 < error(known=False)


def test_a_rare_category_that_gives_a_class_away_keeps_most_of_its_weight() -> None:
    """One row in fifty has it, nearly all of them of the small class; noise as large as a quarter of its count."""
    column = Column(name="b", kind="boolean")
    binning = Binning(Cells(column), 2, np.arange(2), np.ones(2), PointMasses())
    counts, per_class = np.array([[1_450.0, 2.0], [170.0, 33.0]]), np.array([1_452.0, 203.0])
    margin = counts.sum(axis=0) / counts.sum()
    rng, kept = np.random.default_rng(7), []
    for _ in range(20):
        noisy = counts + 8.0 * rng.standard_normal(counts.shape)
        table = ClassTable(noisy - noisy.mean(axis=1, keepdims=True), np.full(2, 8.0))
        joint = joint_tables([table], [binning], [margin], per_class, JOINT)[0]
        kept.append(joint[1, 1] / joint[:, 1].sum())
    assert np.mean(kept) > 0.6


def test_ordered_classes_lend_each_other_what_they_show() -> None:
    """Ten levels along which a column's mean rises: known to have an order, they are found with less error."""
    binning = Binning(
        Cells(Column(name="x", kind="integer", bounds=(0, 15))), 16, np.arange(16), np.ones(16), PointMasses()
    )
    per_class = np.full(10, 200.0)
    place = np.linspace(-1.5, 1.5, 16)
    given = np.exp(-((place - np.linspace(-0.6, 0.6, 10)[:, None]) ** 2))
    counts = per_class[:, None] * given / given.sum(axis=1, keepdims=True)
    margin, rng, error = counts.sum(axis=0) / counts.sum(), np.random.default_rng(3), {0: 0.0, 10: 0.0}
    for _ in range(10):
        noisy = counts + 15.0 * rng.standard_normal(counts.shape)
        table = ClassTable(noisy - noisy.mean(axis=1, keepdims=True), np.full(10, 15.0))
        for ordered in error:
            joint = joint_tables([table], [binning], [margin], per_class, JOINT, ordered=ordered)[0]
            error[ordered] += float(np.abs(joint - counts / counts.sum()).sum())
    assert error[10] < 0.8 * error[0]


def test_stretches_show_that_a_class_has_moved_where_its_bins_do_not() -> None:
    binning = Binning(
        Cells(Column(name="x", kind="integer", bounds=(0, 31))), 32, np.arange(32), np.ones(32), PointMasses()
    )
    margin, per_class = np.full(32, 1 / 32), np.array([19_900.0, 100.0])
    moved = 100 * np.repeat([0.05, 0.25, 0.70], [10, 11, 11]) / np.repeat([10, 11, 11], [10, 11, 11])
    stretch_of = np.repeat([0, 1, 2], [10, 11, 11])
    rng, found = np.random.default_rng(5), {"bins": 0.0, "stretches": 0.0}
    for _ in range(20):
        # The same rows are asked for as often in both ways: all in bins, or half of the times in stretches.
        twice, once = (moved + s * rng.standard_normal(32) for s in (14.0, 20.0))
        first = np.stack([19_900 * margin, np.zeros(32)]) + 20.0 * rng.standard_normal((2, 32))
        first[1] += moved
        table = ClassTable(first - first.mean(axis=1, keepdims=True), np.full(2, 20.0))
        nothing = np.zeros(3), 1e9, stretch_of
        summed = np.bincount(stretch_of, weights=moved) + 20.0 * rng.standard_normal(3), 20.0, stretch_of
        for name, (bins, stddev, more) in {"bins": (twice, 14.0, nothing), "stretches": (once, 20.0, summed)}.items():
            both = table.counted_again(1, 100 * margin, bins, stddev, *more)
            joint = joint_tables([both], [binning], [margin], per_class, JOINT)[0]
            found[name] += float(joint[1, 21:].sum() / joint[1].sum()) / 20
    assert found["stretches"] > 0.55
    assert found["bins"] < found["stretches"] - 0.05
