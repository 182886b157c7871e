"""The model built again in a process that has never seen a row: whatever `build` finds elsewhere is not there.

A helper process imports the package once and forks for every request, so each is answered by a process as fresh as the import
left it. It is handed the doors' answers, the schema and the name of the mechanism with its settings; no row.
"""

import atexit
import contextlib
import importlib
import importlib.util
import inspect
import io
import json
import os
import pickle
import sys
import tempfile
import types
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from sfumato.check.instruments.canonical import Leaf, digest, first_difference, leaves
from sfumato.check.instruments.maps import digests
from sfumato.check.instruments.noted import NotedDoors
from sfumato.check.instruments.outcome import Outcome, outcome_of
from sfumato.errors import ContractError
from sfumato.mechanism import Mechanism, made_from, record_of
from sfumato.model import Classifier, Product
from sfumato.public.machine.threads import few_threads
from sfumato.public.plan.answers import AnsweredDoors, Answers
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.probe import random_batch
from sfumato.public.schema.schema import Schema

_ENVIRONMENT = dict(os.environ)
_SERVE = "from sfumato.check.instruments.fresh import serve; serve()"
#: Libraries that take seconds to import: the helper imports those that are in use here, so that no fork has to.
_SLOW_LIBRARIES = ("sklearn.ensemble", "sklearn.linear_model", "torch")
_SAMPLE = 20


class Loaded(BaseException):
    """Raised by a check that a script runs while a fresh process loads its classes: all that is needed is there by now."""


_loading: list[bool] = []


def refuse_while_loading() -> None:
    """End the loading of a script that checks its mechanism outside of `if __name__ == "__main__":`."""
    if _loading:
        raise Loaded


@dataclass(frozen=True)
class Built:
    """What is compared: measurements, calls and maps, the model and a sample of it; and what went wrong, if so."""

    error: str | None
    parts: dict[str, list[Leaf]] = field(repr=False)

    def differs_from(self, other: "Built") -> str | None:
        """What is different, in words."""
        if self.error != other.error:
            return f"one process raises {self.error or 'nothing'}, the other {other.error or 'nothing'}"
        for name, part in self.parts.items():
            if (at := first_difference(part, other.parts[name])) is not None:
                return f"{at} differs"
        return None


def build_here(
    mechanism: Mechanism, outcome: Outcome, schema: Schema, *, seed: int, rows: list[int | None] | None = None
) -> Built:
    """Build from an outcome in this process, right after it, and note what comes of it."""
    parts = {"measurements": outcome.measured, "calls": outcome.calls}
    if outcome.measurements is None:
        return Built(outcome.error, parts)
    try:
        model = mechanism.build(outcome.measurements, schema, seed=seed)
        parts["model"] = digest(leaves(model, name="the model"))
        parts["sample"] = digest(leaves(_shown(model, schema, seed=seed), name="what the model gives"))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - what a mechanism on trial raises is a finding
        return Built(f"{type(error).__name__}: {error}", parts)
    parts["maps"] = digests(outcome.maps, schema, rows=rows or [noted.rows for noted in outcome.maps])
    return Built(None, parts)


def _shown(model: Product, schema: Schema, *, seed: int) -> object:
    """What a model gives: some rows, or what it says of some public ones."""
    if isinstance(model, Classifier):
        return model.probabilities(random_batch(schema, n_rows=_SAMPLE, seed=seed))
    return model.sample(min(_SAMPLE, model.default_rows), seed=seed)


def build_elsewhere(
    mechanism: Mechanism, schema: Schema, plan: Plan, answers: Answers, *, seed: int, rows: list[int | None]
) -> Built:
    """The same from the answers alone, in a fresh process."""
    cls = type(mechanism)
    settings = record_of(mechanism).parameters
    place = (cls.__module__, _file_of(cls), cls.__qualname__)
    request = (list(sys.path), place, settings, schema, plan, answers, seed, rows)  # all that it is told
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "request.pickle"
        asked.write_bytes(pickle.dumps(request))
        _helper.ask(asked)
        answered = asked.with_suffix(".answer")
        if not answered.exists():
            raise ContractError(
                "the process that was to build the model again ended without an answer: loading the mechanism's file, measure "
                "or build stops it (exit, os._exit, or no memory). Import the file by itself, and take out what stops it."
            )
        built: Built = pickle.loads(answered.read_bytes())
        return built


def can_be_loaded(mechanism: Mechanism) -> bool:
    """Whether another process can find the class: not one made within a function, or typed into a console."""
    return "<locals>" not in type(mechanism).__qualname__ and _file_of(type(mechanism)) is not None


def _file_of(cls: type) -> str | None:
    try:
        file = inspect.getsourcefile(sys.modules[cls.__module__])
    except (KeyError, TypeError):
        return None
    return str(Path(file).resolve()) if file and Path(file).is_file() else None


class _Helper:
    """The helper process. It ends when this process closes the pipe to it, at the latest when it ends itself."""

    def __init__(self) -> None:
        self._process: Popen[str] | None = None

    def ask(self, request: Path) -> None:
        if self._process is None or self._process.poll() is not None:
            # The environment as it was at the import: what a mechanism has put there since is not handed on.
            environment = {**_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
            command = [sys.executable, "-c", _SERVE]
            self._process = Popen(command, stdin=PIPE, stdout=PIPE, text=True, env=environment)
            atexit.register(self._close)
        pipe, answer = self._process.stdin, self._process.stdout
        if pipe is not None and answer is not None:
            pipe.write(json.dumps([str(request), *(name for name in _SLOW_LIBRARIES if name in sys.modules)]) + "\n")
            pipe.flush()
            answer.readline()
            if not hasattr(os, "fork"):
                self._process.wait()  # it has answered one request, and is not fresh any more

    def _close(self) -> None:
        if self._process is not None:
            self._process.communicate()  # closes both pipes; the helper ends with its input


_helper = _Helper()


def serve() -> None:
    """What the helper process does: a fork for every line that names a request, and libraries after it."""
    for line in sys.stdin:
        request, *libraries = json.loads(line)
        for name in libraries:
            importlib.import_module(name)
        # The pipe is the helper's: what a mechanism prints is not for it.
        if not hasattr(os, "fork"):
            with contextlib.redirect_stdout(io.StringIO()):
                _answer(Path(request))
        elif (child := os.fork()) == 0:
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                _answer(Path(request))
            finally:
                os._exit(0)  # never back into this loop, which is the helper's
        else:
            os.waitpid(child, 0)
        sys.stdout.write("done\n")
        sys.stdout.flush()
        if not hasattr(os, "fork"):
            return  # only the first request finds the process fresh


def _answer(asked: Path) -> None:
    path, place, settings, schema, plan, answers, seed, rows = pickle.loads(asked.read_bytes())
    sys.path[:] = path
    try:
        mechanism = made_from(_load(*place), settings, what="the mechanism")
    except Exception as error:  # noqa: BLE001 - a class that cannot be made anew is a finding
        built = Built(f"{type(error).__name__}: {error}", {})
    else:
        with few_threads():
            outcome = outcome_of(mechanism, NotedDoors(AnsweredDoors(plan, answers)), schema)
            built = build_here(mechanism, outcome, schema, seed=seed, rows=rows)
    asked.with_suffix(".answer").write_bytes(pickle.dumps(built))


def _load(module: str, file: str | None, qualname: str) -> Any:
    """The class: from its module, or from the file of a script."""
    found: Any = _module_of(module, file)
    for name in qualname.split("."):
        if not hasattr(found, name):
            raise ContractError(
                f"its file does not define {name} when it is imported. Write the class above the main guard."
            )
        found = getattr(found, name)
    return found


def _module_of(known_as: str, file: str | None) -> types.ModuleType:
    _loading.append(True)
    try:
        if known_as != "__main__":
            return importlib.import_module(known_as)
    except (ImportError, Loaded):
        pass  # a module that was loaded from its file, as tests and scripts are
    # Not under the name __main__: what stands below `if __name__ == "__main__"` is not to be run.
    name = "__mp_main__" if known_as == "__main__" else known_as
    spec = importlib.util.spec_from_file_location(name, str(file))
    if spec is None or spec.loader is None:
        raise ContractError(f"the module {known_as} cannot be loaded from its file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with contextlib.suppress(Loaded):  # the class that is on trial stands above the check
        spec.loader.exec_module(module)
    return module
