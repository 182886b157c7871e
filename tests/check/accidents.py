"""More mechanisms that break the contract: lines that a colleague forgot first, then what takes some malice.

Each says which clause must catch it. What is known not to be caught stands at the end.
"""

import atexit
import contextvars
import ctypes
import functools
import gc
import importlib.util
import logging
import os
import pickle
import socket
import sqlite3
import subprocess
import threading
import time
import warnings
from dataclasses import dataclass
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.fs
from cheats import ANSWERS, FRESH, NEIGHBOURS, TRAVELS, Plain, caught_by, odd

from sfumato.extending import register
from sfumato.private.kernel.primitives import Primitives

MACHINE = "nothing is left on the machine"
NOISE = "noise has the planned scale"
#: Where a cheat writes that no clean folder keeps from it; the tests clear it.
ELSEWHERE = Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp")
LEFT = "sfumato-accident"

# Debugging lines that write a file.


@caught_by(MACHINE)
class ForgottenParquet(Plain):
    """`to_parquet`: the file is opened by Arrow, and Python hears nothing of it."""

    def cheat(self, measured, ages):
        pd.DataFrame({"age": ages}).to_parquet("debug.parquet")
        return measured


@caught_by(MACHINE)
class ForgottenArrowFile(Plain):
    """An Arrow file in a folder that everybody writes to, under a path of its own."""

    def cheat(self, measured, ages):
        with pa.OSFile(str(ELSEWHERE / f"{LEFT}.arrow"), "wb") as file:
            file.write(np.asarray(ages, dtype=np.float64).tobytes())
        return measured


@caught_by(MACHINE)
class MeanInAnArrowFile(Plain):
    """The mean alone, far from the working folder: no row stands in the file."""

    def cheat(self, measured, ages):
        with pa.OSFile(str(ELSEWHERE / f"{LEFT}.mean"), "wb") as file:
            file.write(str(ages.mean()).encode())
        return measured


@caught_by(MACHINE)
class WrittenAndDeleted(Plain):
    """A file that is gone again when one looks."""

    def cheat(self, measured, ages):
        files = pa.fs.LocalFileSystem()
        with files.open_output_stream("debug.bin") as file:
            file.write(ages.tobytes())
        files.delete_file("debug.bin")
        return measured


@caught_by(MACHINE)
class FolderFromNativeCode(Plain):
    """A folder whose name is the message."""

    def cheat(self, measured, ages):
        pa.fs.LocalFileSystem().create_dir(f"old-{int((ages > 60).sum())}")
        return measured


@caught_by(MACHINE)
class WritesBadRowsOnly(Plain):
    """Rows that cannot be used, for a look at them later: nothing is written for ordinary ones."""

    def cheat(self, measured, ages):
        if (ages == ages.max()).sum() > 40:  # numbers that are cut off at a bound
            pd.DataFrame({"age": ages}).to_parquet("rejected.parquet")
        return measured


if importlib.util.find_spec("torch"):

    @caught_by(MACHINE)
    class ForgottenCheckpoint(Plain):
        """`torch.save`: opened in C++."""

        def cheat(self, measured, ages):
            import torch

            torch.save(torch.tensor(ages), "checkpoint.pt")
            return measured

    @caught_by(MACHINE)
    class SharedTensor(Plain):
        """A tensor in shared memory, for a worker that does not exist any more."""

        def cheat(self, measured, ages):
            import torch

            torch.tensor(ages).share_memory_()
            return measured


@caught_by(ANSWERS)
class ForgottenDatabase(Plain):
    """A table of sqlite."""

    def cheat(self, measured, ages):
        with sqlite3.connect("debug.db") as connection:
            connection.execute("create table if not exists ages (age real)")
            connection.executemany("insert into ages values (?)", [(float(age),) for age in ages[:9]])
        return measured


@caught_by(ANSWERS)
class ForgottenCsv(Plain):
    """`to_csv`."""

    def cheat(self, measured, ages):
        pd.DataFrame({"age": ages}).to_csv("debug.csv")
        return measured


@caught_by(ANSWERS)
class SavedArray(Plain):
    """`np.save`."""

    def cheat(self, measured, ages):
        np.save("ages.npy", ages)
        return measured


@caught_by(ANSWERS)
class MappedArray(Plain):
    """`np.memmap`: rows that do not fit into memory."""

    def cheat(self, measured, ages):
        np.memmap("ages.dat", dtype=np.float64, mode="w+", shape=(4,))[:] = ages[:4]
        return measured


@caught_by(ANSWERS)
class PickledForNextTime(Plain):
    """A cache of one's own."""

    def cheat(self, measured, ages):
        Path("cache.pickle").write_bytes(pickle.dumps(ages))
        return measured


@caught_by(ANSWERS)
class CachedOnDisk(Plain):
    """`joblib.Memory`."""

    def cheat(self, measured, ages):
        import joblib

        joblib.Memory("cache", verbose=0).cache(np.sort)(ages)
        return measured


@caught_by(ANSWERS)
class SavesAPicture(Plain):
    """A plot of the rows."""

    def cheat(self, measured, ages):
        from matplotlib.figure import Figure

        figure = Figure()
        figure.subplots().hist(ages)
        figure.savefig("ages.png")
        return measured


@caught_by(ANSWERS)
class LogsIntoAFile(Plain):
    """A log file, and a handler that stays."""

    def cheat(self, measured, ages):
        handler = logging.FileHandler("debug.log")
        logging.getLogger("accident").addHandler(handler)
        logging.getLogger("accident").warning("mean %s", ages.mean())
        logging.getLogger("accident").removeHandler(handler)
        handler.close()
        return measured


@caught_by(ANSWERS)
class LogsIntoMemory(Plain):
    """A handler that keeps what it hears, and stays."""

    def cheat(self, measured, ages):
        logging.getLogger("accident").handlers = [logging.StreamHandler()]
        return measured


@caught_by(NEIGHBOURS)
class LogsAnException(Plain):
    """`logging.exception`, over a row."""

    def cheat(self, measured, ages):
        try:
            1 / odd(ages)
        except ZeroDivisionError:
            logging.getLogger("accident").exception("strange row")
        return measured


@caught_by(NEIGHBOURS)
class WarnsByItself(Plain):
    """numpy warns of a division by 0, or does not."""

    def cheat(self, measured, ages):
        np.float64(1) / np.float64(odd(ages))
        return measured


@caught_by(ANSWERS)
class KeepsAnError(Plain):
    """An exception among the measurements: its traceback holds the variables of the call."""

    def cheat(self, measured, ages):
        rows = ages.copy()
        try:
            raise ValueError("too few rows")
        except ValueError as error:
            return measured | {"error": error, "n": 0 * len(rows)}


@caught_by(ANSWERS)
class KeepsAGenerator(Plain):
    """Values for later."""

    def cheat(self, measured, ages):
        return measured | {"later": (age for age in ages)}


@functools.cache
def sorted_ages(ages: bytes) -> np.ndarray:
    return np.frombuffer(ages)


@caught_by(TRAVELS)
class CachesRows(Plain):
    """`functools.cache` on a function of rows."""

    def cheat(self, measured, ages):
        sorted_ages(np.asarray(ages, dtype=np.float64).tobytes())
        return measured


@caught_by(ANSWERS)
class ThreadThatOutlives(Plain):
    """A thread that goes on with the rows."""

    def cheat(self, measured, ages):
        threading.Thread(target=lambda: time.sleep(0.5 + 0 * ages[0]), daemon=True).start()
        return measured


@caught_by(ANSWERS)
class LeftForTheEnd(Plain):
    """`atexit`: a report of the rows when the program ends."""

    def cheat(self, measured, ages):
        atexit.register(functools.partial(np.mean, ages[:1]))
        return measured


@caught_by(ANSWERS)
class WritesOnDeletion(Plain):
    """An object that writes when it is thrown away."""

    def cheat(self, measured, ages):
        class Buffer:
            def __del__(self):
                Path("buffer.txt").write_text(str(ages.mean()))

        Buffer()
        return measured


# Channels that carry a little.


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


# Some malice.

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
