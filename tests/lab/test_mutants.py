"""The list of mutants cannot rot: each still applies to the source, and there are enough of them everywhere."""

import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from mutants.catalogue import MUTANTS  # noqa: E402 - after the path


def why_not(mutant) -> str | None:
    """What keeps a mutant from being put in, in words."""
    texts: dict[str, str] = {}
    for file, old, new in mutant.edits:
        text = texts.get(file) or (ROOT / "src/sfumato" / file).read_text(encoding="utf-8")
        if text.count(old) != 1:
            return f"{mutant.name}: {file} holds {text.count(old)} times: {old}"
        texts[file] = text.replace(old, new)
        if texts[file] == text:
            return f"{mutant.name}: changes nothing in {file}"
    for file, text in texts.items():
        compile(text, file, "exec")
    return None if mutant.tests or mutant.probes else f"{mutant.name}: nobody is asked"


def test_every_mutant_still_applies() -> None:
    faults = [fault for mutant in MUTANTS if (fault := why_not(mutant))]
    assert not faults, "\n".join(faults)


def test_a_mutant_that_does_not_apply_is_noticed() -> None:
    file, _, new = MUTANTS[0].edits[0]
    rotten = replace(MUTANTS[0], edits=((file, "a line that stands nowhere", new),))
    assert "holds 0 times" in str(why_not(rotten))


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
