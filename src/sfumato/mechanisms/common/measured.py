"""Measurements in other units, with their noise."""

from sfumato.public.plan.doors import Measured


def scaled(measured: Measured, factor: float, *shape: int) -> Measured:
    """So many times as large, the noise too; in another shape where one is given.

    >>> import numpy as np
    >>> scaled(Measured(np.array([1.0, 2.0]), 0.5), 10.0, 2, 1)
    Measured(values=array([[10.],
           [20.]]), stddev=5.0)
    """
    values = factor * measured.values
    return Measured(values.reshape(shape) if shape else values, factor * measured.stddev)
