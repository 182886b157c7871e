"""The doctor finds what was put there, raises no alarm where nothing was, and says what it knows of tools."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from command_line import answer_of, run
from sfumato.errors import SfumatoError, SourceError
from sfumato.extending import NoiseSource
from sfumato.lab.attacks.roc import clopper_pearson, measure
from sfumato.lab.attacks.sheets import from_frames
from sfumato.lab.doctor.findings import ALARM, more_often_real, more_than_chance
from sfumato.lab.doctor.panel import all_faults, examine, faults_of
from sfumato.lab.doctor.values import exact_counts, exact_extremes, rare_values

SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(0, 100)),
        sf.Column(name="dose", kind="numeric", bounds=(0, 50)),
        sf.Column(name="ward", kind="categorical", categories=tuple("abcdefgh")),
        sf.Column(name="town", kind="categorical", categories=tuple(f"t{at}" for at in range(15))),
        sf.Column(name="ill", kind="boolean"),
    ),
    target="ill",
    rows=2_000,
)


def people(n_rows, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n_rows)
    return pd.DataFrame(
        {
            "age": age,
            "dose": np.round(rng.gamma(3, 3, n_rows), 3),
            "ward": rng.choice(list("abcdefgh"), n_rows),
            "town": rng.choice([f"t{at}" for at in range(15)], n_rows),
            "ill": rng.random(n_rows) < 1 / (1 + np.exp(-(age - 55) / 10)),
        }
    )


REAL, FRESH, HELD_BACK = people(2_000, 1), people(2_000, 2), people(1_000, 3)


def alarms(synthetic, *, holdout=None, **more):
    return {finding.check for finding in examine(REAL, synthetic, holdout=holdout, **more).leaks}


def with_copies(share):
    n_copies = int(len(REAL) * share)
    return pd.concat([REAL.head(n_copies), FRESH.iloc[n_copies:]], ignore_index=True)


@pytest.mark.parametrize("holdout", [None, HELD_BACK], ids=["alone", "with rows held back"])
def test_nothing_is_found_in_fresh_rows(holdout):
    assert alarms(FRESH, holdout=holdout) == set()


def test_nothing_is_found_in_a_release_at_epsilon_one():
    private = sf.Sensitive.read(REAL, SCHEMA)
    # Each test of the panel raises a false alarm once in 1,000 releases.
    budget, source = sf.Budget(epsilon=1.0, delta=1e-6), NoiseSource(research_seed=0)
    released = sf.fit("independent-histograms", private, budget, seed=0, source=source).sample(2_000)
    assert alarms(released.table, holdout=HELD_BACK) == set()


@pytest.mark.parametrize("holdout", [None, HELD_BACK], ids=["alone", "with rows held back"])
def test_one_per_cent_of_copied_rows_is_found(holdout):
    assert "copied rows" in alarms(with_copies(0.01), holdout=holdout)
    assert "copied rows" not in alarms(with_copies(0.001), holdout=holdout)


def test_exact_marginals_are_found():
    shuffled = pd.DataFrame({name: np.random.default_rng(0).permutation(REAL[name]) for name in REAL})
    assert alarms(shuffled) >= {"exact counts", "raw numbers"}
    twice = pd.concat([shuffled, shuffled], ignore_index=True)  # another number of rows, the same shares
    assert exact_counts(from_frames(REAL, twice), epsilon=1.0).verdict == "leak"


def test_near_copies_are_found_with_rows_held_back():
    near = REAL.head(400).assign(dose=lambda rows: rows["dose"] + 1e-4)
    assert "near copies" in alarms(pd.concat([near, FRESH.iloc[400:]], ignore_index=True), holdout=HELD_BACK)


def test_exact_ends_are_found_and_round_ones_passed_over():
    rng = np.random.default_rng(0)
    real = pd.DataFrame({"x": rng.normal(size=500), "y": rng.normal(size=500)})
    same_ends = pd.DataFrame({name: rng.uniform(real[name].min(), real[name].max(), 500) for name in real})
    same_ends.iloc[0], same_ends.iloc[1] = real.min(), real.max()
    assert exact_extremes(from_frames(real, same_ends)).verdict == "leak"
    public = real.copy()
    public.loc[0] = [9.0, 9.0]  # a bound that anybody would give
    inside = pd.concat([same_ends.iloc[2:], public.head(1)])  # its smallest numbers are its own
    assert exact_extremes(from_frames(public, inside)).verdict == "clear"


def test_rare_categories_of_real_rows_are_told_from_public_lists():
    def named(start, n):
        return pd.DataFrame({"name": [f"p{at}" for at in range(start, start + n)], "k": ["a"] * n})

    real, holdout = named(0, 200), named(200, 200)
    assert rare_values(from_frames(real, named(0, 200), holdout)).verdict == "leak"
    assert rare_values(from_frames(real, named(0, 400), holdout)).verdict == "clear"  # the whole list is public
    assert rare_values(from_frames(real, named(0, 200))).verdict == "note"


def test_the_tests_behind_the_panel():
    assert more_often_real(10, 0, n_real=100, n_other=100) == pytest.approx(
        np.prod([(100 - i) / (200 - i) for i in range(10)])
    )
    few, many = (more_than_chance(30, doubles=d, per_double=2.0, phantoms=0, per_phantom=0.1) for d in (0, 20))
    assert few < ALARM < many
    assert clopper_pearson(0, 100).low == 0
    assert clopper_pearson(100, 100).high == 1
    rng = np.random.default_rng(0)
    blind = measure("", rng.normal(size=3_000), rng.normal(size=3_000), how="")
    assert abs(blind.auc.value - 0.5) < blind.auc.high - blind.auc.low  # two half-widths, so no luck is needed
    assert blind.least_epsilon == 0
    sharp = measure("", rng.normal(4, 1, size=3_000), rng.normal(size=3_000), how="")
    assert sharp.rate_at_low.value > 0.5
    assert sharp.least_epsilon > 3


def test_known_faults_have_sources_and_name_tests_of_the_panel():
    checks = {finding.check for finding in examine(REAL.head(50), FRESH.head(50)).findings}
    for fault in all_faults():
        assert fault.source
        assert fault.fault
        assert set(fault.look) <= checks, fault
    assert any("one object" in fault.fault for fault in faults_of("SmartNoise"))
    with pytest.raises(SfumatoError, match="does not mean that it has none"):
        faults_of("nobody's tool")
    page = (Path(__file__).resolve().parents[2] / "docs" / "research" / "known-faults.md").read_text("utf-8")
    cited = set(re.findall(r"arXiv \d{4}\.\d{5}", page))
    assert cited == set(re.findall(r"arXiv \d{4}\.\d{5}", " ".join(fault.source for fault in all_faults())))


def test_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    REAL.to_csv("real.csv", index=False)
    FRESH.head(300).to_parquet("fresh.parquet", index=False)
    with_copies(0.05).to_csv("copies.csv", index=False)
    good = run("doctor", "--real", "real.csv", "--synthetic", "fresh.parquet", "--json")
    assert good.exit_code == 0
    assert answer_of(good)["leak"] is False
    bad = run("doctor", "--real", "real.csv", "--synthetic", "copies.csv", "--tool", "synthcity")
    assert bad.exit_code == 4
    assert "LEAK" in bad.stdout
    assert "NOT PRIVATE" in bad.stdout
    assert "seeds of all random generators are 0" in re.sub(r"\s+", " ", bad.stdout)
    Path("other.csv").write_text("z\n1\n2\n")
    refused = run("doctor", "--real", "real.csv", "--synthetic", "other.csv")
    assert refused.exit_code == 1
    assert "no column in common" in refused.stderr
    with pytest.raises(SourceError, match="does not exist"):
        examine("real.csv", "missing.csv")


def spelled(frame, *, yes="Yes", no="No"):
    return frame.assign(ill=np.where(frame["ill"], yes, no))


@pytest.mark.parametrize("words", [("Yes", "No"), ("true", "false"), ("1", "0"), ("ja", "nein")])
def test_a_copy_is_known_however_yes_and_no_are_spelled(words):
    yes, no = words
    leaked = spelled(with_copies(0.05), yes=yes, no=no)
    assert "copied rows" in alarms(leaked)
    assert not alarms(spelled(FRESH, yes=yes, no=no))


def test_a_copy_is_known_where_numbers_have_blanks():
    """A blank makes a column of texts in one table, and not in the other."""
    real, leaked = REAL.copy().astype({"age": object}), with_copies(0.05)
    real.loc[1_990:, "age"] = " "
    assert "copied rows" in {finding.check for finding in examine(real, leaked).leaks}


def test_a_copy_is_known_by_dates_and_their_texts():
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(2_000) % 900, unit="D")
    leaked = with_copies(0.05).assign(day=days.strftime("%Y-%m-%d"))
    assert "copied rows" in {finding.check for finding in examine(REAL.assign(day=days), leaked).leaks}


def test_what_shares_no_value_is_not_tested_and_hides_no_copy():
    """Words of another language: the rest of the row still tells."""
    found = examine(REAL, with_copies(0.05).assign(ward=lambda rows: "ward " + rows["ward"]))
    assert found.columns_not_tested == ("ward",)
    assert next(finding.check for finding in found.findings if finding.verdict == "not tested") == "spelling"
    assert "copied rows" in {finding.check for finding in found.leaks}
    with pytest.raises(SourceError, match="no column of the tables shares a value"):
        examine(REAL[["ward"]], REAL[["ward"]].assign(ward="other"))


def test_a_schema_says_what_values_mean():
    """Words that nobody could know to be yes and no."""
    own = tuple(
        sf.Column(name="ill", kind="boolean", true_words=("krank",), false_words=("gesund",)) if c.name == "ill" else c
        for c in SCHEMA.columns
    )
    leaked = spelled(with_copies(0.05), yes="krank", no="gesund")
    assert examine(REAL, leaked).columns_not_tested == ("ill",)
    found = examine(REAL, leaked, schema=sf.Schema(columns=own))
    assert found.columns_not_tested == ()
    assert "copied rows" in {finding.check for finding in found.leaks}


def test_the_command_takes_a_schema(tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    REAL.to_csv(tmp_path / "real.csv", index=False)
    spelled(with_copies(0.05)).to_csv(tmp_path / "synthetic.csv", index=False)
    asked = (
        "--real",
        tmp_path / "real.csv",
        "--synthetic",
        tmp_path / "synthetic.csv",
        "--schema",
        tmp_path / "schema.toml",
    )
    done = run("doctor", *asked, "--json")
    assert done.exit_code == 4
    assert not answer_of(done)["columns_not_tested"]
