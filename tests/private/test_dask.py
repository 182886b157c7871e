"""The doors on a Dask cluster: the same answers as in one process, also when a worker dies in the middle of a step."""

import multiprocessing
import os
import signal
import sys
import time
import traceback
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_engines import COLUMNS, KINDS, measured, numbers, one_sum, rows_of

import sfumato as sf
from sfumato import Column, Schema, Sensitive
from sfumato.errors import EngineError, SfumatoError, SourceError
from sfumato.private.engines import dask as dask_engine
from sfumato.private.engines.choose import engine_of
from sfumato.private.engines.dask import Dask
from sfumato.private.engines.here import HERE
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.view import View
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.plan.block import Dense
from sfumato.public.plan.plan import make_plan
from sfumato.public.plan.step import Step

pytestmark = pytest.mark.slow
dask = pytest.importorskip("dask", reason="needs Dask: pip install 'sfumato[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="needs Dask: pip install 'sfumato[dask]'")
distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'sfumato[dask]'")


@pytest.fixture(scope="module")
def threads():
    """A cluster within this process: its workers and the driver share one silence."""
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        yield made


def frame_of(raw, *, partitions: int):
    return dd.from_pandas(pd.DataFrame(raw), npartitions=partitions, sort=False)


@pytest.mark.parametrize(
    ("kind", "lies"), [("rows", "frame"), ("persons", "frame"), ("persons", "files"), ("replaced", "memory")]
)
def test_the_answers_are_those_of_one_process(kind, lies, client, tmp_path: Path) -> None:
    raw, unit = rows_of(2500), KINDS[kind]
    rows = 2500 if kind == "replaced" else None
    data = {"frame": frame_of(raw, partitions=5), "files": tmp_path, "memory": raw}[lies]
    for at, start in enumerate(range(0, 2500, 900)):
        pd.DataFrame({n: v[start : start + 900] for n, v in raw.items()}).to_parquet(tmp_path / f"{at}.parquet")
    assert measured(engine_of(client), data, unit=unit, rows=rows) == measured(HERE, raw, unit=unit, rows=rows)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n=st.integers(4, 60), cuts=st.lists(st.integers(0, 60), max_size=4))
def test_however_a_frame_is_cut_the_answers_are_the_same(kind, n, cuts, threads) -> None:
    """Some partitions are empty, and some have one row."""
    raw, rows = pd.DataFrame(rows_of(n)), n if kind == "replaced" else None
    ends = [0, *sorted(min(cut, n) for cut in cuts), n]
    frame = dd.from_map(lambda bounds: raw.iloc[slice(*bounds)], list(pairwise(ends)), meta=raw.iloc[:0])
    whole = measured(HERE, raw, unit=KINDS[kind], rows=rows)
    frame = rows_of(n) if rows else frame  # the order of a frame is not known to stay when a row is replaced
    assert measured(Dask(client=threads), frame, unit=KINDS[kind], rows=rows) == whole


def dies_once(marker: str, driver: int, batch):
    """A map whose first worker is killed over private rows."""
    if os.getpid() != driver and not os.path.exists(marker):
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"x": batch["x"]}


@pytest.mark.parametrize("lies", ["frame", "files"])
def test_a_worker_that_is_killed_in_the_middle_of_a_step_changes_nothing(lies, client, tmp_path: Path) -> None:
    raw, answers = rows_of(2500), []
    pd.DataFrame(raw).to_parquet(tmp_path / "rows.parquet")
    schema, marker = Schema(columns=COLUMNS), str(tmp_path.parent / f"{tmp_path.name}-killed")
    plan = make_plan(
        (Step(name="sum", blocks=(Dense(name="x", width=1, l2_bound=1.0),), uses=2),),
        budget=Budget(50.0, 1e-6),
        unit=schema.unit,
        rows=None,
    )
    for engine, data in (
        (HERE, raw),
        (Dask(client=client), frame_of(raw, partitions=4) if lies == "frame" else tmp_path),
    ):
        primitives = Primitives(NoiseSource(research_seed=3))
        view = View(Sensitive.read(data, schema), plan=plan, primitives=primitives, schema=schema, engine=engine)
        for _ in range(2):
            view.noisy_sum("sum", partial(dies_once, marker, os.getpid()))
        view.close()
        answers.append({name: values.tolist() for name, values in view.answers.integers.items()})
    assert os.path.exists(marker), "somebody was killed"
    assert answers[0] == answers[1]


def test_texts_and_bounds_are_discovered_on_the_cluster(client) -> None:
    columns = (Column(name="town", kind="categorical", discover=True), Column(name="x", kind="numeric", discover=True))
    rng = np.random.default_rng(0)
    raw = {"town": np.array(["Ulm", "Bonn"], dtype=object)[rng.integers(2, size=3000)], "x": rng.normal(size=3000)}
    found = [
        sf.fit("independent-histograms", data, 5.0, schema=Schema(columns=columns), seed=1, engine=engine,
               source=NoiseSource(research_seed=2))
        for data, engine in ((raw, "local:1"), (frame_of(raw, partitions=3), client))
    ]  # fmt: skip
    assert found[0].schema == found[1].schema
    one, two = (fitted.answers.integers for fitted in found)
    assert {n: v.tolist() for n, v in one.items()} == {n: v.tolist() for n, v in two.items()}


def test_empty_partitions_and_many_tiny_ones(client) -> None:
    raw = rows_of(300)
    whole = measured(HERE, raw)
    tiny = frame_of(raw, partitions=150)
    assert measured(Dask(client=client), tiny) == whole
    empty = frame_of({name: values[:0] for name, values in raw.items()}, partitions=1)
    assert measured(Dask(client=client), dd.concat([empty, tiny.repartition(npartitions=2)])) == whole


def test_one_that_is_made_here_ends_with_the_release_shows_no_page_and_lets_nobody_else_in(monkeypatch) -> None:
    """Otherwise anybody on this machine could read how many rows there are, and the rows themselves."""
    raw, before = rows_of(600), {process.name for process in multiprocessing.active_children()}
    looked = []

    def looked_at(address, real=dask_engine._connected):
        client, made = real(address)
        sockets = made.scheduler.http_server._sockets.values()
        (place,) = {"http://{}:{}".format(*socket.getsockname()[:2]) for socket in sockets}
        for page in ("/status", "/info/main/workers.html", "/json/counts.json", "/metrics", "/health"):
            with pytest.raises(HTTPError, match="404"):
                urlopen(place + page, timeout=10)
        with pytest.raises((OSError, TimeoutError)):
            distributed.Client(made.scheduler_address.replace("tls://", "tcp://"), timeout=2, set_as_default=False)
        looked.append(made)
        return client, made

    monkeypatch.setattr(dask_engine, "_connected", looked_at)
    assert measured(Dask(), raw) == measured(HERE, raw)
    assert len(looked) == 1
    assert not {process.name for process in multiprocessing.active_children()} - before


def test_no_cluster_is_a_sentence() -> None:
    with pytest.raises(EngineError, match=r"no Dask cluster answers at tcp://127\.0\.0\.1:9"):
        measured(engine_of("dask:tcp://127.0.0.1:9"), rows_of(10))


@pytest.mark.parametrize("address", ["tcp//host", "localhost", "ftp://host:1", "tcp://[::1", "tcp://host:99999"])
def test_what_is_no_address_is_told_before_anybody_looks_for_it(address) -> None:
    with pytest.raises(EngineError, match="stands the address of a scheduler, as in dask:tcp://host:8786"):
        measured(engine_of(f"dask:{address}"), rows_of(10))


def test_tls_without_keys_is_a_sentence() -> None:
    with pytest.raises(EngineError, match="needs keys for TLS"):
        measured(engine_of("dask:tls://127.0.0.1:9"), rows_of(10))


def test_a_client_that_is_closed_a_cluster_that_has_ended_and_one_without_workers(monkeypatch) -> None:
    monkeypatch.setattr(dask_engine, "_PATIENCE", 0.1)
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None, silence_logs=50) as cluster:
        made = distributed.Client(cluster, set_as_default=False)
        with pytest.raises(EngineError, match="has no workers"):
            measured(engine_of(made), rows_of(10))
        with pytest.raises(EngineError, match="a LocalCluster is no Dask client"):
            measured(engine_of(cluster), rows_of(10))
        rows = Dask(client=made)
        monkeypatch.setattr(dask_engine, "_require_workers", lambda client: client.close())
        for _ in range(2):  # closed in the middle of a release, and before it
            with pytest.raises(EngineError, match="client is closed, or its cluster has ended"):
                measured(rows, rows_of(10))


def test_a_cluster_that_loses_its_last_worker_is_not_waited_for(monkeypatch) -> None:
    """Dask waits for another one, for ever."""
    monkeypatch.setattr(dask_engine, "_PATIENCE", 0.2)
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):

        def emptied(*asked, real=dask_engine.DaskRows._submit):
            cluster.scale(0)
            while made.nthreads():
                time.sleep(0.02)
            return real(*asked)

        monkeypatch.setattr(dask_engine.DaskRows, "_submit", emptied)
        with pytest.raises(EngineError, match="has no workers, so nothing is released"):
            measured(engine_of(made), frame_of(rows_of(10), partitions=2))


def test_a_line_that_was_made_for_a_release_is_closed_with_it(threads, monkeypatch) -> None:
    made = distributed.Client(threads.scheduler.address, set_as_default=False)
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: made)
    monkeypatch.setattr(dask_engine, "_require_address", lambda address: None)
    raw = rows_of(40)
    assert measured(engine_of("dask:inproc://here"), raw) == measured(HERE, raw)
    assert made.status == "closed"


@pytest.mark.parametrize("where", ["cluster", "here"])
def test_a_partition_that_is_not_what_the_frame_says_is_a_sentence(where, threads) -> None:
    there = pd.DataFrame(rows_of(40))
    lies = dd.from_delayed([dask.delayed(there.rename)(columns={"x": "y"})], meta=there.iloc[:0], verify_meta=False)
    with pytest.raises(SourceError, match="has not the columns that the frame says"):
        measured(engine_of(threads) if where == "cluster" else HERE, lies)


@pytest.mark.parametrize("kind", ["rows", "persons"])
def test_a_file_that_is_added_before_workers_have_read_ends_the_release(kind, threads, tmp_path: Path) -> None:
    for name in ("a", "b"):
        pd.DataFrame(rows_of(40)).to_parquet(tmp_path / f"{name}.parquet")
    data = Sensitive.read(tmp_path, Schema(columns=COLUMNS, unit=KINDS[kind]))
    pd.DataFrame(rows_of(40)).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(SourceError, match="a file came or went"):
        measured(engine_of(threads), data, unit=KINDS[kind])


def test_a_frame_without_a_column_of_the_schema_is_a_sentence() -> None:
    with pytest.raises(SourceError, match="'c'"):
        Sensitive.read(frame_of({"x": np.zeros(3)}, partitions=1), Schema(columns=COLUMNS))


def test_without_dask_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EngineError, match=r"pip install 'sfumato\[dask\]'"):
        measured(engine_of("dask"), rows_of(10))


def fails_over_a_row(partition):
    raise ValueError(f"a row holds {partition['x'].tolist()} and 0.55512")


@pytest.mark.parametrize("where", ["cluster", "here"])
def test_a_step_of_the_frame_that_fails_over_a_row_is_not_quoted(where, client, capfd) -> None:
    """Dask itself raises what the step raised, and logs it on the worker: that step is whoever's frame it is."""
    frame = frame_of(rows_of(50), partitions=2).map_partitions(fails_over_a_row, meta=pd.DataFrame(rows_of(1)))
    view = one_sum(engine_of(client) if where == "cluster" else HERE, frame)
    with pytest.raises(SfumatoError, match=r"withheld.* len\(frame\)") as caught:
        view.noisy_sum("sum", numbers)
    view.close()
    assert "5551" not in "".join(traceback.format_exception(caught.value)) + "".join(capfd.readouterr())
    assert caught.value.__context__ is None


class Leaves(BaseException):
    """What no `except Exception` catches."""


def leaves(driver: int, batch):
    if os.getpid() != driver:
        raise Leaves(f"0.987654321 {batch['x'].tolist()}")
    return {"x": batch["x"]}


def says_a_value(driver: int, batch):
    if os.getpid() != driver:
        print("0.987654321")
        raise ValueError("0.987654321 in row 17")
    return {"x": batch["x"]}


@pytest.mark.parametrize("says", [says_a_value, leaves])
def test_what_goes_wrong_on_a_worker_names_no_row(says, client, capfd) -> None:
    schema = Schema(columns=COLUMNS)
    step = Step(name="sum", blocks=(Dense(name="x", width=1, l2_bound=1.0),))
    plan = make_plan((step,), budget=Budget(50.0, 1e-6), unit=PrivacyUnit(), rows=None)
    view = View(
        Sensitive.read(frame_of(rows_of(50), partitions=2), schema),
        plan=plan,
        primitives=Primitives(NoiseSource()),
        schema=schema,
        engine=Dask(client=client),
    )
    with pytest.raises(EngineError, match="withheld") as caught:
        view.noisy_sum("sum", partial(says, os.getpid()))
    said = repr(caught.getrepr()) + str(client.get_worker_logs()) + "".join(capfd.readouterr())
    assert "987654" not in said
