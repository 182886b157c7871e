"""Steps and spending: what is planned is public, and nothing is read that was not planned."""

import contextlib

from sfumato.check.instruments import rows as made
from sfumato.check.instruments.charges import Charged, StopsAtTheCharge
from sfumato.check.instruments.noted import NotedDoors
from sfumato.check.instruments.outcome import outcome_of
from sfumato.check.instruments.recorder import Record
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, VerificationError
from sfumato.fitting import fit_with
from sfumato.mechanism import made_from, record_of
from sfumato.model import Classifier
from sfumato.private.doors_only import doors_of
from sfumato.private.intake.sensitive import charged_first
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.accounting import event_to_json
from sfumato.public.plan.probe import random_batch
from sfumato.public.plan.step import Step
from sfumato.verification.answer_checks import shape_of


def steps_are_public(setting: Setting) -> None:
    """Settings are frozen and fit into JSON, and `steps` gives the same answer before and after rows were seen."""
    mechanism = setting.mechanism
    recipe = getattr(type(mechanism), "__dataclass_params__", None)
    if recipe is None or not recipe.frozen:
        raise ContractError("a mechanism must be a frozen dataclass of public settings. Use @dataclass(frozen=True).")
    settings = record_of(mechanism).parameters
    try:
        survives = made_from(type(mechanism), settings, what="the mechanism") == mechanism
    except VerificationError:
        survives = False
    if not survives:
        raise ContractError("the settings do not survive JSON, so a release could not be loaded. Use plain values.")
    before = mechanism.steps(setting.schema, setting.budget)
    if not (isinstance(before, tuple) and before and all(isinstance(step, Step) for step in before)):
        raise ContractError("steps must give a tuple of steps. Write a comma behind a single one: return (step,).")
    setting.run_well(setting.ordinary(), seed=1)
    if mechanism.steps(setting.schema, setting.budget) != before:
        raise ContractError("steps changes its answer once data was seen. It may depend on settings and schema only.")


def spends_within_plan(setting: Setting) -> None:
    """Every door call was planned, and no step is used more often than that."""
    run = setting.run_well(setting.ordinary(), seed=1)
    _refuse_overuse(setting, run.record)
    if not run.record.sums:
        raise ContractError("measure used no door, so it cannot have learned anything honestly.")


def overuse_is_refused(setting: Setting) -> None:
    """Measuring twice under one plan is refused, and the refusal is not swallowed."""
    record = Record()
    doors = doors_of(setting.view(setting.ordinary(), record=record, seed=1))
    first = outcome_of(setting.mechanism, NotedDoors(doors), setting.schema)
    again = outcome_of(setting.mechanism, NotedDoors(doors), setting.schema)
    _refuse_overuse(setting, record)
    if first.error is None and (again.error is None or "PlanError" not in again.error):
        raise ContractError(
            "measuring twice under one plan was not refused: somebody reads without being charged, or hides the refusal. "
            "Let a PlanError of the doors pass."
        )


def charged_before_reading(setting: Setting) -> None:
    """The first row is asked for after the charge, and what is charged is what the plan costs."""
    noted: list[str] = []
    data = charged_first(made.read(setting.ordinary(), setting.schema), lambda: noted.append("read"))
    account = StopsAtTheCharge(noted)
    with contextlib.suppress(Charged):
        fit_with(setting.primitives(NoiseSource()), setting.mechanism, data, setting.budget, account=account)
    if noted[:1] != ["charge"]:
        raise ContractError("rows were read before the ledger was charged for them, or it was not charged at all.")
    if account.event != event_to_json(setting.plan.event):
        raise ContractError("the ledger was charged with something else than the plan.")


def shapes_are_public(setting: Setting) -> None:
    """The doors' answers have the planned shapes, and a model gives the same columns for no rows, one, n and n + 1."""
    seen: set[tuple[object, ...]] = set()
    for n_rows in [setting.n_rows] if setting.size_is_public else [0, 1, setting.n_rows, setting.n_rows + 1]:
        run = setting.run_well(made.made_up(setting.schema, n_rows=n_rows, seed=2), seed=2)
        for (name, _, block), answer in run.record.answers.items():
            step = setting.plan.step(name)
            if answer.shape != shape_of(step, step.block(block).width):
                raise ContractError(f"step {name!r}: the answer for block {block!r} has not the planned shape.")
        model = setting.mechanism.build(run.outcome.measurements or {}, setting.schema, seed=1)
        if isinstance(model, Classifier):
            seen.add(model.probabilities(random_batch(setting.schema, n_rows=1, seed=0)).shape)
            continue
        sample = model.sample(1, seed=0)
        columns = () if sample.table is None else tuple((n, str(t)) for n, t in sample.table.dtypes.items())
        given = (sample.images, sample.labels, sample.soft_labels)
        arrays = tuple(None if values is None else (values.shape, values.dtype.str) for values in given)
        seen.add((columns, arrays, sample.classes, len(sample)))
    if len(seen) > 1:
        raise ContractError(
            "the shape of what is released depends on the private rows. Take columns and types from the schema."
        )


def _refuse_overuse(setting: Setting, record: Record) -> None:
    for step in setting.plan.steps:
        for block in step.blocks:
            if record.uses(step.name, block.name) > step.uses:
                raise ContractError(f"step {step.name!r} was measured more often than it was planned and charged.")
