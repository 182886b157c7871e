"""The learners of the protocol, with the settings that it fixes; for images a small network of two convolutions."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.errors import PlanError
from sfumato.lab.benchmark.datasets import BenchmarkError
from sfumato.lab.benchmark.examples import Examples
from sfumato.learn.boosted_trees import need_lightgbm
from sfumato.public.machine.torch_extra import default_device, need_torch
from sfumato.public.schema.encoding import one_hot
from sfumato.public.schema.schema import Batch, Column, Schema

EPOCHS, BATCH, LEARNING_RATE = 10, 256, 1e-3


def cnn_probabilities(
    images: NDArray[np.float32], targets: NDArray[np.float32], test_images: NDArray[np.float32], *, seed: int
) -> NDArray[np.float64]:
    """Train on pictures in [0, 1] and give the class probabilities of others.

    Adam with a cosine decay to zero over all steps, cross-entropy against `targets`, which hold one probability for
    each class. Runs on a GPU where torch finds one.
    """
    torch, device = need_torch("the learner cnn"), default_device()
    pictures, asked = (torch.from_numpy(_channels_first(part)) for part in (images, test_images))
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = table_4_1_network(torch, shape=pictures.shape[1:], n_classes=targets.shape[1]).to(device)
        order = torch.Generator().manual_seed(seed)
        x, y = pictures.to(device), torch.from_numpy(targets).to(device)
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
            parts = [torch.softmax(network(part.to(device)), dim=1).double().cpu() for part in asked.split(1024)]
        return np.asarray(torch.cat(parts).numpy(), dtype=np.float64)
    except torch.cuda.OutOfMemoryError:
        raise BenchmarkError(
            "the GPU has no memory left for the network. Free it, or hide it with CUDA_VISIBLE_DEVICES= ."
        ) from None


def _channels_first(images: NDArray[np.float32]) -> NDArray[np.float32]:
    planes = images[..., None] if images.ndim == 3 else images
    return np.ascontiguousarray(planes.transpose(0, 3, 1, 2), dtype=np.float32)


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


IMAGE_LEARNERS = ("cnn", "lightgbm", "logistic")
TABLE_LEARNERS = ("lightgbm", "logistic", "forest")

#: Entries of a table on which LightGBM runs in one thread.
_SMALL = 1_000_000

#: From rows to class probabilities: one row each, one column a class.
Predictor = Callable[[Examples], NDArray[np.float64]]


def train_and_predict(
    learner: str, train: Examples, test: Examples, schema: Schema, *, balanced: bool = False, seed: int = 0
) -> NDArray[np.float64]:
    """Train a learner on some rows, and give its class probabilities for others: one row each, one column a class.

    The network learns from soft labels where they are given, the others from hard ones. `balanced`: LightGBM weighs the
    classes.
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
    fitted, design = fit_learner(learner, train.batch, train.label, schema, balanced=balanced, seed=seed)

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
        try:
            need_torch("the learner cnn")
        except PlanError as refusal:
            raise BenchmarkError(str(refusal)) from None
    if learner == "lightgbm":
        need_lightgbm()  # no other trees in its place: the figures mean LightGBM


def default_learner(schema: Schema) -> str:
    """The learner that the protocol names first."""
    return (IMAGE_LEARNERS if schema.images else TABLE_LEARNERS)[0]


def fit_learner(
    learner: str,
    rows: Batch,
    y: NDArray[Any],
    schema: Schema,
    *,
    of_numbers: bool = False,
    balanced: bool = False,
    seed: int = 0,
) -> tuple[Any, Callable[[Batch], Any]]:
    """A trained learner of classes or of numbers, and the matrix that it takes rows as."""
    from sklearn import ensemble, linear_model

    if learner in ("logistic", "linear"):
        design = linear_design(rows, schema)
        linear = linear_model.Ridge(alpha=1.0) if of_numbers else linear_model.LogisticRegression(max_iter=300)
        with warnings.catch_warnings(action="ignore"):  # the last digits of its optimum do not matter here
            return linear.fit(design(rows), y), design
    design = partial(tree_matrix, schema=schema)
    x = design(rows)
    if learner == "forest":
        forest = ensemble.RandomForestRegressor if of_numbers else ensemble.RandomForestClassifier
        return forest(random_state=seed, n_jobs=-1).fit(x, y), design
    trees = need_lightgbm().LGBMRegressor if of_numbers else need_lightgbm().LGBMClassifier
    # Of small tables the threads would only wait for each other, for long where other work keeps the cores busy.
    threads = 1 if of_numbers or x.size < _SMALL else None
    boosted = trees(class_weight="balanced" if balanced else None, random_state=seed, verbose=-1, n_jobs=threads)
    coded = [at for at, column in enumerate(schema.features) if column.is_coded]
    return boosted.fit(x, y, categorical_feature=coded or "auto"), design


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

    def part(batch: Batch, column: Column) -> Any:
        values = batch[column.name]
        if column.is_coded:
            each = np.arange(len(values))
            return sparse.csr_array((np.ones(len(values)), (each, values)), shape=(len(values), column.size))
        mean, deviation = units[column.name]
        absent = np.isnan(values)
        scaled = np.where(absent, 0.0, (values - mean) / deviation)
        return np.stack([scaled, absent], axis=1) if column.missing else scaled[:, None]

    def design(batch: Batch) -> Any:
        parts = [part(batch, column) for column in schema.features]
        return sparse.hstack(parts, format="csr") if any(map(sparse.issparse, parts)) else np.hstack(parts)

    return design


def _units(column: Column, train: Batch) -> tuple[float, float]:
    known = train[column.name]
    seen = known[~np.isnan(known)]
    mean = seen.mean() if len(seen) else column.centre
    return float(mean), float(seen.std()) if len(seen) and seen.std() > 0 else 1.0
