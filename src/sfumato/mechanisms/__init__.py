"""The mechanisms that come with the package. Importing this registers them."""

from sfumato.mechanisms.generators.gan.mechanism import DPGan
from sfumato.mechanisms.generators.gan.pate_gan import PateGan
from sfumato.mechanisms.generators.merf.mechanism import DPMerf
from sfumato.mechanisms.histories.mechanism import ThreeATables
from sfumato.mechanisms.image.mechanism import ThreeAImage
from sfumato.mechanisms.kernels.dp_kip import DPKip
from sfumato.mechanisms.kernels.kip import Kip
from sfumato.mechanisms.latent.dp_syn import DPSyn
from sfumato.mechanisms.latent.p3gm import P3GM
from sfumato.mechanisms.learners.cnn import Cnn
from sfumato.mechanisms.learners.logistic import Logistic
from sfumato.mechanisms.learners.scattering import Scattering
from sfumato.mechanisms.local.dp_pro import DPPro
from sfumato.mechanisms.local.local_reports import LocalReports
from sfumato.mechanisms.marginals.aim import Aim
from sfumato.mechanisms.marginals.histograms import IndependentHistograms
from sfumato.mechanisms.marginals.mst import Mst
from sfumato.mechanisms.marginals.privbayes import PrivBayes
from sfumato.mechanisms.mixing.clustmix.mechanism import ClustMix
from sfumato.mechanisms.mixing.dpmix import DPMix
from sfumato.mechanisms.moments.mechanism import Moments
from sfumato.mechanisms.table.mechanism import ThreeATable

__all__ = ["Cnn", "Logistic", "Moments", "Scattering", "ThreeAImage", "ThreeATable", "ThreeATables"]
__all__ += ["P3GM", "ClustMix", "DPGan", "DPKip", "DPMerf", "DPMix", "DPPro", "DPSyn", "Kip", "LocalReports", "PateGan"]
__all__ += ["Aim", "IndependentHistograms", "Mst", "PrivBayes"]
