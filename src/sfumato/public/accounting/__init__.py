"""What a mechanism costs: events, tight accountants, calibration, and the published formulas beside them."""

from sfumato.public.accounting.accountant import Spent, calibrate, epsilon_of
from sfumato.public.accounting.cluster_size import least_cluster_size, rows_within
from sfumato.public.accounting.dpmix import (
    dpmix_epsilons,
    fresh_subset_epsilon,
    published_dpmix_epsilon,
    renoised_subset_epsilon,
)
from sfumato.public.accounting.events import RELATIONS, EpsilonDeltaDpEvent, event_from_json, event_to_json
from sfumato.public.accounting.gdp import delta_of_mu, epsilon_of_mu, mu_of_budget
from sfumato.public.accounting.pld import pld_epsilon, without_replacement_pld
from sfumato.public.accounting.rdp import rdp_epsilon

__all__ = ["RELATIONS", "EpsilonDeltaDpEvent", "Spent", "calibrate", "epsilon_of", "event_from_json", "event_to_json"]
__all__ += ["delta_of_mu", "epsilon_of_mu", "mu_of_budget", "pld_epsilon", "rdp_epsilon", "without_replacement_pld"]
__all__ += ["dpmix_epsilons", "fresh_subset_epsilon", "published_dpmix_epsilon", "renoised_subset_epsilon"]
__all__ += ["least_cluster_size", "rows_within"]
