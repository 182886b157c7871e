"""Real pictures beside synthetic ones, class by class. This reads private rows WITHOUT privacy, and what it gives is not for release."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SourceError
from sfumato.model import Synthetic
from sfumato.present.beside import Comparison
from sfumato.present.plots import picture_grid
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.sources import open_source
from sfumato.public.schema.schema import Schema

_ROWS_AT_ONCE = 256
#: Pictures of a class, and classes, that are shown.
_EACH, _MOST_CLASSES = 20, 20


def pictures_beside(data: Any, synthetic: Synthetic, schema: Schema) -> Comparison:
    """What `private_page` shows of pictures: the first of each class, real and synthetic, in one scale of grey."""
    if synthetic.images is None:
        raise SourceError("the release holds neither a table nor pictures, so there is nothing to lay beside the rows.")
    labels = synthetic.labels if synthetic.labels is not None else np.zeros(len(synthetic.images), dtype=np.int64)
    classes = synthetic.classes if synthetic.labels is not None else ("",)
    shown = np.unique(labels)[:_MOST_CLASSES]
    real, n_real = _first_of_each(data, schema, shown, labelled=synthetic.labels is not None)
    theirs = {code: synthetic.images[np.flatnonzero(labels == code)[:_EACH]] for code in shown}
    values = np.concatenate([some.ravel() for some in (*real.values(), *theirs.values())])
    darkest, lightest = (float(q) for q in np.quantile(values, [0.01, 0.99]))
    strips = [
        (classes[code], *(picture_grid(some[code], darkest=darkest, lightest=lightest) for some in (real, theirs)))
        for code in shown
        if len(real[code])
    ]
    why = "No learner is shown for pictures. sfumato assess compares what networks learn from both."
    rows = {"real": n_real, "synthetic": len(synthetic.images)}
    return {"cards": [], "pictures": None, "strips": strips, "rows": rows, "lesson": None, "why_no_lesson": why}


def _first_of_each(
    data: Any, schema: Schema, shown: NDArray[np.int64], *, labelled: bool
) -> tuple[dict[np.int64, NDArray[Any]], int]:
    """The first real pictures of these classes, and how many rows there are."""
    image, names = schema.images[0].name, [column.name for column in schema.columns]
    kept: dict[np.int64, list[NDArray[Any]]] = {code: [] for code in shown}
    n_rows = 0
    for raw in open_source(data, schema).chunks(names, rows=_ROWS_AT_ONCE):
        batch = conform(raw, schema)
        pictures = batch[image]
        codes = batch[schema.require_coded_target().name] if labelled else np.zeros(len(pictures), dtype=np.int64)
        n_rows += len(pictures)
        for code, some in kept.items():
            some.extend(pictures[np.flatnonzero(codes == code)[: max(0, _EACH - len(some))]])
    if not n_rows:
        raise SourceError("there are no pictures to lay beside the synthetic ones.")
    shape = schema.images[0].shape or ()
    return {code: np.array(some) if some else np.zeros((0, *shape)) for code, some in kept.items()}, n_rows
