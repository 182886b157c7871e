"""Stays of patients. Who has several rows is hidden with all of them: the unit of privacy is a person."""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(2)
patients = 1_500
stays_each = rng.integers(1, 6, patients)
patient = np.repeat(np.arange(patients), stays_each)
age = np.repeat(rng.integers(0, 100, patients), stays_each)
stays = pd.DataFrame(
    {
        "patient": [f"p{number:05d}" for number in patient],
        "age": age,
        "department": rng.choice(["surgery", "medicine", "maternity"], patient.size, p=[0.4, 0.5, 0.1]),
        "days": np.minimum(rng.geometric(1 / (2 + age / 15)), 60),
        "readmitted": rng.random(patient.size) < 0.1 + 0.003 * age,
    }
)

schema = sf.Schema.parse("""
[dataset]
target = "readmitted"
rows = 4000                 # about as many are used: at most 3 of each patient
[privacy]
person = "patient"          # never released
max_rows = 3                # whoever has more is represented by 3 of them, drawn at random
[columns.age]
type = "integer"
bounds = [0, 110]
[columns.department]
type = "categorical"
categories = ["surgery", "medicine", "maternity"]
[columns.days]
type = "integer"
bounds = [1, 60]
[columns.readmitted]
type = "boolean"
""")

made = sf.synthesize(stays, schema, epsilon=2.0)
assert "patient" not in made.table.columns
print(made.certificate.claim.in_words)
print(f"mean days: {stays['days'].mean():.1f} real (not for handing over), {made.table['days'].mean():.1f} released")
for sentence in made.certificate.warnings:
    print("warning:", sentence)
made.save("hospital-release")
assert sf.verify("hospital-release").ok
