"""A session of Spark: the one that is open in this process, or one that is made here, which says and keeps as little as it can."""

import os
import shutil
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from sfumato.errors import EngineError
from sfumato.private.intake.quiet import silence
from sfumato.private.intake.spark_frame import spark_errors

#: What a session that is made here is told: no page, no log, nothing on a disk unencrypted; a task that fails is tried again.
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.log.level": "OFF",
    "spark.io.encryption.enabled": "true",
    "spark.driver.maxResultSize": "0",
}
_HERE = "local[*,4]"
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def alive(session: Any) -> Any:
    """A session that can be used."""
    if ".connect." in type(session).__module__ or not hasattr(session, "sparkContext"):
        raise EngineError("a session of Spark Connect has no rows of its own. Give a SparkSession of this process.")
    with suppress(*spark_errors(), AttributeError):  # what asking a stopped session ends in
        if not session.sparkContext._jsc.sc().isStopped():
            return session
    raise EngineError("the Spark session has been stopped. Make a new one, and give data that was read with it.")


def started(master: str | None) -> tuple[Any, bool]:
    """The session that is open in this process, or a new one; whether it is new."""
    try:
        sessions = import_module("pyspark.sql").SparkSession
    except ImportError:
        raise EngineError(
            "engine 'spark' needs PySpark, which is not installed. Run: pip install 'sfumato[spark]'"
        ) from None
    if import_module("pyspark").SparkContext._active_spark_context is not None:  # a process has one at most
        there = sessions.getActiveSession() or sessions.builder.getOrCreate()
        if master is not None and there.sparkContext.master != master:
            raise EngineError(
                f"engine 'spark:{master}': a session of {there.sparkContext.master} is open in this process, and there can be "
                "only one. Give engine='spark' to use it, or stop it."
            )
        return alive(there), False
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        raise EngineError("Spark needs Java, and there is no java on the PATH. Install Java 17, or set JAVA_HOME.")
    return _made(sessions.builder, master or _HERE), True


def _made(builder: Any, master: str) -> Any:
    is_local = master.startswith("local")
    _require_answer(master)
    settings = {**_SETTINGS, **({"spark.driver.memory": f"{_half_memory()}m", **_LOCAL} if is_local else {})}
    for name, value in settings.items():
        builder = builder.config(name, value)
    failed = False
    with silence():  # which the JVM keeps: its outputs lead nowhere for as long as it runs
        try:
            session = builder.master(master).appName("sfumato").getOrCreate()
        except spark_errors():
            failed = True
    if failed:
        raise EngineError(
            f"no Spark session can be made with the master {master}. Check its address, and that it runs."
        )
    if is_local and "PYSPARK_PYTHON" not in os.environ:
        session.sparkContext.pythonExec = sys.executable  # not whichever python3 is first on the PATH
    return session


def _require_answer(master: str) -> None:
    """Refuse a master that does not answer: Spark itself would try for a minute."""
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        with suppress(OSError, ValueError), socket.create_connection((host, int(port)), timeout=10):
            return
    raise EngineError(f"no Spark master answers at {master}. Check the address, and that it runs.")


def _half_memory() -> int:
    """Half of this machine's memory in MB: a JVM takes no more of it than it needs."""
    return max(1024, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2 // 2**20)
