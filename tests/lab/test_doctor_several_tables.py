"""The doctor looks at one of several tables: which, the rows' columns say."""

from pathlib import Path

import pandas as pd
import pytest

from schemas import HOSPITAL
from sfumato.errors import SourceError
from sfumato.lab.doctor.panel import _as_meant, read_table

VISITS = pd.DataFrame({"patient": [1, 2], "day": [3, 4], "test": ["blood", "heart"], "value": [1.0, 2.0]})


def test_the_table_is_known_by_its_columns_and_keys_are_left_out() -> None:
    found = _as_meant([VISITS, VISITS], HOSPITAL)
    assert found.names == ("day", "test", "value")
    for tables in ([VISITS, VISITS.drop(columns="patient")], [VISITS.rename(columns={"day": "when"})] * 2):
        with pytest.raises(SourceError, match="Give the files of one of visits, bills, patients"):
            _as_meant(tables, HOSPITAL)


def test_a_folder_is_several_tables(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a folder, and one table is looked at"):
        read_table(tmp_path)
