"""A second process that plans, drafts and looks things up, so that the server stays small and no page waits for another.

It is started when it is first needed, ended when nobody has needed it for a while, and started anew if it died.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TypeVar, cast

from sfumato.errors import SfumatoError

#: Longer than any plan of a table takes.
MOST_SECONDS = 60.0
IDLE_SECONDS = 300.0

R = TypeVar("R")


class Refused(SfumatoError):
    """A refusal of the package, in its own words. `fields` are its parts, where it has any."""

    def __init__(self, sentence: str, fields: list[tuple[list[str], str]] | None = None) -> None:
        super().__init__(sentence)
        self.fields = fields or []


class Worker:
    """One process for functions of `engine.py`."""

    def __init__(self, *, seconds: float = MOST_SECONDS) -> None:
        self._seconds, self._used = seconds, 0.0
        self._pool: ProcessPoolExecutor | None = None

    async def ask(self, function: Callable[..., R], *given: Any) -> R:
        """What the function gives, or `Refused`. A worker that takes too long or dies is ended, and said so."""
        self._used = time.monotonic()
        if self._pool is None:
            self._pool = ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"))
        asked = self._pool.submit(_answer, function, given)
        try:
            kind, told, fields = await asyncio.wait_for(asyncio.wrap_future(asked), self._seconds)
        except TimeoutError:
            self.stop()
            raise Refused(
                f"this took more than {self._seconds:.0f} seconds and was stopped. Use fewer columns, or the command line, which waits."
            ) from None
        except BrokenProcessPool:
            self.stop()
            raise Refused("the process that plans has died, perhaps for want of memory. Try again.") from None
        if kind == "refused":
            raise Refused(told, fields)
        return cast(R, told)

    def stop(self) -> None:
        """End the process, whatever it does."""
        pool, self._pool = self._pool, None
        if pool is not None:
            for process in list(getattr(pool, "_processes", {}).values()):
                process.kill()
            pool.shutdown(wait=False, cancel_futures=True)

    async def keep_small(self) -> None:
        """Ends an idle process, for as long as the server runs."""
        while True:
            await asyncio.sleep(IDLE_SECONDS / 10)
            if self._pool is not None and time.monotonic() - self._used > IDLE_SECONDS:
                self.stop()


def _answer(function: Callable[..., Any], given: tuple[Any, ...]) -> tuple[str, Any, list[tuple[list[str], str]]]:
    """In the worker: refusals come back as words, so that no exception with a private value in it can travel."""
    try:
        return "done", function(*given), []
    except SfumatoError as error:
        faults = [(list(fault.place), fault.sentence) for fault in getattr(error, "faults", ())]
        return "refused", str(error), faults
