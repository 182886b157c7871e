"""Ten thousand tiny partitions of a Dask frame: seconds of a release, and whether the measurements are those of one process.

python benchmarks/tiny_parts.py --parts 10000 --workers 2
"""

import argparse
import time

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
from engines import digest_of
from timing import report

import sfumato as sf
from sfumato.extending import NoiseSource


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--parts", type=int, default=10_000)
    options.add_argument("--workers", type=int, default=2)
    chosen = options.parse_args()
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.normal(size=3 * chosen.parts), "c": rng.choice(list("abcd"), 3 * chosen.parts)})
    columns = (
        sf.Column(name="x", kind="numeric", bounds=(-4, 4)),
        sf.Column(name="c", kind="categorical", categories=tuple("abcd")),
    )
    schema = sf.Schema(columns=columns, rows=len(rows))

    def fitted(data: object, engine: object) -> tuple[str, float]:
        begun = time.perf_counter()
        done = sf.fit("auto", data, 1.0, schema=schema, seed=1, source=NoiseSource(research_seed=1), engine=engine)
        return digest_of(done), time.perf_counter() - begun

    here, _ = fitted(rows, "local:1")
    cluster = distributed.LocalCluster(n_workers=chosen.workers, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        frame = dd.from_map(lambda at: rows.iloc[3 * at : 3 * at + 3], range(chosen.parts), meta=rows.iloc[:0])
        there, seconds = fitted(frame, client)
    told = {"parts": frame.npartitions, "workers": chosen.workers, "seconds": seconds}
    report({"benchmark": "tiny_parts", **told, "same measurements": here == there})


if __name__ == "__main__":
    main()
