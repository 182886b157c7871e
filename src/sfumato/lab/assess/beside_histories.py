"""Real persons and their events beside synthetic ones, table by table. This reads private rows WITHOUT privacy."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.lab.assess.aggregates import IN_WORDS, as_rows
from sfumato.lab.assess.beside import HELD_BACK, about_test, drawn_correlations, taught
from sfumato.lab.assess.histories import DAY, Events, Persons, read_persons, released_persons
from sfumato.model import Synthetic
from sfumato.present.beside import Comparison
from sfumato.present.columns import ColumnCard, column_card
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Schema


def histories_beside(data: Any, synthetic: Synthetic, schema: Schema, *, test: Any = None) -> Comparison:
    """What `private_page` shows of several tables: `tables`, each with its `name`, `about` and cards. Rows are persons."""
    sets = {"real": read_persons(data, schema), "synthetic": released_persons(synthetic, schema)}
    train = sets["real"]
    if test is not None:
        private_test = read_persons(test, schema)
    else:
        held_back = np.random.default_rng(0).random(len(train)) < HELD_BACK
        private_test, train = train.only(held_back), train.only(~held_back)
    said = f"{about_test(len(private_test), others=test is not None, what='persons')} {IN_WORDS}"
    rows, _ = as_rows(train)
    frames = {key: rows.decode(as_rows(each)[1]) for key, each in sets.items()}
    learned, tested = (rows.decode(as_rows(each)[1]) for each in (train, private_test))
    lesson, why = taught(learned, frames["synthetic"], tested, rows, said=said)
    events = {key: {each.table.name: each for each in persons.events()} for key, persons in sets.items()}
    of_events = [_table({key: tables[name] for key, tables in events.items()}) for name in events["real"]]
    return {
        "cards": [],
        "tables": [_persons(sets, schema), *of_events] if schema.columns else of_events,
        "pictures": drawn_correlations(frames),
        "rows": {key: len(persons) for key, persons in sets.items()},
        "lesson": lesson,
        "why_no_lesson": why,
    }


def _persons(sets: dict[str, Persons], schema: Schema) -> dict[str, Any]:
    cards = [
        _card(column, {key: each.batch[column.name] for key, each in sets.items()}, target=column.name == schema.target)
        for column in sorted(schema.columns, key=lambda column: column.name != schema.target)
    ]
    return {"name": schema.persons, "about": _about({key: len(each) for key, each in sets.items()}), "cards": cards}


def _table(sets: dict[str, Events]) -> dict[str, Any]:
    """How many events a person has, the gaps between them, their kinds, then the other columns."""
    events = sets["real"]
    alike = "a person" if events.declared.parent is None else f"one row of {events.declared.parent}"
    number = {key: pd.Series(each.number) for key, each in sets.items()}
    cards = [column_card(f"number of {events.table.name} of a person", number, kind="integer")]
    if events.order is not None:
        apart = {key: pd.Series(each.gaps()) for key, each in sets.items()}
        unit = ", days" if events.is_clock else ""
        cards.append(column_card(f"from one to the next of {alike}{unit}", apart, kind="gap"))
    kind = events.table.kind_column
    for column in sorted(events.table.columns, key=lambda column: column != kind):
        cards.append(_card(column, {key: each.rows[column.name] for key, each in sets.items()}, events=events))
    about = _about({key: len(each.whose) for key, each in sets.items()})
    about += f", of {alike} at most {events.declared.max_rows} side by side, as a release reads them"
    return {"name": events.table.name, "about": about, "cards": cards}


def _card(
    column: Column, values: dict[str, NDArray[Any]], *, target: bool = False, events: Events | None = None
) -> ColumnCard:
    name = column.name if events is None else events.name_of(column)
    decoded = {key: column.decode(each) for key, each in values.items()}
    if events is not None and column == events.order and events.is_since and events.is_clock:
        name, decoded = f"{name}, days", {key: each / DAY for key, each in decoded.items()}
    return column_card(name, decoded, kind=column.kind, target=target)


def _about(rows: dict[str, int]) -> str:
    return f"{rows['real']:,} real rows, {rows['synthetic']:,} synthetic ones"
