"""Numbers as target that were weakest on tables that nobody had chosen the default by, and a mixed table; two of each shape.

Two of each shape, drawn in different ways. Settings were chosen by both, so neither confirms them.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sfumato as sf

from .case import made
from .drawing import Drawn, Floats, Rng, category, coded, factor_normals, flag, levels, number, table, whole, yes, zipf

_DAY = 86_400
_START = int(pd.Timestamp("2019-01-01").timestamp())


def _date(name: str, days: int) -> sf.Column:
    return sf.Column(name=name, kind="datetime", bounds=(float(_START), float(_START + days * _DAY)))


def _moments(seconds: NDArray[np.int64]) -> pd.DatetimeIndex:
    return pd.to_datetime(seconds, unit="s").astype("datetime64[s]")


def _hump(hour: Floats, at: float, width: float) -> Floats:
    """A bell around an hour of the day."""
    apart = (hour - at + 12) % 24 - 12
    return np.exp(-0.5 * (apart / width) ** 2)


@made("rides", 12_000, "bicycles hired in an hour, by hour, kind of day, season and weather")
def rides(n: int, rng: Rng) -> Drawn:
    """Two humps on working days, one at weekends; more in warm and dry hours, and more from year to year."""
    days = -(-n // 24)
    place = rng.permutation(24 * days)[:n]
    day, hour = place // 24, place % 24
    weekday, holiday = (day + 1) % 7, rng.random(days)[day] < 0.03  # 2019 began on a Tuesday
    free = (weekday >= 5) | holiday
    season = np.sin(2 * np.pi * (day - 105) / 365.25)
    temp = 14 + 10 * season + 4 * _hump(hour, 15, 4) + 3.5 * rng.normal(size=days)[day] + 0.7 * rng.normal(size=n)
    damp = np.clip(62 - 1.0 * (temp - 14) + 12 * rng.normal(size=days)[day] + 6 * rng.normal(size=n), 5, 100)
    wet = 0.05 * (damp - 62) + rng.normal(size=n)
    weather = np.digitize(wet, [0.4, 1.6, 3.2])
    wind = np.abs(12 + 8 * rng.normal(size=n))
    working = 0.9 * _hump(hour, 8, 0.9) + 1.25 * _hump(hour, 17.5, 1.5) + 0.45 * _hump(hour, 13, 4) + 0.03
    leisure = 0.95 * _hump(hour, 14, 3.6) + 0.12 * _hump(hour, 1, 1.5) + 0.03
    rate = 420 * np.where(free, leisure, working) * (1 + 0.55 * day / days)
    rate *= np.exp(0.045 * np.minimum(temp, 27) - 0.05 * np.maximum(temp - 30, 0) - 0.8)
    rate *= np.array([1.0, 0.93, 0.62, 0.35])[weather] * np.exp(-0.004 * damp - 0.006 * wind)
    values = {
        "date": _moments(_START + day * _DAY),
        "season": coded("season", ((day % 365) // 91.3).astype(int), 4),
        "month": (day % 365) // 30.5 + 1,
        "hour": hour,
        "weekday": weekday,
        "holiday": holiday,
        "weather": coded("weather", weather, 4),
        "temp": temp,
        "feels": temp - 0.08 * wind + 0.03 * (damp - 60) + 0.5 * rng.normal(size=n),
        "damp": damp,
        "wind": wind,
        "rides": rng.poisson(rate * rng.gamma(80, 1 / 80, size=n)),
    }
    columns = [
        _date("date", days), category("season", 4), whole("month", 1, 12), whole("hour", 0, 23), whole("weekday", 0, 6),
        flag("holiday"), category("weather", 4), number("temp", -20, 50), number("feels", -30, 60), number("damp", 0, 100),
        number("wind", 0, 100), whole("rides", 0, 2_000),
    ]  # fmt: skip
    return table(values, columns, "rides")


@made("power", 12_000, "electricity in an hour by one time stamp, temperature, daylight and wind")
def power(n: int, rng: Rng) -> Drawn:
    """Morning and evening, flatter at weekends; heated when it is cold, cooled when it is hot."""
    place = rng.integers(3 * 365 * 24, size=n)
    day, hour = place // 24, place % 24
    free = (day + 1) % 7 >= 5
    season = np.cos(2 * np.pi * (day - 20) / 365.25)
    temp = 12 - 11 * season + 5 * _hump(hour, 15, 4) + 4 * rng.normal(size=3 * 365)[day] + rng.normal(size=n)
    light = np.clip(np.sin(np.pi * (hour - 6 - 1.5 * season) / (12 - 3 * season)), 0, 1) * rng.uniform(0.3, 1, size=n)
    wind = rng.weibull(2, size=n) * 8
    load = 38 + 11 * _hump(hour, 9, 2.5) * (1 - 0.6 * free) + 14 * _hump(hour, 19, 2.5) + 6 * _hump(hour, 13, 3)
    load += 0.7 * np.maximum(14 - temp, 0) + 0.9 * np.maximum(temp - 22, 0) * _hump(hour, 16, 4) - 5 * free - 3 * light
    values = {
        "when": _moments(_START + place * 3_600),
        "temp": temp,
        "light": 900 * light,
        "wind": wind,
        "pressure": 1_013 + 8 * rng.normal(size=n),
        "zone": coded("zone", rng.integers(3, size=n), 3),
        "load": load + 1.2 * rng.normal(size=n),
    }
    columns = [
        _date("when", 3 * 365), number("temp", -40, 60), number("light", 0, 1_500), number("wind", 0, 60),
        number("pressure", 900, 1_100), category("zone", 3), number("load", 0, 200),
    ]  # fmt: skip
    return table(values, columns, "load")


@made("rate-46", 7_000, "a rate in percent by 46 columns that hang together, most of which say a little")
def rate_46(n: int, rng: Rng) -> Drawn:
    """Shares and amounts of towns: a few causes behind all of them."""
    z = factor_normals(rng, n, 44, factors=6, strength=0.9)
    region, kind = zipf(rng, n, 9, power=0.4), levels(z[:, 0], 4)
    score = z[:, :24] @ (rng.normal(size=24) / np.sqrt(24)) + 0.25 * z[:, 3] * z[:, 7] + 0.3 * np.maximum(z[:, 5], 0.5)
    score += 0.3 * rng.normal(size=9)[region]
    score = (score - score.mean()) / score.std()
    rate = 8 + 3.2 * score + 2.9 * rng.normal(size=n)
    values: dict[str, object] = {}
    for j in range(44):  # shares, amounts and plain numbers
        shape = (100 / (1 + np.exp(-z[:, j] - 0.5)), np.exp(8 + 0.8 * z[:, j]), z[:, j])[j % 3]
        values[f"x{j}"] = shape
    values |= {"region": coded("region", region, 9), "kind": coded("kind", kind, 4), "rate": np.clip(rate, 0, 60)}
    bounds = ((0, 100), (0, 1_000_000), (-10, 10))
    columns = [*(number(f"x{j}", *bounds[j % 3]) for j in range(44)), category("region", 9), category("kind", 4)]
    return table(values, [*columns, number("rate", 0, 60)], "rate")


@made("yield-46", 7_000, "a number by 46 columns: whole, zero-heavy and coded ones, three of which decide half of it")
def yield_46(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 38, factors=3, strength=0.6)
    group = np.stack([levels(factor_normals(rng, n, 1)[:, 0], 3 + j) for j in range(8)], axis=1)
    score = 0.9 * z[:, 0] - 0.8 * np.abs(z[:, 1]) + 0.5 * z[:, 2] * (group[:, 0] == 1)
    score += z[:, 3:20] @ (0.25 * rng.normal(size=17)) + 0.5 * rng.normal(size=10)[group[:, 7]]
    score = (score - score.mean()) / score.std()
    values: dict[str, object] = {}
    for j in range(38):
        shape = (np.round(50 + 15 * z[:, j]), np.maximum(np.exp(1 + z[:, j]) - 3, 0), z[:, j])[j % 3]
        values[f"x{j}"] = shape
    values |= {f"g{j}": coded(f"g{j}", group[:, j], 3 + j) for j in range(8)}
    values["yield"] = np.exp(3 + 0.3 * score + 0.25 * rng.normal(size=n))
    numbers = [(whole(f"x{j}", 0, 150), number(f"x{j}", 0, 1_000), number(f"x{j}", -10, 10))[j % 3] for j in range(38)]
    return table(values, [*numbers, *(category(f"g{j}", 3 + j) for j in range(8)), number("yield", 0, 500)], "yield")


@made("wages", 7_000, "wages of persons in up to eight years, by school, trade and experience")
def wages(n: int, rng: Rng) -> Drawn:
    """Half of what is not explained is the person's own."""
    n_rows = rng.integers(5, 9, size=n)
    who = np.repeat(np.arange(n), n_rows)[:n]
    nth = np.arange(n) - np.searchsorted(who, who)
    persons = who.max() + 1
    z = factor_normals(rng, persons, 4)
    school = np.clip(np.round(12 + 2.2 * z[:, 0]), 4, 20)[who]
    start, trade = rng.integers(0, 25, size=persons)[who], zipf(rng, persons, 12, power=0.4)[who]
    union, married = (z[:, 1] > 0.6)[who] ^ (rng.random(n) < 0.1), (z[:, 2] > 0.4)[who] ^ (rng.random(n) < 0.08)
    years, hours = start + nth, np.round(40 + 6 * rng.normal(size=n))
    log = 0.085 * (school - 12) + 0.035 * years - 0.0006 * years**2 + 0.14 * union + 0.1 * married
    log += np.linspace(-0.4, 0.4, 12)[trade] + 0.004 * (hours - 40) + 0.24 * rng.normal(size=persons)[who]
    values = {
        "person": who, "year": 1990 + nth, "school": school, "years": years, "hours": hours, "union": union,
        "married": married, "trade": coded("trade", trade, 12), "south": (z[:, 3] > 0.5)[who],
        "health": coded("health", levels(rng.normal(size=n), 4), 4),
        "wage": np.exp(2.2 + log + 0.27 * rng.normal(size=n)),
    }  # fmt: skip
    columns = [
        whole("year", 1980, 2000), whole("school", 0, 25), whole("years", 0, 60), whole("hours", 0, 100), flag("union"),
        flag("married"), category("trade", 12), flag("south"), category("health", 4), number("wage", 0, 200),
    ]  # fmt: skip
    return table(values, columns, "wage", unit=sf.PrivacyUnit(person="person", max_rows=8))


@made("bills", 8_000, "monthly bills of households with one to six rows, which differ much among themselves")
def bills(n: int, rng: Rng) -> Drawn:
    n_rows = np.minimum(rng.geometric(0.3, size=n), 6)
    who = np.repeat(np.arange(n), n_rows)[:n]
    persons = who.max() + 1
    z, month = factor_normals(rng, persons, 4, factors=2), rng.integers(12, size=n)
    people = np.clip(1 + rng.poisson(1.4, size=persons), 1, 8)[who]
    area = np.exp(4.4 + 0.35 * z[:, 0])[who]
    heating, town = levels(z[:, 1], 5)[who], zipf(rng, persons, 40, power=0.8)[who]
    cold = 0.5 + 0.5 * np.cos(2 * np.pi * (month - 0.5) / 12)
    bill = 25 + 14 * people + 0.9 * area * cold * np.array([0.4, 1.0, 1.4, 0.7, 1.1])[heating]
    bill += 12 * rng.normal(size=40)[town] + 22 * rng.normal(size=persons)[who]
    values = {
        "person": who, "month": month + 1, "people": people, "area": area, "heating": coded("heating", heating, 5),
        "town": coded("town", town, 40), "age": np.round(50 + 15 * z[:, 2])[who], "solar": (z[:, 3] > 1)[who],
        "bill": np.maximum(bill + 22 * rng.normal(size=n), 5),
    }  # fmt: skip
    columns = [
        whole("month", 1, 12), whole("people", 0, 20), number("area", 0, 1_000), category("heating", 5),
        category("town", 40), whole("age", 0, 120), flag("solar"), number("bill", 0, 2_000),
    ]  # fmt: skip
    return table(values, columns, "bill", unit=sf.PrivacyUnit(person="person", max_rows=6))


@made("incomes-500", 25_000, "incomes by 500 trades, most of them rare, and by age, school and hours")
def incomes(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 4)
    trade, school = zipf(rng, n, 500, power=0.6), np.clip(np.round(12 + 3 * z[:, 0]), 0, 20)
    age, hours = np.round(rng.uniform(18, 70, size=n)), np.round(38 + 9 * z[:, 1])
    log = 10.3 + 0.45 * rng.normal(size=500)[trade] + 0.05 * (school - 12) + 0.05 * age - 0.0005 * age**2
    log += 0.012 * (hours - 38) - 0.12 * (z[:, 2] > 0) + 0.5 * rng.normal(size=n)
    values = {
        "age": age, "school": school, "hours": hours, "trade": coded("trade", trade, 500),
        "sex": coded("sex", (z[:, 2] > 0).astype(int), 2), "state": coded("state", zipf(rng, n, 50, power=0.7), 50),
        "married": z[:, 3] > 0, "income": np.exp(log),
    }  # fmt: skip
    columns = [
        whole("age", 0, 120), whole("school", 0, 25), whole("hours", 0, 120), category("trade", 500), category("sex", 2),
        category("state", 50), flag("married"), number("income", 0, 2_000_000),
    ]  # fmt: skip
    return table(values, columns, "income")


@made("delays-500", 20_000, "minutes late by 500 routes that share their ends, carrier, hour and weather")
def delays(n: int, rng: Rng) -> Drawn:
    """Routes have most of their effect from one of twenty places, which no column names."""
    route = zipf(rng, n, 500, power=0.9)
    own = 6 * rng.normal(size=20)[rng.integers(20, size=500)] + 4 * rng.normal(size=500)
    hour, carrier, rain = rng.integers(5, 24, size=n), zipf(rng, n, 12), np.maximum(rng.normal(size=n), 0)
    late = own[route] + 0.7 * (hour - 14) + 4 * rng.normal(size=12)[carrier] + 5 * rain + 10 * rng.standard_t(5, size=n)
    values = {
        "route": coded("route", route, 500), "hour": hour, "carrier": coded("carrier", carrier, 12), "rain": rain,
        "wind": rng.gamma(3, 3, size=n), "seats": rng.integers(50, 300, size=n), "late": late,
    }  # fmt: skip
    columns = [
        category("route", 500), whole("hour", 0, 23), category("carrier", 12), number("rain", 0, 20), number("wind", 0, 150),
        whole("seats", 0, 600), number("late", -120, 600),
    ]  # fmt: skip
    return table(values, columns, "late")


@made("mixed-29000", 29_000, "two classes by twenty mixed columns, some of them together")
def mixed(n: int, rng: Rng) -> Drawn:
    """Contacts of a campaign: how long, how often, when, and what came of it before."""
    z, quarter = factor_normals(rng, n, 6), zipf(rng, n, 26, power=0.8)
    long = np.exp(5.2 + 0.9 * rng.normal(size=n))
    before, month, job = rng.random(n) < 0.14, (5 * quarter) % 12, zipf(rng, n, 12, power=0.5)
    outcome = np.where(before, 1 + (rng.random(n) < 0.35), 0)
    times = rng.normal(size=(26, 3))  # what each quarter was like
    rate = 2 + 1.6 * np.sign(times[quarter, 0]) + 0.4 * times[quarter, 1] + 0.02 * rng.normal(size=n)
    score = (
        (1.7 + 0.9 * (times[quarter, 0] < 0)) * (np.log(long) - 5.2) + 1.5 * (outcome == 2) + 1.2 * times[quarter, 2]
    )
    score += 0.4 * rng.normal(size=12)[job] + 0.6 * np.abs(z[:, 0]) + 0.8 * (z[:, 5] > 0.3) * (times[quarter, 1] > 0)
    values = {
        "age": np.round(40 + 11 * z[:, 0]), "job": coded("job", job, 12),
        "married": coded("married", levels(z[:, 3], 3), 3), "school": coded("school", levels(z[:, 4], 7), 7),
        "default": rng.random(n) < 0.02, "housing": rng.random(n) < 0.55, "loan": rng.random(n) < 0.16,
        "phone": z[:, 5] > 0.3, "month": coded("month", month, 12), "weekday": coded("weekday", rng.integers(5, size=n), 5),
        "seconds": np.round(long), "calls": rng.geometric(0.4, size=n), "days": np.where(before, rng.integers(1, 30, size=n), 999),
        "previous": np.where(before, rng.geometric(0.7, size=n), 0), "outcome": coded("outcome", outcome, 3),
        "employment": np.round(2 * times[quarter, 0]) / 2, "prices": np.round(93 + 0.6 * times[quarter, 1], 2),
        "trust": np.round(-40 + 4 * times[quarter, 2], 1), "rate": np.round(rate, 3),
        "staff": np.round(510 + 6 * times[quarter, 0]) * 10,
        "y": yes(rng, 1.35 * score, rate=0.11),
    }  # fmt: skip
    columns = [
        whole("age", 0, 120), category("job", 12), category("married", 3), category("school", 7), flag("default"),
        flag("housing"), flag("loan"), flag("phone"), category("month", 12), category("weekday", 5), whole("seconds", 0, 10_000),
        whole("calls", 0, 100), whole("days", 0, 999), whole("previous", 0, 50), category("outcome", 3),
        number("employment", -10, 10), number("prices", 80, 110), number("trust", -100, 0), number("rate", -5, 15),
        whole("staff", 4_000, 6_000), flag("y"),
    ]  # fmt: skip
    return table(values, columns, "y")


@made(
    "stops-29000",
    29_000,
    "two classes by fourteen mixed columns, a fifth positive: places, hours and products of columns",
)
def stops(n: int, rng: Rng) -> Drawn:
    z, place = factor_normals(rng, n, 5, factors=2), zipf(rng, n, 90, power=0.7)
    hour, reason = rng.integers(24, size=n), zipf(rng, n, 8, power=0.8)
    night = (hour < 5) | (hour > 21)
    score = (
        0.8 * z[:, 0] * np.where(reason < 3, 1, -0.6) + 0.9 * rng.normal(size=90)[place] + 1.2 * night * (z[:, 1] > 0)
    )
    score += 1.0 * rng.normal(size=8)[reason] + 0.8 * np.maximum(z[:, 2], 0) ** 2 + 0.5 * z[:, 3]
    values = {
        "place": coded("place", place, 90), "hour": hour, "reason": coded("reason", reason, 8),
        "age": np.round(np.exp(3.5 + 0.35 * z[:, 1])), "speed": np.round(60 + 15 * z[:, 0]), "limit": 10 * rng.integers(3, 9, size=n),
        "value": np.exp(8 + z[:, 2]), "power": np.round(90 + 30 * z[:, 3]), "year": np.round(2_008 + 5 * z[:, 4]),
        "sex": coded("sex", rng.integers(2, size=n), 2), "colour": coded("colour", zipf(rng, n, 11), 11),
        "owner": rng.random(n) < 0.7, "make": coded("make", zipf(rng, n, 30), 30), "y": yes(rng, 1.5 * score, rate=0.2),
    }  # fmt: skip
    columns = [
        category("place", 90), whole("hour", 0, 23), category("reason", 8), whole("age", 0, 120), whole("speed", 0, 250),
        whole("limit", 0, 150), number("value", 0, 1_000_000), whole("power", 0, 500), whole("year", 1_950, 2_030),
        category("sex", 2), category("colour", 11), flag("owner"), category("make", 30), flag("y"),
    ]  # fmt: skip
    return table(values, columns, "y")
