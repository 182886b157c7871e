"""The mechanisms that come with the package. Importing this registers them."""

from sfumato.mechanisms.clustmix.mechanism import ClustMix
from sfumato.mechanisms.dpmix import DPMix
from sfumato.mechanisms.histograms import IndependentHistograms
from sfumato.mechanisms.image.mechanism import ThreeAImage
from sfumato.mechanisms.kip.dp_kip import DPKip
from sfumato.mechanisms.kip.kip import Kip
from sfumato.mechanisms.local.dp_pro import DPPro
from sfumato.mechanisms.local.local_reports import LocalReports
from sfumato.mechanisms.marginals.aim import Aim
from sfumato.mechanisms.marginals.mst import Mst
from sfumato.mechanisms.marginals.privbayes import PrivBayes
from sfumato.mechanisms.table.mechanism import ThreeATable

__all__ = [
    "Aim",
    "ClustMix",
    "DPKip",
    "DPMix",
    "DPPro",
    "IndependentHistograms",
    "Kip",
    "LocalReports",
    "Mst",
    "PrivBayes",
    "ThreeAImage",
    "ThreeATable",
]
