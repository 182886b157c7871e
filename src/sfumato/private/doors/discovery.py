"""The door of discovery: texts that are common enough to be let out. Proof: docs/proofs/discovery.md."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.discovery import TEXTS, DiscoveryPlan


def frequent_texts(
    private_counts: Mapping[str, Counter[str]], planned: DiscoveryPlan, *, primitives: Primitives
) -> dict[str, tuple[str, ...]]:
    """For each text column the values whose noisy count passes the threshold, in the order of the alphabet."""
    passed = {}
    for name, private_counter in private_counts.items():
        private_values = sorted(private_counter)
        private_units = np.array([private_counter[value] for value in private_values], dtype=np.int64)
        noisy = primitives.noisy(private_units * planned.units_per_row, step=TEXTS, block=name)
        passed[name] = tuple(np.array(private_values, dtype=object)[noisy > planned.threshold].tolist())
    return passed
