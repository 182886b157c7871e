"""One learner of boosted trees: LightGBM where it loads, otherwise scikit-learn's, with settings as near as can be.

LightGBM needs the system library libgomp, which slim machines lack; scikit-learn brings its own. The two are alike but
not the same, so whoever shows a score says by which it was reached. The benchmark's figures mean LightGBM, and it
takes nothing else.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import MissingLibraryError

#: The most categories of a column that scikit-learn's trees can tell apart.
_MOST_CATEGORIES = 255


@dataclass(frozen=True)
class Boosting:
    """A learner that is not trained yet: its name for people, and `fit(x, y)`, which gives a trained one."""

    name: str
    fit: Callable[[NDArray[np.float64], NDArray[Any]], Any]


def need_lightgbm() -> Any:
    """The module lightgbm, or a refusal that says what is missing and how to get it."""
    try:
        return importlib.import_module("lightgbm")
    except ImportError:
        raise MissingLibraryError("the learner lightgbm is not installed. Install it: pip install lightgbm") from None
    except OSError:  # its own library is there, but not what that library needs
        raise MissingLibraryError(
            "the learner lightgbm cannot be loaded: the system library libgomp (libgomp1) is missing. Install it: "
            "apt-get install libgomp1 (Debian, Ubuntu), dnf install libgomp (Fedora), brew install libomp (macOS)."
        ) from None


def boosting(coded: Sequence[int], *, seed: int = 0, of_numbers: bool = False) -> Boosting:
    """Boosted trees with the default settings of LightGBM, whichever library is there.

    Args:
        coded: The places of the columns that hold codes of categories.
        seed: Of the learner's own randomness.
        of_numbers: Whether a number is to be predicted, and no class.
    """
    try:
        lightgbm = need_lightgbm()
    except MissingLibraryError:
        return Boosting(
            "gradient boosting (scikit-learn)", lambda x, y: _fit_scikit_learn(x, y, coded, seed, of_numbers)
        )
    return Boosting("LightGBM", lambda x, y: _fit_lightgbm(lightgbm, x, y, coded, seed, of_numbers))


def _fit_lightgbm(
    lightgbm: Any, x: NDArray[np.float64], y: NDArray[Any], coded: Sequence[int], seed: int, of_numbers: bool
) -> Any:
    # One thread: as fast on tables of this size, and far faster where other work keeps the cores busy.
    kind = lightgbm.LGBMRegressor if of_numbers else lightgbm.LGBMClassifier
    return kind(random_state=seed, verbose=-1, n_jobs=1).fit(x, y, categorical_feature=list(coded))


def _fit_scikit_learn(
    x: NDArray[np.float64], y: NDArray[Any], coded: Sequence[int], seed: int, of_numbers: bool
) -> Any:
    # Slow to import, and needed here only.
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    # Columns with more categories than it can tell apart are taken as numbers.
    few = [at for at in coded if len(x) and np.nanmax(x[:, at], initial=0) < _MOST_CATEGORIES]
    kind = HistGradientBoostingRegressor if of_numbers else HistGradientBoostingClassifier
    learner = kind(
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        min_samples_leaf=20,
        max_bins=_MOST_CATEGORIES,
        early_stopping=False,
        categorical_features=few,
        random_state=seed,
    )
    return learner.fit(x, y)
