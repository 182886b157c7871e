"""Threads that change no number.

A library for matrix products has threads of its own, and what it computes with one of them is rounded otherwise than what it
computes with four: a release would hang on how many processors a machine has. So matrices are multiplied by one thread wherever
something is released, and work is divided into pieces instead, whose number follows from the work alone. Many threads would not
serve small matrices anyway: a fit of images took 13 s with four threads on sixteen processors, and 95 s with sixteen.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

import numba
from threadpoolctl import ThreadpoolController

Piece = TypeVar("Piece")
Result = TypeVar("Result")

#: Whether a thread is one of several that share some work.
_HERE = threading.local()
_FEW_LOOPS = 4


@contextlib.contextmanager
def few_threads(loops: int = _FEW_LOOPS) -> Iterator[None]:
    """One thread for matrices, and at most four for compiled loops, whose rows are computed one by one whoever does it."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(before, loops))
    try:
        with _ONE_FOR_MATRICES:
            yield
    finally:
        numba.set_num_threads(before)


class _OneForMatrices:
    """One thread for matrices in the whole process, until the last who asked for it has ended, in whichever order they do."""

    def __init__(self) -> None:
        self._lock, self._asking, self._limits = threading.Lock(), 0, contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._asking:
                self._limits.enter_context(ThreadpoolController().limit(limits=1, user_api="blas"))
            self._asking += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._asking -= 1
            if not self._asking:
                self._limits.close()


_ONE_FOR_MATRICES = _OneForMatrices()


def in_threads(work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """What becomes of each piece, in their order; the work must not care which of them is first.

    What is itself done in one of several threads is not divided further, nor where loops may have one thread alone.
    """
    is_alone = getattr(_HERE, "is_one_of_several", False) or numba.get_num_threads() == 1
    n_threads = 1 if is_alone else min(_most_threads(), len(pieces))
    if n_threads < 2:
        return [work(piece) for piece in pieces]
    with _ONE_FOR_MATRICES, ThreadPoolExecutor(n_threads, initializer=_mark) as pool:
        return list(pool.map(work, pieces))


def in_turn(work: Callable[[Piece], Result], pieces: Iterable[Piece], *, at_once: int) -> Iterator[Result]:
    """What becomes of each piece, in their order, as it is asked for; by so many threads at most, and so many pieces ahead.

    The first is done alone: what it compiles and keeps, the others find. What is not asked for any more is not begun.
    """
    waiting = iter(pieces)
    for piece in islice(waiting, 1):
        yield work(piece)
    n_threads = min(at_once, _most_threads())
    if n_threads < 2:
        yield from map(work, waiting)
        return
    with ThreadPoolExecutor(n_threads, initializer=_mark) as pool:
        begun = deque(pool.submit(work, piece) for piece in islice(waiting, n_threads))
        try:
            while begun:
                yield begun.popleft().result()
                begun.extend(pool.submit(work, piece) for piece in islice(waiting, 1))
        finally:
            for future in begun:
                future.cancel()


def _most_threads() -> int:
    """As many as there are processors, or as NUMBA_NUM_THREADS says."""
    config: Any = numba.config
    return int(config.NUMBA_NUM_THREADS)


def _mark() -> None:
    _HERE.is_one_of_several = True
