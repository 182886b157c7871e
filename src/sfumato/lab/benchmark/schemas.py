"""What the documentation of each benchmark table makes public: kinds, bounds and codes of its columns.

Bounds are those of the documentation, or round numbers beyond them. A column that is named nowhere here is
categorical, and its codebook is the union of the values in all files of the dataset, as the protocol allows: the
printed codebooks list the same values, and some run to hundreds.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema import Column, Kind, Schema

#: A number: whole or not, and its bounds.
Number = tuple[Kind, float, float]

#: Of the documentation of Diabetes 130: each of its 23 medicines was given, raised, lowered or not given.
_MEDICINES = """metformin repaglinide nateglinide chlorpropamide glimepiride acetohexamide glipizide glyburide
tolbutamide pioglitazone rosiglitazone acarbose miglitol troglitazone tolazamide examide citoglipton insulin
glyburide_metformin glipizide_metformin glimepiride_pioglitazone metformin_rosiglitazone
metformin_pioglitazone"""

NUMBERS: Mapping[str, Mapping[str, Number]] = {
    "adult": {
        "age": ("integer", 17, 90),
        "fnlwgt": ("integer", 10_000, 1_500_000),
        "education_num": ("integer", 1, 16),
        "capital_gain": ("integer", 0, 99_999),
        "capital_loss": ("integer", 0, 4_356),
        "hours_per_week": ("integer", 1, 99),
    },
    "census": {
        "age": ("integer", 0, 90),
        "wage_per_hour": ("integer", 0, 9_999),
        "capital_gains": ("integer", 0, 99_999),
        "capital_losses": ("integer", 0, 5_000),
        "dividends_from_stocks": ("integer", 0, 99_999),
        "num_persons_worked_for_employer": ("integer", 0, 6),
        "weeks_worked_in_year": ("integer", 0, 52),
    },
    # Principal components have no documented range; this one is generous, and the same for all of them.
    "credit": {**{f"V{at}": ("numeric", -120, 120) for at in range(1, 29)}, "Amount": ("numeric", 0, 30_000)},
    "isolet": {f"f{at}": ("numeric", -1, 1) for at in range(1, 618)},
    "diabetes130": {
        "time_in_hospital": ("integer", 1, 14),
        "num_lab_procedures": ("integer", 0, 150),
        "num_procedures": ("integer", 0, 6),
        "num_medications": ("integer", 0, 100),
        "number_outpatient": ("integer", 0, 50),
        "number_emergency": ("integer", 0, 80),
        "number_inpatient": ("integer", 0, 25),
        "number_diagnoses": ("integer", 1, 16),
    },
}

#: Codebooks that are short, or that list more than the files hold.
CODES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "credit": {"Class": ("0", "1")},
    "isolet": {"vowel": ("0", "1")},
    "diabetes130": {
        **dict.fromkeys(_MEDICINES.split(), ("No", "Down", "Steady", "Up")),
        # IDS_mapping.csv, which is distributed with the table.
        "admission_type_id": tuple(map(str, range(1, 9))),
        "discharge_disposition_id": tuple(map(str, range(1, 31))),
        "admission_source_id": tuple(map(str, range(1, 27))),
    },
}

ORDERED: Mapping[str, Sequence[str]] = {"diabetes130": ("age",)}
TRUTHS: Mapping[str, Sequence[str]] = {"diabetes130": ("readmitted",)}


def table_schema(
    name: str, frame: pd.DataFrame, *, target: str, rows: int | None, unit: PrivacyUnit | None = None
) -> Schema:
    """The public schema of a benchmark table.

    Args:
        name: The dataset.
        frame: All rows of all its files, for column names and the codebooks that are the union of values.
        target: The column to predict.
        rows: The approximate number of training rows that the documentation gives, if it may be declared.
        unit: The unit of privacy; by default one row, added or removed.
    """
    unit = unit or PrivacyUnit()
    columns = tuple(_column(name, str(key), frame[key]) for key in frame.columns if key != unit.person)
    return Schema(columns=columns, target=target, rows=rows, unit=unit)


def _column(dataset: str, name: str, values: "pd.Series") -> Column:
    if name in NUMBERS.get(dataset, {}):
        kind, low, high = NUMBERS[dataset][name]
        return Column(name=name, kind=kind, bounds=(low, high))
    if name in TRUTHS.get(dataset, ()):
        return Column(name=name, kind="boolean")
    codes = CODES.get(dataset, {}).get(name) or codebook(values)
    kind = "ordinal" if name in ORDERED.get(dataset, ()) else "categorical"
    return Column(name=name, kind=kind, categories=tuple(codes))


def codebook(values: "pd.Series") -> tuple[str, ...]:
    """The values that occur, in an order that depends on nothing else: whole numbers by size, then texts.

    >>> codebook(pd.Series(["b", "10", "9", "a", "9"]))
    ('9', '10', 'a', 'b')
    """
    texts = {str(value) for value in values.unique()}
    return tuple(sorted(texts, key=lambda text: (0, int(text), "") if text.isdecimal() else (1, 0, text)))
