"""An event tree taken apart into what composes in the same way: one Gaussian, sampled leaves, failures."""

import json
from dataclasses import dataclass

import dp_accounting
from dp_accounting import dp_event

from sfumato.errors import AccountingError
from sfumato.public.accounting.events import RELATIONS, EpsilonDeltaDpEvent, event_to_json


@dataclass(frozen=True)
class Leaves:
    """Plain Gaussians as the sum of their 1/z^2: they compose exactly, in any adaptive order, into one of this mu squared.

    `sampled` are the sampled Gaussians and mixtures, each with the number of its uses; `failure` and `pure_epsilon` the sums
    over all (epsilon, delta) steps; `non_private` says whether some step gives no privacy at all.
    """

    mu_squared: float
    sampled: tuple[tuple[dp_event.DpEvent, int], ...]
    failure: float
    pure_epsilon: float
    non_private: bool

    @property
    def uses(self) -> int:
        """Number of sampled releases in all."""
        return sum(count for _, count in self.sampled)


def flatten(event: dp_event.DpEvent, *, relation: str) -> Leaves:
    """Takes a tree apart, combines all plain Gaussians into one, which is exact, and merges equal sampled leaves.

    An event that has no meaning under the relation, or that samples something else than Gaussians, is refused.
    """
    if relation not in RELATIONS:
        raise AccountingError(f"relation {relation!r} is unknown. Give one of {', '.join(RELATIONS)}.")
    event_to_json(event)  # refuses unknown events and parameters out of range
    mu_squared, failure, pure_epsilon, non_private = 0.0, 0.0, 0.0, False
    sampled: dict[str, tuple[dp_event.DpEvent, int]] = {}
    stack: list[tuple[dp_event.DpEvent, int]] = [(event, 1)]
    while stack:
        node, count = stack.pop()
        if isinstance(node, dp_event.SelfComposedDpEvent):
            stack.append((node.event, count * int(node.count)))
        elif isinstance(node, dp_event.ComposedDpEvent):
            stack.extend((child, count) for child in node.events)
        elif isinstance(node, EpsilonDeltaDpEvent):
            failure += count * node.delta
            pure_epsilon += count * node.epsilon
        else:
            leaf = _leaf(node, relation=relation)
            if leaf is None:
                non_private = True
            elif isinstance(leaf, float):
                mu_squared += count * leaf
            else:
                key = json.dumps(event_to_json(leaf))
                sampled[key] = (leaf, count + sampled.get(key, (leaf, 0))[1])
    ordered = tuple(sampled[key] for key in sorted(sampled))
    return Leaves(mu_squared, ordered, failure, pure_epsilon, non_private)


def _leaf(event: dp_event.DpEvent, *, relation: str) -> dp_event.DpEvent | float | None:
    """A sampled leaf in normal form, or the mu^2 of a plain Gaussian, or None if it hides nothing."""
    if isinstance(event, dp_event.NonPrivateDpEvent):
        return None
    if isinstance(event, dp_event.GaussianDpEvent):
        return float(event.noise_multiplier) ** -2 if event.noise_multiplier > 0 else None
    if isinstance(event, dp_event.MixtureOfGaussiansDpEvent):
        if relation != "add_or_remove":
            raise AccountingError("mixture_of_gaussians is defined for add_or_remove only. State it.")
        if not any(c > 0 for c in event.sensitivities):
            return 0.0
        return event if event.standard_deviation > 0 else None
    # One draw may be released several times with fresh noise: on that draw the Gaussians combine exactly.
    inner = flatten(event.event, relation=relation)
    if inner.sampled or inner.failure or inner.pure_epsilon:
        raise AccountingError("a sampled event must hold Gaussian noise only. Sample once, and not twice.")
    if inner.non_private:
        return None
    if not inner.mu_squared:
        return 0.0
    gaussian = dp_accounting.GaussianDpEvent(inner.mu_squared**-0.5)
    if isinstance(event, dp_event.PoissonSampledDpEvent):
        if event.sampling_probability == 0:
            return 0.0
        if event.sampling_probability == 1:
            # Under replace-one the multiplier is relative to the norm, and two rows are two norms apart.
            return float(inner.mu_squared) * (4.0 if relation == "replace_one" else 1.0)
        return dp_accounting.PoissonSampledDpEvent(float(event.sampling_probability), gaussian)
    if relation != "replace_one":
        raise AccountingError(
            "sampled_without_replacement is defined for replace_one only (the row count is public). "
            "State replace_one, or sample by poisson."
        )
    if event.sample_size == event.source_dataset_size:
        return inner.mu_squared
    return dp_accounting.SampledWithoutReplacementDpEvent(
        int(event.source_dataset_size), int(event.sample_size), gaussian
    )
