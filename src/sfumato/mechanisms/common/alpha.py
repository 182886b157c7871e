"""The trade-off alpha: one meaning in every mechanism that has it (docs/guide/alpha.md).

0 is faithful: rows and labels are those of the generator. 1 is predictive: labels, and where a mechanism moves points the
points too, follow what was learned of the target. Between them there is more of the one and less of the other.
"""

from sfumato.errors import PlanError


def check_alpha(alpha: float) -> None:
    """Refuse what is no such trade-off.

    >>> check_alpha(1.5)
    Traceback (most recent call last):
    sfumato.errors.PlanError: alpha = 1.5 must lie between 0 (faithful) and 1 (predictive).
    """
    if not 0 <= alpha <= 1:
        raise PlanError(f"alpha = {alpha} must lie between 0 (faithful) and 1 (predictive).")
