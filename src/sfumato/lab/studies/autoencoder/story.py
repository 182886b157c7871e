"""The page of the autoencoder report."""

from collections.abc import Sequence

from sfumato.lab.studies.task import Found, Line

WEIGHT_NOISE, CLASSIFIER_NOISE = 0.1, 0.05
#: The report names no epsilon, so the sound method is run at these.
SOUND_EPSILONS = (1.0, 8.0)
_BEFORE, _AFTER, _MSE = 0.936, 0.7627, 0.0036
_KEY = "as published"


def lines_of(found: Found) -> Sequence[Line]:
    """The report has two figures; which noise the second belongs to it does not say."""
    sound = "; ".join(f"`dp-syn` {found.percent(f'dp-syn {e:g}')} at {e:g}" for e in SOUND_EPSILONS)
    return [
        Line(
            what="classifier on raw rows",
            published=f"{100 * _BEFORE:.1f} %",
            here=found.percent(_KEY, "before"),
            honest="none",
            sound="-",
        ),
        Line(
            what=f"on decoded rows, weight noise {WEIGHT_NOISE:g}",
            published=f"{100 * _AFTER:.1f} % after noise",
            here=found.percent(_KEY, "noisy rows"),
            honest="infinite",
            sound=sound,
        ),
        Line(
            what=f"classifier with weight noise {CLASSIFIER_NOISE:g}",
            published="the same figure, or none",
            here=found.percent(_KEY, "noisy classifier"),
            honest="not bounded",
            sound="-",
        ),
    ]


def story_of(found: Found) -> str:
    """All of it."""
    error = found.get(_KEY, "mse")
    told = "to be run" if error is None else f"{error:.4f}{found.mark(_KEY)}"
    sheets = "\n\n".join(
        f"![dp-syn at epsilon {e:g}](autoencoder-dp-syn-{e:g}.png)" for e in SOUND_EPSILONS if f"dp-syn {e:g}" in found
    )
    return f"""
## What was published

A course report trains an autoencoder: a network that squeezes a digit of 784 pixels into 64 numbers and draws it again. Its error
was {_MSE}; here it is {told}. Then Gaussian noise of {WEIGHT_NOISE:g} is added to all weights, every training digit is sent through the
noisy network, and the outcome is called a private dataset; the labels stay as they are. A classifier of five dense layers names
93.6 % of the digits before noise and 76.27 % after it. The report names no epsilon: the noise is "sensitivity / epsilon", with neither.

![Digits, decoded, and decoded with noise](autoencoder-published.png)

## What is true of it

* **There is no privacy at all.** Row i of the release is a function of raw row i. Whoever changes that digit changes that row, with
  certainty: epsilon is infinite for every delta below 1, however large the noise in the weights. A private encoder would not help: what
  it makes of a person's row is still about that person.
* Tried: of 1,000 released rows, an adversary who has the noisy network and 1,000 candidates finds the right one for
  {found.percent(_KEY, "linked")}; one who knows the weights only before noise, for
  {found.percent(_KEY, "linked by the plain network")} (chance: .1 %).
* Labels are released raw, weights were chosen by the test set, and the gradients of the training are neither clipped nor noised, though the
  text says so. After 100 epochs of Adam nobody knows how far one row moves a weight, so no noise in them has an epsilon.
* The dense layers have no activation between them: together they are one linear rule.

## Made sound

`dp-syn` has what the report describes: an autoencoder, and a mixture of its codes for each class, from which *new* codes are drawn.
Both are measured through the doors, classes and labels too, and no row is decoded from anybody's code. The table has the figures
of the report's classifier on such rows, tested on clean digits; delta 1e-5, one row added or removed.

{sheets}

## What is assumed

Networks, optimiser and epochs are those of the report's program, in torch. Classifiers are tested after the last epoch, and not at the
best one on the test set, as there. It is left open whether 76.27 % belongs to the noise in the autoencoder or to a later one of
{CLASSIFIER_NOISE:g} in the classifier: both are run. A quick run has 6,000 digits and few epochs.
"""
