"""Anything as a list of named bytes, so that two runs can be compared to the last bit and the difference named.

Values, dtypes, shapes, byte order, strides, the order of keys, minus zero, the bits of a NaN, and which objects are one and the
same: whatever a value can be made to carry shows.
"""

import functools
import hashlib
import struct
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: Where something stands, and its bytes.
Leaf = tuple[str, bytes]


def leaves(value: object, *, name: str = "", strangers_by_id: bool = False) -> list[Leaf]:
    """Every part of a value, in order.

    With `strangers_by_id`, what is not plain data (numbers, texts, arrays, containers) is told apart by identity alone.

    >>> leaves({"x": 1.0}) == leaves({"x": 1.0}), leaves({"x": 0.0}) == leaves({"x": -0.0})
    (True, False)
    >>> leaves({"a": 1, "b": 2}) == leaves({"b": 2, "a": 1})
    False
    """
    return list(_Walk(strangers_by_id=strangers_by_id).over(value, name))


def first_difference(one: list[Leaf], two: list[Leaf]) -> str | None:
    """The name of the first part in which two walks differ; None where they are the same."""
    for left, right in zip(one, two, strict=False):
        if left != right:
            return left[0] or right[0] or "the value"
    if len(one) != len(two):
        return max(one, two, key=len)[min(len(one), len(two))][0] or "the value"
    return None


def arrays_in(value: object) -> Iterator[NDArray[Any]]:
    """All arrays of numbers in nested containers."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        yield value
    elif isinstance(value, float | np.floating):
        yield np.asarray(value)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from arrays_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from arrays_in(part)
    elif hasattr(value, "__dataclass_fields__"):
        for field in value.__dataclass_fields__:
            yield from arrays_in(getattr(value, field))


class _Walk:
    """One walk: it remembers what it has met, because two names for one object differ from two equal objects."""

    def __init__(self, *, strangers_by_id: bool) -> None:
        self._by_id = strangers_by_id
        self._met: dict[int, int] = {}
        self._kept: list[object] = []  # so that no id is used twice

    def over(self, value: Any, at: str) -> Iterator[Leaf]:
        if value is None or isinstance(value, bool | int | str | bytes | float | complex | np.generic):
            yield at, _atom(value)
            return
        if id(value) in self._met:
            yield at, b"again %d" % self._met[id(value)]
            return
        self._met[id(value)] = len(self._met)
        self._kept.append(value)
        yield at, _full_name(type(value))
        yield from self._parts(value, at)

    def _parts(self, value: Any, at: str) -> Iterator[Leaf]:
        if isinstance(value, np.ndarray):
            yield from self._array(value, at)
        elif isinstance(value, dict):
            for key, part in value.items():
                yield f"{at} key", b"".join(leaf for _, leaf in self.over(key, at))
                yield from self.over(part, f"{at}[{key!r}]")
        elif isinstance(value, list | tuple):
            yield at, b"%d" % len(value)
            for i, part in enumerate(value):
                yield from self.over(part, f"{at}[{i}]")
        elif isinstance(value, set | frozenset):
            yield at, b"".join(sorted(b"".join(leaf for _, leaf in self.over(part, at)) for part in value))
        elif isinstance(value, pd.DataFrame | pd.Series):
            yield from self._frame(value, at)
        elif isinstance(value, types.FunctionType):
            yield from self._function(value, at)
        elif isinstance(value, type | types.ModuleType | types.BuiltinFunctionType):
            yield at, getattr(value, "__qualname__", value.__name__).encode()
        elif self._by_id:
            yield at, b"%d" % id(value)
        elif isinstance(value, types.MethodType):
            yield from self.over((value.__func__, value.__self__), at)
        elif isinstance(value, functools.partial):
            yield from self.over((value.func, value.args, value.keywords), at)
        elif hasattr(value, "detach") and hasattr(value, "numpy"):  # a tensor; torch is an optional extra
            yield at, f"{value.dtype} {value.device} {value.stride()}".encode()
            yield from self.over(value.detach().cpu().numpy(), at)
        else:
            yield from self._by_pickling_rules(value, at)

    def _array(self, values: NDArray[Any], at: str) -> Iterator[Leaf]:
        yield at, f"{values.dtype.str} {values.shape} {values.strides} {values.flags.num}".encode()
        if values.dtype.hasobject:
            for i, part in enumerate(values.ravel().tolist()):
                yield from self.over(part, f"{at}[{i}]")
        else:
            yield at, values.tobytes()

    def _frame(self, frame: Any, at: str) -> Iterator[Leaf]:
        columns = {"": frame} if isinstance(frame, pd.Series) else {name: frame[name] for name in frame.columns}
        yield at, repr((list(columns), frame.attrs)).encode()
        yield from self.over(frame.index.to_numpy(), f"{at} index")
        for name, column in columns.items():
            here = f"{at}[{name!r}]"
            yield here, repr(column.dtype).encode()
            coded = isinstance(column.dtype, pd.CategoricalDtype)
            yield from self.over(column.cat.codes.to_numpy() if coded else column.to_numpy(), here)

    def _function(self, function: types.FunctionType, at: str) -> Iterator[Leaf]:
        yield at, _full_name(function)
        cells = [_content(cell) for cell in function.__closure__ or ()]
        held = (function.__defaults__, function.__kwdefaults__, cells, function.__dict__)
        yield from self.over(held, f"{at} of {function.__name__}")

    def _by_pickling_rules(self, value: Any, at: str) -> Iterator[Leaf]:
        try:
            recipe = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 - a foreign class may refuse in any way; its type was noted
            return
        if isinstance(recipe, str):
            yield at, recipe.encode()
            return
        maker, arguments, *state = recipe
        yield at, getattr(maker, "__qualname__", "").encode()
        yield from self.over(arguments, at)
        for part in state:
            if isinstance(part, dict):
                for key, inner in part.items():
                    yield from self.over(inner, f"{at}.{key}")
            else:
                yield from self.over(list(part) if hasattr(part, "__next__") else part, at)


def _atom(value: Any) -> bytes:
    kind = f"{type(value).__name__} ".encode()
    if isinstance(value, np.generic):
        return kind + value.dtype.str.encode() + value.tobytes()
    if isinstance(value, float):
        return kind + struct.pack("<d", value)
    if isinstance(value, complex):
        return kind + struct.pack("<dd", value.real, value.imag)
    return kind + (value if isinstance(value, bytes) else str(value).encode("utf-8", errors="surrogatepass"))


def _full_name(named: Any) -> bytes:
    module = (
        "__main__" if named.__module__ == "__mp_main__" else named.__module__
    )  # a script, loaded by another process
    return f"{module}.{named.__qualname__}".encode()


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def digest(found: list[Leaf]) -> list[Leaf]:
    """The same with every long part as its hash: small enough to keep and to send."""
    return [(at, part if len(part) <= 64 else hashlib.sha256(part).digest()) for at, part in found]
