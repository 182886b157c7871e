"""The demo, told with the same functions that a user has: release, verify, train, compare."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sfumato.errors import SchemaError
from sfumato.fitted import Fitted
from sfumato.fitting import fit
from sfumato.folder.disk import writing
from sfumato.folder.releasing import load_release, release
from sfumato.lab.assess.beside import compare
from sfumato.lab.demo.population import demo_schema, holdout_population, patient_population
from sfumato.mechanism import mechanism_for
from sfumato.outlook.stages import fit_stages
from sfumato.present.beside import demo_page
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import budget_of
from sfumato.verification.verifying import Verification, verify

EPSILON = 1.0


@dataclass(frozen=True)
class Story:
    """What the demo found. The scores and the page are not private; the release is."""

    fitted: Fitted
    verification: Verification
    lesson: dict[str, Any]
    warnings: tuple[str, ...]
    page: str


_MAKING = "making 30,000 people"
_WRITING, _VERIFYING = "writing the release", "verifying it, with a rebuild of the model"
_LEARNING, _DRAWING = "training on real and on synthetic rows", "drawing the page"


def stages() -> dict[str, int]:
    """All that the demo tells of, in its order, and how often."""
    schema = demo_schema()
    fitting = fit_stages(mechanism_for("auto", schema), schema, budget_of(EPSILON, rows=schema.rows))
    return {_MAKING: 1, **fitting, **dict.fromkeys((_WRITING, _VERIFYING, _LEARNING, _DRAWING), 1)}


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
        released = load_release(staged)
        on_step(_LEARNING)
        rows, warnings = pd.DataFrame(released.synthetic().table), released.certificate.warnings
        found = compare(private_rows, rows, schema, test=holdout_population())
        if found["lesson"] is None:
            raise SchemaError(found["why_no_lesson"])
        on_step(_DRAWING)
        claim = {**fitted.certificate.claim.to_json(), "replayed_epsilon": verification.replayed_epsilon}
        page = demo_page(found, claim=claim, release=out.name, warnings=warnings)
        with writing(out):
            if out.exists():
                os.replace(out, Path(folder) / "replaced")
            os.replace(staged, out)
    return Story(fitted, verification, found["lesson"], warnings, page)
