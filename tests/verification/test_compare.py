"""Rebuilt rows: what rounding explains is let pass, and nothing else."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.mechanisms import ThreeAImage
from sfumato.model import Synthetic
from sfumato.verification.comparison import share_different
from sfumato.verification.rebuilt import MOST_DIFFERENT

SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="x", kind="numeric", bounds=(0, 1000), missing=True),
        sf.Column(name="n", kind="integer", bounds=(0, 9), missing=True),
        sf.Column(name="c", kind="categorical", categories=("a", "b"), missing=True),
        sf.Column(name="d", kind="datetime", bounds=(0, 1e9)),
        sf.Column(name="b", kind="boolean"),
    )
)


def rows(seed=0, n_rows=2_000):
    rng = np.random.default_rng(seed)
    batch = {
        "x": np.where(rng.random(n_rows) < 0.1, np.nan, 1000 * rng.random(n_rows)),
        "n": np.where(rng.random(n_rows) < 0.1, np.nan, rng.integers(0, 10, n_rows)),
        "c": rng.integers(0, 3, n_rows),
        "d": rng.integers(0, 10**9, n_rows).astype(float),
        "b": rng.integers(0, 2, n_rows),
    }
    return Synthetic(table=SCHEMA.decode(batch))


def changed(synthetic, name, how):
    return replace(synthetic, table=synthetic.table.assign(**{name: how(synthetic.table[name])}))


def test_rounding_errors_of_numbers_pass():
    a = rows()
    assert share_different(a, a, SCHEMA) == 0
    assert share_different(a, changed(a, "x", lambda x: x * (1 + 1e-9)), SCHEMA) == 0
    assert share_different(a, changed(a, "x", lambda x: x + 0.01), SCHEMA) > 0.1


def test_a_file_changes_nothing(tmp_path):
    a = rows()
    a.table.to_parquet(tmp_path / "rows.parquet", index=False)
    assert share_different(a, Synthetic(table=pd.read_parquet(tmp_path / "rows.parquet")), SCHEMA) == 0


def test_a_changed_cell_counts():
    a = rows()
    cell = 1 / (5 * len(a))
    for name, value in (("n", 3), ("c", "b"), ("b", True), ("d", pd.Timestamp("2001-01-01")), ("x", 500.0)):
        for absent in (False, True) if SCHEMA[name].missing else (False,):
            new = a.table[name].copy()
            before = new.iloc[7]
            new.iloc[7] = None if absent else value
            is_new = pd.isna(before) != absent if absent or pd.isna(before) else before != value
            assert share_different(a, changed(a, name, lambda _, new=new: new), SCHEMA) == (cell if is_new else 0), name


def test_other_rows_are_told():
    a = rows()
    assert share_different(a, rows(seed=1), SCHEMA) > 100 * MOST_DIFFERENT
    assert share_different(a, rows(n_rows=1_999), SCHEMA) == 1
    assert share_different(a, replace(a, table=a.table[list("ncdbx")]), SCHEMA) == 1
    assert share_different(a, changed(a, "n", lambda n: n.astype(str)), SCHEMA) == 1


PICTURES = sf.Schema(columns=(sf.Column(name="image", kind="image", shape=(4, 4)),))


def test_images_differ_by_at_most_a_step():
    rng = np.random.default_rng(0)
    bytes_ = Synthetic(images=rng.integers(1, 200, (20, 4, 4), dtype=np.uint8), labels=np.arange(20) % 3)
    assert share_different(bytes_, replace(bytes_, images=bytes_.images + np.uint8(1)), PICTURES) == 0
    assert share_different(bytes_, replace(bytes_, images=bytes_.images - np.uint8(1)), PICTURES) == 0
    assert share_different(bytes_, replace(bytes_, images=bytes_.images + np.uint8(2)), PICTURES) > 0.9
    assert share_different(bytes_, replace(bytes_, labels=(bytes_.labels + 1) % 3), PICTURES) > 0.05
    assert share_different(bytes_, replace(bytes_, labels=None), PICTURES) == 1
    soft = replace(bytes_, soft_labels=rng.random((20, 3), dtype=np.float32))
    assert share_different(soft, replace(soft, soft_labels=soft.soft_labels + np.float32(1 / 1024)), PICTURES) == 0
    assert share_different(soft, replace(soft, soft_labels=1 - soft.soft_labels), PICTURES) > 0.1
    few_greys = PICTURES.with_columns({"image": replace(PICTURES["image"], bounds=(0.0, 16.0))})
    assert share_different(bytes_, replace(bytes_, images=bytes_.images + np.uint8(1)), few_greys) > 0.9


@pytest.mark.parametrize("kind", ["table", "wide", "images"])
def test_a_release_is_borne_out_by_other_arithmetic(tmp_path, kind):
    """The linear algebra and the loops of another processor, on this one: the same rows but for rounding."""
    rng = np.random.default_rng(1)
    if kind == "images":
        label = sf.Column(name="label", kind="categorical", categories=("0", "1", "2"))
        schema = sf.Schema(
            columns=(sf.Column(name="image", kind="image", shape=(8, 8)), label), target="label", rows=600
        )
        data = {"image": rng.integers(0, 256, (600, 8, 8), dtype=np.uint8), "label": rng.integers(0, 3, 600)}
    else:
        n_columns = 8 if kind == "table" else 150
        columns = [sf.Column(name=f"x{i}", kind="numeric", bounds=(0, 1)) for i in range(n_columns)]
        schema = sf.Schema(columns=(*columns, sf.Column(name="y", kind="boolean")), target="y", rows=600)
        x = rng.random((600, n_columns))
        data = {f"x{i}": x[:, i] for i in range(n_columns)} | {"y": x[:, 0] > x[:, 1]}
    mechanism = ThreeAImage(practice=500, teacher_width=64) if kind == "images" else "auto"
    fitted = sf.fit(mechanism, sf.Sensitive.read(data, schema), sf.Budget(epsilon=2.0, delta=1e-6))
    sf.release(fitted, to=tmp_path / "release", rows=3_000)
    assert sf.verify(tmp_path / "release", rebuild=True).different == 0
    code = "import sys, sfumato as sf; found = sf.verify(sys.argv[1], rebuild=True); print(found.ok, found.different)"
    other = {"OPENBLAS_CORETYPE": "ARMV8" if os.uname().machine == "aarch64" else "Prescott"}
    # The same loops by their names in numpy 2.4 and before; names that it does not know are passed over with a warning.
    loops = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX2 FMA3 AVX512F AVX512_SKX"
    other |= {"NPY_DISABLE_CPU_FEATURES": "" if os.uname().machine == "aarch64" else loops}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "release")],
        env={**os.environ, **other}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split()[0] == "True", done.stdout
