"""The page of rows that are not private: it says so first, in red, and has no word of a promise."""

from collections.abc import Mapping
from typing import Any

from sfumato.model import Synthetic
from sfumato.present.pages import render
from sfumato.present.report import facts_of_rows
from sfumato.public.certificate.non_private import NOT_PRIVATE
from sfumato.public.schema.schema import Schema


def non_private_page(facts: Mapping[str, Any], *, schema: Schema, synthetic: Synthetic) -> str:
    """The page as text: what was made, how, and that nothing is promised."""
    shown = facts_of_rows(synthetic, schema)
    return render("non_private.html.jinja", {**facts, **shown, "title": "NOT PRIVATE", "warning": NOT_PRIVATE})
