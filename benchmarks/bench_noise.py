"""Secure noise against numpy's and OpenDP's, in draws per second.

Ours is `rounded_gaussian`: exact integers of standard deviation 2^20 from AES-256-CTR. numpy's `Generator.normal` draws
float64 from a stream that can be predicted, with rounding that leaks. OpenDP's `make_gaussian` is exact and secure:
once on whole numbers (scale 256), once on floats rounded to multiples of 2^-20 (scale 1).
"""

from functools import partial

import numpy as np
import opendp.prelude as dp
from opendp.mod import enable_features
from timing import best_seconds, report

from sfumato.extending import NoiseSource
from sfumato.private.kernel.gaussian import rounded_gaussian

DRAWS, FEW_DRAWS = 4_000_000, 10_000
ROUNDS = 15


def main() -> None:
    enable_features("contrib")
    rng = np.random.default_rng(0)
    source = NoiseSource()
    whole = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64"), size=FEW_DRAWS), dp.l2_distance(T=float), scale=256.0
    )
    real = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="f64", nan=False), size=FEW_DRAWS),
        dp.l2_distance(T=float),
        scale=1.0,
        k=-20,
    )
    alternatives = {
        "ours": partial(rounded_gaussian, DRAWS, source=source),
        "numpy_normal": partial(rng.normal, 0.0, 2.0**20, size=DRAWS),
        "opendp_i64": partial(whole, [0] * FEW_DRAWS),
        "opendp_f64": partial(real, [0.0] * FEW_DRAWS),
    }
    draws = {"ours": DRAWS, "numpy_normal": DRAWS, "opendp_i64": FEW_DRAWS, "opendp_f64": FEW_DRAWS}
    best_seconds(alternatives, rounds=1)  # compile, and build the table of cells
    seconds = best_seconds(alternatives, rounds=ROUNDS)
    rates = {name: draws[name] / seconds[name] for name in alternatives}
    report(
        {
            "benchmark": "noise",
            "draws": draws,
            "draws_per_second": rates,
            "ours_over": {name: rates["ours"] / rate for name, rate in rates.items() if name != "ours"},
            "targets": {"ours_over.numpy_normal": ">= 1"},
        }
    )


if __name__ == "__main__":
    main()
