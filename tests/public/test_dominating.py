"""What a release costs a filter, against closed forms and against the second accountant: never below the best, and little above."""

import math
from fractions import Fraction

import dp_accounting as dpa
import numpy as np
import pytest
from dp_accounting import dp_event
from scipy.optimize import brentq
from scipy.stats import norm

from sfumato.errors import AccountingError
from sfumato.public.accounting import EpsilonDeltaDpEvent, delta_of_mu, event_from_json, event_to_json
from sfumato.public.accounting.dominating import gaussian_cost, mu_of_pure
from sfumato.public.accounting.gdp import deltas_of_mu
from sfumato.public.accounting.leaves import flatten
from sfumato.public.accounting.pld import compose, curve_of
from sfumato.verification.replay import replay_epsilon

ADD, REPLACE = "add_or_remove", "replace_one"


def poisson(q, z, count):
    return dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(q, dpa.GaussianDpEvent(z)), count)


def fixed_size(n, size, z, count):
    return dpa.SelfComposedDpEvent(dpa.SampledWithoutReplacementDpEvent(n, size, dpa.GaussianDpEvent(z)), count)


def mixture(deviation, sensitivities, probs, count):
    return dpa.SelfComposedDpEvent(dp_event.MixtureOfGaussiansDpEvent(deviation, sensitivities, probs), count)


def mu_through(epsilon, delta):
    """The mu whose curve goes through a point, by a root finder of another library."""
    return brentq(lambda mu: delta_of_mu(epsilon, mu=mu) - delta, 1e-9, 100.0, xtol=1e-13, rtol=1e-13)


#: benchmarks/ledger_mu.py has more of them, at more points of their curves.
CASES = {"poisson": (poisson(0.05, 1.2, 20), ADD), "fixed size": (fixed_size(1000, 50, 1.5, 20), REPLACE)}


@pytest.mark.parametrize("name", CASES)
def test_sampled_releases_cost_at_most_a_hundredth_above_the_best_and_never_less(name):
    event, relation = CASES[name]
    failure = 1e-8
    cost = gaussian_cost(event, relation=relation, failure=failure)
    # As far as the second accountant sees it, the best is the largest mu through points of the release's own curve.
    deltas = failure * np.array([1.1, 1.5, 4.0, 100.0])
    epsilons = [replay_epsilon(event_to_json(event), delta=float(d), relation=relation) for d in deltas]
    best = max(mu_through(e, float(d) - failure) for e, d in zip(epsilons, deltas, strict=True))
    assert cost.failure == Fraction(failure)
    # The replay lies above the truth by up to 2e-5 of epsilon, and so do these mus: that much is forgiven, and no more.
    assert best * (1 - 4e-5) <= math.sqrt(cost.mu_squared) <= best * 1.01


def test_one_sampled_step_is_never_below_its_exact_curve():
    q, z, failure = 0.1, 1.0, 1e-7
    mu = math.sqrt(gaussian_cost(poisson(q, z, 1), relation=ADD, failure=failure).mu_squared)

    def exact(
        epsilon,
    ):  # both orders of (1 - q) N(0, 1) + q N(1/z, 1) against N(0, 1), by where the losses reach epsilon
        shift = 1 / z
        up = (math.log((math.exp(epsilon) - 1 + q) / q) + shift**2 / 2) / shift
        found = [q * norm.sf(up - shift) + (1 - q) * norm.sf(up) - math.exp(epsilon) * norm.sf(up)]
        if math.exp(-epsilon) > 1 - q:
            down = (math.log((math.exp(-epsilon) - 1 + q) / q) + shift**2 / 2) / shift
            found.append(norm.cdf(down) - math.exp(epsilon) * ((1 - q) * norm.cdf(down) + q * norm.cdf(down - shift)))
        return max(found)

    epsilons = np.linspace(0.001, 6, 800)
    own = np.array([exact(e) for e in epsilons])
    assert np.all(deltas_of_mu(epsilons, mu=mu) + failure >= own)
    # The twin that takes off a thousandth is below it.
    assert np.any(deltas_of_mu(epsilons, mu=mu * 0.999) + failure < own)


def test_no_mu_below_the_unsampled_one_holds_without_a_failure():
    cost = gaussian_cost(poisson(0.01, 2.0, 25), relation=ADD)
    assert cost.failure == 0
    assert math.isclose(cost.mu_squared, 25 / 4, rel_tol=1e-9)
    assert cost.mu_squared >= Fraction(25, 4)
    replaced = gaussian_cost(poisson(0.01, 2.0, 25), relation=REPLACE)
    assert replaced.mu_squared >= 25  # two rows are two norms apart
    assert gaussian_cost(mixture(2.0, [0.0, 1.0, 3.0], [0.9, 0.05, 0.05], 4), relation=ADD).mu_squared >= 9


def test_plain_sums_are_exact_and_rounded_up():
    event = dpa.ComposedDpEvent([dpa.GaussianDpEvent(2.0), dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(4.0), 3)])
    cost = gaussian_cost(event, relation=REPLACE)
    exact = Fraction(1, 4) + Fraction(3, 16)
    assert exact <= cost.mu_squared <= exact * (1 + Fraction(1, 2**35))
    assert cost.failure == 0


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 30.0, 400.0, 800.0])
def test_pure_steps_have_the_least_mu(epsilon):
    mu = mu_of_pure(epsilon)
    for at in (0.0, epsilon / 4, epsilon / 2, epsilon * 0.9, epsilon):
        # The curve of randomised response at e^at: (e^epsilon - e^at) / (1 + e^epsilon).
        own = -math.expm1(at - epsilon) / (1 + math.exp(-epsilon))
        assert delta_of_mu(at, mu=mu) >= own * (1 - 1e-9)
    if epsilon <= 400:
        assert delta_of_mu(0.0, mu=mu * 0.999) < -math.expm1(-epsilon) / (1 + math.exp(-epsilon)) or epsilon > 20


def test_pure_steps_are_converted_one_by_one():
    two = dpa.ComposedDpEvent([EpsilonDeltaDpEvent(0.5, 0.0), EpsilonDeltaDpEvent(0.5, 0.0)])
    assert gaussian_cost(two, relation=ADD).mu_squared == 2 * Fraction(mu_of_pure(0.5)) ** 2
    assert gaussian_cost(two, relation=ADD).mu_squared < Fraction(mu_of_pure(1.0)) ** 2


def test_failures_add_up():
    event = dpa.ComposedDpEvent(
        [dpa.GaussianDpEvent(3.0), EpsilonDeltaDpEvent(0.0, 1e-7), EpsilonDeltaDpEvent(0.0, 2e-7)]
    )
    cost = gaussian_cost(event, relation=ADD)
    assert cost.failure > Fraction(1e-7) + Fraction(2e-7)
    assert math.isclose(cost.failure, 3e-7, rel_tol=1e-6)


def test_what_has_no_mu_is_refused():
    with pytest.raises(AccountingError, match="not private"):
        gaussian_cost(dpa.NonPrivateDpEvent(), relation=ADD)
    with pytest.raises(AccountingError, match="probability 1"):
        gaussian_cost(EpsilonDeltaDpEvent(0.0, 1.0), relation=ADD)
    with pytest.raises(AccountingError, match="noise_multiplier is nan"):
        gaussian_cost(event_from_json({"event": "gaussian", "noise_multiplier": math.nan}), relation=ADD)


def test_the_curve_of_many_epsilons_is_that_of_each():
    composed = compose(flatten(poisson(0.1, 1.5, 10), relation=ADD), relation=ADD)
    epsilons = np.array([0.0, 0.01, 0.3, 1.0, 2.5])
    slow = [float(composed.get_delta_for_epsilon(float(e))) for e in epsilons]
    np.testing.assert_allclose(curve_of(composed, epsilons), slow, rtol=1e-9, atol=1e-16)
