"""Rebuilt rows: what rounding explains gets its tick, what is near is declared, and nothing else passes."""

import os
import subprocess
import sys
import types
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.mechanisms import ThreeAImage
from sfumato.model import Synthetic
from sfumato.verification.comparison import ROUNDING, Difference, rows_differ, weights_differ
from sfumato.verification.findings import Findings
from sfumato.verification.rebuilt import Rebuilt, settle_rebuilt

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


def found(a, b, schema=SCHEMA):
    difference = rows_differ(a, b, schema)
    return difference.beyond_rounding, difference.far


def test_rounding_is_less_than_a_billionth_of_the_bounds():
    a = rows()
    assert found(a, a) == (0, 0)
    assert found(a, changed(a, "x", lambda x: x + 0.9 * 1000 * ROUNDING)) == (0, 0)
    n_numbers = int(a.table["x"].notna().sum())
    assert found(a, changed(a, "x", lambda x: x + 1.1 * 1000 * ROUNDING)) == (n_numbers, 0)  # near, and no tick
    assert found(a, changed(a, "x", lambda x: x + 0.01)) == (n_numbers, n_numbers)


def test_a_sum_of_two_million_numbers_in_any_order_stays_within_the_bound():
    """What the bound is derived from, tried: orders, blocks and fused halves, in units of the sum of the sizes."""
    values = np.random.default_rng(0).random(2**21)
    sums = [
        values.sum(),
        values[::-1].cumsum()[-1],
        values.cumsum()[-1],
        np.sort(values).cumsum()[-1],
        values @ np.ones_like(values),
    ]
    assert 0 < (max(sums) - min(sums)) / values.sum() < ROUNDING


def test_a_file_changes_nothing(tmp_path):
    a = rows()
    a.table.to_parquet(tmp_path / "rows.parquet", index=False)
    again = pd.read_parquet(tmp_path / "rows.parquet")
    assert found(Synthetic(table=again), Synthetic(table=pd.read_parquet(tmp_path / "rows.parquet"))) == (0, 0)


def test_a_changed_cell_counts_and_so_does_its_row():
    a = rows()
    for name, value in (("n", 3), ("c", "b"), ("b", True), ("d", pd.Timestamp("2001-01-01")), ("x", 500.0)):
        for absent in (False, True) if SCHEMA[name].missing else (False,):
            new = a.table[name].copy()
            before = new.iloc[7]
            new.iloc[7] = None if absent else value
            is_new = pd.isna(before) != absent if absent or pd.isna(before) else before != value
            assert found(a, changed(a, name, lambda _, new=new: new)) == ((1, 1) if is_new else (0, 0)), name


def test_a_whole_number_beyond_what_a_float_holds_counts():
    large = [Synthetic(table=pd.DataFrame({"n": pd.array([2**53 + more], dtype="Int64")})) for more in (0, 1)]
    wide = sf.Schema(columns=(sf.Column(name="n", kind="integer", bounds=(0, 2**60), missing=True),))
    assert found(*large, wide) == (1, 1)


def test_a_whole_number_in_wide_bounds_counts():
    wide = sf.Schema(columns=(sf.Column(name="n", kind="integer", bounds=(0, 10**12)),))
    assert found(*(Synthetic(table=pd.DataFrame({"n": [10**11 + more]})) for more in (0, 1)), wide) == (1, 1)


def test_other_rows_are_all_others():
    a = rows()
    assert rows_differ(a, rows(seed=1), SCHEMA).far > 0.9 * len(a)
    for other in (
        rows(n_rows=1_999),
        replace(a, table=a.table[list("ncdbx")]),
        changed(a, "n", lambda n: n.astype(str)),
    ):
        assert rows_differ(a, other, SCHEMA).far == len(a)


PICTURES = sf.Schema(columns=(sf.Column(name="image", kind="image", shape=(4, 4)),))


def test_pictures_that_differ_by_a_step_are_near_and_get_no_tick():
    rng = np.random.default_rng(0)
    bytes_ = Synthetic(images=rng.integers(1, 200, (20, 4, 4), dtype=np.uint8), labels=np.arange(20) % 3)
    for step, far in ((1, 0), (-1, 0), (2, 20)):
        moved = replace(bytes_, images=(bytes_.images.astype(int) + step).astype(np.uint8))
        assert found(bytes_, moved, PICTURES) == (320, far)
    assert rows_differ(bytes_, replace(bytes_, labels=(bytes_.labels + 1) % 3), PICTURES).far == 20
    assert rows_differ(bytes_, replace(bytes_, labels=None), PICTURES).far == 20
    soft = replace(bytes_, soft_labels=rng.random((20, 3), dtype=np.float32))
    assert found(soft, replace(soft, soft_labels=soft.soft_labels + np.float32(1 / 1024)), PICTURES) == (60, 0)
    assert found(soft, replace(soft, soft_labels=soft.soft_labels + np.float32(2**-23)), PICTURES) == (0, 0)
    assert rows_differ(soft, replace(soft, soft_labels=1 - soft.soft_labels), PICTURES).far > 15
    few_greys = PICTURES.with_columns({"image": replace(PICTURES["image"], bounds=(0.0, 16.0))})
    assert rows_differ(bytes_, replace(bytes_, images=bytes_.images + np.uint8(1)), few_greys).far == 20


def test_weights_that_are_near_get_no_tick():
    weights = {"w": np.linspace(-1, 1, 100), "n": np.arange(3)}
    for by, expected in ((2**-31, (0, 0)), (1e-6, (100, 0)), (0.1, (100, 100))):
        difference = weights_differ(weights, {**weights, "w": weights["w"] + by})
        assert (difference.beyond_rounding, difference.far) == expected
    assert weights_differ(weights, {**weights, "n": np.arange(1, 4)}).far == 3
    assert weights_differ(weights, {"w": weights["w"]}).far == 103


def settled(difference, *, is_same=False):
    """What a verification says of such a difference."""
    said = Findings(declared=[])
    certificate = types.SimpleNamespace(warnings=(), notes=())
    rebuilt = Rebuilt(what="the rows", is_same=is_same, difference=difference, warnings=(), notes=())
    settle_rebuilt(rebuilt, certificate, said)
    return bool(said.problems), any("the rows are what" in sentence for sentence in said.checked), bool(said.declared)


def test_real_rows_among_many_are_refused_and_get_no_tick():
    """Twenty-five of thirty thousand, in every cell, or in one cell each, are no rounding."""
    a = rows(n_rows=30_000)
    for columns in (list(a.table), ["c"], ["n"], ["d"]):
        mixed = a.table.copy()
        mixed.loc[:24, columns] = rows(seed=5, n_rows=30_000).table.loc[:24, columns]
        difference = rows_differ(a, replace(a, table=mixed), SCHEMA)
        assert 8 <= difference.far <= 25
        assert settled(difference) == (True, False, False)


def test_only_rounding_gets_the_tick():
    refused, ticked, declared = (True, False, False), (False, True, False), (False, False, True)
    assert settled(Difference(210_000, 0, 30_000, 0), is_same=True) == ticked
    assert settled(Difference(210_000, 0, 30_000, 0)) == (False, True, True)
    assert settled(Difference(210_000, 40, 30_000, 0)) == declared
    assert settled(Difference(210_000, 7, 30_000, 1)) == declared
    assert settled(Difference(210_000, 14, 30_000, 2)) == refused
    assert settled(Difference(420, 1, 60, 1)) == refused


KINDS = ("table", "wide", "images")


def released(kind, folder):
    """A release of one of the three defaults."""
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
    return sf.release(fitted, to=folder / kind, rows=3_000).path


@pytest.fixture(scope="module")
def by_other_arithmetic(tmp_path_factory):
    """What `verify` finds with the linear algebra and the loops of another processor: one process, which makes them once."""
    folder = tmp_path_factory.mktemp("borne-out")
    paths = {kind: released(kind, folder) for kind in KINDS}
    code = (
        "import sys, sfumato as sf\n"
        "for path in sys.argv[1:]: found = sf.verify(path, rebuild=True); print(found.ok, found.different)"
    )
    other = {"OPENBLAS_CORETYPE": "CORTEXA53" if os.uname().machine == "aarch64" else "Prescott"}
    # The same loops by their names in numpy 2.4 and before; names that it does not know are passed over with a warning.
    loops = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX2 FMA3 AVX512F AVX512_SKX"
    other |= {"NPY_DISABLE_CPU_FEATURES": "ASIMDHP ASIMDDP" if os.uname().machine == "aarch64" else loops}
    other |= {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(folder / "loops")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, paths.values())],
        env={**os.environ, **other}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {kind: (paths[kind], *line.split()) for kind, line in zip(KINDS, done.stdout.splitlines(), strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_borne_out_by_other_arithmetic(by_other_arithmetic, kind):
    """The same rows but for rounding."""
    path, is_ok, different = by_other_arithmetic[kind]
    assert sf.verify(path, rebuild=True).different == 0
    assert is_ok == "True", by_other_arithmetic
    assert kind == "images" or float(different) == 0  # a tick: nothing but rounding, in every cell of a table
