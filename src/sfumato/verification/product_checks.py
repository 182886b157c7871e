"""What is released, synthetic rows or the weights of a trained model: read with care, and built again from the doors' integers."""

from dataclasses import dataclass

import numpy as np

from sfumato.errors import ReleaseError
from sfumato.folder.contents import ARRAYS, TABLE, settled_file, synthetic_file, synthetic_of
from sfumato.folder.releasing import Release
from sfumato.folder.tensors import WEIGHTS, weights_file, weights_of
from sfumato.mechanism import Mechanism
from sfumato.model import Classifier, Synthetic, Weights, notes_of
from sfumato.outlook.warnings import model_warnings, release_warnings
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.software import WRITTEN_BY, others_than_here
from sfumato.verification.comparison import rows_differ, weights_differ
from sfumato.verification.findings import Findings
from sfumato.verification.parquet_structure import holds_more
from sfumato.verification.rebuilt import Rebuilt


@dataclass(frozen=True)
class Rows:
    """The synthetic rows as released, with the name and the content of their file."""

    name: str
    content: bytes
    synthetic: Synthetic

    @property
    def cells(self) -> int:
        """How many values or pixels they have."""
        held = self.synthetic.images if self.synthetic.table is None else self.synthetic.table
        return 0 if held is None else held.size


def read_rows(contents: dict[str, bytes], certificate: Certificate, found: Findings) -> Rows | None:
    """The released rows, as many as the certificate says, in a file that holds nothing else."""
    name = next((name for name in (TABLE, ARRAYS) if name in contents), None)
    if name is None:
        return None
    if certificate.rows is None:
        found.problems.append(f"{name} holds rows, and the certificate speaks of none.")
        return None
    garbled = f"{name} does not hold rows"
    synthetic = found.attempt(lambda: synthetic_of(name, contents[name], rows=certificate.rows), garbled=garbled)
    again = None if synthetic is None else found.attempt(lambda: synthetic_file(synthetic)[1], garbled=garbled)
    if synthetic is None or again is None:
        return None
    problems = []
    if len(synthetic) != certificate.rows:
        problems.append(f"{name} holds {len(synthetic):,} rows, and the certificate speaks of {certificate.rows:,}.")
    if again != contents[name]:
        others = others_than_here(certificate.software, WRITTEN_BY) if name == TABLE else []
        more: str | None = "it is not what sfumato writes"
        if others:
            more = holds_more(contents[name], again, software=certificate.software)
        if more:
            problems.append(f"{name} holds something besides its rows: {more}.")
        else:
            found.declared.append(
                f"how the rows in {name} are packed: by {' and '.join(others)}, which this computer does not have. Its columns, "
                "notes and sizes were looked through, and whoever wants to be sure of the rest installs these versions"
            )
    found.settle(problems, checked=f"there are {len(synthetic):,} synthetic rows, as the certificate says")
    return None if problems else Rows(name, contents[name], synthetic)


def rebuild_rows(release: Release, mechanism: Mechanism, rows: Rows) -> Rebuilt:
    """Build the model and its rows again."""
    model, schema, plan = release.model(), release.schema, release.plan()
    if isinstance(model, Classifier):
        raise ReleaseError("its mechanism trains a model and gives no rows.")
    name, content, again = settled_file(model.sample(len(rows.synthetic), seed=release.certificate.seed))
    return Rebuilt(
        what="the synthetic rows",
        is_same=(name, content) == (rows.name, rows.content),
        difference=rows_differ(rows.synthetic, again, schema),
        warnings=release_warnings(schema=schema, plan=plan, mechanism=mechanism, model=model, synthetic=rows.synthetic),
        notes=notes_of(model),
    )


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
