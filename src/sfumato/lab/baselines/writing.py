"""Baselines by name, and a folder of rows that are not private: it looks like a release, and says on every page that it is none."""

from pathlib import Path
from typing import Any

from sfumato.folder.disk import whole_folder
from sfumato.folder.releasing import CERTIFICATE, REPORT, SCHEMA, check_target, put_rows
from sfumato.folder.rows import settled
from sfumato.lab.baselines.ads_gan import AdsGan
from sfumato.lab.baselines.baseline import Baseline, FittedBaseline
from sfumato.mechanism import settings_of
from sfumato.outlook.row_counts import AskedRows, rows_to_release
from sfumato.pieces import draw_pieces
from sfumato.present.report import non_private_page
from sfumato.public.certificate.non_private import NonPrivatePaper
from sfumato.public.certificate.software import installed_software

KNOWN: dict[str, type[Baseline]] = {AdsGan.name: AdsGan}


def baseline_for(name: str) -> Baseline:
    """A baseline with its default settings; its name is one of `sfumato.public.certificate.non_private.BASELINES`."""
    return KNOWN[name]()


def release_non_private(
    fitted: FittedBaseline, *, to: str | Path, rows: AskedRows = None, force: bool = False
) -> NonPrivatePaper:
    """Write rows of a baseline, with a paper in the place of the certificate that `verify` refuses."""
    target = Path(to)
    check_target(target, force=force)
    n_rows = rows_to_release(rows, schema=fitted.schema, mechanism=fitted.baseline, model=fitted.model)
    with whole_folder(target, force=force) as folder:
        first = put_rows(
            folder, map(settled, draw_pieces(fitted.model, n_rows, schema=fitted.schema, seed=fitted.seed)), n_rows
        )
        facts: dict[str, Any] = {
            "method": fitted.baseline.name,
            "parameters": settings_of(fitted.baseline),
            "seed": fitted.seed,
            "rows": n_rows,
            "schema_sha256": fitted.schema.digest(),
            "notes": fitted.notes,
            "software": installed_software(),
        }
        folder.put(SCHEMA, fitted.schema.to_toml().encode())
        folder.put(REPORT, non_private_page(facts, schema=fitted.schema, synthetic=first).encode())
        paper = NonPrivatePaper(**facts, files=dict(sorted(folder.sha256.items())))
        folder.put(CERTIFICATE, paper.to_text().encode())
    return paper
