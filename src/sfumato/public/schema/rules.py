"""Rules of a schema as they are declared: each is a public fact that every released row obeys.

What they mean together (what is computed, in which order, what is enforced) is `ruled.py`'s affair.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.errors import SchemaError

#: More rules than this are no list that a person has read.
MOST_RULES = 2_000
_KINDS = ("rule", "columns", "missing_together", "key")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One of four kinds.

    `rule`: a condition such as "admitted <= discharged" or "if pregnant then sex = f"; or a formula, "total = a + b", by which
    a column is computed. `columns` with `permitted` or `forbidden`: combinations of their values. `missing_together`:
    columns of which all are missing or none. `key` with `pattern`: a column of texts that are made up, such as
    "P-[0-9]{6}", each once where it is `unique`.

    >>> Rule(rule="a <= b").told
    'a <= b'
    """

    rule: str = ""
    columns: tuple[str, ...] = ()
    permitted: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[tuple[str, ...], ...] = ()
    missing_together: tuple[str, ...] = ()
    key: str = ""
    pattern: str = ""
    unique: bool = True

    def __post_init__(self) -> None:
        given = [kind for kind in _KINDS if getattr(self, kind)]
        if len(given) != 1:
            raise SchemaError(
                'a rule is one of: rule = "a <= b"; columns with permitted or forbidden; missing_together; key with pattern. '
                f"This one is {' and '.join(given) or 'none of them'}."
            )
        if bool(self.columns) != (bool(self.permitted) != bool(self.forbidden)):
            raise SchemaError("columns of a rule go with either permitted or forbidden, a list of combinations.")
        if bool(self.key) != bool(self.pattern):
            raise SchemaError('key and pattern go together: key = "id" and pattern = "P-[0-9]{6}".')
        if any(len(entry) != len(self.columns) for entry in (*self.permitted, *self.forbidden)):
            raise SchemaError(f"every combination must have {len(self.columns)} values, one for each of columns.")
        if len(self.missing_together) == 1:
            raise SchemaError("missing_together names one column. Name at least two.")

    @property
    def told(self) -> str:
        """The rule as a line."""
        if self.rule:
            return self.rule
        if self.key:
            return f"{self.key} like {self.pattern}"
        if self.missing_together:
            return f"missing together: {', '.join(self.missing_together)}"
        kind, n = ("permitted", self.permitted) if self.permitted else ("forbidden", self.forbidden)
        return f"{kind} combinations of {', '.join(self.columns)} ({len(n):,})"

    def to_json(self) -> dict[str, Any]:
        """What is given of it."""
        given = {name: value for name, value in asdict(self).items() if value not in ("", ())}
        if not self.key or self.unique:
            given.pop("unique", None)
        return {name: [list(e) if isinstance(e, tuple) else e for e in v] if isinstance(v, tuple) else v
                for name, v in given.items()}  # fmt: skip


def rules_declared(rules: Iterable[Any]) -> tuple[Rule, ...]:
    """Rules as people write them in Python: texts, or `Rule`."""
    if isinstance(rules, str):
        rules = (rules,)
    listed = tuple(Rule(rule=rule) if isinstance(rule, str) else rule for rule in rules)
    if not all(isinstance(rule, Rule) for rule in listed):
        raise SchemaError('rules must be texts, such as "a <= b", or sfumato.public.schema.rules.Rule.')
    return listed
