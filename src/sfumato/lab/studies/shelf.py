"""All studies, by name."""

from collections.abc import Mapping

from sfumato.lab.studies.autoencoder.autoencoder_study import AutoencoderStudy
from sfumato.lab.studies.common.study import Study
from sfumato.lab.studies.local_iic.local_study import LocalStudy
from sfumato.lab.studies.opacus_report.opacus_study import OpacusStudy
from sfumato.lab.studies.thesis.thesis_study import ThesisStudy
from sfumato.lab.studies.threea.threea_study import ThreeAStudy

STUDIES: Mapping[str, Study] = {
    study.name: study for study in (ThesisStudy(), OpacusStudy(), AutoencoderStudy(), ThreeAStudy(), LocalStudy())
}
