"""Rows that were copied, whole or nearly, and single values that were taken over. Reads real rows WITHOUT privacy.

Some synthetic rows equal real ones by chance; more than chance makes is a copy.
"""

from functools import reduce
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.lab.attacks.membership import MOST_ROWS, MOST_SYNTHETIC, distance_to
from sfumato.lab.attacks.sheets import Comparison, Sheet, places
from sfumato.lab.doctor.findings import ALARM, Finding, judged, more_often_real, more_than_chance, not_tested, noted
from sfumato.mechanisms.common.arrays import Floats, Integers, Values

#: Phantoms that are made of each real row.
_PHANTOMS = 10
#: Shares of the pooled rows that count as near.
_NEAR = (0.0025, 0.01, 0.05)


def copied_rows(found: Comparison) -> Finding:
    """Real rows that no other row equals, and that stand among the synthetic rows."""
    hits, n_lonely, p, best = copies(found)
    if best >= ALARM:
        return not_tested(
            "copied rows", f"Not tested: of {len(found.real):,} real rows only {n_lonely:,} are like no other."
        )
    beside = ""
    if found.holdout is not None:
        _, _, hits_other, n_other = _beside_held_back(found, found.holdout)
        beside = f" Of the {n_other:,} such rows that were held back, {hits_other:,} are there."
    sentence = (
        f"{hits:,} of the {n_lonely:,} real rows that are like no other stand among the synthetic rows, whole." + beside
    )
    return judged("copied rows", p, sentence, copied=hits, lonely=n_lonely)


def copies(found: Comparison, *, phantoms: int = _PHANTOMS) -> tuple[int, int, float, float]:
    """Lonely rows that are synthetic ones too, and of how many; how often chance makes so many, and how often all of them."""
    keys, counts = np.unique(found.real.keys(), return_counts=True)
    synthetic = np.unique(found.synthetic.keys())
    made_up = _phantoms(found.real, keys, counts, each=phantoms)
    hits, p, best = _taken_over(found, keys, counts, synthetic, phantoms=made_up)
    if found.holdout is not None:
        hits_real, n_real, hits_other, n_other = _beside_held_back(found, found.holdout)
        p = 2 * min(p, more_often_real(hits_real, hits_other, n_real=n_real, n_other=n_other))
        best = 2 * min(best, more_often_real(n_real, hits_other, n_real=n_real, n_other=n_other))
    return hits, int((counts == 1).sum()), p, best


def _beside_held_back(found: Comparison, holdout: Sheet) -> tuple[int, int, int, int]:
    """Of real rows and of held-back ones: which are synthetic too, and how many there are.

    Only those are looked at that are unique in both sheets together: then which of the two a row is in is a fair draw.
    """
    mine, theirs, synthetic = (sheet.keys() for sheet in (found.real, holdout, found.synthetic))
    both, times = np.unique(np.concatenate([mine, theirs]), return_counts=True)
    alone = both[times == 1]
    of_real, of_other, there = (np.isin(alone, keys) for keys in (mine, theirs, synthetic))
    return int((of_real & there).sum()), int(of_real.sum()), int((of_other & there).sum()), int(of_other.sum())


def _taken_over(
    found: Comparison, real: Values, counts: Integers, synthetic: Values, *, phantoms: Values
) -> tuple[int, float, float]:
    """How many values of one real row alone are synthetic too, and how often chance makes so many, and all of them."""
    lonely = real[counts == 1]
    hits = int(np.isin(lonely, synthetic).sum())
    facts = {"doubles": int((counts == 2).sum()), "phantoms": int(np.isin(phantoms, synthetic).sum())}
    per_double, per_phantom = 2 * len(found.synthetic) / len(found.real), len(lonely) / max(1, len(phantoms))

    def chance(hits: int) -> float:
        return more_than_chance(hits, **facts, per_double=per_double, per_phantom=per_phantom)

    return hits, chance(hits), chance(len(lonely))


def _phantoms(real: Sheet, keys: NDArray[np.uint64], counts: Integers, *, each: int) -> NDArray[np.uint64]:
    """Rows that no real row equals: a lonely one with one value exchanged for that of another row."""
    rng = np.random.default_rng(0)
    lonely = np.flatnonzero(np.isin(real.keys(), keys[counts == 1]))
    if not len(lonely) or real.codes.shape[1] < 2:
        return np.zeros(0, dtype=np.uint64)
    made = []
    for _ in range(each):
        codes = real.codes[lonely].copy()
        at = rng.integers(codes.shape[1], size=len(codes))
        codes[np.arange(len(codes)), at] = real.codes[rng.integers(len(real), size=len(codes)), at]
        made.append(Sheet(codes, real.values[lonely]).keys())
    together = np.unique(np.concatenate(made))
    return together[~np.isin(together, keys)]


def near_copies(found: Comparison) -> Finding:
    """Real rows with a synthetic row nearer than held-back rows have one; whole copies aside."""
    some = found.at_most(MOST_ROWS, synthetic=MOST_SYNTHETIC)
    if some.holdout is None or not len(some.holdout):
        return not_tested("near copies", "Not tested: whether real rows lie too near takes rows that were held back.")
    whole = np.unique(some.synthetic.keys())
    real, synthetic, holdout = places(some)
    rows = [part[~np.isin(sheet.keys(), whole)] for part, sheet in ((real, some.real), (holdout, some.holdout))]
    sizes = [len(part) for part in rows]
    if min(sizes) == 0:
        return judged("near copies", 1.0, "Every real row equals a synthetic one, so none is merely near.")
    near = distance_to(synthetic, np.concatenate(rows))[:, 0]
    p, seen = 1.0, (0, 0)
    for share in _NEAR:
        is_near = near <= np.quantile(near, share)
        mine, theirs = int(is_near[: sizes[0]].sum()), int(is_near[sizes[0] :].sum())
        this = len(_NEAR) * more_often_real(mine, theirs, n_real=sizes[0], n_other=sizes[1])
        p, seen = min((p, seen), (this, (mine, theirs)))
    sentence = (
        f"Of the rows nearest to a synthetic row, {seen[0]:,} are real ones ({sizes[0]:,} were looked at) and {seen[1]:,} "
        f"held back ({sizes[1]:,})."
        if sum(seen)
        else "Real rows lie no nearer to synthetic rows than held-back rows do."
    )
    return judged("near copies", p, sentence, near_real=seen[0], near_held_back=seen[1])


#: A column of numbers with more values than this is not a list of categories.
MOST_VALUES = 60
_MOST_PAIRS = 60
#: An end of a column that could be met by chance is met with at most this probability.
_LIKELY = 0.5


def raw_values(found: Comparison) -> Finding:
    """Numbers that one real row alone holds, and that are among the synthetic ones, column by column."""
    best, named, hits_there, of, could_tell = 1.0, "", 0, 0, False
    columns = [at for at, is_number in enumerate(found.is_number) if is_number]
    for at in columns:
        values, counts = np.unique(_known(found.real.values[:, at]), return_counts=True)
        lonely = values[counts == 1]
        if len(lonely) < 2:
            continue
        step = np.diff(values).min()
        synthetic = np.unique(_known(found.synthetic.values[:, at]))
        beside = np.unique(np.concatenate([lonely - step, lonely + step]))
        beside = beside[~np.isin(beside, values)]
        hits, p, with_all = _taken_over(found, values, counts, synthetic, phantoms=beside)
        could_tell |= with_all * len(columns) < ALARM
        if p * len(columns) < best:
            best, named, hits_there, of = p * len(columns), found.names[at], hits, len(lonely)
    if not could_tell:
        return not_tested("raw numbers", "Not tested: no column has enough numbers that one real row alone holds.")
    if not named:
        return judged("raw numbers", 1.0, "No column has more numbers of single rows than chance would bring.")
    sentence = (
        f"Column {named!r}: {hits_there:,} of {of:,} numbers that one real row alone holds are synthetic ones too."
    )
    return judged("raw numbers", best, sentence, taken=hits_there, lonely=of)


def exact_extremes(found: Comparison) -> Finding:
    """Smallest and largest numbers that one real row alone holds, and that are the synthetic ones too.

    An end at a round number may be a public bound, and is passed over.
    """
    chances, met = [], []
    for at in (at for at, is_number in enumerate(found.is_number) if is_number):
        real, synthetic = (_known(sheet.values[:, at]) for sheet in (found.real, found.synthetic))
        if len(np.unique(real)) < 10 or not len(synthetic):
            continue
        for sign in (1, -1):
            top = np.sort(sign * real)[::-1]
            # A number is round that has at least two digits fewer than the usual one of its column.
            if top[0] == top[1] or _digits(top[0]) + 2 <= np.median([_digits(each) for each in real[:200]]):
                continue
            # A fresh largest value falls within about the span of the top ten, on one of the column's steps.
            step = np.diff(np.unique(real)).min()
            chances.append(min(_LIKELY, 1 / (1 + (top[0] - top[min(9, len(top) - 1)]) / step)))
            met.append(bool((sign * synthetic).max() == top[0]))
    if np.prod(chances) >= ALARM:
        return not_tested(
            "exact extremes",
            "Not tested: too few columns end at a number that one real row alone holds, and that is not round.",
        )
    hits = int(sum(met))
    # The chance of so many successes among trials of unequal chances.
    p = float(reduce(np.convolve, [(1 - chance, chance) for chance in chances], np.ones(1))[hits:].sum())
    sentence = f"{hits} of {len(met)} smallest and largest numbers that one real row alone holds are those of the synthetic rows."
    return judged("exact extremes", p, sentence, met=hits, ends=len(met))


def _digits(value: float) -> int:
    return len(f"{abs(value):.15g}".replace(".", "").strip("0").split("e")[0])


def rare_values(found: Comparison) -> Finding:
    """Categories, and pairs of them, that one row alone holds: are those of real rows reproduced more than of others?"""
    cells = _cells(found)
    if found.holdout is None:
        return _without_holdout(found)
    n_real, n_other = len(found.real), len(found.holdout)
    reproduced, eligible = np.zeros(n_real + n_other, dtype=bool), np.zeros(n_real + n_other, dtype=bool)
    for real, synthetic, holdout in cells:
        pooled = np.concatenate([real, holdout])
        kinds, first, counts = np.unique(pooled, return_index=True, return_counts=True)
        alone = first[counts == 1]
        eligible[alone] = True
        reproduced[alone] |= np.isin(kinds[counts == 1], synthetic)
    mine, theirs = int(reproduced[:n_real].sum()), int(reproduced[n_real:].sum())
    of_mine, of_theirs = int(eligible[:n_real].sum()), int(eligible[n_real:].sum())
    p = more_often_real(mine, theirs, n_real=of_mine, n_other=of_theirs)
    sentence = (
        f"Of {of_mine:,} real rows with a category or a pair of categories of their own, {mine:,} have it reproduced; of "
        f"{of_theirs:,} held-back rows, {theirs:,}."
    )
    return judged("rare categories", p, sentence, reproduced=mine, reproduced_held_back=theirs)


def _without_holdout(found: Comparison) -> Finding:
    """Lists of categories may be public, so that rare ones come through tells nothing by itself."""
    alone = there = unseen = 0
    for at, is_number in enumerate(found.is_number):
        if not is_number:
            kinds, counts = np.unique(found.real.codes[:, at], return_counts=True)
            synthetic = np.unique(found.synthetic.codes[:, at])
            alone += int((counts == 1).sum())
            there += int(np.isin(kinds[counts == 1], synthetic).sum())
            unseen += int((~np.isin(synthetic, kinds)).sum())
    sentence = (
        f"{there:,} of {alone:,} categories that one real row alone holds are in the synthetic table, and {unseen:,} that "
        "no real row holds. If the lists of categories are not public, the first is a leak; held-back rows would tell."
    )
    return noted("rare categories", sentence, reproduced=there, lonely=alone, unseen=unseen)


def _cells(found: Comparison) -> list[tuple[Integers, ...]]:
    """Codes of every column of few values, and of pairs of them, by sheet."""
    few = few_valued(found)
    sizes = {at: 1 + max(int(sheet.codes[:, at].max(initial=0)) for sheet in found.sheets) for at in few}
    one = [tuple(sheet.codes[:, at] for sheet in found.sheets) for at in few]
    pairs = list(combinations(few, 2))
    if len(pairs) > _MOST_PAIRS:
        chosen = np.random.default_rng(0).choice(len(pairs), _MOST_PAIRS, replace=False)
        pairs = [pairs[at] for at in np.sort(chosen)]
    two = [tuple(sheet.codes[:, a] * sizes[b] + sheet.codes[:, b] for sheet in found.sheets) for a, b in pairs]
    return one + two


def few_valued(found: Comparison) -> list[int]:
    """Columns of categories, and of numbers with few values."""
    values = [len(np.unique(codes)) for codes in found.real.codes.T]
    return [at for at, is_number in enumerate(found.is_number) if not is_number or values[at] <= MOST_VALUES]


def exact_counts(found: Comparison, *, epsilon: float) -> Finding:
    """Counts of values that are the same in both tables, more often than noise of an epsilon would leave them so.

    No noise that is epsilon-private leaves a count as it is with a higher probability than tanh(epsilon / 2), that of
    geometric noise (Ghosh, Roughgarden and Sundararajan, "Universally utility-maximizing privacy mechanisms", 2009). A
    count of a column follows from the others and the sum, so the largest does not count.
    """
    scale = len(found.synthetic) / len(found.real)
    agree = n_cells = 0
    best, columns = 1.0, few_valued(found)
    largest, ratio = np.ceil(1 / scale) - 1, np.exp(-epsilon)  # noise up to the largest rounds away
    chance = float(1 - 2 * ratio ** (largest + 1) / (1 + ratio))  # of a count to differ by less than one synthetic row
    for at in columns:
        size = 1 + max(int(sheet.codes[:, at].max(initial=0)) for sheet in found.sheets)
        real, synthetic = (np.bincount(s.codes[:, at], minlength=size) for s in (found.real, found.synthetic))
        common = np.argsort(-real, kind="stable")[1:]  # all but the largest
        common = common[real[common] * min(1.0, scale) >= 10]
        same = int((np.abs(synthetic[common] - real[common] * scale) < 1).sum())
        agree, n_cells = agree + same, n_cells + len(common)
        best = min(best, float(stats.binom.sf(same - 1, len(common), chance)) if len(common) else 1.0)
    if not n_cells or 2 * chance**n_cells >= ALARM:
        return not_tested("exact counts", f"Not tested: {n_cells:,} counts of values are too few to tell from noise.")
    pooled = float(stats.binom.sf(agree - 1, n_cells, chance))
    p = min(2 * pooled, 2 * len(columns) * best) if columns else 1.0
    sentence = f"{agree:,} of {n_cells:,} counts of values are the same in both tables; noise would leave at most {chance:.0%}."
    return judged("exact counts", p, sentence, same=agree, counts=n_cells)


def row_count(found: Comparison) -> Finding:
    """Whether the tables have equally many rows."""
    n_real, n_synthetic = len(found.real), len(found.synthetic)
    same = "Both tables have the same number of rows. If that number is not public, it is told."
    sentence = same if n_real == n_synthetic else "The tables have different numbers of rows."
    return noted("row count", sentence, real=n_real, synthetic=n_synthetic)


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]
