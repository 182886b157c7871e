"""From private rows to a fitted release: one straight line for every mechanism."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dp_accounting as dpa
import pandas as pd

from sfumato.fitted import Fitted
from sfumato.ledger.booking import Booking, Charges, account_of
from sfumato.mechanism import Mechanism, as_mechanism, record_of
from sfumato.model import public_seed
from sfumato.outlook.row_counts import AskedRows
from sfumato.private.discovering import discover
from sfumato.private.doors_only import doors_of
from sfumato.private.engines.choose import engine_of
from sfumato.private.engines.engine import Engine
from sfumato.private.engines.here import HERE
from sfumato.private.intake.apart import set_apart
from sfumato.private.intake.sensitive import Sensitive, charged_first, opened, with_key, with_schema
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.rows.freed import give_back
from sfumato.private.view import View
from sfumato.public.budget import Budget, budget_of
from sfumato.public.certificate.certificate import DiscoveryRecord, make_certificate
from sfumato.public.certificate.score import ScoreRecord
from sfumato.public.machine.threads import few_threads
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.discovery import event_to_book, refuse_in_vain
from sfumato.public.plan.plan import make_plan, refuse_sampling
from sfumato.public.schema.schema import Schema, sketch
from sfumato.scoring.learner import MOST_ROWS, learned
from sfumato.scoring.step import (
    COUNTS,
    SCORE,
    SHARE,
    check_share,
    refuse_public_counts,
    score_plan,
)
from sfumato.scoring.values import score_of

TRAINING = "training the scored learner"


def fit(
    mechanism: Mechanism | str,
    data: Any,
    budget: Budget | float,
    *,
    schema: Schema | str | Path | None = None,
    seed: int | None = None,
    source: NoiseSource | None = None,
    engine: Any = None,
    score: float | bool = False,
    score_rows: AskedRows = None,
    ledger: Any = None,
    dataset: str | None = None,
    on_step: Callable[[str], None] = lambda name: None,
) -> Fitted:
    """Measure private rows within the budget and build a model from what was measured.

    Args:
        mechanism: A mechanism, or the name of one (`auto` for the default).
        data: The private rows: a `Sensitive`, or with a schema whatever `Sensitive.read` takes.
        budget: The guarantee to meet. A number is an epsilon, with the delta that the command line would choose.
        schema: What is public about data that was not opened yet, or the path of its file.
        seed: Public randomness of the model. Drawn afresh where it is not given, and written into the certificate.
        source: Privacy randomness. The default is secure; any other one stamps the certificate `research`.
        engine: Where rows are kept and added up: `local` (processes of this machine, the default), `dask`, `spark`, an
            address behind a colon, or a client or session that is open already. The measurements are the same on all.
        score: Set a share of the rows apart (True: a tenth), measure nothing else of them, and tell, noisily, how well a learner
            predicts them that was trained on synthetic rows: docs/guide/score.md.
        score_rows: How many synthetic rows that learner gets: as many as will be released.
        ledger: What all releases of these rows are charged to, before any row is read: a `Ledger`, its address, or an account
            of one (`sf.Ledger().dataset("patients", recipient="university")`). By default that of SFUMATO_LEDGER, if it is set.
        dataset: The name of the rows in the ledger.
        on_step: Told the name of each step as it begins.
    """
    private = opened(data, schema)
    chosen = as_mechanism(mechanism, private.schema)
    asked = budget_of(budget, rows=private.schema.rows)
    primitives = Primitives(source or NoiseSource())
    chosen_engine, share = engine_of(engine), float(score) if type(score) is not bool else SHARE * score
    account = account_of(ledger, dataset)
    if not share:
        return fit_with(
            primitives, chosen, private, asked, seed=seed, engine=chosen_engine, account=account, on_step=on_step
        )
    return fit_and_score(
        primitives,
        chosen,
        private,
        asked,
        share=share,
        rows=score_rows,
        seed=seed,
        engine=chosen_engine,
        account=account,
        on_step=on_step,
    )


def fit_and_score(
    primitives: Primitives,
    mechanism: Mechanism,
    data: Sensitive,
    budget: Budget,
    *,
    share: float,
    rows: AskedRows = None,
    seed: int | None = None,
    engine: Engine = HERE,
    account: Charges | None = None,
    on_step: Callable[[str], None] = lambda name: None,
) -> Fitted:
    """Fit to some rows, and score what a learner makes of the synthetic ones on the others, which nothing else has seen.

    Every unit is on one side, by a secret coin, so each side has the whole budget, and a ledger is charged for the dearer one,
    before a row of either is read: docs/proofs/private-score.md.
    """
    # Whatever can be refused is refused before a row is read.
    check_share(share)
    expected = score_plan(sketch(data.schema), budget)
    refuse_public_counts(mechanism.steps(sketch(data.schema), budget))
    booking = None if account is None else _booking(account, mechanism, data.schema, budget, apart=expected.event)
    measured, tested = set_apart(_charged(data, booking), key=primitives.key(), share=share)
    fitted = _fit(primitives, mechanism, measured, budget, seed=seed, engine=engine, booking=booking, on_step=on_step)
    n_rows = min(fitted.row_count(rows), MOST_ROWS)
    planned = score_plan(fitted.schema, budget)
    if booking is not None:
        booking.statement(planned.event)  # refuses a score that costs more than was charged
    on_step(TRAINING)
    score_map = learned(pd.DataFrame(fitted.sample(n_rows).table), fitted.schema)
    tested, schema = with_key(with_schema(tested, fitted.schema), primitives.key()), fitted.schema
    view = View(tested, plan=planned, primitives=primitives, schema=schema, on_step=on_step, engine=engine)
    try:
        with few_threads():
            noisy = view.noisy_sum(SCORE, score_map)[COUNTS]
    finally:
        view.close()
    value, low, high = score_of(score_map.metric, noisy, max_rows=schema.unit.max_rows)
    record = ScoreRecord(share, n_rows, score_map.name, score_map.metric, value, low, high, float(planned.scale))
    certificate = replace(fitted.certificate, score=record)
    return replace(fitted, answers=fitted.answers | view.answers, certificate=certificate)


def fit_with(
    primitives: Primitives,
    mechanism: Mechanism | str,
    data: Sensitive,
    budget: Budget,
    *,
    seed: int | None = None,
    engine: Engine = HERE,
    account: Charges | None = None,
    on_step: Callable[[str], None] = lambda name: None,
) -> Fitted:
    """The same with other primitives than the package's own: for twins. The certificate then says `non_private`."""
    chosen = as_mechanism(mechanism, data.schema)
    booking = None if account is None else _booking(account, chosen, data.schema, budget)
    return _fit(
        primitives,
        chosen,
        _charged(data, booking),
        budget,
        seed=seed,
        engine=engine,
        booking=booking,
        on_step=on_step,
    )


def _fit(
    primitives: Primitives,
    chosen: Mechanism,
    data: Sensitive,
    budget: Budget,
    *,
    seed: int | None,
    engine: Engine,
    booking: Booking | None,
    on_step: Callable[[str], None],
) -> Fitted:
    schema = data.schema
    seed = int.from_bytes(os.urandom(4), "little") if seed is None else public_seed(seed)
    record = record_of(chosen)
    if schema.unit.person is not None:
        data = with_key(data, primitives.key())

    if schema.unknown:
        refuse_sampling(chosen.steps(sketch(schema), budget))  # before any row is read
        refuse_in_vain(schema, budget=budget)
    discovered = (
        discover(data, budget=budget, primitives=primitives, on_step=on_step, engine=engine) if schema.unknown else None
    )
    prior, before = None, Answers()
    if discovered is not None:
        schema, data, prior, before = discovered.schema, discovered.data, discovered.plan.event, discovered.answers
    planned = make_plan(chosen.steps(schema, budget), budget=budget, unit=schema.unit, rows=schema.rows, prior=prior)
    view = View(data, plan=planned, primitives=primitives, schema=schema, on_step=on_step, engine=engine)
    try:
        with few_threads():
            measurements = chosen.measure(doors_of(view), schema)
    finally:
        view.close()
    answers = before | view.answers
    del view  # and with it the rows that it kept in memory
    give_back()

    # ------------------------------------------------------------------------------------------------------------
    # The privacy boundary. Above: private rows behind doors. Below: a function of noisy numbers and public facts.
    # ------------------------------------------------------------------------------------------------------------

    on_step("build")
    with few_threads():
        model = chosen.build(measurements, schema, seed=seed)
    certificate = make_certificate(
        plan=planned,
        schema=schema,
        mechanism=record,
        seed=seed,
        randomness=primitives.source.description,
        status=primitives.status,
        discovery=None if discovered is None else DiscoveryRecord(**discovered.plan.published),
        ledger=None if booking is None else booking.statement(planned.event),
    )
    written = None if booking is None else booking.written
    return Fitted(chosen, schema, planned, answers, model, certificate, written)


def _charged(data: Sensitive, booking: Booking | None) -> Sensitive:
    """The same data, which gives no row before it is paid for."""
    return data if booking is None else charged_first(data, booking)


def _booking(
    account: Charges, mechanism: Mechanism, schema: Schema, budget: Budget, *, apart: dpa.DpEvent | None = None
) -> Booking:
    """What will be charged when the first row is about to be read: the plan, or where it is not known yet, all of the budget.

    `apart`: what rows are charged for that are set apart.
    """
    planned = None
    if not schema.unknown:
        steps = mechanism.steps(schema, budget)
        planned = make_plan(steps, budget=budget, unit=schema.unit, rows=schema.rows)
    event, name = event_to_book(planned, schema, budget), mechanism.name
    return Booking(account, event=event, unit=schema.unit, budget=budget, mechanism=name, apart=apart)
