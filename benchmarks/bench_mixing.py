"""DPMix on MNIST (T = 10000, l = 256) against the published loop and against torch's embedding_bag.

Ours is the whole of `DPMix.measure` through a View: coins, encoding, clipping, quantising, sums and secure noise, from
the uint8 arrays to the released means. The published loop (Appendix A.1 of the thesis) multiplies the float64 matrix
by a dense weight vector for each mixture; a few mixtures are timed and scaled to T. `embedding_bag` starts from a
float32 table that is already made; it draws its rows with replacement, the cheapest way, and adds numpy's noise.
"""

import gzip
from pathlib import Path

import numpy as np
from timing import best_seconds, in_child, memory_of, report

from sfumato import Budget, Column, Schema, Sensitive, plan
from sfumato.errors import SourceError
from sfumato.extending import NoiseSource, Plan
from sfumato.lab.benchmark.datasets import find
from sfumato.mechanisms import DPMix
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.view import View

ROWS, PIXELS, CLASSES = 60_000, 784, 10
MIXTURES, DEGREE = 10_000, 256
LOOP_MIXTURES = 20
ROUNDS = 6
SCHEMA = Schema(
    columns=(
        Column(name="image", kind="image", shape=(28, 28)),
        Column(name="label", kind="categorical", categories=tuple("0123456789")),
    ),
    target="label",
    rows=ROWS,
)


def mnist() -> tuple[str, np.ndarray, np.ndarray]:
    """The training rows as uint8 arrays, or random ones of the same size where SFUMATO_DATA is not set."""
    try:
        images, labels, *_ = find("mnist")
    except SourceError:
        rng = np.random.default_rng(0)
        pixels = rng.integers(256, size=(ROWS, 28, 28), dtype=np.uint8)
        return "random images of MNIST's size", pixels, rng.integers(CLASSES, size=ROWS, dtype=np.uint8)
    return "MNIST", _idx(images, 16).reshape(ROWS, 28, 28), _idx(labels, 8)


def _idx(path: Path, header: int) -> np.ndarray:
    return np.frombuffer(gzip.decompress(path.read_bytes()), dtype=np.uint8, offset=header)


def measure(mechanism: DPMix, planned: Plan, data: Sensitive) -> None:
    view = View(data, plan=planned, primitives=Primitives(NoiseSource()), schema=SCHEMA)
    mechanism.measure(view, SCHEMA)


def published_loop(features: np.ndarray, labels: np.ndarray, *, mixtures: int, sigma: float) -> tuple[np.ndarray, ...]:
    """The loop of the thesis, line for line, with its legacy generator."""
    n, width, n_classes = *features.shape, labels.shape[1]
    mixed_features, mixed_labels = np.zeros((mixtures, width)), np.zeros((mixtures, n_classes))
    for t in range(mixtures):
        indices = np.random.choice(n, DEGREE, replace=False)  # noqa: NPY002
        weights = np.zeros(n)
        weights[indices] = 1 / DEGREE
        feature_noise = np.random.normal(0, sigma, width)  # noqa: NPY002
        label_noise = np.random.normal(0, sigma, n_classes)  # noqa: NPY002
        mixed_features[t] = features.T @ weights + feature_noise
        mixed_labels[t] = labels.T @ weights + label_noise
    return mixed_features, mixed_labels


def float32_table(images: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Pixels in [0, 1] and one-hot labels side by side, as `embedding_bag` wants them."""
    table = np.empty((len(images), PIXELS + CLASSES), dtype=np.float32)
    np.divide(images.reshape(-1, PIXELS), 255, out=table[:, :PIXELS])
    table[:, PIXELS:] = np.eye(CLASSES, dtype=np.float32)[labels]
    return table


def embedding_bag(table, rng: np.random.Generator, *, sigma: float) -> np.ndarray:
    from torch import from_numpy
    from torch.nn.functional import embedding_bag

    members = rng.integers(len(table), size=(MIXTURES, DEGREE))
    means = embedding_bag(from_numpy(members), table, mode="mean").numpy()
    means += rng.normal(0, sigma, size=means.shape)
    return means


def memory_while_mixing() -> dict[str, float]:
    """Run in a fresh process, without torch and without the published loop's matrices."""
    _, images, labels = mnist()
    data = Sensitive.read((images, labels), SCHEMA)
    few = DPMix(mixtures=10, degree=DEGREE)
    measure(few, plan(few, SCHEMA, Budget(1.0, 1 / ROWS)).plan, data)  # loads the compiled kernels
    mechanism = DPMix(mixtures=MIXTURES, degree=DEGREE)
    planned = plan(mechanism, SCHEMA, Budget(1.0, 1 / ROWS)).plan
    return memory_of(lambda: measure(mechanism, planned, data))


def main() -> None:
    memory = in_child(memory_while_mixing)
    import torch

    source, images, labels = mnist()
    data = Sensitive.read((images, labels), SCHEMA)
    mechanism = DPMix(mixtures=MIXTURES, degree=DEGREE)
    planned = plan(mechanism, SCHEMA, Budget(1.0, 1 / ROWS)).plan
    sigma = planned.noise_stddev("mixtures", "features") / DEGREE
    table = torch.from_numpy(float32_table(images, labels))
    features, one_hot = images.reshape(-1, PIXELS) / 255, np.eye(CLASSES)[labels]
    rng = np.random.default_rng(0)
    alternatives = {
        "ours": lambda: measure(mechanism, planned, data),
        "embedding_bag": lambda: embedding_bag(table, rng, sigma=sigma),
        "float32_table": lambda: float32_table(images, labels),
        "published_loop": lambda: published_loop(features, one_hot, mixtures=LOOP_MIXTURES, sigma=sigma),
    }
    best_seconds({name: alternatives[name] for name in ("ours", "embedding_bag")}, rounds=1)  # warm up
    cores: dict[str, float] = {}
    seconds = best_seconds(alternatives, rounds=ROUNDS, cores=cores)
    seconds["published_loop"] *= MIXTURES / LOOP_MIXTURES
    with_table = seconds["embedding_bag"] + seconds["float32_table"]
    report(
        {
            "benchmark": "mixing",
            "data": source,
            "mixtures": MIXTURES,
            "degree": DEGREE,
            "noise_stddev": sigma,
            "threads": torch.get_num_threads(),
            "cores": cores,
            "seconds": seconds,
            "published_loop_timed_mixtures": LOOP_MIXTURES,
            "speedup_over_published_loop": seconds["published_loop"] / seconds["ours"],
            "ours_over_embedding_bag": seconds["ours"] / seconds["embedding_bag"],
            "ours_over_embedding_bag_and_its_table": seconds["ours"] / with_table,
            "memory": memory,
            "targets": {
                "speedup_over_published_loop": ">= 200",
                "ours_over_embedding_bag": "<= 2",
                "memory.peak_mb": "< 1000",
            },
        }
    )


if __name__ == "__main__":
    main()
