"""What the thesis claims, by its own program, and what is true of its two generators. No data is read."""

import math
from dataclasses import dataclass
from functools import cache

from sfumato.public.accounting import dpmix_epsilons, renoised_subset_epsilon

RECORDS, DEGREE, MIXTURES, NOISE = 60_000, 256, 10_000, 0.0711
CLASS_RECORDS, PIXELS, N_CLASSES = 6_000, 784, 10
DIAMETER = math.sqrt(PIXELS)  # of [0, 1]^784; the label is that of the loop, and no secret there


@cache
def main_epsilons() -> dict[str, float]:
    """The main run: by the published formula, and by the tight account of the same sampling."""
    found = dpmix_epsilons(
        records=RECORDS, degree=DEGREE, mixtures=MIXTURES, noise_stddev=NOISE,
        features=PIXELS, classes=N_CLASSES, delta=1 / RECORDS,
    )  # fmt: skip
    claimed = next(entry for entry in found if entry["accountant"] == "published")
    honest = next(e for e in found if e["accountant"] == "pld" and e["sampling"] == "without_replacement")
    return {"claimed": claimed["epsilon"], "honest": honest["epsilon"]}


@dataclass(frozen=True, kw_only=True)
class Classwise:
    """A setting of the curves: digits in a subset, noisy copies of its mean for each class, and their noise."""

    degree: int = 128
    copies: int = 1_200
    noise_stddev: float = 0.7

    def claimed(self) -> float:
        """The second axis of Figures 4.3 to 4.5, as the program of the thesis computes it.

        In its function B the order stands where the mixture degree belongs, so that orders above 2 explode and the minimum is
        always that of order 2. All classes together are counted as mixtures, each drawn afresh: the generator does neither.

        >>> round(Classwise().claimed(), 2)
        10.97
        """
        rate = self.degree / CLASS_RECORDS
        moment = math.exp((PIXELS + N_CLASSES) / (self.noise_stddev * self.degree) ** 2)
        renyi = math.log1p(rate**2 * min(4 * (moment - 1), 2 * moment))
        return N_CLASSES * self.copies * renyi + math.log(CLASS_RECORDS)

    def honest(self, *, delta: float = 1 / CLASS_RECORDS) -> float:
        """Of one subset whose mean is noised again and again; replace-one within the class.

        >>> round(Classwise().honest(), 1)
        80.0
        """
        return renoised_subset_epsilon(
            records=CLASS_RECORDS,
            degree=self.degree,
            copies=self.copies,
            noise_stddev=self.noise_stddev,
            diameter=DIAMETER,
            delta=delta,
        )
