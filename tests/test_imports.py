"""No module of the package needs itself: imports, those inside functions included, have no circle."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import sfumato

PACKAGE = Path(sfumato.__file__).parent


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path, known):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            # `from package import module` needs the module; `from module import name` the module before the word.
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & known
            yield from inner or ({node.module} & known)
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & known


def test_imports_have_no_circle():
    files = {name_of(path): path for path in PACKAGE.rglob("*.py")}
    graph = {name: set(imports_of(path, files.keys())) - {name} for name, path in files.items()}
    assert graph["sfumato.public.schema"]  # the names are found at all
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
