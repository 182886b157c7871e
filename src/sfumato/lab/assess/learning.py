"""Utility: the protocol's learners on real and on synthetic rows, side by side. Reads private rows WITHOUT privacy."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.assess.material import Material
from sfumato.lab.attacks.roc import Interval
from sfumato.lab.benchmark.any_target import NUMBER_LEARNERS, each_column, r2, train_numbers
from sfumato.lab.benchmark.datasets import Metric, has_rare_class
from sfumato.lab.benchmark.examples import Examples
from sfumato.lab.benchmark.learners import IMAGE_LEARNERS, TABLE_LEARNERS, Predictor, train_and_predict, train_to_ask
from sfumato.lab.benchmark.metrics import brier
from sfumato.lab.benchmark.metrics import utility as score_of
from sfumato.public.schema.schema import Batch, Schema

_SETS = ("real", "synthetic")
#: Test rows on which a column is shuffled to see what it is worth.
_SHUFFLED = 2_000
#: One against one costs a curve for each pair of classes.
_FEW_ROUNDS = 20
_BINS = 10

#: What learners reach, and one line of it, as plain values: see `learn`.
Utility = dict[str, Any]
Learned = dict[str, Any]


def learners_for(schema: Schema) -> tuple[str, ...]:
    """Those of the protocol; without a target boosted trees alone, on every column."""
    target = schema.target_column
    if target is None:
        return ("lightgbm",)
    if schema.images:
        return IMAGE_LEARNERS
    return TABLE_LEARNERS if target.is_coded else NUMBER_LEARNERS


def learn(material: Material, *, learners: Sequence[str], most_rows: int, on_step: Callable[[str], None]) -> Utility:
    """Train each learner twice, and test it on the same real rows.

    Returns:
        `metric`, `target` and `class_names`; `learned`, for each learner and what it was `trained_on` its `score` and, of classes,
        its `brier` score, `classes` (`rows` of the test, `recall`, `precision`), `confusion` and `calibration`; `importances`, what
        the score loses when a column is shuffled, by `real` and by `synthetic` rows. Without a target every column is predicted
        from the others: `columns`, and those that were `left_out`.
    """
    target = material.schema.target_column
    if target is None:
        return _every_column(material, most_rows=most_rows, on_step=on_step)
    study = _classes if target.is_coded else _numbers
    return study(material, learners, most_rows=most_rows, on_step=on_step)


def interval(
    score: Callable[[NDArray[np.int64]], float], strata: NDArray[np.int64], *, rounds: int = 100
) -> dict[str, float]:
    """The score of all test rows, and the middle 95 % of its values when rows are drawn with replacement.

    Rows are drawn within their stratum, so that no class vanishes. The score is a function of the places of rows.

    >>> interval(lambda at: 0.5, np.zeros(10, dtype=np.int64))
    {'value': 0.5, 'low': 0.5, 'high': 0.5}
    """
    rng = np.random.default_rng(0)
    groups = [np.flatnonzero(strata == kind) for kind in np.unique(strata)]
    drawn = [score(np.concatenate([rng.choice(group, len(group)) for group in groups])) for _ in range(rounds)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return asdict(Interval(score(np.arange(len(strata))), float(low), float(high)))


def _learned(learner: str, trained_on: str, score: dict[str, float], **of_classes: Any) -> Learned:
    nothing: Learned = {"brier": None, "classes": [], "confusion": [], "calibration": []}
    return {"learner": learner, "trained_on": trained_on, "score": score, **nothing, **of_classes}


def _utility(metric: str, target: str | None, learned: list[Learned], **more: Any) -> Utility:
    facts = {"metric": metric, "target": target, "class_names": [], "learned": learned}
    return {**facts, "importances": [], "columns": [], "left_out": [], **more}


def _classes(material: Material, learners: Sequence[str], *, most_rows: int, on_step: Callable[[str], None]) -> Utility:
    schema = material.schema
    target = schema.require_coded_target()
    names = [*target.categories, "(missing)"] if target.missing else list(target.categories)
    metric: Metric = "accuracy" if schema.images else "auc" if target.size == 2 else "auc_ovo"
    test = material.examples("test", most=most_rows)
    balanced = has_rare_class(material.real[target.name]) and not schema.images
    learned = []
    for learner in learners:
        for trained_on in _SETS:
            on_step(f"{learner} on {trained_on} rows")
            train = material.examples(trained_on, most=most_rows)
            chance = train_and_predict(learner, train, test, schema, balanced=balanced)
            learned.append(_learned(learner, trained_on, **_judged(metric, chance, test.label, names)))
    if schema.images:
        return _utility(metric, target.name, learned, class_names=names)
    on_step("what each column is worth")
    some, label, worth = _first(test.batch), test.label[:_SHUFFLED], {}

    def score(ask: Predictor, rows: Batch) -> float:
        return score_of(metric, ask(Examples(rows, label)), label)

    for trained_on in _SETS:
        ask = train_to_ask(learners[0], material.examples(trained_on, most=most_rows), schema)
        worth[trained_on] = _losses(partial(score, ask), some, schema)
    return _utility(metric, target.name, learned, class_names=names, importances=_largest(worth))


def _judged(metric: Metric, chance: NDArray[np.float64], truth: NDArray[np.int64], names: list[str]) -> Learned:
    rounds = _FEW_ROUNDS if metric == "auc_ovo" else 100
    score = interval(lambda at: score_of(metric, chance[at], truth[at]), truth, rounds=rounds)
    confusion = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(confusion, (truth, chance.argmax(axis=1)), 1)
    right, rows, named = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    recall, precision = (right / np.maximum(1, counts) for counts in (rows, named))
    figures = zip(names, rows.tolist(), recall.tolist(), precision.tolist(), strict=True)
    classes = [dict(zip(("name", "rows", "recall", "precision"), each, strict=True)) for each in figures]
    shown = {"classes": classes, "confusion": confusion.tolist(), "calibration": _calibration(chance, truth)}
    return {"score": score, "brier": brier(chance, truth), **shown}


def _calibration(chance: NDArray[np.float64], truth: NDArray[np.int64]) -> list[dict[str, float]]:
    """Of two classes the probability of the second; of several that of the likeliest."""
    said = chance[:, 1] if chance.shape[1] == 2 else chance.max(axis=1)
    right = truth == 1 if chance.shape[1] == 2 else chance.argmax(axis=1) == truth
    order = np.argsort(said, kind="stable")
    return [
        {"said": float(said[part].mean()), "seen": float(right[part].mean()), "rows": len(part)}
        for part in np.array_split(order, _BINS)
        if len(part)
    ]


def _first(rows: Batch) -> Batch:
    return {name: values[:_SHUFFLED] for name, values in rows.items()}


def _losses(score: Callable[[Batch], float], rows: Batch, schema: Schema) -> dict[str, float]:
    """What the score loses when a column of the test rows is shuffled (Breiman 2001)."""
    shuffled = {c.name: np.random.default_rng(0).permutation(rows[c.name]) for c in schema.features}
    base = score(rows)
    return {name: base - score({**rows, name: values}) for name, values in shuffled.items()}


def _pairs(found: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    """A figure of each column by real and by synthetic rows."""
    synthetic = found["synthetic"]
    return [{"name": name, "real": value, "synthetic": synthetic[name]} for name, value in found["real"].items()]


def _largest(found: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    return sorted(_pairs(found), key=lambda pair: -max(pair["real"], pair["synthetic"]))


def _numbers(material: Material, learners: Sequence[str], *, most_rows: int, on_step: Callable[[str], None]) -> Utility:
    schema, name = material.schema, str(material.schema.target)
    whole = material.examples("test", most=most_rows).batch
    known = ~np.isnan(whole[name])
    test = {key: values[known] for key, values in whole.items()}
    truth, some, learned = test[name], _first(test), []
    worth: dict[str, dict[str, float]] = {}

    def score(ask: Callable[[Batch], NDArray[np.float64]], rows: Batch) -> float:
        return r2(rows[name], ask(rows))

    def explain(said: NDArray[np.float64], at: NDArray[np.int64]) -> float:
        return r2(truth[at], said[at])

    for learner in learners:
        for trained_on in _SETS:
            on_step(f"{learner} on {trained_on} rows")
            ask = train_numbers(learner, material.examples(trained_on, most=most_rows).batch, schema)
            explained = interval(partial(explain, ask(test)), np.zeros(len(truth), dtype=np.int64))
            learned.append(_learned(learner, trained_on, explained))
            if learner == learners[0]:
                worth[trained_on] = _losses(partial(score, ask), some, schema)
    return _utility("R2", name, learned, importances=_largest(worth))


def _every_column(material: Material, *, most_rows: int, on_step: Callable[[str], None]) -> Utility:
    rows = {name: material.examples(name, most=most_rows).batch for name in ("real", "synthetic", "test")}
    found = {}
    for trained_on in _SETS:
        on_step(f"every column from the others, on {trained_on} rows")
        found[trained_on] = each_column(rows["real"], rows[trained_on], rows["test"], material.schema)
    left_out = [column.name for column in material.schema.columns if column.name not in found["real"]]
    return _utility("0: nothing, 1: all", None, [], columns=_pairs(found), left_out=left_out)
