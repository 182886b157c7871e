"""The assessment of a release: utility, fidelity and attacks, in one summary. Reads private rows WITHOUT privacy."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError
from sfumato.lab.assess.aggregates import IN_WORDS, NOT_TESTED
from sfumato.lab.assess.between_tables import compare_histories
from sfumato.lab.assess.learning import learn, learners_for
from sfumato.lab.assess.likeness import compare_tables, told_apart
from sfumato.lab.assess.material import Material, gather
from sfumato.lab.assess.pictures import compare_pictures, describe, inverted, pictures_told_apart
from sfumato.lab.attacks import membership
from sfumato.lab.attacks.inference import attribute_inference
from sfumato.lab.attacks.roc import Attack
from sfumato.lab.attacks.sheets import from_batches
from sfumato.present.report import other_world
from sfumato.public.schema.schema import Schema

#: On every page, in red.
NOT_FOR_RELEASE = "NOT PRIVATE: computed from private rows without noise. For the custodian alone: do not publish it."
#: Rows of each set that learners see.
MOST_ROWS = 50_000

#: Everything that an assessment says, as plain values: pages, JSON and console are made of it and of nothing else.
Summary = dict[str, Any]
Step = Callable[[str], None]


def assess(
    release: str | Path,
    *,
    private: Any,
    test: Any,
    learners: Sequence[str] | None = None,
    sensitive: str | None = None,
    shadows: int = 0,
    most_rows: int = MOST_ROWS,
    on_step: Step = lambda step: None,
) -> Summary:
    """Assess a release folder. Not private: the result is for whoever may see the private rows.

    It was made from the `private` rows, and not from the `test` rows. `sensitive` is the column to guess in attribute
    inference, by default the target, or the last one. Each of the `shadows` takes as long as the release did.

    Returns:
        `warning`; of the release its name (`release`), `mechanism`, `status`, `epsilon`, `delta`, `claim`, the other world that it
        cannot be told from (`without`) and its `software`; `rows` of each set, and `rows_used`, the most that learners saw.
        `utility`: see `learn`. `told_apart`: how well a classifier tells real rows from synthetic ones, and from other real ones
        (`told_apart_fresh`). `table`: see `compare_tables`; `pictures`: see `compare_pictures`; one of them is None.
        Of several tables a row is a person with aggregates of its events, as `rows_are` says, and `tables`: see `compare_histories`.
        `attacks`: `membership`, a list; `attribute`, `inversion` and `closest`, or None; the number of `shadows`; and what is
        `not_tested`, in words, or nothing.
        A figure with a 95 % interval has `value`, `low` and `high`; an attack is that of `sfumato.lab.attacks.roc`.
    """
    on_step("reading the rows")
    material = gather(release, private=private, test=test)
    schema, certificate = material.schema, material.release.certificate
    if shadows:
        membership.check_shadows(material.release)
    column = _sensitive(schema, sensitive)
    on_step("how tables hang together")
    related = compare_histories(material)
    utility = learn(material, learners=learners or learners_for(schema), most_rows=most_rows, on_step=on_step)
    compared = _of_pictures(material, on_step) if schema.images else _of_tables(material, str(column), shadows, on_step)
    return {
        "warning": NOT_FOR_RELEASE,
        "release": material.release.path.name,
        "mechanism": certificate.mechanism.name,
        "status": certificate.status,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "claim": certificate.claim.in_words,
        "without": other_world(material.release.schema),
        "rows": material.rows(),
        "rows_are": IN_WORDS if material.persons else "",
        "rows_used": most_rows,
        "utility": utility,
        **compared,
        "tables": related,
        "software": dict(certificate.software),
    }


def all_attacks(found: Summary) -> list[dict[str, Any]]:
    """Every attack that has a curve, the sanity figure aside."""
    attacks = found["attacks"]
    more = [attacks[kind]["membership"] for kind in ("attribute", "inversion") if attacks[kind] is not None]
    return [*attacks["membership"], *more]


def _sensitive(schema: Schema, asked: str | None) -> str | None:
    if not schema.images:
        return schema[asked].name if asked is not None else schema.target or schema.columns[-1].name
    if asked is not None:
        raise SchemaError("pictures have no columns to guess. Leave out the sensitive column.")
    return None


def _of_tables(material: Material, column: str, shadows: int, on_step: Step) -> dict[str, Any]:
    on_step("marginals and correlations")
    likeness = compare_tables(material)
    on_step("telling real from synthetic")
    others = {"told_apart": material.synthetic, "told_apart_fresh": material.test}
    apart = {name: asdict(told_apart(material, other=other)) for name, other in others.items()}
    on_step("membership inference")
    real, synthetic, test = material.real, material.synthetic, material.test
    found = from_batches(material.schema, real=real, synthetic=synthetic, holdout=test)
    attacked = membership.density_ratio(found)
    if shadows:
        facts: Summary = {"real": real, "synthetic": synthetic, "test": test, "shadows": shadows}
        attacked.append(membership.likelihood_ratio(material.release, **facts, on_step=on_step))
    on_step("attribute inference")
    guessed = attribute_inference(found, column=column)
    attacks = _attacks(attacked, membership.closest(found), shadows=shadows)
    attacks["not_tested"] = NOT_TESTED if material.persons else ""
    attacks["attribute"] = None if guessed is None else asdict(guessed)
    return {**apart, "table": likeness, "pictures": None, "attacks": attacks}


def _of_pictures(material: Material, on_step: Step) -> dict[str, Any]:
    on_step("features of pictures")
    points = describe(material)
    likeness = compare_pictures(material, points)
    on_step("telling real from synthetic")
    others = {"told_apart": "synthetic", "told_apart_fresh": "test"}
    apart = {name: asdict(pictures_told_apart(points, other=other)) for name, other in others.items()}
    on_step("membership inference")
    sets = points["real"], points["synthetic"], points["test"]
    on_step("model inversion")
    attacks = _attacks([membership.by_neighbours(*sets)], membership.by_closest(*sets), shadows=0)
    attacks["inversion"] = inverted(material)
    return {**apart, "table": None, "pictures": likeness, "attacks": attacks}


def _attacks(attacked: Sequence[Attack], nearest: Attack | None, *, shadows: int) -> dict[str, Any]:
    found = {
        "membership": [asdict(attack) for attack in attacked],
        "attribute": None,
        "inversion": None,
        "not_tested": "",
    }
    return {**found, "closest": None if nearest is None else asdict(nearest), "shadows": shadows}
