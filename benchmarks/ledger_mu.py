"""The mu of sampled releases against the best one that an independent accountant finds by search: `make bench` does not run it.

    python benchmarks/ledger_mu.py > benchmarks/results/ledger-mu.jsonl

One line for each release: the mu that the ledger charges, the best mu through 40 points of the curve that `verification/replay.py`
computes, and how far the first lies above the second. The replay itself lies above the truth by up to 2e-5.
"""

import json
import math

import dp_accounting as dpa
import numpy as np
from dp_accounting import dp_event
from scipy.optimize import brentq

from sfumato.public.accounting import delta_of_mu, event_to_json
from sfumato.public.accounting.dominating import gaussian_cost
from sfumato.verification.replay import replay_epsilon

ADD, REPLACE, FAILURE = "add_or_remove", "replace_one", 1e-8


def times(count, inner):
    return dpa.SelfComposedDpEvent(inner, count)


def poisson(q, z):
    return dpa.PoissonSampledDpEvent(q, dpa.GaussianDpEvent(z))


CASES = {
    "300 Poisson samples of 2 %": (times(300, poisson(0.02, 1.2)), ADD),
    "one Poisson sample of 20 %": (poisson(0.2, 2.0), ADD),
    "40 Poisson samples of 5 %, replaced": (times(40, poisson(0.05, 3.0)), REPLACE),
    "40 samples of 50 rows of 1,000": (
        times(40, dpa.SampledWithoutReplacementDpEvent(1000, 50, dpa.GaussianDpEvent(1.5))), REPLACE
    ),
    "20 samples, persons of 2 rows": (
        times(20, dp_event.MixtureOfGaussiansDpEvent(4.0, [0.0, 1.0, 2.0], [0.81, 0.18, 0.01])), ADD
    ),
    "50 Poisson samples and a sum": (dpa.ComposedDpEvent([times(50, poisson(0.05, 1.0)), dpa.GaussianDpEvent(5.0)]), ADD),
}  # fmt: skip


def best_by_search(event, relation):
    found = []
    for delta in np.geomspace(FAILURE * 1.02, 1e-2, 40):
        epsilon = replay_epsilon(event_to_json(event), delta=float(delta), relation=relation)
        if epsilon > 0:
            point = (epsilon, float(delta) - FAILURE)
            found.append(brentq(lambda mu, at=point: delta_of_mu(at[0], mu=mu) - at[1], 1e-9, 100.0, xtol=1e-13))
    return max(found)


for name, (event, relation) in CASES.items():
    mu = math.sqrt(gaussian_cost(event, relation=relation, failure=FAILURE).mu_squared)
    best = best_by_search(event, relation)
    print(json.dumps({"release": name, "mu": mu, "best": best, "above": mu / best - 1}), flush=True)
