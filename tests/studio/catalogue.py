"""The studio's texts: `python tests/studio/catalogue.py` brings the German catalogue up to date and compiles it."""

from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

STUDIO = Path(__file__).resolve().parents[2] / "src" / "sfumato" / "studio"
GERMAN = STUDIO / "locale" / "de" / "LC_MESSAGES" / "studio.po"
_METHODS = [("**.py", "python"), ("templates/**.html", "jinja2")]
_OPTIONS = {"templates/**.html": {"encoding": "utf-8", "newstyle_gettext": "true", "trim_blocks": "true"}}
_KEYWORDS = {"_": None, "mark": None, "ngettext": (1, 2)}


def texts() -> Catalog:
    """Every text of the pages."""
    found = Catalog(project="sfumato studio", charset="utf-8")
    for _, _, message, _, _ in extract_from_dir(STUDIO, _METHODS, _OPTIONS, keywords=_KEYWORDS):
        found.add(message)
    return found


def german() -> Catalog:
    with GERMAN.open("rb") as file:
        return read_po(file, locale="de", domain="studio")


def compiled(catalogue: Catalog) -> bytes:
    file = BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


if __name__ == "__main__":
    catalogue = german() if GERMAN.exists() else Catalog(locale="de", domain="studio", project="sfumato studio")
    catalogue.update(texts(), no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    catalogue.fuzzy, catalogue.header_comment = False, "# German texts of the studio."
    for name in ("last_translator", "language_team", "msgid_bugs_address", "copyright_holder"):
        setattr(catalogue, name, "the sfumato developers")
    with GERMAN.open("wb") as file:
        write_po(file, catalogue, width=120, no_location=True, omit_header=False, sort_output=True)
    GERMAN.with_suffix(".mo").write_bytes(compiled(catalogue))
    for message in catalogue:
        if message.id and not (all(message.string) if message.pluralizable else message.string):
            print("untranslated:", message.id)
