"""A page for the custodian alone, beside a release: real rows next to synthetic ones. It reads private rows without privacy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sfumato.errors import ReleaseError
from sfumato.folder.disk import check_file_target, whole_file
from sfumato.folder.releasing import Release
from sfumato.lab.assess.beside import compare
from sfumato.lab.assess.beside_histories import histories_beside
from sfumato.lab.assess.beside_pictures import pictures_beside
from sfumato.present.beside import STAMP, private_page
from sfumato.private.intake.query import Query
from sfumato.public.schema.schema import Schema

PrivatePage = Annotated[
    Path | None,
    typer.Option(
        "--private-page",
        help="Also write a page for you alone: real rows beside synthetic ones. NOT PRIVATE, not to be published.",
        metavar="FILE",
    ),
]
PrivateTest = Annotated[
    Path | None,
    typer.Option(
        "--private-test",
        help="Other private rows to test learners on, for --private-page. Default: a part of the rows is held back.",
        metavar="FILE",
    ),
]


@dataclass(frozen=True)
class AskedPage:
    """A page that somebody asked for, and that can be made."""

    page: Path
    test: Path | None

    def write(self, written: Release, data: str | Query) -> None:
        """Compare the release with the rows that it was made from. Only the owner of the file may read it."""
        synthetic = written.synthetic()
        if written.schema.tables:
            found = histories_beside(data, synthetic, written.schema, test=self.test)
        elif synthetic.table is None:
            found = pictures_beside(data, synthetic, written.schema)
        else:
            found = compare(data, synthetic.table, written.schema, test=self.test)
        text = private_page(
            found,
            claim=written.certificate.claim.to_json(),
            release=written.path.name,
            warnings=written.certificate.warnings,
        )
        with whole_file(self.page, mode=0o600) as file:
            file.write(text.encode())

    @property
    def warning(self) -> str:
        """What the console says of it."""
        return f"{self.page}: {STAMP} Do not choose settings by it."


def asked_page(page: Path | None, test: Path | None, *, out: Path, schema: Schema, force: bool) -> AskedPage | None:
    """The page that is asked for, if one is. Refused, before a row is read, where it would be published or cannot be made."""
    if page is None:
        if test is not None:
            raise ReleaseError("--private-test is for a page of yours. Say where to: --private-page FILE.")
        return None
    if out.resolve() in (page.resolve(), *page.resolve().parents):
        raise ReleaseError(
            f"{page} lies in the release folder, which is to be published, and the page shows private rows. "
            "Choose a place outside of it."
        )
    if schema.images and test is not None:
        raise ReleaseError("--private-test is for learners of tables, and the page of pictures has none. Leave it out.")
    check_file_target(page, force=force)
    if test is not None and not test.exists():
        raise ReleaseError(f"there is no file {test} to test on.")
    return AskedPage(page, test)
