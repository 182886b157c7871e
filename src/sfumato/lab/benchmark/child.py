"""One release in a process of its own, so that its peak memory is its own."""

import contextlib
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from sfumato.errors import ModelError, SfumatoError
from sfumato.fitted import Fitted
from sfumato.fitting import fit
from sfumato.lab.baselines import Baseline, FittedBaseline
from sfumato.lab.benchmark.datasets import BenchmarkError, Rows, row_count
from sfumato.mechanism import Mechanism
from sfumato.model import Synthetic
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Schema

Method = Mechanism | Baseline

_MEMORY = ": the machine may have run out of memory. Run fewer at once."
_GUARD = "A script has to call it below `if __name__ == '__main__':`, because a fresh process imports the script again."
_CAUSES: dict[int | None, str] = {-9: _MEMORY, 137: _MEMORY, 1: f"; the error stands above. {_GUARD}"}
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Outcome:
    """Rows of one fitted model, as many as are recommended and `as_many` as are real, and what they cost.

    Seconds run from rows in memory to the recommended rows in memory, the accounting included. The peak is the largest
    resident memory of the process from then to then: interpreter, imports and private rows are part of it. Neither
    counts memory of a GPU. `as_many` is None where the model cannot make that many.
    """

    synthetic: Synthetic = field(repr=False)
    as_many: Synthetic | None = field(repr=False)
    seconds: float
    peak_memory_mb: float | None


def release_in_child(
    method: Method, rows: Rows, schema: Schema, budget: Budget | None, *, seed: int, on_step: Callable[[str], None]
) -> Outcome:
    """Release rows in a fresh process: secure noise, drawn anew; `seed` is the public randomness of the model.

    A baseline has no budget.
    """
    context = multiprocessing.get_context("spawn")  # a fork would inherit the peak, and locked threads
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs,))
    try:  # no row was read yet, so what the system says can be told
        process.start()
    except RuntimeError as error:
        said = " ".join(str(error).split()).partition(". ")[0]
        raise BenchmarkError(f"no process can be started for the release: {said}. {_GUARD}") from None
    except OSError as error:
        said = f"no process can be started for the release: {error.strerror}. Run fewer at once."
        raise BenchmarkError(said) from None
    theirs.close()  # so that the end of the process is the end of the pipe
    message: object = ""
    try:
        with contextlib.suppress(ConnectionError):  # it ended before it read a row; its exit code is told below
            ours.send((method, rows, schema, budget, seed))
        while isinstance(message := _receive(ours), str):
            on_step(message)
    finally:
        ours.close()
        if isinstance(message, str):  # we were stopped while it works
            process.terminate()
        process.join()
    if isinstance(message, SfumatoError):
        raise message
    if isinstance(message, Outcome):
        return message
    raise BenchmarkError(
        f"the process of the release ended with code {process.exitcode} and no result{_CAUSES.get(process.exitcode, '.')}"
    )


def _receive(connection: Connection) -> object:
    """A message, or None where the process has ended, perhaps in the middle of one."""
    try:
        return connection.recv()
    except (EOFError, OSError):
        return None


def _work(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a person who stops the run stops the parent, which ends this one
    try:
        method, rows, schema, budget, seed = connection.recv()
        connection.send(_release(method, rows, schema, budget, seed, connection.send))
    except SfumatoError as error:
        connection.send(error)
    except MemoryError:
        connection.send(BenchmarkError("there is not enough memory for this release."))


def _release(
    method: Method, rows: Rows, schema: Schema, budget: Budget | None, seed: int, on_step: Callable[[str], None]
) -> Outcome:
    with contextlib.suppress(OSError):
        _CLEAR.write_text("5")  # forget the peak of receiving the rows
    start = time.perf_counter()
    fitted: Fitted | FittedBaseline
    if isinstance(method, Baseline):
        fitted = method.fit(rows, schema, seed=seed, on_step=on_step)
    elif budget is None:
        raise BenchmarkError(f"{method.name} is a mechanism, which needs a budget.")
    else:
        fitted = fit(method, Sensitive.read(rows, schema), budget, seed=seed, on_step=on_step)
    synthetic = fitted.sample("many", seed=seed)
    seconds, peak = time.perf_counter() - start, _peak_mb()
    as_many = None
    with contextlib.suppress(ModelError):  # a mixing mechanism holds the rows that it mixed, and no more
        as_many = fitted.sample(row_count(rows), seed=seed)
    return Outcome(synthetic, as_many, seconds, peak)


def _peak_mb() -> float | None:
    """The kernel's own high-water mark, so that no peak is missed; elsewhere what the system keeps, if anything."""
    if _STATUS.exists():
        line = next(line for line in _STATUS.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    if sys.platform == "win32":
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
