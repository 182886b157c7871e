"""What is public before any row is read: the stages of a table, the sizes of their sums, and what each gets of the budget."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.common.logistic import error_bound
from sfumato.mechanisms.table.budget_split import Evidence, evidence_of
from sfumato.mechanisms.table.columns.differences import comparable, most_compared, widest
from sfumato.mechanisms.table.columns.features import Feature, candidate_groups, features_of
from sfumato.mechanisms.table.columns.point_masses import zoom_width
from sfumato.mechanisms.table.columns.rules import counted_shape, rule_blocks, rule_share, worth_counting
from sfumato.mechanisms.table.joint.ordering import category_levels, most_levels
from sfumato.mechanisms.table.joint.pairs import all_pairs
from sfumato.mechanisms.table.joint.whole_groups import WholeGroups, groups_to_count
from sfumato.mechanisms.table.number_plan import NumberPlan
from sfumato.mechanisms.table.person_norms import planned
from sfumato.mechanisms.table.settings.budget import PersonNorms
from sfumato.mechanisms.table.settings.sizes import SumSizes
from sfumato.mechanisms.table.settings.table import TableSettings
from sfumato.public.budget import Budget
from sfumato.public.plan.block import Block, Choice, Dense, Hot, Outer
from sfumato.public.plan.step import Step
from sfumato.public.schema.following import Following, followings
from sfumato.public.schema.schema import Schema

#: What the first stages give to a number as target, which has a block of its own there under this name.
TARGET = "target"


@dataclass(frozen=True)
class TablePlan:
    """All that follows from the schema and the budget."""

    schema: Schema
    budget: Budget
    settings: TableSettings = field(default_factory=TableSettings)

    @property
    def sizes(self) -> SumSizes:
        """Bounds on the sizes of sums."""
        return self.settings.sizes

    @cached_property
    def rules(self) -> tuple[Following, ...]:
        """Columns that are a function of others, which is to be counted; where the schema gives it, reasons alone."""
        most = self.sizes.rule_cells * self.sizes.counts_rules
        every = [one for one in followings(self.schema.columns) if math.prod(counted_shape(one)) <= most]
        return worth_counting(every, self.settings.budget, rows=self._visible)

    @property
    def _visible(self) -> float:
        """All rows over the noise of a count that has the whole budget."""
        return self.evidence.rows * self.evidence.mu

    @cached_property
    def groups(self) -> list[tuple[str, ...]]:
        """Candidates for one-hot groups, besides those that are declared."""
        return candidate_groups(self.schema.features, declared=self.schema.groups, smallest=self.sizes.smallest_group)

    @cached_property
    def plain(self) -> tuple[Feature, ...]:
        """The columns as they stand, no group joined but the declared ones: sizes are planned for these."""
        return self.features([], bend=self.evidence.bend)

    @cached_property
    def joined(self) -> tuple[Feature, ...]:
        """The columns if all candidates are groups."""
        return self.features(self.groups, bend=self.evidence.bend)

    def features(self, groups: Sequence[tuple[str, ...]], *, bend: float) -> tuple[Feature, ...]:
        """The columns with declared groups and some candidates joined."""
        return features_of(self.schema.features, groups, self.sizes, bend=bend, declared=self.schema.groups)

    @cached_property
    def target(self) -> Feature | None:
        """The column of the classes."""
        column = self.schema.target_column
        return None if column is None else Feature(Cells(column, self.evidence.bend, n_places=self.sizes.cells))

    @property
    def norms(self) -> PersonNorms:
        """How long the sums of a person's rows may be, stage by stage."""
        norms, target = self.settings.norms, self.schema.target_column
        return norms.of_number() if target is not None and target.is_number else norms

    @cached_property
    def evidence(self) -> Evidence:
        """How much the rows can show."""
        n_columns = len(self.features(self.groups, bend=self.settings.budget.bends[-1]))
        return evidence_of(self.schema, self.budget, self.settings.budget, self.norms, n_columns=n_columns)

    @cached_property
    def comparable(self) -> list[tuple[int, int]]:
        """Pairs of columns that may be nearly equal, by their places."""
        if not (self.sizes.compares_columns and 2 <= self.k <= self.sizes.most_paired):
            return []
        return comparable(self.plain, self.sizes)

    @cached_property
    def _widest(self) -> list[Feature]:
        """Columns that may be taken as differences, each as the one with the most cells."""
        return widest(self.plain, self.comparable) if self.most_compared else []

    @cached_property
    def most_compared(self) -> int:
        """How many of them can be compared at this budget."""
        share = self.settings.budget.differences
        rows, mu = self.evidence.rows, self.evidence.mu
        return most_compared(len(self.comparable), self.sizes, share=share, rows=rows, mu=mu)

    @cached_property
    def n_classes(self) -> int:
        """Classes of a category, or the most levels of a number."""
        if self.target is None:
            return 1
        if self.target.cells.column.is_coded:
            return self.target.cells.count
        fewest, most = self.sizes.target_levels
        levels = int(min(max(self.evidence.rho / self.sizes.rho_per_level, fewest), most))
        return levels + int(self.target.cells.has_missing_cell)

    @property
    def n_sets(self) -> int:
        """Sets of weights of a rule."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def has_rule(self) -> bool:
        """Whether a rule for the classes is learned, on the generator's own rows: not where it has too many weights."""
        if self.number_target:
            return self.n_classes > 1 and self.number.all_parts <= self.sizes.most_effects
        return self.n_classes > 1 and self.k > 0 and self.n_sets * (self.width + 1) <= self.sizes.most_weights

    @property
    def has_trees(self) -> bool:
        """Whether corrections also learn how far to believe the trees."""
        return self.settings.target.trees

    @property
    def gradients(self) -> int:
        """How many gradients are asked for: less often where each answer takes long to think about. The noise is the same."""
        if self.number_target:
            return self.number.looks
        fewest, most = self.sizes.gradients
        return int(min(max(self.sizes.gradient_weights // (self.n_sets * (self.width + 1)), fewest), most))

    def most_bins(self, feature: Feature) -> int:
        """The largest number of bins of a column, the one for missing numbers not counted."""
        sizes = self.sizes
        of_category = max(sizes.category_bins, sizes.bins_by_class // self.evidence.n_classes)
        most = of_category if feature.cells.column.is_coded else sizes.number_bins
        return max(sizes.fewest_bins, min(most, sizes.all_bins // max(len(self.joined), 1)))

    @cached_property
    def width(self) -> int:
        """Bins of all columns, at most."""
        plain = sum(self._bins(feature) for feature in self.plain)
        return max(plain, sum(self._bins(feature) for feature in self.joined))

    def pooled(self, feature: Feature) -> float:
        """How far a column has more categories than bins, from 0 to 1: above 0 each is counted by class."""
        if not feature.cells.column.is_coded:
            return 0.0
        fewest, most = self.sizes.categories_per_bin
        return min(
            max(math.log(feature.cells.count / self.most_bins(feature) / fewest) / math.log(most / fewest), 0.0), 1.0
        )

    @cached_property
    def codes_block(self) -> Hot | None:
        """Counts of every category of long columns by class; None where there is none, or too much of it."""
        # Of persons with several rows gradients have less noise than tables.
        if not self.sizes.counts_codes or self.number_target or self.n_classes < 2 or self.schema.unit.max_rows > 1:
            return None
        long = [[f.cells.count for f in features if self.pooled(f) > 0] for features in (self.plain, self.joined)]
        width = self.n_classes * max(map(sum, long))
        if not 0 < width <= self.sizes.most_numbers:
            return None
        return self._counts("codes", width=width, n_hot=max(map(len, long)))

    def _bins(self, feature: Feature) -> int:
        return min(feature.cells.inner, self.most_bins(feature)) + int(feature.cells.has_missing_cell)

    @property
    def k(self) -> int:
        """Columns but the target, at most."""
        return len(self.plain)

    @cached_property
    def centred(self) -> bool:
        """Whether class tables are centred: less noise for few bins, more work for many rows."""
        return self.evidence.rows * self.width <= self.sizes.most_centred

    @cached_property
    def moments_by_class(self) -> bool:
        """Whether every class has second moments of its own; levels of a number only where that leaves little noise in their sum."""
        if self.number_target:
            share = self._worthwhile.get("moments", 0.0)
            noise = self.settings.joint.score_clip * self.k * math.sqrt(self.n_classes / max(share, 1e-9))
            if noise > self.sizes.moments_noise * self.evidence.rows * self.evidence.mu:
                return False
        return self.n_classes * self.k**2 <= self.sizes.most_numbers

    @property
    def spiky(self) -> tuple[Feature, ...]:
        """Columns that may have single heavy values."""
        every = (*self.plain, *(() if self.target is None else (self.target,)))
        wide = {feature.cells.column.name for feature in self._widest if feature.cells.on_grid}
        return tuple(f for f in every if f.cells.on_grid or f.cells.column.name in wide)

    @cached_property
    def whole(self) -> WholeGroups | None:
        """Columns that are counted whole, with the class; not with a number as target."""
        some = self.settings.budget.whole_of_some
        if self.number_target or not (self.k and self.sizes.counts_whole):
            return None
        rows, mu = self.evidence.rows, self.evidence.mu
        visible = (rows * mu / self.sizes.whole_visible) ** 2 * some
        return groups_to_count(
            self.plain,
            self.sizes,
            n_classes=self.n_classes,
            rows=rows,
            most_of_all=rows * mu,
            most_of_some=visible,
        )

    def steps(self) -> tuple[Step, ...]:
        """Every sum that is asked for."""
        steps, unit, norms, budget = [], self.schema.unit, self.norms, self.settings.budget
        if self.groups:
            group_counts = Hot(name="groups", width=2 * len(self.groups), n_hot=len(self.groups))
            steps.append(planned("groups", unit, norms, group_counts, share=budget.groups))
        if self.most_compared:
            width = self.sizes.difference_scales * self.most_compared
            scales = Hot(name="differences", width=width, n_hot=self.most_compared, weighted=True)
            steps.append(planned("differences", unit, norms, scales, share=budget.differences))
        if unit.max_rows > 1:
            sizes = Hot(name="sizes", width=self.n_classes)
            steps.append(planned("sizes", unit, norms, sizes, share=budget.person_sizes))
        if self.rules:
            share = rule_share(self.rules, budget, rows=self._visible)
            counted = rule_blocks(self.rules, budget, rows=self._visible)
            steps.append(planned("rules", unit, norms, *counted, share=share))
        shares = self.shares()
        uses = {"coarse": self.sizes.coarse_looks, "spikes": self.sizes.zoom_looks, "teacher": self.gradients}
        for name, blocks in self._blocks().items():
            if name == "whole" and self.whole is not None and len(self.whole.candidates) > 1:
                tables = Choice(name="group", widths=self.whole.widths)
                steps.append(Step(name="group", blocks=(tables,), share=budget.whole_choice / unit.max_rows))
            if name in shares and blocks:
                steps.append(planned(name, unit, norms, *blocks, share=shares[name], uses=uses.get(name, 1)))
        return tuple(steps)

    def shares(self) -> dict[str, float]:
        """What each stage gets of the precision; what those had that are left out goes to the others."""
        target = self.settings.target
        left_out = [] if target.corrections else ["teacher"]
        left_out += [] if target.corrections and target.scales_errors else ["residuals"]
        shares = {stage: share for stage, share in self._worthwhile.items() if stage not in left_out}
        if self.whole is not None:
            budget = self.settings.budget
            own = budget.whole_of_all if self.whole.is_all else budget.whole_of_some
            shares["whole"] = own / (1 - own) * sum(shares.values())
        return shares

    @cached_property
    def _worthwhile(self) -> dict[str, float]:
        """The same, with the corrections whether or not they are switched off."""
        pooled = 0.0 if self.codes_block is None else max(map(self.pooled, (*self.plain, *self.joined)))
        return self.evidence.shares(has_target=self.n_classes > 1, pooled=pooled)

    @property
    def is_worth_correcting(self) -> bool:
        """Whether there are rows enough for gradients, and so for trees: switching corrections off leaves the trees."""
        return self.has_rule and "teacher" in self._worthwhile

    @cached_property
    def possible(self) -> frozenset[str]:
        """The stages that these columns allow, whether or not the rows are worth asking for them."""
        return frozenset(self._blocks())

    def has(self, stage: str) -> bool:
        """Whether a stage is planned."""
        return any(step.name == stage for step in self._planned)

    def hot(self, stage: str) -> Hot:
        """The first block of a stage that counts codes."""
        return self.hots(stage)[0]

    def hots(self, stage: str) -> list[Hot]:
        """The blocks of a stage that count codes, which are the first ones."""
        blocks = next(step for step in self._planned if step.name == stage).blocks
        hots = [block for block in blocks if isinstance(block, Hot)]
        if not hots:
            raise TypeError(stage)
        return hots

    @cached_property
    def _planned(self) -> tuple[Step, ...]:
        return self.steps()

    def _blocks(self) -> dict[str, tuple[Block, ...]]:
        """The blocks of every stage that makes sense for these columns; which of them are planned, shares decide."""
        every = [*self.plain, *self.joined, *(() if self.target is None else (self.target,))]
        # Parts of a number, of which zero may split one; with three single values and missing ones.
        coarsest = self.sizes.coarse_parts[1] + 5
        blocks: dict[str, tuple[Block, ...]] = {
            "coarse": self._cells("coarse", lambda c: c.count if c.column.is_coded else min(c.count, coarsest)),
            "fine": self._cells("fine", lambda c: c.count),
        }
        if self.codes_block is not None:
            blocks["codes"] = (self.codes_block,)
        if self.spiky:
            n_spiky = len(self.spiky)
            blocks["spikes"] = (
                Hot(name="spikes", width=zoom_width(n_spiky, self.sizes), n_hot=n_spiky, weighted=True),
            )
        if self.n_classes > 1 and self.k:
            centred = Outer(name="classes", shape=(1, self.width + 1), l2_bound=1.0, groups=self.n_classes)
            counts = self._counts("classes", width=self.n_classes * self.width, n_hot=self.k)
            blocks["classes"] = (centred if self.centred else counts,)
        if self.k >= 2 and self.k**2 <= self.sizes.most_numbers:
            groups = self.n_classes if self.moments_by_class else 1
            blocks["moments"] = (Outer(name="moments", shape=(self.k, self.k), l2_bound=1.0, groups=groups),)
        if 2 <= self.k <= self.sizes.most_paired:
            n_pairs = len(all_pairs(self.k))
            width = self._pair_cells(self.sizes.pair_levels)
            blocks["pairs"] = (self._counts("pairs", width=width, n_hot=n_pairs),)
            if self.n_classes > 1 and not self.number_target:
                blocks["contrasts"] = (Hot(name="contrasts", width=width, n_hot=n_pairs, weighted=True),)
            most = max(self._bins(feature) for feature in every)
            blocks["links"] = (Hot(name="links", width=(self.k - 1) * most**2, n_hot=self.k - 1, weighted=True),)
        if 3 <= self.k <= self.sizes.triple_columns and self.n_classes > 1 and not self.number_target:
            blocks["triples"] = (Outer(name="triples", shape=(len(all_pairs(self.k)), self.k), l2_bound=1.0),)
            most = self.sizes.most_cubes
            cubes = most * 2 * self.sizes.cube_levels**3
            blocks["cubes"] = (Hot(name="cubes", width=cubes, n_hot=most, weighted=True),)
        if self.whole is not None:
            blocks["whole"] = (Hot(name="whole", width=max(self.whole.widths)),)
        if self.has_rule:
            blocks["teacher"] = self.number.blocks() if self.number_target else self._gradient()
            if self.number_target:
                blocks["residuals"] = (self.number.counting("residuals", 1, norm=1.0),)
        return blocks

    def _pair_cells(self, levels: int) -> int:
        """Cells of the tables of all pairs, at most: of so many levels of a column with an order."""
        sizes = [
            [min(self._bins(f), most_levels(f.cells, levels, of_categories=self.category_levels)) for f in features]
            for features in (self.plain, self.joined)
        ]
        return max((sum(some) ** 2 - sum(size**2 for size in some)) // 2 for some in sizes)

    @cached_property
    def category_levels(self) -> int:
        """Levels of categories in the tables of pairs, as many as the counts support."""
        share = self.shares().get("pairs", 0.0) / max(len(all_pairs(self.k)), 1)
        return category_levels(self.evidence.rows * self.evidence.mu * math.sqrt(share), self.sizes)

    @property
    def number_target(self) -> bool:
        """Whether the first stages count the target in a block of its own: a number, whose levels all else hangs on."""
        return self.k > 0 and self.target is not None and self.target.cells.column.is_number

    def _cells(self, stage: str, size: Callable[[Cells], int]) -> tuple[Block, ...]:
        """Counts of every column's cells, `size` of each."""
        columns = [size(feature.cells) for feature in (*self.plain, *self.joined)]
        columns += [size(feature.cells) for feature in self._widest]
        target = [] if self.target is None else [size(self.target.cells)]
        if not self.number_target:
            width = sum([*columns, *target])
            return (self._counts(stage, width=width, n_hot=self.k + len(target)),)
        share = max(self.evidence.of_target, 1 / (self.k + 1))
        of_columns = self._counts(stage, width=sum(columns), n_hot=self.k)
        return replace(of_columns, share=1 - share), Hot(name=TARGET, width=sum(target), share=share)

    def _counts(self, name: str, *, width: int, n_hot: int) -> Hot:
        # Where groups may be joined there will be fewer codes than columns.
        return Hot(name=name, width=max(width, n_hot), n_hot=n_hot, weighted=bool(self.groups))

    @cached_property
    def number(self) -> NumberPlan:
        """What is asked where the target is a number."""
        return NumberPlan(
            columns=(self.plain, self.joined),
            bins=tuple(tuple(map(self._bins, features)) for features in (self.plain, self.joined)),
            pair_cells=self._pair_cells(self.sizes.pair_levels),
            rows_over_noise=self.evidence.rows * self.evidence.mu,
            is_small=self.evidence.is_small,
            share=self._worthwhile.get("teacher", 0.0),
            unit=self.schema.unit,
            settings=self.settings,
        )

    def _gradient(self) -> tuple[Block, ...]:
        """The errors at a row's bins, one number at all of them or one for each class; the errors; and along the trees."""
        width, hot, bound = self.width + 1, self.k + 1, error_bound(self.n_sets)
        everywhere_share = self.settings.budget.everywhere
        of_trees = self.settings.budget.trees if self.has_trees else 0.0
        share = 1 - of_trees - everywhere_share
        if self.n_sets == 1:
            at_bins: Block = Hot(name="bins", width=width, n_hot=hot, weighted=True, share=share)
        else:
            shape = (self.n_sets, width)
            at_bins = Outer(name="bins", shape=shape, l2_bound=bound * math.sqrt(hot), share=share)
        everywhere = Dense(name="everywhere", width=self.n_sets, l2_bound=bound, share=everywhere_share)
        if not self.has_trees:
            return at_bins, everywhere
        return at_bins, everywhere, Dense(name="trees", width=self.n_sets, l2_bound=bound, share=of_trees)
