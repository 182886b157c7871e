"""A release folder: synthetic rows, the noisy measurements behind them, schema, certificate and report.

A folder is whole or absent. It is written beside its place and moved there in one step.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sfumato.errors import ReleaseError
from sfumato.fitted import Fitted
from sfumato.mechanism import registered
from sfumato.model import Model, Synthetic
from sfumato.outlook.warnings import release_warnings
from sfumato.present.loading import load_lines
from sfumato.present.report import public_report
from sfumato.public.answers import AnsweredDoors, Answers
from sfumato.public.certificate import Certificate
from sfumato.public.plan import Plan
from sfumato.public.schema import Schema
from sfumato.public.schema_file import load_schema, schema_to_toml

CERTIFICATE, ANSWERS, SCHEMA, REPORT = "certificate.json", "answers.npz", "schema.toml", "report.html"


@dataclass(frozen=True)
class Release:
    """A release folder that was written or read."""

    path: Path
    schema: Schema
    certificate: Certificate
    answers: Answers = field(repr=False)

    def model(self) -> Model:
        """Build the model again from the measurements: no data needed, no budget spent."""
        body = self.certificate.body
        try:
            mechanism = registered(body["mechanism"]["name"])(**body["mechanism"]["parameters"])
            measurements = mechanism.measure(AnsweredDoors(self.plan(), self.answers), self.schema)
            return mechanism.build(measurements, self.schema, seed=body["seed"])
        except (KeyError, TypeError) as error:
            raise ReleaseError(
                f"{CERTIFICATE} does not fit the measurements ({error}). Get the release again."
            ) from None

    def plan(self) -> Plan:
        """The plan under which the rows were measured."""
        return self.certificate.plan()

    def synthetic(self) -> Synthetic:
        """The synthetic rows as released."""
        return read_synthetic(self.path)

    @property
    def n_rows(self) -> int:
        """How many synthetic rows the folder holds, by the header of their file."""
        return _read_head(self.path)[0]

    def load_lines(self) -> dict[str, str]:
        """For each tool, one line of Python that loads the rows from where this process runs; the tool is enough."""
        return load_lines(_read_head(self.path)[1], self.schema, folder=self.path)


def release(fitted: Fitted, *, to: str | Path, rows: int | None = None, force: bool = False) -> Release:
    """Write a release folder.

    Args:
        fitted: What `sfumato.fit` gave.
        to: The folder to make.
        rows: How many synthetic rows; by default as many as the model suggests.
        force: Replace an existing folder.
    """
    target = Path(to)
    check_target(target, force=force)
    seed = fitted.certificate.body["seed"]
    synthetic = fitted.model.sample(fitted.model.default_rows if rows is None else rows, seed=seed)
    certificate = fitted.certificate.with_warnings(
        release_warnings(
            schema=fitted.schema,
            plan=fitted.plan,
            mechanism=fitted.mechanism,
            model=fitted.model,
            synthetic=synthetic,
        )
    )
    with _whole_or_absent(target, force=force) as folder:
        write_synthetic(synthetic, folder)
        write_arrays(folder / ANSWERS, fitted.answers.to_arrays())
        (folder / SCHEMA).write_text(schema_to_toml(fitted.schema), encoding="utf-8")
        report = public_report(certificate, schema=fitted.schema, plan=fitted.plan.to_json(), synthetic=synthetic)
        (folder / REPORT).write_text(report, encoding="utf-8")
        certificate = certificate.with_files({f.name: sha256_of(f) for f in folder.iterdir()})
        (folder / CERTIFICATE).write_text(certificate.to_text(), encoding="utf-8")
    return Release(target, fitted.schema, certificate, fitted.answers)


def load_release(path: str | Path) -> Release:
    """Read a release folder. It says nothing of whether the folder is to be believed: `verify` does."""
    folder = Path(path)
    if not (folder / CERTIFICATE).is_file():
        raise ReleaseError(f"{folder} holds no {CERTIFICATE}, so it is no release folder.")
    try:
        certificate = Certificate.from_text((folder / CERTIFICATE).read_text(encoding="utf-8"))
        with np.load(folder / ANSWERS, allow_pickle=False) as archive:
            answers = Answers.from_arrays(dict(archive))
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ReleaseError(f"{folder} is damaged ({type(error).__name__}). Get the release again.") from None
    return Release(folder, load_schema(folder / SCHEMA), certificate, answers)


def check_target(target: Path, *, force: bool) -> None:
    """Refuse a place that cannot be written, before any budget is spent."""
    if target.exists() and not force:
        raise ReleaseError(f"{target} exists already. Choose another folder, or replace it with --force.")
    if target.exists() and not (target / CERTIFICATE).is_file():
        raise ReleaseError(f"{target} exists and is no release folder, so it is not replaced. Choose another folder.")
    if not target.absolute().parent.is_dir():
        raise ReleaseError(f"there is no folder {target.absolute().parent} to write into. Make it first.")


def write_synthetic(synthetic: Synthetic, folder: Path) -> Path:
    """Write synthetic rows as Parquet (tables) or npz (images)."""
    if synthetic.table is not None:
        path = folder / "synthetic.parquet"
        synthetic.table.to_parquet(path, index=False)
        return path
    arrays = {"images": synthetic.images, "labels": synthetic.labels, "soft_labels": synthetic.soft_labels}
    path = folder / "synthetic.npz"
    write_arrays(path, {**arrays, "classes": np.array(synthetic.classes)})
    return path


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any] | None]) -> None:
    """Write the arrays that are there. Noise does not compress, so nobody waits for trying."""
    present: dict[str, Any] = {name: values for name, values in arrays.items() if values is not None}
    np.savez(path, **present)


def read_synthetic(folder: Path) -> Synthetic:
    """Read the synthetic rows of a release folder."""
    if (folder / "synthetic.parquet").is_file():
        return Synthetic(table=pd.read_parquet(folder / "synthetic.parquet"))
    with np.load(folder / "synthetic.npz", allow_pickle=False) as archive:
        return Synthetic(
            images=archive["images"],
            labels=archive.get("labels"),
            soft_labels=archive.get("soft_labels"),
            classes=tuple(str(name) for name in archive["classes"]),
        )


def _read_head(folder: Path) -> tuple[int, Synthetic]:
    """The number of rows and a dataset of the same columns without rows: a table may be large, its header is not."""
    if not (folder / "synthetic.parquet").is_file():
        synthetic = read_synthetic(folder)
        return len(synthetic), synthetic
    with pq.ParquetFile(folder / "synthetic.parquet") as file:
        table = file.schema_arrow.empty_table().to_pandas()
        return file.metadata.num_rows, Synthetic(table=table)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _whole_or_absent(target: Path, *, force: bool) -> Iterator[Path]:
    # The names are chosen before anything is made, so that whatever stops us, and wherever, all is cleaned up.
    folder, retired = _name_beside(target), _name_beside(target)
    try:
        folder.mkdir(mode=0o700)
        yield folder
        for file in folder.iterdir():
            _flush(file)
        folder.chmod(0o755)
        if force and target.exists():
            os.replace(target, retired)
            os.replace(folder, target)
        else:
            os.rename(folder, target)
    except OSError as error:
        raise cannot_write(target, error) from None
    finally:
        if retired.exists() and not target.exists():
            os.replace(retired, target)  # stopped between the two moves: the old release stays
        for leftover in (folder, retired):
            shutil.rmtree(leftover, ignore_errors=True)


def _name_beside(target: Path) -> Path:
    return target.absolute().parent / f".{target.name}.{secrets.token_hex(8)}"


def _flush(file: Path) -> None:
    with file.open("rb") as handle:
        os.fsync(handle.fileno())


def cannot_write(target: Path, error: OSError) -> ReleaseError:
    """What to tell a person whose disk is full or whose folder is closed."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return ReleaseError(f"the disk is full: {target} was not written. Free some space, or release elsewhere.")
    return ReleaseError(f"{target} cannot be written ({os.strerror(error.errno or 0)}). Choose another folder.")
