"""What a schema says of released rows and a mechanism cannot heed: told in the plan, so that nobody counts on it in vain."""

from sfumato.mechanism import Learner, Mechanism
from sfumato.public.schema.schema import Schema

#: Mechanisms whose rows are encoded mixtures.
_ENCODED = ("dpmix", "kip", "dp-kip")


def keys_without_effect(mechanism: Mechanism, schema: Schema) -> list[str]:
    """A sentence for each key that has no effect, because no rows of the table are released."""
    keys = {
        "decimals": [column.name for column in schema.columns if column.decimals is not None],
        "depends_on": [column.name for column in schema.columns if column.depends_on],
        "special": [column.name for column in schema.columns if column.special_as is not None],
    }
    if mechanism.name not in _ENCODED and not isinstance(mechanism, Learner):
        return []
    gives = "a model" if isinstance(mechanism, Learner) else "encoded mixtures"
    return [
        f"{mechanism.name} releases {gives} and no rows of the table: {key} of {names[0]!r}"
        f"{f' and {len(names) - 1} more' if len(names) > 1 else ''} has no effect on what is released."
        for key, names in keys.items()
        if names
    ]
