"""Faults of accounting: what is booked is less than what is done."""

from mutants.mutant import Mutant

_STEP, _PLAN, _ACCOUNTANT = "public/plan/step.py", "public/plan/plan.py", "public/accounting/accountant.py"
_SCALED = "public/plan/scaled.py"
_GRID, _PLD = "public/plan/grid.py", "public/accounting/pld.py"
_EVENTS = "public/accounting/events.py"
_RECORDS = ("tests/public/test_accounting.py", "-k", "TestJson")
_FORGERY_FREE = ("tests/public/test_accounting.py",)
_REPLAY = ("tests/verification/test_replay.py", "-k", "agrees or never_below")


def _mutant(
    name: str, why: str, *edits: tuple[str, str, str], tests: tuple[str, ...] = (), probes: tuple[str, ...] = ()
):
    return Mutant(name=name, room="accounting", why=why, edits=edits, tests=tests, probes=probes)


ACCOUNTING = (
    _mutant(
        "an unsplit budget",
        "many uses are booked as one",
        (_STEP, "return single if count == 1 else dpa.SelfComposedDpEvent(single, count)", "return single"),
        tests=("tests/private/test_doors.py", "-k", "events_follow"),
        probes=("mixtures",),
    ),
    _mutant(
        "doors draw half of the accounted noise",
        "the account is of another release",
        (
            _SCALED,
            "return noise_multiplier_of(self.step(name), steps=self.steps, scale=self.scale)",
            "return noise_multiplier_of(self.step(name), steps=self.steps, scale=self.scale) / 2",
        ),
        tests=("tests/private/test_doors.py", "-k", "shares_divide or published_noise"),
        probes=("histograms",),
    ),
    _mutant(
        "a replaced row booked as an added one",
        "a replaced row moves a sum twice as far",
        (_STEP, "return math.sqrt(sum(b.share * (2.0 if b.nonnegative else 4.0) for b in self.blocks))", "return 1.0"),
        tests=("tests/private/test_doors.py", "-k", "events_follow"),
        probes=("replace",),
    ),
    _mutant(
        "persons booked as rows",
        "a person has several rows",
        (
            _STEP,
            "return unit.max_rows if self.person_bound is None else min(self.person_bound, unit.max_rows)",
            "return 1.0",
        ),
        tests=("tests/private/test_doors.py", "-k", "events_follow"),
        probes=("persons",),
    ),
    _mutant(
        "sampled persons booked as rows",
        "several rows of a person may take part",
        (_STEP, "case Poisson(rate) if rows == 1:", "case Poisson(rate) if rows >= 1:"),
        tests=("tests/private/test_doors.py", "-k", "events_follow"),
        probes=("mixed persons",),
    ),
    _mutant(
        "a fixed size booked by the norm",
        "two rows are a diameter apart",
        (_STEP, "inner = dpa.GaussianDpEvent(noise / self.diameter())", "inner = dpa.GaussianDpEvent(noise)"),
        tests=("tests/private/test_doors.py", "-k", "events_follow"),
        probes=("fixed",),
    ),
    _mutant(
        "amplified twice",
        "sampling hides less than that",
        (
            _PLD,
            "return q * deltas_of_mu(inner, mu=1 / noise_multiplier)",
            "return q * q * deltas_of_mu(inner, mu=1 / noise_multiplier)",
        ),
        tests=_REPLAY,
        probes=("fixed",),
    ),
    _mutant(
        "replaced rows sampled as added ones",
        "a replaced row shows on both sides",
        (_PLD, "neighboring_relation=RELATIONS[relation]", 'neighboring_relation=RELATIONS["add_or_remove"]'),
        tests=_REPLAY,
    ),
    _mutant(
        "epsilon a fifth too small",
        "the claim is less than the cost",
        (
            "public/accounting/gdp.py",
            "            low = middle\n    return high\n",
            "            low = middle\n    return 0.8 * high\n",
        ),
        tests=("tests/public/test_accounting.py", "-k", "TestGdp"),
        probes=("histograms",),
    ),
    _mutant(
        "ten times the delta",
        "epsilon is that of another delta",
        (
            _ACCOUNTANT,
            "exact = epsilon_of_mu(math.sqrt(leaves.mu_squared), delta=left)",
            "exact = epsilon_of_mu(math.sqrt(leaves.mu_squared), delta=min(10 * left, 0.5))",
        ),
        tests=_REPLAY,
        probes=("histograms",),
    ),
    _mutant(
        "failures are free",
        "delta is spent twice",
        (_ACCOUNTANT, "left = delta - leaves.failure", "left = delta"),
        (_PLD, "left = delta - leaves.failure - rounding_of(leaves)", "left = delta - rounding_of(leaves)"),
        tests=("tests/public/test_accounting.py", "-k", "fail or delta or pure"),
    ),
    _mutant(
        "pure epsilons are free",
        "responses cost nothing",
        (_ACCOUNTANT, 'return Spent(exact + leaves.pure_epsilon, "gdp", 0.0)', 'return Spent(exact, "gdp", 0.0)'),
        tests=("tests/private/test_reports.py", "-k", "pure"),
    ),
    _mutant(
        "compositions of compositions are lost",
        "nested uses are booked once",
        (
            "public/accounting/leaves.py",
            "stack.append((node.event, count * int(node.count)))",
            "stack.append((node.event, count))",
        ),
        tests=_REPLAY,
        probes=("mixtures",),
    ),
    _mutant(
        "any delta is accepted",
        "one raw row would meet it",
        ("public/budget.py", "elif self.delta >= 1 / rows:", "elif self.delta >= 1e9 / rows:"),
        tests=(
            "tests/public/test_plan.py",
            "tests/public/test_schema.py",
            "tests/test_fit.py",
            "-k",
            "delta or budget or refused",
        ),
    ),
    _mutant(
        "sampled steps after a discovery",
        "no proof covers it",
        (_PLAN, "if any(step.is_sampled for step in steps):", "if False:"),
        tests=("tests/test_fit.py", "-k", "gives_up"),
    ),
    _mutant(
        "choices at twice the accounted rate",
        "a choice follows its scores too closely",
        (_GRID, "half = 0.5 / noise_multiplier", "half = 1.0 / noise_multiplier"),
        tests=("tests/private/test_choice.py", "-k", "cost"),
        probes=("choices",),
    ),
    _mutant(
        "responses twice as dear as booked",
        "a response tells more than its share",
        (_GRID, "allowed = _MARGIN * (2 * block.share", "allowed = 2 * _MARGIN * (2 * block.share"),
        tests=("tests/private/test_reports.py", "-k", "cost or beats"),
        probes=("reports",),
    ),
    _mutant(
        "blocks do not share the precision",
        "each block has all of the step's precision",
        (
            _GRID,
            "norm = _MARGIN * norm_in_units(noise_multiplier) * math.sqrt(block.share)",
            "norm = _MARGIN * norm_in_units(noise_multiplier)",
        ),
        tests=("tests/private/test_doors.py", "-k", "no_row_on_the_grid or shares"),
        probes=("two blocks",),
    ),
    _mutant(
        "a vote counts on one query",
        "a teacher changes its votes on all queries",
        ("public/plan/block.py", "return math.sqrt(2 * self.queries)", "return math.sqrt(2)"),
        tests=("tests/private/test_votes.py", "-k", "costs"),
    ),
    _mutant(
        "discovered texts booked for one row",
        "a person holds several",
        (
            "public/plan/discovery.py",
            "return math.floor(NOISE_STDDEV * self.mu_texts / (self.plan.unit.max_rows * math.sqrt(len(self.texts))))",
            "return math.floor(NOISE_STDDEV * self.mu_texts / math.sqrt(len(self.texts)))",
        ),
        tests=("tests/private/test_discovery.py",),
    ),
    _mutant(
        "discovery is free",
        "the steps after it have the whole budget again",
        ("fitting.py", "rows=schema.rows, prior=prior)", "rows=schema.rows, prior=None)"),
        tests=("tests/test_fit.py", "-k", "discovery or spent"),
    ),
    _mutant(
        "an event with other fields beside its own",
        "a reader takes a certificate for more than was accounted",
        (_EVENTS, "if event_to_json(event) != record:", "if False:"),
        tests=_RECORDS,
    ),
    _mutant(
        "a whole number may be true",
        "a count of True is one use, whatever was done",
        (
            _EVENTS,
            "if isinstance(value, bool) or not isinstance(value, int) or value < 1:",
            "if not isinstance(value, int) or value < 1:",
        ),
        tests=_RECORDS,
    ),
    _mutant(
        "a sample larger than its source",
        "an amplification that no sampling gives",
        (_EVENTS, "    if sample > source:\n", "    if False:\n"),
        tests=_RECORDS,
    ),
    _mutant(
        "odds that do not add up",
        "part of what a person can do has no cost",
        (_EVENTS, " or abs(math.fsum(odds) - 1.0) > 1e-9:", ":"),
        tests=_RECORDS,
    ),
    _mutant(
        "a probability above 1",
        "what is booked is no mechanism",
        (_EVENTS, "and 0 <= number <= high):", "and 0 <= number):"),
        tests=_RECORDS,
    ),
    _mutant(
        "a sampled event written without its sampling",
        "a certificate books other events than were spent",
        (
            _EVENTS,
            '{"sampling_probability": _share, "inner": _inner}',
            '{"sampling_probability": lambda value, name: 0.5, "inner": _inner}',
        ),
        tests=_RECORDS,
    ),
)
