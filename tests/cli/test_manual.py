"""The page of the commands is current, exit codes are what it says, and the small things that people try first work."""

from pathlib import Path

import pytest

import sfumato
from command_line import run
from sfumato.cli.manual import manual_page
from sfumato.cli.refusals import EXIT_CODES

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_the_commands_is_current() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == manual_page(), "make it again: python -m sfumato.cli.manual > docs/cli.md"


def test_the_page_has_every_command_and_option() -> None:
    page = manual_page()
    for command in ("release", "verify", "keys new", "data list", "study", "audit"):
        assert f"\n## sfumato {command}\n" in page
    for option in ("--epsilon EPSILON", "--json", "--quiet, -q", "--rows, -n N or many", "--rebuild, --no-rebuild"):
        assert f"| `{option}` |" in page, option


def test_exit_codes_are_documented_and_kept(tmp_path: Path) -> None:
    page, told = manual_page(), " ".join(run("--help").stdout.split())
    for code, what in EXIT_CODES.items():
        assert f"| {code} | {what} |" in page
        assert f"{code} {what.split()[0]}" in told
    assert run("verify", tmp_path).exit_code == 3
    assert run("plan", tmp_path / "none.toml", "--epsilon", 1).exit_code == 1
    assert run("plan", "--no-such-option").exit_code == 2


def test_the_version_is_shown() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"sfumato {sfumato.__version__}\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_taught(shell: str) -> None:
    from typer.completion import get_completion_script

    script = get_completion_script(prog_name="sfumato", complete_var="_SFUMATO_COMPLETE", shell=shell)
    assert "sfumato" in script
    assert "--show-completion" in run("--help").stdout


def test_a_word_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"COMP_WORDS": "sfumato rel", "COMP_CWORD": "1", "_SFUMATO_COMPLETE": "complete_bash"}
    assert run(**words).stdout.split() == ["release"]


def test_the_version_is_that_of_the_package_metadata() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{sfumato.__version__}"\n' in text
    assert f"version: {sfumato.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
