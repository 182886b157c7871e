"""What is released, synthetic rows or the weights of a trained model: read with care, and built again from the doors' integers."""

import contextlib
import mmap
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from sfumato.errors import ReleaseError
from sfumato.folder.disk import writing
from sfumato.folder.releasing import Release
from sfumato.folder.rows import TABLE, event_file, file_names, files_at, read_head, read_pieces, rows_writer, settled
from sfumato.folder.tensors import WEIGHTS, weights_file, weights_of
from sfumato.mechanism import Mechanism
from sfumato.model import Classifier, Synthetic, Weights, notes_of
from sfumato.outlook.tally import Tally
from sfumato.outlook.warnings import model_warnings, release_warnings
from sfumato.pieces import PIECE, draw_pieces, piece_sizes
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.software import WRITTEN_BY, others_than_here
from sfumato.public.schema.schema import Schema
from sfumato.verification.comparison import Difference, rows_differ, weights_differ
from sfumato.verification.findings import Findings
from sfumato.verification.parquet_structure import holds_more
from sfumato.verification.rebuilt import Rebuilt
from sfumato.verification.rule_checks import RuleCheck
from sfumato.verification.same_file import SameFile
from sfumato.verification.shape_checks import misfits


@dataclass(frozen=True)
class Rows:
    """The synthetic rows as released: the file, their number, the first piece, and what in them breaks the schema or its rules."""

    path: Path
    n_rows: int
    first: Synthetic
    misfits: list[str]
    broken_rules: list[str] = field(default_factory=list)

    @property
    def cells(self) -> int:
        """How many values or pixels they have."""
        held = self.first.images if self.first.table is None else self.first.table
        size = 0 if held is None else held.size + sum(events.size for events in self.first.tables.values())
        return size // max(1, len(self.first)) * self.n_rows


def read_rows(path: Path, certificate: Certificate, schema: Schema | None, found: Findings) -> Rows | None:
    """The released rows, as many as the certificate says, in a file that holds nothing else."""
    name, n_rows = path.name, certificate.rows
    if n_rows is None:
        found.problems.append(f"{name} holds rows, and the certificate speaks of none.")
        return None
    again = {file: SameFile(at) for file, at in files_at(path).items()}
    rows = found.attempt(
        lambda: _look_through(path, again, certificate, n_rows, schema), garbled=f"{name} does not hold rows"
    )
    if rows is None:
        return None
    problems = []
    if not all(file.is_same for file in again.values()):
        others = others_than_here(certificate.software, WRITTEN_BY) if name == TABLE else []
        more: str | None = "it is not what sfumato writes"
        if others:
            more = _more_than_rows(rows, certificate)
        if more:
            problems.append(f"{name} holds something besides its rows: {more}.")
        else:
            found.declared.append(
                f"how the rows in {name} are packed: by {' and '.join(others)}, which this computer does not have. Its columns, "
                "notes and sizes were looked through, and whoever wants to be sure of the rest installs these versions"
            )
    found.settle(problems, checked=f"there are {n_rows:,} synthetic rows, as the certificate says")
    return None if problems else rows


def _look_through(
    path: Path, again: dict[str, SameFile], certificate: Certificate, n_rows: int, schema: Schema | None
) -> Rows:
    """Read all rows once, piece by piece, and write them again where only differences are noted."""
    # A small file can say that it holds billions of rows, so its footer is asked before it is read.
    sizes, first = read_head(path)
    if sum(sizes) != n_rows:
        raise ReleaseError(f"{path.name} holds {sum(sizes):,} rows, and the certificate speaks of {n_rows:,}.")
    if max(sizes, default=0) > PIECE or sizes != piece_sizes(n_rows):
        raise ReleaseError(
            f"{path.name} holds something besides its rows: they are in other groups than this version of sfumato writes. What "
            f"sfumato 0.2.0 made of more than {PIECE:,} rows is in one group: verify it with that version."
        )
    for table in () if schema is None else schema.flat:  # and so are the footers of what hangs on them
        beside = path.parent / event_file(table.name)
        if beside.is_file() and sum(read_head(beside)[0]) > n_rows * table.max_rows:
            raise ReleaseError(f"{beside.name} holds more rows than {n_rows:,} persons may have.")
    odd: dict[str, None] = {}
    rules = None if schema is None else RuleCheck(schema)
    with rows_writer(again, n_rows) as writer:
        for number, piece in enumerate(read_pieces(path)):
            first = piece if number == 0 else first
            writer.add(piece)
            if schema is not None and rules is not None:
                strange = misfits(piece, schema, mechanism=certificate.mechanism.name)
                odd |= dict.fromkeys(strange)
                if not strange:
                    rules.add(piece)
    return Rows(path, n_rows, first, list(odd), [] if rules is None else rules.problems)


def _more_than_rows(rows: Rows, certificate: Certificate) -> str | None:
    """What the structure of a file by other software holds besides the rows."""
    with writing(Path(tempfile.gettempdir())), contextlib.ExitStack() as stack:
        files = files_at(rows.path)
        ours = {name: stack.enter_context(tempfile.TemporaryFile()) for name in files}
        with rows_writer(ours, rows.n_rows) as writer:
            for piece in read_pieces(rows.path):
                writer.add(piece)
        for name, file in ours.items():
            file.flush()
            with files[name].open("rb") as theirs, _mapped(theirs) as content, _mapped(file) as known:
                if more := holds_more(content, known, software=certificate.software):
                    return more
        return None


def _mapped(file: IO[bytes]) -> mmap.mmap:
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def rebuild_rows(release: Release, mechanism: Mechanism, rows: Rows) -> Rebuilt:
    """Build the model and its rows again, and compare them piece by piece."""
    model, schema, plan = release.model(), release.schema, release.plan()
    if isinstance(model, Classifier):
        raise ReleaseError("its mechanism trains a model and gives no rows.")
    tally, difference = Tally(schema, model), Difference(0, 0, 0, 0)
    files = {name: SameFile(path) for name, path in files_at(rows.path).items()}
    drawn = map(settled, draw_pieces(model, rows.n_rows, schema=schema, seed=release.certificate.seed))
    with rows_writer(files, rows.n_rows) as writer:
        for released, again in zip(tally.passing(read_pieces(rows.path)), drawn, strict=True):
            if sorted(file_names(again)) == sorted(files):
                writer.add(again)
            difference += rows_differ(released, again, schema)
    return Rebuilt(
        what="the synthetic rows",
        is_same=all(file.is_same for file in files.values()),
        difference=difference,
        warnings=release_warnings(schema=schema, plan=plan, mechanism=mechanism, model=model, tally=tally),
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
