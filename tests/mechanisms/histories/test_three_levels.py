"""What hangs on what hangs on events: every row keeps its own, though rows are put into order."""

from dataclasses import replace

import numpy as np

from schemas import WARD
from sfumato import Column
from sfumato.mechanisms.histories.draw import Histories
from sfumato.mechanisms.histories.released import released_tables


def test_a_row_that_moves_in_its_order_takes_along_what_hangs_on_it() -> None:
    visits, tests = WARD.tables
    day = Column(name="day", kind="integer", bounds=(0, 9))
    tests = replace(tests, columns=(day,), kind=None, own_key="test")
    value = Column(name="value", kind="integer", bounds=(0, 9))
    notes = replace(tests, name="notes", key="test", parent="tests", own_key=None, order=None, columns=(value,))
    schema = replace(WARD, tables=(visits, tests, notes))
    number = np.array([1])
    of_visits = Histories(number, {"day": np.array([[5.0]]), "tests.#": np.array([[2.0]])})
    of_tests = Histories(
        2 * number, {"day": np.array([[8.0, 3.0]]), "notes.#": np.array([[2.0, 1.0]])}
    )  # the later first
    of_notes = Histories(3 * number, {"value": np.array([[1.0, 2.0, 3.0]])})
    made = released_tables(schema, [[of_visits], [of_tests], [of_notes]])
    assert made["tests"]["day"].tolist() == [3, 8]
    assert made["notes"]["test"].tolist() == [1, 2, 2]
