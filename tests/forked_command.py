"""The command `sfumato`, without waiting for its imports: a process that has made them forks for every call.

Each call has a process, a folder, an environment and outputs of its own, as in a shell; so has each program that is given to
`python -c`. What a process is like that begins with the imports is for the tests of the wheel and of the command line, which
start real ones.
"""

import contextlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from entropy import Entropy

#: One thread: a pool of them would not be there in a fork. Numba looks again whenever it compiles, and refuses another number.
_ALONE = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
_COMMAND = """#!{python} -SE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    asked = {{"arguments": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ)}}
    socket.send_fds(line, [b" "], [0, 1, 2])
    line.sendall(json.dumps(asked).encode())
    line.shutdown(socket.SHUT_WR)
    answer = line.recv(16)
sys.exit(int(answer or 70))
"""


@contextlib.contextmanager
def forked_command(entropy: str) -> Iterator[Path]:
    """Put the commands `sfumato` and `python` into a folder of their own, and keep the process behind them until the end.

    The same command draws the same noise in every run, by the word that is given.
    """
    # A folder of a short path: those of sockets may not be long.
    with tempfile.TemporaryDirectory() as folder, _process_behind(Path(folder), entropy) as command:
        yield command


@contextlib.contextmanager
def _process_behind(folder: Path, entropy: str) -> Iterator[Path]:
    command, address = folder / "sfumato", folder / "line"
    for script in (command, folder / "python"):
        script.write_text(_COMMAND.format(python=sys.executable, address=str(address)))
        script.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, __file__, str(address), entropy], env={**os.environ, **_ALONE}, stdout=subprocess.PIPE
    ) as process:
        try:
            if process.stdout is None or process.stdout.readline() != b"ready\n":
                raise RuntimeError("the process behind the command has not started")
            yield command
        finally:
            process.terminate()


def serve(address: str, entropy: str) -> None:
    """Fork for every call, until it is ended."""
    # What most commands import when they are run: the package itself waits with it until it is needed.
    import matplotlib.figure  # noqa: F401
    import sklearn.ensemble
    import sklearn.linear_model  # noqa: F401

    import sfumato.cli.commands
    from sfumato.mechanisms import PLACES, load

    for module in pkgutil.iter_modules(sfumato.cli.commands.__path__, "sfumato.cli.commands."):
        import_module(module.name)
    for name in PLACES:
        load(name)

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them: the caller hears how it went
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        print("ready", flush=True)
        while True:
            line, _ = door.accept()
            with line:
                if os.fork() == 0:
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    line.sendall(str(_answer(line, entropy)).encode())
                    os._exit(0)  # never back into this loop


def _answer(line: socket.socket, entropy: str) -> int:
    """Run the command that was asked for, at the caller's place. Returns its exit code."""
    from sfumato.cli import main

    _, handles, _, _ = socket.recv_fds(line, 1, 3)
    for standard, handle in enumerate(handles):
        os.dup2(handle, standard)
        os.close(handle)
    asked = json.loads(b"".join(iter(lambda: line.recv(1 << 16), b"")))
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"] | _ALONE)
    name, *arguments = asked["arguments"]
    sys.argv = [Path(name).name, *arguments]
    os.urandom = Entropy(entropy, place=" ".join(sys.argv))
    try:
        if sys.argv[0] == "sfumato":
            main()
        else:
            _, program = arguments  # -c
            exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
        code = 0
    except SystemExit as end:
        code = _code_of(end)
    except BaseException as error:  # noqa: BLE001 - as the interpreter would: it is the caller's to see
        code = _told(error)
    for output in (sys.stdout, sys.stderr):
        if output is not None:  # a program may have closed it
            output.flush()
    return code


def _code_of(end: SystemExit) -> int:
    return end.code if isinstance(end.code, int) else int(end.code is not None)


def _told(error: BaseException) -> int:
    """What the interpreter does with an error that nobody catches: the hook has the last word."""
    try:
        sys.excepthook(type(error), error, error.__traceback__)
    except SystemExit as end:
        return _code_of(end)
    return 1


if __name__ == "__main__":
    serve(*sys.argv[1:])
