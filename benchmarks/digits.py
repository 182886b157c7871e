"""Few and small images: scikit-learn's digits, 1,257 of 8 x 8 in ten classes to release, 540 to test, LightGBM.

    python benchmarks/digits.py --seeds 3

Prints one JSON object: accuracy with as many images as were given and with 8,000, at epsilon 1 and 4; seconds; memory.
"""

import argparse
import json
import resource
import statistics
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import sfumato as sf
from sfumato.learn.boosted_trees import need_lightgbm

TEST, MANY, EPSILONS = 540, 8_000, (1.0, 4.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    digits = load_digits()
    images, held, labels, truth = train_test_split(
        digits.images, digits.target, test_size=TEST, random_state=0, stratify=digits.target
    )
    columns = (
        sf.Column(name="image", kind="image", shape=(8, 8), bounds=(0, 16)),
        sf.Column(name="label", kind="categorical", categories=tuple(str(digit) for digit in range(10))),
    )
    schema = sf.Schema(columns=columns, target="label", rows=len(images))
    sensitive = sf.Sensitive.read({"image": images, "label": labels.astype(str)}, schema)
    report = {}
    for epsilon in EPSILONS:
        found: dict[int, list[float]] = {len(images): [], MANY: []}
        start = time.process_time()
        for seed in range(options.seeds):
            fitted = sf.fit("auto", sensitive, sf.Budget(epsilon=epsilon, delta=1e-5), seed=seed)
            for n_rows, scores in found.items():
                released = fitted.sample(n_rows, seed=seed)
                learner = need_lightgbm().LGBMClassifier(verbose=-1, n_jobs=1, random_state=seed)
                learner.fit(np.asarray(released.images).reshape(n_rows, -1), released.labels)
                scores.append(float((learner.predict(held.reshape(TEST, -1)) == truth).mean()))
        report[f"epsilon {epsilon:g}"] = {
            **{f"{n_rows} rows": round(statistics.mean(scores), 4) for n_rows, scores in found.items()},
            "processor_seconds_each": round((time.process_time() - start) / options.seeds, 1),
        }
    report["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(report))


if __name__ == "__main__":
    main()
