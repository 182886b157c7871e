"""A history that cannot be rewritten quietly: 200 edits by hand, and `verify` names the line of each."""

import json
import random
import sqlite3

import dp_accounting as dpa
import pytest
from books import book, charge, new_ledger

from sfumato.errors import LedgerError
from sfumato.folder.signing import load_signing_key, new_keys
from sfumato.ledger.chain import Line
from sfumato.ledger.checking import check_ledger
from sfumato.ledger.ledger import Ledger
from sfumato.ledger.policy import Policy
from sfumato.ledger.rules import digest_of
from sfumato.public.accounting import EpsilonDeltaDpEvent
from sfumato.public.certificate.statement import canonical

TABLE = "sfumato_ledger_lines"


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A ledger with lines of many kinds, some of them signed, as a file that nobody changes."""
    folder = tmp_path_factory.mktemp("history")
    new_keys(folder / "office")
    key = load_signing_key(folder / "office.key")
    ledger = Ledger.create(f"sqlite:///{folder}/ledger.db", sign=key)
    policy = Policy(epsilon=3.0, delta=1e-6, failures=5e-7, recipients={"university": 2.0, "city": 1.5})
    ledger.add("patients", policy=policy)
    ledger.add("staff", epsilon=1.0)
    sampled = dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.05, dpa.GaussianDpEvent(2.0)), 5)
    failing = dpa.ComposedDpEvent([dpa.GaussianDpEvent(9.0), EpsilonDeltaDpEvent(0.0, 1e-8)])
    charge(ledger, recipient="university", sign=key)
    charge(ledger, sampled, recipient="city")
    charge(ledger, failing, dataset="staff", sign=key)
    ledger.change_policy("patients", Policy(**{**policy.to_json(), "epsilon": 2.5}), sign=key)
    charge(ledger, dpa.GaussianDpEvent(30.0), recipient="city")
    ledger.close("staff")
    assert ledger.verify().ok
    IDENTITY[:] = [ledger.identity]
    return folder / "ledger.db"


def rows_of(file):
    with sqlite3.connect(file) as connection:
        rows = [
            *connection.execute(
                f"SELECT number, dataset, attempt, body, digest, signature FROM {TABLE} ORDER BY number"
            )
        ]
    return [list(row) for row in rows]


class Rows:
    """A database that holds these rows."""

    def __init__(self, identity, rows):
        self.identity, self._rows = identity, rows

    def lines(self):
        return iter(sorted((tuple(row) for row in self._rows), key=lambda row: row[0]))


def found(rows):
    """What verify says of these rows."""
    return check_ledger(Rows(IDENTITY[0], rows))


#: Of the ledger that the fixture has made.
IDENTITY = []


def leaves(tree, path=()):
    """Every number and text of a line's body, by its path."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    if not items and not isinstance(tree, dict | list):
        yield path
    for key, value in items:
        yield from leaves(value, (*path, key))


def changed(value):
    match value:
        case bool():
            return not value
        case int():
            return max(0, value - 1) if value else 1
        case float():
            return value * 0.99 if value else 0.5
        case str():
            return f"{value[:-1]}{'0' if value[-1:] != '0' else '1'}"
    return "x"


def edited(body, path, value):
    tree = json.loads(body)
    at = tree
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value(at[path[-1]])
    return canonical(tree)


def test_every_edit_of_a_body_is_named(history):
    """One value of one line is changed, 200 times: the line is named, and no other."""
    rows = rows_of(history)
    places = [(at, path) for at, row in enumerate(rows) for path in leaves(json.loads(row[3]))]
    for at, path in random.Random(31).sample(places, 200):
        forged = [list(row) for row in rows]
        forged[at][3] = edited(rows[at][3], path, changed)
        assert found(forged).problem.startswith(f"line {at + 1}: "), (at, path)


def matters(path):
    """What a sum follows from. Words of an unsigned line that nothing follows from can be rewritten by who may write."""
    return (
        path[0] in ("state", "number", "previous", "ledger", "kind")
        or path[:2]
        in (
            ("content", "spend"),
            ("content", "policy"),
            ("content", "unit"),
        )
        or path[:3] == ("content", "request", "event")
    )


def test_a_forger_who_makes_all_digests_anew_is_named(history):
    """With the source code but without a key: what was changed must still follow from the lines before it."""
    rows = rows_of(history)
    places = [(at, path) for at, row in enumerate(rows) for path in leaves(json.loads(row[3])) if matters(path)]
    for at, path in random.Random(33).sample(places, 80):
        forged = [list(row) for row in rows]
        forged[at][3] = edited(rows[at][3], path, changed)
        forged[at][4] = digest_of(json.loads(forged[at][3]))
        for later in range(at + 1, len(rows)):
            body = json.loads(forged[later][3])
            body["previous"] = forged[later - 1][4]
            forged[later][3], forged[later][4] = canonical(body), digest_of(body)
        problem = found(forged).problem
        assert problem is not None, (at, path)
        # The line itself, or the first one behind it that does not follow, or whose signature no forger can make.
        assert int(problem.split()[1].rstrip(":")) >= at + 1


def test_every_other_edit_is_named(history):
    rows = rows_of(history)
    for at in range(len(rows)):
        for column in range(6):  # each cell by itself
            forged = [list(row) for row in rows]
            value = forged[at][column]
            forged[at][column] = value + 100 if column == 0 else f"{value or ''}x"
            problem = found(forged).problem
            assert problem is not None, (at, column)
        if at < len(rows) - 1:
            assert f"line {at + 2}" in found(rows[:at] + rows[at + 1 :]).problem  # one taken out
            swapped = [list(row) for row in rows]
            swapped[at][3:], swapped[at + 1][3:] = rows[at + 1][3:], rows[at][3:]
            assert f"line {at + 1}" in found(swapped).problem
    extra = [rows[-1][0] + 1, "patients", "f" * 32, *rows[-1][3:]]
    assert f"line {rows[-1][0] + 1}" in found([*rows, extra]).problem


def test_signatures_cannot_be_taken_off(history):
    rows = rows_of(history)
    signed = [at for at, row in enumerate(rows) if row[5]]
    assert len(signed) >= 3
    for at in signed:
        forged = [list(row) for row in rows]
        forged[at][5] = None
        assert f"line {at + 1}: the signature" in found(forged).problem


def test_a_line_that_is_taken_off_the_end_is_missed_by_a_release_that_was_told_of_it(history):
    rows = rows_of(history)
    assert found(rows[:-1]).ok  # nothing in the file can show it


def test_a_charge_on_a_history_that_was_edited_is_refused(sqlite):
    ledger = new_ledger(sqlite)
    charge(ledger)
    file = ledger.shown.removeprefix("sqlite:///")
    booking = book(ledger.dataset("patients"))
    with sqlite3.connect(file) as connection:
        body = connection.execute(f"SELECT body FROM {TABLE} WHERE number = 3").fetchone()[0]
        less = body.replace('"releases":1', '"releases":0')
        assert less != body
        connection.execute(f"UPDATE {TABLE} SET body = ? WHERE number = 3", (less,))
    with pytest.raises(LedgerError, match="changed by hand"):
        booking()


def test_lines_read_back_to_themselves(history):
    for row in rows_of(history):
        line = Line.read(*row[3:])
        assert line.stored == {"body": row[3], "digest": row[4], "signature": row[5]}
