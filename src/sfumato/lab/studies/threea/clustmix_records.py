"""ClustMix as published, on a benchmark: its search for settings, and its score beside its claimed and its honest epsilon.

Rows are brought into the unit box by their own values. Settings are searched release after release, and the best by its score on the
private rows is taken. None of it is accounted in the paper. Its search is HEBO over 30 rounds; here it is Optuna's sampler of Parzen
trees.
"""

import importlib
import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.benchmark.datasets import DELTA, Benchmark, BenchmarkError
from sfumato.lab.benchmark.examples import Examples, real_examples
from sfumato.lab.benchmark.learners import check_learner
from sfumato.lab.benchmark.metrics import distances
from sfumato.lab.benchmark.protocol import real_scores, scores
from sfumato.lab.studies.threea.clustmix_published import PublishedSettings, publish, published_least_size
from sfumato.lab.studies.threea.clustmix_witness import find_witness
from sfumato.public.schema.schema import Schema

Vectors = NDArray[np.float64]

#: By smallest and largest values, or by a normal quantile transform before that: "whichever worked better".
Scaling = Literal["min-max", "quantile"]


@dataclass(frozen=True)
class Scaled:
    """Rows in the unit box, and the way back for points near it."""

    rows: Vectors = field(repr=False)
    _low: Vectors = field(repr=False)
    _high: Vectors = field(repr=False)
    _quantiles: Any = field(default=None, repr=False)

    def back(self, points: Vectors) -> Vectors:
        """Points in the units of the rows."""
        numbers = points * (self._high - self._low) + self._low
        return numbers if self._quantiles is None else np.asarray(self._quantiles.inverse_transform(numbers))


def scaled(numbers: Vectors, scaling: Scaling) -> Scaled:
    """Each column by its own values.

    >>> found = scaled(np.array([[2.0], [4.0], [3.0]]), "min-max")
    >>> found.rows.ravel().tolist(), found.back(found.rows).ravel().tolist()
    ([0.0, 1.0, 0.5], [2.0, 4.0, 3.0])
    """
    quantiles = None
    if scaling == "quantile":
        from sklearn.preprocessing import QuantileTransformer

        most = min(1000, len(numbers))
        quantiles = QuantileTransformer(n_quantiles=most, output_distribution="normal", random_state=0)
        numbers = np.asarray(quantiles.fit_transform(numbers))
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    return Scaled((numbers - low) / np.where(high > low, high - low, 1.0), low, high, quantiles)


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


_MOST_CHOOSING_ROWS = 20_000
_LEAST_WITNESS = 4
#: Means of fewer rows are mostly noise, and there are very many of them.
_LEAST_WORTH_TRYING = 20


def published_record(
    benchmark: Benchmark, *, epsilon: float, learner: str, seed: int = 0, rounds: int = 0
) -> dict[str, Any]:
    """One run as published: what is claimed, what is true, and what a learner makes of the points.

    Args:
        benchmark: A public dataset. Its rows are read without the doors.
        epsilon: The claimed one; the claimed delta is 1/rows, and 1e-5 for images.
        learner: Trained on the points, and on real rows.
        seed: Of the published procedure and of the learner.
        rounds: Of the published search over settings, which needs Optuna; 0 tries a few noise levels and needs nothing.
    """
    schema = benchmark.schema
    check_learner(learner, schema)
    train, test = real_examples(benchmark.train, schema), real_examples(benchmark.test, schema)
    claimed_delta = DELTA if schema.images else 1 / len(train)
    settings = PublishedSettings(epsilon=epsilon, delta=claimed_delta, sigma_max=1.0, seed=seed)
    start = time.perf_counter()
    synthetic, choice = _best_by_private_score(train, benchmark, settings, learner, rounds)
    seconds = time.perf_counter() - start
    settings = replace(settings, sigma_max=choice.sigma_max, alpha=choice.alpha)
    features, classes = _numbers(train, schema).shape[1], schema.require_coded_target().size
    least = max(published_least_size(settings, features=features, classes=classes), _LEAST_WITNESS)
    witness = find_witness(epsilon=epsilon, delta=claimed_delta, least=least, features=features, classes=classes)
    found = scores(learner, synthetic, test, benchmark, seed=seed)
    real = real_scores(learner, train, test, benchmark)
    one_way = math.nan if schema.images else distances(train, synthetic, schema)[0]
    return {
        "version": "published",
        "dataset": benchmark.name,
        "seed": settings.seed,
        "learner": learner,
        "metric": benchmark.metric,
        "claimed_epsilon": settings.epsilon,
        "claimed_delta": settings.delta,
        "honest_epsilon": witness.honest_epsilon,
        "clustering_epsilon": witness.epsilon,
        "points_of_neighbours": list(witness.counts),
        "rounds": rounds,
        "sigma_max": round(settings.sigma_max, 4),
        "alpha": round(settings.alpha, 3),
        "scaling": choice.scaling,
        "least_size": least,
        "value": round(found.value, 6),
        "real_value": round(real.value, 6),
        "tvd_1way": None if math.isnan(one_way) else round(one_way, 6),
        "synthetic_rows": len(synthetic),
        "seconds": round(seconds, 3),
        "unit": "any one row, replaced by any other",
    }


def _best_by_private_score(
    train: Examples, benchmark: Benchmark, settings: PublishedSettings, learner: str, rounds: int
) -> tuple[Examples, Choice]:
    """As published: several releases, of which the best by its score on the private rows is taken, at no charge."""
    schema = benchmark.schema
    n_classes = schema.require_coded_target().size
    some = np.random.default_rng(settings.seed).permutation(len(train))[:_MOST_CHOOSING_ROWS]
    asked = Examples({name: values[some] for name, values in train.batch.items()}, train.label[some])
    # Pixels lie in the unit box already.
    scalings: tuple[Scaling, ...] = ("min-max",) if schema.images else ("min-max", "quantile")
    boxes = {scaling: scaled(_numbers(train, schema), scaling) for scaling in scalings}

    releases: dict[Choice, Examples] = {}

    def score(choice: Choice) -> float | None:
        chosen = replace(settings, sigma_max=choice.sigma_max, alpha=choice.alpha)
        box = boxes[choice.scaling]
        if published_least_size(chosen, features=box.rows.shape[1], classes=n_classes) < _LEAST_WORTH_TRYING:
            return None
        points, classes = publish(box.rows, train.label, n_classes=n_classes, settings=chosen)
        if len(np.unique(classes)) < 2:
            return None  # clusters would be larger than the classes
        releases[choice] = _examples(box.back(points), classes, schema)
        return scores(learner, releases[choice], asked, benchmark, seed=settings.seed).value

    best = best_choice(score, rounds=rounds, scalings=scalings)
    return releases[best], best


def _numbers(examples: Examples, schema: Schema) -> Vectors:
    """One number for each feature, in the units of the schema; pixels in [0, 1]."""
    if schema.images:
        return examples.batch[schema.images[0].name].reshape(len(examples), -1).astype(np.float64)
    columns = [examples.batch[c.name].astype(np.float64) for c in schema.features]
    return np.stack([np.where(np.isnan(v), np.nanmean(v), v) for v in columns], axis=1)


def _examples(rows: Vectors, label: NDArray[np.int64], schema: Schema) -> Examples:
    """Noisy means as rows of the schema: numbers within bounds, codes rounded."""
    target = schema.require_coded_target()
    batch: dict[str, NDArray[Any]] = {target.name: label}
    if schema.images:
        image = schema.images[0]
        batch[image.name] = np.clip(rows, 0, 1).reshape(len(rows), *image.shape).astype(np.float32)
        return Examples(batch, label)
    for at, column in enumerate(schema.features):
        values = rows[:, at]
        if column.is_coded:
            batch[column.name] = np.clip(np.round(values), 0, column.size - 1).astype(np.int64)
        else:
            batch[column.name] = np.clip(values, column.low, column.high)
    return Examples(batch, label)
