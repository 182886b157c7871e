"""The page of a study: what it is, the table, the story, and what was run and what was not."""

import re
from collections.abc import Sequence
from pathlib import Path

from sfumato.lab.studies.task import Found, Line, Study

HEADINGS = ("", "published", "as published, run here", "honest epsilon", "made sound at the published epsilon")

_MOST_LISTED = 20

_WARNING = (
    '*Research, not a release: whatever is called "as published" here reads a public dataset without the doors of this package '
    'and protects nobody. "Made sound" is a mechanism of this package, through the doors.*'
)


def page_of(study: Study, found: Found, folder: Path) -> str:
    """All of it, in Markdown."""
    parts = [
        f"# {study.title}",
        _WARNING,
        markdown_table(HEADINGS, cells_of(study.lines(found))),
        _with_pictures_that_are_there(study.story(found, folder), folder),
        _how(study, found),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of words.

    >>> print(markdown_table(("a", "b"), [("1", "2")]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(
        "|" + "|".join(cells) + "|" if at == 1 else f"| {' | '.join(cells)} |" for at, cells in enumerate(lines)
    )


def cells_of(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    """The cells of the table, in the order of `HEADINGS`."""
    return [(line.what, line.published, line.here, line.honest, line.sound) for line in lines]


def _with_pictures_that_are_there(story: str, folder: Path) -> str:
    """Pictures are drawn by the points that they show: of one that was not run, only the name is left."""

    def kept(link: re.Match[str]) -> str:
        return link[0] if (folder / link[2]).exists() else f"*{link[1]}: to be run.*"

    return re.sub(r"!\[([^\]]*)\]\(([^)]+)\)", kept, story)


def _how(study: Study, found: Found) -> str:
    full = [key for key, figures in found.figures.items() if not figures["quick"]]
    quick = [key for key, figures in found.figures.items() if figures["quick"]]
    return "\n".join(
        [
            "## How it was run",
            "",
            f"`sfumato study {study.name} --out DIR`, on what `{study.name}.json` beside this page holds. A run goes on where an "
            "earlier one stopped.",
            "",
            f"* At full size: {_listed(full) if len(full) <= _MOST_LISTED else f'{len(full)} points, all that are not named below'}.",
            f"* By `--quick`, at a reduced size, and marked so: {_listed(quick)}.",
            f"* Still to be run at full size: {_listed(sorted({*found.missing, *quick}))}.",
        ]
    )


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys) if keys else "nothing"
