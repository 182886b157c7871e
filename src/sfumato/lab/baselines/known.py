"""Baselines by name. They stand in no registry of mechanisms."""

from sfumato.lab.baselines.ads_gan import AdsGan
from sfumato.lab.baselines.baseline import Baseline

KNOWN: dict[str, type[Baseline]] = {AdsGan.name: AdsGan}


def baseline_for(name: str) -> Baseline:
    """A baseline with its default settings; its name is one of `sfumato.public.certificate.non_private.BASELINES`."""
    return KNOWN[name]()
