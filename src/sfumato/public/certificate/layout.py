"""Sections laid out: as text for a terminal of 80 columns, and as HTML for a notebook."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

_WIDTH = 80
_GAP = "  "


@dataclass(frozen=True)
class Grid:
    """A table of words. The last `numbers` columns are set to the right."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int = 0


@dataclass(frozen=True, kw_only=True)
class Section:
    """A title, sentences before the table, the table, small print below it, and sentences after that."""

    title: str
    subtitle: str = ""
    before: tuple[str, ...] = ()
    grid: Grid | None = None
    notes: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def as_text(sections: Iterable[Section]) -> str:
    """All sections, with an empty line between any two parts."""
    return "\n\n".join(_section_as_text(section) for section in sections)


def _section_as_text(section: Section) -> str:
    below = [*(_grid_as_text(section.grid) if section.grid else []), *map(_wrapped, section.notes)]
    parts = [section.title + section.subtitle, "\n".join(map(_wrapped, section.before)), "\n".join(below)]
    return "\n\n".join(part for part in [*parts, "\n".join(map(_wrapped, section.after))] if part)


def _grid_as_text(grid: Grid) -> list[str]:
    """One line for each row; a last column of words that is too wide goes on below itself."""
    lines = [grid.headings, *grid.rows]
    widths = [max(len(line[at]) for line in lines) for at in range(len(grid.headings))]
    if not grid.numbers:
        taken = sum(width + len(_GAP) for width in widths[:-1])
        widths[-1] = min(widths[-1], max(20, _WIDTH - taken))
    return [text for line in lines for text in _row_as_text(line, widths, numbers=grid.numbers)]


def _row_as_text(line: Sequence[str], widths: Sequence[int], *, numbers: int) -> list[str]:
    last = textwrap.wrap(line[-1], widths[-1]) or [""]
    first = [*line[:-1], last[0]]
    words = len(widths) - numbers
    cells = [c.ljust(w) if at < words else c.rjust(w) for at, (c, w) in enumerate(zip(first, widths, strict=True))]
    indent = " " * sum(width + len(_GAP) for width in widths[:-1])
    return [_GAP.join(cells).rstrip(), *(indent + more for more in last[1:])]


def _wrapped(sentence: str) -> str:
    return textwrap.fill(sentence, _WIDTH, break_long_words=False, break_on_hyphens=False)


def as_html(sections: Iterable[Section]) -> str:
    """The same as a piece of a page. Names come from a schema that somebody else may have written: all is escaped."""
    parts: list[Markup] = []
    for section in sections:
        parts.append(Markup("<h4>{}<small>{}</small></h4>").format(section.title, section.subtitle))
        parts += [Markup("<p>{}</p>").format(sentence) for sentence in section.before]
        parts += [] if section.grid is None else [_grid_as_html(section.grid)]
        parts += [Markup("<p><small>{}</small></p>").format(note) for note in section.notes]
        parts += [Markup("<p>{}</p>").format(sentence) for sentence in section.after]
    return "".join(parts)


def _grid_as_html(grid: Grid) -> Markup:
    words = len(grid.headings) - grid.numbers

    def line(cells: Sequence[str], tag: str) -> Markup:
        sides = ["left" if at < words else "right" for at in range(len(cells))]
        filled = [
            Markup('<{0} style="text-align: {1}">{2}</{0}>').format(Markup(tag), side, escape(cell))
            for cell, side in zip(cells, sides, strict=True)
        ]
        return Markup("<tr>{}</tr>").format(Markup("").join(filled))

    body = Markup("").join(line(row, "td") for row in grid.rows)
    return Markup("<table><thead>{}</thead><tbody>{}</tbody></table>").format(line(grid.headings, "th"), body)
