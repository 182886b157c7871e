"""How time and memory grow: DPMix with the rows n and with the mixtures T, IndependentHistograms with the rows n.

A slope is the exponent of the power law that fits best: 1 is linear, 0 is flat. DPMix has a part that grows with n (each
row is encoded and clipped once) and one that grows with T (members and noise), so each slope lies below 1. Histograms
read the rows once, batch by batch: time grows with n, and the memory beyond the data does not.
"""

from functools import partial

import numpy as np
from timing import best_seconds, in_child, memory_of, report, slope

from sfumato import Budget, Column, Schema, Sensitive, fit, plan
from sfumato.extending import NoiseSource
from sfumato.mechanisms import DPMix, IndependentHistograms
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.view import View

PIXELS, CLASSES, DEGREE = (28, 28), 10, 256
ROWS, FIXED_MIXTURES = (15_000, 30_000, 60_000, 120_000), 2_000
MIXTURES, FIXED_ROWS = (1_000, 2_000, 4_000, 8_000, 16_000), 30_000
TABLE_ROWS, TABLE_COLUMNS = (100_000, 200_000, 500_000, 1_000_000), 20
ROUNDS = 3


def image_schema(rows: int) -> Schema:
    label = Column(name="label", kind="categorical", categories=tuple(map(str, range(CLASSES))))
    return Schema(columns=(Column(name="image", kind="image", shape=PIXELS), label), target="label", rows=rows)


def mix(images: np.ndarray, labels: np.ndarray, mixtures: int) -> partial:
    """Everything but the measuring itself is done here, outside the clock."""
    schema = image_schema(len(images))
    mechanism = DPMix(mixtures=mixtures, degree=DEGREE)
    planned = plan(mechanism, schema, Budget(1.0, 1e-6)).plan
    data = Sensitive.read((images, labels), schema)

    def run() -> None:
        mechanism.measure(View(data, plan=planned, primitives=Primitives(NoiseSource()), schema=schema), schema)

    return run


def table(rows: int) -> Sensitive:
    """Half of the columns numbers, half of them codes; the last is the target."""
    rng = np.random.default_rng(0)
    columns, arrays = [], {}
    for at in range(TABLE_COLUMNS):
        name = f"c{at}"
        if at < TABLE_COLUMNS // 2:
            columns.append(Column(name=name, kind="numeric", bounds=(0.0, 1.0)))
            arrays[name] = rng.random(rows)
        else:
            size = 2 if at == TABLE_COLUMNS - 1 else 8
            columns.append(Column(name=name, kind="categorical", categories=tuple(map(str, range(size)))))
            arrays[name] = rng.integers(size, size=rows, dtype=np.int8)
    return Sensitive.read(arrays, Schema(columns=tuple(columns), target=f"c{TABLE_COLUMNS - 1}", rows=rows))


def fit_table(data: Sensitive) -> None:
    fit(IndependentHistograms(), data, Budget(1.0, 1e-7), seed=0)


def table_memory(rows: int) -> dict[str, float]:
    data = table(rows)
    fit_table(table(1_000))  # loads the compiled kernels
    return memory_of(lambda: fit_table(data))


def growth(sizes: tuple[int, ...], seconds: dict[int, float]) -> dict[str, object]:
    times = [seconds[size] for size in sizes]
    return {"sizes": sizes, "seconds": times, "slope": slope(sizes, times)}


def main() -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(max(ROWS), *PIXELS), dtype=np.uint8)
    labels = rng.integers(CLASSES, size=max(ROWS), dtype=np.uint8)
    by_rows = {n: mix(images[:n], labels[:n], FIXED_MIXTURES) for n in ROWS}
    by_mixtures = {t: mix(images[:FIXED_ROWS], labels[:FIXED_ROWS], t) for t in MIXTURES}
    by_rows[min(ROWS)]()  # warm up
    rows_seconds = best_seconds(by_rows, rounds=ROUNDS)
    mixtures_seconds = best_seconds(by_mixtures, rounds=ROUNDS)
    del images, by_rows, by_mixtures

    tables = {n: table(n) for n in TABLE_ROWS}
    table_seconds = best_seconds({n: partial(fit_table, data) for n, data in tables.items()}, rounds=ROUNDS)
    del tables
    memory = [in_child(table_memory, n) for n in TABLE_ROWS]
    report(
        {
            "benchmark": "growth",
            "dpmix_with_rows": {"mixtures": FIXED_MIXTURES, **growth(ROWS, rows_seconds)},
            "dpmix_with_mixtures": {"rows": FIXED_ROWS, **growth(MIXTURES, mixtures_seconds)},
            "histograms_with_rows": {
                "columns": TABLE_COLUMNS,
                **growth(TABLE_ROWS, table_seconds),
                "memory": memory,
                "slope_of_added_memory": slope(TABLE_ROWS, [max(1.0, part["added_mb"]) for part in memory]),
            },
        }
    )


if __name__ == "__main__":
    main()
