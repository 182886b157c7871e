"""The contract multiplies matrices with one thread, as a release does: two would round otherwise than the next machine's four."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
from threadpoolctl import ThreadpoolController

import schemas
from sfumato.check import check_mechanism, suite
from sfumato.check.instruments import fresh
from sfumato.errors import ContractError
from sfumato.extending import register
from sfumato.mechanisms import IndependentHistograms


@register
@dataclass(frozen=True, kw_only=True)
class CountsThreads(IndependentHistograms):
    """Its model holds how many threads multiply matrices, where every other model would hang on that in its last bits."""

    name: ClassVar[str] = "counts-threads"
    bins: int = 8

    def build(self, measurements, *args, **options):
        model = super().build(measurements, *args, **options)
        object.__setattr__(model, "threads", _threads_of_matrices())
        return model


def _threads_of_matrices() -> int:
    return max(library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info())


@pytest.fixture
def _two_here_three_elsewhere(monkeypatch):
    """As if matrices were multiplied by two threads in this process, and by three in the fresh one."""
    threads = {f"{library}_NUM_THREADS": "3" for library in ("OMP", "OPENBLAS")}
    monkeypatch.setattr(fresh, "_ENVIRONMENT", {**fresh._ENVIRONMENT, **threads})
    monkeypatch.setattr(fresh, "_helper", fresh._Helper())
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if _threads_of_matrices() != 2:
            pytest.skip("the library for matrices has one thread only")
        yield


@pytest.mark.usefixtures("_two_here_three_elsewhere")
def test_a_model_does_not_hang_on_the_threads_of_two_processes() -> None:
    check_mechanism(CountsThreads(), schemas.TABLE, n_rows=60)


@pytest.mark.usefixtures("_two_here_three_elsewhere")
def test_without_one_thread_it_would(monkeypatch) -> None:
    monkeypatch.setattr(suite, "few_threads", lambda: ThreadpoolController().limit(limits=2, user_api="blas"))
    with pytest.raises(ContractError, match="threads differs"):
        check_mechanism(CountsThreads(), schemas.TABLE, n_rows=60)
