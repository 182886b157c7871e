"""Settings that several mechanisms check alike."""

import math

import numpy as np

from sfumato.errors import PlanError

#: Adam takes first steps of up to ten times its rate; a further ten, so that nobody has to know that.
_MOST_SINGLE = float(np.finfo(np.float32).max) / 100


def require_positive(**settings: float) -> None:
    """Refuse settings that must be above 0, by their names."""
    for name, value in settings.items():
        if not (math.isfinite(value) and value > 0):
            raise PlanError(f"{name} = {value} must be above 0.")


def require_single_precision(**settings: float) -> None:
    """Refuse settings that are too large for a network whose weights are float32, by their names."""
    for name, value in settings.items():
        if value > _MOST_SINGLE:
            raise PlanError(f"{name} = {value:g} is too large: weights are numbers of single precision.")
