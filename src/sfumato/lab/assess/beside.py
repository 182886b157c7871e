"""Real rows beside synthetic ones, column by column, and what a learner makes of both.

This reads private rows WITHOUT privacy. What it finds is for the owner of the data and is not part of a release.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.lab.baselines.baseline import read_rows
from sfumato.lab.benchmark.any_target import r2
from sfumato.lab.benchmark.learners import tree_matrix
from sfumato.learn.boosted_trees import Boosting, boosting
from sfumato.present.beside import Comparison
from sfumato.present.columns import column_cards, columns_in_order
from sfumato.present.correlations import correlations_of, correlations_svg
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.ids import to_ids
from sfumato.private.intake.sources import open_source
from sfumato.private.intake.tables import frame_source
from sfumato.public.schema.schema import Batch, Schema


@dataclass(frozen=True)
class Score:
    """What a learner reached on the test rows: not private.

    `auc` is the area under the ROC curve, averaged over classes (each against the rest). The curve itself is that of
    the last class. `learner` names what was trained.
    """

    auc: float
    false_positive_rate: NDArray[np.float64] = field(repr=False)
    true_positive_rate: NDArray[np.float64] = field(repr=False)
    learner: str


def train_and_score(train: pd.DataFrame, test: pd.DataFrame, schema: Schema) -> Score:
    """Train boosted trees with default settings on some rows, and score them on others. Not private."""
    from sklearn.metrics import roc_auc_score, roc_curve

    target = schema.require_coded_target()
    private_train, private_test = _encode(train, schema), _encode(test, schema)
    learner = _boosting_of(schema)
    label, truth = private_train[target.name], private_test[target.name]
    scores, present = np.zeros((len(truth), target.size)), np.unique(label)  # a class that was never learned scores 0
    if len(present) < 2:
        scores[:, present.astype(np.int64)] = 1.0
    else:
        trained = learner.fit(tree_matrix(private_train, schema), label)
        chances = np.asarray(trained.predict_proba(tree_matrix(private_test, schema)))
        scores[:, trained.classes_.astype(np.int64)] = chances
    # A class that is everywhere or nowhere among the test rows has no curve.
    scored = [code for code in range(target.size) if 0 < np.mean(truth == code) < 1]
    if not scored:
        raise SchemaError(f"target {target.name!r} has one class among the test rows. Test on rows of several classes.")
    auc = float(np.mean([roc_auc_score(truth == code, scores[:, code]) for code in scored]))
    false_positive, true_positive, _ = roc_curve(truth == scored[-1], scores[:, scored[-1]])
    return Score(auc, false_positive, true_positive, learner.name)


def train_and_explain(train: pd.DataFrame, test: pd.DataFrame, schema: Schema) -> tuple[float, str]:
    """The same for a target that is a number: R2, the part of its variance that is explained, and the learner. Not private.

    Rows without a target are neither learned from nor tested on.
    """
    name = str(schema.target)
    private_train, private_test = _encode(train, schema), _encode(test, schema)
    known, asked = ~np.isnan(private_train[name]), ~np.isnan(private_test[name])
    label, truth = private_train[name][known], private_test[name][asked]
    if len(np.unique(truth)) < 2:
        raise SchemaError(f"target {name!r} has one value among the test rows. Test on rows of several values.")
    learner = _boosting_of(schema, of_numbers=True)
    predicted = np.full(len(truth), label.mean() if len(label) else schema[name].centre)
    if len(np.unique(label)) > 1:
        trained = learner.fit(tree_matrix(private_train, schema)[known], label)
        predicted = trained.predict(tree_matrix(private_test, schema)[asked])
    return r2(truth, predicted), learner.name


def _boosting_of(schema: Schema, *, of_numbers: bool = False) -> Boosting:
    return boosting([at for at, column in enumerate(schema.features) if column.is_coded], of_numbers=of_numbers)


def _encode(frame: pd.DataFrame, schema: Schema) -> Batch:
    names = [column.name for column in schema.columns]
    chunks = [conform(raw, schema) for raw in frame_source(frame).chunks(names, rows=max(1, len(frame)))]
    return chunks[0] if chunks else {name: np.zeros(0) for name in names}


#: The part of the real rows that a learner is tested on where nobody gives others.
HELD_BACK = 0.3


def compare(data: Any, synthetic: pd.DataFrame, schema: Schema, *, test: Any = None) -> Comparison:
    """Compare private rows with a release of them. Not private.

    Learners are tested on other private rows, `test`; without them a part of the first is held back.
    """
    private_rows = train = schema.decode(read_rows(data, schema))
    if test is not None:
        private_test = schema.decode(read_rows(test, schema))
    else:
        held_back = _held_back(data, schema, n_rows=len(private_rows))
        private_test, train = private_rows[held_back], private_rows[~held_back]
    said = about_test(len(private_test), others=test is not None)
    # Mixtures have columns that real rows have not.
    shared = synthetic[[name for name in columns_in_order(synthetic, schema) if name in private_rows]]
    sets = {"real": private_rows[shared.columns], "synthetic": shared}
    lesson, why = taught(train, synthetic, private_test, schema, said=said)
    return {
        "cards": column_cards(sets, schema),
        "pictures": drawn_correlations(sets),
        "rows": {key: len(rows) for key, rows in sets.items()},
        "lesson": lesson,
        "why_no_lesson": why,
    }


def about_test(n_rows: int, *, others: bool, what: str = "rows") -> str:
    """What learners were tested on, for a reader."""
    if others:
        return f"Both were tested on {n_rows:,} other real {what}."
    return (
        f"Both were tested on {n_rows:,} real {what}, from which the first did not learn. The release was made "
        f"from them, too: differential privacy leaves it little to gain by that, but other {what} are a cleaner test "
        "(--private-test)."
    )


def drawn_correlations(sets: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """How columns go together in each set, in the order of the real rows."""
    found = {key: correlations_of(rows) for key, rows in sets.items()}
    return {key: correlations_svg(each, like=found["real"]) for key, each in found.items() if each is not None}


def taught(
    train: pd.DataFrame, synthetic: pd.DataFrame, test: pd.DataFrame, schema: Schema, *, said: str
) -> tuple[dict[str, Any] | None, str]:
    """What one learner reached on the test rows after real and after synthetic ones; or why there is none."""
    try:
        return {**_learn(train, synthetic, test, schema), "tested_on": said}, ""
    except SchemaError as refusal:
        return None, f"No learner was tried: {refusal}"


def _learn(train: pd.DataFrame, synthetic: pd.DataFrame, test: pd.DataFrame, schema: Schema) -> dict[str, Any]:
    target = schema.target_column
    if target is None:
        raise SchemaError("the schema names no target, so there is nothing to predict.")
    rows = {"real": len(train), "synthetic": len(synthetic), "test": len(test)}
    scores, curves, measure = {"guess": 0.5 if target.is_coded else 0.0}, {}, "AUC" if target.is_coded else "R²"
    for key, part in (("real", train), ("synthetic", synthetic)):
        if target.is_coded:
            found = train_and_score(part, test, schema)
            scores[key], learner = found.auc, found.learner
            curves[key] = found.false_positive_rate.tolist(), found.true_positive_rate.tolist()
        else:
            scores[key], learner = train_and_explain(part, test, schema)
    facts = {"learner": learner, "measure": measure, "target": target.name}
    return {**facts, "scores": scores, "rows": rows, "curves": curves}


def _held_back(data: Any, schema: Schema, *, n_rows: int) -> NDArray[np.bool_]:
    """Which rows a learner is tested on: all rows of a person, or none."""
    units = np.arange(n_rows)
    person = schema.unit.person
    if person is not None:
        ids: list[bytes | None] = []
        for chunk in open_source(data, schema).chunks([person], rows=65_536):
            coded = to_ids(chunk[person])
            ids += [None if code < 0 else coded.private_values[code] for code in coded.private_codes]
        units = pd.factorize(np.array(ids, object), use_na_sentinel=False)[0]
    rng = np.random.default_rng(0)
    return np.asarray((rng.random(units.max(initial=0) + 1) < HELD_BACK)[units])
