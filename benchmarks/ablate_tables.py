"""What each stage of the table method earns: cases of the zoo with all stages, and with one of them left out.

    python benchmarks/ablate_tables.py --seeds 5 --jobs 16        # writes results/zoo-ablations.md
    python benchmarks/ablate_tables.py --everywhere trees codes   # two stages, on every case of the zoo

A stage that is left out gives its share of the budget to the others, so a figure says what the stage is worth beyond that.
Runs are appended to results/zoo-ablations.jsonl as they are finished, and what is there is not run again. Before a stage
is deleted it is left out everywhere (results/zoo-without.jsonl): the cases below are those where it should show.
"""

import argparse
import json
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from statistics import mean
from typing import Any

from zoo.cases import CASES
from zoo.scores import scores
from zoo.worker import DELTA

import sfumato as sf
from sfumato.extending import NoiseSource
from sfumato.mechanism import Mechanism, mechanism_for
from sfumato.mechanisms import Moments, ThreeATable
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.mechanisms.table.settings.table import TableSettings

RESULTS = Path(__file__).parent / "results"
RUNS, PAGE = RESULTS / "zoo-ablations.jsonl", RESULTS / "zoo-ablations.md"
EVERYWHERE = RESULTS / "zoo-without.jsonl"

#: For every stage the figure that it is for, and the cases where that shows.
STAGES = {
    "grid turning": ("tvd_2", ("lognormals-5000", "diamonds-cut")),
    "density shapes": ("tvd_2", ("mixed-800", "few-classes")),
    "point masses": ("spikes", ("diamonds-cut", "doctor-contacts")),
    "round values": ("spikes", ("diamonds-cut", "doctor-contacts")),
    "differences": ("utility", ("difference", "diamonds-cut", "flights")),
    "codes": ("utility", ("codes-5000", "codes-3-classes", "wide-codes")),
    "moments": ("utility", ("product", "xor-2")),
    "pairs": ("utility", ("xor-2-categories", "diamonds-cut")),
    "contrasts": ("utility", ("xor-2-categories",)),
    "links": ("tvd_2", ("determined", "diamonds-cut")),
    "triples": ("utility", ("xor-3",)),
    "whole tables": ("utility", ("parity-4", "parity-7", "parity-5-of-30", "small-joint", "flags", "insurance-whi")),
    "rules": ("tvd_1", ("rules", "rules-2000")),
    "trees": ("utility", ("xor-2", "xor-3", "slopes", "insurance-whi")),
    "corrections": ("utility", ("insurance-whi", "xor-2", "diamonds-cut", "slopes", "persons-8")),
    "corrections of columns": ("utility", ("one-hot-20000", "checkers", "rare-classes", "insurance-whi")),
    "correction of all columns": ("utility", ("one-hot-20000", "checkers", "xor-2-rare", "insurance-whi")),
    "sizes of corrections by column": ("utility", ("stops-29000", "mixed-29000", "one-hot-20000", "insurance-whi")),
    "size of a number's errors": ("utility", ("slopes-number", "product", "waves", "insurance-hours")),
    "recount of a rare class": ("utility", ("rare-200", "rare-linear", "rare-ends", "rare-linked")),
    "lengthened ratios": ("utility", ("schooling", "few-classes", "rare-classes")),
    "tilts of scarce classes": ("utility", ("intrusions", "faults", "rare-classes")),
    "steeper scores of a rare class": (
        "utility",
        ("rare-200", "rare-linear", "rare-ends", "rare-linked", "persons-alike", "persons-alike-rows", "mixed-800"),
    ),
    "balanced sampling": ("tvd_2", ("few-classes", "small-500", "insurance-whi", "mixed-800", "rare-200")),
    "balanced pairs": ("utility", ("checkers", "persons-8", "slopes", "mixed-29000", "stops-29000")),
    "exchanged errors": ("utility", ("wide-150-number-3000", "few-number")),
}

#: The same of `moments`, the method for wide tables, with the setting that leaves a stage out.
OF_MOMENTS: dict[str, tuple[str, tuple[str, ...], dict[str, float]]] = {
    "length and direction": (
        "utility",
        ("signals-178", "spreads-150", "wide-120-classes"),
        {"least_evidence": math.inf},
    ),
    "shapes of columns": ("tvd_1", ("wide-120-classes", "vibrations-128", "spreads-150"), {"most_groups": 0}),
    "steeper labels of wide tables": ("utility", ("signals-178", "spreads-150", "wide-300"), {"steepness": 1.0}),
    "neighbouring columns": ("tvd_2", ("signals-178", "spreads-150"), {"sure_correlation": math.inf}),
}
FIGURES = {**STAGES, **{stage: (figure, cases) for stage, (figure, cases, _) in OF_MOMENTS.items()}}


def method(stage: str | None, schema: sf.Schema) -> Mechanism:
    """The default for a table, without a stage."""
    if stage in OF_MOMENTS:
        return Moments(settings=MomentsSettings(**OF_MOMENTS[stage][2]))
    if stage is None:
        return mechanism_for("auto", schema)
    return ThreeATable(settings=TableSettings().without(stage))


def run(case: str, stage: str | None, seed: int) -> dict[str, Any]:
    split = CASES[case].load()
    mechanism = method(stage, split.schema)
    budget = sf.Budget(epsilon=1.0, delta=DELTA)
    source = NoiseSource(research_seed=seed)  # the same noise with the stage and without it
    fitted = sf.fit(mechanism, sf.Sensitive.read(split.train, split.schema), budget, seed=seed, source=source)
    found = scores(split, fitted.model.sample(len(split.train), seed=seed).table)
    figures = {key: found.get(key) for key in ("utility", "tvd_1", "tvd_2", "spikes")}
    return {"case": case, "without": stage, "seed": seed, **figures}


def write_page(runs: list[dict[str, Any]]) -> None:
    lines = [
        "# What each stage of the table method earns",
        "",
        "Epsilon 1, delta 1e-5, as many rows as were given; made by `benchmarks/ablate_tables.py`, which says how. A stage",
        "that is left out gives its share to the others.",
        "",
        "| left out | figure | case | with it | without | seeds |",
        "|---|---|---|---|---|---|",
    ]
    for stage, (figure, cases) in FIGURES.items():
        for case in cases:
            both = [
                [r[figure] for r in runs if r.get(figure) is not None and r["case"] == case and r["without"] == w]
                for w in (None, stage)
            ]
            if all(both):
                lines.append(
                    f"| {stage} | {figure} | {case} | {mean(both[0]):.3f} | {mean(both[1]):.3f} | {len(both[1])} |"
                )
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def wanted(everywhere: list[str], seeds: int) -> list[tuple[str, str | None, int]]:
    """Case, stage and seed of every run, the first seed of all before the second of any."""
    chosen = {stage: tuple(CASES) for stage in everywhere} or {stage: cases for stage, (_, cases) in FIGURES.items()}
    pairs = [(case, without) for stage, cases in chosen.items() for case in cases for without in (None, stage)]
    return list(dict.fromkeys((case, without, seed) for seed in range(seeds) for case, without in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes, each on one core")
    parser.add_argument("--everywhere", nargs="+", default=[], choices=FIGURES, help="these stages, on the whole zoo")
    options = parser.parse_args()
    file = EVERYWHERE if options.everywhere else RUNS
    runs = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    done = {(r["case"], r["without"], r["seed"]) for r in runs}
    todo = [asked for asked in wanted(options.everywhere, options.seeds) if asked not in done]
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=fresh) as pool, file.open("a", encoding="utf-8") as lines:
        for job in as_completed([pool.submit(run, *asked) for asked in todo]):
            runs.append(job.result())
            lines.write(json.dumps(runs[-1]) + "\n")
            lines.flush()
            print(json.dumps(runs[-1]), flush=True)
    if not options.everywhere:
        write_page(runs)


if __name__ == "__main__":
    main()
