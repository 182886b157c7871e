"""The weights of a trained model, read with care and trained again from the doors' integers."""

import numpy as np

from sfumato.errors import ReleaseError, SfumatoError
from sfumato.folder.releasing import GARBLED, Release
from sfumato.folder.tensors import WEIGHTS, weights_file, weights_of
from sfumato.model import Classifier, Weights, notes_of
from sfumato.outlook.warnings import model_warnings
from sfumato.public.certificate.certificate import Certificate
from sfumato.verification.comparison import weights_differ
from sfumato.verification.findings import Findings
from sfumato.verification.plan_checks import Recomputed
from sfumato.verification.rebuilt import Rebuilt, settle_rebuilt
from sfumato.verification.row_checks import QUICK_NUMBERS

#: Learners that practise on what they measured: minutes, whatever the size.
SLOW = ("scattering",)


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
    """Train again from the doors' answers. Returns the part of the weights that differ by more than rounding."""
    certificate = release.certificate
    try:
        model = release.model()
        if not isinstance(model, Classifier):
            raise ReleaseError("its mechanism trains none.")
        rebuilt = Rebuilt(
            what="the weights",
            is_same=weights_file(model.weights) == weights_file(released),  # and that is the file, to the byte
            difference=weights_differ(released, model.weights),
            warnings=model_warnings(schema=release.schema, plan=release.plan(), model=model),
            notes=notes_of(model),
        )
    except SfumatoError as error:
        found.problems.append(f"the model cannot be trained again: {error}")
        return None
    except GARBLED as error:
        found.problems.append(f"the model cannot be trained again ({type(error).__name__}).")
        return None
    settle_rebuilt(rebuilt, certificate, found)
    return rebuilt.difference.share
