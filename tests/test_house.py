"""The house: every room is there, no file is too long, no name means two things, and no import goes round in a circle."""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "sfumato"
FILES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 450

ROOMS = {
    *("public", "public/accounting", "public/schema", "public/plan", "public/certificate", "public/machine"),
    *("public/expressions",),
    *(
        "outlook",
        "asking",
        "scoring",
        "private",
        "private/kernel",
        "private/doors",
        "private/intake",
        "private/rows",
        "folder",
        "ledger",
    ),
    *("mechanisms", "mechanisms/histories", "mechanisms/table", "mechanisms/moments", "mechanisms/image"),
    *("mechanisms/table/settings", "mechanisms/table/columns", "mechanisms/table/joint", "mechanisms/table/target"),
    *("mechanisms/mixing", "mechanisms/kernels", "mechanisms/generators", "mechanisms/local", "mechanisms/latent"),
    *("mechanisms/marginals", "mechanisms/learners", "mechanisms/common", "learn"),
    *("check", "check/clauses", "check/instruments", "verification", "present", "cli", "cli/commands", "frames"),
    *("lab", "lab/benchmark", "lab/assess", "lab/baselines", "lab/studies", "lab/studies/common", "lab/demo"),
    *("lab/dry_run", "lab/audit", "lab/attacks", "lab/doctor", "studio", "studio/pages", "studio/server"),
}
STRAIGHT_LINE = {
    *(
        "errors",
        "mechanism",
        "model",
        "fitting",
        "fitted",
        "training",
        "synthesizing",
        "estimator",
        "extending",
        "obeying",
    ),
}


def module_of(file: Path) -> str:
    return ".".join(file.with_suffix("").relative_to(SOURCE).parts).removesuffix(".__init__")


@dataclass(frozen=True)
class Read:
    """What is asked of a file: all imports, and what its head defines and takes from elsewhere."""

    imports: list[ast.Import | ast.ImportFrom]
    defined: set[str]
    bound: set[str]


@cache
def read(file: Path) -> Read:
    """Parsed once, and no tree is kept."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return Read(
        [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)],
        {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)},
        {alias.asname or alias.name for n in tree.body if isinstance(n, ast.ImportFrom) for alias in n.names},
    )


def imports_of(file: Path, modules: set[str]) -> Iterator[str]:
    """Every module of the package that a file imports, at its head or inside of a function."""
    for node in read(file).imports:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield from [name for name in (inner, node.module) if name in modules][:1]


def circles(arrows: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """All sets of modules that reach each other."""

    def reached(start: str) -> set[str]:
        seen, waiting = set(), list(arrows[start])
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += arrows.get(name, ())
        return seen

    after = {name: reached(name) for name in arrows}
    return {
        tuple(sorted(other for other in after if other in after[name] and name in after[other]))
        for name in after
        if name in after[name]
    }


@pytest.mark.slow
def test_no_import_goes_round_in_a_circle() -> None:
    modules = {module_of(file) for file in FILES}
    found = circles({module_of(file): set(imports_of(file, modules)) for file in FILES})
    assert not found, "\n".join(" <-> ".join(circle) for circle in sorted(found))


def room_of(module: str, packages: set[str]) -> str:
    """The folder that a module lies in; what lies beside folders at the top is a room by itself."""
    parent = module.rpartition(".")[0]
    return module if parent == "sfumato" or module in packages else parent


@pytest.mark.slow
def test_no_circle_between_folders() -> None:
    modules = {module_of(file) for file in FILES}
    packages = {module_of(file) for file in FILES if file.name == "__init__.py"}
    arrows: dict[str, set[str]] = {}
    for file in FILES:
        if file.name != "__init__.py":  # which only passes on what the folder offers
            room = room_of(module_of(file), packages)
            others = {room_of(name, packages) for name in imports_of(file, modules) if name not in packages}
            arrows.setdefault(room, set()).update(others - {room})
    found = circles(arrows)
    assert not found, "\n".join(" <-> ".join(circle) for circle in sorted(found))


def test_a_circle_is_noticed() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == {("a", "b", "c")}
    assert circles({"a": {"b"}, "b": set()}) == set()


def test_imports_inside_of_functions_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "file.py"
    file.write_text("def f():\n    from sfumato.public.plan import grid\n    from sfumato.errors import PlanError\n")
    modules = {"sfumato.public.plan", "sfumato.public.plan.grid", "sfumato.errors"}
    assert list(imports_of(file, modules)) == ["sfumato.public.plan.grid", "sfumato.errors"]


def test_every_file_can_be_read_in_one_sitting() -> None:
    lines = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    long = {name: count for name, count in lines.items() if count > MOST_LINES}
    assert not long, f"over {MOST_LINES} lines, split by ideas: {long}"


def namesakes() -> set[str]:
    """Modules that define what they are called, and packages that import something by the name of a module of theirs."""
    found = set()
    for file in FILES:
        if file.stem in read(file).defined:
            found.add(module_of(file))
        if file.name == "__init__.py":
            inside = {p.stem for p in file.parent.glob("*.py")} | {p.name for p in file.parent.iterdir() if p.is_dir()}
            found |= {f"{module_of(file)}.{name}" for name in (read(file).bound | read(file).defined) & inside}
    return found


@pytest.mark.slow
def test_no_module_shares_its_name_with_a_function() -> None:
    assert not namesakes()


def test_every_room_is_there_and_says_what_it_is_for() -> None:
    for room in ROOMS:
        head = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8")))
        assert head, f"{room} has no docstring"
    assert {file.stem for file in PACKAGE.glob("*.py")} >= {"__init__", *STRAIGHT_LINE}


def test_every_module_at_the_top_has_its_place_among_the_contracts() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = [contract for contract in settings["contracts"] if contract.get("containers") == ["sfumato"]]
    named = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    there = {file.stem for file in PACKAGE.glob("*.py")} | {
        folder.parent.name for folder in PACKAGE.glob("*/__init__.py")
    }
    assert named == there - {"__init__"}
    assert layers["exhaustive"]
    (lab,) = [
        c for c in settings["contracts"] if c["type"] == "forbidden" and c["forbidden_modules"] == ["sfumato.lab"]
    ]
    assert {name.removeprefix("sfumato.") for name in lab["source_modules"]} == named - {"lab"}
