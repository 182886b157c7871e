"""HMA and PAR of SDV, without any privacy: `python sdv_histories.py FOLDER`, in an environment with sdv.

FOLDER holds persons.csv and events.csv (`relational.py NAME --write FOLDER`) and asked.json: the method, how many of the persons
it may learn from, how many to draw, and for PAR its epochs. What is drawn is written into FOLDER/drawn, and scored by
`relational.py NAME --drawn FOLDER/drawn`.
"""

import json
import sys
import time
from pathlib import Path

import pandas as pd
from sdv.metadata import Metadata
from sdv.multi_table import HMASynthesizer
from sdv.sequential import PARSynthesizer

#: What a column is to them, by its type in a schema.
SORTS = {"integer": "numerical", "numeric": "numerical", "categorical": "categorical", "boolean": "boolean"}


def columns_of(types: dict[str, str]) -> dict[str, dict[str, str]]:
    return {"person": {"sdtype": "id"}, **{name: {"sdtype": SORTS[kind]} for name, kind in types.items()}}


def by_hma(persons: pd.DataFrame, events: pd.DataFrame, asked: dict) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The parents with what describes their children, one Gaussian copula for each table."""
    keys = {"parent_table_name": "persons", "parent_primary_key": "person"}
    metadata = Metadata.load_from_dict(
        {
            "tables": {
                "persons": {"primary_key": "person", "columns": columns_of(asked["types"]["persons"])},
                "events": {"columns": columns_of(asked["types"]["events"])},
            },
            "relationships": [{**keys, "child_table_name": "events", "child_foreign_key": "person"}],
        }
    )
    model = HMASynthesizer(metadata, verbose=False)
    model.fit({"persons": persons, "events": events})
    drawn = model.sample(num_rows=asked["draw"], main_table_name="persons")
    return drawn["persons"], drawn["events"]


def by_par(persons: pd.DataFrame, events: pd.DataFrame, asked: dict) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A network for sequences, with persons' columns as their context: of whoever has an event."""
    types, own = {**asked["types"]["persons"], **asked["types"]["events"]}, list(asked["types"]["persons"])
    table = {"columns": columns_of(types), "sequence_key": "person", "sequence_index": "day"}
    metadata = Metadata.load_from_dict({"tables": {"events": table}, "relationships": []})
    model = PARSynthesizer(metadata, context_columns=own, epochs=asked["epochs"], cuda=False)
    model.fit({"events": events.merge(persons, on="person")})
    drawn = model.sample_sequences(num_sequences=asked["draw"])
    drawn = drawn["events"] if isinstance(drawn, dict) else drawn
    return drawn.groupby("person", as_index=False)[own].first(), drawn[["person", *asked["types"]["events"]]]


if __name__ == "__main__":
    place = Path(sys.argv[1])
    asked = json.loads((place / "asked.json").read_text())
    persons, events = pd.read_csv(place / "persons.csv"), pd.read_csv(place / "events.csv")
    persons = persons.sample(min(asked["persons"], len(persons)), random_state=0)
    events = events[events["person"].isin(persons["person"])]
    start = time.perf_counter()
    made = (by_hma if asked["method"] == "hma" else by_par)(persons, events, asked)
    to = place / "drawn"
    to.mkdir(exist_ok=True)
    for name, table in zip(("persons", "events"), made, strict=True):
        table.to_csv(to / f"{name}.csv", index=False)
    seconds = round(time.perf_counter() - start)
    (to / "made.json").write_text(
        json.dumps({"method": asked["method"], "learned_from": len(persons), "seconds": seconds})
    )
