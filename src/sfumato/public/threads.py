"""Pieces of work in several threads, each of which multiplies matrices by itself.

A library for matrix products has threads of its own, as many as there are processors. Called by several threads at once, it
has that many for each, and they spend their time waiting for each other: sixteen processors were slower than two.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numba
from threadpoolctl import ThreadpoolController

Piece = TypeVar("Piece")
Result = TypeVar("Result")


_HERE = threading.local()


def in_threads(work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """What becomes of each piece, in their order; the work must not care which of them is first.

    What is itself done in one of several threads is not divided further.

    >>> in_threads(abs, [3, -4])
    [3, 4]
    """
    n_threads = 1 if getattr(_HERE, "is_one_of_several", False) else min(numba.get_num_threads(), len(pieces))
    if n_threads < 2:
        return [work(piece) for piece in pieces]
    with _libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(n_threads, initializer=_mark) as pool:
        return list(pool.map(work, pieces))


def _mark() -> None:
    _HERE.is_one_of_several = True


@cache
def _libraries() -> ThreadpoolController:
    """Those that are loaded: numpy and scipy come with one each."""
    return ThreadpoolController()
