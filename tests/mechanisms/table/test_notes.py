"""What was pooled, found or left out is said after measuring, from noisy numbers, and verify says it again."""

from pathlib import Path

import numpy as np
import pandas as pd
from small_tables import TINY_TABLE

import sfumato as sf
from sfumato.extending import NoiseSource

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)


def towns(n_rows: int, n_towns: int) -> sf.Sensitive:
    """Ten large towns and very many small ones."""
    rng = np.random.default_rng(0)
    town = np.where(rng.random(n_rows) < 0.9, rng.integers(0, 10, n_rows), rng.integers(10, n_towns, n_rows))
    schema = sf.Schema(
        columns=(
            sf.Column(name="town", kind="categorical", categories=tuple(f"t{i}" for i in range(n_towns))),
            sf.Column(name="ill", kind="boolean"),
        ),
        target="ill",
        rows=n_rows,
    )
    return sf.Sensitive.read({"town": [f"t{i}" for i in town], "ill": rng.random(n_rows) < 0.5}, schema)


def test_rare_categories_are_pooled_and_said_so(tmp_path: Path) -> None:
    fitted = sf.fit(TINY_TABLE, towns(20_000, 3_000), BUDGET, seed=0)
    binning = fitted.model.fitted.binned.binnings[0]
    alone = binning.size - 1
    assert 10 <= alone <= 63
    assert fitted.model.notes[0] == (
        f"Categories of 'town': {3_000 - alone:,} of 3,000 are pooled as too rare, by noisy counts. Each keeps its own noisy "
        "share, and its classes as far as noise allows; how it goes with other columns is that of the whole pool."
    )
    made = sf.release(fitted, to=tmp_path / "release")
    assert made.certificate.notes == fitted.model.notes
    assert f"{3_000 - alone:,} of 3,000 are pooled" in (made.path / "report.html").read_text()
    found = sf.verify(made.path, rebuild=True)
    assert "the notes are those that follow from the doors' integers, none left out" in found.checked
    assert found.ok


def test_few_categories_are_none_of_them_pooled() -> None:
    fitted = sf.fit(TINY_TABLE, towns(5_000, 40), BUDGET, seed=0, source=NoiseSource(research_seed=0))
    assert not any("pooled" in note for note in fitted.model.notes)


def test_groups_that_were_found_are_named_and_declared_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 4, 5_000)
    names = [f"soil_{i}" for i in range(4)]
    frame = pd.DataFrame({name: kind == at for at, name in enumerate(names)}).assign(x=rng.random(5_000))
    columns = (*(sf.Column(name=n, kind="boolean") for n in names), sf.Column(name="x", kind="numeric", bounds=(0, 1)))
    schema = sf.Schema(columns=columns, rows=5_000)
    found = sf.fit(TINY_TABLE, sf.Sensitive.read(frame, schema), BUDGET, seed=0).model.notes
    assert found == (
        "Nearly all rows have exactly one of 'soil_0' to 'soil_3' set, by a noisy count: so have the synthetic ones, or none.",
    )
    known = sf.Schema(columns=columns, rows=5_000, one_of=names)
    assert sf.fit(TINY_TABLE, sf.Sensitive.read(frame, known), BUDGET, seed=0).model.notes == ()


def test_many_columns_take_few_sentences() -> None:
    many = tuple(
        sf.Column(name=f"c{i}", kind="categorical", categories=tuple(f"k{j}" for j in range(70))) for i in range(150)
    )
    data = sf.Sensitive.read({c.name: ["k1"] * 50 for c in many}, sf.Schema(columns=many, rows=50))
    notes = sf.fit(TINY_TABLE, data, BUDGET, seed=0).model.notes
    assert len(notes) == 21
    assert notes[-1] == "Rare categories of 130 columns more are pooled likewise."


def test_a_model_without_notes_leaves_none(tmp_path: Path) -> None:
    fitted = sf.fit("independent-histograms", towns(1_000, 40), BUDGET)
    assert sf.release(fitted, to=tmp_path / "release").certificate.notes == ()


def follows(n_codes: int, given: tuple[tuple[str, ...], ...] = ()) -> tuple[str, ...]:
    """The notes of a table in which a code gives a group."""
    rng, names = np.random.default_rng(0), tuple(f"c{i}" for i in range(n_codes))
    code = rng.integers(0, n_codes, 2_000)
    columns = (
        sf.Column(name="code", kind="categorical", categories=names),
        sf.Column(
            name="group", kind="categorical", categories=tuple("abcd"), depends_on=("code",), depends_on_map=given
        ),
    )
    frame = pd.DataFrame({"code": [names[c] for c in code], "group": [tuple("abcd")[c % 4] for c in code]})
    data = sf.Sensitive.read(frame, sf.Schema(columns=columns, rows=2_000))
    return sf.fit(TINY_TABLE, data, BUDGET, seed=0, source=NoiseSource(research_seed=0)).model.notes


def test_a_function_that_noise_hides_is_named_with_how_many_rows_obey() -> None:
    (note,) = [note for note in follows(400) if "depends_on_map" in note]
    assert note.startswith("What follows in 'group' was measured, and by the noise is right in about")
    assert 25 <= int(note.split("about ")[1].split("%")[0]) <= 75
    assert not any("depends_on_map" in note for note in follows(8))
    assert not any(
        "depends_on_map" in note for note in follows(400, tuple((f"c{i}", "abcd"[i % 4]) for i in range(400)))
    )
