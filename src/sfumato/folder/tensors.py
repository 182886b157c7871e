"""The weights of a trained model as a file: the public format safetensors, written and read here in full.

A file is the length of a header (8 bytes), the header (JSON: type, shape and place of each array) and the arrays, one after
another. Any reader of safetensors loads it; nothing in it can be run. The same arrays give the same bytes.
"""

import json
import math

import numpy as np

from sfumato.model import Weights
from sfumato.public.strict_json import parse_json, read_fields

WEIGHTS = "model.safetensors"

_TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}
_LARGEST_HEADER = 1 << 24
_ALIGNED = 8


def weights_file(weights: Weights) -> bytes:
    """The content of the file.

    >>> weights_of(weights_file({"bias": np.array([1.5])}))
    {'bias': array([1.5])}
    """
    header, parts, end = {}, [], 0
    for name, values in weights.items():
        part = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        place = [end, end + len(part)]
        header[name] = {"dtype": _NAMES[values.dtype], "shape": list(values.shape), "data_offsets": place}
        parts.append(part)
        end += len(part)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % _ALIGNED)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)


def weights_of(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of a file that anybody may have written: each of its own size, and nothing between or behind them."""
    length = int.from_bytes(content[:8], "little")
    if not 0 < length <= min(_LARGEST_HEADER, len(content) - 8):
        raise ValueError("no header")
    header = parse_json(content[8 : 8 + length].decode(), what=WEIGHTS)
    if not isinstance(header, dict):
        raise ValueError("no names")
    out, end = {}, 8 + length
    for name, entry in header.items():
        fields = read_fields(entry, {"dtype": str, "shape": list, "data_offsets": list}, what=f"{WEIGHTS}, {name!a}")
        kind, shape = np.dtype(_TYPES[fields["dtype"]]), fields["shape"]
        if not all(type(side) is int and side >= 0 for side in shape):
            raise ValueError("a shape of something else than numbers")
        size = math.prod(shape) * kind.itemsize
        if fields["data_offsets"] != [end - 8 - length, end - 8 - length + size] or end + size > len(content):
            raise ValueError("an array of another size than it says")
        out[name] = np.frombuffer(content, dtype=kind, count=math.prod(shape), offset=end).reshape(shape).copy()
        end += size
    if end != len(content):
        raise ValueError("something behind the arrays")
    return out
