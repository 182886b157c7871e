"""Pieces of work in several threads, each of which multiplies matrices by itself.

A library for matrix products has threads of its own, as many as there are processors. Called by several threads at once, it
has that many for each, and they spend their time waiting for each other. Nor do many threads serve small matrices: a fit of images
took 13 s with four threads on sixteen processors, and 95 s with sixteen (20,000 images, other work beside it).
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numba
from threadpoolctl import ThreadpoolController

Piece = TypeVar("Piece")
Result = TypeVar("Result")

#: Whether a thread is one of several that share some work.
_HERE = threading.local()
_FEW = 4


@contextlib.contextmanager
def few_threads(most: int = _FEW) -> Iterator[None]:
    """At most four threads for matrices and for compiled loops: what is asked of them batch by batch is too little for more."""
    loops = numba.get_num_threads()
    libraries = [library["num_threads"] for library in _libraries().info() if library["user_api"] == "blas"]
    numba.set_num_threads(min(loops, most))
    try:
        with _libraries().limit(limits=min([most, *libraries]), user_api="blas"):
            yield
    finally:
        numba.set_num_threads(loops)


def in_threads(work: Callable[[Piece], Result], pieces: Sequence[Piece]) -> list[Result]:
    """What becomes of each piece, in their order; the work must not care which of them is first.

    What is itself done in one of several threads is not divided further.
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
