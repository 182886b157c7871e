"""The published search for settings: release after release, and the best by its score on the private rows is taken.

None of it is accounted in the paper. Its search is HEBO over 30 rounds; here it is Optuna's sampler of Parzen trees.
"""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.lab.benchmark.errors import BenchmarkError
from sfumato.lab.studies.threea.clustmix_scaling import Scaling


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The free parameters of Algorithm 2. `alpha` weighs the density, as in its Eq. 5."""

    sigma_max: float
    alpha: float = 0.5
    scaling: Scaling = "min-max"


#: What is tried where nothing is searched.
FEW = tuple(Choice(sigma_max=sigma) for sigma in (0.05, 0.1, 0.2, 0.5, 1.0))
_SIGMA_MAX = (0.01, 4.0)


def best_choice(score: Callable[[Choice], float | None], *, rounds: int, scalings: tuple[Scaling, ...]) -> Choice:
    """The choice with the highest score. A score of None: nothing would be released.

    Args:
        score: On the private rows.
        rounds: Of the search; 0 for `FEW` and no search.
        scalings: Those that make sense.
    """
    tried: dict[Choice, float] = {}

    def of(choice: Choice) -> float:
        value = score(choice)
        if value is not None:
            tried[choice] = value
        return -1.0 if value is None else value

    if rounds:
        _searched(of, rounds=rounds, scalings=scalings)
    else:
        for choice in FEW:
            of(choice)
    if not tried:
        raise BenchmarkError(
            "no sigma_max that was tried leaves two classes with a cluster: as published, nothing would be released. "
            "Use a larger epsilon."
        )
    return max(tried, key=tried.__getitem__)


def _searched(of: Callable[[Choice], float], *, rounds: int, scalings: tuple[Scaling, ...]) -> None:
    if importlib.util.find_spec("optuna") is None:
        raise BenchmarkError("the published search needs Optuna. Install it with: pip install 'sfumato[studies]'")
    optuna = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    search.optimize(
        lambda trial: of(
            Choice(
                sigma_max=trial.suggest_float("sigma_max", *_SIGMA_MAX, log=True),
                alpha=trial.suggest_float("alpha", 0.0, 1.0),
                scaling=trial.suggest_categorical("scaling", list(scalings)),
            )
        ),
        n_trials=rounds,
    )
