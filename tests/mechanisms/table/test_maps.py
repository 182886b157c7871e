"""Maps that go through doors hold public facts alone and can travel to another process."""

import io
import pickle
from dataclasses import replace

import pytest
from small_tables import TINY_TABLE

import schemas
import sfumato as sf
import twins
from sfumato.check.instruments.rows import made_up, read
from sfumato.extending import NoiseSource
from sfumato.mechanisms import ThreeATable

MUCH = sf.Budget(epsilon=200.0, delta=1e-6)
CASES = {
    "classes": replace(schemas.TABLE, rows=20_000),
    "number": replace(schemas.TABLE, target="pressure", rows=20_000),
    "no target": replace(schemas.TABLE, target=None, rows=20_000),
    "persons": replace(schemas.PERSONS, rows=20_000),
    "whole and rules": sf.Schema(
        columns=(
            *(sf.Column(name=name, kind="boolean") for name in "abcdefghijklmnopq"),
            sf.Column(name="level", kind="ordinal", categories=("low", "some", "high")),
            sf.Column(name="years", kind="integer", bounds=(0, 20), depends_on=("level",)),
        ),
        target="a",
        rows=2_000,
    ),
}


class Packing(pickle.Pickler):
    """Refuses doors, wherever they are."""

    def reducer_override(self, thing):
        assert not isinstance(thing, twins.Through), "a map holds the doors"
        assert not hasattr(type(thing), "noisy_sum"), "a map holds the doors"
        return NotImplemented


def packed(thing) -> bytes:
    file = io.BytesIO()
    Packing(file).dump(thing)
    return file.getvalue()


def maps_of(schema: sf.Schema) -> list:
    """Every map of a fit."""
    maps = []

    class Watching(twins.Through):
        def noisy_sum(self, step, per_record):
            maps.append((step, per_record))
            return self.view.noisy_sum(step, per_record)

        def noisy_choice(self, step, per_record, expected):
            maps.append((step, per_record))
            return self.view.noisy_choice(step, per_record, expected)

        def prepare(self, name, per_record):
            maps.append((name, per_record))
            return self.view.prepare(name, per_record)

    class Watched(ThreeATable):
        def measure(self, view, schema):
            return super().measure(Watching(view), schema)

    data = read(made_up(schema, n_rows=300, seed=0), schema)
    sf.fit(Watched(settings=TINY_TABLE.settings), data, MUCH, seed=0, source=NoiseSource(research_seed=0))
    return maps


@pytest.mark.parametrize("case", CASES)
def test_every_map_can_travel_and_holds_no_doors(case: str) -> None:
    maps = maps_of(CASES[case])
    assert {"coarse", "fine", " codes", " bins"} <= {step for step, _ in maps}
    if case in ("classes", "number"):
        assert {"teacher", " rule"} <= {step for step, _ in maps}
    if case == "whole and rules":
        assert {"rules", "whole", "group"} <= {step for step, _ in maps}
    for step, per_record in maps:
        again = pickle.loads(packed(per_record))
        assert type(again) is type(per_record), step


def test_a_map_that_holds_doors_is_noticed() -> None:
    with pytest.raises(AssertionError, match="holds the doors"):
        packed({"view": twins.Through(None)})
    with pytest.raises((AttributeError, pickle.PicklingError)):
        packed(lambda batch: batch)
