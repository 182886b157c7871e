"""Accidents: debugging lines that leave rows in files, logs, caches and threads."""

import atexit
import functools
import importlib.util
import logging
import pickle
import sqlite3
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.fs
from plain import ANSWERS, MACHINE, NEIGHBOURS, TRAVELS, Plain, caught_by, odd

#: Where a cheat writes that no clean folder keeps from it; the tests clear it.
ELSEWHERE = Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp")
LEFT = "sfumato-accident"


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
