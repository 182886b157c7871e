"""Anything as a list of named bytes, so that two runs can be compared to the last bit and the difference named.

Values, dtypes, shapes, byte order, strides, the order of keys, minus zero, the bits of a NaN, notes on a type, attributes of a
subclass, what a generator or a traceback holds, and which objects are one and the same: whatever a value can be made to carry
shows.
"""

import functools
import hashlib
import struct
import types
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

#: Where something stands, and its bytes.
Leaf = tuple[str, bytes]
_ATOMS = (bool, int, str, bytes, float, complex, np.generic)
_PLAIN = frozenset((*_ATOMS, type(None), list, tuple, dict, set, frozenset, np.ndarray))
#: What a frame may hold that is walked over; the doors themselves are not.
_DATA = (*_ATOMS, list, tuple, dict, set, frozenset, np.ndarray, pd.DataFrame, pd.Series)


def leaves(value: object, *, name: str = "", strangers_by_id: bool = False) -> list[Leaf]:
    """Every part of a value, in order.

    With `strangers_by_id`, what is not plain data (numbers, texts, arrays, containers) is told apart by identity alone.

    >>> leaves({"x": 1.0}) == leaves({"x": 1.0}), leaves({"x": 0.0}) == leaves({"x": -0.0})
    (True, False)
    >>> leaves({"a": 1, "b": 2}) == leaves({"b": 2, "a": 1})
    False
    """
    walk = _Walk(strangers_by_id=strangers_by_id)
    walk.over(value, name)
    return walk.found


def first_difference(one: list[Leaf], two: list[Leaf]) -> str | None:
    """The name of the first part in which two walks differ; None where they are the same."""
    for leaves_here in zip_longest(one, two, fillvalue=None):
        if leaves_here[0] != leaves_here[1]:
            return next((leaf[0] for leaf in leaves_here if leaf and leaf[0]), "the value")
    return None


def arrays_in(value: object) -> Iterator[NDArray[Any]]:
    """All arrays of numbers in nested containers."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        yield value
    elif isinstance(value, float | np.floating):
        yield np.asarray(value)
    else:
        fields = getattr(value, "__dataclass_fields__", ())
        inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
        for part in (*inner, *(getattr(value, field) for field in fields)):
            yield from arrays_in(part)


class _Walk:
    """One walk: it remembers what it has met, because two names for one object differ from two equal objects.

    It writes into one list, since generators within generators would take several times as long, and the contract suite walks
    over whole modules before and after every run.
    """

    def __init__(self, *, strangers_by_id: bool) -> None:
        self.found: list[Leaf] = []
        self._by_id = strangers_by_id
        self._met: dict[int, int] = {}
        self._kept: list[object] = []  # so that no id is used twice

    def over(self, value: Any, at: str) -> None:
        if value is None or isinstance(value, _ATOMS):
            self.found.append((at, _atom(value)))
            self._attributes(value, at)
            return
        if id(value) in self._met:
            self.found.append((at, b"again %d" % self._met[id(value)]))
            return
        self._met[id(value)] = len(self._met)
        self._kept.append(value)
        self.found.append((at, _full_name(type(value))))
        self._parts(value, at)
        if isinstance(value, (np.ndarray, list, tuple, dict, set, frozenset)):
            self._attributes(value, at)

    def _attributes(self, value: Any, at: str) -> None:
        """Those of a number, a text or a container of some class of its own."""
        if type(value) not in _PLAIN and getattr(value, "__dict__", None):
            self.over(dict(vars(value)), at)

    def _joined(self, value: Any, at: str) -> bytes:
        """All of a value as one part, which the walk leaves out."""
        begin = len(self.found)
        self.over(value, at)
        joined = b"".join(leaf for _, leaf in self.found[begin:])
        del self.found[begin:]
        return joined

    def _parts(self, value: Any, at: str) -> None:
        if isinstance(value, np.ndarray):
            self._array(value, at)
        elif isinstance(value, dict):
            for key, part in value.items():
                self.found.append((f"{at} key", self._joined(key, at)))
                self.over(part, f"{at}[{key!r}]")
        elif isinstance(value, (list, tuple)):
            self.found.append((at, b"%d" % len(value)))
            for i, part in enumerate(value):
                self.over(part, f"{at}[{i}]")
        elif isinstance(value, (set, frozenset)):
            self.found.append((at, b"".join(sorted(self._joined(part, at) for part in value))))
        elif isinstance(value, types.FunctionType):
            self._function(value, at)
        elif isinstance(value, (types.GeneratorType, types.TracebackType)):
            self._suspended(value, at)
        elif isinstance(value, BaseException):
            self.over((value.args, vars(value), value.__context__, value.__cause__, value.__traceback__), at)
        elif isinstance(value, (pd.DataFrame, pd.Series)):
            self._frame(value, at)
        elif isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
            self.found.append((at, getattr(value, "__qualname__", value.__name__).encode()))
        elif self._by_id:
            self.found.append((at, b"%d" % id(value)))
        elif isinstance(value, types.MethodType):
            self.over((value.__func__, value.__self__), at)
        elif isinstance(value, functools.partial):
            self.over((value.func, value.args, value.keywords), at)
        elif hasattr(value, "detach") and hasattr(value, "numpy"):  # a tensor; torch is an optional extra
            self.found.append((at, f"{value.dtype} {value.device} {value.stride()}".encode()))
            self.over(value.detach().cpu().numpy(), at)
        else:
            self._by_pickling_rules(value, at)

    def _array(self, values: NDArray[Any], at: str) -> None:
        kind = f"{values.dtype.str} {dict(values.dtype.metadata or {})}"
        self.found.append((at, f"{kind} {values.shape} {values.strides} {values.flags.num}".encode()))
        if values.dtype.hasobject:
            for i, part in enumerate(values.ravel().tolist()):
                self.over(part, f"{at}[{i}]")
        else:
            self.found.append((at, values.tobytes()))

    def _frame(self, frame: Any, at: str) -> None:
        columns = {"": frame} if isinstance(frame, pd.Series) else {name: frame[name] for name in frame.columns}
        names = (list(columns), frame.attrs, list(frame.index.names), getattr(frame, "name", None))
        self.found.append((at, repr((*names, type(frame.index), getattr(frame, "columns", None))).encode()))
        self.over(frame.index.to_numpy(), f"{at} index")
        for name, column in columns.items():
            here = f"{at}[{name!r}]"
            self.found.append((here, repr(column.dtype).encode()))
            coded = isinstance(column.dtype, pd.CategoricalDtype)
            self.over(column.cat.codes.to_numpy() if coded else column.to_numpy(), here)

    def _suspended(self, value: Any, at: str) -> None:
        """The variables of a generator, or of the calls that a traceback has gone through."""
        while value is not None:
            frame = value.gi_frame if isinstance(value, types.GeneratorType) else value.tb_frame
            held = {} if frame is None else frame.f_locals
            # ".0" is what a generator expression goes through.
            self.over({name: part for name, part in held.items() if name == ".0" or isinstance(part, _DATA)}, at)
            value = getattr(value, "tb_next", None)

    def _function(self, function: types.FunctionType, at: str) -> None:
        self.found.append((at, _full_name(function)))
        cells = [_content(cell) for cell in function.__closure__ or ()]
        held = (function.__defaults__, function.__kwdefaults__, cells, function.__dict__)
        self.over(held, f"{at} of {function.__name__}")

    def _by_pickling_rules(self, value: Any, at: str) -> None:
        try:
            recipe = value.__reduce_ex__(4)
        except Exception:  # noqa: BLE001 - a foreign class may refuse in any way; its type was noted
            return
        if isinstance(recipe, str):
            self.found.append((at, recipe.encode()))
            return
        maker, arguments, *state = recipe
        self.found.append((at, getattr(maker, "__qualname__", "").encode()))
        self.over(arguments, at)
        for part in state:
            if isinstance(part, dict):
                for key, inner in part.items():
                    self.over(inner, f"{at}.{key}")
            else:
                self.over(list(part) if hasattr(part, "__next__") else part, at)


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
    # A script that another process has loaded is called otherwise there.
    module = "__main__" if named.__module__ == "__mp_main__" else named.__module__
    return f"{module}.{named.__qualname__}".encode()


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def digest(found: list[Leaf]) -> list[Leaf]:
    """The same with every long part as its hash: small enough to keep and to send."""
    return [(at, part if len(part) <= 64 else hashlib.sha256(part).digest()) for at, part in found]
