"""Is the first line of a file a header? Told by public rules for words, without a look at any other line.

A file without a header has a private row there, and a draft of a schema would print it. No rule can tell every header
from every row: `anna,berlin` may be either. So a line passes only if each cell could be a name, and enough of them are
words by which people name columns, or are joined as programs join words; whoever has another header says so. Lines
further down would help to tell, but whether a draft appears would then depend on private rows.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from sfumato.private.intake.scalars import FALSE_WORDS, MISSING_TEXTS, TRUE_WORDS, parse_date, parse_number
from sfumato.public.spelling import words_of

#: A letter, then letters, digits, spaces and the marks that names have.
_NAME = re.compile(r"[^\W\d][\w \-./()%#:&+\[\]°']{0,63}")
#: A telephone number, a postcode or a customer's number, but no year.
_LONG_NUMBER = re.compile(r"\d{5}")
_NUMBERED = re.compile(r"(.*\D|)(\d{1,4})")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
#: So few words may be of any kind.
_FEW = 4
#: The cells that must be usual names: one in so many.
_ONE_IN = 3
_NO_NAMES = frozenset(word.casefold() for word in MISSING_TEXTS) | {
    word for word in (*TRUE_WORDS, *FALSE_WORDS) if len(word) > 1
}
#: Words by which people name columns, and which are seldom values.
_USUAL = frozenset(
    """
    account address admission age amount area balance begin birth birthday blood bmi bought capital carat category charge
    children cholesterol city clarity class code color colour company contact cost count country county created currency
    customer date day days debt delay department depth diagnosis discharge district dob dose duration education email employer end
    ethnicity event expense family feature fare gain gender glucose grade group height hour hours household id identifier
    idx image income index interest item job kind label language last lat latitude length level loan location lon
    longitude loss marital mass mean member minute month months name nationality num number occupation order origin
    outcome patient pay payment person phone pixel population position pressure price product profession pulse quantity
    race rate rating ratio reason region relationship religion rent result role rooms row salary sale sales score sector
    sex size smoker smoking speed start state status street sum surname survived symptom target tax temperature tenure
    text time timestamp title total town transaction treatment type unit url user value version visit vote wage ward
    weekday weight width year years zip
    acidity alcohol avg cnt credit density employment flag has holiday hr humidity is max min mnth odor pct purpose quality
    savings season shape species std sugar surface temp wind windspeed workday yr
    alter anzahl beruf betrag bildung datum einkommen geburtsdatum geschlecht gewicht gruppe größe klasse kosten kunde
    land monat nachname nummer ort plz preis rauchen raucher stadt tag vorname wert zeit ziel
    ciudad edad fecha genero género ingreso nombre pais país peso precio sexo tipo valor
    cible catégorie genre nom pays poids prénom prix revenu sexe taille ville âge
    altezza città data età nome reddito sesso
    """.split()  # noqa: SIM905  a list of 250 quoted words is harder to read
)


def looks_like_names(cells: Sequence[str]) -> bool:
    """Whether a first line may be shown as column names.

    >>> looks_like_names(["patient_id", "age", "smoker"]), looks_like_names(["anna", "berlin", "divorced"])
    (True, False)
    >>> looks_like_names(["x1", "x2", "x3", "y"]), looks_like_names(["anna", "41"])
    (True, False)
    """
    if not cells or len(set(cells)) != len(cells) or not all(_could_be_a_name(cell) for cell in cells):
        return False
    usual = {cell for cell in cells if any(word.rstrip("0123456789") in _USUAL for word in words_of(cell))}
    usual |= _numbered_names(cells)
    return len(usual) * _ONE_IN >= len(cells) or len(usual | _compound_names(cells)) * 2 >= len(cells)


def _compound_names(cells: Sequence[str]) -> set[str]:
    """Words joined as programs join them, tenure_group or TenureGroup, in a line whose cells are all spelled for programs.

    Values are seldom spelled so, and hardly ever those of a whole row.
    """
    if len(cells) < _FEW or not all(_IDENTIFIER.fullmatch(cell) for cell in cells):
        return set()
    return {cell for cell in cells if len(words_of(cell)) > 1}


def _could_be_a_name(cell: str) -> bool:
    return (
        _NAME.fullmatch(cell) is not None
        and _LONG_NUMBER.search(cell) is None
        and cell.casefold() not in _NO_NAMES
        and parse_number(cell) != parse_number(cell)  # NaN: no number; `inf` is one
        and parse_date(cell) != parse_date(cell)
    )


def _numbered_names(cells: Sequence[str]) -> set[str]:
    """Names such as x1, x2, x3: three or more of one stem, numbered without a gap."""
    series: dict[str, dict[int, str]] = defaultdict(dict)
    for cell in cells:
        if (parts := _NUMBERED.fullmatch(cell)) is not None:
            series[parts[1]][int(parts[2])] = cell
    without_gap = [m for m in series.values() if len(m) >= 3 and max(m) - min(m) == len(m) - 1]
    return {cell for members in without_gap for cell in members.values()}
