"""Table 1 of the paper: LightGBM on releases at epsilon 1; AUC, and accuracy for MNIST."""

EPSILON = 1.0
COLUMNS = ("real", "dp-gan", "pate-gan", "ads-gan", "dp-merf", "clustmix")
TABLE_1 = {
    "adult": (0.931, 0.511, 0.732, 0.821, 0.650, 0.863),
    "census": (0.952, 0.529, 0.544, 0.856, 0.686, 0.906),
    "credit": (0.973, 0.435, 0.739, 0.911, 0.772, 0.969),
    "isolet": (0.988, 0.618, 0.529, 0.924, 0.547, 0.903),
    "mnist": (0.972, 0.403, 0.563, 0.710, 0.650, 0.818),
}
#: What the paper runs on hospital data that nobody may hand on is run on this instead; it has no published figure.
UNPUBLISHED = ("diabetes130",)
DATASETS = (*TABLE_1, *UNPUBLISHED)


def in_table(dataset: str, column: str) -> float | None:
    """A figure of the table.

    >>> in_table("adult", "clustmix"), in_table("diabetes130", "clustmix")
    (0.863, None)
    """
    return TABLE_1[dataset][COLUMNS.index(column)] if dataset in TABLE_1 else None
