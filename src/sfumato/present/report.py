"""The public report of a release: one HTML page made of the certificate and the synthetic rows, and of nothing else."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from sfumato.asking.columns import ColumnEstimates
from sfumato.errors import SfumatoError
from sfumato.mechanism import Named, mechanism_from
from sfumato.model import Synthetic
from sfumato.outlook.forecast import outlook
from sfumato.outlook.preview import noise_of
from sfumato.outlook.sections import (
    SEVERAL_NOT_SIMULATED,
    in_sentences,
    noise_by_column,
    noise_notes,
    simulated_another,
)
from sfumato.outlook.warnings import verdict_on
from sfumato.present.columns import ColumnCard, column_cards, columns_in_order
from sfumato.present.correlations import correlations_of, correlations_svg, drawn_columns
from sfumato.present.loading import load_lines
from sfumato.present.pages import render
from sfumato.present.plots import picture_grid
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.claim import exact_text
from sfumato.public.certificate.non_private import NOT_PRIVATE
from sfumato.public.plan.outline import outline_of
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema

#: Where an attacker may become surer than this, the promise says little by itself.
_LITTLE = 0.95


def plain_promise(certificate: Certificate, schema: Schema, *, what: str) -> list[str]:
    """What the folder holds (`what`), what is promised and what is not, without a formula."""
    if certificate.status != "certified":
        return [what, "No promise of privacy holds for this folder: keep it as you would keep the private rows."]
    is_row, is_replaced = schema.unit.person is None, schema.unit.relation == "replace_one"
    who, whose, has = ("row", "row", "is") if is_row else ("person", "person's rows", "has rows")
    where = "the private set of pictures" if schema.images else "the private table"
    sure = 1 / (1 + math.exp(-certificate.epsilon))  # of what had even odds before
    if is_replaced:
        world = f"whatever any one {whose} in {where} had said"
        guess = (
            f"thinks two values of a certain {who} equally likely may come to be {sure_text(sure)} sure of one of them"
        )
    else:
        world = f"whether or not any one {who} {'was' if is_row else 'had rows'} in {where}"
        guess = f"gives even odds that a certain {who} {has} in it may come to be {sure_text(sure)} sure"
    promise = (
        f"The promise: {world}, this folder would look nearly the same. Somebody who knows all other rows and {guess} after "
        f"seeing everything here, and no surer, but for an exception with a probability of at most "
        f"{odds_text(certificate.delta)}."
    )
    if sure > _LITTLE:
        promise += " That limit is so high that the promise says little by itself."
    hidden = f"Not hidden: what many {who}s have in common. That is what this release is for."
    return [what, promise, hidden]


def sure_text(share: float) -> str:
    """In percent."""
    percent = 100 * share
    if percent > 99.99:
        return "more than 99.99 %"
    return f"{percent:.0f} %" if percent < 99 else f"{percent:.2f} %"


def odds_text(delta: float) -> str:
    """A small probability as one in so many."""
    many = 1 / delta
    digits = 10 ** (len(str(int(many))) - 2) if many >= 100 else 1
    return f"one in {int(many + 1e-6) // digits * digits:,}"


def quality_of(mechanism: Named, *, schema: Schema, plan: Plan, warnings: Sequence[str]) -> dict[str, Any]:
    """All that the page says under *How good is it?*, as plain values."""
    told = noise_of(mechanism, schema=schema, planned=plan)
    outline = outline_of(mechanism, schema, plan.budget)
    return {
        "path": None if outline is None else outline.path,
        "left_out": [] if outline is None else [entry.sentence for entry in outline.left_out],
        "verdict": verdict_on(warnings),
        "warnings": list(warnings),
        "expected": _expected(mechanism, schema=schema, plan=plan),
        "noise": list(noise_by_column(told, schema).items()),
        "notes": noise_notes(told),
    }


def _expected(mechanism: Named, *, schema: Schema, plan: Plan) -> list[str]:
    """What public simulations say of such a release. They are of a declared size; without one nothing can be said."""
    if schema.rows is None:
        return []
    expected = outlook(mechanism, schema=schema, budget=plan.budget, planned=plan)
    if expected is None:
        return [SEVERAL_NOT_SIMULATED]
    return [*filter(None, [simulated_another(expected)]), *in_sentences(expected, schema.rows)]


_MOST_ROWS, _MOST_COLUMNS = 5, 10
_MOST_CLASSES, _OF_A_CLASS, _UNLABELLED = 20, 12, 60
_MOST_PIXELS = 120_000  # noise does not compress: this keeps the page below a megabyte

_STATUS = {
    "certified": "The publisher declares that this software made it, with secret randomness. Check all else with: sfumato verify",
    "research": "Made with a known seed: its noise can be subtracted. Do not treat it as private.",
    "non_private": "Not made by the doors of the package. Do not treat it as private.",
}


def public_report(
    certificate: Certificate,
    *,
    schema: Schema,
    plan: dict[str, Any],
    synthetic: Synthetic,
    estimates: Mapping[str, ColumnEstimates] | None = None,
) -> str:
    """The page as text: self-contained, readable in light and dark, without outside resources.

    The same arguments give the same bytes, and of the certificate everything counts but its list of files: `verify` makes
    the page again and compares. Of more rows than one piece, `synthetic` is the first piece. `estimates` are what the noisy
    measurements say of each column.
    """
    facts = summarize(certificate, schema=schema, plan=plan, synthetic=synthetic, estimates=estimates)
    return render("report.html.jinja", facts)


def summarize(
    certificate: Certificate,
    *,
    schema: Schema,
    plan: dict[str, Any],
    synthetic: Synthetic,
    estimates: Mapping[str, ColumnEstimates] | None = None,
) -> dict[str, Any]:
    """All that the page says, as plain values: what JSON can hold, drawings as texts."""
    n_rows = len(synthetic) if certificate.rows is None else certificate.rows
    quality = quality_of(
        _mechanism_of(certificate), schema=schema, plan=certificate.plan(), warnings=certificate.warnings
    )
    return {
        **common_facts(certificate, schema=schema, plan=plan, verdict=quality["verdict"]),
        "kicker": "A differentially private release",
        "title": f"Synthetic {'rows' if synthetic.images is None else 'pictures'}, made from private ones",
        "plain_words": plain_promise(certificate, schema, what=_what(synthetic, n_rows)),
        "quality": quality,
        "score": None if certificate.score is None else certificate.score.in_words,
        "untold": _untold(estimates),
        **facts_of_rows(synthetic, schema, n_rows=n_rows, estimates=estimates),
    }


def _untold(estimates: Mapping[str, ColumnEstimates] | None) -> str:
    """Why nothing can be said of any column, where one sentence holds for all."""
    reasons = {one.why for one in (estimates or {}).values()}
    return reasons.pop() if len(reasons) == 1 else ""


def facts_of_rows(
    synthetic: Synthetic,
    schema: Schema,
    *,
    n_rows: int,
    estimates: Mapping[str, ColumnEstimates] | None = None,
) -> dict[str, Any]:
    """What a page says of the rows themselves, of which there are `n_rows`, and the first of them are here."""
    return {
        "n_rows": n_rows,
        "n_shown": len(synthetic),
        "table": None if synthetic.table is None else _first_rows(synthetic.table),
        "cards": [] if synthetic.table is None else _cards(synthetic, schema, estimates),
        **_together(synthetic, schema),
        "pictures": _pictures(synthetic),
        "n_classes": len(synthetic.classes),
        "load": load_lines(synthetic, schema),
        "load_notes": _load_notes(synthetic, schema),
    }


def _cards(synthetic: Synthetic, schema: Schema, estimates: Mapping[str, ColumnEstimates] | None) -> list[ColumnCard]:
    """Every column, and of several tables those of events too: all but keys, which are numbers from 1 on."""
    if synthetic.table is None or not synthetic.tables:
        return column_cards({"synthetic": pd.DataFrame(synthetic.table)}, schema, estimates=estimates)
    cards = column_cards({"synthetic": synthetic.table.drop(columns=str(schema.unit.person))}, schema)
    for table in schema.tables:
        rows = synthetic.tables.get(table.name)
        if rows is not None and len(rows):
            named = {column.name: table.at(column.name) for column in table.columns}
            columns = tuple(replace(column, name=named[column.name]) for column in table.columns)
            cards += column_cards({"synthetic": rows[list(named)].rename(columns=named)}, Schema(columns=columns))
    return cards


def common_facts(
    certificate: Certificate, *, schema: Schema, plan: dict[str, Any], verdict: str | None
) -> dict[str, Any]:
    """What the page of any release says, whatever is released."""
    return {
        "status": certificate.status,
        # Nothing useless looks green: the claim may stand, and the rows be worth nothing.
        "badge": "doubtful" if certificate.status == "certified" and verdict else certificate.status,
        "notes": certificate.notes,
        "status_in_words": _STATUS[certificate.status],
        "epsilon": exact_text(certificate.epsilon),
        "delta": exact_text(certificate.delta),
        "factor": f"{math.exp(certificate.epsilon):.3g}" if certificate.epsilon < 20 else f"e^{certificate.epsilon:g}",
        "without": other_world(schema),
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
    }


def _mechanism_of(certificate: Certificate) -> Named:
    """The mechanism; where it is not installed here, or with other settings, its record: noise is then told in rows."""
    try:
        return mechanism_from(certificate.mechanism)
    except SfumatoError:
        return certificate.mechanism


def other_world(schema: Schema) -> str:
    """The other world that this one cannot be told from."""
    who = "any one row" if schema.unit.person is None else "all rows of any one person"
    who = "any one person, with all that hangs on it," if schema.tables else who
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


def _together(synthetic: Synthetic, schema: Schema) -> dict[str, Any]:
    """How columns hang together, the target first."""
    table = synthetic.table
    found = None if table is None else correlations_of(table[columns_in_order(table, schema)])
    if found is None:
        return {"correlation_picture": None, "strongest": [], "n_drawn": 0}
    drawn = {"correlation_picture": correlations_svg(found), "n_drawn": len(drawn_columns(found))}
    return {**drawn, "strongest": found.strongest}


def _what(synthetic: Synthetic, n_rows: int) -> str:
    """What the folder holds, in a sentence."""
    many = f"{n_rows:,}"
    if synthetic.tables:
        hanging = ", ".join(f"{name} (synthetic.{name}.parquet)" for name in sorted(synthetic.tables))
        return (
            f"These {many} persons (synthetic.parquet) were made up by a computer, with all that hangs on them: {hanging}. They follow "
            "what the persons of private tables have in common: how often values occur, how columns go together, and what follows what."
        )
    if synthetic.images is not None:
        return f"These {many} pictures were made up by a computer, after measurements of a private set of pictures."
    return (
        f"These {many} rows were made up by a computer. They follow what the rows of a private table have in common: how "
        "often values occur, and how columns go together."
    )


def _pictures(synthetic: Synthetic) -> list[tuple[str, Markup]]:
    """The first pictures of each class as one, or of all where there are no labels.

    All are stretched to the range that most of their values lie in.
    """
    images, labels = synthetic.images, synthetic.labels
    if images is None or not len(images):
        return []
    most = max(4, _MOST_PIXELS // int(np.prod(images.shape[1:])))
    by_class = {"": images[: min(_UNLABELLED, most)]}
    if labels is not None:
        shown = np.unique(labels)[: min(_MOST_CLASSES, most)]
        each = max(1, min(_OF_A_CLASS, most // len(shown)))
        by_class = {synthetic.classes[c]: images[np.flatnonzero(labels == c)[:each]] for c in shown}
    values = np.concatenate([some.ravel() for some in by_class.values()])
    darkest, lightest = (float(q) for q in np.quantile(values, [0.01, 0.99]))
    return [(name, picture_grid(some, darkest=darkest, lightest=lightest)) for name, some in by_class.items()]


def _load_notes(synthetic: Synthetic, schema: Schema) -> list[str]:
    """What a receiver has to know about the loaded values."""
    if synthetic.images is not None:
        low, high, has_labels = schema.images[0].low, schema.images[0].high, synthetic.labels is not None
        notes = {
            f"Pixels ({synthetic.images.dtype}) lie between {low:g} and {high:g}, as in the schema.": True,
            "There are no labels: the schema names no target.": not has_labels,
            "labels holds places in classes: 0 is the first name there.": has_labels,
            "soft_labels says how much of each class a picture is.": has_labels and synthetic.soft_labels is not None,
        }
    else:
        table = pd.DataFrame() if synthetic.table is None else synthetic.table
        is_missing = any(column.missing and column.special_as is None for column in schema.columns)
        notes = {
            "The tensor leaves dates out.": table.select_dtypes("datetime").shape[1] > 0,
            "The tensor leaves times of the day out.": any(
                column.kind == "time" and column.name in table.columns for column in schema.features
            ),
            "Missing numbers are NaN in the tensor; a missing class is -1.": synthetic.table is not None and is_missing,
        }
    return [note for note, holds in notes.items() if holds]


def non_private_page(facts: Mapping[str, Any], *, schema: Schema, synthetic: Synthetic) -> str:
    """The page as text: what was made, how, and that nothing is promised."""
    shown = facts_of_rows(synthetic, schema, n_rows=facts["rows"])
    return render("non_private.html.jinja", {**facts, **shown, "title": "NOT PRIVATE", "warning": NOT_PRIVATE})
