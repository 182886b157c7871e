"""sfumato sample: more rows from a release, at no cost."""

import os
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import numpy as np
import typer
from rich.markup import escape

from sfumato.cli.console import AsJson, Quiet, answer, progress
from sfumato.cli.options import Force, RowsOption, Seed, asked_rows
from sfumato.cli.refusals import refusing
from sfumato.errors import ModelError, ReleaseError
from sfumato.folder.disk import check_file_target, whole_file
from sfumato.folder.releasing import load_release
from sfumato.mechanism import Learner, mechanism_from
from sfumato.model import Classifier, Synthetic
from sfumato.outlook.row_counts import rows_to_release
from sfumato.verification.verifying import verify as verify_release

_STAGES = _CHECKING, _BUILDING, _DRAWING, _WRITING = (
    "checking the release",
    "building the model",
    "drawing rows",
    "writing the file",
)
SUFFIXES = (".parquet", ".csv", ".npz")


@refusing
def sample(
    release: Annotated[Path, typer.Argument(help="A release folder.")],
    out: Annotated[Path, typer.Option(help="The file to make: .parquet or .csv for tables, .npz for images.")],
    rows: RowsOption = None,
    seed: Seed = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw rows from the model that the measurements of a release give. No data needed, no budget spent."""
    asked = asked_rows(rows)
    check_file_target(out, force=force)
    if out.suffix.lower() not in SUFFIXES:
        raise ReleaseError(f"{out} has a suffix that is not known. Use one of {', '.join(SUFFIXES)}.")
    drawn_seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    with progress(title="sample", stages=dict.fromkeys(_STAGES, 1), quiet=quiet) as step:
        step(_CHECKING)
        verify_release(release, rebuild=False).raise_if_bad()  # a tampered folder gives nobody's rows
        step(_BUILDING)
        released = load_release(release)
        mechanism = mechanism_from(released.certificate.mechanism)
        if isinstance(mechanism, Learner) or isinstance(model := released.model(), Classifier):
            raise ModelError(f"{release} is a trained model, which gives no rows. Use sfumato predict.")
        n_rows = rows_to_release(asked, schema=released.schema, mechanism=mechanism, model=model)
        step(_DRAWING)
        synthetic = model.sample(n_rows, seed=drawn_seed)
        check_format(synthetic, out)
        step(_WRITING)
        with whole_file(out) as file:
            write_rows(synthetic, file, suffix=out.suffix.lower())
    payload = {"out": str(out), "rows": len(synthetic), "seed": drawn_seed}
    answer(
        payload,
        as_json=as_json,
        show=lambda console: console.print(
            f"[green]wrote[/green] {len(synthetic):,} rows to {escape(str(out))}", soft_wrap=True
        ),
    )


def check_format(synthetic: Synthetic, out: Path) -> None:
    """Refuse a file that cannot hold these rows."""
    is_table, is_archive = synthetic.table is not None, out.suffix.lower() == ".npz"
    if is_table and is_archive:
        raise ReleaseError(f"the release is a table, and {out} would hold arrays. Use .parquet or .csv.")
    if not is_table and not is_archive:
        raise ReleaseError(f"the release holds images, and {out} would hold a table. Use .npz.")


def write_rows(synthetic: Synthetic, file: BinaryIO, *, suffix: str) -> None:
    """Write rows in the format of the suffix."""
    if synthetic.table is not None and suffix == ".parquet":
        synthetic.table.to_parquet(file, index=False)
    elif synthetic.table is not None:
        synthetic.table.to_csv(file, index=False)
    else:
        arrays = {"images": synthetic.images, "labels": synthetic.labels, "soft_labels": synthetic.soft_labels}
        present: dict[str, Any] = {name: array for name, array in arrays.items() if array is not None}
        np.savez_compressed(file, **present, classes=np.array(synthetic.classes))
