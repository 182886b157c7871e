"""A row alone, to the last bit: the number of rows, their order and their neighbours change nothing that it contributes."""

import logging
import math
import os
import sys
import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Column, Schema, Sensitive
from sfumato.errors import ContractError, PrivacyError
from sfumato.extending import Dense, Hot, Outer, Poisson, Step
from sfumato.private.doors_only import doors_of
from sfumato.private.intake.quiet import silence
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.rows.batches import batch_rows
from sfumato.private.rows.prepared import PreparedRows
from sfumato.private.rows.row_alone import RowMap
from sfumato.private.view import View
from sfumato.public.budget import Budget
from sfumato.public.plan.plan import make_plan
from sfumato.public.plan.probe import random_batch

BUDGET = Budget(epsilon=1.0, delta=1e-6)
NUMBER = Schema(columns=(Column(name="x", kind="numeric", bounds=(0, 1)),), rows=1000)
IMAGES = Schema(columns=(Column(name="image", kind="image", shape=(28, 28), bounds=(0, 1)),), rows=60_000)
COUNT = Step(name="count", blocks=(Hot(name="n", width=2),), uses=1000)


class Silent(Primitives):
    """Doors without noise: for arithmetic only."""

    def noise(self, shape):
        return np.zeros(shape, dtype=np.int64)


def open_view(schema: Schema, raw, *steps: Step) -> View:
    plan = make_plan(steps, budget=BUDGET, unit=schema.unit, rows=schema.rows)
    return View(Sensitive.read(raw, schema), plan=plan, primitives=Silent(NoiseSource(research_seed=1)), schema=schema)


# The attack of the review: BLAS takes another kernel for few rows, so a row's side of a hyperplane follows the batch.


def rows_that_change_sides(hyperplanes, *, n_wanted: int):
    """Pictures in float32 that lie on a hyperplane but for rounding, and change sides when BLAS gets a single row."""
    rng = np.random.default_rng(0)
    normal = hyperplanes[:, 0]
    found = []
    for _ in range(40 * n_wanted):
        row = rng.random(784).astype(np.float32)
        row[-60:] = 0
        # Black pixels become a little grey, each to take off what the ones before have left: down to 1e-17.
        for at in range(724, 784):
            left = math.fsum(row.astype(float) * normal)
            if left * normal[at] < 0:
                row[at] = min(-left / normal[at], 1.0)
        alone = (row[None].astype(float) @ hyperplanes > 0)[0, 0]
        among = (np.tile(row.astype(float), (512, 1)) @ hyperplanes > 0)[0, 0]
        if alone != among:
            found.append(row)
        if len(found) == n_wanted:
            break
    return np.array(found)


@pytest.mark.slow
def test_one_row_more_never_moves_a_hash_by_more_than_one_row() -> None:
    """The example that moved a sum by 111 times the accounted distance: every number of rows from 1 to 5,000."""
    hyperplanes = np.random.default_rng(1).normal(size=(784, 16))
    hyperplanes -= hyperplanes.mean(axis=0)
    schema = Schema(columns=(Column(name="image", kind="image", shape=(28, 28), bounds=(0, 1)),), rows=5000)
    step = Step(name="sides", blocks=(Hot(name="side", width=2),), uses=1)

    def side(batch):
        return {"side": (batch["image"].reshape(len(batch["image"]), -1).astype(float) @ hyperplanes > 0)[:, 0]}

    odd = rows_that_change_sides(hyperplanes, n_wanted=79)
    rows = random_batch(schema, n_rows=5000, seed=3)["image"]
    if len(odd):
        rows[: len(odd)] = odd.reshape(-1, 28, 28)
    # Every row's side, once, as the door sees it in a batch of one row: the reference for all sizes at once.
    sides = []
    for start in range(0, 5000, 500):
        view = open_view(schema, {"image": rows[start : start + 500]}, step)
        sides.append(view.noisy_sum("sides", side)["side"].values)
    assert sum(s.sum() for s in sides) == 5000
    sizes = [*range(1, 130), 255, 256, 257, 511, 512, 513, 1000, 1023, 1024, 1025, 2047, 2500, 4095, 4096, 4999]
    if os.environ.get("SFUMATO_EVERY_SIZE") == "1":  # all of them, in minutes
        sizes = list(range(1, 5000))
    before = None

    @cache  # one row more is the next number of rows
    def counts(n: int) -> np.ndarray:
        return open_view(schema, {"image": rows[:n]}, step).noisy_sum("sides", side)["side"].values

    for n_rows in sizes:
        here, more = counts(n_rows), counts(n_rows + 1)
        assert np.abs(more - here).sum() == 1
        assert before is None or (here >= before).all()
        before = here


@pytest.mark.slow
def test_every_size_from_1_to_5000_gives_each_row_the_same_side() -> None:
    """All sizes at once: the counts of the first n rows must be the running sum of single rows' sides."""
    hyperplanes = np.random.default_rng(1).normal(size=(784, 16))
    rows = random_batch(IMAGES, n_rows=5000, seed=3)["image"]
    prepared = PreparedRows(Sensitive.read({"image": rows}, IMAGES), schema=IMAGES, keep=False)
    seen = {}
    row_map = prepared.row_map(lambda b: {"h": b["image"].reshape(len(b["image"]), -1).astype(float) @ hyperplanes})
    for piece in prepared:
        values, counts = row_map(piece.batch, n_rows=piece.n_rows)
        assert counts.all()
        seen |= {piece.first + at: value for at, value in enumerate(values["h"])}
    # However many rows there are, a row stands at the same place of a batch of the same shape as in the whole.
    for n_rows in range(1, 5001, 37):
        some = PreparedRows(Sensitive.read({"image": rows[:n_rows]}, IMAGES), schema=IMAGES, keep=False)
        *_, last = some
        values, _ = row_map(last.batch, n_rows=last.n_rows)
        assert np.array_equal(values["h"][-1], seen[n_rows - 1])


@settings(max_examples=25, deadline=None)
@given(n_rows=st.integers(1, 2500), at=st.floats(0, 1), seed=st.integers(0, 2**20))
def test_a_row_inserted_anywhere_leaves_the_others_as_they_were(n_rows: int, at: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random(n_rows)
    more = np.insert(values, int(at * n_rows), rng.random())
    step = Step(
        name="s",
        blocks=(
            Dense(name="d", width=2, l2_bound=1.0, share=0.4),
            Hot(name="h", width=7, share=0.3),
            Outer(name="o", shape=(2, 2), l2_bound=1.0, share=0.3),
        ),
    )

    def contribution(batch):
        pair = np.stack([np.sin(9 * batch["x"]), batch["x"] ** 3], axis=1)
        return {"d": pair, "h": np.floor(7 * batch["x"]), "o": np.concatenate([pair, pair[:, ::-1]], axis=1)}

    plan = make_plan((step,), budget=BUDGET, unit=NUMBER.unit, rows=None)
    views = [open_view(NUMBER, {"x": v}, step) for v in (values, more)]
    for view in views:
        view.noisy_sum("s", contribution)
    norm = 2**20 / plan.noise_multiplier("s")
    square = sum(
        float(((views[1].answers.of("s", 0, b) - views[0].answers.of("s", 0, b)) / norm) ** 2 @ np.ones(w))
        for b, w in (("d", 2), ("h", 7), ("o", 4))
    )
    assert square <= 1 + 1e-9


def test_maps_see_batches_of_one_shape_that_they_cannot_write_into() -> None:
    shapes, writable = set(), set()

    def map_of(batch):
        shapes.add(batch["x"].shape)
        writable.add(batch["x"].flags.writeable)
        return {"n": np.zeros(len(batch["x"]))}

    for n_rows in (0, 1, 5, 1023, 1024, 1025, 3000):
        open_view(NUMBER, {"x": np.full(n_rows, 0.5)}, COUNT).noisy_sum("count", map_of)
    assert shapes == {(batch_rows(NUMBER),)}
    assert writable == {False}


def test_a_map_cannot_tell_private_rows_from_public_ones_by_their_type() -> None:
    """Tried on public rows, used on private ones, row by row where it stumbles, and used again on rows kept in memory."""
    kinds = []

    def map_of(batch):
        kinds.append((type(batch), type(batch["x"]), batch["x"].dtype))
        if (batch["x"] == 0.25).sum() > 1:
            raise ValueError
        return {"n": np.zeros(len(batch["x"]))}

    view = open_view(NUMBER, {"x": np.full(5, 0.25)}, COUNT)
    for _ in range(2):
        view.noisy_sum("count", map_of)
    assert len(kinds) > 10
    assert len(set(kinds)) == 1


def test_a_map_that_writes_into_its_batch_is_refused() -> None:
    def scaled(batch):
        batch["x"] *= 2
        return {"n": batch["x"]}

    with pytest.raises(ValueError, match="read-only"):
        open_view(NUMBER, {"x": np.full(5, 0.5)}, COUNT).noisy_sum("count", scaled)


def test_rounding_that_follows_the_place_is_met_by_smaller_batches() -> None:
    public = random_batch(NUMBER, n_rows=128, seed=0)

    def by_place(batch):
        """As if the upper half of a batch of more than 8 rows went through another kernel."""
        nudge = np.where(np.arange(len(batch["x"])) >= 8, 1e-12, 0.0)
        return {"n": batch["x"] + nudge}

    row_map = RowMap(by_place, public_rows=public, rows=64)
    assert row_map.rows == 8
    values, _ = row_map({"x": np.full(64, 0.25)}, n_rows=50)
    assert len(values["n"]) == 50
    assert np.unique(values["n"]).size == 1


class Leaves(BaseException):
    """What no `except Exception` catches."""


ERRORS = [ValueError, KeyError, MemoryError, SystemExit, RecursionError, StopIteration, GeneratorExit, Leaves]


@pytest.mark.parametrize("error", ERRORS)
def test_a_row_over_which_a_map_stumbles_counts_as_nothing_and_no_other_with_it(error) -> None:
    def fussy(batch):
        if (batch["x"] == 0.625).any():
            raise error("0.625 is a private value")
        return {"n": batch["x"] > 0.5}

    values = np.linspace(0, 1, 1501)
    values[[3, 1200]] = 0.625
    view = open_view(NUMBER, {"x": values}, COUNT)
    counts = view.noisy_sum("count", fussy)["n"].values
    good = values[values != 0.625]
    assert counts.tolist() == [(good <= 0.5).sum(), (good > 0.5).sum()]


def test_an_interrupt_ends_the_release_and_holds_nothing_of_a_row() -> None:
    def stops(batch):
        if (batch["x"] == 0.625).any():
            raise KeyboardInterrupt("0.625") from ValueError("0.625")
        return {"n": batch["x"] > 0.5}

    view = open_view(NUMBER, {"x": np.array([0.1, 0.625])}, COUNT)
    with pytest.raises(KeyboardInterrupt) as caught:
        view.noisy_sum("count", stops)
    assert not caught.value.args
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_shape_or_type_that_follows_a_value_counts_as_nothing() -> None:
    def shifty(batch):
        codes = (batch["x"] > 0.5).astype(np.int64)
        if (batch["x"] == 0.625).any():
            return {"n": np.stack([codes, codes], axis=1)}
        return {"n": codes.astype(object) if (batch["x"] == 0.125).any() else codes}

    view = open_view(NUMBER, {"x": np.array([0.625, 0.125, 0.25, 0.75])}, COUNT)
    assert view.noisy_sum("count", shifty)["n"].values.tolist() == [1, 1]


@pytest.mark.parametrize("kind", [object, np.complex128, np.float16, ">f8", "U5"])
def test_types_that_a_door_could_stumble_over_are_refused_on_public_rows(kind) -> None:
    """A map whose objects are numbers on public rows and a word on one private row would raise behind its back."""

    def odd(batch):
        return {"n": (batch["x"] > 0.5).astype(kind)}

    with pytest.raises(ContractError, match="whole numbers"):
        open_view(NUMBER, {"x": np.full(5, 0.5)}, COUNT).noisy_sum("count", odd)


def test_prepared_columns_and_groups_survive_values_that_a_map_stumbles_over() -> None:
    def fussy(batch):
        if (batch["x"] == 0.625).any():
            raise ValueError("0.625")
        return batch["x"]

    view = open_view(
        NUMBER, {"x": np.array([0.625, 0.25, 0.5])}, Step(name="s", blocks=(Dense(name="x", width=1, l2_bound=1.0),))
    )
    view.prepare("same", fussy)
    assert view.noisy_sum("s", lambda b: {"x": b["same"]})["x"].values[0] == pytest.approx(0.75, abs=1e-4)
    mixed = Step(name="m", blocks=(Hot(name="n", width=1),), sampling=Poisson(1.0), mixtures=1, groups=2)
    view = open_view(NUMBER, {"x": np.array([0.625, 0.25, 0.5])}, mixed)
    counts = view.noisy_mixtures("m", lambda b: {"n": np.zeros(len(b["x"]))}, group_of=lambda b: fussy(b) > 0.3)
    assert counts["n"].values.ravel().tolist() == [1, 1]


def test_a_map_that_stops_working_is_refused_without_a_private_word() -> None:
    calls = []

    def tired(batch):
        calls.append(1)
        if len(calls) > 3:
            raise ValueError("0.625")
        return {"n": np.zeros(len(batch["x"]))}

    view = open_view(NUMBER, {"x": np.full(3000, 0.625)}, COUNT)
    with pytest.raises(ContractError, match="withheld") as refusal:
        view.noisy_sum("count", tired)
    assert refusal.value.__context__ is None
    assert "625" not in str(refusal.value)


def test_nothing_that_a_map_says_leaves_a_door(capfd, recwarn, caplog) -> None:
    def loud(batch):
        if (batch["x"] == 0.625).any():
            print("0.625")
            print("0.625", file=sys.stderr)
            os.write(1, b"0.625")
            os.write(2, b"0.625")
            logging.getLogger("map").critical("0.625")
            warnings.warn("0.625", stacklevel=1)
        return {"n": np.zeros(len(batch["x"]))}

    view = open_view(NUMBER, {"x": np.array([0.625, 0.5])}, COUNT)
    view.noisy_sum("count", loud)
    view.prepare("loud", lambda b: loud(b)["n"])
    said = "".join(capfd.readouterr()) + caplog.text + "".join(str(w.message) for w in recwarn)
    assert "625" not in said
    print("heard again")
    assert "heard again" in capfd.readouterr().out


def test_silence_ends_with_an_error_too(capfd) -> None:
    def loud() -> None:
        with silence():
            os.write(2, b"not heard")
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        loud()
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"


# Forks.


def in_a_fork(work) -> bytes:
    """What `work` writes in a forked child."""
    read_end, write_end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other threads of the test runner are of no concern here
        child = os.fork()
    if child == 0:
        try:
            os.write(write_end, work())
        finally:
            os._exit(0)
    os.close(write_end)
    os.waitpid(child, 0)
    with os.fdopen(read_end, "rb") as pipe:
        return pipe.read()


def test_a_forked_process_draws_its_own_noise() -> None:
    source = NoiseSource()
    child = in_a_fork(lambda: source.words(4).tobytes())
    assert len(child) == 32
    assert child != source.words(4).tobytes()


def test_a_seeded_source_and_a_view_refuse_to_work_in_a_forked_process() -> None:
    source = NoiseSource(research_seed=1)
    view = open_view(NUMBER, {"x": np.full(5, 0.5)}, COUNT)

    def refused() -> bytes:
        said = []
        for work in (lambda: source.words(1), lambda: view.noisy_sum("count", lambda b: {"n": b["x"]})):
            try:
                work()
            except PrivacyError as refusal:
                said.append(str(refusal))
        return "|".join(said).encode()

    assert in_a_fork(refused).count(b"forked process") == 2


# What a mechanism is handed.


def test_the_doors_are_all_that_a_mechanism_gets() -> None:
    view = open_view(NUMBER, {"x": np.full(5, 0.5)}, COUNT)
    doors = doors_of(view)
    public = {name for name in dir(doors) if not name.startswith("_")}
    noisy = {"noisy_sum", "noisy_mixtures", "noisy_gradients", "noisy_choice", "noisy_reports", "noisy_votes"}
    assert public == {"budget", "noise_stddev", "prepare", *noisy}
    assert not hasattr(doors, "__dict__")
    assert doors.noisy_sum("count", lambda b: {"n": np.zeros(len(b["x"]))})["n"].values[0] == 5
    with pytest.raises(PrivacyError):
        doors.__reduce__()
