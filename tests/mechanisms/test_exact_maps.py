"""Every map of every mechanism gives a row the same bits wherever it stands, and measuring again gives the same model."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import schemas
import sfumato as sf
from sfumato.extending import NoiseSource
from sfumato.mechanisms import (
    P3GM,
    Aim,
    ClustMix,
    DPGan,
    DPKip,
    DPMerf,
    DPMix,
    DPPro,
    DPSyn,
    IndependentHistograms,
    Kip,
    LocalReports,
    Moments,
    Mst,
    PateGan,
    PrivBayes,
    ThreeAImage,
    ThreeATable,
)
from sfumato.mechanisms.moments import maps
from sfumato.mechanisms.table.settings.table import TableSettings
from sfumato.public.plan.answers import AnsweredDoors
from sfumato.public.plan.probe import random_batch, take
from sfumato.public.schema.schema import n_rows_of

BUDGET = sf.Budget(epsilon=2.0, delta=1e-6)
WIDE = sf.Schema(
    columns=(
        *(sf.Column(name=f"x{i}", kind="numeric", bounds=(-1, 1)) for i in range(37)),
        sf.Column(name="y", kind="categorical", categories=("a", "b")),
    ),
    target="y",
)
THREE = WIDE.with_columns({"y": sf.Column(name="y", kind="categorical", categories=("a", "b", "c"))})
COLOUR = replace(
    schemas.IMAGES,
    columns=(sf.Column(name="image", kind="image", shape=(9, 8, 3), bounds=(0, 1)), schemas.IMAGES.columns[1]),
)
ONE_HOT = sf.Schema(
    columns=(
        *(sf.Column(name=f"soil_{i}", kind="boolean") for i in range(4)),
        *schemas.TABLE.columns[:3],
        sf.Column(name="y", kind="categorical", categories=tuple("abcde")),
    ),
    target="y",
    rows=20_000,
)
ALIKE = sf.Schema(
    columns=tuple(sf.Column(name=name, kind="numeric", bounds=(0, 1_000), missing=name == "b") for name in "abc"),
    rows=20_000,
)
CLUSTMIX = ClustMix(sigma_max=2.0, most_clusters=4, rounds=2, coordinates=7, kernel_width=11)
REPLACE = sf.PrivacyUnit(relation="replace_one")
_DEFAULT = TableSettings()
SMALL = replace(
    _DEFAULT,
    joint=replace(_DEFAULT.joint, population_rows=2_000),
    target=replace(_DEFAULT.target, learning_rows=500, hessian_rows=300),
)

CASES = {
    "histograms": (IndependentHistograms(), schemas.TABLE),
    "table": (ThreeATable(settings=SMALL), schemas.TABLE),
    "table-all-stages": (ThreeATable(settings=SMALL), replace(schemas.TABLE, rows=20_000)),
    "table-number": (ThreeATable(settings=SMALL), replace(schemas.TABLE, target="pressure", rows=20_000)),
    "table-classes": (ThreeATable(settings=SMALL), ONE_HOT),
    "table-rare": (ThreeATable(settings=SMALL), replace(schemas.TABLE, rows=20_001)),
    "table-differences": (ThreeATable(settings=SMALL), ALIKE),
    "moments": (Moments(), WIDE),
    "moments-three": (Moments(), THREE),
    "clustmix": (CLUSTMIX, WIDE),
    "clustmix-em": (replace(CLUSTMIX, approximator="em"), schemas.TABLE),
    "clustmix-images": (CLUSTMIX, COLOUR),
    "image": (ThreeAImage(coefficients=20, clusters=3, rounds=2, teacher_steps=3, practice=60, rows=20), COLOUR),
    "dpmix": (DPMix(mixtures=12, degree=20), schemas.IMAGES),
    "kip": (Kip(points=2, n_features=32, n_steps=2, coefficients=12), COLOUR),
    "mst": (Mst(), schemas.TABLE),
    "aim": (Aim(rounds=0.5), schemas.TABLE),
    "privbayes": (PrivBayes(), schemas.TABLE),
    "dp-merf": (DPMerf(waves=40, latent=4, hidden=8, n_steps=2, batch=20), schemas.TABLE),
    "dp-merf-images": (DPMerf(waves=40, latent=4, hidden=8, n_steps=2, batch=20), COLOUR),
    "dp-gan": (DPGan(n_steps=2, batch=60, generated=10, coefficients=12, hidden=8), COLOUR),
    "local-reports": (LocalReports(coefficients=12), replace(COLOUR, unit=REPLACE, rows=400)),
    "dp-pro": (DPPro(dimensions=6), replace(schemas.REPLACE, rows=400)),
    "dp-syn": (DPSyn(latent=3, components=2, rounds=2), schemas.TABLE),
    "dp-syn-clusters": (DPSyn(groups="clusters", latent=3, components=2, rounds=2), schemas.IMAGES),
    "dp-syn-network": (DPSyn(encoder="network", latent=3, n_steps=2, batch=60), schemas.TABLE),
    "dp-syn-variational": (DPSyn(encoder="variational", latent=3, n_steps=2, batch=60), schemas.IMAGES),
    "p3gm": (P3GM(latent=3, coefficients=12, n_steps=2, batch=60), COLOUR),
    "pate-gan": (PateGan(rounds=1, queries=4, reference=10, rows_each=60, coefficients=12, hidden=8), COLOUR),
    "dp-kip": (DPKip(points=2, n_steps=2, batch=60, coefficients=12), COLOUR),
}


#: Steps that a case is there for.
STEPS = {
    "table-all-stages": {"spikes", "moments", "pairs", "links", "triples", "cubes", "teacher"},
    "table-number": {"teacher"},
    "table-classes": {"groups", "teacher"},
    "table-rare": {"teacher"},
    "table-differences": {"differences", "fine"},
    "moments": {"spreads", "squares", "moments", "evidence"},
}


class PlaceChecking(AnsweredDoors):
    """Doors that try every map on public rows: in another order, among other rows, alone."""

    def __init__(self, fitted: sf.Fitted) -> None:
        super().__init__(fitted.plan, fitted.answers)
        self.rows = random_batch(fitted.schema, n_rows=600, seed=1)
        self.n_maps = 0
        self.steps = set()

    def prepare(self, name, per_record):
        column = self.checked(lambda batch: {name: per_record(batch)})[name]
        self.rows[name] = np.asarray(column, dtype=np.float32)

    def noisy_sum(self, step_name, per_record=None):
        if per_record is not None:  # gradients are answered as a sum, without a map
            self.checked(per_record)
        self.steps.add(step_name)
        return super().noisy_sum(step_name, per_record)

    def noisy_mixtures(self, step_name, per_record, *, group_of=None):
        self.checked(per_record)
        return super().noisy_mixtures(step_name, per_record, group_of=group_of)

    def noisy_reports(self, step_name, per_record):
        self.checked(per_record)
        return super().noisy_reports(step_name, per_record)

    def noisy_choice(self, step_name, per_record, expected):
        self.checked(per_record)
        return super().noisy_choice(step_name, per_record, expected)

    def checked(self, per_record):
        self.n_maps += 1
        rng, n_rows = np.random.default_rng(self.n_maps), n_rows_of(self.rows)
        together = per_record(self.rows)
        order = rng.permutation(n_rows)
        for some in (order, order[:512], order[:37], order[:7], order[:1], np.r_[order[:3], order[:3]]):
            apart = per_record(take(self.rows, some))
            assert apart.keys() == together.keys()
            for name, values in together.items():
                floats = np.asarray(values).dtype.kind == "f"
                assert np.array_equal(np.asarray(values)[some], apart[name], equal_nan=floats), (name, len(some))
        return together


def frame_of(schema: sf.Schema) -> Any:
    batch = random_batch(schema, n_rows=400, seed=0)
    if not schema.images:
        frame = schema.decode(batch)
        if schema is ALIKE:  # two columns that are nearly equal
            frame["c"] = np.minimum(frame["a"] + batch["b"] / 200, 1_000)
        elif (
            schema.rows == 20_000
        ):  # a value that many share, a column that follows another, and a rule of three columns
            frame.loc[::3, "pressure"] = 120.25
        if schema.rows == 20_000 and schema.target == "ill":
            old, late = frame["age"] > 54, batch["visit"] > 1.6e9
            odd = old ^ late ^ (batch["smoker"] == 1)
            frame["region"], frame["ill"] = np.where(old, "north", "south"), np.where(odd, "yes", "no")
        return frame
    return {c.name: batch[c.name] if c.kind == "image" else c.decode(batch[c.name]) for c in schema.columns}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_map_is_exact_at_every_place(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if case.endswith("kip") or case.startswith(
        ("dp-gan", "dp-merf", "dp-syn-network", "dp-syn-variational", "p3gm", "pate-gan")
    ):
        pytest.importorskip("torch")
    mechanism, schema = CASES[case]
    data = sf.Sensitive.read(frame_of(schema), schema)
    # A teacher needs more of the few rows than a small budget lets it see.
    budget = sf.Budget(epsilon=200.0, delta=1e-6) if schema.rows == 20_000 else BUDGET
    fitted = sf.fit(mechanism, data, budget, seed=0, source=NoiseSource(research_seed=1))
    doors = PlaceChecking(fitted)
    again = mechanism.build(mechanism.measure(doors, schema), schema, seed=0)
    assert doors.n_maps
    assert doors.steps >= STEPS.get(case, set())
    if case == "table-differences":
        assert any("close to" in note for note in fitted.model.notes)
    n_rows = min(50, fitted.model.default_rows)
    first, second = (model.sample(n_rows, seed=2) for model in (fitted.model, again))
    if first.table is not None:
        assert first.table.equals(second.table)
    else:
        assert np.array_equal(first.images, second.images)
        assert np.array_equal(first.labels, second.labels)


def test_a_plain_product_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "exact_products", np.matmul)
    with pytest.raises(AssertionError, match="gradient"):
        test_every_map_is_exact_at_every_place("moments-three", monkeypatch)
