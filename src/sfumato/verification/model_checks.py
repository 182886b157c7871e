"""The weights of a trained model, read with care and trained again from the doors' integers."""

import numpy as np

from sfumato.errors import ReleaseError
from sfumato.folder.releasing import Release
from sfumato.folder.tensors import WEIGHTS, weights_file, weights_of
from sfumato.model import Classifier, Weights, notes_of
from sfumato.outlook.warnings import model_warnings
from sfumato.public.certificate.certificate import Certificate
from sfumato.verification.comparison import weights_differ
from sfumato.verification.findings import Findings
from sfumato.verification.rebuilt import Rebuilt


def read_weights(contents: dict[str, bytes], certificate: Certificate, found: Findings) -> Weights | None:
    """The released weights, all of them finite, in a file that holds nothing else."""
    weights = found.attempt(lambda: weights_of(contents[WEIGHTS]), garbled=f"{WEIGHTS} does not hold weights")
    if weights is None:
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


def rebuild_weights(release: Release, released: Weights) -> Rebuilt:
    """Train again from the doors' answers."""
    model = release.model()
    if not isinstance(model, Classifier):
        raise ReleaseError("its mechanism trains none.")
    return Rebuilt(
        what="the weights",
        is_same=weights_file(model.weights) == weights_file(released),  # and that is the file, to the byte
        difference=weights_differ(released, model.weights),
        warnings=model_warnings(schema=release.schema, plan=release.plan(), model=model),
        notes=notes_of(model),
    )
