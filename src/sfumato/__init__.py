"""Release a private dataset as a differentially private one that models can be trained on, or a model itself."""

from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.extending import __all__ as _for_writers
from sfumato.fitted import Fitted
from sfumato.fitting import fit
from sfumato.folder.releasing import Release, load_release, release
from sfumato.folder.signing import load_signing_key, new_keys
from sfumato.mechanism import mechanism_for as method
from sfumato.mechanisms import __all__ as _mechanisms
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

if TYPE_CHECKING:
    from sfumato.estimator import Synthesizer
    from sfumato.ledger.ledger import Ledger

__version__ = "0.2.0"

__all__ = ["Budget", "Column", "PrivacyUnit", "Query", "Schema", "Sensitive", "SfumatoError"]
__all__ += ["Fitted", "PlannedRelease", "Release", "Synthesis", "Synthesizer", "Synthetic", "Trained", "TrainedModel"]
__all__ += ["Certificate", "Claim", "Ledger", "Verification"]
__all__ += ["fit", "method", "plan", "release", "synthesize", "train", "verify"]
__all__ += ["load_model", "load_release", "load_signing_key", "new_keys"]


def __getattr__(name: str) -> Any:
    """Two names when they are asked for, because their libraries import slowly; for names a level down, where they are."""
    if name == "Synthesizer":
        from sfumato.estimator import Synthesizer

        return Synthesizer
    if name == "Ledger":
        from sfumato.ledger.ledger import Ledger

        return Ledger
    places = {"sfumato.extending": _for_writers, "sfumato.mechanisms": _mechanisms}
    where = [f": it is {place}.{name}" for place, names in places.items() if name in names]
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}{''.join(where)}")


def __dir__() -> list[str]:
    """What most people need, for a notebook's completion."""
    return [*__all__, "__version__"]
