"""All settings of the table method together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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

    def without(self, stage: str) -> "TableSettings":
        """The same with one stage left out, for ablations; its share goes to the others. `ABLATIONS` names the stages."""
        changed = self
        for place, value in ABLATIONS[stage].items():
            changed = _with(changed, place.split("."), value)
        return changed


def _with(group: Any, place: Sequence[str], value: object) -> Any:
    """A group of settings with another value at a place within it."""
    name, *inner = place
    return replace(group, **{name: _with(getattr(group, name), inner, value) if inner else value})


def _shares(*stages: str) -> dict[str, object]:
    """No share for some stages."""
    return {f"budget.shares.{stage}": (0.0, 0.0, 0.0) for stage in stages}


#: What leaves a stage out. Stages that say nothing without another go with it.
ABLATIONS: Mapping[str, Mapping[str, object]] = {
    "grid turning": {"columns.turns_grids": False},
    "density shapes": {"columns.uses_shapes": False},
    "point masses": _shares("spikes"),
    "round values": {"columns.rounds_values": False},
    "differences": {"sizes.compares_columns": False},
    "codes": {"sizes.counts_codes": False},
    "lengthened ratios": {"joint.lengthens_ratios": False},
    "recount of a rare class": {"joint.recounts_rare": False},
    "tilts of scarce classes": {"joint.tilts_scarce": False},
    "moments": _shares("moments"),
    "pairs": _shares("pairs", "contrasts", "links"),
    "contrasts": _shares("contrasts"),
    "links": _shares("links"),
    "triples": _shares("triples", "cubes"),
    "whole tables": {"sizes.counts_whole": False},
    "rules": {"sizes.counts_rules": False},
    "trees": {"target.trees": False},
    "corrections": {"target.corrections": False},
    "corrections of columns": {"target.corrects_columns": False},
    "correction of all columns": {"target.corrects_all": False},
    "sizes of corrections by column": {"target.sizes_by_column": False},
    "size of a number's errors": {"target.scales_errors": False},
    "steeper scores of a rare class": {"target.steepens_rare": False},
    "balanced sampling": {"sampling.balances_rows": False},
    "balanced pairs": {"sampling.balances_pairs": False},
    "exchanged errors": {"sampling.exchanges_errors": False},
}
