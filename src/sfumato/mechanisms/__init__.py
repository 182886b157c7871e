"""The mechanisms that come with the package. Each is imported when it is first asked for, and then registers itself."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

#: By the name that it is registered by, the module and the class of each: all of them would take most of a second.
PLACES = {
    "3a-image": ("image.mechanism", "ThreeAImage"),
    "3a-table": ("table.mechanism", "ThreeATable"),
    "3a-tables": ("histories.mechanism", "ThreeATables"),
    "aim": ("marginals.aim", "Aim"),
    "clustmix": ("mixing.clustmix.mechanism", "ClustMix"),
    "cnn": ("learners.cnn", "Cnn"),
    "dp-gan": ("generators.gan.mechanism", "DPGan"),
    "dp-kip": ("kernels.dp_kip", "DPKip"),
    "dp-merf": ("generators.merf.mechanism", "DPMerf"),
    "dp-pro": ("local.dp_pro", "DPPro"),
    "dp-syn": ("latent.dp_syn", "DPSyn"),
    "dpmix": ("mixing.dpmix", "DPMix"),
    "independent-histograms": ("marginals.histograms", "IndependentHistograms"),
    "kip": ("kernels.kip", "Kip"),
    "local-reports": ("local.local_reports", "LocalReports"),
    "logistic": ("learners.logistic", "Logistic"),
    "moments": ("moments.mechanism", "Moments"),
    "mst": ("marginals.mst", "Mst"),
    "p3gm": ("latent.p3gm", "P3GM"),
    "pate-gan": ("generators.gan.pate_gan", "PateGan"),
    "privbayes": ("marginals.privbayes", "PrivBayes"),
    "scattering": ("learners.scattering", "Scattering"),
}


def load(name: str) -> None:
    """Import the mechanism of that name, where it is one of these."""
    if name in PLACES:
        import_module(f"{__name__}.{PLACES[name][0]}")


def __getattr__(name: str) -> Any:
    """A class when it is first asked for."""
    for module, class_name in PLACES.values():
        if class_name == name:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
