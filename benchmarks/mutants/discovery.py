"""Faults of discovery: what it books and what it keeps back. `verify` computes both a second time."""

from mutants.mutant import Mutant

_PLAN = "public/plan/discovery.py"
_TESTS = ("tests/verification/test_replay_discovery.py", "-k", "first_principles")


def _mutant(name: str, why: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(
        name=name,
        room="discovery",
        why=why,
        edits=tuple((_PLAN, old, new) for old, new in edits),
        tests=_TESTS,
        probes=("discovery",),
    )


DISCOVERY = (
    _mutant(
        "counts of texts are not booked",
        "a Gaussian for nothing",
        ("events += [dpa.GaussianDpEvent(1 / self.mu_texts), EpsilonDeltaDpEvent", "events += [EpsilonDeltaDpEvent"),
    ),
    _mutant(
        "texts that pass by chance are not booked",
        "the threshold fails with a probability that nobody pays for",
        ("GaussianDpEvent(1 / self.mu_texts), EpsilonDeltaDpEvent(0.0, self.failure)]", "GaussianDpEvent(1 / self.mu_texts)]"),
    ),
    _mutant(
        "histograms are not booked",
        "bounds and rows for nothing",
        ("plan = replace(plan, event=dpa.ComposedDpEvent(events))\n", "plan = replace(plan, event=dpa.ComposedDpEvent([]))\n"),
    ),
    _mutant(
        "the failure is not divided by texts",
        "each text of a unit may fail as often as all together",
        ("stats.norm.isf(self.failure / (rows * len(self.texts)))", "stats.norm.isf(self.failure)"),
    ),
    _mutant(
        "the failure is not divided by columns",
        "a unit has texts in every column",
        ("stats.norm.isf(self.failure / (rows * len(self.texts)))", "stats.norm.isf(self.failure / rows)"),
    ),
    _mutant(
        "the failure is not divided by rows",
        "a unit has as many texts as rows",
        ("stats.norm.isf(self.failure / (rows * len(self.texts)))", "stats.norm.isf(self.failure / len(self.texts))"),
    ),
    _mutant(
        "a threshold for one row",
        "a person's own text has several",
        ("return rows * self.units_per_row + math.ceil", "return self.units_per_row + math.ceil"),
    ),
    _mutant(
        "a threshold without its quantile",
        "a text of one unit passes as often as not",
        ("+ math.ceil(NOISE_STDDEV * quantile) + 1", "+ 1"),
    ),
    _mutant(
        "a threshold of half the noise",
        "a text of one unit passes too often",
        ("math.ceil(NOISE_STDDEV * quantile)", "math.ceil(NOISE_STDDEV * quantile / 2)"),
    ),
    _mutant(
        "the threshold takes all of delta",
        "it fails ten times as often as is booked",
        ("stats.norm.isf(self.failure / (", "stats.norm.isf(self.failure / DELTA_SHARE / ("),
    ),
    _mutant(
        "delta is spent twice",
        "the steps may fail with all of it, and the threshold with a tenth more",
        ("delta=budget.delta * (1 - DELTA_SHARE))", "delta=budget.delta)"),
    ),
    _mutant(
        "counts of texts in one column only",
        "a row counts in every column",
        ("(self.plan.unit.max_rows * math.sqrt(len(self.texts)))", "self.plan.unit.max_rows"),
    ),
    _mutant(
        "half the precision twice",
        "texts and histograms both take all of it",
        ("mu / math.sqrt(2) if texts else 0.0", "mu if texts else 0.0"),
        ("math.sqrt(mu**2 - mu_texts**2)", "mu"),
    ),
    _mutant(
        "histograms for one row",
        "a person has several in a histogram",
        ("scale = schema.unit.max_rows / math.sqrt(", "scale = 1 / math.sqrt("),
    ),
    _mutant(
        "the number of rows is not booked",
        "a count for nothing",
        ("unit=schema.unit) for s in steps]", "unit=schema.unit) for s in steps[1:]]"),
    ),
)  # fmt: skip
