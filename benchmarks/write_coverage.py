"""Every item of the five documents, and where it is here: docs/studies/coverage.md, part of `make pages`.

The items stand in coverage.toml beside each study. A value is a reference into the JSON file of the study, so that it cannot
be other than what was run:

    here = {points = "main, soft labels*", key = "accuracy", format = ".1%"}

is the mean of `accuracy` over all points whose name matches; a point with several runs keeps them in a list. A text stands
where no number can be meant, and says why.
"""

import importlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, reduce
from pathlib import Path
from statistics import fmean
from typing import Any

ROOT = Path(__file__).parents[1]
STUDIES, PAGES = ROOT / "src" / "sfumato" / "lab" / "studies", ROOT / "docs" / "studies"
PAGE = PAGES / "coverage.md"
KINDS = ("system", "step", "setting", "figure", "table", "plot", "wish")
TEXTS = ("name", "kind", "place", "quote", "why")
VALUES = ("here", "honest", "sound")
#: Kinds whose value here is a number of a run; the others may be told in words.
NUMBERS = ("figure", "table")

Item = Mapping[str, Any]
Document = Mapping[str, Any]

HEAD = """\
# What the five documents hold, item by item

Every system, step, setting, figure, table, plot and stated wish of the five documents: where it stands, where it is here,
what was published, what the same program gives here (the mean, with the number of runs), which epsilon is true of it, what
the sound method gives, and why they differ. Figures are read from the JSON files beside the pages of the
[studies](README.md); `make pages` writes this page, and a test fails where an item has no code, no value or no reason.
"""


def documents() -> list[Document]:
    """The files, by the number of their document."""
    read = [tomllib.loads(path.read_text(encoding="utf-8")) for path in STUDIES.glob("*/coverage.toml")]
    return sorted(read, key=lambda document: str(document["document"]))


@cache
def points_of(study: str) -> Mapping[str, Mapping[str, Any]]:
    """All points of a study that were run."""
    return dict(json.loads((PAGES / f"{study}.json").read_text(encoding="utf-8"))["points"])


def runs(study: str, reference: Mapping[str, str]) -> list[float]:
    """The numbers that a reference names, one for each run."""
    found: list[float] = []
    for name, point in points_of(study).items():
        if fnmatchcase(name, reference["points"]):
            value = reduce(lambda inner, key: inner[key], reference["key"].split("."), point)
            found += [float(one) for one in (value if isinstance(value, list) else [value])]
    return found


def shown(value: Any, study: str) -> str:
    """A cell: a text as it is, or the mean of the runs that a reference names, with their number."""
    if isinstance(value, str):
        return value
    numbers = runs(study, value)
    text = format(fmean(numbers), value["format"])
    text = re.sub(r"^(-?)0(?=\.)", r"\1", text.replace("%", " %"))
    return text if len(numbers) == 1 else f"{text} ({len(numbers)} runs)"


def holes(item: Item, study: str) -> Iterator[str]:
    """What an item lacks, in words."""
    yield from (f"no {key}" for key in TEXTS if not str(item.get(key, "")).strip())
    if item.get("kind") not in KINDS:
        yield f"kind is one of {', '.join(KINDS)}"
    if len(str(item.get("quote", "")).split()) > 15:
        yield "the quote is longer than fifteen words"
    if "published" not in item:
        yield "published is missing (an empty text where the document states none)"
    yield from (f"no value under {key}" for key in VALUES if not item.get(key))
    if item.get("kind") in NUMBERS and item.get("published") and isinstance(item.get("here"), str):
        yield "a published number has a number beside it, not a text"
    for key in VALUES:
        if isinstance(item.get(key), Mapping):
            try:
                if not runs(study, item[key]):
                    yield f"{key}: no point of {study} matches {item[key]['points']!r}"
            except (KeyError, TypeError, ValueError) as error:
                yield f"{key}: {error!r}"
    codes = item.get("code", [])
    for code in [codes] if isinstance(codes, str) else codes:
        if not exists(code):
            yield f"{code} is not there"
    if not codes and item.get("kind") != "wish":
        yield "no code"


def exists(code: str) -> bool:
    """Whether a file of the repository, or an object `module:name`, is there."""
    if ":" not in code:
        return (ROOT / code).is_file()
    module, _, name = code.partition(":")
    try:
        reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError):
        return False
    return True


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(line for document in documents() for line in _section(document))])


def _section(document: Document) -> Iterator[str]:
    study = document["study"]
    yield f"## {document['document']}: {document['title']}"
    yield ""
    yield f"The study: [{study}]({study}.md). {len(document['item'])} items."
    yield ""
    yield "| item, and where it is here | published | as published, run here | honest epsilon | made sound | why |"
    yield "|---|---|---|---|---|---|"
    for item in document["item"]:
        values = [shown(item[key], study) for key in VALUES]
        stands = f'{item["place"]}: "{item["quote"]}"'
        what = f"**{item['name']}** ({item['kind']})<br>{stands}<br>{_links(item.get('code', []))}"
        yield "| " + " | ".join(_cell(cell) for cell in (what, item["published"], *values, item["why"])) + " |"
    yield ""


def _links(codes: str | list[str]) -> str:
    return ", ".join(_link(code) for code in ([codes] if isinstance(codes, str) else codes)) or "not here"


def _link(code: str) -> str:
    if ":" not in code:
        return f"[{Path(code).name}](../../{code})"
    module, _, name = code.partition(":")
    path = Path("src", *module.split("."))
    file = path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py")
    return f"[`{name}`](../../{file.as_posix()})"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split()) or "-"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
