"""All settings of the table method together."""

from dataclasses import dataclass, field

from sfumato.mechanisms.table.settings.budget import BudgetSettings, PersonNorms
from sfumato.mechanisms.table.settings.columns import ColumnSettings
from sfumato.mechanisms.table.settings.joint import JointSettings
from sfumato.mechanisms.table.settings.sampling import SamplingSettings
from sfumato.mechanisms.table.settings.sizes import SumSizes
from sfumato.mechanisms.table.settings.target import TargetSettings


@dataclass(frozen=True)
class TableSettings:
    """The first three decide what is asked for, and at which noise; the others only what is made of the answers."""

    budget: BudgetSettings = field(default_factory=BudgetSettings)  #: shares of the stages
    norms: PersonNorms = field(default_factory=PersonNorms)  #: of persons with several rows
    sizes: SumSizes = field(default_factory=SumSizes)  #: of sums
    columns: ColumnSettings = field(default_factory=ColumnSettings)  #: one column at a time
    joint: JointSettings = field(default_factory=JointSettings)  #: columns and classes together
    target: TargetSettings = field(default_factory=TargetSettings)  #: the target given the other columns
    sampling: SamplingSettings = field(default_factory=SamplingSettings)  #: rows that are drawn
