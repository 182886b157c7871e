"""Accidents that let out a little, beside the values."""

import gc

import numpy as np
import pandas as pd
from plain import ANSWERS, NEIGHBOURS, Plain, caught_by, odd


@caught_by(NEIGHBOURS)
class LastBitTells(Plain):
    """A noisy number, moved to its neighbour among floating-point numbers."""

    def cheat(self, measured, ages):
        counts = measured["counts"]
        return measured | {"counts": np.nextafter(counts, np.inf) if odd(ages) else counts}


@caught_by(NEIGHBOURS)
class CategoriesTell(Plain):
    """The order of a categorical column's names."""

    def cheat(self, measured, ages):
        names = ["a", "b"] if odd(ages) else ["b", "a"]
        return measured | {"table": pd.DataFrame({"x": pd.Categorical(["a"], categories=names)})}


@caught_by(NEIGHBOURS)
class IndexNameTells(Plain):
    """The name of a frame's index."""

    def cheat(self, measured, ages):
        return measured | {"table": pd.DataFrame({"x": [1]}).rename_axis("even" if odd(ages) else "odd")}


@caught_by(NEIGHBOURS)
class NotesOnATypeTell(Plain):
    """Metadata of a dtype."""

    def cheat(self, measured, ages):
        return measured | {"zeros": np.zeros(2, dtype=np.dtype("f8", metadata={"bit": odd(ages)}))}


class Noted(np.ndarray):
    """An array with attributes."""


class Text(str):
    """A text with attributes."""

    __slots__ = ("__dict__",)


@caught_by(NEIGHBOURS)
class AttributesTell(Plain):
    """An attribute of an array of some class of one's own."""

    def cheat(self, measured, ages):
        zeros = np.zeros(2).view(Noted)
        zeros.note = odd(ages)
        return measured | {"zeros": zeros}


@caught_by(NEIGHBOURS)
class AttributesOfATextTell(Plain):
    """The same of a text."""

    def cheat(self, measured, ages):
        text = Text("nothing")
        text.note = odd(ages)
        return measured | {"text": text}


@caught_by(NEIGHBOURS)
class MaskTells(Plain):
    """What a masked array hides."""

    def cheat(self, measured, ages):
        return measured | {"zeros": np.ma.array(np.zeros(2), mask=[bool(odd(ages)), False])}


class Reduced:
    """Says something else when it is pickled."""

    def __init__(self, told):
        self.__dict__["told"] = told

    def __reduce__(self):
        return (Reduced, (self.told,))


@caught_by(ANSWERS)
class PicklesMore(Plain):
    """`__reduce__` carries a value."""

    def cheat(self, measured, ages):
        return measured | {"thing": Reduced(float(ages.mean()))}


@caught_by(ANSWERS)
class SeedFromTheRows(Plain):
    """A seed that follows the rows: all samples tell of them."""

    def cheat(self, measured, ages):
        return measured | {"seed": hash(ages.tobytes()) % 2**31}


@caught_by(ANSWERS)
class OrderOfTheRows(Plain):
    """In which order the first rows stand."""

    def cheat(self, measured, ages):
        return measured | {"order": np.argsort(ages[:8], kind="stable")}


@caught_by(NEIGHBOURS)
class CollectorSwitchTells(Plain):
    """Whether garbage is collected."""

    def cheat(self, measured, ages):
        (gc.enable if odd(ages) else gc.disable)()
        return measured


@caught_by(NEIGHBOURS)
class ErrorStateTells(Plain):
    """What numpy does about a division by 0."""

    def cheat(self, measured, ages):
        np.seterr(divide="ignore" if odd(ages) else "warn")
        return measured
