"""Made-up scenes as a receiver finds them: what a small network learns from a release as it is loaded, beside real pictures.

    python benchmarks/pictures.py colour grey --seeds 5 > results/pictures.jsonl

Prints one JSON object a release: the accuracy of the teacher, of the protocol's CNN on all released pictures with soft and with hard
labels, on as many as were declared, and on the real ones; and what part of the last, beyond chance, the release keeps.
"""

import argparse
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scenes import KINDS, Scenes

import sfumato as sf
from sfumato.lab.benchmark.learners import cnn_probabilities
from sfumato.public.schema.encoding import one_hot

ROWS, TESTS, CHANCE = 5_000, 3_000, 1 / len(KINDS)


def codes(rows: dict[str, NDArray[Any]]) -> NDArray[np.int64]:
    return np.array([KINDS.index(str(name)) for name in rows["label"]])


def run(kind: str, seed: int, epsilon: float, *, rows: int = ROWS) -> dict[str, Any]:
    """Seeds from a hundred on: constants were chosen on those below."""
    scenes = Scenes(colour=kind == "colour")
    train, test = scenes.draw(rows, seed=100 + seed), scenes.draw(TESTS, seed=200 + seed)
    truth, asked = codes(test), (test["image"] / 255).astype(np.float32)

    def accuracy(images: NDArray[Any], targets: NDArray[Any]) -> float:
        pictures = (np.asarray(images) / 255).astype(np.float32)
        said = cnn_probabilities(pictures, targets.astype(np.float32), asked, seed=seed)
        return round(float((said.argmax(axis=1) == truth).mean()), 4)

    budget = sf.Budget(epsilon=epsilon, delta=1e-5)
    fitted = sf.fit("auto", sf.Sensitive.read(train, scenes.schema(rows)), budget, seed=seed)
    got = fitted.sample(seed=seed)
    real = accuracy(train["image"], one_hot(codes(train), size=len(KINDS)))
    soft = accuracy(got.images, got.soft_labels)
    return {
        "scenes": kind,
        "epsilon": epsilon,
        "seed": seed,
        "declared": rows,
        "released": len(got.labels),
        "real": real,
        "soft": soft,
        "hard": accuracy(got.images, one_hot(got.labels, size=len(KINDS))),
        "as_declared": accuracy(got.images[:rows], got.soft_labels[:rows]),
        "kept": round((soft - CHANCE) / (real - CHANCE), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=["colour", "grey"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--rows", type=int, default=ROWS, help="pictures that are declared")
    options = parser.parse_args()
    for kind in options.kinds:
        for seed in range(options.seeds):
            print(json.dumps(run(kind, seed, options.epsilon, rows=options.rows)), flush=True)


if __name__ == "__main__":
    main()
