"""MST of OpenDP: `python opendp_mst.py FOLDER`, in its own environment."""

import json
import math
import sys
from pathlib import Path

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")


def rho_for(epsilon: float, delta: float) -> float:
    """The zero-concentrated loss that (epsilon, delta) allows: the bound of Bun and Steinke (2016)."""
    root = math.sqrt(math.log(1 / delta))
    return (math.sqrt(epsilon + root**2) - root) ** 2


if __name__ == "__main__":
    place = Path(sys.argv[1])
    asked = json.loads((place / "asked.json").read_text())
    rho = rho_for(asked["epsilon"], asked["delta"])
    context = dp.Context.compositor(
        data=pl.scan_csv(place / "rows.csv"),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
    )
    keys = {name: list(range(size)) for name, size in asked["sizes"].items()}
    # A hair less than all: the library adds the parts of a query up in floating point.
    table = (
        context.query(rho=rho * 0.999999)
        .select(list(keys))
        .contingency_table(keys=keys, algorithm=dp.mbi.MST())
        .release()
    )
    # Codes outside the keys come out as missing: there are none among the rows.
    table.synthesize().drop_nulls().write_csv(place / "synthetic.csv")
