"""How several tables hang together, told by the names of tables and columns alone: no row is looked at."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import SourceError
from sfumato.private.intake.places import SUFFIXES, local_path
from sfumato.public.spelling import words_of

#: Words beside the one that says whose key a column is.
_KEY_WORDS = frozenset(["id", "key", "no", "nr", "number", "num", "code", "ref", "uuid"])

#: Whose identifiers tell persons apart.
PERSONS = {"patient", "person", "subject", "customer", "client", "user", "member", "pupil", "student", "employee"}
PERSONS |= {"passenger", "respondent"}


@dataclass(frozen=True)
class Related:
    """A table, the column that names its own rows, what it hangs on and by which columns."""

    name: str
    key: str | None
    parent: str | None = None
    parent_key: str | None = None
    person_key: str | None = None

    @property
    def keys(self) -> frozenset[str | None]:
        """All columns that name rows."""
        return frozenset([self.key, self.parent_key, self.person_key])


def tables_in(data: Any) -> dict[str, Any] | None:
    """The files of a folder by their names, or the frames of a dict; None where there is one table, perhaps in parts."""
    if isinstance(data, Mapping):
        return {str(name): table for name, table in data.items()} if _are_frames(data) else None
    folder = local_path(data) if isinstance(data, str | os.PathLike) else None
    if folder is None or not folder.is_dir():
        return None
    files = [path for path in sorted(folder.iterdir()) if path.name.lower().endswith(SUFFIXES) and path.is_file()]
    names = [path.name.split(".")[0] for path in files]
    return dict(zip(names, files, strict=True)) if len(set(names)) == len(files) > 1 else None


def are_several(columns: Mapping[str, Sequence[str]]) -> bool:
    """Whether these are tables of their own and no parts of one: some two of them have less than half of their columns in common.

    >>> are_several({"patients": ["patient", "age", "sex"], "visits": ["patient", "day", "test"]})
    True
    >>> are_several({"2023": ["day", "sales"], "2024": ["day", "sales", "shop"]})
    False
    """
    sets = [set(names) for names in columns.values()]
    return any(2 * len(one & other) < len(one | other) for one in sets for other in sets)


def related(columns: Mapping[str, Sequence[str]]) -> tuple[list[Related], list[str]]:
    """The tables from that of the persons on, each after what it hangs on; and those that lead to no person.

    >>> names = {"visits": ["visit", "patient", "day"], "patients": ["patient", "age"], "tests": ["visit", "value"]}
    >>> [(table.name, table.key, table.parent) for table in related(names)[0]]
    [('patients', 'patient', None), ('visits', 'visit', 'patients'), ('tests', None, 'visits')]
    """
    keys = {name: _own_key(name, there) for name, there in columns.items()}
    refers = {
        name: {
            other: column
            for other in columns
            if other != name and (column := _reference(there, other, keys[other])) is not None
        }
        for name, there in columns.items()
    }
    referred = {other for others in refers.values() for other in others}
    roots = [name for name in columns if not refers[name] and name in referred]
    hanging = {root: [name for name in columns if root in _above(name, refers)] for root in roots}
    most = [root for root in roots if len(hanging[root]) == max(map(len, hanging.values()))]
    best = [root for root in roots if PERSONS & set(_singular(words_of(root)))] or most
    if len(best) != 1:
        raise SourceError(
            f"the names of columns do not tell which of the tables {', '.join(columns)} is that of the persons, and how the others "
            "name them. Draft each by itself, and write [tables.NAME] with key and parent (guide: Persons and what happened to them)."
        )
    (person,) = best
    out, placed = [Related(person, keys[person])], {person}
    while rest := [
        name
        for name in hanging[person]
        if name not in placed and _parents(name, refers, hanging[person], person) <= placed
    ]:
        for name in rest:
            parents = _parents(name, refers, hanging[person], person)
            nearest = max(sorted(parents), key=lambda other: len(_above(other, refers)))
            of_person = refers[name].get(person) if nearest != person else None
            is_named = any(name in refers[other] for other in columns)
            out.append(Related(name, keys[name] if is_named else None, nearest, refers[name][nearest], of_person))
            placed.add(name)
    return out, [name for name in columns if name not in placed]


def _parents(name: str, refers: Mapping[str, Mapping[str, str]], hanging: Sequence[str], person: str) -> set[str]:
    """What a table refers to of what leads to the person."""
    return {other for other in refers[name] if other == person or other in hanging}


def _above(name: str, refers: Mapping[str, Mapping[str, str]]) -> set[str]:
    """All tables to which a row leads."""
    seen, open_ones = set[str](), list(refers[name])
    while open_ones:
        one = open_ones.pop()
        if one not in seen:
            seen.add(one)
            open_ones += refers[one]
    return seen


def _own_key(table: str, columns: Sequence[str]) -> str | None:
    """The column that has the name of its table, or is an id and nothing else."""
    own = [column for column in columns if _names(column, table)]
    return next(iter([*own, *(column for column in columns if words_of(column) == ["id"])]), None)


def _reference(columns: Sequence[str], other: str, key: str | None) -> str | None:
    """The column by which rows name rows of another table."""
    if key is not None and key in columns and words_of(key) != ["id"]:
        return key
    return next((column for column in columns if key is not None and _names(column, other)), None)


def _names(column: str, table: str) -> bool:
    """Whether a column is called after a table: patient_id after patients."""
    bare = [word for word in words_of(column) if word not in _KEY_WORDS]
    return bool(bare) and _singular(bare) == _singular(words_of(table))


def _singular(words: Sequence[str]) -> list[str]:
    last = words[-1] if words else ""
    short = f"{last[:-3]}y" if last.endswith("ies") else last.removesuffix("s")
    return [*words[:-1], short]


def _are_frames(data: Mapping[Any, Any]) -> bool:
    return len(data) > 1 and all(hasattr(table, "columns") or hasattr(table, "column_names") for table in data.values())
