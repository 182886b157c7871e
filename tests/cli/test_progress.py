"""The spinner on a terminal: it speaks while private rows are read, and nothing else does."""

import os
import pty
import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
import os, sys, time
from sfumato.cli.console import progress
from sfumato.private.quiet import silence

with progress(title="release") as step:
    step("before")
    kept = sys.stderr  # as a library may keep it
    time.sleep(0.3)
    with silence():
        step("counting the cells")
        os.write(2, b"a library speaks of a row")
        print("a map speaks of a row", file=sys.stderr)
        print("a library speaks of a row", file=kept, flush=True)
        time.sleep(0.5)
    step("after")
    time.sleep(0.3)
"""


def on_a_terminal(script: str) -> str:
    """Run a script whose stderr is a terminal, and give back all that was written there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end was closed
                break
            if not part:
                break
            written += part
    os.close(ours)
    assert process.returncode == 0, written.decode()
    return written.decode()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_the_step_is_shown_while_the_doors_are_silent() -> None:
    written = on_a_terminal(SCRIPT)
    for step in ("before", "counting the cells", "after"):
        assert f"release: {step} ..." in written, written
    assert "speaks of a row" not in written


def test_without_a_terminal_nothing_changes() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert "release: before\n" in done.stderr
    assert "release: after\n" in done.stderr
    assert "speaks of a row" not in done.stderr
