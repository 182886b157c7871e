"""What the page of the autoencoder study says, made of the figures that are there."""

import itertools
import statistics
from collections.abc import Collection, Sequence
from typing import Any

from sfumato.lab.benchmark.protocol import spread
from sfumato.lab.studies.autoencoder.listing import (
    CLASSIFIER_NOISE,
    LAYERS,
    MODELS,
    ROWS,
    WEIGHT_NOISE,
    Program,
    reading,
)
from sfumato.lab.studies.common.study import Found, markdown_table

LISTING = "as published"
BEFORE, AFTER, ERROR = 0.936, 0.7627, 0.0036
#: At the second the noise is next to nothing: what is missing then, the mixture of Gaussians misses.
MOST_EPSILON, CEILING = 8.0, 1000.0
_MODELS = {"raw": "`truemodel`, of raw rows", "noisy": "`testmodel`, of noisy rows"}
_NOISE = {
    "none": "",
    "three layers": f", noise {CLASSIFIER_NOISE:g} in its first three layers",
    "five layers": f", noise {CLASSIFIER_NOISE:g} in all five layers",
}


def facts_of(found: Found, *, sound: Collection[str], epsilons: Sequence[float]) -> dict[str, Any]:
    """What the template is filled with."""
    run = found.figures.get(LISTING, {})
    return {
        "found": found,
        "full": found.at_full_size,
        "run": run,
        "mse": reconstruction(found),
        "last_mse": reconstruction(found, "mse after the last epoch"),
        "before": BEFORE,
        "after": AFTER,
        "weight_noise": WEIGHT_NOISE,
        "classifier_noise": CLASSIFIER_NOISE,
        "readings": readings(found),
        "nearest_before": nearest(found, BEFORE, noise=("none",)),
        "nearest_after": nearest(found, AFTER, noise=("three layers", "five layers")),
        "around_after": around(found, AFTER, noise=("three layers", "five layers")),
        "as_set": accuracy(found, "noisy", "three layers"),
        "all_epochs": Program(),
        "raw": accuracy(found, "raw"),
        "noisy": accuracy(found, "noisy"),
        "pure": each(found, "k-means", "pure"),
        "sound": sound_table(found, sound, epsilons),
        "epsilons": epsilons,
        "ceiling": CEILING,
        "pictures": [(name, e, picture(name, e)) for name in sound for e in epsilons if is_drawn(name, e)],
    }


def is_drawn(name: str, epsilon: float) -> bool:
    """Of the other encoders and groups, the release with the least noise is enough to see."""
    return name == "dp-syn" or epsilon == MOST_EPSILON


def picture(name: str, epsilon: float) -> str:
    """The file of a release's digits."""
    return f"autoencoder-{name.replace(', ', '-')}-{epsilon:g}.png"


def readings(found: Found) -> str:
    """All accuracies that the program's models have, as a table."""
    rows = [
        (f"{_MODELS[model]}{_NOISE[noise]}", *(accuracy(found, model, noise, name) for name in ROWS))
        for model, noise in itertools.product(MODELS, LAYERS)
    ]
    return markdown_table(("", *(f"{name} test rows" for name in ROWS)), rows)


def nearest(found: Found, published: float, *, noise: Sequence[str]) -> str | None:
    """The reading whose mean is nearest to a published accuracy, in words; None where nothing was run."""
    run = found.get(LISTING, "accuracies")
    if run is None:
        return None
    known = itertools.product(MODELS, noise, ROWS)
    model, layers, rows = min(known, key=lambda at: abs(statistics.mean(run[reading(*at)]) - published))
    return _in_words(found, model, layers, rows)


def around(found: Found, published: float, *, noise: Sequence[str]) -> list[str]:
    """The readings some of whose runs and draws lie above a published accuracy and some below it, in words."""
    run = found.get(LISTING, "accuracies") or {}
    known = [at for at in itertools.product(MODELS, noise, ROWS) if reading(*at) in run]
    return [_in_words(found, *at) for at in known if min(run[reading(*at)]) <= published <= max(run[reading(*at)])]


def _in_words(found: Found, model: str, noise: str, rows: str) -> str:
    return f"{_MODELS[model]}{_NOISE[noise]}, on {rows} test rows ({accuracy(found, model, noise, rows)})"


def accuracy(found: Found, model: str, noise: str = "none", rows: str | None = None) -> str:
    """Mean and deviation over runs and draws of noise; on rows like those of the training where none are named."""
    run = found.get(LISTING, "accuracies")
    return _percent(found, LISTING, None if run is None else run[reading(model, noise, rows or model)])


def reconstruction(found: Found, name: str = "mse") -> str:
    """The mean squared error over all runs."""
    run = found.get(LISTING, name)
    return found.words(LISTING, None if run is None else f"{spread(run):.5f}")


def each(found: Found, key: str, name: str) -> str:
    """Shares of several runs that one point holds."""
    return _percent(found, key, found.get(key, name))


def sound_table(found: Found, names: Collection[str], epsilons: Sequence[float]) -> str:
    """Logistic regression on releases of every kind, and on the rows themselves."""
    rows = [(f"`{name}`", *(found.percent(f"{name} at {e:g}") for e in epsilons)) for name in names]
    real = ("real rows, no privacy", *[found.percent("real rows")] * len(epsilons))
    return markdown_table(("", *(f"epsilon {e:g}" for e in epsilons)), [*rows, real])


def _percent(found: Found, key: str, shares: Sequence[float] | None) -> str:
    return found.words(key, None if shares is None else f"{spread([100 * share for share in shares]):.1f} %")
