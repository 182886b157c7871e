"""The mechanisms that come with the package. Importing this registers them."""

from sfumato.mechanisms.clustmix import ClustMix
from sfumato.mechanisms.dp_kip import DPKip
from sfumato.mechanisms.dpmix import DPMix
from sfumato.mechanisms.histograms import IndependentHistograms
from sfumato.mechanisms.image import ThreeAImage
from sfumato.mechanisms.kip import Kip
from sfumato.mechanisms.table import ThreeATable

__all__ = ["ClustMix", "DPKip", "DPMix", "IndependentHistograms", "Kip", "ThreeAImage", "ThreeATable"]
