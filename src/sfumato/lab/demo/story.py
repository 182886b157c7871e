"""The demo, told with the same functions that a user has: release, verify, train, compare."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sfumato.fitted import Fitted
from sfumato.fitting import fit
from sfumato.folder import load_release, release, writing
from sfumato.lab.assess.utility import Score, train_and_score
from sfumato.lab.demo.population import demo_schema, holdout_population, patient_population
from sfumato.mechanism import mechanism_for
from sfumato.outlook.stages import fit_stages
from sfumato.present.demo_pages import demo_page
from sfumato.present.marginals import marginal
from sfumato.private.sensitive import Sensitive
from sfumato.public.budget import budget_of
from sfumato.public.schema import Schema
from sfumato.verification.verifying import Verification, verify

EPSILON = 1.0
_SHOWN = ("age", "income", "systolic_pressure", "occupation", "education", "last_visit")


@dataclass(frozen=True)
class Story:
    """What the demo found. The scores and the page are not private; the release is."""

    fitted: Fitted
    verification: Verification
    aucs: dict[str, float]
    rows: dict[str, int]
    learner: str
    warnings: tuple[str, ...]
    page: str


_MAKING, _WRITING, _VERIFYING = (
    "making 30,000 people",
    "writing the release",
    "verifying it, with a rebuild of the model",
)
_REAL, _SYNTHETIC, _DRAWING = "training on real rows", "training on synthetic rows", "drawing the page"


def stages() -> dict[str, int]:
    """All that the demo tells of, in its order, and how often."""
    schema = demo_schema()
    fitting = fit_stages(mechanism_for("auto", schema), schema, budget_of(EPSILON, rows=schema.rows))
    return {_MAKING: 1, **fitting, **dict.fromkeys((_WRITING, _VERIFYING, _REAL, _SYNTHETIC, _DRAWING), 1)}


def tell(*, out: Path, on_step: Callable[[str], None]) -> Story:
    """Release the demo population to `out`, which must not exist or be a release folder that may be replaced.

    Everything is made beside its place and moved there at the end, so that a demo that is stopped leaves nothing.
    """
    schema = demo_schema()
    budget = budget_of(EPSILON, rows=schema.rows)
    with writing(out):
        workshop = tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.absolute().parent)
    with workshop as folder:
        on_step(_MAKING)
        private_rows = patient_population()
        private_file, staged = Path(folder) / "patients.csv", Path(folder) / "release"
        with writing(out):
            private_rows.to_csv(private_file, index=False)
        fitted = fit("auto", Sensitive.read(private_file, schema), budget, on_step=on_step)
        on_step(_WRITING)
        release(fitted, to=staged)
        on_step(_VERIFYING)
        verification = verify(staged, rebuild=True)
        verification.raise_if_bad()
        story = _compare(fitted, verification, staged, private_rows, schema, out=out, on_step=on_step)
        with writing(out):
            if out.exists():
                os.replace(out, Path(folder) / "replaced")
            os.replace(staged, out)
    return story


def _compare(
    fitted: Fitted,
    verification: Verification,
    staged: Path,
    private_rows: pd.DataFrame,
    schema: Schema,
    *,
    out: Path,
    on_step: Callable[[str], None],
) -> Story:
    released = load_release(staged)
    synthetic, warnings = _table(released.synthetic().table), released.certificate.warnings
    private_test = holdout_population()
    on_step(_REAL)
    real_score = train_and_score(private_rows, private_test, schema)
    on_step(_SYNTHETIC)
    synthetic_score = train_and_score(synthetic, private_test, schema)
    on_step(_DRAWING)
    aucs = {"real": real_score.auc, "synthetic": synthetic_score.auc, "coin": 0.5}
    rows = {"train": len(private_rows), "synthetic": len(synthetic), "test": len(private_test)}
    claim: dict[str, Any] = {
        **fitted.certificate.claim.to_json(),
        "replayed_epsilon": verification.replayed_epsilon,
    }
    page = demo_page(
        claim=claim,
        plan=fitted.plan.to_json(),
        aucs=aucs,
        curves={"real": _curve(real_score), "synthetic": _curve(synthetic_score)},
        marginals=[
            marginal(name, {"real": private_rows[name], "synthetic": synthetic[name]}, bounds=_bounds(schema, name))
            for name in _SHOWN
        ],
        correlations={
            "real": private_rows["age"].corr(private_rows["systolic_pressure"]),
            "synthetic": synthetic["age"].corr(synthetic["systolic_pressure"]),
        },
        rows=rows,
        release=out.name,
        learner=real_score.learner,
        warnings=warnings,
    )
    return Story(fitted, verification, aucs, rows, real_score.learner, warnings, page)


def _table(table: pd.DataFrame | None) -> pd.DataFrame:
    return pd.DataFrame() if table is None else table


def _curve(score: Score) -> tuple[Any, Any]:
    return score.false_positive_rate, score.true_positive_rate


def _bounds(schema: Schema, name: str) -> tuple[float, float] | None:
    column = schema[name]
    return column.bounds if column.kind in ("numeric", "integer") else None
