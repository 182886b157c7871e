"""What a study is, how it is carried out, and its page.

A study is a list of tasks that each find a few figures. They are run one by one; whatever is finished is kept, and a later run
goes on where this one stopped. A quick figure is replaced by a full one, and never a full one by a quick one. A task that is run
with several seeds is several tasks, "NAME, seed 0" and so on: their figures are printed as a mean with its spread.
"""

import json
import math
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from sfumato.folder.disk import writing
from sfumato.lab.benchmark.datasets import BenchmarkError
from sfumato.lab.benchmark.protocol import Spread, spread
from sfumato.lab.studies.common.drawing import Curve
from sfumato.present.pages import render

#: What one task found: plain values, as JSON has them.
Figures = Mapping[str, Any]

HEADINGS = ("", "published", "as published, run here", "honest epsilon", "made sound at the published epsilon")
_MOST_LISTED = 20
_SEED = re.compile(r", seed (\d+)$")
#: A picture, and the line in italics below it.
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)(\n\n\*[^*]+\*(?=\n|$))?")


@dataclass(frozen=True, kw_only=True)
class Task:
    """One part of a study, short enough to be run for itself.

    Attributes:
        key: Its name; the same in a quick and in a full run.
        run: Finds the figures. It may leave pictures in the folder that it is given.
    """

    key: str
    run: Callable[[Path], Figures] = field(repr=False)


class Line(NamedTuple):
    """One line of the table that every study prints: the cells under `HEADINGS`."""

    what: str
    published: str = "-"
    here: str = "-"
    honest: str = "-"
    sound: str = "-"


@dataclass(frozen=True)
class Found:
    """What has been found so far, by the key of its task; tasks of a full run that are still to be run are named."""

    figures: Mapping[str, Figures]
    missing: Sequence[str] = ()

    def __contains__(self, key: str) -> bool:
        """Whether the task was run."""
        return key in self.figures

    def get(self, key: str, name: str) -> Any:
        """One figure, or None where its task was not run."""
        return self.figures[key].get(name) if key in self.figures else None

    @property
    def at_full_size(self) -> "Found":
        """What a quick run did not find: a sentence about results is made of these alone."""
        return Found({key: figures for key, figures in self.figures.items() if not figures["quick"]}, self.missing)

    def each(self, key: str, name: str) -> list[Any]:
        """A figure of a task, of each of its seeds; quick ones only where there are no others."""
        runs = [figures for run, figures in self.figures.items() if _SEED.sub("", run) == key and name in figures]
        full = [figures[name] for figures in runs if not figures["quick"]]
        return full or [figures[name] for figures in runs]

    def spread(self, key: str, name: str) -> Spread | None:
        """Mean and deviation of a figure over seeds, or None where its task was not run."""
        values = self.each(key, name)
        return spread(values) if values else None

    def percent(self, key: str, name: str = "accuracy") -> str:
        """A share in words: of several seeds the mean and the deviation. Marked where it comes from a quick run.

        >>> Found({"a": {"accuracy": 0.68349, "quick": True}}).percent("a"), Found({}).percent("a")
        ('68.3 % (quick)', 'to be run')
        >>> Found({f"a, seed {s}": {"accuracy": a, "quick": False} for s, a in enumerate((0.5, 0.6))}).percent("a")
        '55.0 ± 7.1 %'
        """
        shares = [100 * share for share in self.each(key, name)]
        quick = bool(shares) and not self.at_full_size.each(key, name)
        return f"{spread(shares):.1f} %{' (quick)' if quick else ''}" if shares else "to be run"

    def words(self, key: str, figure: str | None) -> str:
        """A figure of a task as it is printed: marked where the run was quick, and what to do where there is none."""
        return "to be run" if figure is None else f"{figure}{' (quick)' if self.get(key, 'quick') else ''}"

    def curves(self, keys: Mapping[str, str], name: str) -> dict[str, Curve]:
        """A list of figures over epochs, for each task that was run; of several seeds the means and the deviations."""
        runs = {title: self.each(key, name) for title, key in keys.items()}
        return {title: _over_epochs(values) for title, values in runs.items() if values}


def _over_epochs(runs: Sequence[Sequence[float]]) -> Curve:
    epochs, mean = range(1, 1 + len(runs[0])), np.mean(runs, axis=0)
    return (epochs, mean, np.std(runs, axis=0, ddof=1)) if len(runs) > 1 else (epochs, mean)


def apart(one: Spread, two: Spread) -> bool:
    """Whether means differ by more than twice what runs among themselves explain; never, where there is one run of either.

    >>> apart(spread([1.0, 1.1]), spread([2.0, 2.1])), apart(spread([1.0, 3.0]), spread([2.0, 2.1])), apart(spread([1.0]), spread([2.0]))
    (True, False, False)
    """
    if one.deviation is None or two.deviation is None:
        return False
    error = math.hypot(one.deviation / math.sqrt(one.count), two.deviation / math.sqrt(two.count))
    return abs(one.mean - two.mean) > 2 * error


class Study(Protocol):
    """A published experiment: as published (rows are read WITHOUT the doors), and made sound (through them)."""

    @property
    def name(self) -> str:
        """As it is called on the command line."""

    @property
    def title(self) -> str:
        """As it is called on the page."""

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """All that can be run, the most telling first; a quick run has fewer of them, on fewer rows."""

    def lines(self, found: Found) -> Sequence[Line]:
        """The table."""

    def story(self, found: Found, folder: Path) -> str:
        """The page below the table, in Markdown. Its curves are drawn into the folder."""


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
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    file, tasks, begun = folder / f"{study.name}.json", study.tasks(quick=quick), time.monotonic()
    kept = _kept(file, study)
    unknown = sorted(set(only or ()) - {task.key for task in tasks})
    if unknown:
        known = ", ".join(task.key for task in tasks)
        raise BenchmarkError(f"{study.name} has no point {unknown[0]!r}. Known: {known}.")
    for task in tasks:
        if (only and task.key not in only) or (task.key in kept and (quick or not kept[task.key]["quick"])):
            continue
        if time.monotonic() - begun > 60 * minutes:
            break
        on_step(task.key)
        start = time.process_time()
        figures = task.run(folder)
        kept[task.key] = {**figures, "quick": quick, "processor_seconds": round(time.process_time() - start, 1)}
        record = {"study": study.name, "points": kept, "missing": _missing(study, kept)}
        with writing(file):
            file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return write_page(study, kept, folder)


def write_page(study: Study, kept: Mapping[str, Figures], folder: Path) -> Found:
    """The page that is made of the figures, with its curves."""
    found, file = Found(kept, _missing(study, kept)), folder / f"{study.name}.md"
    page = _page(study, found, folder)
    with writing(file):
        file.write_text(page, encoding="utf-8")
    return found


def _missing(study: Study, kept: Mapping[str, Figures]) -> list[str]:
    return [task.key for task in study.tasks(quick=False) if task.key not in kept]


def _kept(path: Path, study: Study) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        points = dict(json.loads(path.read_text(encoding="utf-8"))["points"])
    except (OSError, ValueError, KeyError, TypeError):
        raise BenchmarkError(
            f"{path} does not hold the figures of a study. Remove it, or choose another folder."
        ) from None
    known = {task.key for quick in (False, True) for task in study.tasks(quick=quick)}
    return {key: figures for key, figures in points.items() if key in known}


def _page(study: Study, found: Found, folder: Path) -> str:
    full = [key for key, figures in found.figures.items() if not figures["quick"]]
    quick = [key for key, figures in found.figures.items() if figures["quick"]]
    # What stands before the first heading opens the page, above the table.
    opening, heading, story = _with_pictures_that_are_there(study.story(found, folder), folder).partition("## ")
    return render(
        "study.md.jinja",
        {
            "study": study,
            "table": markdown_table(HEADINGS, study.lines(found)),
            "opening": opening.strip(),
            "story": (heading + story).strip(),
            "full": _listed(full),
            "quick": _listed(quick),
            "missing": _listed(sorted({*found.missing, *quick})),
        },
    )


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of words.

    >>> print(markdown_table(("a", "b"), [("1", "2")]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    head, *body = (f"| {' | '.join(cells)} |" for cells in (headings, *rows))
    return "\n".join([head, f"|{'---|' * len(headings)}", *body])


def _with_pictures_that_are_there(story: str, folder: Path) -> str:
    """Pictures are drawn by the points that they show: of one that was not run, only the name is left."""

    def kept(picture: re.Match[str]) -> str:
        return picture[0] if (folder / picture[2]).exists() else f"*{picture[1]}: to be run.*"

    return _PICTURE.sub(kept, story)


def _listed(keys: Sequence[str]) -> str:
    """Tasks by name, those of several seeds once.

    >>> _listed(["a, seed 0", "a, seed 1", "b"])
    '`a` (seeds 0, 1), `b`'
    """
    seeds: dict[str, list[str]] = {}
    for key in keys:
        seed = _SEED.search(key)
        seeds.setdefault(_SEED.sub("", key), []).extend([seed[1]] if seed else [])
    named = [
        f"`{task}`" + (f" (seed{'s' * (len(run) > 1)} {', '.join(run)})" if run else "") for task, run in seeds.items()
    ]
    if len(named) > _MOST_LISTED:
        return f"{len(keys)} points, from {named[0]} to {named[-1]}"
    return ", ".join(named) or "nothing"
