"""The table room as a new colleague finds it: few modules, few arrows, no constant outside of the settings, plain words."""

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROOM = ROOT / "src" / "sfumato" / "mechanisms" / "table"
FILES = sorted(ROOM.rglob("*.py"))
NAME = "sfumato.mechanisms.table"
PRIVATE_WORDS = {"found", "held", "apart", "told", "said", "heard", "pupils", "standing_", "dealt", "thinned"}
#: Seconds of an hour and of a day are no choice.
UNITS = {"HOUR", "DAY"}


def top(module: str) -> str:
    """A module or folder at the top of the room."""
    return module.removeprefix(f"{NAME}.").split(".")[0]


def arrows(files: list[Path]) -> set[tuple[str, str]]:
    """From which module at the top to which there are imports."""
    found = set()
    for file in files:
        own = file.relative_to(ROOM).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{NAME}."):
                found.add((own, top(node.module or "")))
    return {(one, other) for one, other in found if one != other}


def layers(graph: set[tuple[str, str]]) -> int:
    """Modules along the longest way of imports; a circle is a RecursionError."""

    def depth(name: str) -> int:
        return 1 + max((depth(other) for one, other in graph if one == name), default=0)

    return max(depth(one) for one, _ in graph)


def test_the_room_has_few_modules_layers_and_arrows_and_no_circle() -> None:
    graph = arrows(FILES)
    modules = {file.relative_to(ROOM).parts[0].removesuffix(".py") for file in FILES} - {"__init__"}
    assert len(modules) <= 20, sorted(modules)
    assert layers(graph) <= 7
    assert len(graph) <= 60, sorted(graph)


def test_a_circle_and_a_long_way_are_noticed() -> None:
    assert layers({("a", "b"), ("b", "c"), ("a", "c")}) == 3
    with pytest.raises(RecursionError):
        layers({("a", "b"), ("b", "a")})


def doors_in(text: str) -> bool:
    """Whether a file names the doors."""
    return any(
        (isinstance(node, ast.alias) and node.name == "Doors") or (isinstance(node, ast.Name) and node.id == "view")
        for node in ast.walk(ast.parse(text))
    )


def test_doors_are_asked_in_the_measure_files_alone() -> None:
    asking = {file.stem for file in FILES if doors_in(file.read_text(encoding="utf-8"))}
    assert asking == {
        "mechanism",
        "measure_columns",
        "measure_joint",
        "measure_classes",
        "measure_number",
        "measure_scarce",
        "measure_whole",
    }
    assert doors_in("from sfumato.public.plan.doors import Doors, Measured")


def is_number(node: ast.expr) -> bool:
    """A number, or a tuple, list, set or dict that holds some, or what is worked out of some."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=inner):
            return is_number(inner)
        case ast.BinOp(left=left, right=right):
            return is_number(left) or is_number(right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return any(map(is_number, parts))
        case ast.Dict(values=parts):
            return any(map(is_number, parts))
        case ast.Call(args=parts):
            return any(map(is_number, parts))
    return False


def constants(text: str) -> Iterator[str]:
    """Names of a module in capitals that are bound to numbers."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and is_number(node.value):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from (n.id for n in names if isinstance(n, ast.Name) and n.id.isupper() and n.id not in UNITS)


def test_no_module_has_a_tuning_constant() -> None:
    found = {str(file.relative_to(ROOM)): names for file in FILES if (names := list(constants(file.read_text())))}
    assert not found, f"make them fields of the settings: {found}"


@pytest.mark.parametrize(
    "text",
    [
        "_FEW = 3",
        "_A, _B = 1, 2.5",
        "SIZES = (1, 2)",
        "_X: float = -1.0",
        "_M = {'a': 1.0}",
        "_R = 0.5 * f(20)",
        "_S = f(3)",
    ],
)
def test_a_tuning_constant_is_noticed(text: str) -> None:
    assert list(constants(text))
    assert not list(constants('NAME = "a"\n_OFF = {"a": True}\nlower = 3'))


def names(tree: ast.AST) -> Iterator[str]:
    """Every name that a file gives to something."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def test_names_are_textbook_words() -> None:
    for file in FILES:
        words = {word.lower() for name in names(ast.parse(file.read_text())) for word in name.split("_")}
        assert not words & PRIVATE_WORDS, (file.name, words & PRIVATE_WORDS)
    assert "said" in set(names(ast.parse("def f():\n    said = 1")))


def test_the_page_of_constants_is_what_the_script_writes() -> None:
    spec = importlib.util.spec_from_file_location("write_constants", ROOT / "benchmarks" / "write_constants.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.written(page) == page
    assert script.settings_text() in page
