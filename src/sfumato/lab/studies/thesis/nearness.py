"""How near the runs here come to the published figures, in a sentence."""

from collections.abc import Callable, Mapping

from sfumato.lab.studies.task import Found

#: Points of a hundred: what "the same" means for the mean of ten networks.
_NEAR = 0.05


def unfitted(key: str) -> str:
    """The same point of a curve, with no number of epochs fitted to what was published.

    >>> unfitted("noise 0.7")
    'noise 0.7, nothing fitted'
    """
    return f"{key}, nothing fitted"


def agreement(found: Found, published: Mapping[str, float], *, run_as: Callable[[str], str] = str) -> str:
    """Of the points that were run at full size, how many are near, and which is farthest off.

    Args:
        found: The runs.
        published: Accuracies, by the names of the points.
        run_as: From the name of a point to the key of its run.

    >>> run = {"a": {"accuracy": 0.70, "quick": False}, "b": {"accuracy": 0.5, "quick": False}}
    >>> agreement(Found(run), {"a": 0.68, "b": 0.6, "c": 0.7})
    'Of 2 points run at full size, 1 lies within 5 points of the published accuracy; farthest off is b, by -10.0.'
    >>> agreement(Found({}), {"a": 0.68})
    'No point was run at full size yet.'
    """
    off = {
        key: found.get(run_as(key), "accuracy") - accuracy
        for key, accuracy in published.items()
        if run_as(key) in found and not found.get(run_as(key), "quick")
    }
    if not off:
        return "No point was run at full size yet."
    near = sum(abs(difference) <= _NEAR for difference in off.values())
    farthest = max(off, key=lambda key: abs(off[key]))
    return (
        f"Of {len(off)} points run at full size, {near} {'lies' if near == 1 else 'lie'} within {100 * _NEAR:.0f} points of the "
        f"published accuracy; farthest off is {farthest}, by {100 * off[farthest]:+.1f}."
    )


def spread(found: Found, key: str) -> str:
    """The runs of a point, from the lowest to the highest.

    >>> spread(Found({"a": {"accuracies": [0.62, 0.681, 0.65], "quick": False}}), "a")
    '3 runs, from 62.0 % to 68.1 %'
    >>> spread(Found({}), "a")
    'to be run'
    """
    runs = found.get(key, "accuracies")
    if not runs:
        return "to be run"
    return f"{len(runs)} runs, from {100 * min(runs):.1f} % to {100 * max(runs):.1f} %"
