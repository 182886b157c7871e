"""The doctor finds real rows in any dress: other spelling, other names, rounded, moved, or copied in some columns only."""

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.lab.attacks.meaning import as_codes, as_numbers, same_names
from sfumato.lab.attacks.sheets import from_frames
from sfumato.lab.doctor import values
from sfumato.lab.doctor.panel import examine, read_table
from sfumato.lab.doctor.parts import copied_parts

N, COPIED = 1_000, 100


def people(seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, N),
            "dose": np.round(rng.gamma(3, 3, N), 3),
            "income": np.round(rng.lognormal(10, 0.5, N), 2),
            "ward": rng.choice([f"ward {letter}" for letter in "abcdefgh"], N),
            "town": rng.choice([f"town {at}" for at in range(15)], N),
            "ill": rng.choice(["Yes", "No"], N),
        }
    )


REAL, FRESH = people(1), people(2)


def with_copies(disguised=lambda rows: rows):
    return pd.concat([disguised(REAL.head(COPIED)), FRESH.iloc[COPIED:]], ignore_index=True)


def verdicts(synthetic, *tests, real=REAL):
    found = from_frames(*same_names([real, synthetic]))
    return [test(found).verdict for test in tests]


@pytest.mark.parametrize(
    "disguised",
    [
        lambda rows: rows.assign(dose=rows["dose"].round(1), income=rows["income"].round(-1)),
        lambda rows: rows.assign(dose=rows["dose"] + 1e-4, income=rows["income"] + 0.003),
        lambda rows: pd.concat([rows[["age", "dose", "ward"]], FRESH[["income", "town", "ill"]].head(COPIED)], axis=1),
        lambda rows: pd.concat([rows[["ward", "town", "income"]], FRESH[["age", "dose", "ill"]].head(COPIED)], axis=1),
    ],
    ids=["rounded", "moved", "half of the columns", "the other half"],
)
def test_rows_that_were_copied_in_part_are_found_without_rows_held_back(disguised):
    assert verdicts(with_copies(disguised), values.copied_rows, copied_parts) == ["clear", "leak"]


@pytest.mark.parametrize(
    "disguised",
    [
        lambda rows: rows.assign(town=rows["town"].str.upper()),
        lambda rows: rows.assign(town=rows["town"].str.replace(" ", "_")),
        lambda rows: rows.assign(ward="  " + rows["ward"].str.replace(" ", "   ")),
        lambda rows: rows.assign(age=rows["age"].astype(float).astype(str)),
    ],
    ids=["capitals", "underscores", "spaces", "41.0"],
)
def test_real_rows_are_known_whatever_their_spelling_among_others(disguised):
    assert verdicts(with_copies(disguised), values.copied_rows) == ["leak"]


@pytest.mark.parametrize(
    "renamed",
    [str.upper, lambda name: f" {name.title()} ", lambda name: f"{name}".replace("income", "in_come")],
    ids=["capitals", "spaces", "marks"],
)
def test_columns_are_known_by_other_spellings_of_their_names(renamed):
    assert verdicts(with_copies().rename(columns=renamed), values.copied_rows) == ["leak"]


def test_names_that_could_be_two_columns_are_left_alone():
    real, other = pd.DataFrame({"a b": [1], "a_b": [2]}), pd.DataFrame({"A B": [1], "a-b": [2]})
    assert list(same_names([real, other])[1]) == ["A B", "a-b"]


def test_a_column_that_another_table_lacks_is_not_tested():
    found = examine(REAL.head(200), FRESH.head(200).rename(columns={"income": "salary"}))
    (said,) = [finding for finding in found.findings if finding.check == "names"]
    assert said.verdict == "not tested"
    assert "income" in said.sentence


@pytest.mark.parametrize(
    "spelled",
    [
        ["1.234,50", "2,25", "1.000.000,00"],
        ["1,234.50", "2.25", "1,000,000.00"],
        ["$1,234.50", "$2.25", "$1,000,000"],
        ["1.234,50 €", "2,25 €", "1.000.000 €"],
        ["1'234.50", "2.25", "1'000'000"],
    ],
)
def test_amounts_are_one_however_they_are_written(spelled):
    read = as_numbers([pd.Series([1234.5, 2.25, 1e6]), pd.Series(spelled)])
    assert read is not None
    np.testing.assert_array_equal(read[0], read[1])


@pytest.mark.parametrize(
    "form", ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%b-%Y", "%d.%m.%Y %H:%M", "%Y-%m-%dT%H:%M:%SZ"]
)
def test_days_are_one_however_they_are_written(form):
    days = pd.Series(pd.date_range("2020-01-01", periods=90))
    read = as_numbers([days.dt.strftime("%Y-%m-%d"), days.dt.strftime(form)])
    assert read is not None
    np.testing.assert_array_equal(read[0], read[1])


def test_words_stay_words():
    """What only looks a little like a number or a day is compared as text."""
    for texts in (["may", "june"], ["A1", "B2"], ["12 kg", "unknown"]):
        assert as_numbers([pd.Series(texts), pd.Series(texts)]) is None
    here, there = as_codes([pd.Series(["a", "b", None]), pd.Series(["B ", "c", "A"])])
    assert list(here) == [0, 1, -1]
    assert list(there) == [1, 2, 0]


def test_no_verdict_where_nothing_could_be_found():
    """Nine columns of three values: no row is like no other, and a copy looks as chance does."""
    rng = np.random.default_rng(0)
    few = pd.DataFrame({f"c{at}": rng.choice(list("ab"), N) for at in range(4)})
    tests = (values.copied_rows, copied_parts, values.raw_values, values.exact_extremes)
    assert verdicts(few.sample(frac=1, random_state=0), *tests, real=few) == ["not tested"] * 4


def test_no_alarm_at_an_honest_release_of_few_values():
    rng = np.random.default_rng(3)
    schema = sf.Schema.parse(
        "[dataset]\nrows = 1500\n[columns]\n"
        + "\n".join(f'c{at} = "categorical a | b | c"' for at in range(8))
        + '\nage = "integer 0..110"\n'
    )
    real = pd.DataFrame({f"c{at}": rng.choice(list("abc"), 1_500, p=[0.7, 0.25, 0.05]) for at in range(8)})
    real["age"] = rng.integers(18, 90, 1_500)
    released = sf.fit("independent-histograms", real, 1.0, schema=schema, seed=0).sample(1_500).table
    assert "leak" not in verdicts(released, values.copied_rows, copied_parts, values.raw_values, real=real)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("broad", [False, True])
def test_no_alarm_at_fresh_rows_with_heavy_tails(seed, broad):
    rng = np.random.default_rng(seed)

    def drawn():
        z = rng.integers(0, 12, 1_500)
        return pd.DataFrame(
            {
                "x": np.round(rng.pareto(1.5, 1_500) * 100),
                "y": np.where(z % 3, 0, np.round(rng.lognormal(7, 1, 1_500))),
                "k": rng.zipf(1.6, 1_500).clip(max=500),
                "m": z // 2,
                "t": rng.choice(list("xyz"), 1_500),
            }
        )

    real, fresh = drawn(), drawn()
    if broad:
        fresh = pd.DataFrame({name: rng.permutation(fresh[name]) for name in fresh})
    assert "leak" not in verdicts(fresh, values.copied_rows, copied_parts, real=real)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_table_is_read_whatever_stands_between_its_fields(mark, tmp_path):
    """Read by commas alone, a table with semicolons is one column of whole lines, and nothing of it can be known."""
    for name, table in (("real", REAL), ("theirs", with_copies())):
        text = table.head(300).to_csv(index=False, sep=mark)
        above = "sep=;\n" if mark == ";" else ""
        (tmp_path / f"{name}.csv").write_text(above + text, encoding="utf-8-sig")
    read = read_table(tmp_path / "real.csv")
    assert list(read.columns) == list(REAL.columns)
    assert len(read) == 300
    assert verdicts(read_table(tmp_path / "theirs.csv"), values.copied_rows, real=read) == ["leak"]


def test_a_table_that_cannot_be_read_is_said_in_words(tmp_path):
    pd.DataFrame({"town": ["Köln"]}).to_csv(tmp_path / "latin.csv", index=False, encoding="latin-1")
    with pytest.raises(sf.SfumatoError, match="iconv"):
        read_table(tmp_path / "latin.csv")
    with pytest.raises(sf.SfumatoError, match="does not exist"):
        read_table(tmp_path / "none.csv")
