"""A PostgreSQL server for tests, on a socket in a folder of its own, where its programs are installed."""

import glob
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """The folder of initdb and pg_ctl: on the path, as Debian installs them, or from a wheel that brings them."""
    found = [shutil.which("initdb"), *sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)]
    try:
        import pgserver

        found.append(str(Path(pgserver.__file__).parent / "pginstall/bin/initdb"))
    except ImportError:
        pass
    return next((Path(file).parent for file in found if file and Path(file).exists()), None)


@contextmanager
def running(bin: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """The URL of a server that runs, and what stops it at once."""
    user = "nobody" if os.geteuid() == 0 else None  # the server refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o777)

    def run(*command: str) -> None:
        subprocess.run([*command], user=user, cwd=folder, check=True, capture_output=True, timeout=60)

    def stop() -> None:
        run(str(bin / "pg_ctl"), "-D", str(folder / "data"), "-m", "immediate", "stop")

    try:
        run(str(bin / "initdb"), "-D", str(folder / "data"), "-U", "sfumato", "-A", "trust", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        log = str(folder / "log")
        run(str(bin / "pg_ctl"), "-D", str(folder / "data"), "-w", "-l", log, "-o", options, "start")
        yield f"postgresql://sfumato:hunter2@/postgres?host={folder}", stop
    finally:
        if (folder / "data/postmaster.pid").exists():
            stop()
        shutil.rmtree(folder, ignore_errors=True)
