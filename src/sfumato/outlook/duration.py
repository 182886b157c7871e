"""How long a release takes: what was measured in the committed benchmark, on data that is most like what was declared."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.mechanism import Mechanism
from sfumato.outlook.method_list import figures_of
from sfumato.public.machine.hardware import OnGpu
from sfumato.public.schema.schema import Schema

_NO_GPU = "A GPU makes no difference to it."


@dataclass(frozen=True)
class Duration:
    """Seconds and memory of one release elsewhere, if one was measured; and what a GPU would do."""

    measured: dict[str, Any] | None
    on_gpu: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @property
    def sentences(self) -> list[str]:
        """For a person."""
        found = self.measured
        if found is None:
            return ["It was not timed in the benchmark.", self.on_gpu]
        took = f"{found['seconds']:.0f} s of one processor"
        took += f" and {found['memory_mb']:,.0f} MB" if found["memory_mb"] else ""
        rows = f"{found['rows']:,} rows of {found['columns']:,} columns"
        return [f"On {found['dataset']} ({rows}) a release took {took}.", self.on_gpu]


def duration_of(mechanism: Mechanism, schema: Schema) -> Duration:
    """By the dataset of the same kind that is nearest in rows and columns."""
    is_image = bool(schema.images)
    timed = [
        {"dataset": dataset, **{key: figure.get(key) for key in ("rows", "columns", "seconds", "memory_mb")}}
        for dataset, figure in figures_of(mechanism.name).items()
        if figure.get("seconds") and bool(figure.get("image")) == is_image
    ]
    size = math.log(max(schema.rows or 10_000, 1)), math.log(max(len(schema.columns), 1))

    def away(figure: dict[str, Any]) -> float:
        return math.dist(size, (math.log(figure["rows"]), math.log(figure["columns"])))

    gpu = mechanism.on_gpu if isinstance(mechanism, OnGpu) else _NO_GPU
    return Duration(min(timed, key=away) if timed else None, gpu)
