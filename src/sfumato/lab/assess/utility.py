"""How well a learner does when it is trained on real or on synthetic rows, and tested on real ones.

This reads private rows WITHOUT privacy. Its numbers are for the owner of the data and are not part of a release.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.lab.benchmark.any_target import r2
from sfumato.lab.benchmark.learners import tree_matrix
from sfumato.lab.boosted_trees import Boosting, boosting
from sfumato.private.intake.conforming import conform
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
    """Train boosted trees with default settings on some rows, and score them on others. Not private.

    Args:
        train: Rows to learn from, real or synthetic.
        test: Real rows that were held back.
        schema: Says what the columns mean, and which is the target.

    Raises:
        SchemaError: The target is missing or is not coded.
    """
    # Slow to import, and needed here only.
    from sklearn.metrics import roc_auc_score, roc_curve

    target = schema.require_coded_target()
    private_train, private_test = _encode(train, schema), _encode(test, schema)
    learner = boosting([at for at, column in enumerate(schema.features) if column.is_coded])
    scores = _class_scores(learner, private_train, private_test, schema)
    truth = private_test[target.name]
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
    learner = boosting([at for at, column in enumerate(schema.features) if column.is_coded], of_numbers=True)
    predicted = np.full(len(truth), label.mean() if len(label) else schema[name].centre)
    if len(np.unique(label)) > 1:
        predicted = learner.fit(tree_matrix(private_train, schema)[known], label).predict(
            tree_matrix(private_test, schema)[asked]
        )
    return r2(truth, predicted), learner.name


def _encode(frame: pd.DataFrame, schema: Schema) -> Batch:
    names = [column.name for column in schema.columns]
    chunks = [conform(raw, schema) for raw in frame_source(frame).chunks(names, rows=max(1, len(frame)))]
    return chunks[0] if chunks else {name: np.zeros(0) for name in names}


def _class_scores(learner: Boosting, train: Batch, test: Batch, schema: Schema) -> NDArray[np.float64]:
    """A score for each test row and class; a class that was never learned scores 0."""
    target = schema.require_coded_target()
    label = train[target.name]
    scores = np.zeros((len(test[target.name]), target.size))
    present = np.unique(label)
    if len(present) < 2:
        scores[:, present.astype(np.int64)] = 1.0
        return scores
    trained = learner.fit(tree_matrix(train, schema), label)
    scores[:, trained.classes_.astype(np.int64)] = np.asarray(trained.predict_proba(tree_matrix(test, schema)))
    return scores
