"""A fingerprint of a mechanism's constants, so that figures which were simulated with other ones can be told."""

import ast
import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_ZONES = ("sfumato.mechanisms", "sfumato.learn")


@cache  # every plan, report and check of a report asks for it, and reading the sources takes a while
def constants_digest(module: str) -> str:
    """Twelve digits that change when a constant of the module, or of a part that it imports, does.

    Read from the text, so that nothing is imported: upper-case names and the defaults of classes. A change of the code
    between constants is not seen.

    >>> constants_digest("sfumato.mechanisms.table.mechanism") == constants_digest("sfumato.mechanisms.image.mechanism")
    False
    """
    seen: dict[str, list[str]] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            tree = ast.parse(_source(name))
            seen[name] = _constants(tree)
            waiting += _imported(tree)
    text = "\n".join(sorted(line for lines in seen.values() for line in lines))  # wherever they stand: files move
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _source(module: str) -> str:
    return _file(module).read_text(encoding="utf-8")


def _file(module: str) -> Traversable:
    package, _, name = module.rpartition(".")
    return files("sfumato").joinpath(*package.split(".")[1:], f"{name}.py")


def _imported(tree: ast.Module) -> list[str]:
    """The modules that a module imports from, or imports from a folder of them."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(_ZONES):
            parts = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            found += [name for name in parts if _file(name).is_file()]
    return found


def _constants(tree: ast.Module) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            found.append(ast.unparse(node))
        elif isinstance(node, ast.ClassDef):
            found += [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign) and part.value]
    return sorted(found)
