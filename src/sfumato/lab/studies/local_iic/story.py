"""The page of the post on local noise: its table, its curves, and only what the spread of runs supports."""

from collections.abc import Sequence
from pathlib import Path

from sfumato.lab.studies.common.drawing import draw_curves
from sfumato.lab.studies.common.study import Found, Line, apart, markdown_table
from sfumato.lab.studies.local_iic.claims import (
    CLAIMED,
    honest_epsilon,
    honest_epsilon_with_label,
    needed_noise,
    used_noise,
)
from sfumato.present.pages import render

_PUBLISHED = {
    150: "error 89 %",
    2_000: "error 89 %",
    3_000: "better than chance",
    5_000: "worse than 3,000",
    200_000: "close to raw",
}
#: Epsilons of the network with noisy labels: those of the post from which labels suffer, and smaller ones.
TOLD = (1, 10, 150)
#: Epsilons that a person would call one, for sound releases alone.
SMALL = (10, 1)
CENTRAL = (1, 10, 150)
#: The error of naming all pictures alike.
_CHANCE = 0.89


def lines_of(found: Found) -> Sequence[Line]:
    """Error of clustering; of what is sound, how well a linear learner does that is trained on it."""
    raw = Line(what="raw images, clusters", published="error below 10 %", here=_error(found, "raw"), honest="none")
    claimed = [
        Line(
            what=f"claimed epsilon {e:,}, clusters",
            published=_PUBLISHED[e],
            here=_error(found, f"claimed {e}"),
            honest=large(honest_epsilon(e)),
            sound=_sound(found, e),
        )
        for e in CLAIMED
    ]
    network = [
        Line(
            what=f"claimed epsilon {e:,}, a network with noisy labels",
            published="not at all promising",
            here=_error_of_named(found, f"cnn {e}"),
            honest=large(honest_epsilon_with_label(e)),
            sound=_sound(found, e),
        )
        for e in TOLD
    ]
    return [raw, *claimed, *network]


def story_of(found: Found, folder: Path) -> str:
    """All below the table, from what was run."""
    keys = {"raw": "raw", **{f"claimed {e:,}": f"claimed {e}" for e in CLAIMED}}
    titles = {"errors": "part named wrong", "losses": "loss of ten clusters", "finer losses": "loss of fifty clusters"}
    for figure, y in titles.items():
        curves = found.curves(keys, figure)
        if curves:
            draw_curves(folder / f"local-iic-{figure.replace(' ', '-')}.png", curves, x="epoch", y=y)
    full = found.at_full_size
    facts = {
        "found": full,
        "quick": not full.each("raw", "error"),
        "epsilon_150": large(honest_epsilon(150)),
        "noise_table": _noise_table(),
        "says": what_noise_did(full),
        "losses_say": _what_losses_say(full),
        "network_table": _network_table(found),
        "labels_say": _what_labels_did(full),
        "small": _sound_table(found),
        "epochs": (full.each("raw", "epochs") or ["to be run"])[0],
    }
    return render("studies/local-iic.md.jinja", facts)


def _noise_table() -> str:
    rows = [
        (
            *(f"{e:,}", f"{used_noise(e):.2g}", f"{needed_noise(e):.2g}"),
            *(large(honest_epsilon(e, diameter=1.0)), large(honest_epsilon(e))),
        )
        for e in CLAIMED
    ]
    headings = (
        *("claimed epsilon", "noise used", "noise needed"),
        *("true epsilon, sensitivity 1", "true epsilon, sensitivity sqrt(2)"),
    )
    return markdown_table(headings, rows)


def _network_table(found: Found) -> str:
    rows = [
        (
            f"{e:,}",
            large(honest_epsilon_with_label(e)),
            next((f"{images:,}" for images in found.each(f"cnn {e}", "images")), "to be run"),
            *(found.percent(f"cnn {e}", name) for name in ("labels that are right", "accuracy")),
            *(found.percent(f"cnn {e}", name) for name in ("noisy labels alone", "noisy pictures alone")),
        )
        for e in TOLD
    ]
    headings = (
        *("claimed epsilon", "true epsilon of both", "pictures", "labels that are right", "accuracy, noise on both"),
        *("noisy labels alone (NOT private)", "noisy pictures alone (NOT private)"),
    )
    return markdown_table(headings, rows)


def _sound_table(found: Found) -> str:
    rows = [
        (
            f"{e:,}",
            found.percent(f"sound {e}"),
            found.percent(f"central {e}") if e in CENTRAL else "-",
        )
        for e in (*reversed(SMALL), *CLAIMED)
    ]
    headings = ("epsilon", "`local-reports`, accuracy", "`3a-image`, accuracy")
    return markdown_table(headings, rows)


def what_noise_did(found: Found) -> str:
    """Which epsilons can be told from raw pictures, by the spread of runs."""
    raw, errors = found.spread("raw", "error"), {e: found.spread(f"claimed {e}", "error") for e in CLAIMED}
    known = {e: error for e, error in errors.items() if error is not None}
    if raw is None or len(known) < len(CLAIMED):
        return ""
    hurt = [f"{e:,}" for e, error in known.items() if error.mean > raw.mean and apart(error, raw)]
    lost = [f"{e:,}" for e in CLAIMED if min(found.each(f"claimed {e}", "error")) > _CHANCE / 2]
    says = [
        f"{_named(lost, 'Nothing was learned at')}."
        if lost
        else "At none of the five epsilons is a run near chance (89 %)."
    ]
    says.append(
        f"{_named(hurt, 'The error is above that of raw pictures, by more than runs differ, at')}."
        if hurt
        else "None of the five can be told from raw pictures: runs differ more among themselves."
    )
    worse = "is" if known[5_000].mean > known[3_000].mean and apart(known[5_000], known[3_000]) else "is not"
    each = {e: max(found.each(f"claimed {e}", "error")) for e in CLAIMED}
    worst = max(each, key=each.__getitem__)
    says.append(f"The worst of all runs, with {100 * each[worst]:.1f} %, is one at {worst:,}.")
    says.append(f"That 5,000 does worse than 3,000 {worse} seen again beyond the spread of runs.")
    return " ".join(says)


def _what_labels_did(found: Found) -> str:
    """Whether wrong labels or noisy pictures harm the network more, epsilon by epsilon."""
    alone = {e: [found.spread(f"cnn {e}", f"noisy {what} alone") for what in ("labels", "pictures")] for e in TOLD}
    both = {e: (labels.mean, pictures.mean) for e, (labels, pictures) in alone.items() if labels and pictures}
    if not both:
        return ""
    harmed = [f"{e:,}" for e, (labels, pictures) in both.items() if pictures < labels]
    said = (
        f"{_named(harmed, 'noise on pictures does more harm than noise on labels at')}"
        if harmed
        else "labels do the harm"
    )
    return f"By one run at each, {said}: wrong labels are spread over all classes, and a network averages over them."


def _what_losses_say(found: Found) -> str:
    ten, fifty = (found.each("raw", name) for name in ("losses", "finer losses"))
    if not ten:
        return ""
    last = [sum(run[-1] for run in runs) / len(runs) for runs in (ten, fifty)]
    before = sum(run[int(0.9 * len(run)) - 1] for run in ten) / len(ten)
    return (
        f"Here the losses on raw pictures end at {last[0]:.2f} (ten clusters) and {last[1]:.2f} (fifty); in the last tenth of the epochs "
        f"the first falls by {before - last[0]:.3f}."
    )


def _sound(found: Found, epsilon: int) -> str:
    local = f"local: accuracy {found.percent(f'sound {epsilon}')}"
    return f"{local}; central: {found.percent(f'central {epsilon}')}" if epsilon in CENTRAL else local


def _error(found: Found, key: str) -> str:
    return f"error {found.percent(key, 'error')}" if found.each(key, "error") else "to be run"


def _error_of_named(found: Found, key: str) -> str:
    return f"accuracy {found.percent(key)}" if found.each(key, "accuracy") else "to be run"


def _named(epsilons: Sequence[str], what: str) -> str:
    return f"{what} {' and '.join([', '.join(epsilons[:-1]), epsilons[-1]] if len(epsilons) > 1 else epsilons)}"


def large(epsilon: float) -> str:
    """An epsilon, however large.

    >>> large(24.61), large(1019.2), large(1.48e9)
    ('24.6', '1,019', '1.48 billion')
    """
    return f"{epsilon:.1f}" if epsilon < 100 else f"{epsilon:,.0f}" if epsilon < 1e7 else f"{epsilon / 1e9:.2f} billion"
