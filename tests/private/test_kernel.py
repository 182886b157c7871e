"""The kernel is small, reads in one direction, and is described to the last function."""

import ast
import re
import tokenize
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource

PACKAGE = Path(sfumato.__file__).parent
KERNEL = PACKAGE / "private" / "kernel"
DOORS = PACKAGE / "private" / "doors"
VIEW = PACKAGE / "private" / "view.py"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "kernel.md"


def code_lines(path: Path) -> int:
    """Lines that hold code: no comments, no docstrings, nothing blank."""
    quiet: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
        ):
            quiet |= set(range(body[0].lineno, (body[0].end_lineno or 0) + 1))
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    silent |= {tokenize.ENCODING, tokenize.ENDMARKER}
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in silent]
    return len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - quiet)


def test_the_kernel_has_under_900_lines_of_code() -> None:
    """The View, which stands above it, is counted with it: whoever trusts the one has to read the other."""
    assert sum(code_lines(path) for path in (*KERNEL.glob("*.py"), VIEW)) < 900


def test_every_door_beside_the_kernel_has_under_120_lines_of_code_and_is_described() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for path in DOORS.glob("*.py"):
        assert code_lines(path) < 120, path.name
        assert path.stem == "__init__" or f"doors/{path.name}" in page, path.name


WAYS_IN = {"open_batches", "open_parts", "open_persons", "open_stretches", "count_rows", "_source_of"}


@pytest.mark.slow
def test_only_the_doors_know_the_ways_into_private_rows() -> None:
    """The kernel, what prepares rows for it, and the contract suite, which makes up its own."""
    known = set()
    for path in PACKAGE.rglob("*.py"):
        with path.open("rb") as file:
            words = {token.string for token in tokenize.tokenize(file.readline) if token.type == tokenize.NAME}
        if words & WAYS_IN:
            known.add(path.relative_to(PACKAGE).as_posix())
    inside = {
        "private/intake/sensitive.py",
        "private/rows/prepared.py",
        "private/engines/cluster.py",
        "private/engines/local.py",
        "private/view.py",
    }
    assert known == inside | {"check/instruments/rows.py"}


def imports_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return {
        name.removeprefix("sfumato.private.kernel.") for name in names if name.startswith("sfumato.private.kernel.")
    }


def test_the_kernel_reads_in_one_direction() -> None:
    left = {path.stem: imports_of(path) & {p.stem for p in KERNEL.glob("*.py")} for path in KERNEL.glob("*.py")}
    while left:
        ready = {name for name, needed in left.items() if not needed & left.keys()}
        assert ready, f"a circle among {sorted(left)}"
        left = {name: needed for name, needed in left.items() if name not in ready}


def test_the_kernel_imports_nothing_of_the_intake_or_of_what_comes_after_the_boundary() -> None:
    for path in KERNEL.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for room in ("intake", "mechanisms", "present", "lab", "cli", "verification", "outlook", "folder", "fitting"):
            assert f"sfumato.{room}" not in text, path.name
            assert f"sfumato.private.{room}" not in text, path.name


def test_the_page_names_every_module_and_every_promise_has_its_function() -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)\.(\w+)", page))
    for module in (path.stem for path in KERNEL.glob("*.py") if path.stem != "__init__"):
        assert any(module == first for first, _ in named), f"docs/kernel.md does not speak of {module}"
    private = {path.stem: path for path in (*KERNEL.glob("*.py"), *DOORS.glob("*.py"), VIEW) if path.stem != "__init__"}
    for module, name in named:
        path = private.get(module)
        if path and name != "py":
            assert re.search(rf"(def|class) {name}\b|^{name} =", path.read_text(encoding="utf-8"), re.M), (module, name)


# What may be called certified.


class Zeros(NoiseSource):
    """A source that draws nothing but zeros and says that it is secure."""

    def words(self, count: int):
        return np.zeros(count, dtype=np.uint64)


class HalfNoise(Primitives):
    def noise(self, shape):
        return super().noise(shape) // 2


def patched() -> NoiseSource:
    source = NoiseSource()
    source.words = lambda count: np.zeros(count, dtype=np.uint64)
    return source


def noiseless() -> Primitives:
    primitives = Primitives(NoiseSource())
    primitives.noise = lambda shape: np.zeros(shape, dtype=np.int64)
    return primitives


@pytest.mark.parametrize(
    ("primitives", "status"),
    [
        (Primitives(NoiseSource()), "certified"),
        (Primitives(NoiseSource(research_seed=1)), "research"),
        (Primitives(Zeros()), "research"),
        (Primitives(patched()), "research"),
        (HalfNoise(NoiseSource()), "non_private"),
        (noiseless(), "non_private"),
    ],
)
def test_only_the_packages_own_primitives_with_its_own_secret_stream_certify(primitives, status: str) -> None:
    assert primitives.status == status


def test_a_release_with_another_source_is_stamped_research() -> None:
    column = sfumato.Column(name="x", kind="numeric", bounds=(0, 1))
    data = sfumato.Sensitive.read({"x": np.zeros(50)}, sfumato.Schema(columns=(column,)))
    fitted = sfumato.fit("independent-histograms", data, sfumato.Budget(1.0, 1e-6), source=Zeros())
    assert fitted.certificate.status == "research"
