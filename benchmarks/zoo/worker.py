"""One run: a case, a method and a seed, in a process that is its own, so that seconds and memory are too.

`python -m zoo.worker CASE METHOD SEED EPSILON` prints one JSON object as its last line.
"""

import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

import sfumato as sf
from sfumato.errors import ModelError
from sfumato.extending import Model

from .case import DELTA, Split
from .cases import CASES
from .scores import scores

REAL = "real"
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def main(name: str, method: str, seed: str, epsilon: str) -> None:
    split = CASES[name].load()
    schema = split.schema
    facts = {"rows": len(split.train), "columns": len(schema.columns), "target": _kind(schema)}
    try:
        found = run(split, method, seed=int(seed), epsilon=float(epsilon))
    except sf.SfumatoError as error:  # a sentence of the package: it does not take this table
        found = {"status": "refused", "sentence": str(error)}
    except Exception as error:  # noqa: BLE001 (whatever it is, it belongs into the table)
        found = {"status": "failed", "sentence": f"{type(error).__name__}: {error}"}
    print(json.dumps({**facts, **found}))


def _kind(schema: sf.Schema) -> str:
    """What is predicted: `none`, `number`, or how many classes."""
    target = schema.target_column
    return "none" if target is None else "number" if target.is_number else f"{target.size} classes"


def run(split: Split, method: str, *, seed: int, epsilon: float) -> dict[str, Any]:
    """Release and score, or score the real training rows themselves."""
    if method == REAL:
        released, cost = split.train, {"seconds": None, "memory_mb": None}
    else:
        released, cost = _release(split, method, seed, sf.Budget(epsilon=epsilon, delta=DELTA))
    start = time.process_time()
    found = scores(split, released)
    return {"status": "done", **_rounded(found), **cost, "scoring_seconds": round(time.process_time() - start, 1)}


def _release(split: Split, method: str, seed: int, budget: sf.Budget) -> tuple[pd.DataFrame, dict[str, Any]]:
    with contextlib.suppress(OSError):
        _CLEAR.write_text("5")  # forget the peak of drawing the rows
    start = time.process_time()
    fitted = sf.fit(method, sf.Sensitive.read(split.train, split.schema), budget, seed=seed)
    synthetic = _sampled(fitted.model, len(split.train), seed)
    seconds = time.process_time() - start
    if synthetic.table is None or not {c.name for c in split.schema.columns} <= set(synthetic.table.columns):
        raise sf.SfumatoError("it releases encoded features and no rows.")
    return synthetic.table, {"released": len(synthetic.table), "seconds": round(seconds, 2), "memory_mb": _peak_mb()}


def _sampled(model: Model, n_rows: int, seed: int) -> sf.Synthetic:
    """As many rows as the real ones; of a mechanism that holds fewer, those."""
    try:
        return model.sample(n_rows, seed=seed)
    except ModelError:
        return model.sample(model.default_rows, seed=seed)


def _peak_mb() -> float | None:
    """The kernel's own high-water mark; nothing where the system keeps none."""
    if not _STATUS.exists():
        return None
    line = next(line for line in _STATUS.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) * 1024 / 1e6)


def _rounded(found: dict[str, float | None]) -> dict[str, float | None]:
    return {key: None if value is None else round(value, 5) for key, value in found.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
