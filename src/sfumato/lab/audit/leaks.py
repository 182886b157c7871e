"""The leak panel: ways past the noise that no epsilon sees, each tried on made-up rows.

Most are clauses of the contract (`check`), which has its own broken twins. Two are tried here alone: a category that one row
holds, and a seed that is used twice.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.check.clauses import interference, plan, release
from sfumato.check.instruments.canonical import leaves
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError
from sfumato.mechanism import Mechanism
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Schema

_ROWS = 120
_UNIQUE = "zz-held-by-one-row"


@dataclass(frozen=True)
class Leak:
    """One way past the noise, and what came out of it: nothing, if all is well."""

    name: str
    found: str


def leak_panel(mechanism: Mechanism, schema: Schema, budget: Budget, *, n_rows: int = _ROWS) -> list[Leak]:
    """Try every way, on rows that are made up from the schema."""
    setting, leaks = Setting(mechanism, schema, budget, n_rows), []
    for name, clause in PANEL.items():
        said = ""
        try:
            clause(setting)
        except ContractError as broken:
            said = str(broken)
        leaks.append(Leak(name, said))
    return leaks


def a_unique_category_stays_inside(setting: Setting) -> None:
    """What one row alone holds, and the schema does not name, stands nowhere in what is handed on."""
    raw = setting.ordinary()
    coded = [column.name for column in setting.schema.columns if column.kind == "categorical" and not column.discover]
    for name in coded:
        values = np.asarray(raw[name], dtype=object).copy()
        values[0] = _UNIQUE
        raw[name] = values
    fitted = setting.fit(raw)
    kept = (fitted.answers, fitted.model, vars(fitted.mechanism), fitted.certificate)
    if any(_UNIQUE.encode() in part for _, part in leaves(kept)):
        raise ContractError("a category that one row alone holds is handed on.")


def a_seed_hides_no_noise(setting: Setting) -> None:
    """The public seed of the model is used twice: the noise must differ all the same."""
    one, two = (setting.fit(setting.ordinary()).answers.integers for _ in range(2))
    if all(np.array_equal(one[key], two[key]) for key in one):
        raise ContractError("two releases with the same public seed have the same noise.")


#: What is tried, and by which clause.
PANEL: dict[str, Callable[[Setting], None]] = {
    "a unique category": a_unique_category_stays_inside,
    "n and n + 1 rows, and the shape": plan.shapes_are_public,
    "minimum and maximum, one row more": interference.neighbours_cannot_be_told_apart,
    "the same seed twice": a_seed_hides_no_noise,
    "measuring a second time": plan.overuse_is_refused,
    "a second sample, without the data": release.works_without_data,
    "files and messages": interference.answers_tell_all,
    "rows in the model, the certificate or the logs": release.nothing_travels,
}
