"""Whatever an engine does with the rows, the doors' sums are the same to the last bit, or there is a sentence and no sum."""

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
import zipfile
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import Column, Schema, Sensitive
from sfumato.errors import ContractError, EngineError, SourceError
from sfumato.private.engines import cluster, local, part, spark_worker, worker
from sfumato.private.engines.choose import engine_of
from sfumato.private.engines.dask import Dask
from sfumato.private.engines.here import HERE
from sfumato.private.engines.local import Local, LocalRows
from sfumato.private.engines.spark import Spark
from sfumato.private.engines.task import Task
from sfumato.private.intake import sensitive
from sfumato.private.intake.tables import ArraySource
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.rows.row_alone import RowMap
from sfumato.private.view import View
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.certificate.software import installed_software
from sfumato.public.plan.block import Choice, Dense, Hot, Outer
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.plan import make_plan
from sfumato.public.plan.step import EachRow, KnownPartition, Poisson, SecretBins, Step, WithoutReplacement

COLUMNS = (
    Column(name="x", kind="numeric", bounds=(-1, 1)),
    Column(name="c", kind="categorical", categories=("a", "b", "c")),
)
PERSON = PrivacyUnit(person="who", max_rows=3)


def rows_of(n: int, *, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "x": np.where(rng.random(n) < 0.1, 1.0, rng.uniform(-1, 1, n)),
        "c": np.array(["a", "b", "c", "?"])[rng.integers(4, size=n)],
        "who": rng.integers(max(1, n // 2), size=n),
    }


def numbers(batch):
    return {"x": batch["x"]}


def codes(batch):
    return {"c": batch["c"]}


def products(batch):
    return {"xx": np.stack([batch["x"], np.abs(batch["x"]), batch["twice"][:, 0], batch["x"] > 0], axis=1)}


def everything(batch):
    return {"x": batch["x"], "c": batch["c"]}


def cells(batch):
    return {"tables": np.stack([batch["c"], batch["x"] > 0], axis=1)}


def group(batch):
    return batch["x"] > 0


def twice(batch):
    return 2 * batch["x"]


def stumbles(batch):
    if (batch["x"] == 1.0).any():  # never among public rows
        raise ValueError("0.987654321 is a private value")
    return {"x": batch["x"]}


X, C = Dense(name="x", width=1, l2_bound=1.0), Hot(name="c", width=3)
XX = Outer(name="xx", shape=(1, 2), groups=2, l2_bound=1.0)
TABLES = Choice(name="tables", widths=(3, 2))


def measured(engine, data, *, unit=None, seed=1, rows=None):
    """All answers of a plan with every kind of step that travels, by what each is named."""
    replace_one = rows is not None
    unit = unit or (PrivacyUnit(relation="replace_one") if replace_one else PrivacyUnit())
    schema = Schema(columns=COLUMNS, unit=unit, rows=rows)
    half = (Dense(name="x", width=1, l2_bound=1.0, share=0.5), Hot(name="c", width=3, share=0.5))
    steps = [
        Step(name="sum", blocks=half, uses=2),
        Step(name="stumbles", blocks=(X,)),
        Step(name="sampled", blocks=(X,), sampling=Poisson(0.3), uses=2),
        Step(name="products", blocks=(XX,)),
        Step(name="mixed", blocks=half, sampling=Poisson(0.2), mixtures=5),
        Step(name="grouped", blocks=(C,), sampling=SecretBins(), mixtures=4, groups=2),
        Step(name="choice", blocks=(TABLES,), uses=2),
    ]
    if replace_one:
        steps = [step for step in steps if not isinstance(step.sampling, Poisson | SecretBins)]
        steps.append(Step(name="subsets", blocks=(X,), sampling=WithoutReplacement(3, rows), mixtures=6))
        steps.append(Step(name="dealt", blocks=(X,), sampling=KnownPartition(), mixtures=4))
    if unit.person:
        steps.append(Step(name="persons", blocks=half, person_bound=1.5))
    plan = make_plan(tuple(steps), budget=Budget(50.0, 1e-6), unit=unit, rows=rows)
    source = NoiseSource(research_seed=seed)
    private = sensitive.with_key(data if isinstance(data, Sensitive) else Sensitive.read(data, schema), bytes(32))
    view = View(private, plan=plan, primitives=Primitives(source), schema=schema, engine=engine)
    asked = {step.name for step in steps}
    view.noisy_sum("sum", everything)
    view.noisy_sum("stumbles", stumbles)
    view.prepare("twice", twice)
    view.noisy_sum("products", products)
    view.prepare("twice", partial(_again, "twice"))
    view.noisy_sum("sum", everything)
    for _ in range(2 if "sampled" in asked else 0):
        view.noisy_sum("sampled", numbers)
    if "mixed" in asked:
        view.noisy_mixtures("mixed", everything)
    if "grouped" in asked:
        view.noisy_mixtures("grouped", codes, group_of=group)
    if replace_one:
        view.noisy_mixtures("subsets", numbers)
        view.noisy_mixtures("dealt", numbers)
    if unit.person:
        view.noisy_sum("persons", everything)
    for _ in range(2):
        view.noisy_choice("choice", cells, {0: Expected(np.zeros(3)), 1: Expected(np.zeros(2))})
    view.close()
    return {name: values.tolist() for name, values in view.answers.integers.items()}


def _again(name, batch):
    return batch[name] + 1


class InParts(cluster.ClusterRows):
    """A cluster of one process, which cuts the rows where it is told to, sends everything through pickle and does things twice."""

    cuts: tuple[int, ...] = ()

    @property
    def n_workers(self):
        return 2

    def read(self, raw):
        self._parts = [_sent(part.packed, self._facts, [piece]) for piece in raw]

    def read_persons(self, raw, *, person, key, max_rows):
        hashed = [_sent(part.hashed, self._facts, [piece], key) for piece in raw]
        by_part, all_numbers = cluster.numbers_of(hashed, key=key, max_rows=max_rows)
        ends = part.person_ends(all_numbers, parts=len(raw))
        split = [_sent(part.split, self._facts, [r], n, ends) for r, n in zip(raw, by_part, strict=True)]
        self._parts = [_sent(part.joined, self._facts, *(s[at] for s in split)) for at in range(len(ends))]

    def ship(self, made):
        self._parts = [pickle.loads(pickle.dumps(private)) for private in made]

    def facts(self):
        return dict(enumerate(map(part.facts_of, self._parts)))

    def add_column(self, facts):
        self._parts = [_sent(part.prepared, facts, private) for private in self._parts]

    def sums(self, facts, task, firsts):
        asked = list(enumerate(zip(self._parts, firsts, strict=True)))[::-1]
        for _, (private, first) in asked:
            _sent(part.reduced, facts, task, private, first)  # a slow worker's task, done by another one as well
        return {at: _sent(part.reduced, facts, task, private, first) for at, (private, first) in asked}

    def texts_by_part(self, facts, names):
        return {at: _sent(part.texts, facts, private, names) for at, private in enumerate(self._parts)}


def _sent(work, *arguments):
    return pickle.loads(pickle.dumps(work(*pickle.loads(pickle.dumps(arguments)))))


class Cut(ArraySource):
    """Arrays whose parts an engine may read by itself."""

    def __init__(self, columns, cuts):
        super().__init__(columns)
        n = len(next(iter(columns.values())))
        ends = [0, *sorted(min(cut, n) for cut in cuts), n]
        self.parts = [ArraySource({name: v[a:b] for name, v in columns.items()}) for a, b in pairwise(ends)]


class Parts:
    def __init__(self, rows=InParts):
        self._rows = rows

    def open(self, data, *, schema, plan, primitives):
        return self._rows(data, schema=schema, keep=True, primitives=primitives)


def cut(raw, cuts, *, unit, rows=None):
    schema = Schema(columns=COLUMNS, unit=unit, rows=rows)
    source = Cut(raw, cuts)
    if unit.person:
        source = sensitive.LimitedSource(source, person=unit.person, max_rows=unit.max_rows)
    return Sensitive(source, schema=schema)


KINDS = {"rows": PrivacyUnit(), "replaced": PrivacyUnit(relation="replace_one"), "persons": PERSON}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(n=st.integers(4, 60), cuts=st.lists(st.integers(0, 60), max_size=6), data=st.data())
def test_however_the_rows_are_cut_the_answers_are_the_same(kind, n, cuts, data) -> None:
    raw, unit = rows_of(n, seed=data.draw(st.integers(0, 9))), KINDS[kind]
    rows = n if kind == "replaced" else None
    whole = measured(HERE, raw, unit=unit, rows=rows)
    assert measured(Parts(), cut(raw, cuts, unit=unit, rows=rows), unit=unit, rows=rows) == whole
    assert measured(Parts(), raw, unit=unit, rows=rows) == whole, "read here and sent"


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_fill_many_batches_too(kind) -> None:
    raw, unit = rows_of(5000), KINDS[kind]
    rows = 5000 if kind == "replaced" else None
    whole = measured(HERE, raw, unit=unit, rows=rows)
    assert measured(Parts(), cut(raw, [1, 1025, 1025, 3000], unit=unit, rows=rows), unit=unit, rows=rows) == whole
    assert measured(Parts(), cut(raw, [], unit=unit, rows=rows), unit=unit, rows=rows) == whole


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_processes_give_the_same_answers(kind, monkeypatch) -> None:
    monkeypatch.setattr(local, "_MANY_CELLS", 300)
    monkeypatch.setattr(local, "_PART", 1)
    raw, unit = rows_of(5000), KINDS[kind]
    rows = 5000 if kind == "replaced" else None
    started = noted(monkeypatch)
    whole = measured(HERE, raw, unit=unit, rows=rows)
    assert measured(Local(2), raw, unit=unit, rows=rows) == whole
    assert len(started) == 1, "this process is the other one"
    assert all(process.program.poll() is not None for process in started), "all of them have ended"


def test_a_worker_loads_no_accountant_and_a_map_no_mechanism() -> None:
    """These take longer than all that a worker needs, and every release of a large table would wait for them."""
    maps = "sfumato.mechanisms.table.columns.maps, sfumato.mechanisms.table.joint.maps, sfumato.mechanisms.table.target.maps"
    heavy = (
        "dp_accounting",
        "scipy.stats",
        "scipy.optimize",
        "sklearn",
        "sfumato.mechanism",
        "sfumato.public.certificate.certificate",
    )
    told = f"import sys, sfumato.private.engines.worker, {maps}; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True).stdout.strip() == "[]"


def noted(monkeypatch):
    """The processes that are started from now on."""
    made, real = [], local.started

    def start(n_processes):
        made.extend(real(n_processes))
        return made[-n_processes:]

    monkeypatch.setattr(local, "started", start)
    return made


def children_of(program):
    return Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()


@pytest.mark.slow
@pytest.mark.skipif(not worker.DIVIDES, reason="elsewhere each worker is a program of its own")
@pytest.mark.parametrize("killed", [False, True])
def test_one_program_divides_and_leaves_nobody_behind(killed, monkeypatch) -> None:
    monkeypatch.setattr(local, "_MANY_CELLS", 300)
    monkeypatch.setattr(local, "_PART", 1)
    raw, started, seen, real = rows_of(5000), noted(monkeypatch), set(), local.LocalRows._ask

    def look_then_ask(self, name, *arguments):
        while len(children_of(started[0].program)) < 3:
            time.sleep(0.05)
        seen.update(children_of(started[0].program))
        assert len(os.listdir(f"/proc/{started[0].program.pid}/task")) == 1, "who divides has no threads"
        if killed:
            os.kill(int(min(seen)), signal.SIGKILL)
        return real(self, name, *arguments)

    monkeypatch.setattr(local.LocalRows, "_ask", look_then_ask)
    if killed:
        with pytest.raises(EngineError, match="nothing is released"):
            measured(Local(4), raw)
    else:
        assert measured(Local(4), raw) == measured(HERE, raw)
    assert len({process.program.pid for process in started}) == 1
    assert len(seen) == 3
    assert not any(Path(f"/proc/{pid}").exists() for pid in (started[0].program.pid, *seen))


def test_the_sum_of_neighbours_differs_by_one_row_wherever_it_lands() -> None:
    """In another part, in one of its own, or before all others, which all move to other batches and parts."""
    raw = rows_of(3000)
    grid = {}
    for place in (0, 1500, 3000):
        more = {name: np.insert(v, place, {"x": 1.0, "c": "a", "who": 10**6}[name]) for name, v in raw.items()}
        for cuts in ([], [1500], [place, place + 1], [7, 2000]):
            exact = sums_of(Parts(), cut(more, cuts, unit=PrivacyUnit()))
            grid[place, tuple(cuts)] = exact
    before = sums_of(HERE, raw)
    assert len({tuple(v) for v in grid.values()}) == 1
    moved = np.array(next(iter(grid.values()))) - before
    unit = before.dtype.type(1)
    assert np.count_nonzero(moved) == 2
    assert moved[1] == moved.max() >= unit


@settings(max_examples=2, deadline=None)
@given(places=st.lists(st.integers(0, 1500), min_size=1, max_size=3), cuts=st.lists(st.integers(0, 1505), max_size=5))
def test_a_person_more_moves_the_sums_by_what_it_gives_alone(places, cuts) -> None:
    """Wherever its rows lie, in whichever parts, before or behind all others; nobody has more rows than are kept."""
    raw = {**rows_of(1500), "who": np.arange(1500) % 500}
    alone = {"x": np.linspace(0.5, 1, len(places)), "c": np.full(len(places), "b"), "who": 10**6}
    more = {name: np.insert(v, places, alone[name]) for name, v in raw.items()}
    only = {name: np.broadcast_to(alone[name], len(places)) for name in raw}
    before, after = (sums_of(Parts(), cut(data, cuts, unit=PERSON), unit=PERSON) for data in (raw, more))
    moved = after - before
    np.testing.assert_array_equal(moved, sums_of(HERE, only, unit=PERSON))
    assert np.count_nonzero(moved) == 2


def sums_of(engine, data, *, unit=None):
    """The sums themselves: what the door would add noise to."""
    schema = Schema(columns=COLUMNS, unit=unit or PrivacyUnit())
    blocks = (Hot(name="c", width=3, share=0.5), Dense(name="x", width=1, l2_bound=1.0, share=0.5))
    steps = (Step(name="sum", blocks=blocks, person_bound=1.5 if unit else None),)
    plan = make_plan(steps, budget=Budget(1.0, 1e-6), unit=schema.unit, rows=None)
    private = sensitive.with_key(data if isinstance(data, Sensitive) else Sensitive.read(data, schema), bytes(32))
    rows = engine.open(private, schema=schema, plan=plan, primitives=Primitives(NoiseSource(research_seed=1)))
    row_map = rows.row_map(everything)
    found = rows.reduced(Task(steps[0], plan, everything, row_map.rows, row_map.digest, b""), row_map)
    return np.concatenate([found["x"], found["c"]])


# What must not pass.


class DrawsAgain(InParts):
    """A twin: every attempt at a task draws coins of its own."""

    def sums(self, facts, task, firsts):
        fresh = Task(task.step, task.plan, task.per_record, task.rows, task.digest, os.urandom(32) if task.key else b"")
        return super().sums(facts, fresh, firsts)


class CountsFromZero(InParts):
    """A twin: every part begins at place 0, so that rows of all parts share their coins."""

    def sums(self, facts, task, firsts):
        return super().sums(facts, task, [0] * len(firsts))


class TearsPersons(InParts):
    """A twin: persons stay where their rows lie, in several parts."""

    def read_persons(self, raw, *, person, key, max_rows):
        hashed = [part.hashed(self._facts, [piece], key) for piece in raw]
        by_part, _ = cluster.numbers_of(hashed, key=key, max_rows=max_rows)
        everyone = np.array([10**9])
        split = [part.split(self._facts, [r], n, everyone) for r, n in zip(raw, by_part, strict=True)]
        self._parts = [part.joined(self._facts, batches[0]) for batches in split]


@pytest.mark.parametrize(
    ("twin", "unit"), [(DrawsAgain, PrivacyUnit()), (CountsFromZero, PrivacyUnit()), (TearsPersons, PERSON)]
)
def test_twins_of_a_cluster_show(twin, unit) -> None:
    raw = rows_of(2000)
    assert measured(Parts(twin), cut(raw, [700], unit=unit), unit=unit) != measured(HERE, raw, unit=unit)


class ReadsOtherPersons(InParts):
    """Rows of a part come in another order when they are read again, behind the hashes of their persons."""

    def read_persons(self, raw, *, person, key, max_rows):
        hashed = [part.hashed(self._facts, [piece], key) for piece in raw]
        by_part, everyone = cluster.numbers_of(hashed, key=key, max_rows=max_rows)
        turned = [ArraySource({name: v[::-1] for name, v in piece._columns.items()}) for piece in raw]
        ends = part.person_ends(everyone, parts=1)
        split = [part.split(self._facts, [r], n, ends) for r, n in zip(turned, by_part, strict=True)]
        self._parts = [part.joined(self._facts, *(s if isinstance(s, part.Refusal) else s[0] for s in split))]


def test_persons_that_come_in_another_order_end_in_a_sentence() -> None:
    data = cut(rows_of(300), [100], unit=PERSON)
    with pytest.raises(EngineError, match="other persons, or in another order"):
        measured(Parts(ReadsOtherPersons), data, unit=PERSON)


class ReadsPersonsWithAnotherVersion(InParts):
    """A worker that might write ids otherwise hashes them, or splits rows, and the parts themselves are made by others."""

    hashes = True

    def read_persons(self, raw, *, person, key, max_rows):
        other = part.Facts({**self._facts.software, "sfumato": "0.1"}, self._facts.schema)
        hashed = [part.hashed(other if self.hashes else self._facts, [piece], key) for piece in raw]
        by_part, everyone = cluster.numbers_of(hashed, key=key, max_rows=max_rows)
        ends = part.person_ends(everyone, parts=1)
        split = [part.split(other, [r], n, ends) for r, n in zip(raw, by_part, strict=True)]
        self._parts = [part.joined(self._facts, *(s if isinstance(s, part.Refusal) else s[0] for s in split))]


class SplitsWithAnotherVersion(ReadsPersonsWithAnotherVersion):
    hashes = False


@pytest.mark.parametrize("rows", [ReadsPersonsWithAnotherVersion, SplitsWithAnotherVersion])
def test_nobody_reads_persons_with_another_version(rows) -> None:
    with pytest.raises(EngineError, match="Install the same versions everywhere"):
        measured(Parts(rows), cut(rows_of(300), [100], unit=PERSON), unit=PERSON)


@pytest.mark.parametrize("ids", [pa.array([[1], [2]]), pd.Series(pd.period_range("2020", periods=2))])
def test_a_person_column_of_another_type_is_refused_by_its_name_once(ids) -> None:
    facts = part.Facts(installed_software(), Schema(columns=COLUMNS, unit=PERSON))
    refused = part.hashed(facts, [ArraySource({PERSON.person: ids})], bytes(32))
    assert pickle.loads(pickle.dumps(refused)).error.args == refused.error.args
    assert str(refused.error).startswith(f"the person column {PERSON.person!r}: values of type ")
    assert str(refused.error).count("cannot be read") == 1


def test_a_type_that_a_worker_cannot_read_is_told_once() -> None:
    facts = part.Facts(installed_software(), Schema(columns=COLUMNS))
    raw = {**{name: v[:2] for name, v in rows_of(4).items()}, "x": pd.Series(pd.period_range("2020", periods=2))}
    refused = part.packed(facts, [ArraySource(raw)])
    assert str(pickle.loads(pickle.dumps(refused)).error).count("cannot be read") == 1


def test_a_part_is_large_whatever_it_holds() -> None:
    """Clusters show how large things are; and they would send about what is said to take a few bytes."""
    facts = part.Facts(installed_software(), Schema(columns=COLUMNS))
    sizes = {sys.getsizeof(part.packed(facts, [ArraySource(rows_of(rows))])) for rows in (0, 1, 10, 100_000)}
    assert len(sizes) == 1
    assert min(sizes) > 1_000_000


def test_a_task_of_a_cluster_has_one_thread() -> None:
    """A cluster has a task for every core: loops with a thread for each of these as well take twice as long."""
    before = numba.get_num_threads()
    assert part.quietly(numba.get_num_threads)() == 1
    assert numba.get_num_threads() == before


def test_archives_are_not_read_again_for_every_task_of_spark_and_are_read_when_something_is_imported(
    monkeypatch, tmp_path: Path
) -> None:
    archive = str(tmp_path / "modules.zip")
    with zipfile.ZipFile(archive, "w") as modules:
        for name in ("first_of_the_archive", "second_of_the_archive"):
            modules.writestr(f"{name}.py", f"NAME = '{name}'")
    monkeypatch.syspath_prepend(archive)
    import_module("first_of_the_archive")
    assert archive in sys.path_importer_cache
    assert not list(spark_worker._rows(iter(()), "part"))
    assert archive not in sys.path_importer_cache
    assert import_module("second_of_the_archive").NAME == "second_of_the_archive"


class LosesAPart(InParts):
    def sums(self, facts, task, firsts):
        answers = super().sums(facts, task, firsts)
        answers.pop(1)
        return answers


class ReadsOtherRows(InParts):
    def sums(self, facts, task, firsts):
        other = part.packed(facts, [ArraySource({name: v[:5] for name, v in rows_of(9, seed=5).items()})])
        self._parts[0] = other
        return super().sums(facts, task, firsts)


class HasAnotherVersion(InParts):
    def read(self, raw):
        old = part.Facts({**self._facts.software, "numpy": "1.0"}, self._facts.schema)
        self._parts = [part.packed(old, [piece]) for piece in raw]


class RoundsOtherwise(InParts):
    def sums(self, facts, task, firsts):
        other = Task(task.step, task.plan, _rounded, task.rows, task.digest, task.key)
        return super().sums(facts, other, firsts)


def _rounded(batch):
    return {"x": np.nextafter(batch["x"], 2), "c": batch["c"]}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (LosesAPart, "no answer for a part"),
        (ReadsOtherRows, "not the same when it was read again"),
        (HasAnotherVersion, "Install the same versions everywhere"),
        (RoundsOtherwise, "other numbers from the same public rows"),
    ],
)
def test_what_is_not_the_same_everywhere_ends_in_a_sentence(rows, sentence) -> None:
    with pytest.raises((EngineError, ContractError), match=sentence):
        sums_of(Parts(rows), cut(rows_of(300), [100], unit=PrivacyUnit()))


class Broken(ArraySource):
    def chunks(self, names, *, rows):
        raise RuntimeError("row 17 holds 0.987654321")


def test_a_worker_that_fails_says_nothing_of_the_rows() -> None:
    private = Sensitive(cut(rows_of(50), [], unit=PrivacyUnit())._Sensitive__source, schema=Schema(columns=COLUMNS))
    sensitive._source_of(private).parts = [Broken({"x": np.zeros(3)})]
    with pytest.raises(EngineError, match="withheld") as caught:
        sums_of(Parts(), private)
    assert "0.98" not in repr(caught.value)
    assert "17" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_release(monkeypatch) -> None:
    monkeypatch.setattr(local, "_MANY_CELLS", 300)
    monkeypatch.setattr(local, "_PART", 1)
    started = noted(monkeypatch)
    real = LocalRows._ask

    def kill_then_ask(self, name, *arguments):
        os.kill(started[0].program.pid, signal.SIGKILL)
        return real(self, name, *arguments)

    monkeypatch.setattr(LocalRows, "_ask", kill_then_ask)
    with pytest.raises(EngineError, match="nothing is released"):
        measured(Local(2), rows_of(4000))


@pytest.mark.slow
@pytest.mark.parametrize("engine", [Local(2), Parts()], ids=["local", "cluster"])
def test_a_map_that_cannot_travel_runs_here_with_a_sentence(engine, monkeypatch) -> None:
    monkeypatch.setattr(local, "_MANY_CELLS", 300)
    schema = Schema(columns=COLUMNS)
    step = Step(name="sum", blocks=(X,), uses=2)
    plan = make_plan((step,), budget=Budget(50.0, 1e-6), unit=schema.unit, rows=None)
    answers = []
    for each in (HERE, engine):
        primitives = Primitives(NoiseSource(research_seed=1))
        view = View(Sensitive.read(rows_of(4000), schema), plan=plan, primitives=primitives, schema=schema, engine=each)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                view.noisy_sum("sum", partial(_with_a_lock, threading.Lock()))
        view.close()
        answers.append((view.answers.integers, [str(w.message) for w in said]))
    (here, nothing), (there, sentences) = answers
    assert not nothing
    assert len(sentences) == 1
    assert "cannot be sent" in sentences[0]
    assert all(np.array_equal(there[name], values) for name, values in here.items())


@pytest.mark.slow
@pytest.mark.parametrize("rows", [20, 4000])
def test_what_is_said_of_a_map_does_not_tell_how_many_rows_there_are(rows, monkeypatch) -> None:
    monkeypatch.setattr(local, "_MANY_CELLS", 300)
    view = one_sum(Local(2), rows_of(rows))
    with pytest.warns(UserWarning, match="cannot be sent") as said:
        view.noisy_sum("sum", partial(_with_a_lock, threading.Lock()))
    assert len(said) == 1
    view.close()


def one_sum(engine, data, *, uses=2):
    schema = Schema(columns=COLUMNS)
    plan = make_plan(
        (Step(name="sum", blocks=(X,), uses=uses),), budget=Budget(50.0, 1e-6), unit=schema.unit, rows=None
    )
    private = data if isinstance(data, Sensitive) else Sensitive.read(data, schema)
    return View(private, plan=plan, primitives=Primitives(NoiseSource(research_seed=1)), schema=schema, engine=engine)


class Gossip:
    """A map that says at a later time what it has seen: on an output, in a warning, in a log."""

    def __init__(self) -> None:
        self._seen = set()

    def __call__(self, batch):
        seen = "0.987654321" if 0.987654321 in self._seen else ""
        print(seen)
        os.write(2, seen.encode())
        warnings.warn(f"seen: {seen}", stacklevel=1)
        logging.getLogger("gossip").critical("seen: %s", seen)
        self._seen.update(batch["x"].tolist())
        return {"x": batch["x"]}


def test_a_map_says_nothing_when_it_is_tried_again_either(capfd, caplog) -> None:
    """Public rows are all that it is tried on, but it may have seen others before."""
    view = one_sum(HERE, {name: np.append(v, {"x": 0.987654321}.get(name, "0")) for name, v in rows_of(20).items()})
    gossip = Gossip()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2):
            view.noisy_sum("sum", gossip)
    assert "987" in repr(gossip._seen), "it has something to tell"
    assert not said
    assert "seen" not in caplog.text
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("engine", [Dask(), Spark()], ids=["dask", "spark"])
def test_doors_that_need_one_place_say_so(engine) -> None:
    """And start no cluster: neither needs to be installed."""
    schema = Schema(columns=COLUMNS, unit=PrivacyUnit(relation="replace_one"), rows=30)
    step = Step(name="reports", blocks=(X,), sampling=EachRow(), mixtures=30)
    plan = make_plan((step,), budget=Budget(5.0, 1e-6), unit=schema.unit, rows=30)
    private = Sensitive.read(rows_of(30), schema)
    view = View(private, plan=plan, primitives=Primitives(NoiseSource()), schema=schema, engine=engine)
    with pytest.warns(UserWarning, match="needs all rows in one place"):
        view.noisy_reports("reports", numbers)


def test_gradients_on_a_cluster_say_once_that_they_need_one_place() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    schema = Schema(columns=COLUMNS)
    step = Step(name="g", blocks=(Dense(name="g", width=1, l2_bound=1.0),), sampling=Poisson(0.5), uses=2)
    plan = make_plan((step,), budget=Budget(5.0, 1e-6), unit=schema.unit, rows=None)
    found = []
    for engine in (Parts(), HERE):
        private = Sensitive.read(rows_of(30), schema)
        primitives = Primitives(NoiseSource(research_seed=1))
        view = View(private, plan=plan, primitives=primitives, schema=schema, engine=engine)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(2):
                view.noisy_gradients("g", _loss, {"w": torch.ones(1)}, device="cpu")
        found.append(({n: v.tolist() for n, v in view.answers.integers.items()}, len(said)))
    assert found[0][0] == found[1][0]
    assert [n for _, n in found] == [1, 0]


def _loss(parameters, example):
    return (parameters["w"] * example["x"]).sum()


class FailsOnce(ArraySource):
    """A source that breaks off in the middle of its first pass."""

    failed = False

    def chunks(self, names, *, rows):
        for at, chunk in enumerate(super().chunks(names, rows=500)):
            if at == 5 and not self.failed:
                self.failed = True
                raise SourceError("the disk is away")
            yield chunk


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["source", "interrupt"])
def test_rows_count_once_also_for_a_mechanism_that_goes_on_after_a_fault(fault, monkeypatch) -> None:
    """A twin would have sent half of the rows twice, or would take the answer to another question for this one."""
    raw = rows_of(4000)
    exact = one_sum(HERE, raw, uses=3)
    monkeypatch.setattr(local, "_MANY_CELLS", 300)
    monkeypatch.setattr(local, "_PART", 1)
    source = FailsOnce(raw) if fault == "source" else ArraySource(raw)
    view = one_sum(Local(2), Sensitive(source, schema=Schema(columns=COLUMNS)), uses=3)
    if fault == "interrupt":
        real, calls = local._Process.answer, []

        def interrupted(self):
            calls.append(self)
            if len(calls) == 1:
                raise KeyboardInterrupt
            return real(self)

        monkeypatch.setattr(local._Process, "answer", interrupted)
    with pytest.raises((SourceError, KeyboardInterrupt)):
        view.noisy_sum("sum", _twice_x)
    again = view.noisy_sum("sum", numbers)["x"].values
    for _ in range(2):
        here = exact.noisy_sum("sum", numbers)["x"].values
    assert abs(again - here) < 2, "the same sum, but for the noise of another draw"
    view.close()


def _twice_x(batch):
    return {"x": 0.5 * batch["x"] + 0.5}


@pytest.mark.parametrize("asked", ["locally", "local:x", "local:0", "flink", 7])
def test_engines_that_are_none_are_refused(asked) -> None:
    with pytest.raises(EngineError):
        engine_of(asked)


def test_primitives_that_were_changed_never_travel() -> None:
    class Louder(Primitives):
        def clip(self, values, **options):
            return 2 * super().clip(values, **options)

    assert Primitives(NoiseSource()).may_travel
    assert not Louder(NoiseSource()).may_travel
    changed = Primitives(NoiseSource())
    changed.coins = lambda *_, **__: np.zeros(0, dtype=np.int64)
    assert not changed.may_travel


def test_the_key_of_a_use_is_not_shown() -> None:
    step = Step(name="sum", blocks=(X,))
    plan = make_plan((step,), budget=Budget(50.0, 1e-6), unit=PrivacyUnit(), rows=None)
    assert "secretsecret" not in repr(Task(step, plan, numbers, 1, b"", b"secretsecret"))


def test_a_map_on_public_rows_has_one_digest_and_another_map_another() -> None:
    public = {"x": np.linspace(-1, 1, 64)}
    one, two, other = (RowMap(f, public_rows=public, rows=32) for f in (numbers, numbers, _rounded_x))
    assert one.digest == two.digest != other.digest


def _with_a_lock(lock, batch):
    with lock:
        return {"x": batch["x"]}


def _rounded_x(batch):
    return {"x": np.nextafter(batch["x"], 2)}


@pytest.mark.slow
def test_texts_are_discovered_in_processes(monkeypatch) -> None:
    columns = (Column(name="town", kind="categorical", discover=True), Column(name="x", kind="numeric", discover=True))
    rng = np.random.default_rng(0)
    raw = {"town": np.array(["Ulm", "Bonn"], dtype=object)[rng.integers(2, size=3000)], "x": rng.normal(size=3000)}
    fit = partial(sf.fit, "independent-histograms", raw, 5.0, schema=Schema(columns=columns), seed=1)
    here = fit(source=NoiseSource(research_seed=2), engine="local:1")
    monkeypatch.setattr(local, "_MANY_CELLS", 300)
    monkeypatch.setattr(local, "_PART", 1)
    there = fit(source=NoiseSource(research_seed=2), engine="local:2")
    assert here.schema == there.schema
    assert all(np.array_equal(there.answers.integers[name], values) for name, values in here.answers.integers.items())


@pytest.mark.slow
def test_a_seeded_release_of_persons_repeats() -> None:
    raw = rows_of(400)
    schema = Schema(columns=COLUMNS, unit=PERSON)
    answers = [
        sf.fit("independent-histograms", raw, 1.0, schema=schema, seed=1, source=NoiseSource(research_seed=4)).answers
        for _ in range(2)
    ]
    one, two = (a.integers for a in answers)
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_a_worker_answers_at_the_next_question_what_went_wrong() -> None:
    asked = pickle.dumps(("begin", (Schema(columns=COLUMNS), 1 << 20)))
    (kind, _), made = worker.answered(None, asked)
    assert kind == worker.DONE
    assert isinstance(made, worker.Worker)
    assert worker.answered(made, b"no pickle")[0][0] == worker.UNREADABLE
    assert worker.answered(made, pickle.dumps(("keep", (3,))))[0][0] == worker.FAILED
