"""The report's program from its first line to its last, and every accuracy that its two figures could be.

Three things of it are easily overlooked. `model1 = autoencoder` makes no copy: the autoencoder itself becomes noisy. Before the second
noise the program loads `checkpoint2` into `truemodel`, so that this noise meets the classifier of noisy rows, and no longer that of raw
ones. It draws noise for five layers, and sets three.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.lab.studies.autoencoder.networks import (
    Networks,
    Trained,
    linked_share,
    on_device,
    trained_autoencoders,
    trained_classifiers,
)
from sfumato.lab.studies.common.digits import Digits
from sfumato.lab.studies.common.drawing import draw_sheet
from sfumato.lab.studies.common.study import Figures

WEIGHT_NOISE, CLASSIFIER_NOISE = 0.1, 0.05
#: What a classifier was trained on, how many of its layers got noise, and the test rows.
MODELS, LAYERS, ROWS = ("raw", "noisy"), {"none": 0, "three layers": 3, "five layers": 5}, ("raw", "decoded", "noisy")
_SHOWN, _LINKED = 10, 1_000


@dataclass(frozen=True, kw_only=True)
class Program:
    """How much of it is run: passes over so many images in batches of so many, runs, and draws of noise in each of them."""

    images: int | None = None
    epochs: int = 100
    classifier_epochs: int = 50
    batch: int = 32
    runs: int = 5
    draws: int = 5

    def coders(self, train: Any, test: Any) -> Trained:
        """The autoencoders of all runs."""
        return trained_autoencoders(train, test, runs=self.runs, epochs=self.epochs, batch=self.batch)

    def classifiers(self, train: tuple[Any, Any], test: tuple[Any, Any], *, n_classes: int) -> Trained:
        """The classifiers of all runs, on rows that they share or on rows of their own."""
        passes = {"runs": self.runs, "epochs": self.classifier_epochs, "batch": self.batch}
        return trained_classifiers(train, test, n_classes=n_classes, **passes)


def reading(model: str, noise: str, rows: str) -> str:
    """The name of an accuracy."""
    return f"{model} model, noise in {noise}, {rows} rows"


def run_listing(program: Program, train: Digits, test: Digits, *, n_classes: int, folder: Path) -> Figures:
    """Reconstruction, accuracies under every reading, and how many rows of the release are linked to their raw row."""
    train = train.first(program.images)
    x, y, x_test, y_test = (on_device(part) for part in (train.rows, train.labels, test.rows, test.labels))
    coders = program.coders(x, x_test)
    rows = rows_made(coders, x_test)
    models = {
        "raw": program.classifiers((x, y), (x_test, y_test), n_classes=n_classes),
        "noisy": program.classifiers(
            (with_weight_noise(coders).applied(x), y), (rows["noisy"], y_test), n_classes=n_classes
        ),
    }
    shown = {name: made[0, :_SHOWN].cpu().numpy().reshape(-1, *test.images.shape[1:]) for name, made in rows.items()}
    draw_sheet(folder / "autoencoder-published.png", shown)
    return {
        **reconstruction(coders),
        **accuracies(program, models, rows, y_test),
        **linked(coders, train.first(_LINKED)),
        "images": len(train),
        "runs": program.runs,
        "draws": program.draws,
    }


def with_weight_noise(coders: Trained) -> Networks:
    """The autoencoders after the first noise. In the program they are no copies."""
    return coders.best.with_noise(WEIGHT_NOISE, layers=2, seed=1)


def rows_made(coders: Trained, rows: Any) -> dict[str, Any]:
    """Rows as (run, row, pixel): as they are, decoded, and decoded by the noisy networks."""
    raw = rows.expand(len(coders.best.weights), *rows.shape)
    return {"raw": raw, "decoded": coders.best.applied(rows), "noisy": with_weight_noise(coders).applied(rows)}


def reconstruction(coders: Trained) -> Figures:
    """Mean squared errors on the test rows: at the checkpoint, after the last epoch, and over epochs as a mean of all runs."""
    return {
        "mse": _rounded(coders.losses.min(axis=0), 5),
        "mse after the last epoch": _rounded(coders.losses[-1], 5),
        "mse by epoch": _rounded(coders.losses.mean(axis=1), 5),
        "epochs": len(coders.losses),
    }


def accuracies(program: Program, models: Mapping[str, Trained], rows: Mapping[str, Any], labels: Any) -> Figures:
    """Of every model, with every noise, on every kind of test rows; one for each run, and with noise for each draw of it."""
    found: dict[str, list[float]] = {}
    for model, noise, name in itertools.product(MODELS, LAYERS, ROWS):
        best, draws = models[model].best, range(program.draws if LAYERS[noise] else 1)
        noisy = [best.with_noise(CLASSIFIER_NOISE, layers=LAYERS[noise], seed=2 + draw) for draw in draws]
        values = [right for networks in noisy for right in networks.accuracies(rows[name], labels)]
        found[reading(model, noise, name)] = _rounded(values, 4)
    last = {model: _rounded(models[model].last.accuracies(rows[model], labels), 4) for model in MODELS}
    epochs = min(len(models[model].losses) for model in MODELS)
    return {"accuracies": found, "after the last epoch": last, "classifier epochs": epochs}


def linked(coders: Trained, some: Digits) -> Figures:
    """The part of the first run's released rows whose raw row is found, with the noisy weights and with those before noise."""
    made = {name: rows[0].cpu().numpy() for name, rows in rows_made(coders, on_device(some.rows)).items()}
    return {
        "linked": round(linked_share(some.rows, made["noisy"], made["noisy"]), 4),
        "linked by the plain network": round(linked_share(some.rows, made["noisy"], made["decoded"]), 4),
    }


def _rounded(values: Any, digits: int) -> list[float]:
    return [round(float(value), digits) for value in np.asarray(values)]
