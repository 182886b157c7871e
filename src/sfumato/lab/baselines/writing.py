"""Baselines by name, and a folder of rows that are not private: it looks like a release, and says on every page that it is none."""

from pathlib import Path
from typing import Any

from sfumato.folder.contents import settled_file, sha256_of
from sfumato.folder.disk import write_files
from sfumato.folder.releasing import CERTIFICATE, REPORT, SCHEMA, check_target
from sfumato.lab.baselines.ads_gan import AdsGan
from sfumato.lab.baselines.baseline import Baseline, FittedBaseline
from sfumato.mechanism import settings_of
from sfumato.outlook.row_counts import AskedRows
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
    name, content, synthetic = settled_file(fitted.sample(rows))
    facts: dict[str, Any] = {
        "method": fitted.baseline.name,
        "parameters": settings_of(fitted.baseline),
        "seed": fitted.seed,
        "rows": len(synthetic),
        "schema_sha256": fitted.schema.digest(),
        "notes": fitted.notes,
        "software": installed_software(),
    }
    files = {
        name: content,
        SCHEMA: fitted.schema.to_toml().encode(),
        REPORT: non_private_page(facts, schema=fitted.schema, synthetic=synthetic).encode(),
    }
    paper = NonPrivatePaper(**facts, files={name: sha256_of(content) for name, content in sorted(files.items())})
    write_files(target, {**files, CERTIFICATE: paper.to_text().encode()}, force=force)
    return paper
