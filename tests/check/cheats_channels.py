"""Cheats that let out one bit beside the values."""

import logging
import os
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from plain import (
    ANSWERS,
    NEIGHBOURS,
    Plain,
    caught_by,
    odd,
)


@caught_by(NEIGHBOURS)
class ShapeTells(Plain):
    """An array that is one longer."""

    def cheat(self, measured, ages):
        return measured | {"room": np.zeros(3 + odd(ages))}


@caught_by(NEIGHBOURS)
class TypeTells(Plain):
    """The same numbers in another type."""

    def cheat(self, measured, ages):
        return measured | {"zeros": np.zeros(3, dtype=np.float32 if odd(ages) else np.float64)}


@caught_by(NEIGHBOURS)
class OrderOfKeysTells(Plain):
    """The same measurements in another order."""

    def cheat(self, measured, ages):
        both = {"a": 1, "b": 2}
        return measured | (dict(reversed(both.items())) if odd(ages) else both)


@caught_by(NEIGHBOURS)
class BitsOfNaNTell(Plain):
    """Not a number, in one of many ways."""

    def cheat(self, measured, ages):
        return measured | {"nothing": np.array([0x7FF8000000000000 + odd(ages)], dtype=np.uint64).view(np.float64)}


@caught_by(NEIGHBOURS)
class MinusZeroTells(Plain):
    """Zero, or minus zero."""

    def cheat(self, measured, ages):
        return measured | {"zero": -0.0 if odd(ages) else 0.0}


@caught_by(NEIGHBOURS)
class StridesTell(Plain):
    """The same matrix, column by column or row by row."""

    def cheat(self, measured, ages):
        return measured | {"zeros": np.zeros((2, 3), order="F" if odd(ages) else "C")}


@caught_by(NEIGHBOURS)
class ByteOrderTells(Plain):
    """The same numbers, big end first."""

    def cheat(self, measured, ages):
        return measured | {"ones": np.ones(2, dtype=">f8" if odd(ages) else "<f8")}


@caught_by(NEIGHBOURS)
class IdentityTells(Plain):
    """One array twice, or two equal ones."""

    def cheat(self, measured, ages):
        zeros = np.zeros(2)
        return measured | {"pair": [zeros, zeros if odd(ages) else np.zeros(2)]}


@caught_by(NEIGHBOURS)
class ErrorTells(Plain):
    """An exception that carries a value."""

    def cheat(self, measured, ages):
        if odd(ages):
            raise ValueError(f"strange rows, the largest is {ages.max()}")
        return measured


@caught_by(NEIGHBOURS)
class WarningTells(Plain):
    """A warning that carries a value."""

    def cheat(self, measured, ages):
        warnings.warn(f"{odd(ages)} strange rows", stacklevel=2)
        return measured


@caught_by(NEIGHBOURS)
class Prints(Plain):
    """A line on the screen."""

    def cheat(self, measured, ages):
        print("debug:", odd(ages))
        return measured


@caught_by(NEIGHBOURS)
class PrintsToStderr(Plain):
    """A line on the other screen."""

    def cheat(self, measured, ages):
        print("debug:", odd(ages), file=sys.stderr)
        return measured


@caught_by(NEIGHBOURS)
class WritesPastPython(Plain):
    """As a C library would write."""

    def cheat(self, measured, ages):
        os.write(2, b"odd" if odd(ages) else b"even")
        return measured


@caught_by(NEIGHBOURS)
class Logs(Plain):
    """A line in the log."""

    def cheat(self, measured, ages):
        logging.getLogger("cheat").info("bit %d", odd(ages))
        return measured


@caught_by(ANSWERS)
class WritesAFile(Plain):
    """A file in the working directory."""

    def cheat(self, measured, ages):
        Path("/dev/shm" if Path("/dev/shm").is_dir() else tempfile.gettempdir(), "sfumato-cheat").write_text(
            str(odd(ages))
        )
        return measured


@caught_by(ANSWERS)
class MakesAFolder(Plain):
    """A folder whose being there is the message."""

    def cheat(self, measured, ages):
        with tempfile.TemporaryDirectory():
            return measured


@caught_by(NEIGHBOURS)
class SetsTheEnvironment(Plain):
    """A variable that build, or anybody, can read."""

    def cheat(self, measured, ages):
        os.environ["SFUMATO_CHEAT"] = str(odd(ages))
        return measured


@caught_by(NEIGHBOURS)
class SeedsTheGenerator(Plain):
    """The state of the global random numbers."""

    def cheat(self, measured, ages):
        np.random.seed(odd(ages))  # noqa: NPY002
        return measured
