"""A rule for the classes of a table: one weight for every bin of every column, learned from the doors' answers.

Of the stages of `3a-table` it needs a few.
"""

from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.layout import BinCodes, Layout, added
from sfumato.mechanisms.common.logistic import of_all_classes, probabilities
from sfumato.mechanisms.common.prepared import bins_and_labels
from sfumato.mechanisms.learners.progress import SHARE, Look, Watched, look_at, progress_step
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.mechanisms.table.measure_classes import ClassStage
from sfumato.mechanisms.table.measure_columns import ColumnStage
from sfumato.mechanisms.table.measure_joint import JointStage
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.mechanisms.table.target.classifier import GeneratorRule
from sfumato.mechanisms.table.target.correction import Ask, FullestBins, no_corrections, rate_corrections
from sfumato.model import Weights
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch

#: Bins, what classes and correlations say of them (a first rule, and rows that stand for private ones), and gradients.
_STAGES = ("coarse", "fine", "classes", "moments", "teacher")


class RulePlan(TablePlan):
    """Bins and gradients, and nothing that only rows would need; what that frees goes to the gradients."""

    @property
    def has_trees(self) -> bool:
        """No: one weight for every bin, and nothing besides."""
        return False

    @property
    def codes_block(self) -> None:
        """None: a rule of bins has nothing to say of categories that share one."""
        return None

    def shares(self) -> dict[str, float]:
        """As for rows, but for what is left out."""
        of_rows = super().shares()
        kept = {stage: share for stage, share in of_rows.items() if stage in _STAGES}
        last = "teacher" if "teacher" in kept else "classes"
        return {**kept, last: kept[last] + sum(of_rows.values()) - sum(kept.values())}

    def steps(self) -> tuple[Step, ...]:
        """The stages, and a look at how it goes."""
        steps = super().steps()
        looks = self.gradients + 1 if any(step.name == "teacher" for step in steps) else 1
        share = SHARE * sum(step.share for step in steps) / self.schema.unit.max_rows
        return (*steps, progress_step(looks=looks, share=share))


@dataclass(frozen=True, kw_only=True)
class BinnedRule(Watched):
    """Bins of every column, and weights of each class at each of them (of the second, where there are two)."""

    features: tuple[Feature, ...] = field(repr=False)
    bin_of: tuple[Integers, ...] = field(repr=False)
    rule: Floats = field(repr=False)
    joined: Flags = field(repr=False)

    @property
    def weights(self) -> Weights:
        """Which groups of columns were joined to one, the bin of each cell of each column, and the weights of bins."""
        cells = {f"column.{at}.bin_of_cell": bin_of for at, bin_of in enumerate(self.bin_of)}
        return {"joined": self.joined, **cells, "weights": self.rule}

    def probabilities(self, batch: Batch) -> Floats:
        """Of every class, for each row."""
        cells = zip(self.bin_of, self.features, strict=True)
        rows = np.stack([bin_of[feature.code(batch)] for bin_of, feature in cells], axis=1)
        layout = Layout(tuple(int(bin_of.max()) + 1 for bin_of in self.bin_of))
        return of_all_classes(probabilities(added(self.rule, BinCodes(layout).codes(rows))))


def binned_rule_from(weights: Weights, plan: RulePlan) -> BinnedRule:
    """The rule of a file of weights."""
    joined = np.asarray(weights["joined"], dtype=np.bool_)
    groups = [group for group, is_one in zip(plan.groups, joined, strict=True) if is_one]
    features = plan.features(groups, bend=plan.evidence.bend)
    bin_of = tuple(weights[f"column.{at}.bin_of_cell"] for at in range(len(features)))
    return BinnedRule(features=features, bin_of=bin_of, rule=weights["weights"], joined=joined)


def learn_binned_rule(plan: RulePlan, view: Doors) -> BinnedRule:
    """Bins, a population that agrees with what is known of them, its rule, and the rule's corrections by gradients."""
    binned = ColumnStage(plan, view).run()
    tables = JointStage(plan, view)
    generator = tables.run(binned)
    stage = _WatchedStage(plan, view, [])
    rule = stage.rule(generator, with_trees=False)
    if rule is None:  # by noisy counts there is one class: rates are all there is to know
        weights = np.zeros((plan.n_sets, sum(binned.sizes) + 1))
        weights[:, -1] = rate_corrections(generator.rates)
    elif plan.has("teacher") and tables.rare(binned) is None:
        start = no_corrections(rate_corrections(generator.rate_ratios), plan.settings.target, width=rule.bins.width)
        weights = rule.additive + stage.corrections(generator, rule, start, {})[:, :-1]
    else:
        weights = rule.additive.copy()
        weights[:, -1] += rate_corrections(generator.rate_ratios)
    found = {feature.group.members for feature in binned.features if feature.group is not None and not feature.declared}
    joined = np.array([group in found for group in plan.groups], dtype=np.bool_)
    stage.look(BinCodes(Layout(binned.sizes)), weights)
    bin_of = tuple(binning.bin_of for binning in binned.binnings)
    return BinnedRule(features=binned.features, bin_of=bin_of, rule=weights, joined=joined, looks=tuple(stage.looks))


@dataclass(frozen=True)
class _WatchedStage(ClassStage):
    """Asks for gradients, and looks before each of them how the rule does on the training rows."""

    looks: list[Look]

    def asking(self, rule: GeneratorRule, n_sets: int, fullest: FullestBins) -> Ask:
        """As without looking, after a look."""
        ask = super().asking(rule, n_sets, fullest)

        def watched(corrections: Floats) -> tuple[Measured, Measured, Measured]:
            self.look(rule.bins, rule.additive + corrections[:, :-1])
            return ask(corrections)

        return watched

    def look(self, bins: BinCodes, weights: Floats) -> None:
        """How many of the training rows are right."""

        def judge(batch: Batch) -> tuple[Floats, Integers]:
            rows, labels = bins_and_labels(batch)
            return of_all_classes(probabilities(added(weights, bins.codes(rows)))), labels

        self.looks.append(look_at(self.view, judge))
