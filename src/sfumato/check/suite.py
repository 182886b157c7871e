"""`check_mechanism`: what every mechanism must do, checked on rows made up from its schema."""

from collections.abc import Callable
from dataclasses import dataclass

from sfumato.check import checks
from sfumato.check.setting import Setting
from sfumato.errors import ContractError
from sfumato.mechanism import Mechanism
from sfumato.private.kernel.view import View
from sfumato.public.budget import Budget
from sfumato.public.schema import Schema


@dataclass(frozen=True)
class Check:
    """One clause of the contract."""

    name: str
    run: Callable[[Setting], None]


#: In the order in which they are run: cheap ones first.
CHECKS: tuple[Check, ...] = (
    Check("steps are public and settled", checks.steps_are_public),
    Check("spending stays within the plan", checks.spends_within_plan),
    Check("a step used too often is refused", checks.overuse_is_refused),
    Check("neighbouring data differ by at most the bound", checks.neighbours_stay_close),
    Check("noise has the planned scale", checks.noise_has_its_scale),
    Check("noise is drawn afresh", checks.noise_is_fresh),
    Check("sampling is what was accounted", checks.sampling_is_as_planned),
    Check("shapes are public", checks.shapes_are_public),
    Check("nasty rows survive", checks.nasty_rows_survive),
    Check("no private row travels with the model", checks.nothing_travels),
    Check("a release loads, samples and verifies without the data", checks.works_without_data),
)


def check_mechanism(
    mechanism: Mechanism,
    schema: Schema,
    *,
    budget: Budget | None = None,
    n_rows: int = 300,
    view_type: type[View] = View,
) -> None:
    """Run every check; raise ContractError at the first clause that is broken.

    Args:
        mechanism: What to check.
        schema: A schema that the mechanism supports. Rows are made up from it.
        budget: What to fit with; (1, 1e-6) by default.
        n_rows: How many rows to make up. Where the schema's relation makes the number of rows public, its own
            `rows` counts.
        view_type: The doors to check with: for the broken twins of the doors themselves.
    """
    setting = Setting(mechanism, schema, budget or Budget(epsilon=1.0, delta=1e-6), n_rows, view_type)
    for check in CHECKS:
        try:
            check.run(setting)
        except ContractError as broken:
            raise ContractError(f"{mechanism.name}: {check.name}: {broken}") from None
