"""The recorder tells rows apart; the walk tells values apart; the watch hears what is said."""

import os

import numpy as np
import pandas as pd
import pytest

from schemas import PERSONS, REPLACE, TABLE
from sfumato.check.instruments.canonical import first_difference, leaves
from sfumato.check.instruments.neighbours import bases
from sfumato.check.instruments.recorder import Record, Recorder
from sfumato.check.instruments.rows import read
from sfumato.check.instruments.watch import watched
from sfumato.errors import ContractError
from sfumato.private.intake.sensitive import open_persons
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.plan.block import Hot
from sfumato.public.plan.probe import take
from sfumato.public.plan.step import Poisson, SecretBins, Step

STEP = Step(name="mixtures", blocks=(Hot(name="counts", width=1),), sampling=Poisson(0.3), mixtures=4)
BINS = Step(name="bins", blocks=(Hot(name="counts", width=1),), sampling=SecretBins(), mixtures=4)


def recorder(record: Record, **options) -> Recorder:
    return Recorder(Primitives(NoiseSource(research_seed=1)), record, **options)


def coins(primitives: Recorder, n_rows: int, *, piece: int = 7) -> np.ndarray:
    """Heads of all rows, drawn piece by piece as the doors do."""
    heads = np.zeros((n_rows, 4), dtype=bool)
    for first in range(0, n_rows, piece):
        n = min(piece, n_rows - first)
        cells = primitives.coins(STEP, key=bytes(32), first=first, n_rows=n, n_coins=4, rate=0.3)
        heads[first + cells // 4, cells % 4] = True
    return heads


@pytest.mark.parametrize("places", [(0,), (10,), (20,), (0, 7, 20)])
def test_known_rows_keep_their_coins_and_new_ones_take_part(places) -> None:
    then = Record()
    before = coins(recorder(then), 20)
    after = coins(recorder(Record(), answers=then, new=places), 20 + len(places))
    assert (np.delete(after, places, axis=0) == before).all()
    assert after[list(places)].all()


def test_known_rows_keep_their_dice() -> None:
    then = Record()
    before = recorder(then).dice(BINS, key=bytes(32), first=0, n_rows=20, sides=4)
    after = recorder(Record(), answers=then, new=(3,)).dice(BINS, key=bytes(32), first=0, n_rows=21, sides=4)
    assert (np.delete(after, 3) == before).all()


def test_answers_are_given_again_and_sums_noted() -> None:
    then, now = Record(), Record()
    first = recorder(then).noisy(np.array([5]), step="mixtures", block="counts")
    again = recorder(now, answers=then)
    assert again.noisy(np.array([6]), step="mixtures", block="counts") == first
    assert now.sums["mixtures", 0, "counts"] == 6
    with pytest.raises(ContractError, match="more often where a row is new"):
        again.noisy(np.array([6]), step="mixtures", block="counts")


def ages_of(raw, schema):
    """In the order of reading."""
    return np.concatenate([batch["age"] for batch in open_persons(read(raw, schema), rows=500)])


@pytest.mark.parametrize("schema", [TABLE, REPLACE, PERSONS], ids=["add", "replace", "persons"])
def test_neighbours_differ_in_their_new_rows_alone(schema) -> None:
    sizes = set()
    for base in bases(schema, n_rows=300):
        n_base = len(base.raw["age"])
        sizes.add(n_base)
        for neighbour in base.neighbours:
            rest = np.delete(neighbour.raw["age"], neighbour.places)
            kept = np.delete(base.raw["age"], neighbour.places) if schema is REPLACE else base.raw["age"]
            assert leaves(rest.astype(str)) == leaves(kept.astype(rest.dtype).astype(str))
            assert len(neighbour.places) == schema.unit.max_rows
            ages = ages_of(neighbour.raw, schema)[list(neighbour.as_read)]
            assert sorted(ages) == sorted(ages_of(take(neighbour.raw, np.array(neighbour.places)), schema))
    assert sizes == {300} if schema is REPLACE else {0, 1, 2, 63, 300, 1023, 1024, 1025, 3000}


ZEROS = np.zeros(2)
DIFFERENT = [
    (0.0, -0.0),
    (1, 1.0),
    (True, 1),
    (np.zeros(2), np.zeros((2, 1))),
    (np.zeros(2), np.zeros(2, dtype=np.float32)),
    (np.zeros((2, 2)), np.zeros((2, 2), order="F")),
    (np.array([np.nan]), np.array([-np.nan])),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ([ZEROS, ZEROS], [ZEROS, ZEROS.copy()]),
    (pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [1.0]})),
    (pd.Series(["a", "b"]).astype("category"), pd.Series(["a", "b"], dtype=object)),
    (np.random.default_rng(1), np.random.default_rng(2)),
]


@pytest.mark.parametrize(("one", "two"), DIFFERENT)
def test_the_walk_tells_values_apart(one, two) -> None:
    assert first_difference(leaves(one), leaves(two)) is not None
    assert first_difference(leaves(one), leaves(one)) is None


def test_the_walk_names_what_differs() -> None:
    assert first_difference(leaves({"x": [1, 2]}, name="m"), leaves({"x": [1, 3]}, name="m")) == "m['x'][1]"


def test_the_watch_hears_and_restores(tmp_path, capfd) -> None:
    folder = os.getcwd()
    with watched() as quiet:
        pass
    with watched() as loud:
        os.chdir(tmp_path)
        os.environ["SFUMATO_TEST"] = "x"
        os.write(1, b"hello")
        (tmp_path / "file").write_text("x")
    assert "open" in loud.deeds
    assert not quiet.deeds
    assert loud.said != quiet.said
    assert os.getcwd() == folder
    assert "SFUMATO_TEST" not in os.environ
    assert capfd.readouterr().out == ""
