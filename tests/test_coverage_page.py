"""The page on the five documents has no hole, and is what its script writes."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch", reason="the studies' networks need torch")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def coverage() -> Iterator[ModuleType]:
    """The script, which lies in benchmarks/."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import write_coverage

    yield write_coverage
    sys.path.remove(str(ROOT / "benchmarks"))


def test_all_five_documents_are_there(coverage: ModuleType) -> None:
    assert [document["document"] for document in coverage.documents()] == ["000", "001", "002", "003", "004"]


def test_no_item_has_a_hole(coverage: ModuleType) -> None:
    found = [
        f"{document['document']}, {item.get('name')}: {hole}"
        for document in coverage.documents()
        for item in document["item"]
        for hole in coverage.holes(item, document["study"])
    ]
    assert not found, "\n".join(found)


def test_the_page_is_what_the_script_writes(coverage: ModuleType) -> None:
    assert coverage.PAGE.read_text("utf-8") == coverage.page(), "run `make pages`"


WHOLE: dict[str, Any] = {
    "name": "accuracy",
    "kind": "figure",
    "place": "abstract",
    "quote": "accuracy of a CNN",
    "code": "sfumato.lab.studies.shelf:STUDIES",
    "published": "68 %",
    "here": {"points": "a *", "key": "scores.accuracy", "format": ".1%"},
    "honest": "none: no rows are read",
    "sound": "none",
    "why": "More rows.",
}


@pytest.fixture
def points(coverage: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study with two runs in two points, and two in one."""
    run = {"a 1": {"scores": {"accuracy": 0.5}}, "a 2": {"scores": {"accuracy": 0.25}}, "b": {"all": [0.125, 0.25]}}
    monkeypatch.setattr(coverage, "points_of", lambda study: run)


@pytest.mark.usefixtures("points")
def test_a_reference_is_the_mean_of_its_runs(coverage: ModuleType) -> None:
    assert not list(coverage.holes(WHOLE, "x"))
    assert coverage.shown(WHOLE["here"], "x") == "37.5 % (2 runs)"
    assert coverage.shown({"points": "b", "key": "all", "format": ".4f"}, "x") == ".1875 (2 runs)"


@pytest.mark.usefixtures("points")
@pytest.mark.parametrize(
    ("change", "hole"),
    [
        ({"why": " "}, "no why"),
        ({"kind": "thing"}, "kind is one of"),
        ({"here": "68 %"}, "not a text"),
        ({"here": {"points": "c*", "key": "all", "format": ".1%"}}, "no point of x matches"),
        ({"here": {"points": "b", "key": "none", "format": ".1%"}}, "KeyError"),
        ({"honest": ""}, "no value under honest"),
        ({"code": "sfumato.lab.studies.shelf:NOTHING"}, "is not there"),
        ({"code": "docs/studies/nothing.png"}, "is not there"),
        ({"code": []}, "no code"),
        ({"quote": "word " * 16}, "longer than fifteen"),
    ],
)
def test_a_hole_is_noticed(coverage: ModuleType, change: dict[str, Any], hole: str) -> None:
    assert any(hole in found for found in coverage.holes(WHOLE | change, "x"))
