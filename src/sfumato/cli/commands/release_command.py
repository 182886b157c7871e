"""sfumato release and sfumato train: from private rows to a folder with synthetic ones, or with a trained model."""

from rich.markup import escape

from sfumato.cli import charging
from sfumato.cli import non_private as unprotected
from sfumato.cli import options as option
from sfumato.cli.commands.keys_command import signing_key
from sfumato.cli.console import AsJson, Quiet, answer, progress, warn
from sfumato.cli.private_page import PrivatePage, PrivateTest, asked_page
from sfumato.cli.written import describe_release, show_written
from sfumato.errors import PlanError
from sfumato.fitting import TRAINING, fit
from sfumato.folder.releasing import check_target
from sfumato.folder.releasing import release as write_release
from sfumato.mechanism import Mechanism, learner_for
from sfumato.outlook.planning import plan
from sfumato.outlook.stages import fit_stages
from sfumato.private.engines.choose import engine_of
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import Budget, budget_of
from sfumato.public.schema.schema import Schema, sketch
from sfumato.scoring.step import SCORE, score_plan
from sfumato.training import train as train_model

_WRITING = "writing the folder"
_COMPARING = "comparing with the private rows, without privacy, for your page"


def release(
    data: option.PrivateData,
    schema_file: option.SchemaFile,
    out: option.NewFolder,
    epsilon: unprotected.EpsilonIfPrivate = None,
    delta: option.Delta = None,
    rows: option.RowsOption = None,
    mechanism_name: option.MechanismName = "auto",
    settings: option.Settings = None,
    seed: option.Seed = None,
    force: option.Force = False,
    sign: option.SignWith = None,
    passphrase_file: option.PassphraseFile = None,
    page: PrivatePage = None,
    private_test: PrivateTest = None,
    non_private: unprotected.NonPrivate = False,
    table: option.Table = None,
    sql: option.Select = None,
    order_by: option.OrderBy = None,
    engine: option.EngineName = "local",
    score: option.ScoreOption = False,
    ledger: charging.LedgerAddress = None,
    dataset: charging.DatasetOption = None,
    recipient: charging.Recipient = None,
    purpose: charging.Purpose = None,
    periods: charging.PeriodNames = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Measure private rows within the budget, and write synthetic ones with a certificate."""
    # Whatever can be refused is refused before a row is read.
    n_rows, private_data = option.asked_rows(rows), option.asked_data(data, table, sql, order_by)
    if unprotected.is_baseline(mechanism_name, non_private=non_private, epsilon=epsilon, delta=delta):
        if sign is not None:
            raise PlanError(f"{mechanism_name} is not private: there is no claim to sign. Leave out --sign.")
        if page is not None or private_test is not None:
            raise PlanError(
                f"--private-page compares a private release, and {mechanism_name} makes none. Leave it out."
            )
        schema = Schema.load(schema_file)
        baseline = unprotected.chosen_baseline(mechanism_name, schema=schema, settings=settings)
        check_target(out, force=force)
        account = charging.asked_account(
            ledger, dataset, recipient=recipient, purpose=purpose, periods=periods, sign=None
        )
        if account is not None:
            account.without_privacy(baseline.name)  # refused where the policy says no, and before a row is read
        unprotected.release_baseline(
            baseline, private_data, schema, out=out, rows=n_rows, seed=seed, force=force, quiet=quiet, as_json=as_json
        )
        return
    check_target(out, force=force)
    chosen_engine = engine_of(engine)
    key = signing_key(sign, passphrase_file)
    account = charging.asked_account(ledger, dataset, recipient=recipient, purpose=purpose, periods=periods, sign=key)
    schema = Schema.load(schema_file)
    asked = asked_page(page, private_test, out=out, schema=schema, force=force)
    budget = budget_of(unprotected.needed(epsilon), rows=schema.rows, delta=delta)
    mechanism = option.chosen_mechanism(mechanism_name, schema=schema, settings=settings)
    expected = _planned("release", mechanism, schema, budget, quiet=quiet)
    warn(expected)  # before any budget is spent
    if score:
        score_plan(sketch(schema), budget)  # refuses a schema without a target
    last = (*((TRAINING, SCORE) if score else ()), _WRITING, *(() if asked is None else (_COMPARING,)))
    stages = {**fit_stages(mechanism, schema, budget), **dict.fromkeys(last, 1)}
    with progress(title="release", stages=stages, quiet=quiet) as step:
        private = Sensitive.read(private_data, schema)
        fitted = fit(
            mechanism,
            private,
            budget,
            seed=seed,
            engine=chosen_engine,
            score=score,
            score_rows=n_rows,
            ledger=account,
            on_step=step,
        )
        step(_WRITING)
        written = write_release(fitted, to=out, rows=n_rows, force=force, sign=key)
        if asked is not None:
            step(_COMPARING)
            asked.write(written, private_data)
    payload = describe_release(written) | ({} if asked is None else {"private_page": str(asked.page)})
    for sentence in payload["warnings"]:
        warn(sentence if sentence != expected else None)
    warn(None if asked is None else asked.warning)
    what = f"{payload['rows']:,} synthetic rows to {escape(str(out))}"
    loading = [f"Load it into {tool}: {line}" for tool, line in list(payload["load"].items())[:1]]  # the report has all
    answer(
        payload, as_json=as_json, show=lambda console: show_written(console, payload, "released", what, out, *loading)
    )


def train(
    data: option.PrivateData,
    schema_file: option.SchemaFile,
    epsilon: option.Epsilon,
    out: option.NewFolder,
    learner: option.LearnerName = "auto",
    delta: option.Delta = None,
    settings: option.Settings = None,
    seed: option.Seed = None,
    force: option.Force = False,
    sign: option.SignWith = None,
    passphrase_file: option.PassphraseFile = None,
    table: option.Table = None,
    sql: option.Select = None,
    order_by: option.OrderBy = None,
    engine: option.EngineName = "local",
    ledger: charging.LedgerAddress = None,
    dataset: charging.DatasetOption = None,
    recipient: charging.Recipient = None,
    purpose: charging.Purpose = None,
    periods: charging.PeriodNames = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a classifier within the budget, and write it with a certificate. No rows are released."""
    # Whatever can be refused is refused before a row is read.
    private_data = option.asked_data(data, table, sql, order_by)
    check_target(out, force=force)
    chosen_engine = engine_of(engine)
    key = signing_key(sign, passphrase_file)
    schema = Schema.load(schema_file)
    account = charging.asked_account(ledger, dataset, recipient=recipient, purpose=purpose, periods=periods, sign=key)
    budget = budget_of(epsilon, rows=schema.rows, delta=delta)
    chosen = option.with_settings(learner_for(learner, schema), settings)
    _planned("train", chosen, schema, budget, quiet=quiet)
    stages = {**fit_stages(chosen, schema, budget), _WRITING: 1}
    with progress(title="train", stages=stages, quiet=quiet) as step:
        private = Sensitive.read(private_data, schema)
        trained = train_model(chosen, private, budget, seed=seed, engine=chosen_engine, ledger=account, on_step=step)
        step(_WRITING)
        written = write_release(trained.fitted, to=out, force=force, sign=key)
    payload = {**describe_release(written), "model": str(out)}
    for sentence in payload["warnings"]:
        warn(sentence)
    what, use = f"{escape(chosen.name)}, written to {escape(str(out))}", f"sfumato predict {out} ROWS --out FILE"
    predict = f"Predict with it: {use}"
    answer(payload, as_json=as_json, show=lambda console: show_written(console, payload, "trained", what, out, predict))


def _planned(title: str, mechanism: Mechanism, schema: Schema, budget: Budget, *, quiet: bool) -> str | None:
    """Calibrate the noise, so that what cannot be planned is refused; and what the plan warns of."""
    with progress(title=title, quiet=quiet) as step:
        step("calibrating the noise")
        return plan(mechanism, schema, budget).warning
