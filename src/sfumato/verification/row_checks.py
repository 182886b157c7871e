"""The synthetic rows, read with care and built again from the doors' integers."""

from dataclasses import dataclass

from sfumato.errors import ReleaseError, SfumatoError
from sfumato.folder.contents import ARRAYS, TABLE, settled_file, synthetic_file, synthetic_of
from sfumato.folder.releasing import GARBLED, Release
from sfumato.model import Classifier, Synthetic, notes_of
from sfumato.outlook.warnings import release_warnings
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.software import WRITTEN_BY, others_than_here
from sfumato.verification.comparison import rows_differ
from sfumato.verification.findings import Findings
from sfumato.verification.parquet_structure import holds_more
from sfumato.verification.plan_checks import Recomputed
from sfumato.verification.rebuilt import Rebuilt, settle_rebuilt

#: Up to so many synthetic cells and noisy numbers, building again takes seconds and is done unasked.
QUICK_CELLS, QUICK_NUMBERS = 4_000_000, 2_000_000
#: Mechanisms that train on what they measured: minutes, whatever the size.
SLOW = ("3a-image", "aim", "clustmix", "dp-gan", "dp-kip", "dp-merf", "kip", "pate-gan")


@dataclass(frozen=True)
class Rows:
    """The synthetic rows as released, with the name and the content of their file."""

    name: str
    content: bytes
    synthetic: Synthetic


def read_rows(contents: dict[str, bytes], certificate: Certificate, found: Findings) -> Rows | None:
    """The released rows, as many as the certificate says, in a file that holds nothing else."""
    name = next((name for name in (TABLE, ARRAYS) if name in contents), None)
    if name is None:
        return None
    if certificate.rows is None:
        found.problems.append(f"{name} holds rows, and the certificate speaks of none.")
        return None
    try:
        synthetic = synthetic_of(name, contents[name], rows=certificate.rows)
        again = synthetic_file(synthetic)[1]
    except SfumatoError as error:
        found.problems.append(str(error))
        return None
    except GARBLED as error:
        found.problems.append(f"{name} does not hold rows ({type(error).__name__}).")
        return None
    problems = []
    if len(synthetic) != certificate.rows:
        problems.append(f"{name} holds {len(synthetic):,} rows, and the certificate speaks of {certificate.rows:,}.")
    if again != contents[name]:
        others = others_than_here(certificate.software, WRITTEN_BY) if name == TABLE else []
        more = (
            holds_more(contents[name], again, software=certificate.software)
            if others
            else "it is not what sfumato writes"
        )
        if more:
            problems.append(f"{name} holds something besides its rows: {more}.")
        else:
            found.declared.append(
                f"how the rows in {name} are packed: by {' and '.join(others)}, which this computer does not have. Its columns, "
                "notes and sizes were looked through, and whoever wants to be sure of the rest installs these versions"
            )
    found.settle(problems, checked=f"there are {len(synthetic):,} synthetic rows, as the certificate says")
    return None if problems else Rows(name, contents[name], synthetic)


def is_quick(certificate: Certificate, planned: Recomputed, rows: Rows) -> bool:
    """Whether building the rows again takes seconds, judged by public facts."""
    synthetic = rows.synthetic
    held = synthetic.images if synthetic.table is None else synthetic.table
    cells = 0 if held is None else held.size
    numbers = sum(step.width * step.mixtures * step.groups * step.uses for step in planned.plan.steps)
    return cells <= QUICK_CELLS and numbers <= QUICK_NUMBERS and certificate.mechanism.name not in SLOW


def rebuild_rows(release: Release, planned: Recomputed, rows: Rows, found: Findings) -> float | None:
    """Build the model and its rows again. Returns the part of the cells that differ by more than rounding."""
    certificate, released = release.certificate, rows.synthetic
    try:
        model = release.model()
        if isinstance(model, Classifier):
            raise ReleaseError("its mechanism trains a model and gives no rows.")
        name, content, again = settled_file(model.sample(len(released), seed=certificate.seed))
        rebuilt = Rebuilt(
            what="the synthetic rows",
            is_same=(name, content) == (rows.name, rows.content),
            difference=rows_differ(released, again, release.schema),
            warnings=release_warnings(
                schema=release.schema,
                plan=certificate.plan(),
                mechanism=planned.mechanism,
                model=model,
                synthetic=released,
            ),
            notes=notes_of(model),
        )
    except SfumatoError as error:
        found.problems.append(f"the synthetic rows cannot be built again: {error}")
        return None
    except GARBLED as error:
        found.problems.append(f"the synthetic rows cannot be built again ({type(error).__name__}).")
        return None
    settle_rebuilt(rebuilt, certificate, found)
    return rebuilt.difference.share
