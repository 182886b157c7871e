"""The list of mutants cannot rot: each still applies to the source, and there are enough of them everywhere."""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from mutants.catalogue import MUTANTS  # noqa: E402 - after the path


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_still_applies(mutant) -> None:
    texts: dict[str, str] = {}
    for file, old, new in mutant.edits:
        text = texts.get(file) or (ROOT / "src/sfumato" / file).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file} holds {text.count(old)} times: {old}"
        texts[file] = text.replace(old, new)
        assert texts[file] != text
    for file, text in texts.items():
        compile(text, file, "exec")
    assert mutant.tests or mutant.probes, "nobody is asked"


def test_there_are_enough_of_them_in_every_room() -> None:
    rooms = Counter(mutant.room for mutant in MUTANTS)
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 60
    assert min(rooms[room] for room in ("kernel", "intake", "accounting", "mechanisms", "verification")) >= 8


def test_every_known_fault_of_others_was_put_in_and_noticed() -> None:
    page = (ROOT / "docs" / "research" / "known-faults.md").read_text(encoding="utf-8")
    tried = (ROOT / "benchmarks" / "results" / "mutants.md").read_text(encoding="utf-8")
    faults = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(faults) >= 14
    for fault in faults:
        named = re.findall(r"\*([^*]+)\*", fault)
        assert named, fault
        assert set(named) <= {mutant.name for mutant in MUTANTS}, fault
        assert all(re.search(rf"^\| {re.escape(name)} \|.*\| noticed \|", tried, re.MULTILINE) for name in named), fault
