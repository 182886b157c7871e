"""`check_mechanism`: what every mechanism must do, checked on rows made up from its schema."""

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.check.clauses import doors, interference, plan, release
from sfumato.check.instruments.fresh import refuse_while_loading
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError
from sfumato.mechanism import Mechanism
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.budget import Budget
from sfumato.public.machine.threads import few_threads
from sfumato.public.schema.schema import Schema


@dataclass(frozen=True)
class Check:
    """One clause of the contract."""

    name: str
    run: Callable[[Setting], None]


#: In the order in which they are run: cheap ones first.
CHECKS: tuple[Check, ...] = (
    Check("steps are public and settled", plan.steps_are_public),
    Check("spending stays within the plan", plan.spends_within_plan),
    Check("a step used too often is refused", plan.overuse_is_refused),
    Check("a ledger is charged with the whole plan before a row is read", plan.charged_before_reading),
    Check("maps act on each row alone", interference.maps_act_on_each_row_alone),
    Check("what comes out follows from the doors' answers", interference.answers_tell_all),
    Check("neighbouring data cannot be told apart by anything else", interference.neighbours_cannot_be_told_apart),
    Check("neighbouring data differ by at most the bound", doors.neighbours_stay_close),
    Check("noise has the planned scale", doors.noise_has_its_scale),
    Check("noise is drawn afresh", doors.noise_is_fresh),
    Check("choices have the planned odds", doors.choices_have_their_odds),
    Check("responses have the planned odds", doors.responses_have_their_odds),
    Check("sampling is what was accounted", doors.sampling_is_as_planned),
    Check("shapes are public", plan.shapes_are_public),
    Check("nasty rows survive", release.nasty_rows_survive),
    Check("no private row travels with the model", release.nothing_travels),
    Check("nothing is left on the machine", release.nothing_is_left_on_the_machine),
    Check("a fresh process builds the same model", interference.a_fresh_process_builds_the_same),
    Check("a release loads, samples and verifies without the data", release.works_without_data),
)


def check_mechanism(
    mechanism: Mechanism,
    schema: Schema,
    *,
    budget: Budget | None = None,
    n_rows: int = 300,
    primitives: Callable[[NoiseSource], Primitives] = Primitives,
) -> None:
    """Run every check; raise ContractError at the first clause that is broken.

    Args:
        mechanism: What to check.
        schema: A schema that the mechanism supports. Rows are made up from it.
        budget: What to fit with; (1, 1e-6) by default.
        n_rows: How many rows to make up where nothing else is said; neighbours are also tried with none and with some
            thousands. Where the schema's relation makes the number of rows public, its own `rows` counts.
        primitives: What the doors are built of: for the broken twins of these.
    """
    refuse_while_loading()
    if isinstance(mechanism, type):
        raise ContractError(f"{mechanism.__name__} is a class. Give a mechanism: {mechanism.__name__}().")
    if not isinstance(schema, Schema):
        raise ContractError(f"schema = {schema!r} is no schema. Read one with sf.Schema.load('schema.toml').")
    if not isinstance(budget, Budget | None):
        raise ContractError(f"budget = {budget!r} is no budget. Give sf.Budget(epsilon=1.0, delta=1e-6), say.")
    setting = Setting(mechanism, schema, budget or Budget(epsilon=1.0, delta=1e-6), n_rows, primitives)
    with few_threads():  # as in a release: more would round matrices otherwise here than in a fresh process
        for check in CHECKS:
            try:
                check.run(setting)
            except ContractError as broken:
                raise ContractError(f"{mechanism.name}: {check.name}: {broken}") from None
