"""The table of the zoo, worst cases on top."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .cases import CASES
from .figures import AUTO, HISTOGRAMS, REAL, Figures, gather, spread, worse

PRESENT = "present"
_HEAD = (
    "case", "what for", "rows", "real", "default", "lost", "previous", HISTOGRAMS, "best other", "TVD 1 / 2 / 3",
    "correlations", "class rates", "spikes", "seconds", "MB",
)  # fmt: skip


def write_page(
    path: Path, records: list[dict[str, Any]], *, present: str, previous: str | None, epsilon: float
) -> None:
    """Everything that is known, as a page beside the runs."""
    found = gather(records, present=present, previous=previous, epsilon=epsilon)
    found.sort(key=lambda figures: float("inf") if figures.lost is None else figures.lost, reverse=True)
    lines = [
        "# The zoo",
        "",
        f"The default for tables (`auto`) on tables of many shapes, ε = {epsilon:g}, δ = 1e-5, as many released rows as real "
        "ones, worst on top. Mean ± standard deviation over seeds; without ±, one release. Written by `make bench-zoo`; the runs are in "
        "`zoo.jsonl`.",
        "",
        *_counts(found),
        "",
        *_table(found),
        "",
        *_explained(),
        "",
        *_every_column(found),
        *_sentences(found),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _counts(found: list[Figures]) -> Iterator[str]:
    beaten = [figures.case for figures in found if figures.beaten_by]
    yield f"- Worse than a simpler mechanism by more than two standard errors (**!**): {_named(beaten, found)}"
    yield f"- Worse than nothing by as much (**0**): {_named([f.case for f in found if f.below_a_coin], found)}"
    rougher = [f.case for f in found if _rougher(f)]
    yield f"- 1-way TVD worse than {HISTOGRAMS} by as much (**t**): {_named(rougher, found)}"
    back = [f.case for f in found if worse(f.score(AUTO), spread(f.before, "score"))]
    yield f"- Worse than the previous version by as much (**<**): {_named(back, found)}"


def _named(cases: list[str], found: list[Figures]) -> str:
    return f"{len(cases)} of {len(found)}" + (f" ({', '.join(cases)})." if cases else ".")


def _rougher(figures: Figures) -> bool:
    mine, theirs = (spread(figures.runs.get(name, []), "tvd_1") for name in (AUTO, HISTOGRAMS))
    return mine is not None and theirs is not None and worse(theirs, mine)  # of a distance less is better


def _table(found: list[Figures]) -> Iterator[str]:
    yield f"| {' | '.join(_HEAD)} |"
    yield "|---" * len(_HEAD) + "|"
    for figures in found:
        yield f"| {' | '.join(_cells(figures))} |"


def _cells(figures: Figures) -> list[str]:
    mine = figures.runs.get(AUTO, [])
    marks = {
        "!": bool(figures.beaten_by),
        "0": figures.below_a_coin,
        "t": _rougher(figures),
        "<": worse(figures.score(AUTO), spread(figures.before, "score")),
    }
    marked = "".join(f" **{mark}**" for mark, holds in marks.items() if holds)
    best = figures.best_other
    means = [spread(mine, f"tvd_{ways}") for ways in (1, 2, 3)]
    return [
        figures.case,
        CASES[figures.case].what if figures.case in CASES else "",
        f"{figures.facts.get('rows', 0):,}",
        figures.shown(figures.score(REAL)),
        (figures.shown(figures.score(AUTO)) if figures.score(AUTO) else mine[0]["status"]) + marked,
        "-" if figures.lost is None else f"{100 * figures.lost:.0f} %",
        figures.shown(spread(figures.before, "score")),
        _method(figures, HISTOGRAMS),
        "-" if best is None else f"{figures.shown(best[1])} ({best[0]})",
        " / ".join("-" if mean is None else f"{mean.mean:.3f}" for mean in means),
        *(_mean(mine, key, 3) for key in ("correlation", "class_rates")),
        _mean(mine, "spikes", 2),
        _mean(mine, "seconds", 1),
        _mean(mine, "memory_mb", 0),
    ]


def _method(figures: Figures, method: str) -> str:
    runs = figures.runs.get(method, [])
    return figures.shown(figures.score(method)) if figures.score(method) or not runs else runs[0]["status"]


def _spread(records: list[dict[str, Any]], key: str) -> str:
    found = spread(records, key)
    return "-" if found is None else f"{found:.3f}"


def _mean(records: list[dict[str, Any]], key: str, digits: int) -> str:
    found = spread(records, key)
    return "-" if found is None else f"{found.mean:.{digits}f}"


def _explained() -> Iterator[str]:
    yield (
        "*real*, *default*, *previous* and the mechanisms: LightGBM with its defaults, trained on the rows and tested on real "
        "ones: AUC for two classes, the mean of one against the rest for more, R2 for numbers. Without a target: the mean "
        "absolute error of Spearman correlations and of Cramer's V. *lost*: (real - default) / (real - trivial), trivial a "
        "coin, R2 0, or no correlation at all. TVD over columns, pairs and triples, numbers in ten quantiles of the real "
        "training rows. *correlations*: error of Spearman correlations among numbers. *class rates*: the largest absolute "
        "error. *spikes*: the share of numbers' values in 1 % of the rows and more that keep their share up to a factor of "
        "two. *seconds*: of one processor, from rows in memory to released rows in memory. *MB*: the peak of that process. "
        "A single seed has no deviation; for the marks .01 stands in its place. Other mechanisms are not run again with every "
        "version."
    )


def _every_column(found: list[Figures]) -> Iterator[str]:
    """Without a target: how well each column is predicted from the others."""
    found = [figures for figures in found if spread(figures.runs.get(REAL, []), "every_column") is not None]
    if not found:
        return
    yield "## Without a target: every column predicted from the others"
    yield ""
    yield "The mean over columns of R2 (at least -1) and of 2 AUC - 1, on real test rows: 0 says nothing, 1 is all."
    yield ""
    yield f"| case | real | default | previous | {HISTOGRAMS} |"
    yield "|---|---|---|---|---|"
    for figures in found:
        runs = [
            figures.runs.get(REAL, []),
            figures.runs.get(AUTO, []),
            figures.before,
            figures.runs.get(HISTOGRAMS, []),
        ]
        yield f"| {figures.case} | {' | '.join(_spread(r, 'every_column') for r in runs)} |"
    yield ""


def _sentences(found: list[Figures]) -> Iterator[str]:
    """What was refused and what failed, in its own words; the same words once."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for figures in found:
        for method, runs in figures.runs.items():
            for record in runs:
                if record["status"] != "done":
                    cases = said.setdefault((method, record["status"], record["sentence"]), [])
                    cases.extend([figures.case] if figures.case not in cases else [])
    if not said:
        return
    yield "## Refused and failed"
    yield ""
    for (method, status, sentence), cases in sorted(said.items(), key=lambda item: (item[0][0] != AUTO, item[0])):
        yield f"- `{method}` {status} {', '.join(cases)}: {sentence}"
