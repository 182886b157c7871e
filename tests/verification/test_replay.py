"""The replay against the accountant, closed forms and wrong certificates."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import AccountingError
from sfumato.public.accounting import epsilon_of, epsilon_of_mu, event_from_json
from sfumato.public.accounting.pld import without_replacement_deltas
from sfumato.verification import replay, replay_pld
from sfumato.verification.replay import replay_epsilon
from sfumato.verification.replay_pld import Pair, _curve, _half, composed_epsilon

ADD, REPLACE = "add_or_remove", "replace_one"


def gaussian(z):
    return {"event": "gaussian", "noise_multiplier": z}


def times(count, inner):
    return {"event": "self_composed", "count": count, "inner": inner}


def poisson(q, z, count):
    return times(count, {"event": "poisson_sampled", "sampling_probability": q, "inner": gaussian(z)})


def fixed_size(n, size, z, count):
    sample = {"source_dataset_size": n, "sample_size": size, "inner": gaussian(z)}
    return times(count, {"event": "sampled_without_replacement", **sample})


def mixture(deviation, sensitivities, probs, count):
    fields = {"standard_deviation": deviation, "sensitivities": sensitivities, "sampling_probs": probs}
    return times(count, {"event": "mixture_of_gaussians", **fields})


def composed(*events):
    return {"event": "composed", "events": list(events)}


FAILURE = {"event": "epsilon_delta", "epsilon": 0.0, "delta": 1e-7}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "delta", "relation"),
    [
        (composed(gaussian(3.0), times(7, gaussian(9.0))), 1e-6, ADD),
        (poisson(256 / 60000, 1.706, 10000), 1 / 60000, ADD),
        (poisson(256 / 60000, 0.65, 10000), 1 / 60000, ADD),
        (poisson(0.01, 1.2, 300), 1e-6, REPLACE),
        (poisson(0.3, 2.0, 3), 1e-5, ADD),
        (fixed_size(60000, 256, 0.6492, 10000), 1.6667e-5, REPLACE),
        (fixed_size(6000, 128, 3.2, 1200), 1 / 60000, REPLACE),
        (mixture(2.0, [0.0, 1.0, 2.0], [0.9801, 0.0198, 0.0001], 100), 1e-6, ADD),
        (composed(gaussian(5.0), poisson(0.01, 1.5, 300), poisson(0.004, 0.9, 100), FAILURE), 1e-6, ADD),
        (poisson(1e-3, 97.0, 60000), 1e-5, ADD),
    ],
)
def test_agrees_with_the_accountant(event, delta, relation):
    claimed = epsilon_of(event_from_json(event), delta=delta, relation=relation).epsilon
    again = replay_epsilon(event, delta=delta, relation=relation)
    assert again == pytest.approx(claimed, rel=2e-3)


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9, 1e-12])
@pytest.mark.parametrize(("mu", "count"), [(0.02, 100), (0.004, 60000), (0.5, 40)])
def test_never_below_a_known_answer(mu, count, delta):
    # A mixture of one Gaussian goes through the grid, but its composition has a closed form.
    ours = replay_epsilon(mixture(1 / mu, [1.0], [1.0], count), delta=delta, relation=ADD)
    exact = epsilon_of_mu(mu * math.sqrt(count), delta=delta)
    assert exact * (1 - 1e-9) <= ours <= exact * 1.002


@pytest.mark.parametrize("z", [0.4, 1.0, 5.0])
def test_curves_are_exact_in_both_directions(z):
    q, epsilons = 0.01, np.linspace(0, 3, 61)
    pair = Pair(((0.0, 1 - q), (1 / z, q)), ((0.0, 1.0),))
    exact = without_replacement_deltas(epsilons, sampling_probability=q, noise_multiplier=z)
    assert _curve(pair, epsilons) == pytest.approx(exact, rel=1e-9, abs=1e-16)
    # Adding a row: the loss stays below -log(1 - q), and the curve ends there.
    backward = _curve(pair.reverse(), epsilons)
    assert backward[0] == pytest.approx(exact[0], rel=1e-9)
    assert np.all(backward[epsilons > -math.log(1 - q)] == 0)


def test_the_grid_lies_above_the_curve():
    q, z, width = 0.02, 0.7, 0.03
    pair = Pair(((0.0, 1 - q), (1 / z, q)), ((0.0, 1.0),), mirrored=True)
    masses, infinite = _half(pair, width=width, mass=1e-15)
    losses = width * np.arange(1, masses.size + 1)
    epsilons = np.linspace(0.0, 4, 401)
    grid = infinite + np.array([np.sum(masses * np.maximum(0, -np.expm1(e - losses))) for e in epsilons])
    exact = without_replacement_deltas(epsilons, sampling_probability=q, noise_multiplier=z)
    assert np.all(grid >= exact * (1 - 1e-9))


def test_twin_of_one_direction_is_told_apart():
    q, z = 0.3, 1.0
    pair = Pair(((0.0, 1 - q), (1 / z, q)), ((0.0, 1.0),))
    both = replay_epsilon(poisson(q, z, 30), delta=1e-5, relation=ADD)
    remove, add = (composed_epsilon([(p, 30)], delta=1e-5) for p in (pair, pair.reverse()))
    assert both == max(remove, add)
    assert min(remove, add) < 0.9 * both


@pytest.mark.slow
def test_twin_of_poisson_for_a_fixed_size_is_told_apart():
    claimed = replay_epsilon(poisson(256 / 60000, 0.6492, 10000), delta=1.6667e-5, relation=ADD)
    assert replay_epsilon(fixed_size(60000, 256, 0.6492, 10000), delta=1.6667e-5, relation=REPLACE) > 1.2 * claimed


def test_twin_with_half_the_noise_is_told_apart():
    honest = replay_epsilon(poisson(0.01, 2.0, 200), delta=1e-5, relation=ADD)
    assert replay_epsilon(poisson(0.01, 1.0, 200), delta=1e-5, relation=ADD) > 1.9 * honest


@pytest.mark.slow
def test_a_rare_but_revealing_sample():
    # Two far modes: almost always nothing, seldom everything.
    event = poisson(1e-5, 0.4, 200)
    claimed = epsilon_of(event_from_json(event), delta=1e-6, relation=ADD).epsilon
    assert replay_epsilon(event, delta=1e-6, relation=ADD) == pytest.approx(claimed, rel=1e-2)


def test_edges():
    assert replay_epsilon({"event": "non_private"}, delta=1e-6, relation=ADD) == math.inf
    assert replay_epsilon(gaussian(0.0), delta=1e-6, relation=ADD) == math.inf
    assert replay_epsilon(poisson(0.0, 1.0, 5), delta=1e-6, relation=ADD) == 0.0
    plain = replay_epsilon(gaussian(2.0), delta=1e-6, relation=REPLACE)
    assert replay_epsilon(poisson(1.0, 4.0, 1), delta=1e-6, relation=REPLACE) == pytest.approx(plain, rel=1e-9)
    # The same draw noised four times is one draw with half the noise.
    again = {"event": "poisson_sampled", "sampling_probability": 0.1, "inner": times(4, gaussian(2.0))}
    assert replay_epsilon(again, delta=1e-6, relation=ADD) == replay_epsilon(
        poisson(0.1, 1.0, 1), delta=1e-6, relation=ADD
    )


@pytest.mark.parametrize(
    ("event", "relation"),
    [
        ({"event": "laplace", "noise_multiplier": 1.0}, ADD),
        ({}, ADD),
        (None, ADD),
        (composed(gaussian(1.0), {"event": "unsupported"}), ADD),
        ({"event": "gaussian"}, ADD),
        (gaussian("1"), ADD),
        (gaussian(-1.0), ADD),
        (gaussian(math.nan), ADD),
        (times(0, gaussian(1.0)), ADD),
        (times(1.5, gaussian(1.0)), ADD),
        (poisson(1.5, 1.0, 2), ADD),
        (poisson(0.5, 1.0, 2) | {"inner": poisson(0.1, 1.0, 1)["inner"] | {"inner": FAILURE}}, ADD),
        (fixed_size(100, 10, 1.0, 2), ADD),
        (fixed_size(10, 100, 1.0, 2), REPLACE),
        (mixture(1.0, [0.0, 1.0], [0.5, 0.5], 2), REPLACE),
        (mixture(1.0, [0.0, 1.0], [0.5, 0.4], 2), ADD),
        (mixture(1.0, [-1.0, 1.0], [0.5, 0.5], 2), ADD),
        (gaussian(1.0), "neighbours"),
        (times(20, FAILURE), ADD),
    ],
)
def test_refuses_what_it_does_not_know(event, relation):
    with pytest.raises(AccountingError):
        replay_epsilon(event, delta=1e-6, relation=relation)


def test_is_independent_of_what_it_checks():
    allowed = {"math", "collections.abc", "dataclasses", "functools", "typing", "numpy", "numpy.typing"}
    allowed |= {"scipy.fft", "scipy.signal", "scipy.special", "sfumato.errors", "sfumato.verification.replay_pld"}
    for module in (replay, replay_pld):
        tree = ast.parse(Path(str(module.__file__)).read_text())
        names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        names |= {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
        assert names <= allowed
