"""One learner of boosted trees: LightGBM where it loads, otherwise scikit-learn's, with settings as near as can be.

LightGBM needs the system library libgomp, which slim machines lack; scikit-learn brings its own. The two are alike but
not the same, so whoever shows a score says by which it was reached. The benchmark's figures mean LightGBM, and it
takes nothing else.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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


def boosting(coded: Sequence[int], *, of_numbers: bool = False) -> Boosting:
    """Boosted trees with the defaults of LightGBM, whichever library is there; `coded` are the places of categories."""
    try:
        lightgbm = need_lightgbm()
    except MissingLibraryError:
        fit = partial(_fit_scikit_learn, coded=coded, of_numbers=of_numbers)
        return Boosting("gradient boosting (scikit-learn)", fit)
    # One thread: as fast on tables of this size, and far faster where other work keeps the cores busy.
    kind = lightgbm.LGBMRegressor if of_numbers else lightgbm.LGBMClassifier
    learner = kind(random_state=0, verbose=-1, n_jobs=1)
    return Boosting("LightGBM", partial(learner.fit, categorical_feature=list(coded)))


def _fit_scikit_learn(x: NDArray[np.float64], y: NDArray[Any], coded: Sequence[int], of_numbers: bool) -> Any:
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
        random_state=0,
    )
    return learner.fit(x, y)
