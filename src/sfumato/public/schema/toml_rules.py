"""How one rule is written in schema.toml: its keys, what each must be, and the files that they may name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.public.schema.faults import Faults
from sfumato.public.schema.long_lists import combinations_of_file
from sfumato.public.schema.rules import Rule
from sfumato.public.schema.toml_columns import (
    FLAG,
    READERS,
    Reader,
    are,
    list_of,
    listed,
    note_unknown_keys,
    quoted,
)

RULES = "rules"
_WORD = (lambda v: isinstance(v, str) and v != "", "a text in quotes", str)
_NAMES = (lambda v: v != [] and are(v, str), 'a list of columns, such as ["a", "b"]', tuple)
_ENTRIES = READERS["depends_on_map"]
_COMBINATIONS = (_ENTRIES.fits, 'a list of combinations, such as [["a", "b"]]', _ENTRIES.read)
_RULE_READERS = {
    "rule": Reader("rule", *_WORD),
    "columns": Reader("columns", *_NAMES),
    "permitted": Reader("permitted", *_COMBINATIONS),
    "forbidden": Reader("forbidden", *_COMBINATIONS),
    "missing_together": Reader("missing_together", *_NAMES),
    "key": Reader("key", *_WORD),
    "pattern": Reader("pattern", *_WORD),
    "unique": Reader("unique", *FLAG),
}
_RULE_KEYS = (*_RULE_READERS, "permitted_file", "forbidden_file")


def read_rule(number: int, entry: Mapping[str, Any], faults: Faults, folder: Path | None) -> Rule | None:
    """The rule, or None where it has faults, which are noted."""
    place, n_faults = (RULES, str(number)), len(faults.entries)
    note_unknown_keys(entry, _RULE_KEYS, faults, *place, what="a rule")
    read: dict[str, Any] = {}
    for key, reader in _RULE_READERS.items():
        if key in entry and reader.fits(entry[key]):
            read[key] = reader.read(entry[key])
        elif key in entry:
            faults.add(f"{key} must be {reader.must_be}.", *place, key)
    for key in ("permitted", "forbidden"):
        if f"{key}_file" in entry:
            with faults.at(*place, f"{key}_file"):
                read[key] = combinations_of_file(entry, folder, key=f"{key}_file")
    rule = None
    if len(faults.entries) == n_faults:
        with faults.at(*place):
            rule = Rule(**read)
    return rule


def rule_entries(rule: Rule) -> dict[str, str]:
    """The keys of a rule, and the text of each; an empty one is left out."""
    return {
        "rule": quoted(rule.rule) if rule.rule else "",
        "columns": list_of(rule.columns),
        "permitted": listed(map(list_of, rule.permitted)),
        "forbidden": listed(map(list_of, rule.forbidden)),
        "missing_together": list_of(rule.missing_together),
        "key": quoted(rule.key) if rule.key else "",
        "pattern": quoted(rule.pattern) if rule.pattern else "",
        "unique": "" if rule.unique else "false",
    }
