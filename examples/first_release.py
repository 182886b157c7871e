# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # A first release
#
# You hold a table that nobody else may see. Below it becomes one that you may hand over, with a certificate.

# %%
import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(1)
n = 3_000
age = rng.integers(18, 91, n)
people = pd.DataFrame(
    {
        "age": pd.array(age, dtype="Int64"),
        "ward": pd.Categorical(rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])),
        "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D"),
        "ill": rng.random(n) < 1 / (1 + np.exp(-(age - 60) / 10)),
    }
)

# %% [markdown]
# ## What is public
#
# The schema is written from knowledge of the world, never from the rows.

# %%
schema = sf.Schema.parse("""
[dataset]
target = "ill"
rows = 3000
[columns.age]
type = "integer"
bounds = [18, 90]
[columns.ward]
type = "categorical"
categories = ["north", "south", "west"]
[columns.seen]
type = "datetime"
bounds = [2024-01-01, 2024-12-31]
[columns.ill]
type = "boolean"
""")

# %% [markdown]
# ## The plan
#
# Every access to the rows, its noise and what to expect, before any row is read.

# %%
planned = sf.plan("auto", schema, 1.0)
planned  # a notebook shows tables here

# %% [markdown]
# ## The rows
#
# One call. The table has the types of the one that came in.

# %%
made = sf.synthesize(people, schema, epsilon=1.0)
assert made.table.dtypes.drop("ward").equals(people.dtypes.drop("ward"))
assert list(made.table["ward"].cat.categories) == ["north", "south", "west"]  # those of the schema, in its order
made

# %%
made.table.groupby("ill", observed=True)["age"].mean()

# %% [markdown]
# ## To hand over
#
# The folder holds the rows, the noisy numbers behind them, a report and the certificate. Anyone can check it, without the data.

# %%
made.save("release")
checked = sf.verify("release")
assert checked.ok
checked
