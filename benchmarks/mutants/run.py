"""Try every mutant, and write down who noticed it: `make mutants`.

    python benchmarks/mutants/run.py                       # those without a result, then the page
    python benchmarks/mutants/run.py --only "halved noise" --again
    python benchmarks/mutants/run.py --table               # the page alone

The source is copied once; each mutant is applied to the copy, tried, and taken back. Every killer runs in a process of its own,
forked from one that holds the libraries and nothing of the package, with a time limit: who runs longer has noticed nothing.
Results are appended to results/mutants.jsonl as they come.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
RUNS, PAGE = RESULTS / "mutants.jsonl", RESULTS / "mutants.md"
KINDS = ("tests", "contract", "audit", "verify")
LIMIT = 240.0
#: A schema that is not complete: there is no contract and no audit of it, only a release.
DISCOVERED = "discovery"
sys.path.insert(0, str(ROOT / "benchmarks"))

from mutants.catalogue import MUTANTS  # noqa: E402 - after the path
from mutants.mutant import Mutant  # noqa: E402

_LIBRARIES = ("numpy", "scipy.stats", "scipy.optimize", "pandas", "pyarrow.compute", "pyarrow.parquet", "numba", "mpmath",
              "dp_accounting.pld.privacy_loss_distribution", "pytest", "hypothesis", "matplotlib.figure", "jinja2", "torch")  # fmt: skip


class Workshop:
    """A copy of the tree in which mutants are made, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
        for name in tracked.stdout.splitlines():
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.tree / name)
        for kept in (ROOT / "src").rglob("__pycache__"):  # compiled loops: half a minute for every mutant
            shutil.copytree(kept, self.tree / kept.relative_to(ROOT))
        self.releases = folder / "releases"
        self.releases.mkdir()

    def apply(self, mutant: Mutant) -> None:
        """Put the fault into the copy."""
        for file, old, new in mutant.edits:
            path = self.tree / "src/sfumato" / file
            text = path.read_text("utf-8")
            if text.count(old) != 1:
                raise ValueError(f"{mutant.name}: {file} holds the text {text.count(old)} times")
            path.write_text(text.replace(old, new), "utf-8")

    def take_back(self, mutant: Mutant) -> None:
        """Put the source back."""
        for file, _, _ in mutant.edits:
            shutil.copy2(
                ROOT / "src/sfumato" / file, self.tree / "src/sfumato" / file
            )  # with its time: kept code stays valid


def in_a_process(tree: Path, function: str, *arguments: Any) -> tuple[str, float]:
    """What a function of `mutants.probes` finds in that tree; nothing where it takes too long."""
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    start = time.perf_counter()
    child = context.Process(target=_child, args=(answers, tree, function, arguments))
    child.start()
    child.join(LIMIT)
    if child.is_alive():
        child.kill()
        child.join()
        return "", round(time.perf_counter() - start, 1)
    found = answers.get() if not answers.empty() else f"the process ended with {child.exitcode}"
    return found, round(time.perf_counter() - start, 1)


def _child(answers: Any, tree: Path, function: str, arguments: tuple[Any, ...]) -> None:
    os.chdir(tree)
    sys.path[:0] = [str(tree / "src"), str(tree / "tests"), str(tree / "benchmarks")]
    os.environ["PYTHONPATH"] = str(tree / "src")
    for name in [name for name in sys.modules if name.split(".")[0] in ("mutants", "sfumato")]:
        del sys.modules[name]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    answers.put(getattr(importlib.import_module("mutants.probes"), function)(*arguments))


def try_mutant(mutant: Mutant, workshop: Workshop, *, quick: bool) -> dict[str, Any]:
    """Who noticed it, and by what; with `quick`, only who noticed it first."""
    found: dict[str, str] = {}
    tried: list[str] = []
    seconds = 0.0

    def ask(kind: str, function: str, *arguments: Any, tree: Path = workshop.tree) -> None:
        nonlocal seconds
        if quick and found:
            return
        if kind not in tried:
            tried.append(kind)
        if kind not in found:
            said, took = in_a_process(tree, function, *arguments)
            seconds += took
            if said:
                found[kind] = said[:300]

    workshop.apply(mutant)
    try:
        if mutant.tests:
            ask("tests", "by_tests", mutant.tests)
        for probe in mutant.probes:
            if probe != DISCOVERED:
                ask("contract", "by_contract", probe)
                ask("audit", "by_audit", probe)
            if quick and found:
                continue
            path = workshop.releases / f"{mutant.name} {probe}"
            stopped, took = in_a_process(workshop.tree, "release", probe, path)
            seconds += took
            if not stopped:
                ask("verify", "by_verify", path, tree=ROOT)
                shutil.rmtree(path)
    finally:
        workshop.take_back(mutant)
    return {
        "mutant": mutant.name,
        "room": mutant.room,
        "tried": tried,
        "killed_by": found,
        "seconds": round(seconds, 1),
    }


def read_runs() -> dict[str, dict[str, Any]]:
    """The latest result of each mutant."""
    lines = RUNS.read_text("utf-8").splitlines() if RUNS.exists() else []
    return {run["mutant"]: run for run in map(json.loads, lines)}


def write_page(runs: dict[str, dict[str, Any]]) -> None:
    """The table."""
    known = [mutant for mutant in MUTANTS if mutant.name in runs]
    killed = [mutant for mutant in known if runs[mutant.name]["killed_by"]]
    lines = [
        "# Mutants",
        "",
        "Faults that were put into the source one at a time, and who noticed: a test, a clause of the contract, the audit, or an",
        "honest `verify` of a release that the faulty code made. `make mutants` writes this page; a dot means that it was not tried.",
        "",
        f"**{len(killed)} of {len(known)} were noticed.** "
        + " ".join(
            f"{room}: {sum(m.room == room for m in killed)} of {sum(m.room == room for m in known)}."
            for room in dict.fromkeys(m.room for m in known)
        ),
        "",
        "| mutant | room | lets out | tests | contract | audit | verify |",
        "|---|---|---|---|---|---|---|",
    ]
    for mutant in known:
        run = runs[mutant.name]
        marks = ["noticed" if kind in run["killed_by"] else "no" if kind in run["tried"] else "·" for kind in KINDS]
        name = mutant.name if run["killed_by"] else f"**{mutant.name}**"
        lines.append(f"| {name} | {mutant.room} | {mutant.why} | {' | '.join(marks)} |")
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", help="these mutants")
    parser.add_argument("--rooms", nargs="*", help="those of these rooms")
    parser.add_argument("--quick", action="store_true", help="stop at the first who notices")
    parser.add_argument("--again", action="store_true", help="also those that have a result")
    parser.add_argument("--table", action="store_true", help="write the page alone")
    options = parser.parse_args()
    runs = read_runs()
    chosen = [
        mutant
        for mutant in MUTANTS
        if (not options.only or mutant.name in options.only)
        and (not options.rooms or mutant.room in options.rooms)
        and (options.again or mutant.name not in runs)
    ]
    if not options.table:
        for library in _LIBRARIES:
            importlib.import_module(library)
        with tempfile.TemporaryDirectory() as folder:
            workshop = Workshop(Path(folder))
            for mutant in chosen:
                runs[mutant.name] = try_mutant(mutant, workshop, quick=options.quick)
                with RUNS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(runs[mutant.name], ensure_ascii=False) + "\n")
                print(
                    mutant.name, runs[mutant.name]["killed_by"] or "SURVIVED", runs[mutant.name]["seconds"], flush=True
                )
    write_page(runs)


if __name__ == "__main__":
    main()
