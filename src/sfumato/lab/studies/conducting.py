"""Carry a study out, task by task: whatever is finished is kept, and a later run goes on where this one stopped.

A quick figure is replaced by a full one, and never a full one by a quick one.
"""

import json
import math
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from sfumato.folder.disk import cannot_write
from sfumato.lab.benchmark.errors import BenchmarkError
from sfumato.lab.studies.page import page_of
from sfumato.lab.studies.task import Figures, Found, Study


def carry_out(
    study: Study,
    *,
    folder: Path,
    quick: bool,
    only: Collection[str] | None = None,
    minutes: float = math.inf,
    on_step: Callable[[str], None] = lambda step: None,
) -> Found:
    """Run what is still to be run, and write the page, its pictures and its figures into the folder.

    Args:
        study: What to run.
        folder: Made where it is absent. Figures of an earlier run that lie there are kept.
        quick: Fewer tasks, on fewer rows.
        only: Run these tasks alone, by their keys.
        minutes: No task is begun later than that.
        on_step: Told the key of each task.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from None
    kept = _kept(folder / f"{study.name}.json", study)
    tasks, begun = study.tasks(quick=quick), time.monotonic()
    unknown = sorted(set(only or ()) - {task.key for task in tasks})
    if unknown:
        known = ", ".join(task.key for task in tasks)
        raise BenchmarkError(f"{study.name} has no point {unknown[0]!r}. Known: {known}.")
    for task in tasks:
        if only and task.key not in only:
            continue
        if task.key in kept and (quick or not kept[task.key]["quick"]):
            continue
        if time.monotonic() - begun > 60 * minutes:
            break
        on_step(task.key)
        start = time.process_time()
        figures = task.run(folder)
        kept[task.key] = {**figures, "quick": quick, "processor_seconds": round(time.process_time() - start, 1)}
        _keep(study, kept, folder)
    return write_page(study, kept, folder)


def write_page(study: Study, kept: Mapping[str, Figures], folder: Path) -> Found:
    """The page that is made of the figures, with its curves."""
    found = Found(kept, _missing(study, kept))
    _write(folder / f"{study.name}.md", page_of(study, found, folder))
    return found


def _keep(study: Study, kept: Mapping[str, Figures], folder: Path) -> None:
    told = {"study": study.name, "points": kept, "missing": _missing(study, kept)}
    _write(folder / f"{study.name}.json", json.dumps(told, indent=1) + "\n")


def _missing(study: Study, kept: Mapping[str, Figures]) -> list[str]:
    return [task.key for task in study.tasks(quick=False) if task.key not in kept]


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from None


def _kept(path: Path, study: Study) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        points = dict(told["points"])
    except (OSError, ValueError, KeyError, TypeError):
        raise BenchmarkError(
            f"{path} does not hold the figures of a study. Remove it, or choose another folder."
        ) from None
    known = {task.key for task in study.tasks(quick=False)} | {task.key for task in study.tasks(quick=True)}
    return {key: figures for key, figures in points.items() if key in known}
