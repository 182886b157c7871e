"""What a mechanism of your own needs: steps and blocks, models to build, and a source of noise."""

from sfumato.mechanism import Learner, Measurements, Mechanism, register
from sfumato.model import Classifier, FixedModel, Model
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.plan.block import Block, Choice, Dense, Hot, Outer, Response, Votes
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.reading import Reading
from sfumato.public.plan.step import EachRow, Everyone, KnownPartition, Poisson, SecretBins, Step, WithoutReplacement

__all__ = ["Block", "Choice", "Dense", "Expected", "Hot", "Outer", "Response", "Votes"]
__all__ += ["EachRow", "Everyone", "KnownPartition", "Poisson", "SecretBins", "Step", "WithoutReplacement"]
__all__ += ["Classifier", "FixedModel", "Learner", "Measurements", "Mechanism", "Model"]
__all__ += ["NoiseSource", "Plan", "Reading", "register"]
