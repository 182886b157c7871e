"""A fingerprint of a mechanism's constants, so that figures which were simulated with other ones can be told."""

import ast
import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from sfumato.mechanism import Mechanism

_ZONES = ("sfumato.mechanisms", "sfumato.learn")


def constants_digest(mechanism: Mechanism) -> str:
    """Twelve digits that change when a setting of the mechanism does. A change of the code between settings is not seen.

    A mechanism that has all of its numbers in `settings` is its own text. Of any other the upper-case names and the defaults of
    classes are read from the sources of its module and of the parts that it imports.
    """
    text = repr(mechanism) if hasattr(mechanism, "settings") else _constants_of(type(mechanism).__module__)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache  # every plan, report and check of a report asks for it, and reading the sources takes a while
def _constants_of(module: str) -> str:
    seen: dict[str, list[str]] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            tree = ast.parse(_source(name))
            seen[name] = _constants(tree)
            waiting += _imported(tree)
    return "\n".join(sorted(line for lines in seen.values() for line in lines))  # wherever they stand: files move


def _file(module: str) -> Traversable:
    package, _, name = module.rpartition(".")
    return files("sfumato").joinpath(*package.split(".")[1:], f"{name}.py")


def _source(module: str) -> str:
    return _file(module).read_text(encoding="utf-8")


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
        if isinstance(node, ast.Assign):
            # An upper-case name, or several of them at once.
            names = [each for target in node.targets for each in getattr(target, "elts", [target])]
            if any(isinstance(name, ast.Name) and name.id.isupper() for name in names):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.ClassDef):
            found += [ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign) and part.value]
    return sorted(found)
