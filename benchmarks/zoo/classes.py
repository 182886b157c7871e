"""Targets of more than two classes: several, many, rare and ordered ones, and counts."""

import numpy as np
from numpy.typing import NDArray

import sfumato as sf

from .case import made
from .drawing import (
    Drawn,
    Floats,
    Rng,
    category,
    classes_at,
    coded,
    factor_normals,
    flag,
    levels,
    likeliest,
    number,
    sigmoid,
    table,
    whole,
    zipf,
)

#: As uneven as the kinds of trees in a forest.
_SEVEN = np.array([0.365, 0.488, 0.062, 0.005, 0.016, 0.030, 0.034])
#: As uneven as the schools that people have been to.
_SIXTEEN = np.array(
    [0.33, 0.22, 0.16, 0.05, 0.04, 0.036, 0.033, 0.028, 0.02, 0.018, 0.016, 0.014, 0.012, 0.011, 0.01, 0.002]
)


@made("one-hot", 99_000, "seven classes, 10 numbers, one-hot groups of 4 and 40 columns, 99,000 rows")
@made("one-hot-20000", 20_000, "seven classes, 10 numbers, one-hot groups of 4 and 40 columns, 20,000 rows")
def one_hot(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 10)
    area = likeliest(rng, 2.0 * z[:, [0]] * np.array([-1.0, -0.3, 0.3, 1.0]) + np.array([0.0, 1.0, 1.5, 0.5]))
    soil_height = np.sort(rng.normal(size=40))
    soil = likeliest(rng, -2.0 * (z[:, [0]] - soil_height) ** 2 + 0.7 * rng.normal(size=(4, 40))[area])
    height = np.array([0.7, -0.1, -1.2, -2.2, -0.6, -1.0, 1.6])
    scores = (
        -8.0 * (z[:, [0]] - height) ** 2 + 1.5 * rng.normal(size=(40, 7))[soil] + 1.2 * rng.normal(size=(4, 7))[area]
    )
    scores += z[:, 1:5] @ (1.5 * rng.normal(size=(4, 7)))
    values = {f"x{j}": np.round(2_000 + 500 * z[:, j]) for j in range(10)}
    values |= {f"area{a}": area == a for a in range(4)} | {f"soil{s}": soil == s for s in range(40)}
    values["cover"] = coded("cover", classes_at(rng, scores, _SEVEN), 7)
    columns = [
        *(whole(f"x{j}", -2_000, 8_000) for j in range(10)),
        *(flag(f"area{a}") for a in range(4)),
        *(flag(f"soil{s}") for s in range(40)),
        category("cover", 7),
    ]
    return table(values, columns, "cover")


@made("rare-classes", 20_000, "ten classes, the rarest with 0.3 % of the rows", rates=(0.5, 0.57))
def rare_classes(n: int, rng: Rng, *, rates: tuple[float, float]) -> Drawn:
    first, factor = rates
    shares = first * factor ** np.arange(10)
    x = factor_normals(rng, n, 8)
    place = rng.integers(5, size=n)
    scores = x @ (1.3 * rng.normal(size=(8, 10))) + rng.normal(size=(5, 10))[place]
    label = classes_at(rng, scores, shares / shares.sum())
    values = {f"x{j}": x[:, j] for j in range(8)}
    values |= {"place": coded("place", place, 5), "kind": coded("kind", label, 10)}
    columns = [*(number(f"x{j}", -10, 10) for j in range(8)), category("place", 5), category("kind", 10)]
    return table(values, columns, "kind")


@made("schooling", 20_000, "sixteen uneven classes, the rarest with 0.2 % of the rows, by what people do and are")
def schooling(n: int, rng: Rng) -> Drawn:
    hidden = rng.normal(size=n)  # what all columns and the class follow
    age = np.clip(np.round(38 + 13 * rng.normal(size=n) + 2 * hidden), 17, 90)
    job = likeliest(rng, hidden[:, None] * np.linspace(-1.2, 1.8, 14) + 0.8 * rng.normal(size=14))
    owner = likeliest(rng, 0.4 * hidden[:, None] * rng.normal(size=7) + np.array([3, 1, 0.5, 0, 0, -2, -3]))
    family = likeliest(
        rng, (age[:, None] - 38) / 13 * np.array([-1.5, 0.5, 0.5, 0.7, 1.0, 0]) + np.array([1, 2, 1, 0, -1, -1])
    )
    woman, land = rng.random(n) < 0.33, zipf(rng, n, 40, power=2.0)
    place = np.linspace(-2.2, 2.2, 16)[rng.permutation(16)]
    scores = -0.8 * (hidden[:, None] - place) ** 2 + 0.5 * rng.normal(size=(14, 16))[job]
    scores += np.outer((age - 38) / 13, 0.5 * rng.normal(size=16)) + np.outer(land > 0, 1.2 * rng.normal(size=16))
    rich = rng.random(n) < sigmoid(1.2 * hidden - 1.5 - 0.6 * woman)
    values = {
        "age": age,
        "weight": np.exp(12 + 0.6 * rng.normal(size=n)),
        "hours": np.where(
            rng.random(n) < 0.45, 40, np.clip(np.round(40 + 12 * rng.normal(size=n) + 2 * hidden), 1, 99)
        ),
        "gain": np.where(rng.random(n) < 0.08 * (1 + rich), np.round(np.exp(8 + rng.normal(size=n))), 0),
        "loss": np.where(rng.random(n) < 0.05, np.round(1_800 + 300 * rng.normal(size=n)), 0),
        "job": coded("job", job, 14),
        "owner": coded("owner", owner, 7),
        "family": coded("family", family, 6),
        "land": coded("land", land, 40),
        "woman": woman,
        "rich": rich,
        "school": coded("school", classes_at(rng, scores, _SIXTEEN), 16),
    }
    columns = [
        whole("age", 0, 120), number("weight", 0, 2_000_000), whole("hours", 0, 100), whole("gain", 0, 100_000),
        whole("loss", 0, 5_000), category("job", 14), category("owner", 7), category("family", 6), category("land", 40),
        flag("woman"), flag("rich"), category("school", 16),
    ]  # fmt: skip
    return table(values, columns, "school")


@made("classes-100", 20_000, "a hundred classes, uneven")
def hundred_classes(n: int, rng: Rng) -> Drawn:
    x = rng.normal(size=(n, 6))
    group = rng.integers(10, size=n)
    scores = x @ (1.5 * rng.normal(size=(6, 100))) + 2.0 * rng.normal(size=(10, 100))[group]
    label = classes_at(rng, scores, np.random.default_rng(1).dirichlet(np.full(100, 3.0)))
    values = {f"x{j}": x[:, j] for j in range(6)}
    values |= {"group": coded("group", group, 10), "code": coded("code", label, 100)}
    columns = [*(number(f"x{j}", -10, 10) for j in range(6)), category("group", 10), category("code", 100)]
    return table(values, columns, "code")


@made("classes-30-wide", 20_000, "40 columns, thirty classes")
def thirty_classes(n: int, rng: Rng) -> Drawn:
    x = factor_normals(rng, n, 40, factors=5)
    scores = x[:, :15] @ (0.8 * rng.normal(size=(15, 30)))
    values = {f"x{j}": x[:, j] for j in range(30)}
    values |= {f"c{j}": coded(f"c{j}", levels(x[:, j], 6), 6) for j in range(30, 40)}
    values["kind"] = coded("kind", likeliest(rng, scores), 30)
    columns = [*(number(f"x{j}", -10, 10) for j in range(30)), *(category(f"c{j}", 6) for j in range(30, 40))]
    return table(values, [*columns, category("kind", 30)], "kind")


@made("classes-32-few", 1_300, "32 classes with forty rows each, 51 numbers that hang together")
def few_rows_each(n: int, rng: Rng) -> Drawn:
    label = rng.integers(32, size=n)
    hidden = 1.5 * rng.normal(size=(32, 10))[label] + 0.6 * rng.normal(size=(n, 10))
    x = hidden @ rng.normal(size=(10, 51)) / 3 + 0.4 * rng.normal(size=(n, 51))
    values = {f"x{j}": x[:, j] for j in range(51)} | {"kind": coded("kind", label, 32)}
    return table(values, [*(number(f"x{j}", -10, 10) for j in range(51)), category("kind", 32)], "kind")


@made("ordered-classes", 20_000, "five ordered classes: a hidden number in levels")
def ordered(n: int, rng: Rng) -> Drawn:
    x = factor_normals(rng, n, 8)
    hidden = x[:, 0] + 0.7 * x[:, 1] - 0.5 * x[:, 2] + 0.5 * np.abs(x[:, 3]) + 0.7 * rng.normal(size=n)
    cuts = np.quantile(hidden, [0.1, 0.3, 0.65, 0.9])
    words = ("poor", "fair", "good", "very good", "excellent")
    grade = sf.Column(name="grade", kind="ordinal", categories=words)
    values = {f"x{j}": x[:, j] for j in range(6)}
    values |= {f"c{j}": coded(f"c{j}", levels(x[:, j], 4), 4) for j in (6, 7)}
    values["grade"] = grade.decode(np.searchsorted(cuts, hidden))
    columns = [*(number(f"x{j}", -10, 10) for j in range(6)), category("c6", 4), category("c7", 4), grade]
    return table(values, columns, "grade")


@made("counts", 20_000, "a count as target: Poisson with a rate of its own for each row, a third zeros")
def counts(n: int, rng: Rng) -> Drawn:
    x = factor_normals(rng, n, 6)
    kind = rng.integers(4, size=n)
    rate = np.exp(0.5 + 0.6 * x[:, 0] - 0.4 * x[:, 1] + 0.3 * x[:, 2] + np.array([-0.8, 0.0, 0.3, 0.8])[kind])
    values = {f"x{j}": x[:, j] for j in range(6)}
    values |= {"kind": coded("kind", kind, 4), "visits": rng.poisson(rate * rng.gamma(3, 1 / 3, n))}
    columns = [*(number(f"x{j}", -10, 10) for j in range(6)), category("kind", 4), whole("visits", 0, 200)]
    return table(values, columns, "visits")


@made(
    "intrusions",
    200_000,
    "five kinds of visits to a server, 41 columns; one kind has 30 rows",
    train=200_000,
    rarest=30,
)
def intrusions(n: int, rng: Rng, *, train: int, rarest: int) -> Drawn:
    """The rarest kind looks like an ordinary visit but in six columns, each of which another kind has too.

    It is rare among the rows that are released; of the others every hundredth is of it, so that scores do not hang on three.
    """
    kind = rng.choice(4, size=n, p=(0.285, 0.7, 0.01, 0.005))  # ordinary, flood, scan, guess
    kind[rng.choice(train, rarest, replace=False)] = 4
    kind[train:][rng.random(n - train) < 0.01] = 4
    like = np.where(kind == 4, 0, kind)  # what it looks like but for what it does
    odds = {  # of each kind, the codes that most of its rows have
        "protocol": ((0.7, 0.25, 0.05), (0.3, 0.05, 0.65), (0.6, 0.3, 0.1), (0.97, 0.02, 0.01)),
        "state": ((0.94, 0.04, 0.02), (0.3, 0.68, 0.02), (0.3, 0.4, 0.3), (0.9, 0.05, 0.05)),
    }
    values = {
        name: coded(name, np.array([rng.choice(3, size=n, p=p) for p in of])[like, np.arange(n)], 3)
        for name, of in odds.items()
    }
    service = np.where(rng.random(n) < 0.8, np.array([2, 0, 5, 9])[like], zipf(rng, n, 30))
    values["service"] = coded("service", np.where((kind == 4) & (rng.random(n) < 0.6), 9, service), 30)
    flags = {"login": (0.7, 0.0, 0.0, 0.2), "guest": (0.02, 0.0, 0.0, 0.5), "shell": (0.001, 0.0, 0.0, 0.02)}
    own = {"login": 0.95, "shell": 0.6}  # of the rarest kind
    for name, rates in flags.items():
        chance = np.where(kind == 4, own.get(name, rates[0]), np.array(rates)[like])
        values[name] = rng.random(n) < chance

    def amounts(often: tuple[float, ...], middle: tuple[float, ...], spread: float, of: NDArray[np.int64]) -> Floats:
        """Mostly nothing, or else about a middle of the kind's own."""
        there = rng.random(n) < np.array(often)[of]
        return np.where(there, np.exp(np.array(middle)[of] + spread * rng.normal(size=n)), 0)

    whole_numbers = {
        "seconds": amounts((0.3, 0.0, 0.1, 0.6, 0.9), (3, 0, 2, 4, 4.5), 1.2, kind),
        "sent": amounts((0.95, 0.7, 0.3, 0.95), (5.6, 6.9, 2, 5), 0.8, like),
        "received": amounts((0.85, 0.02, 0.2, 0.9), (7, 5, 2, 6), 1.2, like),
        "alerts": amounts((0.01, 0.01, 0.0, 0.6, 0.7), (0.5, 0.5, 0, 1, 1), 0.5, kind),
        "files": amounts((0.01, 0.0, 0.0, 0.05, 0.6), (0.3, 0, 0, 0.3, 0.6), 0.5, kind),
        "failures": amounts((0.005, 0.0, 0.0, 0.5, 0.1), (0, 0, 0, 0.5, 0.2), 0.4, kind),
    }
    for j in range(8):
        middle = np.array([2.0, 5.5, 4.0, 1.0]) + 0.5 * rng.normal(size=4)
        whole_numbers[f"count{j}"] = amounts((0.95, 0.99, 0.9, 0.9), tuple(middle), 0.8, like)
    values |= {name: np.round(x) for name, x in whole_numbers.items()}
    most = {"seconds": 60_000, "sent": 100_000, "received": 100_000, "alerts": 30, "files": 30, "failures": 5}
    for j in range(21):
        ends = rng.beta(0.3, 0.3, size=4)[like]  # a share of earlier visits, at one end for most of a kind
        strength = np.array([6.0, 40.0, 3.0, 4.0])[like]
        values[f"share{j}"] = np.round(rng.beta(strength * ends + 0.05, strength * (1 - ends) + 0.05), 2)
    values["kind"] = coded("kind", kind, 5)
    columns = [
        category("protocol", 3), category("state", 3), category("service", 30), *(flag(name) for name in flags),
        *(whole(name, 0, most.get(name, 511)) for name in whole_numbers), *(number(f"share{j}", 0, 1) for j in range(21)),
        category("kind", 5),
    ]  # fmt: skip
    return table(values, columns, "kind")


@made("faults", 200_000, "five states of a machine, 26 columns; one state has 30 rows", train=200_000, rarest=30)
def faults(n: int, rng: Rng, *, train: int, rarest: int) -> Drawn:
    """The rarest state looks like the second one, but five readings have moved by two to three deviations and one code is usual.

    It is rare among the rows that are released; of the others every hundredth is of it.
    """
    state = rng.choice(4, size=n, p=(0.8, 0.12, 0.06, 0.02))
    state[rng.choice(train, rarest, replace=False)] = 4
    state[train:][rng.random(n - train) < 0.01] = 4
    like = np.where(state == 4, 1, state)
    x = factor_normals(rng, n, 20) + (1.2 * rng.normal(size=(4, 20)))[like]
    x[:, 3:8] += np.where(state == 4, 1, 0)[:, None] * np.array([2.5, -3.0, 2.0, -2.5, 3.0])
    code = np.where((state == 4) & (rng.random(n) < 0.5), 17, zipf(rng, n, 20))
    part = np.stack([rng.choice(4, size=n, p=odds) for odds in rng.dirichlet(np.ones(4), size=4)])[like, np.arange(n)]
    values = {f"x{j}": x[:, j] for j in range(20)}
    values |= {f"on{j}": rng.random(n) < np.array([0.1, 0.4, 0.7, 0.2])[(like + j) % 4] for j in range(4)}
    values |= {"code": coded("code", code, 20), "part": coded("part", part, 4), "state": coded("state", state, 5)}
    columns = [
        *(number(f"x{j}", -20, 20) for j in range(20)), *(flag(f"on{j}") for j in range(4)),
        category("code", 20), category("part", 4), category("state", 5),
    ]  # fmt: skip
    return table(values, columns, "state")
