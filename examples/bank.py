"""Transfers of which few are fraud: a rare class drowns first, so ask the plan before any budget is spent."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sfumato as sf

rng = np.random.default_rng(3)


def transfers(n):
    """Made-up transfers, 3 % of them fraud."""
    fraud = rng.random(n) < 0.03
    amount = np.where(fraud, rng.lognormal(7, 1, n), rng.lognormal(4, 1.2, n)).clip(1, 50_000)
    return pd.DataFrame(
        {
            "amount": amount.round(2),
            "hour": np.where(fraud, rng.integers(0, 7, n), rng.integers(6, 24, n)),
            "abroad": rng.random(n) < np.where(fraud, 0.6, 0.1),
            "fraud": fraud,
        }
    )


SCHEMA = sf.Schema.parse("""
[dataset]
target = "fraud"
rows = 8000
[columns.amount]
type = "numeric"
bounds = [0, 50000]
[columns.hour]
type = "integer"
bounds = [0, 23]
[columns.abroad]
type = "boolean"
[columns.fraud]
type = "boolean"
""")
private, others = transfers(8_000), transfers(4_000)

planned = sf.plan("auto", SCHEMA, 1.0)
told = planned.to_json()["expectation"]["expected"][0]["share_kept"]
for kept in told:
    rate, low, high = (100 * kept[key] for key in ("rarest_class", "low", "high"))
    print(f"if the rarest class has {rate:.0f} % of the rows, a learner keeps {low:.0f} to {high:.0f} %")

made = sf.synthesize(private, SCHEMA, epsilon=1.0, rows="many")  # more rows cost nothing, and serve a rare class most


def auc(train):
    """How well a learner ranks real transfers that nobody trained on."""
    columns = ["amount", "hour", "abroad"]
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    learner.fit(train[columns].astype(float), train["fraud"].astype(bool))
    return roc_auc_score(others["fraud"], learner.predict_proba(others[columns].astype(float))[:, 1])


real, synthetic = auc(private), auc(made.table)
print(f"AUC from real rows {real:.3f}, from synthetic ones {synthetic:.3f}; a coin .500")
print(f"share of fraud in the release: {made.table['fraud'].mean():.3f}")
assert synthetic > 0.8
assert 0.015 < made.table["fraud"].mean() < 0.06
