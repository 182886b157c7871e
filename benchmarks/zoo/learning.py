"""What a learner reaches on real test rows: areas under curves for classes, R2 for numbers. Not private."""

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from sfumato.lab.benchmark.examples import Examples
from sfumato.lab.benchmark.learners import train_and_predict
from sfumato.lab.boosted_trees import need_lightgbm
from sfumato.public.schema import Batch

#: The protocol weighs classes where one has less than this share of the real training rows.
RARE = 0.05
#: Columns beyond so many are drawn, always the same ones, where every column is predicted from the others.
MOST_COLUMNS = 20


def utility(real: Batch, train: Batch, test: Batch, schema: sf.Schema) -> float:
    """The score of the target: AUC (one against the rest, averaged), or R2."""
    target = schema.target_column
    if target is None:
        raise ValueError("without a target there is nothing to predict.")
    return _area(real, train, test, schema) if target.is_coded else _r2(train, test, schema)


def every_column(real: Batch, train: Batch, test: Batch, schema: sf.Schema) -> float:
    """The mean score of columns predicted from the others, on a scale where 0 says nothing and 1 is all."""
    chosen = list(schema.columns)
    if len(chosen) > MOST_COLUMNS:
        at = np.random.default_rng(0).choice(len(chosen), MOST_COLUMNS, replace=False)
        chosen = [chosen[j] for j in at]
    scores = []
    for column in chosen:
        asked = sf.Schema(columns=schema.columns, target=column.name)
        found = utility(real, train, test, asked)
        scores.append(2 * found - 1 if column.is_coded else max(-1.0, found))
    return float(np.mean(scores))


def _area(real: Batch, train: Batch, test: Batch, schema: sf.Schema) -> float:
    from sklearn.metrics import roc_auc_score

    target = schema.require_coded_target()
    truth = test[target.name]
    shares = np.bincount(real[target.name], minlength=target.size) / len(real[target.name])
    balanced = bool(shares[shares > 0].min() < RARE)
    probabilities = train_and_predict(
        "lightgbm", Examples(train, train[target.name]), Examples(test, truth), schema, balanced=balanced
    )
    codes = [1] if target.size == 2 else range(target.size)
    # A class that is everywhere or nowhere among the test rows has no curve.
    areas = [roc_auc_score(truth == c, probabilities[:, c]) for c in codes if 0 < np.mean(truth == c) < 1]
    return float(np.mean(areas))


def _r2(train: Batch, test: Batch, schema: sf.Schema) -> float:
    """LightGBM with its defaults, as for classes. Rows without a target are not learned from."""
    name = str(schema.target)
    known, asked = ~np.isnan(train[name]), ~np.isnan(test[name])
    y, truth = train[name][known], test[name][asked]
    predicted = np.full(len(truth), y.mean() if len(y) else schema[name].centre)
    if len(np.unique(y)) > 1:
        coded = [at for at, column in enumerate(schema.features) if column.is_coded]
        learner = need_lightgbm().LGBMRegressor(random_state=0, verbose=-1, n_jobs=1)
        learner.fit(_matrix(train, schema)[known], y, categorical_feature=coded or "auto")
        predicted = learner.predict(_matrix(test, schema)[asked])
    return float(1 - ((truth - predicted) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())


def _matrix(batch: Batch, schema: sf.Schema) -> NDArray[np.float64]:
    return np.stack([batch[column.name].astype(np.float64) for column in schema.features], axis=1)
