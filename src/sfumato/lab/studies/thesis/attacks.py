"""Attacks on the releases of the thesis and on sound ones: was this digit used, and what does a class look like?

The thesis names both, membership inference and model inversion, and runs neither. The first is a likelihood ratio: an attacker
who holds a digit, some others of the same kind and the program asks of every mixture how much better it is explained with the
digit in it. Reads rows WITHOUT the doors.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.lab.attacks.inference import given_away, invert
from sfumato.lab.attacks.membership import by_neighbours
from sfumato.lab.attacks.roc import Attack, measure
from sfumato.lab.benchmark.examples import Examples
from sfumato.lab.studies.common.digits import Digits
from sfumato.lab.studies.common.study import Figures

Rows = NDArray[np.float64]
#: Of the variance of pixels: what keeps a covariance of a thousand digits from having no inverse.
_RIDGE = 0.02
#: Digits whose membership is guessed, on each side.
_ASKED, _DENSE = 2_000, 10_000
_HOW = "Digits that explain mixtures better than chance are taken for members."


@dataclass(frozen=True)
class Suspects:
    """Digits that were used, others that were not, and what the attacker knows of the kind."""

    members: Digits
    others: Digits
    known: Digits

    def figures(self, guessed: Attack, released: Examples, *, pixels: str, n_classes: int) -> Figures:
        """Membership inference as it was guessed, and model inversion, as they are kept."""
        pictures = invert(released, pixels, n_classes=n_classes)
        members, others = (Examples({pixels: d.images}, d.labels) for d in (self.members, self.others))
        return {**_kept(guessed, "membership"), **_kept(given_away(pictures, members, others, pixels), "inversion")}


def _kept(attack: Attack, name: str) -> dict[str, float]:
    """An area under the curve of .5 is guessing; the rate is that of members found with one false alarm in a thousand."""
    return {
        f"{name}_auc": round(attack.auc.value, 4),
        f"{name}_rate": round(attack.rate_at_low.value, 4),
        f"{name}_least_epsilon": round(attack.least_epsilon, 3),
    }


def split(digits: Digits, *, used: int, rng: np.random.Generator) -> tuple[Digits, Suspects]:
    """Digits for a release, and whom to ask for: members among them, and others and known ones among the rest."""
    order = rng.permutation(len(digits))
    inside, outside = order[:used], order[used:]
    asked = min(_ASKED, len(outside) // 2)
    some = (inside[:asked], outside[:asked], outside[asked:])
    return _take(digits, inside), Suspects(*(_take(digits, at) for at in some))


def _take(digits: Digits, at: NDArray[np.int64]) -> Digits:
    return Digits(digits.images[at], digits.labels[at])


def in_random_mixtures(mixtures: NDArray[np.float32], suspects: Suspects, *, degree: int, records: int) -> Attack:
    """By the log-likelihood ratio that a digit went into mixtures by chance.

    Mixtures are Gaussian around their mean, with the covariance that they show themselves. A digit moves a mixture by its
    distance from the mean, divided by the degree, except at pixels that were cut off.
    """
    flat = mixtures.reshape(len(mixtures), -1).astype(np.float64)
    whiten = _whitening(np.cov(flat, rowvar=False))
    seen = (flat - flat.mean(axis=0)) @ whiten
    moved, middle, rate = ((flat > 0) & (flat < 1)).mean(axis=0), suspects.known.rows.mean(axis=0), degree / records

    def score(digits: Digits) -> Rows:
        shift = (digits.rows - middle) * moved / degree @ whiten
        ratios = seen @ shift.T - 0.5 * (shift**2).sum(axis=1)
        return np.asarray(np.logaddexp(np.log1p(-rate), np.log(rate) + ratios).sum(axis=0))

    return measure("random mixtures", score(suspects.members), score(suspects.others), how=_HOW)


def in_class_means(
    copies: NDArray[np.float32],
    subsets: list[NDArray[np.int64]],
    digits: Digits,
    suspects: Suspects,
    *,
    noise_stddev: float,
) -> Attack:
    """The same for the class-wise generator, whose copies of one mean are averaged first: the members are its subsets.

    Copies lie class after class, as the program writes them.
    """
    n_classes, degree = len(subsets), len(subsets[0])
    flat = copies.reshape(n_classes, -1, digits.rows.shape[1]).astype(np.float64)
    means = _uncut(flat.mean(axis=1), noise_stddev)
    inside: list[Rows] = []
    outside: list[Rows] = []
    for c, chosen in enumerate(subsets):
        known = suspects.known.rows[suspects.known.labels == c].astype(np.float64)
        middle, noise = known.mean(axis=0), noise_stddev**2 / flat.shape[1]
        whiten = _whitening(np.cov(known, rowvar=False) / degree + noise * np.eye(known.shape[1]))
        seen = (means[c] - middle) @ whiten
        for digits_of_class, scores in (
            (digits.rows[chosen], inside),
            (suspects.others.rows[suspects.others.labels == c], outside),
        ):
            shift = (digits_of_class - middle) / degree @ whiten
            scores.append(shift @ seen - 0.5 * (shift**2).sum(axis=1))
    return measure("class means", np.concatenate(inside), np.concatenate(outside), how=_HOW)


def by_density(released: Examples, suspects: Suspects, pixels: str) -> Attack:
    """For a release that mixes nothing: are its pictures denser around a digit than those of the same kind are?"""
    flat = released.batch[pixels].reshape(len(released), -1)
    others = np.empty((2 * len(suspects.others), flat.shape[1]), dtype=np.float32)
    others[::2], others[1::2] = suspects.known.rows[: len(suspects.others)], suspects.others.rows
    return by_neighbours(suspects.members.rows, flat[:_DENSE], others)


def _uncut(means: Rows, noise_stddev: float) -> Rows:
    """The mean below the noise, of the mean of what is left when noisy values below zero are set to zero."""
    grid = np.linspace(-0.2, 1.2, 2_001)
    cut = noise_stddev * stats.norm.pdf(grid / noise_stddev) + grid * stats.norm.cdf(grid / noise_stddev)
    return np.interp(means, cut, grid)


def _whitening(covariance: Rows) -> Rows:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors / np.sqrt(np.maximum(values, 0) + _RIDGE * values.mean()))
