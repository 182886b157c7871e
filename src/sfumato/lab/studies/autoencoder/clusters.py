"""Groups as the report makes them: k-means over the raw rows in place of labels. Every centre is a function of all rows."""

import numpy as np

from sfumato.lab.studies.common.digits import Digits
from sfumato.lab.studies.common.study import Figures


def kmeans_groups(digits: Digits, *, n_groups: int, seeds: int) -> Figures:
    """For each seed, the part of the rows whose digit is the most frequent one of their group, and how many digits lead none."""
    from sklearn.cluster import MiniBatchKMeans

    pure, without = [], []
    for seed in range(seeds):
        group = MiniBatchKMeans(n_groups, random_state=seed, n_init=3, batch_size=4096).fit_predict(digits.rows)
        counts = np.zeros((n_groups, int(digits.labels.max()) + 1), dtype=np.int64)
        np.add.at(counts, (group, digits.labels), 1)
        pure.append(round(float(counts.max(axis=1).sum() / len(digits)), 4))
        without.append(int(counts.shape[1] - len(set(counts.argmax(axis=1)))))
    return {"pure": pure, "digits that lead no group": without, "images": len(digits)}
