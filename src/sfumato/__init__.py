"""Release a private dataset as a differentially private one that models can be trained on, or a model itself."""

from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.fitted import Fitted
from sfumato.fitting import fit
from sfumato.folder.releasing import Release, load_release, release
from sfumato.folder.signing import load_signing_key, new_keys
from sfumato.mechanism import Learner, Measurements, Mechanism, register
from sfumato.mechanism import mechanism_for as method
from sfumato.mechanisms import (
    P3GM,
    Aim,
    ClustMix,
    Cnn,
    DPGan,
    DPKip,
    DPMerf,
    DPMix,
    DPPro,
    DPSyn,
    IndependentHistograms,
    Kip,
    LocalReports,
    Logistic,
    Mst,
    PateGan,
    PrivBayes,
    Scattering,
    ThreeAImage,
    ThreeATable,
)
from sfumato.model import Classifier, FixedModel, Model, Synthetic
from sfumato.outlook.planning import PlannedRelease, plan
from sfumato.private.intake.sensitive import Sensitive
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.certificate.certificate import Certificate
from sfumato.public.certificate.claim import Claim
from sfumato.public.plan.block import Block, Choice, Dense, Hot, Outer, Response, Votes
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import EachRow, Everyone, KnownPartition, Poisson, SecretBins, Step, WithoutReplacement
from sfumato.public.schema.schema import Column, Schema
from sfumato.synthesizing import Synthesis, synthesize
from sfumato.training import Trained, TrainedModel, load_model, train
from sfumato.verification.verifying import Verification, verify

if TYPE_CHECKING:
    from sfumato.estimator import Synthesizer

__version__ = "0.2.0"

__all__ = [
    "P3GM",
    "Aim",
    "Block",
    "Budget",
    "Certificate",
    "Choice",
    "Claim",
    "Classifier",
    "ClustMix",
    "Cnn",
    "Column",
    "DPGan",
    "DPKip",
    "DPMerf",
    "DPMix",
    "DPPro",
    "DPSyn",
    "Dense",
    "EachRow",
    "Everyone",
    "Expected",
    "Fitted",
    "FixedModel",
    "Hot",
    "IndependentHistograms",
    "Kip",
    "KnownPartition",
    "Learner",
    "LocalReports",
    "Logistic",
    "Measurements",
    "Mechanism",
    "Model",
    "Mst",
    "NoiseSource",
    "Outer",
    "PateGan",
    "Plan",
    "PlannedRelease",
    "Poisson",
    "PrivBayes",
    "PrivacyUnit",
    "Release",
    "Response",
    "Scattering",
    "Schema",
    "SecretBins",
    "Sensitive",
    "SfumatoError",
    "Step",
    "Synthesis",
    "Synthesizer",
    "Synthetic",
    "ThreeAImage",
    "ThreeATable",
    "Trained",
    "TrainedModel",
    "Verification",
    "Votes",
    "WithoutReplacement",
    "fit",
    "load_model",
    "load_release",
    "load_signing_key",
    "method",
    "new_keys",
    "plan",
    "register",
    "release",
    "synthesize",
    "train",
    "verify",
]


def __getattr__(name: str) -> Any:
    """`Synthesizer` when it is asked for: scikit-learn takes a while to import, and few need it."""
    if name == "Synthesizer":
        from sfumato.estimator import Synthesizer

        return Synthesizer
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
