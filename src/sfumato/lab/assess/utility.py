"""How well a learner does when it is trained on real or on synthetic rows, and tested on real ones.

This reads private rows WITHOUT privacy. Its numbers are for the owner of the data and are not part of a release.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SchemaError, SfumatoError
from sfumato.private.intake.conform import conform
from sfumato.private.intake.tables import frame_source
from sfumato.public.schema import Batch, Schema


@dataclass(frozen=True)
class Score:
    """What a learner reached on the test rows: not private.

    `auc` is the area under the ROC curve, averaged over classes (each against the rest). The curve itself is that of
    the last class.
    """

    auc: float
    false_positive_rate: NDArray[np.float64] = field(repr=False)
    true_positive_rate: NDArray[np.float64] = field(repr=False)


def train_and_score(train: pd.DataFrame, test: pd.DataFrame, schema: Schema) -> Score:
    """Train LightGBM with its default settings on some rows, and score it on others. Not private.

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
    scores = _class_scores(private_train, private_test, schema)
    truth = private_test[target.name]
    # A class that is everywhere or nowhere among the test rows has no curve.
    scored = [code for code in range(target.size) if 0 < np.mean(truth == code) < 1]
    if not scored:
        raise SchemaError(f"target {target.name!r} has one class among the test rows. Test on rows of several classes.")
    auc = float(np.mean([roc_auc_score(truth == code, scores[:, code]) for code in scored]))
    false_positive, true_positive, _ = roc_curve(truth == scored[-1], scores[:, scored[-1]])
    return Score(auc, false_positive, true_positive)


def _encode(frame: pd.DataFrame, schema: Schema) -> Batch:
    names = [column.name for column in schema.columns]
    chunks = [conform(raw, schema) for raw in frame_source(frame).chunks(names, rows=max(1, len(frame)))]
    return chunks[0] if chunks else {name: np.zeros(0) for name in names}


def _class_scores(train: Batch, test: Batch, schema: Schema) -> NDArray[np.float64]:
    """A score for each test row and class; a class that was never learned scores 0."""
    try:
        from lightgbm import LGBMClassifier
    except OSError as error:  # not the package but a library of the system that it needs
        raise SfumatoError(f"LightGBM cannot be loaded ({error}). Install that library; on Debian, libgomp1.") from None

    target = schema.require_coded_target()
    label = train[target.name]
    scores = np.zeros((len(test[target.name]), target.size))
    present = np.unique(label)
    if len(present) < 2:
        scores[:, present.astype(np.int64)] = 1.0
        return scores
    coded = [at for at, column in enumerate(schema.features) if column.is_coded]
    # One thread: as fast on tables of this size, and far faster where other work keeps the cores busy.
    learner = LGBMClassifier(random_state=0, verbose=-1, n_jobs=1)
    learner.fit(_matrix(train, schema), label, categorical_feature=coded)
    scores[:, learner.classes_.astype(np.int64)] = np.asarray(learner.predict_proba(_matrix(test, schema)))
    return scores


def _matrix(batch: Batch, schema: Schema) -> NDArray[np.float64]:
    return np.stack([batch[column.name].astype(np.float64) for column in schema.features], axis=1)
