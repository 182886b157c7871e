"""What a maker and a receiver should be told about a release, from noisy numbers and public facts alone: it costs nothing."""

from sfumato.mechanism import Mechanism
from sfumato.model import Model, Synthetic
from sfumato.public.plan import Plan
from sfumato.public.schema import Schema


def release_warnings(
    *, schema: Schema, plan: Plan, mechanism: Mechanism, model: Model, synthetic: Synthetic
) -> tuple[str, ...]:
    """Sentences that stand in the console, in the certificate and in the report. The same inputs give the same ones."""
    return ()
