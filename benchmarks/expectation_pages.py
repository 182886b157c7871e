"""The figures of src/sfumato/outlook/expectations.json in the pages that quote them, and the plot of alpha."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.mechanism import mechanism_for
from sfumato.outlook.expectations import Law
from sfumato.public.accounting import mu_of_budget
from sfumato.public.budget import default_delta
from sfumato.public.schema.schema import Column, Schema

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "src" / "sfumato" / "outlook" / "expectations.json"
DOCS = ROOT / "docs"
GUIDE, RESEARCH, PLOT = (
    DOCS / "guide" / "alpha.md",
    DOCS / "research" / "expectations.md",
    DOCS / "images" / "alpha.png",
)
INK, RULE, SERIES = "#1d1d1f", "#c8c8cc", ("#2f6f8f", "#c2572b", "#7a7a80")


def alpha_lines(points: list[dict[str, float]]) -> Iterator[str]:
    """The trade-off as a table."""
    tables = "tvd_2way" in points[0]
    yield f"| alpha | a learner keeps |{' a column is off by | a pair is off by |' if tables else ''} class rate is off by |"
    yield f"|---|---|{'---|---|' if tables else ''}---|"
    for point in points:
        off = [point[name] for name in ("tvd_1way", "tvd_2way", "class_rate_error") if name in point]
        yield f"| {point['alpha']:g} | {point['share']:.1%} | {' | '.join(f'{value:.4f}' for value in off)} |"


def alpha_verdict(points: list[dict[str, float]]) -> str:
    """Whether the curve is flat, and where the learner keeps most."""
    shares = {point["alpha"]: point["share"] for point in points}
    best = max(shares, key=lambda alpha: shares[alpha])
    spread = max(shares.values()) - min(shares.values())
    if spread < 0.02:
        return (
            f"**The curve is flat**: what a learner keeps moves by {spread:.1%} between the best alpha and the worst."
        )
    return f"A learner keeps most at alpha {best:g}; the best alpha and the worst are {spread:.1%} apart."


def grid_lines(law: Law) -> Iterator[str]:
    """What the law expects for 20 columns and even classes."""
    epsilons = (0.1, 0.3, 1.0, 3.0, 10.0)
    yield f"| rows | {' | '.join(f'ε {epsilon:g}' for epsilon in epsilons)} |"
    yield f"|---|{'---|' * len(epsilons)}"
    for rows in (500, 2_000, 10_000, 50_000, 200_000):
        mus = [mu_of_budget(epsilon, delta=default_delta(rows)) for epsilon in epsilons]
        found = [law.at(rows=rows, mu=mu, columns=20) for mu in mus]
        yield f"| {rows:,} | {' | '.join(f'{100 * r.low:.0f}-{100 * r.high:.0f} %' for r in found)} |"


def held_out_lines(entry: dict[str, Any]) -> Iterator[str]:
    """How well the law does on a rule that it has not seen."""
    yield "| rule left out | runs | mean error of the middle | bias | within the range |"
    yield "|---|---|---|---|---|"
    for rule, found in entry["held_out"].items():
        yield f"| {rule} | {found['runs']} | {found['mean_error']:.3f} | {found['bias']:+.3f} | {found['within']:.0%} |"


def research_lines(figures: dict[str, Any]) -> Iterator[str]:
    """What docs/research/expectations.md quotes."""
    table, image = figures["table"], figures["image"]
    share, pairs = table["laws"]["share"], table["laws"]["two_way"]
    yield (
        f"Tables: {len(table['runs'])} releases (settings `{table['digest']}`). What a learner keeps follows "
        f"rows · mu · (2 rate)^{share['rate']:g} / columns^{share['columns']:g};"
    )
    yield (
        f"the distance of pairs follows rows · mu / columns^{pairs['columns']:g}. "
        f"Pictures: {len(image['runs'])} releases (settings `{image['digest']}`)."
    )
    yield ""
    grid = {name: sorted({run[table["fields"].index(name)] for run in table["runs"]}) for name in ("rows", "columns")}
    yield f"The tables have {_listed(grid['rows'])} rows and {_listed(grid['columns'])} columns."
    yield ""
    yield from held_out_lines(table)
    yield ""
    yield "Range of four runs in five of what a learner keeps, 20 columns, even classes, delta as `plan` chooses it:"
    yield ""
    yield from grid_lines(Law.of(share))


def replaced(text: str, name: str, lines: Iterator[str] | list[str]) -> str:
    """The text with new lines between the marks of that name."""
    start, end = f"<!-- {name}: written by benchmarks/simulate_expectations.py -->", f"<!-- end of {name} -->"
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    return "\n".join([f"{before}{start}", "", *lines, "", f"{end}{after}"])


def pages(figures: dict[str, Any]) -> dict[Path, str]:
    """Every page with the figures of today."""
    guide = GUIDE.read_text(encoding="utf-8")
    for kind in ("table", "image"):
        points, grid = figures[kind]["alpha"], figures[kind]["alpha_grid"]
        made = f"Means over {points[0]['releases']} releases of {_listed(grid['rows'])} rows at epsilon {_listed(grid['epsilon'])}."
        guide = replaced(guide, f"alpha of {kind}s", [*alpha_lines(points), "", f"{made} {alpha_verdict(points)}"])
    research = replaced(RESEARCH.read_text(encoding="utf-8"), "figures", research_lines(figures))
    return {GUIDE: guide, RESEARCH: research}


def _listed(values: list[float]) -> str:
    words = [f"{value:,g}" if value < 1_000 else f"{value:,.0f}" for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def write_pages() -> None:
    """Write the pages and draw the plot."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    for path, text in pages(figures).items():
        path.write_text(text, encoding="utf-8")
    draw(figures)


def draw(figures: dict[str, Any]) -> None:
    """What a learner keeps against how far pairs are off, along alpha; in the plain style of the package's pages."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    plain = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": RULE}
    colours = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    with rc_context({**plain, **colours}):
        figure = Figure(figsize=(7.2, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        for kind, colour in zip(("table", "image"), SERIES, strict=False):
            points = figures[kind]["alpha"]
            alphas = [point["alpha"] for point in points]
            left.plot(alphas, [100 * p["share"] for p in points], marker="o", markersize=4, color=colour)
            left.annotate(
                f"{kind}s", (alphas[-1], 100 * points[-1]["share"]), (4, 4), textcoords="offset points", color=colour
            )
            default = mechanism_for("auto", _schema(kind)).alpha
            at = min(points, key=lambda point: abs(point["alpha"] - default))
            left.plot([at["alpha"]], [100 * at["share"]], marker="o", markersize=9, fillstyle="none", color=colour)
        left.set(xlabel="alpha (ring: the default)", ylabel="a learner keeps, %", ylim=(0, 105), xlim=(-0.05, 1.2))
        names = {"tvd_1way": "a column", "tvd_2way": "a pair", "class_rate_error": "class rate"}
        for (name, said), colour in zip(names.items(), SERIES, strict=True):
            points = figures["table"]["alpha"]
            right.plot([p["alpha"] for p in points], [p[name] for p in points], marker="o", markersize=4, color=colour)
            right.annotate(said, (1, points[-1][name]), (5, -3), textcoords="offset points", color=colour)
        right.set(xlabel="alpha, tables", ylabel="off by (total variation)", xlim=(-0.05, 1.3))
        right.set_ylim(bottom=0)
        for axes in (left, right):
            axes.tick_params(length=2)
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
        figure.savefig(PLOT, dpi=160, metadata={"Software": None})


def _schema(kind: str) -> Schema:
    image = Column(name="x", kind="image", shape=(8, 8))
    return Schema(columns=(image if kind == "image" else Column(name="x", kind="boolean"),))


if __name__ == "__main__":
    write_pages()
