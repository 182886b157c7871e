"""The sound side of a study: a mechanism of the package on the same pictures, through the doors."""

from dataclasses import replace

from sfumato.fitting import fit
from sfumato.lab.benchmark.datasets import Benchmark
from sfumato.lab.benchmark.examples import Examples, synthetic_examples
from sfumato.mechanism import Mechanism
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import Budget, PrivacyUnit


def sound_release(
    mechanism: Mechanism,
    benchmark: Benchmark,
    budget: Budget,
    *,
    synthetic_rows: int | None = None,
    unit: PrivacyUnit | None = None,
    seed: int = 0,
) -> Examples:
    """Release the training pictures, and draw rows from what was fitted.

    Args:
        mechanism: Of this package.
        benchmark: Pictures.
        budget: Met by the release.
        synthetic_rows: How many are drawn; as many as are recommended, where there is no number.
        unit: Of privacy; that of the schema, where none is given.
        seed: Public randomness of the model. The noise is secure, and new in every run.
    """
    schema = replace(benchmark.schema, unit=unit or benchmark.schema.unit)
    fitted = fit(mechanism, Sensitive.read(benchmark.train, schema), budget, seed=seed)
    return synthetic_examples(fitted.sample(synthetic_rows or "many", seed=seed), schema)
