"""Rows on a Dask cluster: one that is there already, or one of this machine that ends with the release.

Parts are futures. They stay in the memory of the workers that made them; when a worker dies, Dask makes them again from where
they came, and their digests say whether they are the same.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from sfumato.errors import EngineError
from sfumato.private.engines import part as parts
from sfumato.private.engines.cluster import ClusterRows, numbers_of, opened_here
from sfumato.private.engines.engine import Rows
from sfumato.private.engines.task import Task
from sfumato.private.intake.messages import withheld
from sfumato.private.intake.sensitive import Sensitive
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema

#: Parts for each worker: few enough that tasks are long, and enough that a slow worker holds nobody up.
_PARTS_PER_WORKER = 4
#: What a cluster that is made here is told: no page, no rows on a disk, no values in logs.
_SETTINGS = {
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.pause": 0.9,
    "distributed.admin.log-length": 0,
    "distributed.diagnostics.computations.max-history": 0,
    "distributed.scheduler.http.routes": [],  # which pages there are, even without a dashboard
    "distributed.worker.http.routes": [],
    # Without Dask's own threshold of the allocator, under which memory goes to the system and comes back with every batch.
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1, "MKL_NUM_THREADS": 1},
}

#: Seconds for a cluster without workers to get one: some start them when there is something to do, and after one was lost.
_PATIENCE = 60
#: Schemes that do nothing without keys.
_WITH_KEYS = ("tls", "wss")

_LOST = (
    "the cluster lost a part of the rows and could not read it again, so nothing is released. Are workers ended for want of "
    "memory? Give files that all workers can read, or more memory."
)
_FAILED = (
    "a step of the Dask frame failed over the rows, or a worker cannot load a map, so nothing is released. The message is withheld, "
    "because it may hold private values. Does len(frame) work, and can workers import what the mechanism imports?"
)


class Dask:
    """A cluster by its address, by a client that is open, or one that is made here."""

    def __init__(self, address: str | None = None, *, client: Any = None) -> None:
        """Nothing is connected yet."""
        self._address, self._client = address, client

    def open(self, data: Sensitive, *, schema: Schema, plan: Plan, primitives: Primitives) -> Rows:
        """Rows on the cluster; here where a step needs them in one place."""
        here = opened_here(data, schema=schema, plan=plan, primitives=primitives)
        if here is not None:
            return here
        client, made = (_alive(self._client), None) if self._client is not None else _connected(self._address)
        keep = sum(step.uses for step in plan.steps) > 1
        rows = DaskRows(data, schema=schema, keep=keep, primitives=primitives, client=client, made=made)
        try:
            _require_workers(client)
        except EngineError:
            rows.close()
            raise
        return rows


class DaskRows(ClusterRows):
    """Parts as futures of a client."""

    def __init__(
        self, data: Sensitive, *, schema: Schema, keep: bool, primitives: Primitives, client: Any, made: Any
    ) -> None:
        """Take a connected client, and what was made for this release: the cluster, or the client itself."""
        super().__init__(data, schema=schema, keep=keep, primitives=primitives)
        self._client, self._made, self._parts = client, made, list[Any]()

    @property
    def n_workers(self) -> int:
        """How many tasks run at once."""
        return max(1, int(sum(self._client.nthreads().values())))

    def read(self, raw: Sequence[Any]) -> None:
        """One task for each part: it reads its rows and keeps them."""
        with self._answering():
            self._parts = [self._submit(parts.packed, self._facts, some) for some in self._groups(raw)]

    def read_persons(self, raw: Sequence[Any], *, person: str, key: bytes, max_rows: int) -> None:
        """Ids first, as keyed hashes; then rows go to the parts of their persons."""
        with self._answering():
            groups = self._groups(raw)
            hashed = [self._submit(parts.hashed, self._facts, some, key) for some in groups]
            by_part, numbers = numbers_of(self._gathered(hashed), key=key, max_rows=max_rows)
            ends = parts.person_ends(numbers, parts=len(groups))
            split = [self._submit(parts.split, self._facts, g, n, ends) for g, n in zip(groups, by_part, strict=True)]
            self._parts = [
                self._submit(parts.joined, self._facts, *(self._submit(parts.chosen, private, at) for private in split))
                for at in range(len(ends))
            ]

    def ship(self, made: Iterable[parts.Part]) -> None:
        """Send parts to the workers in turn, as they are read."""
        with self._answering():
            self._parts = [self._client.scatter(private_part, hash=False) for private_part in made]

    def facts(self) -> Mapping[int, Any]:
        """Rows and digest of every part."""
        with self._answering():
            return self._every(self._submit(parts.facts_of, private_part) for private_part in self._parts)

    def add_column(self, facts: parts.Facts) -> None:
        """New parts from the old ones, which are let go of."""
        with self._answering():
            self._parts = [self._submit(parts.prepared, facts, private_part) for private_part in self._parts]

    def sums(self, facts: parts.Facts, task: Task, firsts: Sequence[int]) -> Mapping[int, Any]:
        """Digest and sums of every part."""
        with self._answering():
            told = self._submit(parts.told, facts, task)  # for all parts; made again where the worker that had it died
            return self._every(
                self._submit(parts.reduced_by, told, p, first) for p, first in zip(self._parts, firsts, strict=True)
            )

    def texts_by_part(self, facts: parts.Facts, names: Sequence[str]) -> Mapping[int, Any]:
        """Digest and counts of texts of every part."""
        with self._answering():
            return self._every(self._submit(parts.texts, facts, p, list(names)) for p in self._parts)

    def close(self) -> None:
        """Let go of the futures, and end what was made here: a cluster, or the line to one."""
        super().close()
        self._parts = []
        if self._made is not None:
            self._client.close()
            self._made.close()
            self._made = None

    def _groups(self, raw: Sequence[Any]) -> list[Any]:
        """Rows that follow each other, a few parts for each worker."""
        if any(hasattr(private_part, "dask") for private_part in raw):  # partitions of a frame, not computed yet
            raw = self._client.compute(list(raw))
        groups = list(parts.in_groups(raw, groups=_PARTS_PER_WORKER * self.n_workers))
        return groups or [[]]

    def _submit(self, work: Any, *arguments: Any) -> Any:
        # Every task has a name of its own: by default it would follow from its arguments, which hold keys.
        return self._client.submit(work, *arguments, pure=False)

    def _every(self, futures: Iterable[Any]) -> dict[int, Any]:
        return dict(enumerate(self._gathered(list(futures))))

    def _gathered(self, futures: Sequence[Any]) -> Sequence[Any]:
        """Answers, waited for as long as somebody works for the cluster: Dask would wait for workers that never come back."""
        wait = import_module("distributed").wait
        while True:
            with suppress(TimeoutError), self._client.as_current():
                wait(futures, timeout=_PATIENCE)
                break
            _require_workers(self._client)
        answers: Sequence[Any] = self._client.gather(futures)
        return answers

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Sentences in the place of what Dask raises: steps of a frame are somebody else's, and so is what they raise."""
        lost = import_module("distributed.client").FutureCancelledError
        killed = import_module("distributed.scheduler").KilledWorker
        _alive(self._client)
        with (  # a line that is closed is an OSError
            withheld(_FAILED, (Exception,), EngineError),
            withheld(_LOST, (killed, lost, TimeoutError, OSError), EngineError),
        ):
            yield


def _alive(client: Any) -> Any:
    """A client that can be used: it is connected, and there is somebody to work for it."""
    if not hasattr(client, "gather") or client.asynchronous:
        raise EngineError(
            f"a {type(client).__name__} is no Dask client whose answers can be waited for. Give a distributed.Client(...), "
            "not asynchronous."
        )
    if client.status != "running":
        raise EngineError(
            "the Dask client is closed, or its cluster has ended, so nothing is released. Connect a new one, and start again."
        )
    return client


def _require_workers(client: Any) -> None:
    """Refuse a cluster that nobody works for: Dask would wait for ever."""
    if client.nthreads():
        return
    try:
        client.submit(int, pure=False).result(timeout=_PATIENCE)
    except TimeoutError:
        raise EngineError(
            "the Dask cluster has no workers, so nothing is released. Start some (dask worker ADDRESS), and start again."
        ) from None


def _connected(address: str | None) -> tuple[Any, Any]:
    try:
        dask, distributed = import_module("dask"), import_module("distributed")
    except ImportError:
        raise EngineError(
            "engine 'dask' needs Dask, which is not installed. Run: pip install 'sfumato[dask]'"
        ) from None
    try:
        if address is not None:
            _require_address(address)
            client = distributed.Client(address, timeout=10, set_as_default=False)
            return client, client
        with dask.config.set(_SETTINGS):
            made = distributed.LocalCluster(
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
                security=True,  # keys of its own: other users of this machine cannot ask its workers for rows
            )
            return distributed.Client(made, set_as_default=False), made
    except (OSError, TimeoutError, ValueError, TypeError, ImportError):  # of a scheme whose library is not there, too
        where = "on this machine" if address is None else f"at {address}"
        raise EngineError(f"no Dask cluster answers {where}. Check the address, and that the scheduler runs.") from None


def _require_address(address: str) -> None:
    """Refuse what is no address, before a client tries for half a minute to find it and complains as the process ends."""
    addressing = import_module("distributed.comm.addressing")
    security, known = import_module("distributed.security"), import_module("distributed.comm.registry").backends
    scheme, place = addressing.parse_address(address)
    try:
        host, port = addressing.parse_host_port(place)
    except ValueError:
        host, port = "", 0
    if scheme not in known or not host or not 0 < port < 1 << 16:
        raise EngineError(
            f"engine 'dask:{address}': behind dask: stands the address of a scheduler, as in dask:tcp://host:8786. Schemes are "
            f"{', '.join(sorted(known))}."
        )
    if scheme in _WITH_KEYS and security.Security().get_connection_args("client").get("ssl_context") is None:
        raise EngineError(
            f"engine 'dask:{address}' needs keys for TLS, and Dask's settings name none. Set distributed.comm.tls.ca-file and "
            "distributed.comm.tls.client (cert, key), or give a client that has them: engine=Client(address, security=...)."
        )
