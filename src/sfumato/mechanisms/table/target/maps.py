"""What the last stage asks of a row: small maps that hold public facts alone, so that they can travel to another process."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.compiled import codes_and_values
from sfumato.mechanisms.common.counting import weighed, weight_of
from sfumato.mechanisms.common.layout import BinCodes
from sfumato.mechanisms.common.logistic import errors, probabilities
from sfumato.mechanisms.common.prepared import CODES, RULE, bins_and_labels, whole_numbers
from sfumato.mechanisms.table.columns.code_tables import CodeScores, code_scores
from sfumato.mechanisms.table.target.classifier import GeneratorRule
from sfumato.mechanisms.table.target.correction import FullestBins, corrected
from sfumato.mechanisms.table.target.effects import Effects
from sfumato.mechanisms.table.target.number_rule import CorrectedNumber, ranked
from sfumato.public.plan.block import Hot
from sfumato.public.schema.schema import Batch


def padded_sets(of_sets: Floats, n_sets: int) -> Floats:
    """Zeros for classes that were planned for and are not there."""
    return np.pad(of_sets, ((0, 0), (0, n_sets - of_sets.shape[1])))


@dataclass(frozen=True)
class RuleScores:
    """What the rule says of a row: the additive part with what its categories add, and what the trees say beyond."""

    rule: GeneratorRule
    of_codes: CodeScores

    def __call__(self, batch: Batch) -> Floats:
        """Both side by side."""
        bins, _ = bins_and_labels(batch)
        additive = self.rule.additive_scores(bins)
        more = code_scores(self.of_codes, whole_numbers(batch[CODES]).T) if self.of_codes else 0.0
        return np.concatenate([additive + more, self.rule.beyond(bins, additive)], axis=1)


@dataclass(frozen=True)
class ErrorGradient:
    """The errors of a corrected rule: at a row's bins but the fullest, everywhere, and along what the trees say.

    Rows are made as long as the bounds allow: by `longest` at the bins, and by `longer` elsewhere.
    """

    corrections: Floats
    codes: BinCodes
    fullest: FullestBins
    n_sets: int  # of weights, as planned
    n_hot: int
    width: int
    longest: float
    longer: float
    has_trees: bool

    def __call__(self, batch: Batch) -> dict[str, Floats]:
        """A row of each block."""
        bins, labels = bins_and_labels(batch)
        codes, scores = self.codes.codes(bins), np.nan_to_num(batch[RULE]).astype(np.float64)
        n_sets = len(self.corrections)
        additive, beyond = scores[:, :n_sets], scores[:, n_sets:]
        wrong_by = errors(probabilities(corrected(self.corrections, codes, additive, beyond)), labels)
        weights = self.fullest.weights(bins)[:, None]
        if self.n_sets == 1:
            layout = self.codes.layout
            left_out = np.append(layout.starts + self.fullest.bins, layout.width)  # and the intercept
            at_bins = codes_and_values(codes, left_out, (self.longest * weights * wrong_by)[:, 0], self.n_hot)
        else:
            at = np.zeros((len(codes), self.width))
            np.put_along_axis(at, codes[:, :-1], self.longest * weights * self.fullest.others(bins), axis=1)
            at_bins = np.concatenate([padded_sets(wrong_by, self.n_sets), at], axis=1)
        everywhere = self.longer * weights * wrong_by
        of_trees = {"trees": padded_sets(everywhere * beyond, self.n_sets)} if self.has_trees else {}
        return {"bins": at_bins, "everywhere": padded_sets(everywhere, self.n_sets), **of_trees}


@dataclass(frozen=True)
class NumberPrediction:
    """What the trees say of a row's number, from the ranks of its bins."""

    trees: Any
    ranks: tuple[Floats, ...]

    def __call__(self, batch: Batch) -> Floats:
        """One column."""
        return np.asarray(self.trees.predict(ranked(self.ranks, cells_of(batch)))[:, None])


def cells_of(batch: Batch) -> Integers:
    """The prepared cells of each row, the target's last."""
    return np.nan_to_num(batch[CODES]).astype(np.int64)


@dataclass(frozen=True)
class EffectBlock:
    """The tables of effects whose sums are one block, and where their entries lie among all."""

    block: Hot
    tables: Integers
    entries: Integers
    place: Integers = field(repr=False)  # of every entry in the block

    @staticmethod
    def of(block: Hot, effects: Effects, tables: Integers) -> "EffectBlock":
        """Of some of the tables."""
        sizes, starts = effects.layout.sizes, effects.layout.starts
        entries = np.concatenate([np.arange(starts[at], starts[at] + sizes[at]) for at in tables] or [tables[:0]])
        place = np.full(effects.layout.width, -1)
        place[entries] = np.arange(len(entries))
        return EffectBlock(block, tables, entries, place)

    @property
    def weight(self) -> float:
        """What each of a row's entries may weigh."""
        return weight_of(self.block, len(self.tables))

    def weighed(self, codes: Integers, errors: Floats) -> Floats:
        """Rows of the block, from the entries that they have of all tables."""
        return weighed(self.block, self.place[codes[:, self.tables]], self.weight, errors)


def number_errors(number: CorrectedNumber, target: str, batch: Batch) -> tuple[Floats, Floats]:
    """What the rule misses of each row, cut to [-1, 1], none where the target is missing; and what it says uncorrected."""
    cells, predicted = cells_of(batch), np.nan_to_num(batch[RULE]).astype(np.float64)[:, 0]
    missed = batch[target].astype(np.float64) - predicted - number.corrections(predicted, cells)
    return np.nan_to_num(np.clip(missed / number.unit, -1.0, 1.0)), predicted


@dataclass(frozen=True)
class SquaredErrors:
    """The squared error of a corrected number."""

    number: CorrectedNumber
    target: str

    def __call__(self, batch: Batch) -> dict[str, Floats]:
        """One number of each row."""
        return {"residuals": (number_errors(self.number, self.target, batch)[0] ** 2)[:, None]}


@dataclass(frozen=True)
class NumberErrors:
    """The error of a corrected number at every part of a column and every cell of a pair, and along what the rule says."""

    number: CorrectedNumber
    effects: Effects
    blocks: tuple[EffectBlock, ...]
    target: str

    def __call__(self, batch: Batch) -> dict[str, Floats]:
        """A row of each block."""
        wrong_by, predicted = number_errors(self.number, self.target, batch)
        codes = self.effects.codes(cells_of(batch))
        sums = {one.block.name: one.weighed(codes, wrong_by) for one in self.blocks}
        return {**sums, "along": (wrong_by * self.number.deviations(predicted))[:, None]}
