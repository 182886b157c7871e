"""Fill the figures of README, guides and research pages from the runs in results/*.jsonl: `make pages`.

    <!-- figure: utility value dataset=adult epsilon=1 -->.912<!-- /figure -->

is the mean of `value` over the lines of results/utility.jsonl that have these values; `runs` in the place of a column counts
them. `<!-- figure: NAME -->` is one of FIGURES below. A table stands between `<!-- table: NAME ... -->` and `<!-- /table -->`,
each on a line of its own: one of TABLES below.

Rounding, everywhere: means and standard deviations (of the runs, not of their mean) have three digits after the point and no
zero before it. One run has no deviation.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import scale_page
from utility import ROWS, select
from zoo.figures import AUTO, HISTOGRAMS, REAL, Figures, gather, spread
from zoo.page import PRESENT

from sfumato.lab.benchmark.protocol import Spread, summarise

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
Record = dict[str, Any]

_FIGURE = re.compile(r"<!-- figure: (?P<name>[^>]+?) -->(?P<text>.*?)<!-- /figure -->", re.DOTALL)
_TABLE = re.compile(r"<!-- table: (?P<name>[^>]+?) -->\n(?P<text>.*?)<!-- /table -->", re.DOTALL)
#: A score as pages write it: .912. In these places every one of them has to come from data: a page, or a section of it.
_SCORE = re.compile(r"(?<![\w.,])0?\.\d{3,4}(?![\d.])")
_NOT_PROSE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|<!-- ([\w ]+): written by .*?<!-- end of \1 -->", re.DOTALL)
GUARDED: tuple[tuple[str, str | None], ...] = (
    ("README.md", None),
    *((f"docs/guide/{path.name}", None) for path in sorted((ROOT / "docs" / "guide").glob("*.md"))),
    ("docs/research/table-method.md", "What each stage earns"),
    ("docs/research/tables.md", "Where it stands"),
    ("docs/research/images.md", "Where it stands"),
)
NAMES = {
    "mnist": "MNIST", "fashion-mnist": "Fashion-MNIST", "adult": "Adult", "census": "Census income",
    "credit": "Credit card fraud", "isolet": "ISOLET", "diabetes130": "Diabetes 130", "cnn": "CNN", "lightgbm": "LightGBM",
    "accuracy": "accuracy", "auc": "AUC",
}  # fmt: skip


def pages() -> list[Path]:
    """Every page that may have figures."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "benchmarks" / "README.md"]


def filled(text: str) -> str:
    """The text of a page with the figures of today."""
    text = _TABLE.sub(lambda m: f"<!-- table: {m['name']} -->\n\n{table_of(m['name'])}\n\n<!-- /table -->", text)
    return _FIGURE.sub(lambda m: f"<!-- figure: {m['name']} -->{figure_of(m['name'])}<!-- /figure -->", text)


def figure_of(name: str) -> str:
    """What a marker stands for."""
    first, *rest = shlex.split(name)
    if not rest:
        if first not in FIGURES:
            raise KeyError(f"no figure is called {first!r}: {', '.join(FIGURES)}, or a file, a column and its lines.")
        return FIGURES[first]()
    column, *conditions = rest
    found = lines_of(first, *conditions)
    if column == "runs":
        return str(len(found))
    return shown(spread(found, column), name)


def table_of(name: str) -> str:
    """The lines of a table."""
    first, *rest = shlex.split(name)
    if first not in TABLES:
        raise KeyError(f"no table is called {first!r}: {', '.join(TABLES)}.")
    lines = list(TABLES[first](*rest))
    if len(lines) < 3:
        raise KeyError(f"the table {name!r} would have no line.")
    return "\n".join(lines)


def lines_of(file: str, *conditions: str) -> list[Record]:
    """The runs of a file that have these values, such as dataset=adult; at least one."""
    wanted = [(key, _value(value)) for key, _, value in (condition.partition("=") for condition in conditions)]
    found = [r for r in runs_of(file) if all(r.get(key) == value for key, value in wanted)]
    if not found:
        raise KeyError(f"results/{file}.jsonl has no run with {' '.join(conditions)}.")
    return found


@cache
def runs_of(file: str) -> list[Record]:
    """All runs of a file."""
    path = RESULTS / f"{file}.jsonl"
    if not path.is_file():
        raise KeyError(f"there is no results/{file}.jsonl.")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def shown(value: Spread | None, name: str = "") -> str:
    """A mean with three digits.

    >>> shown(spread([{"a": 0.9124}], "a"))
    '.912'
    """
    if value is None:
        raise KeyError(f"no run has the figure that {name!r} names.")
    return _short(f"{value.mean:.3f}")


def with_deviation(value: Spread | None) -> str:
    """A mean and its standard deviation, which one run alone does not have."""
    if value is None:
        return "-"
    return shown(value) + ("" if value.deviation is None else f" ± {_short(f'{value.deviation:.3f}')}")


def _short(text: str) -> str:
    return re.sub(r"^(-?)0(?=\.)", r"\1", text)


@cache
def _zoo() -> dict[str, Figures]:
    return {f.case: f for f in gather(runs_of("zoo"), present=PRESENT, previous=None, epsilon=1.0)}


def _loss_of_fewer_rows() -> str:
    """The most that is lost at epsilon 1 with as many rows as real ones, beside the recommended number."""
    means = [summarise(select(runs_of("utility"), row.dataset, 1, row.learner)) for row in ROWS if row.epsilon == 1]
    return _short(f"{max(s.utility.mean - s.utility_n.mean for s in means if s.utility_n is not None):.3f}")


def _files_that_know(*words: str) -> str:
    """How many files of the package name a door or its block, besides those that only use it, and the studio."""
    package = ROOT / "src" / "sfumato"
    files = [
        f for f in package.rglob("*.py") if not {"mechanisms", "studies", "studio"} & set(f.relative_to(package).parts)
    ]
    named = re.compile(rf"\b({'|'.join(words)})\b")
    return str(sum(bool(named.search(file.read_text(encoding="utf-8"))) for file in files))


FIGURES: dict[str, Callable[[], str]] = {
    "files-of-noisy-votes": lambda: _files_that_know("noisy_votes", "Votes"),
    "files-of-noisy-reports": lambda: _files_that_know("noisy_reports", "Response", "EachRow"),
    "zoo-cases": lambda: str(len(_zoo())),
    "zoo-beaten": lambda: str(sum(bool(f.beaten_by) for f in _zoo().values())),
    "loss-of-fewer-rows": _loss_of_fewer_rows,
    **scale_page.FIGURES,
}


def _results(epsilon: str = "1") -> Iterator[str]:
    """The benchmarks at an epsilon."""
    yield "| | learner | release | as many rows as real | real rows | published | releases |"
    yield "|---|---|---|---|---|---|---|"
    for row in (row for row in ROWS if f"{row.epsilon:g}" == epsilon):
        found = select(runs_of("utility"), row.dataset, row.epsilon, row.learner)
        line, published = summarise(found), row.published.replace(" (unsound)", "*")
        yield (
            f"| {NAMES[row.dataset]}, {NAMES[found[0]['metric']]} | {NAMES[row.learner]} | {with_deviation(line.utility)} "
            f"| {with_deviation(line.utility_n)} | {shown(line.real)} | {published} | {len(found)} |"
        )


def _images() -> Iterator[str]:
    """The CNN on MNIST and Fashion-MNIST, beside what was to be reached."""
    yield "| | ε | 300,000 rows | 60,000 rows | real rows | to reach | goal | releases |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in sorted((r for r in ROWS if r.learner == "cnn"), key=lambda r: (r.dataset != "mnist", r.epsilon)):
        line = summarise(select(runs_of("utility"), row.dataset, row.epsilon, row.learner))
        yield (
            f"| {NAMES[row.dataset]} | {row.epsilon:g} | {with_deviation(line.utility)} | {with_deviation(line.utility_n)} "
            f"| {shown(line.real)} | {_short(f'{row.must:.3f}')} | {_short(f'{row.goal:.3f}')} | {line.utility.count} |"
        )


def _ablations() -> Iterator[str]:
    """Every stage that was left out, on the cases where it should show."""
    yield "| left out | case | score with it | score without | 2-way TVD with, without | common values kept | releases |"
    yield "|---|---|---|---|---|---|---|"
    runs = runs_of("zoo-ablations")
    for stage, case in dict.fromkeys((r["without"], r["case"]) for r in runs if r["without"] is not None):
        both = [[r for r in runs if (r["case"], r["without"]) == (case, without)] for without in (None, stage)]
        scores = " | ".join(with_deviation(spread(some, "utility")) for some in both)
        tvds, kept = (", ".join(_mean(some, key) for some in both) for key in ("tvd_2", "spikes"))
        yield f"| {stage} | `{case}` | {scores} | {tvds} | {kept.replace('-, -', '-')} | {len(both[0])}, {len(both[1])} |"


def _zoo_table(*cases: str) -> Iterator[str]:
    """Cases of the zoo by name, or so many of those that lose most."""
    yield "| case | real | default | lost | histograms | best other | releases |"
    yield "|---|---|---|---|---|---|---|"
    every = _zoo()
    if len(cases) == 1 and cases[0].isdigit():
        worst = sorted(every.values(), key=lambda f: float("inf") if f.lost is None else f.lost, reverse=True)
        cases = tuple(f.case for f in worst[: int(cases[0])])
    for case in cases:
        if case not in every:
            raise KeyError(f"the zoo has no case {case!r}.")
        one, best = every[case], every[case].best_other
        cells = [with_deviation(one.score(method)) for method in (REAL, AUTO, HISTOGRAMS)]
        cells.append("-" if best is None else f"{shown(best[1])} ({best[0]})")
        if one.facts.get("target") == "none":  # the score is minus an error then
            cells = [cell if cell == "-" else f"error {cell.lstrip('-')}" for cell in cells]
        lost = "-" if one.lost is None else f"{one.lost:.0%}"
        yield f"| `{case}` | {' | '.join(cells[:2])} | {lost} | {' | '.join(cells[2:])} | {len(one.runs[AUTO])} |"


def _missing() -> Iterator[str]:
    """Missing values before and after they lost their place in the order of a column."""
    yield "| case | score | 2-way TVD | error of correlations | their size |"
    yield "|---|---|---|---|---|"
    runs = [
        r | {"score": r.get("utility", r.get("every_column"))} for r in runs_of("zoo-missing") if r["method"] == AUTO
    ]
    for case in dict.fromkeys(r["case"] for r in runs):
        both = [[r for r in runs if (r["case"], r["as"]) == (case, name)] for name in ("missing values last", PRESENT)]
        cells = [" to ".join(_mean(some, key) for some in both) for key in ("score", "tvd_2", "correlation")]
        yield f"| `{case}` | {' | '.join(cells)} | {_mean(both[1], 'correlation_size')} |"


def _sound() -> Iterator[str]:
    """Recordings of words, by method and epsilon."""
    yield "| method | ε | CNN | logistic regression | releases |"
    yield "|---|---|---|---|---|"
    runs = runs_of("sound")
    for method, epsilon in dict.fromkeys((r["method"], r["epsilon"]) for r in sorted(runs, key=_by_method)):
        some = [r for r in runs if (r["method"], r["epsilon"]) == (method, epsilon)]
        cells = [
            with_deviation(spread([r for r in some if r["learner"] == name], "accuracy"))
            for name in ("cnn", "logistic")
        ]
        name = "the recordings themselves" if epsilon is None else f"`{method}`"
        yield f"| {name} | {'-' if epsilon is None else f'{epsilon:g}'} | {' | '.join(cells)} | {len(some) // 2} |"


def _by_method(run: Record) -> tuple[bool, str, float]:
    return run["epsilon"] is None, run["method"], run["epsilon"] or 0.0


def _mean(records: list[Record], key: str) -> str:
    value = spread(records, key)
    return "-" if value is None else shown(value)


TABLES: dict[str, Callable[..., Iterator[str]]] = {
    "results": _results,
    "images": _images,
    "ablations": _ablations,
    "zoo": _zoo_table,
    "missing": _missing,
    "sound": _sound,
    **scale_page.TABLES,
}


def bare_scores(text: str, section: str | None) -> list[str]:
    """Scores that come from no marker, in a page or in one of its sections.

    >>> bare_scores("The AUC is .912, not <!-- figure: x -->.911<!-- /figure -->.", None)
    ['.912']
    """
    if section is not None:
        start = re.search(rf"^## {re.escape(section)}$", text, re.MULTILINE)
        if start is None:
            raise KeyError(f"the page has no section {section!r}.")
        text = re.split(r"^## ", text[start.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    for pattern in (_TABLE, _FIGURE, _NOT_PROSE):
        text = pattern.sub("", text)
    return _SCORE.findall(text)


def misplaced(text: str) -> list[str]:
    """Markers without an end or misspelt, and figures at the start of a line, which Markdown takes for a block of HTML."""
    left = _FIGURE.sub("", _TABLE.sub("", text))
    return re.findall(r"<!-- /?(?:figure|table)\b[^\n]*", left) + re.findall(r"^<!-- figure:[^\n]*", text, re.MULTILINE)


def main() -> None:
    """Write every page whose figures have changed."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: figures anew")


if __name__ == "__main__":
    main()
