"""How commands end badly: a sentence and an exit code, never a traceback that could quote a private row."""

import functools
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import ParamSpec, TypeVar

import typer

import sfumato
from sfumato.cli.console import notices, print_json
from sfumato.errors import SfumatoError, VerificationError

REFUSED, MISUSED, NOT_VERIFIED, FAULTS_FOUND, UNEXPECTED, INTERRUPTED, TERMINATED = 1, 2, 3, 4, 70, 130, 143

#: What a script may rely on. Whatever is not 0 has written nothing.
EXIT_CODES = {
    0: "done",
    REFUSED: "refused, with a sentence on stderr",
    MISUSED: "the command line is wrong",
    NOT_VERIFIED: "a release does not bear out its claim",
    FAULTS_FOUND: "done, and faults were found: in the data, or in a claim",
    UNEXPECTED: "unforeseen; the message is withheld",
    INTERRUPTED: "stopped by Ctrl-C",
    TERMINATED: "asked to end",
}

#: Libraries in which a request is lost: compilers, and one that takes any exception for a number that does not exist.
_DEAF, _AGAIN_SECONDS = ("numba", "llvmlite", "mpmath"), 0.01

P = ParamSpec("P")
R = TypeVar("R")


class Terminated(KeyboardInterrupt):
    """Somebody asked the process to end, as a batch system does when time is up."""


def stop_cleanly() -> None:
    """End on a request as on Ctrl-C, so that what is half written is removed on the way out."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a job in the background is not to hear it
        signal.signal(signal.SIGINT, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    if _put_off(number, frame):
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    signal.signal(number, signal.SIG_IGN)  # one request is enough: a second would disturb the cleaning up
    raise Terminated


def _put_off(number: int, frame: FrameType | None) -> bool:
    """Whether a request has to wait until code is left in which it would be lost. It then comes again by itself.

    Python that numba calls from C cannot take an exception out of nowhere: while machine code is made it was lost, and where
    a result of it is handed back to Python the process crashed. A loop hears of a request there first of all. Where mpmath
    takes a float apart, it went on with a number that is none.
    """
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] not in _DEAF:
        frame = frame.f_back
    if frame is None:
        return False
    again = threading.Timer(_AGAIN_SECONDS, _send, [number, threading.get_ident()])
    again.daemon = True  # not to be waited for
    again.start()
    return True


def _send(number: int, thread: int) -> None:
    """To the thread that heard it, where that can be said: it wakes up if it waits for something."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, number)
    else:
        signal.raise_signal(number)


def refusing(command: Callable[P, R]) -> Callable[P, R]:
    """A command whose refusals are sentences."""

    @functools.wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> R:
        try:
            return command(*args, **options)
        except SfumatoError as error:
            is_bad_release = isinstance(error, VerificationError)
            _say(str(error), style="bold red" if is_bad_release else None)
            if options.get("as_json"):
                print_json({"error": str(error), "kind": type(error).__name__})
            raise typer.Exit(NOT_VERIFIED if is_bad_release else REFUSED) from None
        except KeyboardInterrupt as stop:
            raise typer.Exit(_stopped(type(stop))) from None

    return run


def withhold_details() -> None:
    """Whatever else goes wrong is told by type and place alone, and warnings not at all.

    The message of an unforeseen exception may quote a private value, and a warning may be the doing of one row.
    """
    if os.environ.get("SFUMATO_DEBUG") == "1":
        return
    warnings.simplefilter("ignore")
    sys.excepthook = _last_resort


def _say(sentence: str, *, style: str | None = None) -> None:
    notices().print(f"sfumato: {sentence}", style=style, markup=False, soft_wrap=True)


def _last_resort(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        raise SystemExit(_stopped(kind))
    _say(
        f"unexpected {kind.__name__} at {_place(trace)}. Its message is withheld, because it may hold private values; "
        "on a trusted machine SFUMATO_DEBUG=1 shows it. Please report the type and the place."
    )
    raise SystemExit(UNEXPECTED)


def _stopped(kind: type[BaseException]) -> int:
    _say("stopped; nothing was written.")
    return TERMINATED if issubclass(kind, Terminated) else INTERRUPTED


def _place(trace: TracebackType | None) -> str:
    """The innermost line of this package that was running."""
    package = Path(sfumato.__file__).parent
    ours = [frame for frame in traceback.extract_tb(trace) if package in Path(frame.filename).parents]
    if not ours:
        return "an unknown place"
    return f"sfumato/{Path(ours[-1].filename).relative_to(package).as_posix()}:{ours[-1].lineno}"
