"""What the last stage asks of a row: partial functions of public facts alone, so that they can travel to another process."""

from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers, Values
from sfumato.mechanisms.common.compiled import codes_of_others, sums_and_others
from sfumato.mechanisms.common.counting import weighed, weight_of
from sfumato.mechanisms.common.layout import BinCodes
from sfumato.mechanisms.common.logistic import errors, probabilities
from sfumato.mechanisms.common.prepared import BINS, CODES, RULE, bins_and_labels, whole_numbers
from sfumato.mechanisms.table.columns.code_tables import CodeScores, code_scores
from sfumato.mechanisms.table.target.classifier import GeneratorRule
from sfumato.mechanisms.table.target.correction import FullestBins, corrected, weights_of
from sfumato.mechanisms.table.target.effects import Effects
from sfumato.mechanisms.table.target.number_rule import CorrectedNumber, RankTrees
from sfumato.public.plan.block import Hot
from sfumato.public.schema.schema import Batch


def padded_sets(of_sets: Floats, n_sets: int) -> Floats:
    """Zeros for classes that were planned for and are not there."""
    n_more = n_sets - of_sets.shape[1]
    return np.pad(of_sets, ((0, 0), (0, n_more))) if n_more else of_sets


def rule_scores(batch: Batch, rule: GeneratorRule, of_codes: CodeScores) -> Floats:
    """What the rule says of a row: the additive part with what its categories add, and what the trees say beyond."""
    bins, _ = bins_and_labels(batch)
    additive, beyond = rule.scores(bins)
    more = code_scores(of_codes, whole_numbers(batch[CODES]).T)
    return np.concatenate([additive + more, beyond], axis=1)


def error_gradient(
    batch: Batch,
    corrections: Floats,
    bins: BinCodes,
    fullest: FullestBins,
    n_planned: int,
    n_hot: int,
    width: int,
    longest: float,
    longer: float,
    has_trees: bool,
) -> dict[str, Floats]:
    """The errors of a corrected rule: at a row's bins but the fullest, everywhere, and along what the trees say.

    Rows are made as long as the bounds allow: by `longest` at the bins, and by `longer` elsewhere. There is room for as many sets
    of weights as were planned.
    """
    prepared, scores = batch[BINS], np.nan_to_num(batch[RULE]).astype(np.float64)
    additive, beyond = scores[:, : len(corrections)], scores[:, len(corrections) :]
    starts, at_bins = bins.layout.starts, np.ascontiguousarray(corrections[:, :-1])
    of_bins, others = sums_and_others(prepared, starts, fullest.bins, at_bins)
    labels = whole_numbers(prepared[:, -1:])[:, 0]
    wrong_by = errors(probabilities(corrected(corrections, of_bins, additive, beyond)), labels)
    weights = weights_of(others)[:, None]
    if n_planned == 1:
        at_bins = codes_of_others(prepared, starts, fullest.bins, (longest * weights * wrong_by)[:, 0], n_hot)
    else:
        rows = whole_numbers(prepared[:, :-1])
        at = np.zeros((len(rows), width))
        np.put_along_axis(at, rows + starts, longest * weights * fullest.others(rows), axis=1)
        at_bins = np.concatenate([padded_sets(wrong_by, n_planned), at], axis=1)
    everywhere = longer * weights * wrong_by
    of_trees = {"trees": padded_sets(everywhere * beyond, n_planned)} if has_trees else {}
    return {"bins": at_bins, "everywhere": padded_sets(everywhere, n_planned), **of_trees}


def predicted_number(batch: Batch, rule: RankTrees) -> Floats:
    """What the rule says of a row's number."""
    return rule.predicted(whole_numbers(batch[CODES]))[:, None]


@dataclass(frozen=True)
class EffectBlock:
    """The tables of effects whose sums are one block, and where their entries lie among all.

    Where rows are `counted`, the block has vectors in the place of codes, and a row's share of the count at their end.
    """

    block: Hot
    counted: float
    tables: Integers
    entries: Integers
    place: Integers = field(repr=False)  # of every entry in the block

    @staticmethod
    def of(block: Hot, effects: Effects, tables: Integers, *, counted: float = 0.0) -> "EffectBlock":
        """Of some of the tables."""
        sizes, starts = effects.layout.sizes, effects.layout.starts
        entries = np.concatenate([np.arange(starts[at], starts[at] + sizes[at]) for at in tables] or [tables[:0]])
        place = np.full(effects.layout.width, -1)
        place[entries] = np.arange(len(entries))
        return EffectBlock(block, counted, tables, entries, place)

    @property
    def weight(self) -> float:
        """What each of a row's entries may weigh."""
        return weight_of(self.block, len(self.tables))

    def weighed(self, codes: Integers, errors: Floats, known: Flags) -> Values:
        """Rows of the block, from the entries that they have of all tables; `known` are those that are counted."""
        at = self.place[codes[:, self.tables]]
        if not self.counted:
            return weighed(self.block, at, self.weight, errors)
        rows = np.zeros((len(at), self.block.width + 1))
        np.put_along_axis(rows, at, (self.weight * errors)[:, None], axis=1)
        rows[:, -1] = self.counted * known
        return rows


def _errors(batch: Batch, number: CorrectedNumber, target: str) -> tuple[Floats, Floats, Flags]:
    """What the rule misses of each row, cut to [-1, 1], and what it says uncorrected; and whether the target is there.

    Where it is not, nothing is missed.
    """
    cells, predicted = whole_numbers(batch[CODES]), np.nan_to_num(batch[RULE]).astype(np.float64)[:, 0]
    missed = batch[target].astype(np.float64) - predicted - number.corrections(predicted, cells)
    return np.nan_to_num(np.clip(missed / number.unit, -1.0, 1.0)), predicted, ~np.isnan(missed)


def squared_errors(batch: Batch, number: CorrectedNumber, target: str, counted: float) -> dict[str, Floats]:
    """The squared error of a corrected number, and a row's share of the count where rows are counted."""
    wrong_by, _, known = _errors(batch, number, target)
    return {"residuals": np.stack([wrong_by**2, *([counted * known] if counted else [])], axis=1)}


def number_errors(
    batch: Batch,
    number: CorrectedNumber,
    target: str,
    effects: Effects,
    blocks: tuple[EffectBlock, ...],
    counted: float,
) -> dict[str, Values]:
    """The error of a corrected number at every part of a column and every cell of a pair, and along what the rule says.

    With it, its square; and a share of the count for each row whose target is known, where these are to be counted.
    """
    wrong_by, predicted, known = _errors(batch, number, target)
    codes = effects.codes(whole_numbers(batch[CODES]))
    sums = {one.block.name: one.weighed(codes, wrong_by, known) for one in blocks}
    along = [wrong_by * number.deviations(predicted), wrong_by**2, *([counted * known] if counted else [])]
    return {**sums, "along": np.stack(along, axis=1)}
