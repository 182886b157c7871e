"""What a release is charged in a dataset's own unit: its cost, by the factor that leads from one unit to the other."""

from fractions import Fraction

from dp_accounting import dp_event

from sfumato.errors import AccountingError
from sfumato.public.accounting.dominating import gaussian_cost
from sfumato.public.accounting.spend import Spend, spend_of
from sfumato.public.budget import PrivacyUnit

#: The part of a dataset's delta with which the mu of one sampled release may fail.
SAMPLING_SHARE = Fraction(1, 64)


def charge_for(
    event: dp_event.DpEvent, *, unit: PrivacyUnit, counted: PrivacyUnit, delta: float, periods: int = 0
) -> Spend:
    """What a release that protects `unit` costs a dataset of this delta that counts by another unit, or by the same.

    `periods`: how many periods it reads, where the dataset counts each of them by itself.

    >>> import dp_accounting as dpa
    >>> row = PrivacyUnit()
    >>> round(charge_for(dpa.GaussianDpEvent(2.0), unit=row, counted=row, delta=1e-6).mu, 9)
    0.5
    """
    factor = unit_factor(unit, counted=counted, periods=periods)
    failure = 0.0 if factor > 1 else float(delta * SAMPLING_SHARE)
    return spend_of(gaussian_cost(event, relation=unit.relation, failure=failure), factor=factor)


def unit_factor(unit: PrivacyUnit, *, counted: PrivacyUnit, periods: int = 0) -> int:
    """How many neighbours by the release's unit lead from one neighbour by the dataset's unit to the other, at most.

    >>> unit_factor(PrivacyUnit(), counted=PrivacyUnit(relation="replace_one"))
    2
    """
    if unit.person == counted.person and unit.relation == counted.relation:
        # Who has rows in other periods too is not added or removed with those of one: out with all, in with the others.
        return 2 if counted.person is not None and periods > 1 else 1
    if unit.relation == "add_or_remove" and counted.person in (unit.person, None):
        of_relation = 1 if counted.relation == unit.relation else 2
        of_person = 1 if counted.person == unit.person else 2
        return of_relation * of_person
    raise AccountingError(
        f"the dataset counts what is spent on {counted.describe()}, and the release protects {unit.describe()}. No bound leads "
        "from one to the other. Release with the dataset's unit, or enter the data as another dataset."
    )
