"""What the thesis claims, by its own program, and what is true of its two generators. No data is read."""

import math

from sfumato.public.accounting import dpmix_epsilons, renoised_subset_epsilon

RECORDS, DEGREE, MIXTURES, NOISE = 60_000, 256, 10_000, 0.0711
CLASS_RECORDS, PIXELS, N_CLASSES = 6_000, 784, 10
DIAMETER = math.sqrt(PIXELS)  # of [0, 1]^784; the label is that of the loop, and no secret there


def main_epsilons() -> dict[str, float]:
    """The main run: by the published formula, and by the tight account of the same sampling."""
    found = dpmix_epsilons(
        records=RECORDS, degree=DEGREE, mixtures=MIXTURES, noise_stddev=NOISE,
        features=PIXELS, classes=N_CLASSES, delta=1 / RECORDS,
    )  # fmt: skip
    claimed = next(entry for entry in found if entry["accountant"] == "published")
    honest = next(e for e in found if e["accountant"] == "pld" and e["sampling"] == "without_replacement")
    return {"claimed": claimed["epsilon"], "honest": honest["epsilon"]}


def claimed_classwise(*, degree: int, copies: int, noise_stddev: float) -> float:
    """The second axis of Figures 4.3 to 4.5, as the program of the thesis computes it.

    In its function B the order stands where the mixture degree belongs, so that orders above 2 explode and the minimum is always
    that of order 2. All classes together are counted as mixtures, each drawn afresh: neither is what the generator does.

    >>> round(claimed_classwise(degree=128, copies=1200, noise_stddev=0.7), 2)
    10.97
    """
    mixtures, rate = N_CLASSES * copies, degree / CLASS_RECORDS
    moment = math.exp((PIXELS + N_CLASSES) / (noise_stddev * degree) ** 2)
    renyi = math.log1p(rate**2 * min(4 * (moment - 1), 2 * moment))
    return mixtures * renyi + math.log(CLASS_RECORDS)


def honest_classwise(*, degree: int, copies: int, noise_stddev: float, delta: float = 1 / CLASS_RECORDS) -> float:
    """Of one subset whose mean is noised again and again; replace-one within the class.

    >>> round(honest_classwise(degree=128, copies=1200, noise_stddev=0.7), 1)
    80.0
    """
    return renoised_subset_epsilon(
        records=CLASS_RECORDS,
        degree=degree,
        copies=copies,
        noise_stddev=noise_stddev,
        diameter=DIAMETER,
        delta=delta,
    )
