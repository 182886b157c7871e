"""What a mechanism of your own needs: steps and blocks, models to build, and a source of noise."""

from sfumato.mechanism import Learner, Measurements, Mechanism, register
from sfumato.model import Classifier, FixedModel, Model
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.plan.block import Block, Choice, Dense, Hot, Outer, Response, Votes
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.reading import Reading
from sfumato.public.plan.step import EachRow, Everyone, KnownPartition, Poisson, SecretBins, Step, WithoutReplacement

__all__ = [
    "Block",
    "Choice",
    "Classifier",
    "Dense",
    "EachRow",
    "Everyone",
    "Expected",
    "FixedModel",
    "Hot",
    "KnownPartition",
    "Learner",
    "Measurements",
    "Mechanism",
    "Model",
    "NoiseSource",
    "Outer",
    "Plan",
    "Poisson",
    "Reading",
    "Response",
    "SecretBins",
    "Step",
    "Votes",
    "WithoutReplacement",
    "register",
]
