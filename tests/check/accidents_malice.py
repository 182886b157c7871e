"""Some malice; and what is known not to be caught."""

import contextvars
import ctypes
import functools
import gc
import logging
import os
import socket
import subprocess
import time
import warnings
from dataclasses import dataclass
from multiprocessing import shared_memory

import numpy as np
from plain import ANSWERS, FRESH, NEIGHBOURS, NOISE, Plain, caught_by, odd

from sfumato.extending import register
from sfumato.private.kernel.primitives import Primitives

LATER: contextvars.ContextVar = contextvars.ContextVar("later", default=0.0)


@caught_by(FRESH)
class ContextThatBuildReads(Plain):
    """A context variable."""

    def cheat(self, measured, ages):
        LATER.set(float(ages.mean()))
        return measured

    def build(self, measurements, schema, *, seed):
        return super().build({**measurements, "counts": measurements["counts"] + LATER.get()}, schema, seed=seed)


@caught_by(FRESH)
class BehindAView(Plain):
    """Three zeros, cut from an array that holds the rows."""

    def cheat(self, measured, ages):
        return measured | {"zeros": np.concatenate([np.zeros(3), ages])[:3]}

    def build(self, measurements, schema, *, seed):
        hidden = measurements["zeros"].base[3:].sum()
        return super().build({**measurements, "counts": measurements["counts"] + hidden}, schema, seed=seed)


@caught_by(ANSWERS)
class SharedMemory(Plain):
    """A segment that another process can read."""

    def cheat(self, measured, ages):
        segment = shared_memory.SharedMemory(create=True, size=8)
        segment.buf[:8] = np.float64(ages.mean()).tobytes()
        segment.close()
        segment.unlink()
        return measured


@caught_by(ANSWERS)
class WritesByC(Plain):
    """`write` of the C library."""

    def cheat(self, measured, ages):
        library = ctypes.CDLL(None)
        library.write(2, b"", 0)
        return measured


@caught_by(ANSWERS)
class AsksAProgram(Plain):
    """A value among the arguments of another program."""

    def cheat(self, measured, ages):
        subprocess.run(["true", str(ages.mean())], check=False)
        return measured


@caught_by(ANSWERS)
class SendsAPacket(Plain):
    """A packet to nobody."""

    def cheat(self, measured, ages):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.sendto(str(ages.mean()).encode(), ("127.0.0.1", 9))
        return measured


@caught_by(ANSWERS)
class LeavesAPipeOpen(Plain):
    """A pipe that holds a value, for whoever finds its number."""

    def cheat(self, measured, ages):
        pipe = os.pipe()
        for descriptor, number in zip(pipe, PIPE, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.write(PIPE[1], str(ages.mean()).encode())
        return measured


PIPE = (300, 301)


@caught_by(ANSWERS)
class EnvironmentOfC(Plain):
    """`os.putenv`, which `os.environ` does not show."""

    def cheat(self, measured, ages):
        os.putenv("SFUMATO_ACCIDENT", str(odd(ages)))
        return measured


@caught_by(ANSWERS)
class FileTimeTells(Plain):
    """When a file was changed, says the file."""

    def cheat(self, measured, ages):
        os.utime(".", (0, float(ages.mean())))
        return measured


@caught_by(ANSWERS)
class CollectorCalls(Plain):
    """A function that is called whenever garbage is collected, with the rows at hand."""

    def cheat(self, measured, ages):
        gc.callbacks.append(functools.partial(lambda rows, *_: None, ages))
        return measured


@caught_by(NOISE)
class TakesTheNoiseAway(Plain):
    """Another function in the place of the door's noise."""

    def measure(self, view, schema):
        Primitives.noise = lambda self, shape: np.zeros(shape, dtype=np.int64)
        return super().measure(view, schema)


@caught_by(NEIGHBOURS)
class WarnsOnceOnly(Plain):
    """A warning for a kind of rows, from a registry that remembers."""

    def cheat(self, measured, ages):
        warnings.warn("old rows" if odd(ages) else "young rows", UserWarning, stacklevel=1)
        return measured


# What is known not to be caught: docs name it.


@register
@dataclass(frozen=True, kw_only=True)
class Sleeps(Plain):
    """Time is not looked at."""

    name = "sleeps"

    def cheat(self, measured, ages):
        time.sleep(0.001 * odd(ages))
        return measured


@register
@dataclass(frozen=True, kw_only=True)
class KeptElsewhere(Plain):
    """Rows that stay in the process, in somebody else's module, and that nothing reads."""

    name = "kept-elsewhere"

    def cheat(self, measured, ages):
        logging.accident = ages.mean()
        return measured


UNCAUGHT = [Sleeps, KeptElsewhere]
