"""What a custodian works on: a source, a schema with its history, and what was chosen, in small files that survive a restart.

A project holds no rows. Every change of the schema is a new version, so that undo is a step back, and a change that was made
on the ground of an older version is noticed.
"""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfumato.errors import SfumatoError

#: Steps back that are kept.
MOST_VERSIONS = 50


class StaleEdit(SfumatoError):
    """The schema was changed elsewhere since the page was opened."""


@dataclass
class Project:
    """Facts of one project, as its file holds them.

    `source` is where the rows lie. `versions` are the numbers of all kept versions of the schema, `at` is the place of the
    present one among them. `chosen` is what was filled in on the plan's page and the release's.
    """

    id: str
    name: str
    made: float
    source: dict[str, Any] = field(default_factory=dict)
    versions: list[int] = field(default_factory=list)
    at: int = -1
    chosen: dict[str, Any] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """The number of the present version of the schema; 0 where there is none."""
        return self.versions[self.at] if self.versions else 0

    @property
    def can_undo(self) -> bool:
        """Whether there is a version before this one."""
        return self.at > 0

    @property
    def can_redo(self) -> bool:
        """Whether a step back can be taken back."""
        return self.at + 1 < len(self.versions)


class Projects:
    """All projects below one folder, which only its owner can read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def all(self) -> list[Project]:
        """The newest first."""
        found = [self.get(path.parent.name) for path in self._folder.glob("*/project.json")]
        return sorted((one for one in found if one is not None), key=lambda one: -one.made)

    def new(self, name: str) -> Project:
        """An empty one."""
        project = Project(id=secrets.token_hex(8), name=name[:200], made=time.time())
        try:
            self.folder(project).mkdir(mode=0o700)
            self.save(project)
        except (OSError, SfumatoError) as error:
            shutil.rmtree(self.folder(project), ignore_errors=True)
            raise _not_kept(error) if isinstance(error, OSError) else error from None
        return project

    def get(self, identity: str) -> Project | None:
        """The project of that id, if there is one that can be read."""
        if not (len(identity) == 16 and identity.isalnum() and identity.isascii()):
            return None
        try:
            found = Project(**json.loads((self._folder / identity / "project.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        return found if _is_whole(found, identity) else None

    def damaged(self) -> int:
        """Folders whose file cannot be read any more, or was changed by hand into something else."""
        return sum(self.get(path.parent.name) is None for path in self._folder.glob("*/project.json"))

    def folder(self, project: Project) -> Path:
        """Where its files lie."""
        return self._folder / project.id

    def save(self, project: Project) -> None:
        """Whole or not at all."""
        write_private(self.folder(project) / "project.json", json.dumps(asdict(project)))

    def keep(self, project: Project, **chosen: Any) -> None:
        """What was chosen, beside what another tab or studio has changed since this project was read."""
        with self._alone(project):
            project.chosen |= chosen
            self.save(project)

    def remove(self, project: Project) -> None:
        """The project, and nothing of what it released."""
        shutil.rmtree(self.folder(project), ignore_errors=True)

    def schema(self, project: Project) -> dict[str, Any]:
        """The present version of the schema, as `editing.py` has it."""
        if not project.versions:
            return {"columns": [], "dataset": {}, "privacy": {}, "rules": []}
        try:
            found = json.loads(self._version(project, project.version).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            found = None
        if not is_schema(found):
            raise SfumatoError(
                "the schema of this project cannot be read: its file is gone, or was changed by hand. Choose the data again, "
                "and import your schema.toml."
            )
        return dict(found)

    def change(
        self, project: Project, schema: dict[str, Any], *, seen: int | None, source: dict[str, Any] | None = None
    ) -> None:
        """A new version, after the one that the page showed; and where the rows lie, if that is new."""
        with self._alone(project):
            _refuse_stale(project, seen)
            number = max(project.versions, default=0) + 1
            write_private(self._version(project, number), json.dumps(schema))
            kept = [*project.versions[: project.at + 1], number][-MOST_VERSIONS:]
            for gone in set(project.versions) - set(kept):
                self._version(project, gone).unlink(missing_ok=True)
            project.versions, project.at = kept, len(kept) - 1
            project.source = project.source if source is None else source
            self.save(project)

    def step(self, project: Project, by: int, *, seen: int | None) -> None:
        """Undo (-1) or redo (+1)."""
        with self._alone(project):
            _refuse_stale(project, seen)
            project.at = min(max(project.at + by, 0), len(project.versions) - 1)
            self.save(project)

    @contextlib.contextmanager
    def _alone(self, project: Project) -> Iterator[None]:
        """Nobody else changes the project meanwhile, not even another studio over the same folder; and what they changed is seen."""
        try:
            lock = os.open(self.folder(project) / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _not_kept(error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            current = self.get(project.id)
            if current is None:
                raise SfumatoError("this project is gone: it was removed elsewhere. Begin a new one.")
            vars(project).update(vars(current))
            yield
        finally:
            os.close(lock)

    def _version(self, project: Project, number: int) -> Path:
        return self.folder(project) / f"schema-{number:06d}.json"


def _refuse_stale(project: Project, seen: int | None) -> None:
    if seen is not None and seen != project.version:
        raise StaleEdit(
            "the schema was changed elsewhere since this page was opened, in another tab perhaps. What you typed was not kept: load "
            "the page again, and repeat it."
        )


def _is_whole(project: Project, identity: str) -> bool:
    """Whether a file says what such files say: anybody can write to their own files."""
    kinds: dict[str, type | tuple[type, ...]] = {"name": str, "made": (int, float)}
    kinds |= {"source": dict, "versions": list, "at": int, "chosen": dict}
    if project.id != identity or not all(isinstance(getattr(project, key), kind) for key, kind in kinds.items()):
        return False
    numbers = all(isinstance(number, int) and 0 < number < 10**9 for number in project.versions)
    epsilon, place = project.chosen.get("epsilon", 1.0), project.source.get("place", "")
    return (
        numbers
        and (0 <= project.at < len(project.versions) if project.versions else project.at == -1)
        and isinstance(epsilon, int | float)
        and isinstance(place, str)
        and abs(project.made) < 10**11
    )


def is_schema(found: object) -> bool:
    """Whether these are the values of a schema as the editor has them."""
    if not isinstance(found, dict) or set(found) < {"columns", "dataset", "privacy", "rules"}:
        return False
    columns, rules = found["columns"], found["rules"]
    wanted = {"name": str, "entry": dict, "kept": bool, "why": str, "note": str}
    return (
        isinstance(found["dataset"], dict)
        and isinstance(found["privacy"], dict)
        and isinstance(rules, list)
        and all(isinstance(rule, dict) for rule in rules)
        and isinstance(found.get("text", ""), str)
        and isinstance(columns, list)
        and all(
            isinstance(one, dict) and all(isinstance(one.get(key), kind) for key, kind in wanted.items())
            for one in columns
        )
    )


def _not_kept(error: OSError) -> SfumatoError:
    why = os.strerror(error.errno or 0)
    return SfumatoError(f"this cannot be kept ({why}), and nothing was changed. Free some space, and try again.")


def write_private(path: Path, text: str) -> None:
    """A file for its owner alone, whole or not at all."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(beside, path)
    except OSError as error:
        raise _not_kept(error) from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
