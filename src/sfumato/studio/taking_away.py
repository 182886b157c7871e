"""A release as a command, a Python script and a notebook: what was done by hand here can be done again without the page."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

Chosen = Mapping[str, Any]


def arguments(
    source: Mapping[str, Any], chosen: Chosen, *, schema: str, out: str, page: str = "", ledger: str = ""
) -> list[str]:
    """What `sfumato release` is given. Values stand behind an equals sign, so that none is taken for an option."""
    told = {
        "schema": schema,
        "epsilon": f"{chosen['epsilon']:g}",
        "out": out,
        "delta": chosen.get("delta"),
        "rows": chosen.get("rows"),
        "method": None if chosen.get("method") in (None, "", "auto") else chosen["method"],
        "private-page": page,
        "sign": chosen.get("sign"),
        "passphrase-file": chosen.get("passphrase_file") if chosen.get("sign") else None,
        **source_options(source),
    }
    if ledger and chosen.get("dataset"):
        told |= {"ledger": ledger, **{key: chosen.get(key) for key in ("dataset", "recipient", "purpose")}}
    flags = ["--score"] if chosen.get("score") else []
    return ["release", source["place"], *(f"--{key}={value}" for key, value in told.items() if value), *flags]


def source_options(source: Mapping[str, Any]) -> dict[str, Any]:
    """Which rows of a database are meant."""
    return {"table": source.get("table"), "query": source.get("sql")}


def command(given: Sequence[str]) -> str:
    """As it is typed."""
    return shlex.join(["sfumato", *given])


def script(source: Mapping[str, Any], chosen: Chosen, *, schema: str, out: str, ledger: str = "") -> str:
    """The same in Python."""
    return "\n".join(["import sfumato as sf", "", *_lines(source, chosen, schema=schema, out=out, ledger=ledger), ""])


def notebook(source: Mapping[str, Any], chosen: Chosen, *, schema: str, out: str, ledger: str = "") -> str:
    """The same as a notebook: a cell for each thought."""
    lines = _lines(source, chosen, schema=schema, out=out, ledger=ledger)
    cells = [["import sfumato as sf"], lines[:2], lines[2:4], lines[4:-1], lines[-1:]]
    body = {
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{at}",
                "execution_count": None,
                "metadata": {},
                "outputs": [],
                "source": "\n".join(cell),
            }
            for at, cell in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(body, indent=1)


def _lines(source: Mapping[str, Any], chosen: Chosen, *, schema: str, out: str, ledger: str) -> list[str]:
    data = repr(source["place"])
    if source.get("table") or source.get("sql"):
        rows = f"table={source['table']!r}" if source.get("table") else f"sql={source['sql']!r}"
        data = f"sf.Query({data}, {rows})"
    delta = f"delta={chosen['delta']!r}" if chosen.get("delta") else "delta=None"
    account = ""
    if ledger and chosen.get("dataset"):
        names = "".join(f", {key}={chosen[key]!r}" for key in ("recipient", "purpose") if chosen.get(key))
        account = f", ledger=sf.Ledger({ledger!r}).dataset({chosen['dataset']!r}{names})"
    n_rows = chosen.get("rows") or None
    asked = f", rows={n_rows!r}" if n_rows == "many" else f", rows={int(n_rows)}" if n_rows else ""
    scored = ", score=True" if chosen.get("score") else ""
    sign = f", sign={chosen['sign']!r}" if chosen.get("sign") else ""
    method = chosen.get("method") or "auto"
    fitting = f"sf.synthesize({data}, schema, epsilon={chosen['epsilon']!r}, {delta}, method={method!r}{asked}{scored}{account})"
    return [
        f"schema = sf.Schema.load({schema!r})",
        f"print(sf.plan({method!r}, schema, {chosen['epsilon']!r}))  # no row is read for this",
        f"synthesis = {fitting}",
        f"synthesis.save({out!r}{sign})",
        f"assert sf.verify({out!r}).ok",
    ]
