"""Recordings as a source of pictures: RIFF files of plain samples, each brought to a spectrogram of the schema's size."""

import struct
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sfumato.public.schema.spectrogram import RATES, Spectrogram

RECORDINGS = (".wav", ".wave")
_PLAIN, _FLOATS, _EXTENDED = 1, 3, 0xFFFE
_MOST_CHANNELS = 64
#: Of samples by format and bytes, and the number that stands for full scale.
_SAMPLES = {
    (_PLAIN, 1): ("u1", 2.0**7),
    (_PLAIN, 2): ("<i2", 2.0**15),
    (_PLAIN, 3): ("u1", 2.0**23),
    (_PLAIN, 4): ("<i4", 2.0**31),
    (_FLOATS, 4): ("<f4", 1.0),
    (_FLOATS, 8): ("<f8", 1.0),
}


def read_recording(path: Path, facts: Spectrogram) -> NDArray[np.float32]:
    """The spectrogram of a file. One that cannot be read is silence, so that a recording changes its own row alone."""
    private_wave, rate = np.zeros(0), RATES[0]
    try:
        with path.open("rb") as stream:
            private_wave, rate = _samples(stream, facts.seconds)
    except (OSError, EOFError, ValueError, struct.error):
        pass
    return facts.of(private_wave, rate=rate)


def _samples(stream: BinaryIO, seconds: float) -> tuple[NDArray[np.float64], int]:
    """All channels averaged, from -1 to 1, and the rate. No more than the first seconds is read."""
    magic, _, kind = struct.unpack("<4sI4s", stream.read(12))
    if (magic, kind) != (b"RIFF", b"WAVE"):
        raise ValueError("no RIFF file")
    form: tuple[int, int, int, int] | None = None
    while True:
        name, size = struct.unpack("<4sI", stream.read(8))
        if name == b"data" and form is not None:
            code, channels, rate, width = form
            wanted = min(size, round(seconds * rate) * channels * width)
            return _as_numbers(stream.read(wanted), code, width, channels), rate
        if name == b"fmt ":
            form = _format(stream.read(min(size, 64)))
            stream.seek(max(0, size - 64) + size % 2, 1)
        else:
            stream.seek(size + size % 2, 1)


def _format(head: bytes) -> tuple[int, int, int, int]:
    code, channels, rate, _, block, bits = struct.unpack("<HHIIHH", head[:16])
    if code == _EXTENDED:
        code = struct.unpack("<H", head[24:26])[0]
    width = bits // 8
    is_known = (code, width) in _SAMPLES and bits % 8 == 0 and block == channels * width
    if not (is_known and 1 <= channels <= _MOST_CHANNELS and RATES[0] <= rate <= RATES[1]):
        raise ValueError("samples of another kind")
    return code, channels, rate, width


def _as_numbers(packed: bytes, code: int, width: int, channels: int) -> NDArray[np.float64]:
    dtype, full = _SAMPLES[code, width]
    whole = len(packed) // (width * channels) * (width * channels)
    raw: NDArray[Any] = np.frombuffer(packed[:whole], dtype=dtype)
    if (code, width) == (_PLAIN, 3):
        triples = raw.reshape(-1, 3).astype(np.int64)
        raw = triples[:, 0] | triples[:, 1] << 8 | triples[:, 2] << 16
        raw = raw - ((raw >> 23) << 24)
    offset = 128 if (code, width) == (_PLAIN, 1) else 0
    with np.errstate(all="ignore"):  # floats of a broken file may be anything; what they are is cut off later
        numbers = np.nan_to_num((raw.astype(np.float64) - offset) / full)
        return np.asarray(np.clip(numbers, -1.0, 1.0).reshape(-1, channels).mean(axis=1))
