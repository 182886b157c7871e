"""Baselines that promise nothing, by name, and the paper that lies in a folder of theirs where a claim would be."""

import json
from dataclasses import dataclass
from typing import Any

#: Methods that read rows without the doors. No mechanism may have such a name, so no claim can be verified under it.
BASELINES = ("ads-gan",)
FORMAT = "sfumato-non-private/1"

NOT_PRIVATE = "This is not private: no noise, no doors, no epsilon. The row of anybody may be read from it."
NOT_A_CLAIM = (
    "the folder is marked 'non_private': it was made by a baseline that reads rows without the doors, has no epsilon and "
    "claims nothing, so there is nothing to verify. Do not treat it as private."
)


def why_no_mechanism(name: str) -> str:
    """What to tell whoever takes a baseline for a mechanism."""
    return (
        f"{name} is a baseline that is not private, and no mechanism: it has no plan, no epsilon and no certificate. "
        "Ask for it by its name with --non-private, or in Python from sfumato.lab.baselines."
    )


@dataclass(frozen=True, kw_only=True)
class NonPrivatePaper:
    """What was made and how. It has the place of a certificate, another format, and no field for an epsilon."""

    method: str
    parameters: dict[str, Any]
    seed: int
    rows: int
    schema_sha256: str
    notes: tuple[str, ...]
    software: dict[str, str]
    files: dict[str, str]

    def to_text(self) -> str:
        """The paper as a file."""
        body = {"format": FORMAT, "status": "non_private", "warning": NOT_PRIVATE, **vars(self)}
        return json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
