"""A process of this machine that keeps some of the rows and adds them up: the other end of `local.py`.

It says nothing: its outputs lead nowhere, and what goes wrong over rows goes back as a sentence that names none of them.
"""

import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from sfumato.errors import ContractError, SfumatoError
from sfumato.private.engines.task import Task, Texts, texts_of
from sfumato.private.intake.sensitive import Sensitive
from sfumato.private.intake.source import Source
from sfumato.private.kernel.clip import distinct_codes
from sfumato.private.kernel.primitives import RowPrimitives
from sfumato.private.kernel.sums import Sums
from sfumato.private.rows.batches import Piece
from sfumato.private.rows.freed import give_back
from sfumato.private.rows.prepared import KeptRows, pieces_of
from sfumato.private.rows.room import Room
from sfumato.private.rows.row_alone import RowMap
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import GroupOf
from sfumato.public.schema.schema import Schema

#: What a worker answers: it is done, it refuses in a sentence, it cannot read what it was sent, or it failed.
DONE, REFUSED, UNREADABLE, FAILED = "done", "refused", "unreadable", "failed"
NOTHING: tuple[str, Any] = (DONE, None)
#: Whether a program without threads can divide safely. On other systems libraries have threads that nobody has asked for.
DIVIDES = sys.platform == "linux"


class Worker:
    """Some of the rows of a release: whole persons, in ascending order."""

    def __init__(self, schema: Schema, *, most_bytes: int) -> None:
        """Begin without rows."""
        self._rows = KeptRows(schema, room=Room(most_bytes))

    def keep(self, pieces: Sequence[Piece]) -> None:
        """Add packed rows behind the others. They have the columns that were prepared so far."""
        for private_piece in pieces:
            self._rows.keep_packed(private_piece)

    def read(self, source: Source) -> int:
        """Read rows by itself, where they lie. Returns how many there are: only then is known which place they have."""
        private_data = Sensitive(source, schema=self._rows.schema)
        n_rows = sum(self._rows.keep(private_piece) for private_piece in pieces_of(private_data, self._rows))
        give_back()
        return n_rows

    def begin_at(self, first: int) -> None:
        """So many rows lie before those that were read here."""
        self._rows.move(first)

    def prepare(self, name: str, per_record: GroupOf, digest: bytes) -> None:
        """Add a column to the rows that are here."""
        agreeing(self._rows.prepare(name, per_record), digest)

    def reduced(self, task: Task) -> Sums:
        """The sums of a task over the rows that are here."""
        row_map = agreeing(self._rows.row_map(task.per_record, most_rows=task.rows), task.digest)
        return task.over(self._rows, row_map=row_map, primitives=RowPrimitives())

    def texts(self, names: Sequence[str]) -> Texts:
        """How often each text of some columns occurs here."""
        return texts_of(self._rows, names)

    def close(self) -> None:
        """Forget the rows."""
        self._rows.close()


def agreeing(row_map: RowMap, digest: bytes) -> RowMap:
    """A map that gives for public rows what it gave where the digest was taken, to the last bit."""
    if row_map.digest != digest:
        raise ContractError(
            "a worker computes other numbers from the same public rows than this process, so one table would be read in two "
            "ways. Are its processor or its versions of the libraries others? Use the same everywhere, or engine='local:1'."
        )
    return row_map


def serve(connection: Connection) -> None:
    """Do what is asked, one thing after the other, until the other end closes."""
    worker, answer = None, NOTHING
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            return
        asked, wants_answer = message[1:], message[:1] == b"?"
        if answer[0] == DONE:
            answer, worker = answered(worker, asked)
        if wants_answer:  # what went wrong since the last answer is told now
            connection.send_bytes(pickle.dumps(answer, protocol=5))
            answer = NOTHING


def answered(worker: Worker | None, message: bytes) -> tuple[tuple[str, Any], Worker | None]:
    """What is answered to a message, and the worker that the first one makes."""
    try:
        name, arguments = pickle.loads(message)
    except Exception:  # noqa: BLE001 - whatever a class of somebody else raises when it is made anew
        return (UNREADABLE, None), worker
    try:
        if worker is None:
            return NOTHING, Worker(*arguments[:1], most_bytes=arguments[1])
        do: Callable[..., Any] = getattr(worker, name)
        return (DONE, do(*arguments)), worker
    except SfumatoError as error:
        return (REFUSED, error), worker
    except Exception:  # noqa: BLE001 - its message may hold private values
        return (FAILED, None), worker


def load(modules: Sequence[str]) -> None:
    """Load what all workers need, once for all of them: the modules of maps, and what the first compiled loop brings along."""
    for name in modules:
        with suppress(ImportError):  # whoever needs it will say so
            import_module(name)
    distinct_codes(np.zeros((1, 1), dtype=np.int64), block=Hot(name="public", width=1))


def main(lines: Sequence[int]) -> None:
    """Serve one line; or divide, so that every line has a process, and look after these.

    A process with threads must not divide. This one has none: it has done nothing yet but to load what it needs.
    """
    if len(lines) == 1:
        serve(Connection(lines[0]))
        return
    children = set[int]()

    def end_all(*_: object) -> None:
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)

    signal.signal(signal.SIGTERM, end_all)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # it waits until all are there, and so can be ended
    gc.freeze()  # what is loaded stays shared
    for line in lines:
        child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
                for other in lines:
                    if other != line:
                        os.close(other)
                serve(Connection(line))
            finally:
                os._exit(0)
        children.add(child)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    for line in lines:
        os.close(line)  # or nobody would see that a child has ended
    while children:
        children.discard(os.wait()[0])


if __name__ == "__main__":
    load(sys.argv[2:])
    main([int(line) for line in sys.argv[1].split(",")])
