"""Jobs: commands of the command line, each in a process of its own that outlives the page, its tab and its server.

A job is a folder. Its process holds a lock on a file of that folder for as long as it lives, however it ends, so that anybody
can tell whether it still runs. What it is asked to do comes on its standard input: other users of the machine see command
lines, and a path or a password may be private.
"""

import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sfumato.errors import SfumatoError
from sfumato.studio.projects import write_private

#: Runs at once, at most: more would only make each other slower.
MOST_RUNNING = 3
#: Answers that may quote rows are kept in memory alone.
PRIVATE_KINDS = ("check", "schema")
_START = (
    "import json, runpy, sys; sys.argv = ['sfumato', *json.load(sys.stdin)]; "
    "runpy.run_module('sfumato.cli', run_name='__main__')"
)
_STAGE = re.compile(r"^[\w ]+: (?:(\d+) of (\d+), )?(.+)$")
_SAID = "sfumato: "

State = Literal["running", "done", "refused", "cancelled", "lost"]


@dataclass(frozen=True)
class Job:
    """What was started, as its file holds it."""

    id: str
    kind: str
    project: str
    made: float
    pid: int
    target: str = ""
    facts: dict[str, Any] | None = None


@dataclass(frozen=True)
class Progress:
    """How far a job is: the stage that runs, its number among all, and how it ended."""

    state: State
    stage: str = ""
    at: int = 0
    of: int = 0
    sentence: str = ""
    answer: dict[str, Any] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.state != "running"


class Jobs:
    """All jobs below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._private: dict[str, bytes] = {}
        self._talks: dict[str, threading.Thread] = {}

    def start(
        self,
        kind: str,
        arguments: Sequence[str],
        *,
        project: str = "",
        target: str = "",
        facts: dict[str, Any] | None = None,
    ) -> Job:
        """Start a command; its answer is one JSON object."""
        if sum(map(self._is_alive, self.all())) >= MOST_RUNNING:
            raise SfumatoError(f"{MOST_RUNNING} jobs run already. Wait until one has ended, or cancel it.")
        folder = self._folder / secrets.token_hex(8)
        try:
            return self._started(folder, kind, arguments, project, target, facts)
        except (OSError, SfumatoError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, SfumatoError):
                raise
            why = os.strerror(error.errno or 0)
            raise SfumatoError(f"no job can be started ({why}). Free some space or memory, and try again.") from None

    def _started(
        self,
        folder: Path,
        kind: str,
        arguments: Sequence[str],
        project: str,
        target: str,
        facts: dict[str, Any] | None,
    ) -> Job:
        folder.mkdir(mode=0o700)
        is_private = kind in PRIVATE_KINDS
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        out = subprocess.PIPE if is_private else os.open(folder / "answer.json", os.O_WRONLY | os.O_CREAT, 0o600)
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # held by the process that inherits it, until it ends
            child = subprocess.Popen(
                [sys.executable, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=log,
                pass_fds=(lock,),
                start_new_session=True,  # Ctrl-C on the terminal ends the server and no job
                cwd=folder,
                env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
            )
        finally:
            for descriptor in (lock, log, *(() if is_private else (out,))):
                os.close(descriptor)
        made = max([time.time(), *(job.made + 1e-3 for job in self.all())])  # the newest, though the clock went back
        job = Job(folder.name, kind, project, made, child.pid, target, facts)
        try:
            write_private(folder / "job.json", json.dumps(asdict(job)))
        except SfumatoError:
            child.kill()  # nobody could find it again
            child.communicate()
            raise
        talk = threading.Thread(target=self._feed, args=(job, child, json.dumps([*arguments, "--json"])), daemon=True)
        self._talks[job.id] = talk
        talk.start()
        return job

    def _feed(self, job: Job, child: "subprocess.Popen[bytes]", said: str) -> None:
        """Tell the process what to do, take a private answer from it, and let it go when it ends."""
        private_answer, _ = child.communicate(said.encode())
        if private_answer:
            self._private[job.id] = private_answer

    def all(self) -> list[Job]:
        """The newest first."""
        found = [self.get(path.parent.name) for path in self._folder.glob("*/job.json")]
        return sorted((job for job in found if job is not None), key=lambda job: -job.made)

    def latest(self, project: str, kind: str) -> Job | None:
        """The newest one of a kind."""
        return next((job for job in self.all() if job.project == project and job.kind == kind), None)

    def get(self, identity: str) -> Job | None:
        """The job of that id, if there is one that can be read."""
        if not (len(identity) == 16 and identity.isalnum() and identity.isascii()):
            return None
        try:
            found = Job(**json.loads((self._folder / identity / "job.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        return found if found.id == identity and _is_whole(found) else None

    def folder(self, job: Job) -> Path:
        """Where its files lie."""
        return self._folder / job.id

    def progress(self, job: Job) -> Progress:
        """How far it is."""
        folder, lines = self.folder(job), self._lines(job)
        stages = [found for line in lines if not line.startswith(_SAID) and (found := _STAGE.match(line))]
        at, of, stage = stages[-1].groups() if stages else (None, None, "")
        if self._is_alive(job):
            return Progress("running", stage, int(at or 0), int(of or 0))
        answer = self._answer(job)
        if answer is not None and "error" not in answer:
            return Progress("done", answer=answer)
        if (folder / "cancelled").exists():
            return Progress("cancelled", stage)
        _sweep(job)
        said = answer["error"] if answer else next((line for line in lines[::-1] if line.startswith(_SAID)), "")
        return Progress("refused" if said else "lost", stage, sentence=str(said).removeprefix(_SAID))

    def cancel(self, job: Job) -> None:
        """Ask it to end, which removes what is half written; a second time it is killed."""
        if not self._is_alive(job):
            return
        marker = self.folder(job) / "cancelled"
        number = signal.SIGKILL if marker.exists() else signal.SIGTERM
        marker.touch(mode=0o600)
        with suppress(ProcessLookupError):  # it has ended meanwhile, and nobody has said so yet
            os.kill(job.pid, number)
        if number == signal.SIGKILL:
            _sweep(job)

    def remove(self, job: Job) -> None:
        """Forget it, and what it left beside its answer."""
        self._private.pop(job.id, None)
        shutil.rmtree(self.folder(job), ignore_errors=True)

    def _is_alive(self, job: Job) -> bool:
        talk = self._talks.get(job.id)
        if talk is not None:  # a child of this server: its answer is here when the talk with it is over
            return talk.is_alive()
        try:
            with (self.folder(job) / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: whoever else looks is no job
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _answer(self, job: Job) -> dict[str, Any] | None:
        try:
            text = self._private.get(job.id) or (self.folder(job) / "answer.json").read_bytes()
            found = json.loads(text)
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _lines(self, job: Job) -> list[str]:
        try:
            return (self.folder(job) / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []


def _is_whole(job: Job) -> bool:
    """Whether a file says what such files say. Its process is asked to end, so it has to be one."""
    words = (job.kind, job.project, job.target)
    return (
        all(isinstance(word, str) for word in words)
        and isinstance(job.made, int | float)
        and abs(job.made) < 10**11
        and isinstance(job.pid, int)
        and job.pid > 1
        and (job.facts is None or isinstance(job.facts, dict))
    )


def _sweep(job: Job) -> None:
    """What a killed process could not remove itself: the hidden folder in which a release was being written."""
    if not job.target:
        return
    target = Path(job.target)
    for leftover in target.parent.glob(f".{_literal(target.name)}.*"):
        if re.fullmatch(r"[0-9a-f]{16}", leftover.name.removeprefix(f".{target.name}.")):
            shutil.rmtree(leftover, ignore_errors=True)


def _literal(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)
