"""The account: what the recomputed events cost, by the package's own accountant and by code that shares nothing with it.

Both give upper bounds on the true epsilon, so a claim that is smaller than either is not borne out by it. How far they lie
above the truth decides how small an understatement is seen:

* Plain Gaussian sums have a closed form. Both codes give it to 1e-9 of its value, and no more than that is forgiven.
* Sampled sums are composed on a grid. The package's accountant errs upwards by some .01 % (.5 % at a delta of 1e-10 and
  thousands of uses, where rounding is taken off delta); an honest claim was calibrated with that very code, so the same
  code must find no more than the claim, but for the rounding of Fourier transforms on another processor (1e-7).
  The independent replay has a finer grid: it errs upwards by 1e-5 or so, less than the accountant, and
  may lie above a claim by 5e-5 at most.

So an epsilon that is understated by more than the calibration's own slack (1e-4 of epsilon; next to nothing for plain
Gaussians) is refused. A claim that is too large is true, and passes.
"""

import math

from sfumato.errors import SfumatoError
from sfumato.public.accounting import epsilon_of, event_to_json
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema
from sfumato.verification.findings import Findings
from sfumato.verification.replay import replay_epsilon

#: How far a recomputed epsilon may lie above the claim, relative to it.
EXACT, REPEATED, REPLAYED = 1e-8, 1e-7, 5e-5
#: A delta above this promises nothing, however few rows are declared; the smaller one holds where none are.
LARGEST_DELTA, LARGEST_DELTA_OF_UNKNOWN = 1e-2, 1e-3


def check_delta(certificate: Certificate, schema: Schema, found: Findings) -> None:
    """A delta that a release of one random raw row would also meet is no claim."""
    problems, largest = [], LARGEST_DELTA_OF_UNKNOWN if schema.rows is None else LARGEST_DELTA
    try:
        certificate.claim.budget.check_against(schema.rows)
    except SfumatoError as error:
        problems.append(f"the claim promises nothing: {error}")
    if not problems and certificate.delta > largest:
        problems.append(f"the claim promises nothing: delta = {certificate.delta:g} is above {largest:g}.")
    what = "below what one raw row would cost" if schema.rows is None else "at most one over the declared rows"
    found.settle(problems, checked=f"delta is {what}")


def check_account(certificate: Certificate, plan: Plan, found: Findings) -> float | None:
    """Account for the recomputed events twice. Returns the independent replay's epsilon, if it came to one."""
    claim, relation = certificate.claim, plan.unit.relation
    try:
        spent = epsilon_of(plan.event, delta=claim.delta, relation=relation)
        replayed = replay_epsilon(event_to_json(plan.event), delta=claim.delta, relation=relation)
    except SfumatoError as error:
        found.problems.append(f"the account cannot be replayed: {error}")
        return None
    problems, repeated = [], EXACT if spent.accountant == "gdp" else REPEATED
    independent = EXACT if spent.accountant == "gdp" else REPLAYED
    if spent.accountant != claim.accountant or spent.numeric_error != claim.numeric_error:
        problems.append(f"the accountant of these events is {spent.accountant!r}, and the certificate says otherwise.")
    if not math.isclose(spent.epsilon, claim.spent_epsilon, rel_tol=repeated):
        problems.append(
            f"the certificate says that epsilon {claim.spent_epsilon:.6g} was spent, and its events cost {spent.epsilon:.6g}."
        )
    for epsilon, tolerance, who in (
        (spent.epsilon, repeated, "amount to"),
        (replayed, independent, "amount, by independent code, to"),
    ):
        if not epsilon <= claim.epsilon * (1 + tolerance):
            problems.append(
                f"the certificate claims epsilon {claim.epsilon:.6g}, and its own events {who} {epsilon:.6g}."
            )
            break
    checked = "the epsilon spent is what the events cost, and code that shares nothing with the accountant"
    found.settle(problems, checked=f"{checked} finds no more than the claim (to {independent * 100:.2g} %)")
    return replayed
