"""The table of proofs: every claim has a proof, code, a test and a twin that are there; no door or mechanism is left out."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from sfumato.mechanism import registered, registered_names
from sfumato.mechanisms import DPMix
from sfumato.private.doors import discovery
from sfumato.public.plan.doors import Doors

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TESTS, PROOFS = ROOT / "src" / "sfumato", ROOT / "tests", ROOT / "docs" / "proofs"
COLUMNS = ("claim", "proof", "code", "test", "twin")
_NAME = re.compile(r"`([^`]+)`")


def rows_of(text: str) -> list[dict[str, str]]:
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    head, *rows = [[cell.strip() for cell in line] for line in lines]
    assert tuple(head) == COLUMNS
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


ROWS = rows_of((PROOFS / "README.md").read_text(encoding="utf-8"))


def defined_in(files: list[Path]) -> set[str]:
    """Every class and function, also those inside of a class."""
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in files)
    kinds = ast.FunctionDef | ast.ClassDef
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, kinds)}


TEST_FILES = sorted(TESTS.rglob("*.py"))
DEFINED = defined_in(TEST_FILES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["claim"][:40])
def test_all_that_a_claim_names_is_there(row: dict[str, str]) -> None:
    links = re.findall(r"\]\(([\w-]+\.md)(?:#[\w-]+)?\)", row["proof"])
    assert links or row["proof"].startswith("in the module"), "no proof"
    assert all((PROOFS / link).is_file() for link in links)
    code, tests, twins = (_NAME.findall(row[column]) for column in ("code", "test", "twin"))
    assert min(map(len, (code, tests, twins))) > 0, "a claim needs code, a test and a twin"
    for path in code:
        assert (PACKAGE / path).exists(), path
    for name in tests:
        assert list(TESTS.rglob(name)) or (ROOT / name).exists() or (PACKAGE / name).exists(), name
    for name in re.findall(r"`: (\w+)", row["test"]):
        assert name in DEFINED, name
    assert not set(twins) - DEFINED, f"no such twin: {set(twins) - DEFINED}"


def held_by_code(file: Path) -> bool:
    """Whether a file stands in the table, by itself or by its folder."""
    path = file.relative_to(PACKAGE).as_posix()
    named = [name for row in ROWS for name in _NAME.findall(row["code"])]
    return any(path == name or (name.endswith("/") and path.startswith(name)) for name in named)


#: Tests register twins.
OWN = [name for name in registered_names() if registered(name).__module__.startswith("sfumato.")]


@pytest.mark.parametrize("name", OWN)
def test_every_mechanism_of_the_package_has_its_row(name: str) -> None:
    cls = registered(name)
    assert held_by_code(Path(inspect.getfile(cls))), f"{name} is in no row of docs/proofs/README.md"


def test_every_door_has_its_row() -> None:
    doors = {name for name in vars(Doors) if name.startswith("noisy_")} | {discovery.frequent_texts.__name__}
    named = {name for row in ROWS for name in _NAME.findall(row["claim"])}
    assert doors == named


def test_every_trusted_file_has_its_row_or_its_line_in_the_tour() -> None:
    tour = (ROOT / "docs" / "kernel.md").read_text(encoding="utf-8")
    files = [*(PACKAGE / "private" / "kernel").glob("*.py"), *(PACKAGE / "private" / "doors").glob("*.py")]
    missing = [
        f.name
        for f in files
        if f.name != "__init__.py"
        and not held_by_code(f)
        and f"`{f.stem}." not in tour
        and f"doors/{f.name}" not in tour
    ]
    assert not missing


def test_every_twin_of_the_tour_is_there() -> None:
    tour = (ROOT / "docs" / "kernel.md").read_text(encoding="utf-8")
    lines = [line.strip("|").split("|")[-1] for line in tour.splitlines() if line.startswith("| `")]
    named = {name for cell in lines for name in _NAME.findall(cell)}
    files = {name for name in named if name.endswith(".py")}
    assert len(named) > 40
    assert all(list(TESTS.rglob(name)) for name in files)
    assert not named - files - DEFINED


def test_a_row_that_names_nothing_is_noticed() -> None:
    row = {**ROWS[0], "twin": "`NobodyHasWrittenThisTwin`"}
    with pytest.raises(AssertionError, match="no such twin"):
        test_all_that_a_claim_names_is_there(row)
    assert DPMix.name in registered_names()
    assert not held_by_code(PACKAGE / "cli" / "console.py")
