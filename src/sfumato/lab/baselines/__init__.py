"""Baselines that read rows WITHOUT privacy: to compare mechanisms with. They are no mechanisms, and have no epsilon."""

from sfumato.lab.baselines.ads_gan import AdsGan
from sfumato.lab.baselines.baseline import Baseline, FittedBaseline
from sfumato.lab.baselines.writing import baseline_for, release_non_private

__all__ = ["AdsGan", "Baseline", "FittedBaseline", "baseline_for", "release_non_private"]
