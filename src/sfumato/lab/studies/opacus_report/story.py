"""The page of the report on Opacus."""

from collections.abc import Sequence
from pathlib import Path

from sfumato.lab.studies.drawing import draw_curves
from sfumato.lab.studies.opacus_report.claims import (
    EPOCHS,
    PUBLISHED,
    PUBLISHED_ACCURACY,
    PUBLISHED_PLAIN,
    claimed_epsilon,
    lower_bound,
    upper_bound,
    with_coins,
)
from sfumato.lab.studies.page import markdown_table
from sfumato.lab.studies.task import Found, Line


def lines_of(found: Found) -> Sequence[Line]:
    """Plain and private."""
    return [
        Line(
            what="plain",
            published=f"{100 * PUBLISHED_PLAIN:.1f} %",
            here=found.percent("plain"),
            honest="none",
            sound="-",
        ),
        Line(
            what="private",
            published=f"{100 * PUBLISHED_ACCURACY:.1f} % at {PUBLISHED[-1]}",
            here=found.percent("private"),
            honest=f"{lower_bound(EPOCHS):.2f} to {upper_bound(EPOCHS):.1f}",
            sound=found.percent("sound"),
        ),
    ]


def story_of(found: Found, folder: Path) -> str:
    """All of it."""
    run = [key for key in ("private", "plain") if key in found]
    if run:
        for figure, y in (("accuracies", "accuracy on test digits"), ("losses", "loss")):
            draw_curves(
                folder / f"opacus-{figure}.png",
                {key: (list(range(1, 1 + len(found.get(key, figure)))), found.get(key, figure)) for key in run},
                x="epoch",
                y=y,
            )
    epochs = list(range(1, EPOCHS + 1))
    by_epoch = {
        "at least": [lower_bound(e) for e in epochs],
        "claimed": [claimed_epsilon(e) for e in epochs],
        "at most": [upper_bound(e) for e in epochs],
    }
    draw_curves(
        folder / "opacus-epsilon.png",
        {name: (epochs, up) for name, up in by_epoch.items()},
        x="epoch",
        y="epsilon",
        log_y=True,
    )
    least = by_epoch["at least"]
    table = [
        (
            str(e),
            f"{PUBLISHED[e - 1]:.2f}",
            *(f"{by_epoch[name][e - 1]:.2f}" for name in ("claimed", "at least", "at most")),
        )
        for e in epochs
    ]
    return f"""
## What was published

A course report trains a small network on digits twice: plainly, and with the library Opacus. There each example's gradient is clipped
to length 1, noise of the same size is added to the sum of a batch of 64, and the library prints an epsilon after each of nine epochs: from
.68 to .79, with a delta of 1e-5. The private network names 93.4 % of the test digits, the plain one 98.8 %. The report shows what the
second convolution makes of some digits, and takes their blur for the noise of privacy.

![Accuracy by epoch](opacus-accuracies.png)

{_between_epochs(found)}

![Loss by epoch](opacus-losses.png)

## What is true of it

* **Epsilon after nine epochs is at least {least[-1]:.2f}, not .79**; after one it is at least {least[0]:.2f}, not .68. The library
  books rows that take part in a step by a coin of their own. The option `poisson_sampling=False` was set: batches were shuffled, each
  row is in exactly one of them in every epoch, and that hides it less. By coins, a tight account would have given {with_coins(EPOCHS):.2f}.
* The bound is computed and not guessed: rows are named for which an adversary who counts large sums can tell whether one of them is
  there. Epsilon is at most {upper_bound(EPOCHS):.1f}, without any gain from sampling. Where it lies between, nobody has proved; by a
  simulation of the whole likelihood, about 4.5.
* The body of the report says a noise of 1.2, its appendix 1.0; what is printed is that of 1.0.
* **No dataset is released.** What is private, as far as it is, is the network. The pictures below are functions of one raw digit each: a
  convolution, private or not, is no noise, and whoever has such a picture has something of that digit.

{markdown_table(("epoch", "printed", "claimed, computed here", "at least", "at most"), table)}

![Epsilon by epoch](opacus-epsilon.png)

Digits and what both convolutions make of them, plain and private:

![Plain](opacus-plain.png)

![Private](opacus-private.png)

## Made sound

The learner `cnn` of this package is the same kind of training: rows take part by coins of their own, which is what is booked, and the
noise is drawn securely. `sampling = "shuffled"` is refused. Its budget is the published one: epsilon .79, delta 1e-5, one row added or
removed. It releases a network with a certificate. Whoever wants a dataset takes `3a-image`.

## What is assumed

Opacus itself is not used: clipped and noisy gradients are written out in torch, with the report's network, rate (.05), batch, clip and
noise. A quick run has 6,000 digits and three epochs, with a smaller batch for the sound learner; noise hurts more there than on
60,000.
"""


def _between_epochs(found: Found) -> str:
    """The last epoch is what is told, and it may be a poor one."""
    each = found.get("plain", "accuracies")
    if not each:
        return ""
    return (
        f"The table has the accuracy after the last epoch. That of the plain network goes up and down between epochs, from "
        f"{100 * min(each):.1f} % to {100 * max(each):.1f} %."
    )
