"""Draw the stages of 3a-table, and write their shares, and what is left out of large tables, into its page.

    python benchmarks/draw_table_method.py

Both are read from the code, so run it again when a setting changes.
"""

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

from sfumato import Budget, Column, Schema
from sfumato.mechanisms.table.budget_split import Evidence
from sfumato.mechanisms.table.explain import outline_table
from sfumato.mechanisms.table.settings.table import TableSettings

_ROOT = Path(__file__).parents[1]
_PICTURE = _ROOT / "docs" / "images" / "table-method.svg"
_PAGE = _ROOT / "docs" / "research" / "table-method.md"
_TABLE = re.compile(r"(<!-- shares: .*? -->\n).*?(<!-- end of shares -->)", re.DOTALL)
_LEFT_OUT = re.compile(r"(<!-- left out: .*? -->\n).*?(<!-- end of left out -->)", re.DOTALL)

_RHOS = (120.0, 300.0, 700.0)
_WIDE, _HIGH, _GAP = 352, 68, 14
_STYLE = """
  .paper { fill: #ffffff } .door { fill: #e3eefb; stroke: #3b76b8 } .free { fill: #f4f1e8; stroke: #a58f4e }
  .bar { fill: #3b76b8 } .room { fill: #c4d8ee } .line { stroke: #777; fill: none; stroke-width: 1.5 }
  .tip { fill: #777 } text { fill: #1d2733; font-family: Helvetica, Arial, sans-serif; font-size: 13px }
  .head { font-size: 16px; font-weight: bold } .name { font-weight: bold } .small { font-size: 11px }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #14181d } .door { fill: #1c3149; stroke: #6ea8e6 } .free { fill: #322d1d; stroke: #c9b269 }
    .bar { fill: #6ea8e6 } .room { fill: #31506f } .line { stroke: #999 } .tip { fill: #999 } text { fill: #e8ecf1 }
  }"""


@dataclass(frozen=True)
class _Stage:
    """A box: a door where it has shares, else free post-processing."""

    name: str
    lines: tuple[str, str]
    is_door: bool = True
    share: float | None = None


def _free(name: str, *lines: str) -> _Stage:
    return _Stage(name, (lines[0], lines[1]), is_door=False)


_COLUMNS: dict[str, tuple[_Stage, ...]] = {
    "1  Columns: measure_columns.py": (
        _Stage("groups", ("yes-or-no columns of one stem:", "does just one of them hold?"), share=0.01),
        _Stage("coarse", ("parts of each column", "single values apart")),
        _Stage("differences", ("two columns nearly equal?", "then by how far they lie apart"), share=0.01),
        _Stage("fine", ("each part split into as many", "leaves as its count supports")),
        _Stage("codes", ("very many categories: each", "with the class (up to so much)")),
        _Stage("rules", ("columns that follow from others", "by the schema, with these"), share=0.02),
        _Stage("spikes, 4 looks", ("into heavy cells, 32 parts", "each time: exact values")),
        _free("bins", "smooth, cut where later counts can tell", "values apart; levels of a number target"),
    ),
    "2  Joint tables: measure_joint.py": (
        _Stage("classes", ("each column with the class", "")),
        _Stage("moments", ("products of normal scores", "within each class")),
        _Stage("pairs", ("6 x 6 levels of every pair", "")),
        _Stage("contrasts", ("the same, one half of the", "classes less the other")),
        _Stage("links", ("fine tables of a tree", "of the strongest pairs")),
        _Stage("triples", ("products of three signs", "and the half")),
        _Stage("cubes", ("tables of up to four triples", "")),
        _Stage("whole", ("all combinations of some columns", "(of all: .5), chosen by group"), share=0.03),
        _free("population", "100,000 rows: lifts, copula, tree,", "weights raked to all tables"),
    ),
    "3  Target: measure_classes.py": (
        _free("rule", "weights of bins and boosted trees,", "learned on the population"),
        _Stage("teacher, T looks", ("errors of the rule at each", "bin, and along the trees")),
        _free("corrected rule", "posterior of corrections", "given all noisy gradients"),
        _free("model", "classes drawn anew, or a number as target", "moved; a value in every bin"),
    ),
}


def main() -> None:
    """Write the picture and the table."""
    shares = [_shares(Evidence(rho, 1.0, 0)) for rho in _RHOS]
    _PICTURE.write_text(_drawn(shares), encoding="utf-8")
    if _PAGE.exists():
        page = _PAGE.read_text(encoding="utf-8")
        page = _TABLE.sub(lambda m: f"{m[1]}\n{_table(shares)}\n\n{m[2]}", page)
        _PAGE.write_text(_LEFT_OUT.sub(lambda m: f"{m[1]}\n{left_out()}\n\n{m[2]}", page), encoding="utf-8")


def _shares(evidence: Evidence) -> dict[str, float]:
    """Of every stage; of the one for very many categories what it gets at most, which the others then have less."""
    most = evidence.shares(has_target=True, pooled=1.0).get("codes", 0.0)
    return {**evidence.shares(has_target=True), "codes": most}


def _drawn(shares: list[dict[str, float]]) -> str:
    tallest = max(len(stages) for stages in _COLUMNS.values())
    width, height = 3 * _WIDE + 4 * 28, 70 + tallest * (_HIGH + _GAP) + 40
    parts = [f'<rect class="paper" width="{width}" height="{height}" rx="8"/>']
    for at, (title, stages) in enumerate(_COLUMNS.items()):
        x = 28 + at * (_WIDE + 28)
        parts.append(f'<text class="head" x="{x}" y="38">{escape(title)}</text>')
        for row, stage in enumerate(stages):
            parts.append(_box(stage, x, 58 + row * (_HIGH + _GAP), shares, is_last=row == len(stages) - 1))
        if at + 1 < len(_COLUMNS):
            bottom, beyond = 58 + (len(stages) - 1) * (_HIGH + _GAP) + _HIGH / 2, x + _WIDE + 14
            parts.append(f'<path class="line" d="M {x + _WIDE} {bottom} H {beyond} V {58 + _HIGH / 2} h 8"/>')
            parts.append(f'<path class="tip" d="M {x + _WIDE + 28} {58 + _HIGH / 2} l -8 -5 v 10 z"/>')
    told = (
        "Blue: a door, a noisy sum over private rows. Sand: free, from noisy numbers alone. "
        "Bars: part of the precision at rho 120, 300, 700 and more; a full bar is three quarters."
    )
    parts.append(f'<text class="small" x="28" y="{height - 18}">{told}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="The stages of 3a-table">\n<style>{_STYLE}\n</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _box(stage: _Stage, x: int, y: int, shares: list[dict[str, float]], *, is_last: bool) -> str:
    kind = "door" if stage.is_door else "free"
    parts = [f'<rect class="{kind}" x="{x}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="6"/>']
    parts.append(f'<text class="name" x="{x + 12}" y="{y + 21}">{escape(stage.name)}</text>')
    parts += [
        f'<text x="{x + 12}" y="{y + 40 + 17 * i}">{escape(line)}</text>' for i, line in enumerate(stage.lines) if line
    ]
    if stage.is_door:
        parts += _bars(_shares_of(stage, shares), x + _WIDE - 128, y + 12)
    if not is_last:
        middle = x + 40
        parts.append(f'<path class="line" d="M {middle} {y + _HIGH} v {_GAP - 6}"/>')
        parts.append(f'<path class="tip" d="M {middle} {y + _HIGH + _GAP} l -5 -7 h 10 z"/>')
    return "\n".join(parts)


def _bars(parts: list[float], x: int, y: int) -> list[str]:
    drawn = []
    for i, part in enumerate(parts):
        at = y + 16 * i
        drawn.append(f'<rect class="room" x="{x}" y="{at}" width="75" height="11" rx="2"/>')
        drawn.append(f'<rect class="bar" x="{x}" y="{at}" width="{100 * part:.0f}" height="11" rx="2"/>')
        drawn.append(f'<text class="small" x="{x + 82}" y="{at + 10}">{_percent(part)}</text>')
    return drawn


def _shares_of(stage: _Stage, shares: list[dict[str, float]]) -> list[float]:
    key = stage.name.split(",")[0]
    return [one.get(key, 0.0) if stage.share is None else stage.share for one in shares]


def _percent(part: float) -> str:
    return "none" if part == 0 else f"{100 * part:.0f} %"


def _table(shares: list[dict[str, float]]) -> str:
    lines = ["| stage | " + " | ".join(f"rho {rho:.0f}" for rho in _RHOS) + " |", "|---|---|---|---|"]
    doors = [stage for stages in _COLUMNS.values() for stage in stages if stage.is_door]
    for stage in doors:
        told = " | ".join(_percent(part) for part in _shares_of(stage, shares))
        lines.append(f"| `{stage.name.split(',')[0]}` | {told} |")
    return "\n".join(lines)


def left_out() -> str:
    """What large tables go without, at a million rows: few rows are told of above."""

    def numbers(count: int) -> list[Column]:
        return [Column(name=f"x{i}", kind="numeric", bounds=(0, 1)) for i in range(count)]

    def coded(name: str, count: int) -> Column:
        return Column(name=name, kind="categorical", categories=tuple(map(str, range(count))))

    yes = coded("y", 2)
    examples = {
        "30 numbers": [*numbers(30), yes],
        "a column of 10,000 categories": [*numbers(9), coded("code", 10_000), yes],
        "40 numbers": [*numbers(40), yes],
        "60 numbers and 20 categories": [*numbers(60), *(coded(f"c{i}", 5) for i in range(20)), yes],
        "100 classes": [*numbers(10), coded("y", 100)],
        "10,000 classes": [*numbers(10), coded("y", 10_000)],
        "300 numbers": [*numbers(300), yes],
        "300 numbers, one of them the target": [*numbers(299), Column(name="y", kind="numeric", bounds=(0, 1))],
        "1,200 numbers and 800 categories": [*numbers(1_200), *(coded(f"c{i}", 3) for i in range(800)), yes],
    }
    budget = Budget(epsilon=1.0, delta=1e-6)
    lines = ["| table | left out, or coarser |", "|---|---|"]
    for name, columns in examples.items():
        outline = outline_table(Schema(columns=tuple(columns), target="y", rows=10**6), budget, TableSettings())
        told = " ".join(entry.sentence for entry in outline.left_out)
        lines.append(f"| {name} | {told or 'nothing'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
