"""Every code line of README and guide is run, page by page, and every link leads somewhere."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest

from postgres_server import programs, running

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").rglob("*.md"))]
MARKDOWN = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
#: Console lines that the tests do not run: they would install, or take minutes.
SKIPPED = {page: ["pip install .", "make demo"] for page in ("README.md", "quickstart.md")}

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str, str]]:
    """The line, the language and the text of every fenced block."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start()) + 2, m[1], m[2]) for m in _BLOCK.finditer(text)]


def commands(text: str) -> list[str]:
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


def is_skipped(command: str) -> bool:
    return command.split()[0] in ("make", "pip")


def run_python(text: str, *, page: Path, line: int, namespace: dict) -> None:
    code = compile("\n" * (line - 1) + text, str(page), "exec")  # errors then name the page's own line
    exec(code, namespace)


def run_console(text: str, *, folder: Path, sfumato: Path) -> None:
    script = "\n".join(["set -eu", *(command for command in commands(text) if not is_skipped(command))])
    path = os.pathsep.join([str(sfumato.parent), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    """What a page needs for as long as it runs."""
    with ExitStack() as stack:
        yield stack


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sfumato_command: Path, servers: ExitStack
) -> None:
    if "sfumato[deep]" in page.read_text(encoding="utf-8") and page.parent.name == "mechanisms":
        pytest.importorskip("torch", reason="torch is not installed: pages of mechanisms that need it are skipped")
    if "sfumato[duckdb]" in page.read_text(encoding="utf-8"):
        pytest.importorskip("duckdb", reason="duckdb is not installed: the page on databases is skipped")
        pytest.importorskip("fsspec", reason="fsspec is not installed: the page on databases is skipped")
    if "distributed import" in page.read_text(encoding="utf-8"):
        pytest.importorskip("distributed", reason="Dask is not installed: the page on clusters is skipped")
    if "pyspark.sql" in page.read_text(encoding="utf-8"):
        pytest.importorskip("pyspark", reason="Spark is not installed: make test-spark runs the page on Spark")
        if shutil.which("java") is None:
            pytest.skip("Java is not installed: the page on Spark is skipped")
    if "adbc_driver_postgresql" in page.read_text(encoding="utf-8"):
        pytest.importorskip(
            "adbc_driver_postgresql", reason="the extra adbc is not installed: PostgreSQL's page is skipped"
        )
        if programs() is None:
            pytest.skip("no PostgreSQL is installed here: its page is skipped")
        url, _ = servers.enter_context(running(programs()))
        monkeypatch.setenv("PGHOST", url.partition("?host=")[2])
        monkeypatch.setenv("PGUSER", "sfumato")
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"page_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses and pickles look it up by name
    ran = 0
    for line, language, text in blocks(page):
        if language == "python":
            run_python(text, page=page, line=line, namespace=vars(module))
        elif language == "console":
            run_console(text, folder=tmp_path, sfumato=sfumato_command)
        elif language == "toml":
            tomllib.loads(text)  # a piece of a schema: what it says is tried where the page writes it whole
        ran += language in ("python", "console")
    assert ran, f"{page.name} has no block that runs"


def test_only_lines_that_install_are_skipped() -> None:
    found: dict[str, list[str]] = {}
    for page in PAGES:
        lines = [
            line for _, kind, text in blocks(page) if kind == "console" for line in commands(text) if is_skipped(line)
        ]
        if lines:
            found[page.name] = lines
    assert found == SKIPPED


def test_every_make_line_is_a_target() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for lines in SKIPPED.values():
        assert {line.split()[1] for line in lines if line.startswith("make ")} <= set(targets)


def test_every_extra_that_a_page_installs_is_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {name for page in MARKDOWN for name in re.findall(r"'(?:sfumato|\.)\[(\w+)\]'", page.read_text("utf-8"))}
    assert {"deep", "studies"} <= named <= set(extras)


def test_the_readme_can_be_read_in_one_sitting() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


def test_every_code_block_of_the_pages_has_a_language_that_runs() -> None:
    for page in PAGES:
        shown = {"text"} if page.name == "studio.md" else set()  # a command that ends when the studio is closed
        assert {language for _, language, _ in blocks(page)} <= {"python", "console", "toml"} | shown, page.name


def test_a_block_that_fails_is_noticed(tmp_path: Path, sfumato_command: Path) -> None:
    with pytest.raises(AssertionError, match="exit 3"):
        run_console("$ exit 3\n", folder=tmp_path, sfumato=sfumato_command)
    with pytest.raises(AssertionError, match="no certificate"):
        run_console("$ sfumato verify nothing\n", folder=tmp_path, sfumato=sfumato_command)
    run_console("$ sfumato verify nothing || test $? -eq 3\n", folder=tmp_path, sfumato=sfumato_command)
    with pytest.raises(ZeroDivisionError):
        run_python("1 / 0\n", page=ROOT / "README.md", line=7, namespace={})


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_resolve(page: Path) -> None:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    broken = [
        link
        for link in _LINK.findall(text)
        if not re.match(r"[a-z]+:", link) and not (page.parent / link.split("#")[0]).exists()
    ]
    assert not broken, f"{page.name} links to what is not there: {', '.join(broken)}"


def test_every_proof_is_in_the_index() -> None:
    folder = ROOT / "docs" / "proofs"
    index = (folder / "README.md").read_text(encoding="utf-8")
    missing = [p.name for p in folder.glob("*.md") if p.name != "README.md" and f"({p.name})" not in index]
    assert not missing


def test_every_test_that_a_page_names_is_there() -> None:
    named = {m for page in MARKDOWN for m in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page.read_text("utf-8"))}
    assert len(named) > 50
    for file, name in sorted(named):
        assert (ROOT / file).exists(), file
        assert not name or re.search(rf"^ *(def|class) {name}\b", (ROOT / file).read_text("utf-8"), re.MULTILINE), name
