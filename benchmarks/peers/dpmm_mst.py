"""MST of dpmm: `python dpmm_mst.py FOLDER`, in its own environment."""

import json
import sys
from pathlib import Path

import pandas as pd
from dpmm.pipelines import MSTPipeline

if __name__ == "__main__":
    place = Path(sys.argv[1])
    asked = json.loads((place / "asked.json").read_text())
    pipeline = MSTPipeline(epsilon=asked["epsilon"], delta=asked["delta"], disable_processing=True, n_jobs=1)
    pipeline.fit(pd.read_csv(place / "rows.csv"), domain=asked["sizes"])
    pipeline.generate(n_records=asked["rows"]).to_csv(place / "synthetic.csv", index=False)
