"""The learners of the protocol, with the settings that it fixes; for images a small network of two convolutions."""

import importlib
import importlib.util
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.lab.benchmark.datasets import BenchmarkError
from sfumato.lab.benchmark.examples import Examples
from sfumato.lab.boosted_trees import need_lightgbm
from sfumato.public.schema.encoding import one_hot
from sfumato.public.schema.schema import Batch, Column, Schema

EPOCHS, BATCH, LEARNING_RATE = 10, 256, 1e-3


def cnn_probabilities(
    images: NDArray[np.float32],
    targets: NDArray[np.float32],
    test_images: NDArray[np.float32],
    *,
    seed: int,
) -> NDArray[np.float64]:
    """Train on pictures in [0, 1] and give the class probabilities of others.

    Adam with a cosine decay to zero over all steps, cross-entropy against `targets`, which hold one probability for
    each class. Runs on a GPU where torch finds one.
    """
    torch = _torch()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return _train(torch, device, _channels_first(images), targets, _channels_first(test_images), seed=seed)
    except torch.cuda.OutOfMemoryError:
        raise BenchmarkError(
            "the GPU has no memory left for the network. Free it, or hide it with CUDA_VISIBLE_DEVICES= ."
        ) from None


def _train(
    torch: Any,
    device: Any,
    images: NDArray[np.float32],
    targets: NDArray[np.float32],
    test_images: NDArray[np.float32],
    *,
    seed: int,
) -> NDArray[np.float64]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = table_4_1_network(torch, shape=images.shape[1:], n_classes=targets.shape[1]).to(device)
    order = torch.Generator().manual_seed(seed)
    x, y = torch.from_numpy(images).to(device), torch.from_numpy(targets).to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    n_steps = EPOCHS * -(-len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=n_steps)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(x), generator=order).to(device).split(BATCH):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(x[chosen]), y[chosen]).backward()
            optimiser.step()
            schedule.step()
    with torch.no_grad():
        parts = [
            torch.softmax(network(part.to(device)), dim=1).double().cpu()
            for part in torch.from_numpy(test_images).split(1024)
        ]
    return np.asarray(torch.cat(parts).numpy(), dtype=np.float64)


def table_4_1_network(torch: Any, *, shape: tuple[int, ...], n_classes: int) -> Any:
    """The network of the thesis (Table 4.1). Softmax is part of the loss."""
    nn = torch.nn
    channels, *sides = shape
    # What two convolutions of 5 x 5 without padding, each halved, leave of a side.
    left = [((side - 4) // 2 - 4) // 2 for side in sides]
    if min(left) < 1:
        raise BenchmarkError(f"the network needs pictures of at least 16 x 16, and these are {sides[0]} x {sides[1]}.")
    return nn.Sequential(
        nn.Conv2d(channels, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 48, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(48 * left[0] * left[1], 100), nn.ReLU(),
        nn.Linear(100, 100), nn.ReLU(),
        nn.Linear(100, n_classes),
    )  # fmt: skip


def _channels_first(images: NDArray[np.float32]) -> NDArray[np.float32]:
    if images.ndim == 3:
        images = images[..., None]
    return np.ascontiguousarray(np.moveaxis(images, -1, 1), dtype=np.float32)


def check_torch() -> None:
    """Refuse where torch is not installed: it is large, and needed by this learner alone."""
    if importlib.util.find_spec("torch") is None:
        raise BenchmarkError("the learner cnn needs torch. Install it with: pip install 'sfumato[deep]'")


def _torch() -> Any:
    check_torch()
    return importlib.import_module("torch")


IMAGE_LEARNERS = ("cnn", "lightgbm", "logistic")
TABLE_LEARNERS = ("lightgbm", "logistic", "forest")

#: Entries of a table on which LightGBM runs in one thread.
_SMALL = 1_000_000

Fit = Callable[[Any, NDArray[np.int64]], Any]


#: From rows to class probabilities: one row each, one column a class.
Predictor = Callable[[Examples], NDArray[np.float64]]


def train_and_predict(
    learner: str, train: Examples, test: Examples, schema: Schema, *, balanced: bool = False, seed: int = 0
) -> NDArray[np.float64]:
    """Train a learner on some rows, and give its class probabilities for others: one row each, one column a class.

    Args:
        learner: `cnn`, `lightgbm`, `logistic` or `forest`.
        train: Rows to learn from, real or synthetic. The network learns from soft labels where they are given;
            the others learn from hard ones.
        test: Rows to predict.
        schema: What the columns mean.
        balanced: Whether LightGBM weighs the classes.
        seed: Of the learner's own randomness.
    """
    check_learner(learner, schema)
    if learner == "cnn":
        name = schema.images[0].name
        n_classes = schema.require_coded_target().size
        targets = train.soft if train.soft is not None else one_hot(train.label, size=n_classes).astype(np.float32)
        return cnn_probabilities(train.batch[name], targets, test.batch[name], seed=seed)
    return train_to_ask(learner, train, schema, balanced=balanced, seed=seed)(test)


def train_to_ask(learner: str, train: Examples, schema: Schema, *, balanced: bool = False, seed: int = 0) -> Predictor:
    """The same for whoever asks more than once: any learner but the network, trained."""
    check_learner(learner, schema)
    n_classes = schema.require_coded_target().size
    present = np.unique(train.label)
    if len(present) < 2:  # nothing to tell apart: what was seen is what is said
        said = one_hot(present, size=n_classes).sum(axis=0)
        return lambda asked: np.tile(said, (len(asked), 1))
    if learner == "logistic":
        design = linear_design(train.batch, schema)
        fitted = _logistic(design(train.batch), train.label)
    else:
        design = partial(tree_matrix, schema=schema)
        fit = _lightgbm(schema, balanced, seed) if learner == "lightgbm" else _forest(seed)
        fitted = fit(design(train.batch), train.label)

    def predict(asked: Examples) -> NDArray[np.float64]:
        probabilities = np.zeros((len(asked), n_classes))  # a class that was never seen gets none
        probabilities[:, fitted.classes_.astype(np.int64)] = np.asarray(fitted.predict_proba(design(asked.batch)))
        return probabilities

    return predict


def check_learner(learner: str, schema: Schema) -> None:
    """Refuse a learner that is not known, not for this kind of data, or not installed."""
    known = IMAGE_LEARNERS if schema.images else TABLE_LEARNERS
    if learner not in known:
        kind = "images" if schema.images else "tables"
        raise BenchmarkError(f"there is no learner {learner!r} for {kind}. Known: {', '.join(known)}.")
    if learner == "cnn":
        check_torch()
    if learner == "lightgbm":
        need_lightgbm()  # no other trees in its place: the figures mean LightGBM


def default_learner(schema: Schema) -> str:
    """The learner that the protocol names first."""
    return (IMAGE_LEARNERS if schema.images else TABLE_LEARNERS)[0]


def _lightgbm(schema: Schema, balanced: bool, seed: int) -> Fit:
    lightgbm = need_lightgbm()
    coded = [at for at, column in enumerate(schema.features) if column.is_coded]
    weight = "balanced" if balanced else None

    def fit(x: NDArray[Any], y: NDArray[np.int64]) -> Any:
        # Of small tables the threads would only wait for each other, for long where other work keeps the cores busy.
        threads = 1 if x.size < _SMALL else None
        learner = lightgbm.LGBMClassifier(class_weight=weight, random_state=seed, verbose=-1, n_jobs=threads)
        return learner.fit(x, y, categorical_feature=coded or "auto")

    return fit


def _forest(seed: int) -> Fit:
    from sklearn.ensemble import RandomForestClassifier

    learner = RandomForestClassifier(random_state=seed, n_jobs=-1)
    return lambda x, y: learner.fit(x, y)


def _logistic(x: Any, y: NDArray[np.int64]) -> Any:
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings(action="ignore"):  # the last digits of its optimum do not matter here
        return LogisticRegression(max_iter=300).fit(x, y)


def tree_matrix(batch: Batch, schema: Schema) -> NDArray[Any]:
    """One entry for each column: what trees take. Codes stay codes."""
    if schema.images:
        return _flat(batch, schema)
    return np.stack([batch[column.name].astype(np.float64) for column in schema.features], axis=1)


def _flat(batch: Batch, schema: Schema) -> NDArray[np.float32]:
    pixels: NDArray[np.float32] = batch[schema.images[0].name]
    return pixels.reshape(len(pixels), -1)


def linear_design(train: Batch, schema: Schema) -> Callable[[Batch], Any]:
    """What a linear learner takes: numbers in standard units of the training rows, codes as one-hot."""
    if schema.images:
        return partial(_flat, schema=schema)
    units = {column.name: _units(column, train) for column in schema.features if not column.is_coded}

    def design(batch: Batch) -> Any:
        parts: list[Any] = [
            _sparse_one_hot(batch[column.name], column.size)
            if column.is_coded
            else _standard(batch[column.name], *units[column.name], column)
            for column in schema.features
        ]
        if any(column.is_coded for column in schema.features):
            return sparse.hstack(parts, format="csr")
        return np.hstack(parts)

    return design


def _units(column: Column, train: Batch) -> tuple[float, float]:
    known = train[column.name]
    seen = known[~np.isnan(known)]
    mean = seen.mean() if len(seen) else column.centre
    return float(mean), float(seen.std()) if len(seen) and seen.std() > 0 else 1.0


def _standard(values: NDArray[np.float64], mean: float, deviation: float, column: Column) -> NDArray[np.float64]:
    absent = np.isnan(values)
    scaled = np.where(absent, 0.0, (values - mean) / deviation)
    return np.stack([scaled, absent], axis=1) if column.missing else scaled[:, None]


def _sparse_one_hot(codes: NDArray[np.int64], size: int) -> Any:
    ones = np.ones(len(codes))
    return sparse.csr_array((ones, (np.arange(len(codes)), codes)), shape=(len(codes), size))
