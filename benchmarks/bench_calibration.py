"""How long it takes to find the noise of one plan: T = 10000 Poisson mixtures, q = 256/60000, epsilon 1, delta 1/60000.

Ours starts with an empty cache each time. `dp_accounting` and Opacus get the bracket and the tolerance that a careful
user would give them; the noise multipliers say how tight each result is (smaller is better, as long as it is true).
Opacus' RDP is a looser bound, and the price of its speed is noise.
"""

import logging
import warnings

import dp_accounting as dpa
from dp_accounting.pld import PLDAccountant
from timing import best_seconds, report

from sfumato.public.accounting import accountant, calibrate, epsilon_of

EPSILON, DELTA = 1.0, 1 / 60_000
RATE, MIXTURES = 256 / 60_000, 10_000
BRACKET = (0.5, 8.0)
ROUNDS = 3


def event(noise_multiplier: float) -> dpa.DpEvent:
    step = dpa.PoissonSampledDpEvent(RATE, dpa.GaussianDpEvent(noise_multiplier))
    return dpa.SelfComposedDpEvent(step, MIXTURES)


def ours() -> float:
    accountant._calibrated.clear()
    return calibrate(event, epsilon=EPSILON, delta=DELTA, relation="add_or_remove")


def dp_accounting_pld() -> float:
    return dpa.calibrate_dp_mechanism(
        PLDAccountant, event, EPSILON, DELTA, bracket_interval=dpa.ExplicitBracketInterval(*BRACKET), tol=1e-3
    )


def opacus(kind: str) -> float:
    from opacus.accountants.utils import get_noise_multiplier

    return get_noise_multiplier(
        target_epsilon=EPSILON,
        target_delta=DELTA,
        sample_rate=RATE,
        steps=MIXTURES,
        accountant=kind,
        epsilon_tolerance=1e-3,
    )


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    tools = {
        "ours": ours,
        "dp_accounting_pld": dp_accounting_pld,
        "opacus_prv": lambda: opacus("prv"),
        "opacus_rdp": lambda: opacus("rdp"),
    }
    multipliers = {name: tool() for name, tool in tools.items()}  # also the warm-up
    seconds = best_seconds(tools, rounds=ROUNDS)
    spent = {
        name: epsilon_of(event(noise), delta=DELTA, relation="add_or_remove").epsilon
        for name, noise in multipliers.items()
    }
    report(
        {
            "benchmark": "calibration",
            "epsilon": EPSILON,
            "delta": DELTA,
            "seconds": seconds,
            "noise_multiplier": multipliers,
            "epsilon_spent_by_our_accountant": spent,
            "seconds_over_ours": {name: seconds[name] / seconds["ours"] for name in tools if name != "ours"},
            "noise_over_ours": {name: multipliers[name] / multipliers["ours"] for name in tools if name != "ours"},
            "targets": {"seconds.ours": "< 5"},
        }
    )


if __name__ == "__main__":
    main()
