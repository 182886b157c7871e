"""The public report of a release: one HTML page made of the certificate and the synthetic rows, and of nothing else."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfumato.errors import SfumatoError
from sfumato.mechanism import Named, mechanism_from
from sfumato.model import Synthetic
from sfumato.present.loading import load_lines
from sfumato.present.marginals import Marginal, marginal
from sfumato.present.pages import render
from sfumato.present.plots import marginal_svg, picture_grid
from sfumato.present.quality import quality_of
from sfumato.public.certificate import Certificate
from sfumato.public.schema import Schema

_MOST_PLOTS, _MOST_ROWS, _MOST_COLUMNS, _MOST_PICTURES = 6, 5, 10, 60
_MOST_PIXELS = 120_000  # noise does not compress: this keeps the page below a megabyte

_STATUS = {
    "certified": "The publisher declares: made by the package's doors, with secret randomness. Check all else with: sfumato verify",
    "research": "Made with a known seed: its noise can be subtracted. Do not treat it as private.",
    "non_private": "Not made by the doors of the package. Do not treat it as private.",
}


def public_report(certificate: Certificate, *, schema: Schema, plan: dict[str, Any], synthetic: Synthetic) -> str:
    """The page as text: self-contained, readable in light and dark, without scripts or outside resources.

    The same arguments give the same bytes, and of the certificate everything counts but its list of files: `verify` makes
    the page again and compares.
    """
    summary = summarize(certificate, schema=schema, plan=plan, synthetic=synthetic)
    drawn = {
        "plots": [marginal_svg(entry) for entry in summary["marginals"]],
        "pictures": None if summary["picture_sheet"] is None else picture_grid(summary["picture_sheet"]),
    }
    return render("report.html.jinja", {**summary, **drawn})


def summarize(
    certificate: Certificate, *, schema: Schema, plan: dict[str, Any], synthetic: Synthetic
) -> dict[str, Any]:
    """All that the page says, as plain values."""
    quality = quality_of(
        _mechanism_of(certificate), schema=schema, plan=certificate.plan(), warnings=certificate.warnings
    )
    return {
        "title": "A differentially private release",
        "status": certificate.status,
        # Nothing useless looks green: the claim may stand, and the rows be worth nothing.
        "badge": "doubtful" if certificate.status == "certified" and quality["verdict"] else certificate.status,
        "quality": quality,
        "notes": certificate.notes,
        "status_in_words": _STATUS[certificate.status],
        "epsilon": f"{certificate.epsilon:g}",
        "delta": f"{certificate.delta:g}",
        "factor": _factor(certificate.epsilon),
        "without": _without(schema),
        "claim": certificate.claim.in_words,
        "mechanism": certificate.mechanism.name,
        "parameters": {key: str(value) for key, value in certificate.mechanism.parameters.items()},
        "accountant": plan["accountant"],
        "spent": f"{plan['spent_epsilon']:.4f}",
        "steps": plan["steps"],
        "was_discovered": certificate.discovery is not None,
        "is_by_row": schema.unit.person is None,
        "assumptions": certificate.assumptions,
        "software": dict(sorted(certificate.software.items())),
        "target": schema.target,
        "n_rows": len(synthetic),
        "table": None if synthetic.table is None else _first_rows(synthetic.table),
        "marginals": [] if synthetic.table is None else _marginals(synthetic.table, schema),
        "picture_sheet": None if synthetic.images is None else _choose_pictures(synthetic),
        "load": load_lines(synthetic, schema),
        "load_notes": _load_notes(synthetic, schema),
    }


@dataclass(frozen=True)
class _Unknown:
    """A mechanism that this installation does not have: its noise is told in rows, by its blocks alone."""

    name: str


def _mechanism_of(certificate: Certificate) -> Named:
    try:
        return mechanism_from(certificate.mechanism)
    except SfumatoError:  # not installed here, or with the settings of another version
        return _Unknown(certificate.mechanism.name)


def _factor(epsilon: float) -> str:
    return f"{np.exp(epsilon):.3g}" if epsilon < 20 else f"e^{epsilon:g}"


def _without(schema: Schema) -> str:
    """The other world that this one cannot be told from."""
    who = "any one row" if schema.unit.person is None else "all rows of any one person"
    return f"{who} been {'left out' if schema.unit.relation == 'add_or_remove' else 'replaced by any other'}"


def _first_rows(table: pd.DataFrame) -> dict[str, Any]:
    shown = table.iloc[:_MOST_ROWS, :_MOST_COLUMNS]
    return {
        "columns": [str(name) for name in shown.columns],
        "rows": [[_cell(value) for value in row] for row in shown.itertuples(index=False)],
        "n_columns": table.shape[1],
    }


def _cell(value: Any) -> str:
    if pd.isna(value):
        return "–"
    if isinstance(value, pd.Timestamp):
        return value.strftime("%Y-%m-%d")
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return str(value)


def _marginals(table: pd.DataFrame, schema: Schema) -> list[Marginal]:
    """The target first, then columns in their order, one of each kind before a second of any."""
    names = [str(name) for name in table.columns if name != schema.target]
    kinds = {name: str(table[name].dtype) for name in names}
    of_kind: dict[str, int] = {}
    ranked = []
    for at, name in enumerate(names):
        ranked.append((of_kind.setdefault(kinds[name], 0), at, name))
        of_kind[kinds[name]] += 1
    chosen = [name for _, _, name in sorted(sorted(ranked)[: _MOST_PLOTS - 1], key=lambda entry: entry[1])]
    if schema.target is not None and schema.target in table.columns:
        chosen = [schema.target, *chosen]
    return [marginal(name, {"synthetic": table[name]}) for name in chosen]


def _choose_pictures(synthetic: Synthetic) -> Any:
    """Some pictures, evenly from all classes where there are labels."""
    if synthetic.images is None:
        return None
    held = len(synthetic.images)
    if not held:
        return None
    pixels = int(np.prod(synthetic.images.shape[1:]))
    wanted = min(held, _MOST_PICTURES, max(4, _MOST_PIXELS // pixels))
    order = np.arange(held) if synthetic.labels is None else np.argsort(synthetic.labels, kind="stable")
    return synthetic.images[order[np.linspace(0, held - 1, wanted).astype(np.int64)]]


def _load_notes(synthetic: Synthetic, schema: Schema) -> list[str]:
    """What a receiver has to know about the loaded values."""
    if synthetic.images is not None:
        is_bytes = synthetic.images.dtype.kind == "u"
        notes = [
            "Pixels are bytes." if is_bytes else "Pixels are in units of their bounds: 0 is the lower, 1 the upper."
        ]
        if synthetic.labels is None:
            return [*notes, "There are no labels: the schema names no target."]
        notes.append("labels holds places in classes: 0 is the first name there.")
        if synthetic.soft_labels is not None:
            notes.append("soft_labels says how much of each class a picture is.")
        return notes
    if synthetic.table is None:
        return []
    notes = []
    if synthetic.table.select_dtypes("datetime").shape[1]:
        notes.append("The tensor leaves dates out.")
    if any(column.missing for column in schema.columns):
        notes.append("Missing numbers are NaN in the tensor; a missing class is -1.")
    return notes
