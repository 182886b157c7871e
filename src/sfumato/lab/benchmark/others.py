"""A place for values that no documentation lists."""

import pandas as pd

from sfumato.public.schema.schema import Column, Schema

#: The category of values that are not listed, in columns whose documentation has no full list.
OTHER = "(other)"
_MISSING = "?"  # as all benchmark tables write it
_FIRST_WORD = r"^([^-/&]*)"


def with_others(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Rows in which values outside a list that has a place for them are in that place. Each row alone decides.

    Without it they would count as missing, which is another thing.
    """
    return frame.assign(**{c.name: _listed(frame[c.name], c) for c in schema.columns if OTHER in c.categories})


def _listed(values: "pd.Series", column: Column) -> "pd.Series":
    texts = values.astype(str)
    return texts.where(texts.isin([*column.categories, _MISSING]), OTHER)


def first_word(values: "pd.Series") -> "pd.Series":
    """Texts up to the first "-", "/" or "&".

    >>> first_word(pd.Series(["Surgery-General", "Family/GeneralPractice", "?"])).tolist()
    ['Surgery', 'Family', '?']
    """
    return values.astype(str).str.extract(_FIRST_WORD, expand=False)
