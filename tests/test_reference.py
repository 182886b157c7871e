"""The reference names every public name, each says what it is, and the site names pages that are there."""

import re
from pathlib import Path

import pytest

import sfumato

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = re.findall(r"^::: sfumato\.(\w+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
#: Types that are made of others, and have no docstring of their own.
ALIASES = {"Block", "Measurements"}


def test_the_reference_has_every_public_name_once() -> None:
    assert sorted(REFERENCE) == sorted(sfumato.__all__)


@pytest.mark.parametrize("name", sorted(set(sfumato.__all__) - ALIASES))
def test_a_public_name_says_what_it_is(name: str) -> None:
    thing = getattr(sfumato, name)
    said = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    assert said
    assert not said.startswith(f"{name}("), "dataclasses write a docstring of their own where nobody did"
    if isinstance(thing, type):
        for inner, member in vars(thing).items():
            if callable(member) and not inner.startswith("_"):
                assert getattr(member, "__doc__", None), f"{name}.{inner}"


def test_a_name_that_is_not_there_is_told() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Synthesiser'"):
        _ = sfumato.Synthesiser


def test_the_site_names_pages_that_are_there() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = re.findall(r": ([\w/.-]+\.md)$", text, re.MULTILINE)
    assert len(pages) > 15
    for page in pages:
        assert (ROOT / page).is_file(), page
    guide = {f"docs/guide/{path.name}" for path in (ROOT / "docs" / "guide").glob("*.md")}
    assert guide <= set(pages)


def test_the_container_copies_what_is_there_and_installs_no_system_library() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"}
    for line in re.findall(r"^COPY (.+)$", text, re.MULTILINE):
        *sources, _ = line.split()
        assert all((ROOT / source).exists() for source in sources)
        assert set(sources) <= kept
    assert "apt" not in text
    assert "python:3.11-slim" in text
    assert 'CMD ["demo", "--force"]' in text
