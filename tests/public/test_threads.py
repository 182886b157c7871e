"""Work in several threads: in order, and none of it divided again."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from sfumato.public.machine import threads
from sfumato.public.machine.exact_arithmetic import grid_products, on_grid, rounded_matrix
from sfumato.public.machine.threads import in_threads, in_turn


@pytest.fixture
def four(monkeypatch) -> None:
    monkeypatch.setattr(threads.numba, "get_num_threads", lambda: 4)
    monkeypatch.setattr(threads.numba.config, "NUMBA_NUM_THREADS", 4)


@pytest.mark.usefixtures("four")
def test_results_stand_in_the_order_of_the_pieces() -> None:
    assert in_threads(lambda n: n * n, range(100)) == [n * n for n in range(100)]
    assert in_threads(str, []) == []


@pytest.mark.usefixtures("four")
def test_work_in_a_thread_is_not_divided_again() -> None:
    def names(_: int) -> set[str]:
        return set(in_threads(lambda _: threading.current_thread().name, range(8)))

    assert all(len(found) == 1 for found in in_threads(names, range(8)))


@pytest.mark.usefixtures("four")
def test_libraries_for_matrices_have_one_thread_there_and_their_own_afterwards() -> None:
    before = matrix_threads()
    assert all(n == 1 for found in in_threads(lambda _: matrix_threads(), range(4)) for n in found)
    assert matrix_threads() == before


@pytest.mark.usefixtures("four")
def test_a_fault_in_a_thread_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda n: 1 / n, range(4))


def test_exact_products_are_the_same_bits_in_one_thread_and_in_four(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    rows = on_grid(rng.uniform(-1, 1, (300, 700)).astype(np.float32))
    matrix = rounded_matrix(rng.normal(size=(700, 400)))
    found = []
    for n_threads in (1, 4):
        monkeypatch.setattr(threads.numba, "get_num_threads", lambda n_threads=n_threads: n_threads)
        monkeypatch.setattr(threads.numba.config, "NUMBA_NUM_THREADS", n_threads)
        found.append(grid_products(rows, matrix))
    assert np.array_equal(*found)


def matrix_threads() -> list[int]:
    return [library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"]


def test_matrices_have_one_thread_and_loops_four_at_most_and_all_of_them_afterwards(monkeypatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(threads.numba, "get_num_threads", lambda: 16)
    monkeypatch.setattr(threads.numba, "set_num_threads", asked.append)
    with ThreadpoolController().limit(limits=3, user_api="blas"):
        before = matrix_threads()
        one, two = threads.few_threads(), threads.few_threads()
        with one:
            two.__enter__()
            assert set(matrix_threads()) == {1}
        assert set(matrix_threads()) == {1}, "the other goes on"
        two.__exit__(None, None, None)
        assert matrix_threads() == before
    assert asked == [4, 4, 16, 16]


@pytest.mark.usefixtures("four")
def test_pieces_come_in_their_order_and_no_more_are_begun_than_are_asked_for() -> None:
    begun: list[int] = []

    def work(n: int) -> int:
        begun.append(n)
        time.sleep(0.02 / (n + 1))
        return n * n

    made = in_turn(work, range(100), at_once=3)
    assert [next(made) for _ in range(5)] == [0, 1, 4, 9, 16]
    made.close()
    assert max(begun) <= 4 + 3
    assert list(in_turn(work, range(20), at_once=3)) == [n * n for n in range(20)]
    with pytest.raises(ZeroDivisionError):
        list(in_turn(lambda n: 1 // (n - 7), range(20), at_once=3))
