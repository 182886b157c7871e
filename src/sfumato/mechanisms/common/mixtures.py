"""Mixed rows as a dataset: images with labels, or a table of encoded features."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Singles
from sfumato.mechanisms.common.classed_rows import class_names
from sfumato.model import Synthetic
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Schema


def mixtures_as_synthetic(features: Singles, labels: NDArray[Any] | None, *, schema: Schema, soft: bool) -> Synthetic:
    """Features in the unit box, one row a mixture; `labels` holds how much of each class is in it."""
    hard = None if labels is None else labels.argmax(axis=1).astype(np.int64)
    soft_labels = labels.astype(np.float32) if soft and labels is not None else None
    target = schema.target_column
    classes = class_names(target)
    if schema.images:
        image = schema.images[0]  # noise may carry pixels past their bounds, and whole numbers would lose it
        images = (image.low + (image.high - image.low) * features).reshape(len(features), *image.shape)
        images = images.astype(np.float32)
        return Synthetic(images=images, labels=hard, soft_labels=soft_labels, classes=classes)
    table = pd.DataFrame(features, columns=list(Encoder(schema.features).names))
    if target is not None and hard is not None:
        table[target.name] = pd.Categorical.from_codes(hard, categories=pd.Index(classes))
        if soft_labels is not None:  # all at once: a table slows down with each column that is put in on its own
            shares = pd.DataFrame(soft_labels, columns=[f"{target.name}={value}" for value in classes])
            table = pd.concat([table, shares], axis=1)
    return Synthetic(table=table, classes=classes)
