"""Attribute inference: from all else that is known of a person, guess one column; are those who were used guessed better?

Whoever learns from synthetic rows guesses some things right about anybody: that is what the rows are for. A leak is what is
guessed better about those who are in the data than about others like them. Reads real rows WITHOUT privacy.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.attacks.membership import MOST_ROWS, MOST_SYNTHETIC
from sfumato.lab.attacks.roc import Attack, Interval, clopper_pearson, measure
from sfumato.lab.attacks.sheets import Comparison
from sfumato.lab.boosted_trees import boosting

#: A number is guessed as one of so many ranges of the synthetic rows, a category as one of so many frequent ones.
_RANGES, _FREQUENT = 8, 20


@dataclass(frozen=True)
class AttributeAttack:
    """How often a column is guessed right.

    Attributes:
        column: What was guessed.
        of_members: Of those who were used.
        of_others: Of those who were not.
        membership: The probability of the true value as a score of membership.
    """

    column: str
    of_members: Interval
    of_others: Interval
    membership: Attack


def attribute_inference(found: Comparison, *, column: str) -> AttributeAttack | None:
    """Train on synthetic rows to guess the column, and guess it for members and for others."""
    some = found.at_most(MOST_ROWS, synthetic=MOST_SYNTHETIC)
    at = some.names.index(column)
    if some.holdout is None or not len(some.holdout) or len(some.names) < 2:
        return None
    values = [sheet.values[:, at] for sheet in some.sheets]
    real, synthetic, holdout = _ranges(values) if some.is_number[at] else _frequent(values)
    rest = [j for j in range(len(some.names)) if j != at]
    coded = [place for place, j in enumerate(rest) if not some.is_number[j]]
    classes, label = np.unique(synthetic, return_inverse=True)
    if len(classes) < 2:
        return None
    trained = boosting(coded).fit(some.synthetic.values[:, rest], label.astype(np.int64))

    def guessed(rows: NDArray[np.float64], truth: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of the true value, and in a second column whether it is the likeliest."""
        chance = np.asarray(trained.predict_proba(rows[:, rest]))
        place = np.searchsorted(classes, truth).clip(0, len(classes) - 1)
        known = classes[place] == truth  # a value that no synthetic row has cannot be guessed
        own = np.where(known, chance[np.arange(len(rows)), place], 0.0)
        return np.stack([own, known & (chance.argmax(axis=1) == place)], axis=1)

    members, others = guessed(some.real.values, real), guessed(some.holdout.values, holdout)
    return AttributeAttack(
        column=column,
        of_members=clopper_pearson(int(members[:, 1].sum()), len(members)),
        of_others=clopper_pearson(int(others[:, 1].sum()), len(others)),
        membership=measure(
            f"attribute {column}",
            members[:, 0],
            others[:, 0],
            how="Rows whose true value a learner on synthetic rows finds likely are taken for members.",
        ),
    )


def _ranges(values: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    synthetic = values[1][~np.isnan(values[1])]
    edges = np.unique(np.quantile(synthetic, np.arange(1, _RANGES) / _RANGES)) if len(synthetic) else np.zeros(1)
    return [np.where(np.isnan(v), -1.0, np.searchsorted(edges, v, "right").astype(np.float64)) for v in values]


def _frequent(values: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Codes, with one for all that are not among the frequent ones of the synthetic rows."""
    kinds, counts = np.unique(values[1], return_counts=True)
    kept = kinds[np.argsort(-counts, kind="stable")[:_FREQUENT]]
    return [np.where(np.isin(v, kept), v, -2.0) for v in values]
