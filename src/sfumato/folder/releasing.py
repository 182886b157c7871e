"""A release folder: synthetic rows or a trained model, the doors' integers behind them, schema, certificate and report.

A folder is written beside its place and moved there in one step, whole or not at all (`folder/disk.py`).
"""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import pandas as pd

from sfumato.asking.answer import Answer
from sfumato.asking.asking import Asker
from sfumato.asking.columns import ColumnEstimates, column_estimates
from sfumato.errors import ModelError, ReleaseError, SfumatoError
from sfumato.fitted import Fitted
from sfumato.folder import contents
from sfumato.folder.disk import NewFolder, whole_folder
from sfumato.folder.rows import file_names, read_head, read_synthetic, rows_path, rows_writer, settled
from sfumato.folder.signing import SIGNATURE, SigningKey, load_signing_key
from sfumato.folder.tensors import WEIGHTS, weights_file, weights_of
from sfumato.mechanism import Learner, mechanism_from
from sfumato.model import Classifier, Product, Synthetic, notes_of, refuse_diverged
from sfumato.outlook.row_counts import AskedRows
from sfumato.outlook.tally import Tally
from sfumato.outlook.warnings import model_warnings, release_warnings
from sfumato.present.loading import load_lines
from sfumato.present.model_report import public_model_report
from sfumato.present.report import public_report
from sfumato.public.certificate.certificate import NAME, Certificate
from sfumato.public.certificate.layout import Section, as_html
from sfumato.public.damaged import DAMAGED
from sfumato.public.plan.answers import AnsweredDoors, Answers
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema

CERTIFICATE, ANSWERS, SCHEMA, REPORT = NAME, "answers.npz", "schema.toml", "report.html"

#: What code may raise over numbers and settings that do not belong together.
GARBLED = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, repr=False)
class Release:
    """A release folder that was written or read."""

    path: Path
    schema: Schema
    certificate: Certificate
    answers: Answers

    def model(self) -> Product:
        """Build the model again from the doors' answers: no data needed, no budget spent."""
        mechanism = mechanism_from(self.certificate.mechanism)
        try:
            measurements = mechanism.measure(AnsweredDoors(self.plan(), self.answers), self.schema)
            return mechanism.build(measurements, self.schema, seed=self.certificate.seed)
        except GARBLED as error:
            raise ReleaseError(
                f"{ANSWERS} and {CERTIFICATE} do not fit together ({type(error).__name__}). Get the release again."
            ) from None

    def classifier(self) -> Classifier:
        """The trained model, from the file of its weights; `model` trains it again from the doors' answers."""
        mechanism = mechanism_from(self.certificate.mechanism)
        if not isinstance(mechanism, Learner):
            raise ModelError(f"{self.path} holds synthetic rows and no trained model, so it predicts nothing.")
        try:
            weights = weights_of(contents.read_plain(self.path / WEIGHTS))
            return mechanism.classifier(weights, self.schema, self.certificate.claim.budget)
        except GARBLED as error:
            raise ReleaseError(f"{WEIGHTS} cannot be read ({type(error).__name__}). Get the release again.") from None

    def ask(self, question: str, *, confidence: float = 0.95, of: str | None = None) -> Answer:
        """Answer a question from the noisy measurements, with an interval: no data needed, no budget spent.

        Args:
            question: Such as `mean(income) by region where age >= 65`; docs/guide/intervals.md has all kinds.
            confidence: How often intervals hold the truth.
            of: `rows` for the private rows themselves, `population` for what they are a sample of. By default counts and sums are
                those of the rows, and all else is that of the population.
        """
        return self._asker.ask(question, confidence=confidence, of=of)

    @cached_property
    def _asker(self) -> Asker:
        if self.certificate.rows is None or (table := self.synthetic().table) is None:
            raise ModelError(f"{self.path} holds no table of rows, so no questions can be asked of it.")
        if self.schema.tables:
            raise ModelError(f"{self.path} holds several tables, and questions are asked of one.")
        return _asker(self.certificate, self.schema, self.answers, table)

    def plan(self) -> Plan:
        """The plan under which the rows were measured."""
        return self.certificate.plan()

    def synthetic(self) -> Synthetic:
        """The synthetic rows as released, all of them in memory."""
        return read_synthetic(self.path)

    @property
    def n_rows(self) -> int:
        """How many synthetic rows the folder holds, by the header of their file."""
        return sum(read_head(rows_path(self.path))[0])

    def load_lines(self) -> dict[str, str]:
        """For each tool, one line of Python that loads the rows from where this process runs; the tool is enough."""
        return load_lines(read_head(rows_path(self.path))[1], self.schema, folder=self.path)

    def __repr__(self) -> str:
        return f"<Release: {self.path}, {self.certificate.summary}>"

    def _repr_html_(self) -> str:
        rows, check = self.certificate.rows, f"Anyone can check it: sfumato verify {self.path}"
        held = "a trained model" if rows is None else f"{rows:,} synthetic rows"
        place = Section(title=str(self.path), subtitle=f", {held}", notes=(check,))
        return as_html([place, *self.certificate.sections()])


def release(
    fitted: Fitted,
    *,
    to: str | Path,
    rows: AskedRows = None,
    force: bool = False,
    sign: str | Path | SigningKey | None = None,
) -> Release:
    """Write a release folder.

    Args:
        fitted: What `sfumato.fit` gave.
        to: The folder to make.
        rows: How many synthetic rows; `many` for the number that is recommended for training. By default as many as the
            schema declares, or as there seem to be by the noisy count. A trained model has none.
        force: Replace an existing folder.
        sign: A private key, or the file of one without a passphrase, to sign the certificate with.
    """
    if not isinstance(fitted, Fitted):
        raise ReleaseError(
            f"a release is made of what sf.fit gives, and this is of type {type(fitted).__name__}. "
            "sf.synthesize(data, schema, epsilon=1).save(folder) does both."
        )
    if not isinstance(to, str | PathLike):
        raise ReleaseError(f"to = {to!r} is no path. Name the folder to make, such as to='release'.")
    target = Path(to)
    check_target(target, force=force)
    key = load_signing_key(sign) if isinstance(sign, str | Path) else sign
    with whole_folder(target, force=force) as folder:
        if isinstance(fitted.model, Classifier):
            certificate, report = _put_model(fitted, fitted.model, folder, asked=rows)
        else:
            certificate, report = _put_rows(fitted, folder, asked=rows)
        folder.put(ANSWERS, contents.archive_of(fitted.answers.to_arrays()))
        folder.put(SCHEMA, fitted.schema.to_toml().encode())
        folder.put(REPORT, report)
        certificate = certificate.with_files(folder.sha256)
        text = certificate.to_text().encode()
        folder.put(CERTIFICATE, text)
        if key is not None:
            folder.put(SIGNATURE, key.sign(text))
        if fitted.on_written is not None:
            fitted.on_written(
                text.decode()
            )  # before the folder has its name: none is there that the ledger has not seen
    return Release(target, fitted.schema, certificate, fitted.answers)


def _put_model(fitted: Fitted, model: Classifier, folder: NewFolder, *, asked: AskedRows) -> tuple[Certificate, bytes]:
    """The weights of a trained model stand in the place of rows. Returns certificate and report."""
    if asked is not None:
        raise ModelError(f"{fitted.mechanism.name} has trained a model, which gives no rows. Leave out rows.")
    refuse_diverged(model.weights)
    folder.put(WEIGHTS, weights_file(model.weights))
    warnings = model_warnings(schema=fitted.schema, plan=fitted.plan, model=model)
    certificate = fitted.certificate.for_model(warnings=warnings, notes=notes_of(model))
    return certificate, model_report_of(certificate, schema=fitted.schema, answers=fitted.answers)


def _put_rows(fitted: Fitted, folder: NewFolder, *, asked: AskedRows) -> tuple[Certificate, bytes]:
    """Rows are drawn, counted and written piece by piece. Returns certificate and report, which shows the first piece."""
    n_rows, tally = fitted.row_count(asked), Tally(fitted.schema, fitted.sampled)
    first = put_rows(folder, tally.passing(map(settled, fitted.pieces(n_rows))), n_rows)
    certificate = certificate_of(fitted, tally)
    return certificate, report_of(certificate, schema=fitted.schema, synthetic=first, answers=fitted.answers)


def put_rows(folder: NewFolder, pieces: Iterator[Synthetic], n_rows: int) -> Synthetic:
    """Write the file of so many rows, and those of what hangs on them. Returns the first piece."""
    first = next(pieces)
    with contextlib.ExitStack() as stack:
        files = {name: stack.enter_context(folder.file(name)) for name in file_names(first)}
        writer = stack.enter_context(rows_writer(files, n_rows))
        writer.add_all(itertools.chain([first], pieces))
    return first


def certificate_of(fitted: Fitted, tally: Tally) -> Certificate:
    """The certificate of these rows, with what their maker and receiver should be told. It names no files yet."""
    schema, plan, mechanism = fitted.schema, fitted.certificate.plan(), fitted.mechanism
    warnings = release_warnings(schema=schema, plan=plan, mechanism=mechanism, model=fitted.sampled, tally=tally)
    return fitted.certificate.for_rows(tally.n_rows, warnings=warnings, notes=notes_of(fitted.sampled))


def model_report_of(certificate: Certificate, *, schema: Schema, answers: Answers) -> bytes:
    """The page of a trained model: a function of what the folder holds."""
    return public_model_report(certificate, schema=schema, answers=answers).encode()


def report_of(certificate: Certificate, *, schema: Schema, synthetic: Synthetic, answers: Answers) -> bytes:
    """The page of a release: a function of what the folder holds, so that anybody can make it again.

    Of more rows than one piece it shows the first piece.
    """
    plan, told = certificate.plan().to_json(), None
    if synthetic.table is not None and not schema.tables:
        told = _estimates(certificate, schema=schema, table=synthetic.table, answers=answers)
    return public_report(certificate, schema=schema, plan=plan, synthetic=synthetic, estimates=told).encode()


def _estimates(
    certificate: Certificate, *, schema: Schema, table: pd.DataFrame, answers: Answers
) -> dict[str, ColumnEstimates]:
    """What the measurements say of every column. No page is lost, and no release with it, because they cannot be read."""
    try:
        return column_estimates(_asker(certificate, schema, answers, table, brief=True))
    except (SfumatoError, *GARBLED):
        why = "its measurements cannot be read for single columns"
        return {column.name: ColumnEstimates(why=why) for column in schema.columns}


def _asker(
    certificate: Certificate, schema: Schema, answers: Answers, table: pd.DataFrame, *, brief: bool = False
) -> Asker:
    mechanism, score = mechanism_from(certificate.mechanism), certificate.score
    share = 1.0 if score is None else 1 - score.share
    return Asker(schema, mechanism, certificate.plan(), answers, table, measured_share=share, brief=brief)


def load_release(path: str | Path) -> Release:
    """Read a release folder. It says nothing of whether the folder is to be believed: `verify` does."""
    folder = Path(path)
    if not (folder / CERTIFICATE).is_file():
        raise ReleaseError(f"{folder} holds no {CERTIFICATE}, so it is no release folder.")
    try:
        certificate = Certificate.from_text(contents.read_plain(folder / CERTIFICATE).decode())
        schema = Schema.parse(contents.read_plain(folder / SCHEMA).decode())
    except UnicodeDecodeError as error:
        raise ReleaseError(f"{folder} is damaged ({type(error).__name__}). Get the release again.") from None
    return Release(folder, schema, certificate, answers_of(contents.read_plain(folder / ANSWERS)))


def answers_of(content: bytes) -> Answers:
    """The doors' integers from the content of their file."""
    try:
        arrays = contents.arrays_of(content)
    except DAMAGED as error:
        raise ReleaseError(f"{ANSWERS} is damaged ({type(error).__name__}). Get the release again.") from None
    return Answers.from_arrays(arrays)


def check_target(target: Path, *, force: bool) -> None:
    """Refuse a place that cannot be written, before any budget is spent."""
    if target.exists() and not force:
        raise ReleaseError(f"{target} exists already. Choose another folder, or replace it: force=True (--force).")
    if target.exists() and not (target / CERTIFICATE).is_file():
        raise ReleaseError(f"{target} exists and is no release folder, so it is not replaced. Choose another folder.")
    if not target.absolute().parent.is_dir():
        raise ReleaseError(f"there is no folder {target.absolute().parent} to write into. Make it first.")
