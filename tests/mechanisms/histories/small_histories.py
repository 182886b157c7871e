"""Settings of the method for quick tests, and persons with known histories."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.mechanisms import ThreeATables
from sfumato.mechanisms.histories.settings import HistorySettings

sys.path.append(str(Path(__file__).parents[1] / "table"))
from small_tables import TINY

_PLAIN = replace(TINY, columns=replace(TINY.columns, uses_shapes=False, density_heights=(0.3,)))
SETTINGS = replace(
    HistorySettings(), table=_PLAIN, level_places=32, gap_places=16, gap_classes=4, exchanges=20, persons_seen=400
)
SMALL = ThreeATables(settings=SETTINGS)


def ward(n_persons: int, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Old persons have more visits; hearts follow hearts; a value is the person's own, with some chance; some die at last."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, n_persons)
    number = np.minimum(rng.poisson(age / 20), 6)
    own = rng.normal(50, 15, n_persons)
    rows = []
    for person in range(n_persons):
        day, kind = int(rng.integers(0, 500)), int(rng.random() < 0.5)
        for at in range(number[person]):
            kind = kind if rng.random() < 0.8 else 1 - kind
            is_last = at == number[person] - 1 and rng.random() < 0.2
            name = "death" if is_last else ("blood", "heart")[kind]
            rows.append((f"p{person}", day, name, float(np.clip(own[person] + 10 * kind + rng.normal(0, 4), 0, 100))))
            day += 0 if rng.random() < 0.1 else int(rng.exponential(60)) + 1
    visits = pd.DataFrame(rows, columns=["patient", "day", "test", "value"]).sample(frac=1.0, random_state=1)
    patients = pd.DataFrame(
        {
            "patient": [f"p{person}" for person in range(n_persons)],
            "age": age,
            "sex": rng.choice(["f", "m"], n_persons),
            "died": rng.random(n_persons) < age / 150,
        }
    )
    who = rng.integers(n_persons, size=2 * n_persons)
    bills = pd.DataFrame({"who": [f"p{person}" for person in who], "paid": rng.random(2 * n_persons) < 0.7})
    return {"patients": patients, "visits": visits, "bills": bills}
