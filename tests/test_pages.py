"""Figures in the pages are those of the runs: a page that is not what the script writes is noticed."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def fill() -> Iterator[ModuleType]:
    """The script, which finds its neighbours in benchmarks/."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import fill_pages

    yield fill_pages
    sys.path.remove(str(ROOT / "benchmarks"))


def stale(fill: ModuleType) -> list[str]:
    """Pages that the script would change."""
    return [page.name for page in fill.pages() if (text := page.read_text("utf-8")) != fill.filled(text)]


def test_every_page_is_what_the_script_writes(fill: ModuleType) -> None:
    assert not stale(fill), "run `make pages`"
    marked = [page for page in fill.pages() if "<!-- figure:" in page.read_text("utf-8")]
    assert ROOT / "README.md" in marked


def test_markers_are_whole(fill: ModuleType) -> None:
    for page in fill.pages():
        assert not fill.misplaced(page.read_text("utf-8")), page.name


def test_guarded_places_have_no_figure_of_their_own(fill: ModuleType) -> None:
    for page, section in fill.GUARDED:
        assert not fill.bare_scores((ROOT / page).read_text("utf-8"), section), f"{page}: give it a marker"


def test_a_changed_figure_is_noticed(fill: ModuleType) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    shown = re.search(r"\| Credit card fraud, AUC \| LightGBM \| (\.\d{3})", text)
    assert shown
    forged = text.replace(shown[0], shown[0].replace(shown[1], ".999"))
    assert forged != text
    assert fill.filled(forged) == text
    in_prose = re.search(r"(<!-- figure: [^>]+ -->)[^<]+(<!-- /figure -->)", text)
    assert in_prose
    assert fill.filled(text.replace(in_prose[0], f"{in_prose[1]}.999{in_prose[2]}")) == text


def test_a_changed_run_is_noticed(fill: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(fill.RESULTS, tmp_path / "results")
    runs = tmp_path / "results" / "utility.jsonl"
    records = [json.loads(line) for line in runs.read_text("utf-8").splitlines()]
    runs.write_text("".join(json.dumps({**r, "value": r["value"] - 0.01}) + "\n" for r in records), "utf-8")
    monkeypatch.setattr(fill, "RESULTS", tmp_path / "results")
    fill.runs_of.cache_clear()
    changed = stale(fill)
    monkeypatch.undo()
    fill.runs_of.cache_clear()
    assert {"README.md", "images.md", "tables.md"} <= set(changed)


@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        ("<!-- figure: nothing -->1<!-- /figure -->", "no figure is called 'nothing'"),
        ("<!-- figure: nothing value a=1 -->1<!-- /figure -->", "no results/nothing.jsonl"),
        ("<!-- figure: utility value dataset=adul -->1<!-- /figure -->", "has no run with dataset=adul"),
        ("<!-- figure: utility auc dataset=adult -->1<!-- /figure -->", "no run has the figure"),
        ("<!-- table: nothing -->\n<!-- /table -->", "no table is called 'nothing'"),
        ("<!-- table: zoo nothing -->\n<!-- /table -->", "no case 'nothing'"),
        ("<!-- table: results 7 -->\n<!-- /table -->", "would have no line"),
    ],
)
def test_a_marker_that_names_nothing_is_refused(fill: ModuleType, marker: str, reason: str) -> None:
    with pytest.raises(KeyError, match=reason):
        fill.filled(marker)


@pytest.mark.parametrize(
    "text",
    [
        "the AUC is <!-- figure: zoo-cases -->94",
        "the AUC is <!-- figure zoo-cases -->94<!-- /figure -->",
        "<!-- figure: zoo-cases -->94<!-- /figure --> cases",
        "<!-- table: results -->\n| 1 |\n",
    ],
)
def test_a_marker_that_is_broken_is_noticed(fill: ModuleType, text: str) -> None:
    assert fill.misplaced(f"A line.\n{text}")


def test_a_bare_figure_is_noticed(fill: ModuleType) -> None:
    page = "# A\n\n.111 of all\n\n## B\n\nAUC .912, or 0.9123\n\n## C\n\n.222\n"
    assert fill.bare_scores(page, "B") == [".912", "0.9123"]
    assert fill.bare_scores(page, None) == [".111", ".912", "0.9123", ".222"]
    assert fill.bare_scores("`x = .123` and [a](b.123) and 1.234 and 3,000 and .12", None) == []
    with pytest.raises(KeyError, match="no section"):
        fill.bare_scores(page, "D")


def test_the_rooms_that_contributors_are_told_of_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rooms = [
        cell for line in re.findall(r"^\| (`.+?) \|", text, re.MULTILINE) for cell in re.findall(r"`([^`]+)`", line)
    ]
    assert len(rooms) > 15
    assert not [room for room in rooms if not (ROOT / "src" / "sfumato" / room).exists()]


def long_lines(text: str) -> list[str]:
    """Lines that do not wrap: longer than 200 characters, and no line of a table."""
    return [line for line in text.splitlines() if len(line) > 200 and not line.startswith("|")]


def test_lines_of_the_pages_wrap() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs" / "research").glob("*.md")]:
        if page.name != "CHANGELOG.md":
            assert not long_lines(page.read_text("utf-8")), page.name
    assert long_lines("word " * 50) == ["word " * 50]
    assert not long_lines("| word " * 50)


ROOM = ROOT / "src" / "sfumato" / "mechanisms" / "table"


def test_the_files_that_the_method_for_tables_names_are_there() -> None:
    text = (ROOT / "docs" / "research" / "table-method.md").read_text("utf-8")
    named = set(re.findall(r"`((?:\w+/)?\w+\.py)`", text))
    assert len(named) > 25
    assert not sorted(name for name in named if not (ROOM / name).exists())
