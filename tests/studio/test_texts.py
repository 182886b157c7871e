"""Both languages are complete, numbers are written as a language writes them, and what strangers wrote can be looked at."""

import re

import pytest
from catalogue import GERMAN, compiled, german, texts
from visitors import SCHEMA, Custodian

from sfumato.public.schema.column import CODED_KINDS, NUMBER_KINDS
from sfumato.studio import editing
from sfumato.studio.rendering import environment
from sfumato.studio.texts import Numbers, language_of, shown

_PLACES = re.compile(r"%\(\w+\)s")


def forms(message) -> list[str]:
    return list(message.string) if isinstance(message.string, list | tuple) else [message.string]


def test_every_text_of_the_pages_has_its_german() -> None:
    known = {message.id: message for message in german() if message.id}
    wanted = {message.id for message in texts() if message.id}
    assert len(wanted) > 200
    assert set(known) == wanted  # none is missing, and none is left over: python tests/studio/catalogue.py
    for message in known.values():
        assert not message.fuzzy
        told = [message.id] if isinstance(message.id, str) else list(message.id)
        for form in forms(message):
            assert form.strip(), message.id
            assert set(_PLACES.findall(form)) == set(_PLACES.findall(told[0])), message.id


def test_the_compiled_catalogue_is_that_of_the_text() -> None:
    assert GERMAN.with_suffix(".mo").read_bytes() == compiled(german())


def test_a_missing_text_would_be_noticed() -> None:
    broken = german()
    broken.delete("Undo")
    assert {message.id for message in broken} != {message.id for message in texts()}


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_page_can_be_read_in_both_languages(custodian: Custodian, language: str) -> None:
    custodian.post("/language", language=language)
    project = custodian.project()
    for path in (
        "/",
        "/ledger",
        "/receive",
        "/methods",
        *(f"/p/{project.id}/{s}" for s in ("data", "schema", "check", "plan", "release", "result")),
    ):
        answer = custodian.get(path)
        assert answer.status_code == 200, path
        assert f'<html lang="{language}">' in answer.text
        assert ("Der Weg" in answer.text or "Neben dem Weg" in answer.text) == (language == "de")


def test_a_browser_that_asks_for_german_gets_it(custodian: Custodian) -> None:
    assert "Neben dem Weg" in custodian.get("/", headers={"accept-language": "de-AT,en;q=0.5"}).text
    assert language_of(None, "fr, it") == "en"


def test_dates_are_written_as_where_the_browser_is_at_home(custodian: Custodian) -> None:
    made = custodian.project()
    made.made = 1_704_110_400.0
    custodian.studio.projects.save(made)
    for accepted, written in (
        ("en-GB", "1 Jan 2024"),
        ("en-US", "Jan 1, 2024"),
        ("de-AT", "2024"),
        ("en-XX,en", "Jan 1, 2024"),
    ):
        assert written in custodian.get("/", headers={"accept-language": accepted}).text, accepted


def test_numbers_and_dates_by_language() -> None:
    english, deutsch = Numbers("en"), Numbers("de")
    assert (english.number(1234567), deutsch.number(1234567)) == ("1,234,567", "1.234.567")
    assert (english.number(2.71828), deutsch.number(2.71828)) == ("2.718", "2,718")
    assert english.number(1e-6) == "1e-6"
    assert (english.percent(0.0027), english.percent(0.00001)) == ("0.3%", "< 0.1%")
    assert deutsch.percent(0.7311).replace("\u00a0", " ") == "73 %"
    assert "2024" in deutsch.moment(1_704_110_400.0)


@pytest.mark.parametrize("text", ["\u202e", "\u2066", "\u200b", "\x00", "\x7f", "\u2028", "\ufeff"])
def test_what_cannot_be_seen_is_spelled_out(text: str) -> None:
    assert shown(f"a{text}b") == f"a[U+{ord(text):04X}]b"


def test_the_editor_knows_every_type_of_a_table() -> None:
    assert set(editing.KINDS) == {*NUMBER_KINDS, *CODED_KINDS}
    names = environment("de").get_template("_macros.html").module.kind_name
    assert all(str(names(kind)) != kind for kind in editing.KINDS)


def test_sentences_of_the_package_are_marked_as_english(custodian: Custodian) -> None:
    custodian.post("/language", language="de")
    bad = {**SCHEMA, "dataset": {"target": "nowhere"}}
    project = custodian.project(bad)
    assert '<p lang="en" class="fault">' in custodian.get(f"/p/{project.id}/schema").text
