"""The table of the zoo, worst cases on top."""

from pathlib import Path
from typing import Any

PRESENT = "present"


def write_page(
    path: Path, records: list[dict[str, Any]], *, present: str, previous: str | None, epsilon: float
) -> None:
    path.write_text("")
