"""What a maker and a receiver should be told about a release, from noisy numbers and public facts alone: it costs nothing.

Everything here is computed from what is published anyway: the schema, the plan, the model and its synthetic rows.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from sfumato.mechanism import Mechanism
from sfumato.mechanisms.learners.progress import MOST_LOSS, Watched
from sfumato.model import Classifier, Counted, Model, Product
from sfumato.outlook.collapse import collapsed_classes, collapsed_columns, count_noise
from sfumato.outlook.forecast import LITTLE_USE, outlook
from sfumato.outlook.tally import Tally
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema

#: A declared size that is rounded to one digit is off by a factor of less than this, and must not be called wrong.
_FACTOR = 1.5
#: Standard deviations beyond which noise does not explain a difference: once in 30,000 releases.
_SURE = 4.0


def release_warnings(
    *, schema: Schema, plan: Plan, mechanism: Mechanism, model: Model, tally: Tally
) -> tuple[str, ...]:
    """Sentences that stand in the console, in the certificate and in the report. The same inputs give the same ones.

    Those that say that the release as a whole is of little use begin so, and come first; the others name columns.
    """
    said = []
    far = _rows_far_from_declared(schema, model, plan)
    rows = schema.rows
    if isinstance(model, Counted) and (far is not None or rows is None):
        rows = max(1, round(model.noisy_rows))
    expected = outlook(mechanism, schema=replace(schema, rows=rows), budget=plan.budget, planned=plan)
    empty = far is not None and far.startswith(LITTLE_USE)  # then nothing more is to be said, of columns or of learners
    said += [far, None if empty or expected is None else expected.warning]
    if rows is not None and not empty:
        noise, target = count_noise(mechanism, schema=schema, plan=plan), schema.target_column
        if target is not None and target.is_coded and isinstance(model, Counted):  # rows are the sum of class counts
            noise[target.name] = model.noisy_rows_stddev / target.size**0.5
        said.append(collapsed_classes(schema, tally, rows=rows, noise=noise))
        said += collapsed_columns(schema, tally, rows=rows, noise=noise)
    return _in_order(said)


def model_warnings(*, schema: Schema, plan: Plan, model: Classifier) -> tuple[str, ...]:
    """The same for a trained model: what noisy counts of its training rows say against it."""
    said = [_rows_far_from_declared(schema, model, plan)]
    if isinstance(model, Watched) and model.looks:
        even, loss = math.log(schema.require_coded_target().size), model.looks[-1].loss
        if loss >= min(even, MOST_LOSS):
            said.append(
                f"{LITTLE_USE}: the log-loss of the training rows is {loss:.2f} by a noisy count, and even odds for all "
                f"classes lose {even:.2f}. More rows or a larger epsilon would help; or the training has diverged."
            )
    return _in_order(said)


def _in_order(said: Sequence[str | None]) -> tuple[str, ...]:
    found = dict.fromkeys(sentence for sentence in said if sentence)
    return tuple(sorted(found, key=lambda sentence: not sentence.startswith(LITTLE_USE)))


def _rows_far_from_declared(schema: Schema, model: Product, plan: Plan) -> str | None:
    """Where the noisy number of rows is not what the schema declares, by more than noise and rounding explain.

    Persons whose rows are clipped together may count for fewer rows than they have: down to the norm of one.
    """
    if not isinstance(model, Counted):
        return None
    noisy, stddev = model.noisy_rows, model.noisy_rows_stddev
    about = f"the noisy number of rows is {max(0, round(noisy)):,}, give or take {stddev:,.0f}"
    ask = "Is this the whole file, read with the right separator and columns?"
    if schema.rows is None:
        return f"{LITTLE_USE}: {about}, so there may be no rows at all. {ask}" if noisy < _SURE * stddev else None
    kept = max(step.norm_of(plan.unit) for step in plan.steps) / plan.unit.max_rows  # where there is most room
    if noisy >= kept * schema.rows - _SURE * stddev and noisy <= schema.rows + _SURE * stddev:
        return None
    if kept * schema.rows / _FACTOR <= noisy <= schema.rows * _FACTOR:
        return None
    declared = f"and the schema declares rows = {schema.rows:,}"
    if noisy > schema.rows:
        return f"Rows are not as declared: {about}, {declared}. Correct rows in the schema: delta is judged by it."
    if noisy < max(kept * schema.rows / 10, _SURE * stddev):
        return f"{LITTLE_USE}: {about}, {declared}. {ask}"
    if schema.unit.person is not None and not schema.tables:
        ask = f"At most {schema.unit.max_rows} rows of a person are used, which may be why; if not: {ask[0].lower()}{ask[1:]}"
    return f"Rows are not as declared: {about}, {declared}. {ask}"


def verdict_on(warnings: Sequence[str]) -> str | None:
    """What a badge says beside the privacy claim, so that nothing useless looks well; None where all is well.

    >>> verdict_on(["This release is likely to be of little use: ..."])
    'private, but of little use: see How good is it?'
    >>> verdict_on([]) is None
    True
    """
    if not warnings:
        return None
    if any(sentence.startswith(LITTLE_USE) for sentence in warnings):
        return "private, but of little use: see How good is it?"
    return "private, but not all is well: see How good is it?"
