"""What `fit` hands on: nothing in it has seen a private row except through a door."""

from dataclasses import dataclass, field

from sfumato.mechanism import Mechanism
from sfumato.model import Model
from sfumato.public.answers import Answers
from sfumato.public.certificate import Certificate
from sfumato.public.plan import Plan
from sfumato.public.schema import Schema


@dataclass(frozen=True)
class Fitted:
    """Everything that has passed the boundary: the doors' noisy answers, the model built from them, the certificate."""

    mechanism: Mechanism
    schema: Schema
    plan: Plan
    answers: Answers = field(repr=False)
    model: Model = field(repr=False)
    certificate: Certificate = field(repr=False)
