"""MST of SmartNoise: `python smartnoise_mst.py FOLDER`, in its own environment.

It takes its domain from the rows that it is given, and so leaks which codes occur; a row of each code would mend that here, and
is not added: this is what its users get.
"""

import json
import sys
from pathlib import Path

import pandas as pd
from snsynth import Synthesizer

if __name__ == "__main__":
    place = Path(sys.argv[1])
    asked = json.loads((place / "asked.json").read_text())
    rows = pd.read_csv(place / "rows.csv")
    synthesizer = Synthesizer.create("mst", epsilon=asked["epsilon"], delta=asked["delta"])
    synthesizer.fit(rows, categorical_columns=list(rows.columns), preprocessor_eps=0.0)
    synthesizer.sample(asked["rows"]).to_csv(place / "synthetic.csv", index=False)
