"""The default: processes on all cores of this machine. One process where the data is small, so that small tables pay nothing.

Each process keeps some of the rows and adds up its own; the driver is one of them. Rows of local files each reads itself, a
stretch of them; all others the driver reads, encodes, packs and hands out in turn. Processes are started as programs of their
own, not as copies of this one, so that a script needs no main guard and no thread is torn; where the schema declares many rows,
at once, so that they load what they need while this one does.
"""

import operator
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from itertools import accumulate, chain
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import numpy as np

from sfumato.errors import EngineError, PrivacyError
from sfumato.private.engines import worker
from sfumato.private.engines.here import RowsHere
from sfumato.private.engines.task import Task, Texts, added
from sfumato.private.intake.sensitive import Sensitive, open_stretches, require_same_files
from sfumato.private.intake.source import Source
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.sums import Sums
from sfumato.private.rows import room
from sfumato.private.rows.batches import Batches, Piece
from sfumato.private.rows.prepared import pieces_of
from sfumato.private.rows.row_alone import RowMap
from sfumato.public.machine.threads import few_threads
from sfumato.public.plan.doors import GroupOf
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema

#: Cells (rows times numbers in a row) from which on several processes are faster than one, their start included.
_MANY_CELLS = 6_000_000
#: Batches that go to one process together.
_PART = 32
_MOST_PROCESSES = 16
#: Messages that may wait for a process to read them: more would be rows that are held twice.
_AHEAD = 4
#: Doors whose inside is a sum over rows. Others need all rows in one place.
TRAVELLING = ("noisy_sum", "noisy_mixtures", "noisy_choice")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


#: What is raised over a map that holds a file, a lock, or doors.
CANNOT_TRAVEL = (pickle.PicklingError, AttributeError, TypeError, PrivacyError)


STAYS_HERE = (
    "a map of this mechanism cannot be sent to other processes, so this one does all the work. A map should hold public facts "
    "alone: no doors, no open files."
)


def travelling(name: str, arguments: tuple[Any, ...]) -> bytes:
    """A question as bytes. Functions that no module has a name for, such as lambdas, go by what they are made of."""
    message: bytes = cloudpickle.dumps((name, arguments), protocol=5)
    return message


class Local:
    """Processes of this machine, made when there are enough rows for them and ended with the release."""

    def __init__(self, processes: int | None = None) -> None:
        """Take how many processes there may be; as many as cores unless told otherwise."""
        self._processes = processes or min(_n_cores(), _MOST_PROCESSES)

    def open(self, data: Sensitive, *, schema: Schema, plan: Plan, primitives: Primitives) -> RowsHere:
        """Rows stay in this process where a step needs them in one place, or reads them only once."""
        passes = sum(step.uses for step in plan.steps)
        travels = primitives.may_travel and all(step.door in TRAVELLING for step in plan.steps) and passes > 1
        processes = self._processes if travels and sys.platform != "win32" else 1
        return LocalRows(data, schema=schema, keep=passes > 1, primitives=primitives, processes=processes)


def _n_cores() -> int:
    """Those that this process may use, where the system says."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalRows(RowsHere):
    """Rows in this process while they are few, and in several when they turn out to be many."""

    def __init__(self, data: Sensitive, *, schema: Schema, keep: bool, primitives: Primitives, processes: int) -> None:
        """Nothing is read yet. Where the declared rows are many, processes are started, so that they are ready when they are."""
        super().__init__(data, schema=schema, keep=keep, primitives=primitives)
        self._processes = processes
        self._workers: list[_Process | _ThisProcess] = []
        self._prepared: list[tuple[str, GroupOf, bytes]] = []
        self._per_row = sum(int(np.prod(values.shape[1:])) for values in self.public.values())
        are_many = processes > 1 and (schema.rows or 0) * self._per_row > _MANY_CELLS
        self._waiting = started(processes - 1) if are_many else []

    def prepare(self, name: str, per_record: GroupOf) -> RowMap:
        """Add a column to the rows, wherever they are."""
        row_map = super().prepare(name, per_record)
        self._prepared.append((name, per_record, row_map.digest))
        if self._travels("prepare", self._prepared[-1]) and self._workers:
            self._ask("prepare", *self._prepared[-1])
        return row_map

    def reduced(self, task: Task, row_map: RowMap) -> Sums:
        """The sums of a task over all rows."""
        if self._travels("reduced", (task,)) and not self._is_read:
            self._distribute()
        private_sums = self._ask("reduced", task) if self._workers else None
        return super().reduced(task, row_map) if private_sums is None else reduce(added, private_sums)

    def texts(self, names: Sequence[str]) -> Texts:
        """How often each text of some columns occurs."""
        private_counts = self._ask("texts", list(names)) if self._workers else None
        return super().texts(names) if private_counts is None else _together(private_counts, names)

    def __iter__(self) -> Iterator[Piece]:
        """All rows, here: read once more where other processes have them."""
        return pieces_of(self._data, self) if self._workers else super().__iter__()

    def close(self) -> None:
        """End the processes, and with them their rows."""
        super().close()
        self._end_processes()

    def _end_processes(self) -> None:
        for process in (*self._workers, *self._waiting):
            process.end()
        self._workers, self._waiting = [], []

    def _travels(self, name: str, asked: tuple[Any, ...]) -> bool:
        """Whether a map can be sent to processes. It is tried however few rows there are: what is said follows from maps alone."""
        try:
            if self._processes > 1:
                travelling(name, asked)
        except CANNOT_TRAVEL:
            self._come_home()
            self.remarks.append(STAYS_HERE)
        return self._processes > 1

    @contextmanager
    def _or_nothing(self) -> Iterator[None]:
        """Whatever goes wrong, processes with some of the rows, or with an answer that nobody has read, are not asked again."""
        try:
            yield
        except BaseException:
            self._end_processes()
            self._private_kept.clear()
            self._is_read = False
            raise

    def _distribute(self) -> None:
        try:
            with self._or_nothing():
                stretches = open_stretches(self._data, stretches=self._processes, least=_MANY_CELLS // self._per_row)
                if stretches:
                    self._let_read(stretches)
                else:
                    self._read_and_hand_out()
        except _UnreadableError:
            self._come_home()

    def _let_read(self, stretches: Sequence[Source]) -> None:
        """Every process reads the rows of its own stretch, and is told how many lie before them."""
        self._start()
        self._tell_prepared()
        private_rows = self._answers([travelling("read", (source,)) for source in stretches])
        require_same_files(self._data)
        for process, first in zip(self._workers, accumulate(private_rows, initial=0), strict=False):
            process.tell(travelling("begin_at", (first,)))
        self._is_read = True

    def _read_and_hand_out(self) -> None:
        """Read the data once. Where there is much of it, parts go to processes as they are read, and none stays here.

        Prepared columns are computed where rows stay, so that no process waits for another's.
        """
        n_cells, private_waiting, bare = 0, list[list[Piece]](), Batches(self.schema)
        for turn, private_part in enumerate(whole_parts(pieces_of(self._data, bare))):
            n_cells += sum(piece.n_rows for piece in private_part) * self._per_row
            private_waiting.append([bare.packed(piece) for piece in private_part])
            if not self._workers and n_cells > _MANY_CELLS // 3:  # they are ready when they are needed
                self._start()
            if n_cells > _MANY_CELLS:
                first = turn + 1 - len(private_waiting)
                for at, private_pieces in enumerate(private_waiting, start=first):
                    self._workers[at % len(self._workers)].tell(travelling("keep", (private_pieces,)))
                private_waiting.clear()
        if n_cells > _MANY_CELLS:
            self._tell_prepared()
        else:
            self._end_processes()
            for private_piece in chain.from_iterable(private_waiting):
                self.keep(self.with_prepared(private_piece))
        self._is_read = True

    def _start(self) -> None:
        begin = travelling("begin", (self.schema, room.MOST_BYTES // self._processes))
        self._workers = [_ThisProcess(), *(self._waiting or started(self._processes - 1))]
        self._waiting = []
        for process in self._workers:
            process.tell(begin)

    def _tell_prepared(self) -> None:
        """Columns that were prepared before there were processes."""
        for message in [travelling("prepare", column) for column in self._prepared]:
            for process in self._workers:
                process.tell(message)

    def _ask(self, name: str, *arguments: Any) -> list[Any] | None:
        """What all processes answer; None where they cannot read a map, and the rows are read here again.

        Nothing is said of that: there are processes only where there are many rows, and how many there are is private.
        """
        try:
            with self._or_nothing():
                return self._answers([travelling(name, arguments)] * len(self._workers))
        except _UnreadableError:
            self._come_home()
            return None

    def _answers(self, messages: Sequence[bytes]) -> list[Any]:
        """What each process answers to its own question; the first of them that refuses is heard."""
        for process, message in zip(self._workers, messages, strict=True):
            process.send(message)
        answers = [process.answer() for process in self._workers]
        if any(kind == worker.UNREADABLE for kind, _ in answers):
            raise _UnreadableError
        for kind, error in answers:
            if kind == worker.REFUSED:
                raise error
            if kind == worker.FAILED:
                raise EngineError(
                    "a process of the engine failed over the rows. Its message is withheld, because it may hold private "
                    "values. Try engine='local:1'."
                )
        return [result for _, result in answers]

    def _come_home(self) -> None:
        """Go on in this process alone."""
        self.close()
        self._processes, self._is_read = 1, False


class _UnreadableError(Exception):
    """A process cannot make anew what it was sent."""


def _together(private_counts: Sequence[Texts], names: Sequence[str]) -> Texts:
    return {name: reduce(operator.add, (counts[name] for counts in private_counts)) for name in names}


class _ThisProcess:
    """A worker in this process. What it is asked for it does when its answer is wanted, while others are at work."""

    def __init__(self) -> None:
        self._worker: worker.Worker | None = None
        self._answer, self._asked = worker.NOTHING, b""

    def tell(self, message: bytes) -> None:
        """Do something that has no answer; what goes wrong shows at the next answer."""
        if self._answer[0] == worker.DONE:
            with few_threads(1):
                self._answer, self._worker = worker.answered(self._worker, message)

    def send(self, message: bytes) -> None:
        """Ask for something, to be answered."""
        self._asked = message

    def answer(self) -> tuple[str, Any]:
        """The answer to what was sent."""
        self.tell(self._asked)
        answer, self._answer = self._answer, worker.NOTHING
        return answer

    def end(self) -> None:
        """Forget the rows."""
        if self._worker is not None:
            self._worker.close()
        self._worker = None


class _Process:
    """The line to a worker in a process of its own."""

    def __init__(self, line: Connection, program: "subprocess.Popen[bytes]") -> None:
        self._line, self.program = line, program
        self._writer = ThreadPoolExecutor(
            1
        )  # while it loads, or is at work, it reads nothing, and nobody waits for that
        self._written = deque[Future[None]]()

    def tell(self, message: bytes) -> None:
        """Ask for something that has no answer; what goes wrong shows at the next answer."""
        self._write(b"." + message)

    def send(self, message: bytes) -> None:
        """Ask for something, to be answered."""
        self._write(b"?" + message)

    def answer(self) -> tuple[str, Any]:
        """The answer to what was sent."""
        self._wait(0)
        try:
            answer: tuple[str, Any] = pickle.loads(self._line.recv_bytes())
        except (EOFError, OSError):
            raise _ended() from None
        return answer

    def _write(self, message: bytes) -> None:
        self._written.append(self._writer.submit(self._line.send_bytes, message))
        self._wait(_AHEAD)

    def _wait(self, most: int) -> None:
        """Until no more than so many messages are still to be written."""
        while len(self._written) > most:
            try:
                self._written.popleft().result()
            except OSError:
                raise _ended() from None

    def end(self) -> None:
        """End the process, whatever it does, and close the line."""
        self.program.terminate()
        self.program.wait()
        self._writer.shutdown()
        self._line.close()


def started(n_processes: int) -> list[_Process]:
    """Workers that are one program: it is started once, and divides when it has loaded all that they need.

    Where it cannot divide, each is a program of its own. What they say on their outputs is not heard.
    """
    lines = [Pipe() for _ in range(n_processes)]
    environment = {
        **os.environ,
        **dict.fromkeys(_THREADS, "1"),
        "JE_ARROW_MALLOC_CONF": "background_thread:false",  # who divides has no thread, of Arrow's allocator neither
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
    }
    nowhere, processes = subprocess.DEVNULL, list[_Process]()
    for together in [lines] if worker.DIVIDES else [[line] for line in lines]:
        theirs = [their.fileno() for _, their in together]
        command = [sys.executable, "-P", "-m", worker.__name__, ",".join(map(str, theirs)), *_modules_of_maps()]
        program = subprocess.Popen(
            command, pass_fds=theirs, env=environment, stdin=nowhere, stdout=nowhere, stderr=nowhere
        )
        processes += [_Process(ours, program) for ours, _ in together]
    for _, their in lines:
        their.close()
    return processes


def _modules_of_maps() -> list[str]:
    """What has been loaded here and workers will need as well, by the name that such modules have."""
    return sorted(name for name in sys.modules if name.startswith("sfumato.") and name.endswith(".maps"))


def _ended() -> EngineError:
    return EngineError(
        "a process of the engine has ended in the middle of a release, perhaps because memory ran out, so nothing is released. "
        "Start again, with fewer processes (engine='local:1') if it happens again."
    )


def whole_parts(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Batches that follow each other, a few dozen at a time, such that nobody has rows in two of these parts."""
    private_part = list[Piece]()
    for private_piece in pieces:
        numbers = private_piece.numbers
        goes_on = private_part and numbers is not None and private_part[-1].units[-1] == numbers[0]
        if len(private_part) >= _PART and not goes_on:
            yield private_part
            private_part = []
        private_part.append(private_piece)
    if private_part:
        yield private_part
