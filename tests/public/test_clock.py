"""A time of a day: a number of seconds, read as people write it, released as it came in."""

from datetime import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from command_line import run
from sfumato.errors import SchemaError
from sfumato.lab.dry_run.drafting import draft_schema
from sfumato.lab.dry_run.reading import dry_run
from sfumato.private.intake.conforming import conform
from sfumato.public.schema.released import encoded

N = 3_000
HOURS = (np.random.default_rng(0).normal(9, 1.5, N) % 24 * 60).astype(int)
TEXTS = np.array([f"{m // 60:02d}:{m % 60:02d}" for m in HOURS])
NIGHT = sf.Column(name="at", kind="time", bounds=("22:00", "06:00"), missing=True)


def schema(**facts):
    columns = (sf.Column(name="at", kind="time", **facts), sf.Column(name="late", kind="boolean"))
    return sf.Schema(columns=columns, target="late", rows=N)


@pytest.mark.parametrize(
    "values",
    [
        np.array(["06:30", " 6:30", "6:30 AM", "06:30:00"]),
        np.array([time(6, 30)] * 2, dtype=object),
        pa.array([time(6, 30)], pa.time32("s")),
        pa.array([time(6, 30)], pa.time64("ns")),
        np.array(["2024-05-06T06:30"], dtype="datetime64[s]"),
        np.array([23_400]),
    ],
)
def test_a_time_is_read_however_it_comes(values):
    found = conform({"at": values}, sf.Schema(columns=(sf.Column(name="at", kind="time"),)))
    assert set(found["at"]) == {23_400.0}


def test_what_is_no_time_is_missing_and_what_is_outside_goes_to_the_nearer_bound_on_the_clock():
    night = sf.Schema(columns=(NIGHT,))
    values = np.array(["23:15", "05:00", "07:00", "21:00", "25:00", "soon", "", "inf"])
    rows = conform({"at": values}, night)
    texts = night.decode(rows)["at"]
    assert texts[:4].tolist() == ["23:15", "05:00", "06:00", "22:00"]
    assert texts[4:].isna().all()
    np.testing.assert_array_equal(encoded(night.decode(rows), night)["at"], rows["at"])
    assert (rows["at"][:2] == [83_700, 104_400]).all()  # the morning after lies beyond midnight


def test_each_row_alone_decides_and_no_released_time_is_outside():
    night = sf.Schema(columns=(NIGHT,))
    draw = np.random.default_rng(1).uniform(NIGHT.low, NIGHT.high, 5_000)
    again = encoded(night.decode({"at": draw}), night)["at"]
    assert again.min() >= NIGHT.low
    assert again.max() <= NIGHT.high
    assert np.abs(again - draw).max() <= 60
    exact = sf.Schema(columns=(sf.Column(name="at", kind="time", bounds=("22:00", "06:00"), seconds=True),))
    assert np.abs(encoded(exact.decode({"at": draw}), exact)["at"] - draw).max() <= 0.5


def test_a_schema_with_times_is_read_and_written():
    text = '[columns]\na = "time"\nb = "time 22:00..06:00 ?"\nc = "time 06:00:00..22:00:00"\nd = "time seconds"\n'
    found = sf.Schema.parse(text + 'e = {type = "time", bounds = [06:00:00, 07:00:00]}')
    assert [column.bounds for column in found.columns] == [
        (0, 86_399),
        (79_200, 108_000),
        (21_600, 79_200),
        (0, 86_399),
        (21_600, 25_200),
    ]
    assert [column.seconds for column in found.columns] == [False, False, True, True, False]
    assert sf.Schema.parse(found.to_toml()) == found
    for wrong in ('"time 06:00..6"', '"time discover"', '{type = "time", bounds = [0, 90000]}', '"time 06:00..06:00"'):
        with pytest.raises(SchemaError):
            sf.Schema.parse(f"[columns]\nx = {wrong}")
    with pytest.raises(SchemaError, match="seconds belongs to a time"):
        sf.Column(name="x", kind="boolean", seconds=True)


def test_a_draft_and_a_check_know_times(tmp_path):
    frame = pd.DataFrame({"visit_hm": TEXTS, "visit_hms": [f"{text}:07" for text in TEXTS]})
    text = draft_schema(frame, types=True)
    assert '"visit_hm" = "time"' in text
    assert '"visit_hms" = "time seconds"' in text
    assert "time" in draft_schema(pa.table({"at": pa.array([time(1)], pa.time32("s"))})).split("[columns]")[1]
    night = sf.Schema(columns=(NIGHT,))
    clock = np.array(["23:00", "01:30", "05:59"])[np.arange(N) % 3]
    assert not dry_run({"at": clock}, night).findings
    (finding,) = dry_run({"at": TEXTS}, night).findings
    assert "above the bounds" in finding.what


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_release_of_times_is_like_the_rows_and_is_verified(kind, tmp_path):
    frame = pd.DataFrame({"at": TEXTS, "late": HOURS > 600})
    if kind == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False)
    else:
        times = pa.array([time(m // 60, m % 60) for m in HOURS], pa.time64("us"))
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"at": times, "late": HOURS > 600}), tmp_path / "t.parquet")
    (tmp_path / "schema.toml").write_text(schema().to_toml())
    data, out = tmp_path / f"t.{kind}", tmp_path / "out"
    made = run("release", data, "--schema", tmp_path / "schema.toml", "--epsilon", 2, "--out", out, "--quiet")
    assert made.exit_code == 0, made.output
    checked = run("verify", out)
    assert checked.exit_code == 0, checked.output
    assert "to the last bit" in " ".join(checked.output.split())
    table = sf.load_release(out).synthetic().table
    assert table["at"].str.fullmatch(r"\d\d:\d\d").all()
    minutes = encoded(table, schema())["at"] / 60
    assert abs(np.median(minutes) - np.median(HOURS)) < 20
    late = table["late"].to_numpy(bool)
    assert minutes[late].mean() - minutes[~late].mean() > 90


def test_frames_get_times_back_as_they_came():
    times = [time(m // 60, m % 60) for m in HOURS]
    table = pa.table({"at": pa.array(times, pa.time32("s")), "late": HOURS > 600})
    out = sf.synthesize(table, schema(), epsilon=2, method="independent-histograms").table
    assert out.schema.field("at").type == pa.time32("s")
    frame = sf.synthesize(
        pd.DataFrame({"at": TEXTS, "late": HOURS > 600}), schema(), epsilon=2, method="independent-histograms"
    )
    assert frame.table["at"].str.fullmatch(r"\d\d:\d\d").all()
    some = frame.sample(20, given={"at": "09:15"})
    assert (some["at"] == "09:15").all()
