"""The study of the post on local noise: five epsilons, clustering without labels, and sound local reports."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.lab.benchmark.datasets import Benchmark
from sfumato.lab.benchmark.examples import Examples, real_examples
from sfumato.lab.benchmark.protocol import scores
from sfumato.lab.studies.common.digits import DigitStudy, fewer_rows, sound_release
from sfumato.lab.studies.common.drawing import draw_curves, draw_sheet
from sfumato.lab.studies.common.study import Figures, Found, Line, Task, markdown_table
from sfumato.lab.studies.local_iic.claims import (
    CLAIMED,
    clustered,
    honest_epsilon,
    needed_noise,
    used_noise,
    with_noise,
)
from sfumato.mechanisms.local.local_reports import LocalReports
from sfumato.present.pages import render
from sfumato.public.budget import Budget, PrivacyUnit

_PUBLISHED = {
    150: "error 89 %",
    2_000: "error 89 %",
    3_000: "better than chance",
    5_000: "worse than 3,000",
    200_000: "close to raw",
}
#: What the logistic regression named by an earlier version of the reports, by claimed epsilon.
_BEFORE = {150: 0.798, 2_000: 0.673, 3_000: 0.634, 5_000: 0.558, 200_000: 0.387}
#: The error of naming all pictures alike.
_CHANCE = 0.89
_SOUND_DELTA = 1e-6
_NOISE_HEADINGS = (
    *("claimed epsilon", "noise used", "noise needed"),
    *("true epsilon, sensitivity 1", "true epsilon, sensitivity sqrt(2)"),
)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done. `small`: epsilons that a person would call one, for the sound reports alone."""

    images: int | None = None
    epochs: int = 30
    batch: int = 256
    claimed: tuple[int, ...] = CLAIMED
    sound: tuple[int, ...] = CLAIMED
    small: tuple[int, ...] = (10, 1)


_QUICK = Sizes(images=2_500, epochs=6, batch=100, claimed=(150, 3_000, 200_000), sound=(150,), small=(10,))


@dataclass(frozen=True, kw_only=True)
class LocalStudy(DigitStudy):
    """`sfumato study local-iic`."""

    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "local-iic"
    title: str = "Noise of one's own: local privacy, and clusters without labels"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """Raw pictures, the five epsilons, the same made sound."""
        sizes = self.quick if quick else self.full
        return [
            Task(key="pictures", run=self._pictures),
            Task(key="raw", run=partial(self._raw, sizes)),
            *(Task(key=f"claimed {e}", run=partial(self._published, sizes, claimed=e)) for e in sizes.claimed),
            *(Task(key=f"sound {e}", run=partial(self._sound, sizes, epsilon=e)) for e in (*sizes.sound, *sizes.small)),
            *(Task(key=f"clusters {e}", run=partial(self._sound_clusters, sizes, epsilon=e)) for e in sizes.sound),
        ]

    def lines(self, found: Found) -> Sequence[Line]:
        """Error of clustering; and of the sound reports, how well a linear learner does that is trained on them."""
        raw = Line(what="raw images", published="error below 10 %", here=_error(found, "raw"), honest="none")
        claimed = [
            Line(
                what=f"claimed epsilon {e:,}",
                published=_PUBLISHED[e],
                here=_error(found, f"claimed {e}"),
                honest=_large(honest_epsilon(e)),
                sound=f"logistic {found.percent(f'sound {e}')}; clusters {_error(found, f'clusters {e}')}",
            )
            for e in CLAIMED
        ]
        return [raw, *claimed]

    def story(self, found: Found, folder: Path) -> str:
        """What was done, and what it amounts to."""
        keys = {"raw": "raw", **{f"claimed {e:,}": f"claimed {e}" for e in CLAIMED}}
        for figure, y in (("errors", "part named wrong"), ("losses", "loss (minus information)")):
            curves, x = found.curves(keys, figure), "epoch of the head that counts"
            draw_curves(folder / f"local-iic-{figure}.png", curves, x=x, y=y)
        needs = [
            (
                *(f"{e:,}", f"{used_noise(e):.2g}", f"{needed_noise(e):.2g}"),
                *(_large(honest_epsilon(e, diameter=1.0)), _large(honest_epsilon(e))),
            )
            for e in CLAIMED
        ]
        now = _at_full_size(found, "sound", "accuracy")
        facts = {
            "epsilon_150": _large(honest_epsilon(150)),
            "noise_table": markdown_table(_NOISE_HEADINGS, needs),
            "found_again": _found_again(found),
            "small": ", ".join(f"{found.percent(f'sound {e}')} at epsilon {e}" for e in (10, 1)),
            "before": ", ".join(f"{100 * value:.1f} %" for value in _BEFORE.values()),
            "now": ", ".join(f"{100 * value:.1f} % at {e:,}" for e, value in now.items()),
        }
        return render("studies/local-iic.md.jinja", facts)

    def _raw(self, sizes: Sizes, folder: Path) -> Figures:
        train = self.digits[0].first(sizes.images)
        return self._clustered(train.images, train.labels, sizes)

    def _published(self, sizes: Sizes, folder: Path, *, claimed: int) -> Figures:
        train = self.digits[0].first(sizes.images)
        noisy = with_noise(train.images, noise_stddev=used_noise(claimed), rng=np.random.default_rng(0))
        return self._clustered(noisy, train.labels, sizes)

    def _sound(self, sizes: Sizes, folder: Path, *, epsilon: int) -> Figures:
        """Labels are reported too, so a learner can be trained on reports, and tested on clean digits."""
        benchmark, made = self._reports(sizes, epsilon=epsilon)
        test = real_examples(benchmark.test, benchmark.schema)
        return {"accuracy": round(scores("logistic", made, test, benchmark).value, 4), "images": len(made)}

    def _sound_clusters(self, sizes: Sizes, folder: Path, *, epsilon: int) -> Figures:
        benchmark, made = self._reports(sizes, epsilon=epsilon)
        return self._clustered(made.batch[benchmark.schema.images[0].name], made.label, sizes)

    def _reports(self, sizes: Sizes, *, epsilon: int) -> tuple[Benchmark, Examples]:
        """`local-reports`, through the doors."""
        benchmark = fewer_rows(self.benchmark, train=sizes.images)
        budget = Budget(epsilon=epsilon, delta=_SOUND_DELTA)
        return benchmark, sound_release(LocalReports(), benchmark, budget, unit=PrivacyUnit(relation="replace_one"))

    def _clustered(self, images: Any, labels: Any, sizes: Sizes) -> dict[str, Any]:
        found = clustered(images, labels, n_classes=self.n_classes, epochs=sizes.epochs, batch=sizes.batch)
        return {**found, "images": len(images)}

    def _pictures(self, folder: Path) -> Figures:
        """Digits with the noise that was used, and with the noise that the claim needs."""
        real, rng = self.digits[0].one_of_each(), np.random.default_rng(0)
        sheet = {"real": real}
        for claimed in CLAIMED:
            sheet[f"{claimed:,}, used"] = with_noise(real, noise_stddev=used_noise(claimed), rng=rng)
            sheet[f"{claimed:,}, needed"] = with_noise(real, noise_stddev=needed_noise(claimed), rng=rng)
        draw_sheet(folder / "local-iic-pictures.png", sheet)
        return {"file": "local-iic-pictures.png"}


def _at_full_size(found: Found, task: str, figure: str) -> dict[int, float]:
    """A figure by claimed epsilon, of the runs that were not quick."""
    every = {e: found.get(f"{task} {e}", figure) for e in CLAIMED if not found.get(f"{task} {e}", "quick")}
    return {e: value for e, value in every.items() if value is not None}


def _found_again(found: Found) -> str:
    """Whether noise hid the clusters here, as it did there."""
    errors = _at_full_size(found, "claimed", "error")
    if len(errors) < len(CLAIMED):
        return "Not all of it was run at full size yet."
    learned = [e for e, error in errors.items() if error < _CHANCE / 2]
    if len(learned) < len(CLAIMED):
        return f"Here clusters are found at {', '.join(f'{e:,}' for e in learned) or 'none of the epsilons'}."
    worst = max(errors, key=errors.__getitem__)
    return (
        f"Here clusters are found at all five epsilons, {worst:,} being the worst with an error of {100 * errors[worst]:.0f} %: that noise "
        "hid everything at 150 and 2,000 is not found again. What divides the curves is where a run happened to end, not how much noise "
        "it had."
    )


def _error(found: Found, key: str) -> str:
    error = found.get(key, "error")
    return found.words(key, None if error is None else f"error {100 * error:.1f} %")


def _large(epsilon: float) -> str:
    return f"{epsilon:,.0f}" if epsilon < 1e5 else f"{epsilon:.3g}"
