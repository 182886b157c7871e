"""A draft of schema.toml that knows the types of a table of texts. With types it is NOT private: for the custodian alone."""

from typing import Any

from sfumato.lab.dry_run.kinds import told_kinds, with_kinds
from sfumato.private.intake.drafts import draft_of, proposals_for
from sfumato.private.intake.drafts import draft_schema as draft_by_structure

#: What a draft says of itself.
OF_ROWS = "of the rows their types alone"
#: What is said beside it.
TYPES_READ = (
    "All rows were read, without privacy, to tell types; types alone, and how true and false are spelled, are in the draft. "
    "It is for the custodian of the data: look through it before anybody else sees it."
)


def draft_schema(data: Any, *, types: bool = False, header: bool = False) -> str:
    """The text of a schema.toml to be completed by a person; it parses as it stands.

    Args:
        data: a path, folder, glob, URL or query, or a frame of pandas, polars or Arrow.
        types: read all rows, WITHOUT privacy, to tell the types of columns that the format has no types for, as in CSV. Types alone
            go into the draft: no value, bound or count. It is for the custodian of the data.
        header: say that the first line of a CSV file holds names, where that cannot be told from its words.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"gain": ["1.5", "2.25"] * 10, "zip": ["01067", "10115"] * 10})
    >>> print(draft_schema(frame, types=True).split("[columns]")[1])
    <BLANKLINE>
    "gain" = "numeric discover"              # or low..high
    "zip" = "categorical discover"           # or a | b | c
    <BLANKLINE>
    """
    if not types:
        return draft_by_structure(data, header=header)
    proposals, shown = proposals_for(data, header=header)
    texts = [p.name for p in proposals if p.kind in ("categorical", "ordinal") or not p.is_known]
    told = told_kinds(data, texts) if texts else {}
    return draft_of(with_kinds(proposals, told), shown=shown, nothing=OF_ROWS)
