"""Release a private dataset as a differentially private one that models can be trained on, or a model itself."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.errors import SfumatoError
    from sfumato.estimator import Synthesizer
    from sfumato.fitted import Fitted
    from sfumato.fitting import fit
    from sfumato.folder.releasing import Release, load_release, release
    from sfumato.folder.signing import load_signing_key, new_keys
    from sfumato.ledger.ledger import Ledger
    from sfumato.mechanism import mechanism_for as method
    from sfumato.model import Synthetic
    from sfumato.outlook.planning import PlannedRelease, plan
    from sfumato.private.intake.query import Query
    from sfumato.private.intake.sensitive import Sensitive
    from sfumato.public.budget import Budget, PrivacyUnit
    from sfumato.public.certificate.certificate import Certificate
    from sfumato.public.certificate.claim import Claim
    from sfumato.public.schema.schema import Column, Schema
    from sfumato.synthesizing import Synthesis, synthesize
    from sfumato.training import Trained, TrainedModel, load_model, train
    from sfumato.verification.verifying import Verification, verify

__version__ = "0.2.0"

__all__ = ["Budget", "Column", "PrivacyUnit", "Query", "Schema", "Sensitive", "SfumatoError"]
__all__ += ["Fitted", "PlannedRelease", "Release", "Synthesis", "Synthesizer", "Synthetic", "Trained", "TrainedModel"]
__all__ += ["Certificate", "Claim", "Ledger", "Verification"]
__all__ += ["fit", "method", "plan", "release", "synthesize", "train", "verify"]
__all__ += ["load_model", "load_release", "load_signing_key", "new_keys"]

#: Where each name is. A module is imported when its first name is asked for: all of them take seconds.
_PLACES = {
    "errors": ["SfumatoError"],
    "estimator": ["Synthesizer"],
    "fitted": ["Fitted"],
    "fitting": ["fit"],
    "folder.releasing": ["Release", "load_release", "release"],
    "folder.signing": ["load_signing_key", "new_keys"],
    "ledger.ledger": ["Ledger"],
    "model": ["Synthetic"],
    "outlook.planning": ["PlannedRelease", "plan"],
    "private.intake.query": ["Query"],
    "private.intake.sensitive": ["Sensitive"],
    "public.budget": ["Budget", "PrivacyUnit"],
    "public.certificate.certificate": ["Certificate"],
    "public.certificate.claim": ["Claim"],
    "public.schema.schema": ["Column", "Schema"],
    "synthesizing": ["Synthesis", "synthesize"],
    "training": ["Trained", "TrainedModel", "load_model", "train"],
    "verification.verifying": ["Verification", "verify"],
}
_ROOMS = ("sfumato.extending", "sfumato.mechanisms")
_MODULES = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    """A name when it is first asked for; for names a level down, where they are."""
    if name == "method":
        found = import_module("sfumato.mechanism").mechanism_for
    elif name in _MODULES:
        found = getattr(import_module(f"sfumato.{_MODULES[name]}"), name)
    elif f"sfumato.{name}" in _ROOMS:
        found = import_module(f"sfumato.{name}")
    elif name.startswith("__"):  # what Python asks every module for
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    else:
        from sfumato.public.spelling import did_you_mean

        below = [room for room in _ROOMS if name in import_module(room).__all__]
        near = did_you_mean(name, __all__)
        where = f": it is {below[0]}.{name}" if below else f".{near}"
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}{where}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """What most people need, for a notebook's completion."""
    return [*__all__, "__version__"]
