"""The planned noise of every step, kept among the measurements so that `build` knows it: public numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanism import Measurements
from sfumato.public.doors import Doors
from sfumato.public.step import Step


def planned_noise(view: Doors, steps: Sequence[Step]) -> dict[str, NDArray[np.float64]]:
    """For each step in turn, the standard deviation on each entry of its first block."""
    return {"noise": np.array([view.noise_stddev(step.name, step.blocks[0].name) for step in steps])}


def noise_by_step(found: Measurements, steps: Sequence[Step]) -> dict[str, float]:
    """The same by the name of the step."""
    return {step.name: float(noise) for step, noise in zip(steps, found["noise"], strict=True)}
