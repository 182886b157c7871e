"""Formats that are not read, told by a file's name or by its first bytes: what it is, and what to do about it."""

from pathlib import Path

_FRAME = "hand the frame to sfumato in Python"
_SHEET = f"Save the sheet as CSV UTF-8, or read it with pandas.read_excel and {_FRAME}."
_UNPACK = "Unpack it; a CSV file may be packed as .csv.gz."
_LINES = "If it has a header line and separators, name it .csv or .tsv."
_UTF8 = "Save it as UTF-8, for instance with: iconv -f utf-16 -t utf-8 OLD > NEW"

_BY_SUFFIX: dict[tuple[str, ...], tuple[str, str]] = {
    (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"): ("a spreadsheet", _SHEET),
    (".json", ".jsonl", ".ndjson"): ("JSON", f"Read it with pandas.read_json, and {_FRAME} or write it as Parquet."),
    (".feather", ".arrow", ".orc"): ("an Arrow file", "Write it as Parquet, for instance with pandas."),
    (".sav", ".zsav", ".por"): ("an SPSS file", f"Read it with pandas.read_spss and {_FRAME}."),
    (".dta",): ("a Stata file", f"Read it with pandas.read_stata and {_FRAME}."),
    (".sas7bdat", ".xpt"): ("a SAS file", f"Read it with pandas.read_sas and {_FRAME}."),
    (".rds", ".rda", ".rdata"): ("an R file", "Write it in R with write.csv or arrow::write_parquet."),
    (".mdb", ".accdb", ".sql"): ("a database", "Export the table as CSV or Parquet."),
    (".pkl", ".pickle", ".joblib"): ("a pickle", "Write it as Parquet: a pickle can run code when it is opened."),
    (".zip", ".tar", ".tgz", ".7z", ".bz2", ".xz", ".zst"): ("packed", _UNPACK),
    (".txt", ".dat", ".tab"): ("a text of unknown form", _LINES),
}
_BY_BYTES: dict[bytes, tuple[str, str]] = {
    b"PK\x03\x04": ("a spreadsheet or an archive", _SHEET),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet", _SHEET),
    b"PAR1": ("a Parquet file", "Name it .parquet."),
    b"\x1f\x8b": ("packed", "Name it .csv.gz."),
    b"\x89PNG": ("a picture", "Give the table."),
    b"%PDF": ("a PDF", "Give the table that it was made from."),
    b"\xff\xfe": ("in UTF-16", _UTF8),
    b"\xfe\xff": ("in UTF-16", _UTF8),
    b"<!DOCTYPE": ("a web page", "Export the table as CSV."),
    b"<html": ("a web page", "Export the table as CSV."),
    b"<?xml": ("XML", "Export the table as CSV."),
}


def unread_suffix(path: Path) -> str:
    """What a file of a known but unread format is, and the remedy; empty for other names.

    >>> unread_suffix(Path("survey.sav"))
    'It is an SPSS file, which is not read. Read it with pandas.read_spss and hand the frame to sfumato in Python. '
    """
    name = path.name.lower()
    found = next((told for suffixes, told in _BY_SUFFIX.items() if name.endswith(suffixes)), None)
    return "" if found is None else f"It is {found[0]}, which is not read. {found[1]} "


def unread_content(head: bytes) -> str | None:
    """What a file is that is named as a CSV file and is none, and the remedy; None for a text."""
    found = next((told for mark, told in _BY_BYTES.items() if head.startswith(mark)), None)
    return None if found is None else f"it is {found[0]}. {found[1]}"
