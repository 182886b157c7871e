"""Settings that several mechanisms check alike."""

import math

from sfumato.errors import PlanError


def require_positive(**settings: float) -> None:
    """Refuse settings that must be above 0, by their names."""
    for name, value in settings.items():
        if not (math.isfinite(value) and value > 0):
            raise PlanError(f"{name} = {value} must be above 0.")
