"""What every page needs: the parts of the studio, the project that an address names, and forms that may be believed."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import Depends
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from sfumato.errors import SfumatoError
from sfumato.studio.folders import Folders
from sfumato.studio.jobs import Jobs
from sfumato.studio.projects import Project, Projects
from sfumato.studio.received import Received
from sfumato.studio.sessions import Gate, is_csrf
from sfumato.studio.worker import Worker


@dataclass(frozen=True)
class Studio:
    """The parts, and where they keep what they keep."""

    gate: Gate
    folders: Folders
    state: Path
    projects: Projects
    jobs: Jobs
    received: Received
    worker: Worker
    ledger: str
    faults: dict[tuple[str, int], list[tuple[list[str], str]]] = field(default_factory=dict)


def new_studio(roots: list[Path], *, state: Path, ledger: str = "") -> Studio:
    """All parts, in a folder that only its owner can read."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    parts = Projects(state / "projects"), Jobs(state / "jobs"), Received(state / "received")
    return Studio(Gate(), Folders(roots), state, *parts, Worker(), ledger)


class BadForm(Exception):
    """A form that was not filled in on a page of this session."""


async def studio_of(request: Request) -> Studio:
    """The studio that serves this request."""
    studio: Studio = request.app.state.studio
    return studio


async def project_of(request: Request, project_id: str) -> Project:
    """The project of an address."""
    studio: Studio = request.app.state.studio
    found = studio.projects.get(project_id)
    if found is None:
        raise HTTPException(404)
    return found


async def posted(request: Request) -> FormData:
    """A form with its secret, which no page elsewhere can know."""
    try:
        form = await request.form(max_files=50, max_fields=2000, max_part_size=4 << 20)
    except (MultiPartException, HTTPException):
        raise BadForm from None
    except OSError as error:  # large files are put on a disk while they arrive
        why = os.strerror(error.errno or 0)
        raise SfumatoError(f"what was sent cannot be kept ({why}). Free some space, and try again.") from None
    given = form.get("csrf") or request.headers.get("x-csrf", "")
    if not isinstance(given, str) or not is_csrf(request.state.session, given):
        raise BadForm
    return form


def texts(form: FormData) -> dict[str, str]:
    """The fields that are no files."""
    return {key: value for key, value in form.items() if isinstance(value, str)}


def uploads(form: FormData, key: str) -> list[UploadFile]:
    """The files of a field; an empty field of a browser has one without a name."""
    return [value for value in form.getlist(key) if isinstance(value, UploadFile) and value.filename]


Here = Annotated[Studio, Depends(studio_of)]
Of = Annotated[Project, Depends(project_of)]
Form = Annotated[FormData, Depends(posted)]
