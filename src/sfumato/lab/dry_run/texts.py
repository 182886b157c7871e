"""The texts of a chunk, each with the number of its rows."""

import numpy as np

from sfumato.private.intake.scalars import MISSING_TEXTS
from sfumato.private.intake.values import Values, to_texts


def counted_texts(values: Values) -> tuple[int, list[tuple[str, int]]]:
    """How many rows have none, or one that stands for a missing value; and every other text with its rows."""
    texts = to_texts(values)
    counts = np.bincount(texts.private_codes + 1, minlength=len(texts.private_values) + 1)
    missing, told = int(counts[0]), []
    for text, count in zip(texts.private_values, counts[1:], strict=True):
        if text is None or text.strip() in MISSING_TEXTS:
            missing += int(count)
        else:
            told.append((text, int(count)))
    return missing, told
