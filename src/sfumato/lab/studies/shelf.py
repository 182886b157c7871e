"""All studies, by name."""

from collections.abc import Mapping

from sfumato.lab.studies.local_iic.local_study import LocalStudy
from sfumato.lab.studies.task import Study
from sfumato.lab.studies.thesis.thesis_study import ThesisStudy

STUDIES: Mapping[str, Study] = {study.name: study for study in (ThesisStudy(), LocalStudy())}
