"""Real rows beside synthetic ones, column by column, and what a learner makes of both.

This reads private rows WITHOUT privacy. What it finds is for the owner of the data and is not part of a release.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.lab.assess.utility import Score, train_and_explain, train_and_score
from sfumato.lab.baselines.baseline import read_rows
from sfumato.present.beside import Comparison, Lesson
from sfumato.present.columns import column_cards, columns_in_order
from sfumato.present.correlations import correlations_of, correlations_svg
from sfumato.private.intake.ids import to_ids
from sfumato.private.intake.sources import open_source
from sfumato.public.schema.schema import Schema

#: The part of the real rows that a learner is tested on where nobody gives others.
_HELD_BACK = 0.3


def compare(data: Any, synthetic: pd.DataFrame, schema: Schema, *, test: Any = None) -> Comparison:
    """Compare private rows with a release of them. Not private.

    Args:
        data: The private rows, as `Sensitive.read` takes them.
        synthetic: The released rows.
        schema: That of the release.
        test: Other private rows to test learners on; without them a part of the first is held back.
    """
    private_rows = schema.decode(read_rows(data, schema))
    if test is not None:
        private_test = schema.decode(read_rows(test, schema))
        tested_on = f"Both were tested on {len(private_test):,} other real rows."
        return _compared(private_rows, synthetic, schema, test=private_test, train=private_rows, tested_on=tested_on)
    held_back = _held_back(data, schema, n_rows=len(private_rows))
    private_test = private_rows[held_back]
    tested_on = (
        f"Both were tested on {len(private_test):,} real rows, from which the first did not learn. The release was made "
        "from them, too: differential privacy leaves it little to gain by that, but other rows are a cleaner test "
        "(--private-test)."
    )
    return _compared(
        private_rows, synthetic, schema, test=private_test, train=private_rows[~held_back], tested_on=tested_on
    )


def _compared(
    private_rows: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    *,
    test: pd.DataFrame,
    train: pd.DataFrame,
    tested_on: str,
) -> Comparison:
    # Mixtures have columns that real rows have not.
    shared = synthetic[[name for name in columns_in_order(synthetic, schema) if name in private_rows]]
    private_rows = private_rows[shared.columns]
    sets = {"real": private_rows, "synthetic": shared}
    lesson, why = None, ""
    try:
        lesson = _learn(train, synthetic, test, schema, tested_on=tested_on)
    except SchemaError as refusal:
        why = f"No learner was tried: {refusal}"
    found = {key: correlations_of(rows) for key, rows in sets.items()}
    pictures = {key: correlations_svg(entry, like=found["real"]) for key, entry in found.items() if entry is not None}
    rows = {key: len(entry) for key, entry in sets.items()}
    return Comparison(column_cards(sets, schema), pictures, rows, lesson, why)


def _learn(
    train: pd.DataFrame, synthetic: pd.DataFrame, test: pd.DataFrame, schema: Schema, *, tested_on: str
) -> Lesson:
    target = schema.target_column
    if target is None:
        raise SchemaError("the schema names no target, so there is nothing to predict.")
    rows = {"real": len(train), "synthetic": len(synthetic), "test": len(test)}
    if not target.is_coded:
        (real, learner), (made, _) = (train_and_explain(part, test, schema) for part in (train, synthetic))
        scores = {"real": real, "synthetic": made, "guess": 0.0}
        return Lesson(learner, "R²", target.name, scores, rows, {}, tested_on)
    by_real, by_made = (train_and_score(part, test, schema) for part in (train, synthetic))
    scores = {"real": by_real.auc, "synthetic": by_made.auc, "guess": 0.5}
    curves = {"real": _curve(by_real), "synthetic": _curve(by_made)}
    return Lesson(by_real.learner, "AUC", target.name, scores, rows, curves, tested_on)


def _curve(score: Score) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return score.false_positive_rate, score.true_positive_rate


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
    return np.asarray((rng.random(units.max(initial=0) + 1) < _HELD_BACK)[units])
