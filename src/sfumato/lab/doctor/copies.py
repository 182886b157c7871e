"""Rows that were copied, whole or nearly.

Some synthetic rows equal real ones by chance; more than chance makes is a copy. Reads real rows WITHOUT privacy.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.attacks.membership import MOST_ROWS, MOST_SYNTHETIC, distance_to
from sfumato.lab.attacks.sheets import Comparison, Sheet, places
from sfumato.lab.doctor.findings import Finding, judged, more_often_real, more_than_chance, noted

#: Phantoms that are made of each real row.
_PHANTOMS = 10
#: Shares of the pooled rows that count as near.
_NEAR = (0.0025, 0.01, 0.05)


def copied_rows(found: Comparison) -> Finding:
    """Real rows that no other row equals, and that stand among the synthetic rows."""
    keys, counts = np.unique(found.real.keys(), return_counts=True)
    lonely, n_double = keys[counts == 1], int((counts == 2).sum())
    synthetic = np.unique(found.synthetic.keys())
    hits = int(np.isin(lonely, synthetic).sum())
    phantoms = _phantoms(found.real, keys, counts)
    p = more_than_chance(
        hits,
        doubles=n_double,
        per_double=2 * len(found.synthetic) / len(found.real),
        phantoms=int(np.isin(phantoms, synthetic).sum()),
        per_phantom=len(lonely) / max(1, len(phantoms)),
    )
    beside = ""
    if found.holdout is not None:
        # Unique in both sheets together: then which of the two a row is in is a fair draw.
        theirs = found.holdout.keys()
        both, times = np.unique(np.concatenate([found.real.keys(), theirs]), return_counts=True)
        alone = both[times == 1]
        of_real, of_other = np.isin(alone, keys), np.isin(alone, theirs)
        there = np.isin(alone, synthetic)
        hits_real, hits_other = int((of_real & there).sum()), int((of_other & there).sum())
        exact = more_often_real(hits_real, hits_other, n_real=int(of_real.sum()), n_other=int(of_other.sum()))
        p = 2 * min(p, exact)
        beside = f" Of the {int(of_other.sum()):,} such rows that were held back, {hits_other:,} are there."
    sentence = (
        f"{hits:,} of the {len(lonely):,} real rows that are like no other stand among the synthetic rows, whole."
        + beside
    )
    return judged("copied rows", p, sentence, copied=hits, lonely=len(lonely))


def _phantoms(real: Sheet, keys: NDArray[np.uint64], counts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Rows that no real row equals: a lonely one with one value exchanged for that of another row."""
    rng = np.random.default_rng(0)
    lonely = np.flatnonzero(np.isin(real.keys(), keys[counts == 1]))
    if not len(lonely) or real.codes.shape[1] < 2:
        return np.zeros(0, dtype=np.uint64)
    made = []
    for _ in range(_PHANTOMS):
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
        return noted("near copies", "Not tested: whether real rows lie too near takes rows that were held back.")
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
