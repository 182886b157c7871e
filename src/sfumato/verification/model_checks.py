"""The weights of a trained model and its report, made again from what the folder holds."""

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ReleaseError, SfumatoError
from sfumato.folder import GARBLED, Release, model_report_of
from sfumato.model import Classifier, Weights, notes_of
from sfumato.outlook.warnings import model_warnings
from sfumato.public.answers import Answers
from sfumato.public.certificate import Certificate
from sfumato.public.schema import Schema
from sfumato.safetensors_file import WEIGHTS, weights_file, weights_of
from sfumato.verification.comparison import MOST_DIFFERENT
from sfumato.verification.findings import Findings
from sfumato.verification.plan_checks import Recomputed
from sfumato.verification.row_checks import QUICK_NUMBERS, compare_report

#: Learners that practise on what they measured: minutes, whatever the size.
SLOW = ("scattering",)
#: Weights this close are the same, in units of the largest of their array: rounding goes through all steps of a training.
_CLOSE = 1e-3


def read_weights(contents: dict[str, bytes], certificate: Certificate, found: Findings) -> Weights | None:
    """The released weights, all of them finite, in a file that holds nothing else."""
    try:
        weights = weights_of(contents[WEIGHTS])
    except SfumatoError as error:
        found.problems.append(str(error))
        return None
    except GARBLED as error:
        found.problems.append(f"{WEIGHTS} does not hold weights ({type(error).__name__}).")
        return None
    problems = []
    if certificate.rows is not None:
        problems.append(f"the certificate speaks of {certificate.rows:,} rows, and the folder holds a trained model.")
    if weights_file(weights) != contents[WEIGHTS]:
        problems.append(f"{WEIGHTS} holds something besides the weights, or writes them as sfumato does not.")
    if not all(np.isfinite(values).all() for values in weights.values()):
        problems.append(f"{WEIGHTS} holds a weight that is no finite number.")
    n_weights = sum(values.size for values in weights.values())
    found.settle(problems, checked=f"{WEIGHTS} holds {n_weights:,} finite numbers, and nothing else")
    return None if problems else weights


def is_quick_model(certificate: Certificate, planned: Recomputed) -> bool:
    """Whether training again from the doors' answers takes seconds, judged by public facts."""
    numbers = sum(step.width * step.mixtures * step.groups * step.uses for step in planned.plan.steps)
    return numbers <= QUICK_NUMBERS and certificate.mechanism.name not in SLOW


def rebuild_weights(release: Release, released: Weights, found: Findings) -> float | None:
    """Train again from the doors' answers. Returns the part of the weights that differ."""
    certificate = release.certificate
    try:
        model = release.model()
        if not isinstance(model, Classifier):
            raise ReleaseError("its mechanism trains none.")
        share = share_different(released, model.weights)
        warnings = model_warnings(schema=release.schema, plan=release.plan(), model=model)
        notes = notes_of(model)
    except SfumatoError as error:
        found.problems.append(f"the model cannot be trained again: {error}")
        return None
    except GARBLED as error:
        found.problems.append(f"the model cannot be trained again ({type(error).__name__}).")
        return None
    problems = []
    if not share <= MOST_DIFFERENT:
        problems.append(
            f"the weights are not those that the doors' integers lead to: {share:.2%} of them differ, and rounding on another "
            f"processor explains {MOST_DIFFERENT:.2%} at most."
        )
    elif share:
        found.declared.append(f"{share:.2g} of the weights: they differ when they are computed here, as rounding may")
    found.settle(problems, checked="the weights follow from the doors' integers, and hold nothing else")
    found.settle(
        [] if warnings == certificate.warnings else ["the warnings are not those that follow from the release."],
        checked="the warnings are those that follow from the release, none left out",
    )
    found.settle(
        [] if notes == certificate.notes else ["the notes are not those that follow from the doors' integers."],
        checked="the notes are those that follow from the doors' integers, none left out",
    )
    return share


def share_different(a: Weights, b: Weights) -> float:
    """The part of all weights in which two models differ by more than a rounding error; 1 where shapes differ.

    >>> share_different({"w": np.array([1.0, 2.0])}, {"w": np.array([1.0, 2.1])})
    0.5
    """
    if list(a) != list(b) or any(a[name].shape != b[name].shape or a[name].dtype != b[name].dtype for name in a):
        return 1.0
    size = sum(values.size for values in a.values())
    return sum(_n_different(a[name], b[name]) for name in a) / max(1, size)


def _n_different(x: NDArray[np.generic], y: NDArray[np.generic]) -> int:
    if x.dtype.kind != "f":
        return int((x != y).sum())
    within = _CLOSE * float(np.abs(x).max(initial=0.0))
    return int((~(np.abs(x.astype(np.float64) - y.astype(np.float64)) <= within)).sum())


def check_model_report(
    contents: dict[str, bytes], certificate: Certificate, schema: Schema, answers: Answers, found: Findings
) -> None:
    """Make the page again."""
    compare_report(
        contents,
        certificate,
        lambda: model_report_of(certificate, schema=schema, answers=answers),
        found,
        given="certificate, schema and answers",
    )
