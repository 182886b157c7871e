"""The assessment of a release: utility, fidelity and attacks, in one summary. Reads private rows WITHOUT privacy."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import SchemaError
from sfumato.lab.assess.learning import learn, learners_for
from sfumato.lab.assess.likeness import compare_tables, told_apart
from sfumato.lab.assess.material import Material, gather
from sfumato.lab.assess.pictures import compare_pictures, describe, inverted, pictures_told_apart
from sfumato.lab.assess.summary import NOT_FOR_RELEASE, Assessment, Attacks
from sfumato.lab.attacks.attribute import attribute_inference
from sfumato.lab.attacks.membership import by_closest, by_neighbours, closest, density_ratio
from sfumato.lab.attacks.shadows import check_shadows, likelihood_ratio
from sfumato.lab.attacks.sheets import from_batches
from sfumato.present.report import other_world
from sfumato.public.schema.schema import Schema

#: Rows of each set that learners see.
MOST_ROWS = 50_000

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
) -> Assessment:
    """Assess a release folder. Not private: the result is for whoever may see the private rows.

    Args:
        release: A release folder.
        private: The rows that it was made from, in any form that `Sensitive.read` takes.
        test: Real rows that it was not made from.
        learners: Some of the protocol's; by default all of them.
        sensitive: The column to guess in attribute inference; by default the target, or the last column.
        shadows: Releases to make for the likelihood-ratio attack: each takes as long as the release did.
        most_rows: Rows of each set that learners see.
        on_step: Told what is being done.
    """
    on_step("reading the rows")
    material = gather(release, private=private, test=test)
    schema, certificate = material.schema, material.release.certificate
    if shadows:
        check_shadows(material.release)
    column = _sensitive(schema, sensitive)
    utility = learn(material, learners=learners or learners_for(schema), most_rows=most_rows, on_step=on_step)
    common: dict[str, Any] = {
        "warning": NOT_FOR_RELEASE,
        "release": material.release.path.name,
        "mechanism": certificate.mechanism.name,
        "status": certificate.status,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "claim": certificate.claim.in_words,
        "without": other_world(schema),
        "rows": material.rows(),
        "rows_used": most_rows,
        "utility": utility,
        "software": dict(certificate.software),
    }
    if schema.images:
        return Assessment(**common, **_of_pictures(material, on_step=on_step))
    return Assessment(**common, **_of_tables(material, column=column, shadows=shadows, on_step=on_step))


def _sensitive(schema: Schema, asked: str | None) -> str | None:
    if schema.images:
        if asked is not None:
            raise SchemaError("pictures have no columns to guess. Leave out the sensitive column.")
        return None
    return schema[asked].name if asked is not None else schema.target or schema.columns[-1].name


def _of_tables(material: Material, *, column: str | None, shadows: int, on_step: Step) -> dict[str, Any]:
    on_step("marginals and correlations")
    likeness = compare_tables(material)
    on_step("telling real from synthetic")
    apart, apart_fresh = (told_apart(material, other=other) for other in (material.synthetic, material.test))
    on_step("membership inference")
    found = from_batches(material.schema, real=material.real, synthetic=material.synthetic, holdout=material.test)
    membership = density_ratio(found)
    if shadows:
        membership.append(
            likelihood_ratio(
                material.release,
                real=material.real,
                synthetic=material.synthetic,
                test=material.test,
                shadows=shadows,
                on_step=on_step,
            )
        )
    on_step("attribute inference")
    guessed = attribute_inference(found, column=column) if column is not None else None
    attacks = Attacks(tuple(membership), guessed, None, closest(found), shadows)
    return {
        "told_apart": apart, "told_apart_fresh": apart_fresh, "table": likeness, "pictures": None, "attacks": attacks,
    }  # fmt: skip


def _of_pictures(material: Material, *, on_step: Step) -> dict[str, Any]:
    on_step("features of pictures")
    points = describe(material)
    likeness = compare_pictures(material, points)
    on_step("telling real from synthetic")
    apart, apart_fresh = (pictures_told_apart(points, other=other) for other in ("synthetic", "test"))
    on_step("membership inference")
    sets = points["real"], points["synthetic"], points["test"]
    on_step("model inversion")
    attacks = Attacks((by_neighbours(*sets),), None, inverted(material), by_closest(*sets), 0)
    return {
        "told_apart": apart, "told_apart_fresh": apart_fresh, "table": None, "pictures": likeness, "attacks": attacks,
    }  # fmt: skip
