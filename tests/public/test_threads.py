"""Work in several threads: in order, and none of it divided again."""

import threading

import numpy as np
import pytest

from sfumato.public.machine import threads
from sfumato.public.machine.exact_arithmetic import grid_products, on_grid, rounded_matrix
from sfumato.public.machine.threads import in_threads


@pytest.fixture
def four(monkeypatch) -> None:
    monkeypatch.setattr(threads.numba, "get_num_threads", lambda: 4)


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
    def of_libraries() -> list[int]:
        return [library["num_threads"] for library in threads._libraries().info() if library["user_api"] == "blas"]

    before = of_libraries()
    assert all(n == 1 for found in in_threads(lambda _: of_libraries(), range(4)) for n in found)
    assert of_libraries() == before


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
        found.append(grid_products(rows, matrix))
    assert np.array_equal(*found)


def test_few_threads_are_four_at_most_and_all_of_them_afterwards(monkeypatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(threads.numba, "get_num_threads", lambda: 16)
    monkeypatch.setattr(threads.numba, "set_num_threads", asked.append)
    with threads.few_threads():
        found = [library["num_threads"] for library in threads._libraries().info() if library["user_api"] == "blas"]
    assert all(n <= 4 for n in found)
    assert asked == [4, 16]
