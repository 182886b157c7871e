"""Weekdays and hours of dates: coded as they are, and given back within the bounds."""

import numpy as np
import pandas as pd
import pytest
from small_tables import SIZES

from sfumato import Column
from sfumato.mechanisms.table.columns.calendar import DAY, HOUR, rhythm_code, rhythms_of, with_rhythm
from sfumato.mechanisms.table.columns.features import features_of

LOW, HIGH = (pd.Timestamp(day).timestamp() for day in ("2020-01-01", "2020-12-31"))
VISIT = Column(name="visit", kind="datetime", bounds=(LOW, HIGH), missing=True)


def moments(n_rows: int = 3_000):
    return np.random.default_rng(0).uniform(LOW, HIGH, n_rows)


def test_weekdays_and_hours_are_those_of_the_calendar() -> None:
    seconds = np.floor(moments())
    days = pd.to_datetime(seconds, unit="s")
    assert rhythm_code("weekday", seconds).tolist() == days.day_of_week.tolist()
    assert (rhythm_code("hour", seconds) // 2).tolist() == days.hour.tolist()
    assert rhythm_code("hour", np.array([5.0 * HOUR, 5.0 * HOUR + 1])).tolist() == [10, 11]


def test_a_rhythm_needs_room() -> None:
    assert set(rhythms_of(VISIT, periods=3)) == {"hour", "weekday"}
    assert set(rhythms_of(Column(name="d", kind="datetime", bounds=(0, 10 * DAY)), periods=3)) == {"hour"}
    assert rhythms_of(Column(name="d", kind="datetime", bounds=(0, DAY)), periods=3) == {}
    assert rhythms_of(Column(name="d", kind="numeric", bounds=(0, 1e9)), periods=3) == {}


def test_a_date_has_its_rhythms_beside_it() -> None:
    features = features_of([VISIT], [], SIZES, bend=60.0)
    assert [feature.rhythm for feature in features] == ["", "hour", "weekday"]
    batch = {"visit": np.append(moments(20), np.nan)}
    for feature in features:
        codes = feature.code(batch)
        assert ((codes >= 0) & (codes < feature.cells.count)).all()
        assert codes[-1] == feature.cells.count - 1, "a missing date has no rhythm"


def test_moved_dates_keep_the_drawn_weekday_and_hour_within_the_bounds() -> None:
    seconds, rng = moments(), np.random.default_rng(1)
    drawn = {"weekday": rng.integers(7, size=3_000).astype(float), "hour": rng.integers(48, size=3_000).astype(float)}
    moved = with_rhythm(seconds, drawn, VISIT, rng)
    assert moved.min() >= LOW
    assert moved.max() <= HIGH
    assert np.abs(moved - seconds).max() <= 8 * DAY
    inside = (moved > LOW) & (moved < HIGH)
    assert inside.mean() > 0.99
    assert np.array_equal(rhythm_code("weekday", moved[inside]), drawn["weekday"][inside])
    assert np.array_equal(rhythm_code("hour", moved[inside]), drawn["hour"][inside])


@pytest.mark.parametrize("at", [LOW, HIGH, LOW + 1, HIGH - 1])
def test_the_ends_of_the_range_are_not_left(at: float) -> None:
    for weekday in range(7):
        for hour in (0.0, 21.0, 47.0):
            drawn = {"weekday": np.array([float(weekday)]), "hour": np.array([hour])}
            moved = with_rhythm(np.array([at]), drawn, VISIT, np.random.default_rng(0))
            assert LOW <= moved[0] <= HIGH


def test_what_is_missing_stays_missing() -> None:
    drawn = {"weekday": np.array([1.0, np.nan]), "hour": np.array([3.0, np.nan])}
    moved = with_rhythm(np.array([np.nan, LOW + 3 * DAY]), drawn, VISIT, np.random.default_rng(0))
    assert np.isnan(moved[0])
    assert LOW <= moved[1] <= HIGH
