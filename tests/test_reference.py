"""The reference names every public name, each says what it is, and the site names pages that are there."""

import pydoc
import re
from pathlib import Path

import pytest

import sfumato
from sfumato import extending, mechanisms

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = re.findall(r"^::: ([\w.]+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
NAMES = {f"{place.__name__}.{name}" for place in (sfumato, extending, mechanisms) for name in place.__all__}
#: Types that are made of others, and have no docstring of their own.
ALIASES = {"sfumato.extending.Block", "sfumato.extending.Measurements"}


def test_the_reference_has_every_public_name_once() -> None:
    assert sorted(REFERENCE) == sorted(NAMES)


@pytest.mark.parametrize("name", sorted(NAMES - ALIASES))
def test_a_public_name_says_what_it_is(name: str) -> None:
    thing = pydoc.locate(name)
    text = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    assert text
    assert not text.startswith(f"{thing.__name__}("), "dataclasses write a docstring of their own where nobody did"
    if isinstance(thing, type):
        for inner, member in vars(thing).items():
            if callable(member) and not inner.startswith("_"):
                assert getattr(member, "__doc__", None), f"{name}.{inner}"


def test_most_people_need_few_names() -> None:
    assert len(sfumato.__all__) <= 30
    assert sorted(dir(sfumato)) == sorted([*sfumato.__all__, "__version__"])


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Synthesiser", "module 'sfumato' has no attribute 'Synthesiser'. Did you mean 'Synthesizer'?"),
        ("Dense", "module 'sfumato' has no attribute 'Dense': it is sfumato.extending.Dense"),
        ("Mst", "module 'sfumato' has no attribute 'Mst': it is sfumato.mechanisms.Mst"),
    ],
)
def test_a_name_that_is_not_there_is_refused_with_its_place(name: str, sentence: str) -> None:
    with pytest.raises(AttributeError, match=f"^{re.escape(sentence)}$"):
        getattr(sfumato, name)


def test_no_name_has_two_places() -> None:
    assert len(NAMES) == len({name.rpartition(".")[2] for name in NAMES})


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
