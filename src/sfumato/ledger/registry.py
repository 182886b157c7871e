"""An entry for OpenDP's registry of deployments, from a dataset of a ledger: what is released, how, and how private it is.

The registry keeps one YAML file for each deployment (arXiv 2509.13509; opendp/deployments-registry-data). JSON is YAML, so what
is written here can lie there. What nobody can know here is null, for the publisher to fill in.
"""

import re
from collections.abc import Sequence
from typing import Any

from sfumato.ledger.chain import Line
from sfumato.ledger.rules import Request, State
from sfumato.public.certificate.statement import counted_in_words


def registry_entry(name: str, state: State, lines: Sequence[Line]) -> dict[str, Any]:
    """One deployment: a dataset with its total, and every release that was charged to it."""
    charges = [line for line in lines if line.dataset == name and line.kind == "charge"]
    requests = [Request.from_json(line.content["request"]) for line in charges]
    policy, unit = state.policy, state.unit
    period = "" if policy.periods == "none" else f", counted for each {policy.periods} of the data by itself"
    releases = [
        f"{line.at[:10]}: {asked.mechanism}, epsilon {asked.epsilon:g}, delta {asked.delta:g}"
        for line, asked in zip(charges, requests, strict=True)
    ]
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"),
        "deployment": {
            "basic": {
                "name": name,
                **dict.fromkeys(
                    ("data_curators", "description", "intended_use", "data_product_region", "data_product_sector")
                ),
                "data_product_type": "Synthetic data",
                "publication_date": charges[0].at[:10] if charges else None,
            },
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": None,
                "unprotected_quantities": _unprotected(state),
            },
            "privacy_loss": {
                "privacy_unit": "Row-level" if unit.person is None else "User-level",
                "privacy_unit_details": counted_in_words(unit) + period,
                "privacy_parameters": {"epsilon": policy.epsilon, "delta": policy.delta},
                "privacy_parameters_details": f"for all releases together; each was charged to a ledger: {'; '.join(releases)}",
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release" if len(charges) == 1 else "Many releases",
                "data_source_type": "Static" if policy.periods == "none" else "Dynamic",
                "access_type": "Non-interactive",
            },
            "implementation": {
                "mechanisms": ", ".join(sorted({asked.mechanism for asked in requests}))
                + ", by discrete Gaussian noise (sfumato)",
                "composition": "a filter for fully adaptive releases, by Gaussian differential privacy",
                "post_processing": "rows and models are made of noisy answers alone",
                "justification": None,
            },
            "administrative": {"evidence_sources": None, "status": "Draft", "registry_authors": None, "tier": None},
        },
    }


def _unprotected(state: State) -> str | None:
    if not state.non_private:
        return None
    return f"{state.non_private} output(s) without privacy were made of the same dataset"
