"""The clauses of the contract, one function each. Statistical ones raise a false alarm once in a million runs."""

import io
import json
import logging
import pickle
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.check import rows as made
from sfumato.check.recorder import Record, whitened_distance
from sfumato.check.setting import Setting
from sfumato.errors import ContractError, PlanError
from sfumato.fitting import mechanism_to_json
from sfumato.folder import load_release, release
from sfumato.private.kernel.view import View
from sfumato.public.step import Poisson, SecretBins, Step, WithoutReplacement
from sfumato.verification.verifying import verify

FALSE_ALARM = 1e-6


def steps_are_public(setting: Setting) -> None:
    """Settings are frozen and fit into JSON, and `steps` gives the same answer twice."""
    mechanism = setting.mechanism
    recipe = getattr(type(mechanism), "__dataclass_params__", None)
    if recipe is None or not recipe.frozen:
        raise ContractError("a mechanism must be a frozen dataclass of public settings. Use @dataclass(frozen=True).")
    settings = json.loads(json.dumps(mechanism_to_json(mechanism)))
    if type(mechanism)(**settings["parameters"]) != mechanism:
        raise ContractError("the settings do not survive JSON, so a release could not be loaded. Use plain values.")
    before = mechanism.steps(setting.schema)
    setting.measure(setting.ordinary(), record=Record(), seed=1)
    if mechanism.steps(setting.schema) != before:
        raise ContractError("steps changes its answer once data was seen. It may depend on settings and schema only.")


def spends_within_plan(setting: Setting) -> None:
    """Every door call was planned, and no step is used more often than that."""
    record = Record()
    view = setting.view(setting.ordinary(), record=record, seed=1)
    setting.mechanism.measure(view, setting.schema)
    plan = setting.plan()
    calls: dict[tuple[str, str], int] = {}
    for step, block in zip(record.steps, record.blocks, strict=True):
        calls[step, block] = calls.get((step, block), 0) + 1
    for (step, _), count in calls.items():
        if count > plan.step(step).uses or count > view.used.get(step, 0):
            raise ContractError(f"step {step!r} was measured more often than it was planned and charged.")
    if not calls:
        raise ContractError("measure used no door, so it cannot have learned anything honestly.")


def overuse_is_refused(setting: Setting) -> None:
    """Measuring twice under one plan is refused."""
    view = setting.view(setting.ordinary(), record=Record(), seed=1)
    setting.mechanism.measure(view, setting.schema)
    try:
        setting.mechanism.measure(view, setting.schema)
    except PlanError:
        return
    raise ContractError("measuring twice under one plan was not refused: somebody reads without being charged.")


def neighbours_stay_close(setting: Setting) -> None:
    """With the same coins, data that differ in one unit give sums that differ by at most the accounted bound."""
    plan = setting.plan()
    base = setting.ordinary()
    for seed in range(12):
        left, right = _neighbours(setting, base, seed=seed)
        one, two = Record(), Record()
        setting.measure(left, record=one, seed=seed)
        setting.measure(right, record=two, seed=seed, answers=one)
        for step, distance in whitened_distance(one, two, plan=plan):
            bound = plan.step(step).diameter() if setting.size_is_public else 1.0
            if distance > bound * setting.schema.unit.max_rows * (1 + 1e-9):
                raise ContractError(
                    f"step {step!r}: one row moves a sum by {distance:.3g} times what the accountant was told, at most "
                    f"{bound:.3g} being allowed. Some row is not clipped, or does not act alone."
                )


def _neighbours(setting: Setting, base: made.Raw, *, seed: int) -> tuple[made.Raw, made.Raw]:
    odd = made.extreme(setting.schema, seed=seed) if seed % 3 else _nasty_row(setting)
    if setting.size_is_public:
        other = made.extreme(setting.schema, seed=100 + seed)
        rest = made.part(base, slice(0, setting.n_rows - 1))
        return made.joined(rest, other), made.joined(rest, odd)
    extra = odd
    for _ in range(setting.schema.unit.max_rows - 1):
        extra = made.joined(extra, odd)
    return base, made.joined(base, extra)


def _nasty_row(setting: Setting) -> made.Raw:
    row = made.part(made.nasty(setting.schema, n_rows=2), slice(1, 2))
    if setting.schema.unit.person is not None:
        row[setting.schema.unit.person] = np.array([-1])
    if any(values.dtype == object for name, values in row.items() if not setting.schema_column_is_coded(name)):
        row = {n: _as_number(v) if not setting.schema_column_is_coded(n) else v for n, v in row.items()}
    return row


def _as_number(values: NDArray[np.generic]) -> NDArray[np.generic]:
    return values if values.dtype != object else np.array([np.inf], dtype=np.float64)


def _released_noise(setting: Setting, *, runs: int) -> list[NDArray[np.float64]]:
    """What the doors give for data without rows, or less the known sums: noise in units of its planned scale."""
    plan = setting.plan()
    found = []
    for run in range(runs):
        record = Record()
        setting.measure(setting.ordinary(), record=record, seed=None if run else 3)
        for step, block, total, released in zip(record.steps, record.blocks, record.sums, record.released, strict=True):
            units = plan.units_per_one(step, block)
            found.append((released - total / units) / (2**20 / units))
    return found


def noise_has_its_scale(setting: Setting) -> None:
    """The variance of the noise is the planned one, neither less nor more."""
    values = np.concatenate([noise.ravel() for noise in _released_noise(setting, runs=1)])
    runs = 1 + 4000 // values.size
    if runs > 1:
        values = np.concatenate([noise.ravel() for noise in _released_noise(setting, runs=runs)])
    total = float((values**2).sum())
    low, high = (float(stats.chi2.ppf(p, df=values.size)) for p in (FALSE_ALARM / 2, 1 - FALSE_ALARM / 2))
    if not low <= total <= high:
        ratio = np.sqrt(total / values.size)
        raise ContractError(f"the noise has {ratio:.3g} times its planned standard deviation.")


def noise_is_fresh(setting: Setting) -> None:
    """No noise is used twice: not between entries, not between mixtures, not between runs."""
    first, second = (_released_noise(setting, runs=2)[i::2] for i in (0, 1))
    every = np.concatenate([noise.ravel() for noise in (*first, *second)])
    if every.size > 1 and len(np.unique(every)) < 0.99 * every.size:
        raise ContractError("the same noise was used more than once.")


def sampling_is_as_planned(setting: Setting) -> None:
    """Coins are independent, subsets have their size and are drawn anew, every row has one bin."""
    record = Record()
    setting.measure(setting.ordinary(), record=record, seed=5)
    for step in setting.plan().steps:
        if step.mixtures * step.groups > 1 and step.name in record.members:
            rows = np.concatenate([rows for rows, _ in record.members[step.name]])
            mixtures = np.concatenate([mixtures for _, mixtures in record.members[step.name]])
            _check_members(step, rows, mixtures, n_rows=setting.n_rows)
        elif isinstance(step.sampling, Poisson) and step.mixtures * step.groups == 1:
            _check_uses(step, record, rate=step.sampling.rate, n_rows=setting.n_rows)


def _check_uses(step: Step, record: Record, *, rate: float, n_rows: int) -> None:
    """Every use of a sampled sum draws anew: to the account, uses are like mixtures."""
    uses = [drawn for drawn in record.drawn if drawn.step == step.name]
    if not uses:
        return
    if any(drawn.n_rows != n_rows for drawn in uses):
        raise ContractError(f"step {step.name!r}: some row had no coin of its own.")
    taking_part = np.array([[row in drawn.rows for row in range(n_rows)] for drawn in uses])
    _check_binomial(step, taking_part.sum(axis=1), trials=n_rows, rate=rate)
    _check_binomial(step, taking_part.sum(axis=0), trials=len(uses), rate=rate)


def _check_members(step: Step, rows: NDArray[np.int64], mixtures: NDArray[np.int64], *, n_rows: int) -> None:
    per_mixture = np.bincount(mixtures, minlength=step.mixtures)
    per_row = np.bincount(rows, minlength=n_rows)
    if len(np.unique(rows * step.mixtures + mixtures)) != rows.size:
        raise ContractError(f"step {step.name!r}: a row takes part twice in one mixture.")
    match step.sampling:
        case Poisson(rate):
            _check_binomial(step, per_mixture, trials=n_rows, rate=rate)
            _check_binomial(step, per_row, trials=step.mixtures, rate=rate)
        case WithoutReplacement(degree, population):
            if (per_mixture != degree).any():
                raise ContractError(f"step {step.name!r}: a mixture does not hold exactly {degree} rows.")
            _check_binomial(step, per_row, trials=step.mixtures, rate=degree / population)
        case SecretBins():
            if (per_row != 1).any():
                raise ContractError(f"step {step.name!r}: a row is not in exactly one bin.")
            _check_binomial(step, per_mixture, trials=n_rows, rate=1 / step.mixtures)
        case _:
            pass


def _check_binomial(step: Step, counts: NDArray[np.int64], *, trials: int, rate: float) -> None:
    """Pearson's dispersion: too wide means shared coins, too narrow means batches of a fixed size."""
    if rate >= 1:
        return
    expected = trials * rate
    dispersion = float(((counts - expected) ** 2).sum() / (expected * (1 - rate)))
    # Few trials make the statistic wider than chi-square: scale by its exact variance.
    excess = (1 - 6 * rate * (1 - rate)) / (expected * (1 - rate))
    spread = np.sqrt(counts.size * (2 + max(excess, 0.0)))
    reach = stats.norm.isf(FALSE_ALARM / 2) * spread + 20  # and some room for its skewness
    if abs(dispersion - counts.size) > reach:
        raise ContractError(
            f"step {step.name!r}: who takes part does not look like independent draws at rate {rate:.3g} "
            f"(dispersion {dispersion / counts.size:.3g}, expected 1)."
        )


def shapes_are_public(setting: Setting) -> None:
    """Shapes, kinds and names are the same for no rows, one row, n rows and n + 1 rows."""
    seen = set()
    for n_rows in setting.sizes_to_try():
        fitted = setting.fit(made.made_up(setting.schema, n_rows=n_rows, seed=2))
        shapes = tuple((name, values.shape, str(values.dtype)) for name, values in fitted.measurements.items())
        sample = fitted.model.sample(1, seed=0)
        columns = () if sample.table is None else tuple((n, str(t)) for n, t in sample.table.dtypes.items())
        seen.add((shapes, columns, len(sample)))
    if len(seen) > 1:
        raise ContractError("the shape of what is released depends on the private rows.")


def nasty_rows_survive(setting: Setting) -> None:
    """Values that are missing, infinite or unknown are clipped or mapped, and nothing not finite comes out."""
    fitted = setting.fit(made.nasty(setting.schema, n_rows=setting.n_rows))
    if any(not np.isfinite(values).all() for values in fitted.measurements.values()):
        raise ContractError("a measurement is not finite for nasty rows.")


def nothing_travels(setting: Setting) -> None:
    """No run of private values stands in the model, the mechanism, the certificate or the logs."""
    raw = setting.ordinary()
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    try:
        fitted = setting.fit(raw)
    finally:
        logging.getLogger().removeHandler(handler)
    kept = (fitted.measurements, fitted.model, vars(fitted.mechanism), fitted.certificate.body)
    haystack = pickle.dumps(kept) + log.getvalue().encode()
    for name, needle in _needles(setting, raw):
        if needle in haystack:
            raise ContractError(f"private values of column {name!r} travel with the model or its logs.")


def _needles(setting: Setting, raw: made.Raw) -> list[tuple[str, bytes]]:
    """Runs of private values that no honest output holds by chance, as bytes in several widths and as text."""
    found = []
    for batch in made.encoded(raw, setting.schema):
        for name, values in batch.items():
            run = _marked_run(values, length=40 if setting.schema[name].is_coded else 3)
            if len(np.unique(run)) < 2:
                continue
            for kind in (np.float64, np.float32, np.int64):
                cast = np.asarray(run, dtype=kind)
                if len(np.unique(cast)) > 1:  # a run of zeros stands in every model
                    found.append((name, cast.tobytes()))
            if not setting.schema[name].is_coded and not float(run[0]).is_integer():
                found.append((name, repr(float(run[0])).encode()))
        break
    return found


def _marked_run(values: NDArray[np.generic], *, length: int) -> NDArray[np.generic]:
    """The first `length` rows in a row that hold a value."""
    there = np.isfinite(values.reshape(len(values), -1).astype(np.float64).sum(axis=1))
    starts = [at for at in range(len(values) - length + 1) if there[at : at + length].all()]
    return values[starts[0] : starts[0] + length].ravel()[:64] if starts else values[:0]


def works_without_data(setting: Setting) -> None:
    """A release folder loads, samples the same rows for the same seed, and verifies."""
    fitted = setting.fit(setting.ordinary())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release"
        release(fitted, to=path, rows=min(20, fitted.model.default_rows))
        model = load_release(path).model()
        few = min(3, model.default_rows)  # a model of fixed rows may hold less
        one, two = model.sample(few, seed=1), model.sample(few, seed=1)
        if one.table is not None and two.table is not None and not one.table.equals(two.table):
            raise ContractError("the same seed gives other rows.")
        found = verify(path, rebuild=True)
        problems = [p for p in found.problems if setting.view_type is View or "non_private" not in p]
        if problems:
            raise ContractError(problems[0])
