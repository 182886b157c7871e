"""The study of the autoencoder report: reconstruction, noise in weights, classifiers, and `dp-syn` beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sfumato.lab.studies.autoencoder.networks import (
    accuracy,
    applied,
    linked_share,
    trained_autoencoder,
    trained_classifier,
    with_noisy_weights,
)
from sfumato.lab.studies.common.digits import Digits, DigitStudy, fewer_rows, sound_release
from sfumato.lab.studies.common.drawing import draw_sheet
from sfumato.lab.studies.common.study import Figures, Found, Line, Task
from sfumato.mechanisms.latent.dp_syn import DPSyn
from sfumato.present.pages import render
from sfumato.public.budget import Budget

WEIGHT_NOISE, CLASSIFIER_NOISE = 0.1, 0.05
#: The report names no epsilon, so the sound method is run at these.
SOUND_EPSILONS = (1.0, 8.0)
_DELTA = 1e-5
_SHOWN, _LINKED = 10, 1_000
_KEY = "as published"


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done: passes of the autoencoder and of the classifiers, over so many images in batches of so many."""

    images: int | None = None
    epochs: int = 100
    classifier_epochs: int = 50
    batch: int = 32
    sound: tuple[float, ...] = SOUND_EPSILONS


_QUICK = Sizes(images=6_000, epochs=8, classifier_epochs=3, batch=64, sound=SOUND_EPSILONS[:1])


@dataclass(frozen=True, kw_only=True)
class AutoencoderStudy(DigitStudy):
    """`sfumato study autoencoder`."""

    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "autoencoder"
    title: str = "Noise in the weights of an autoencoder"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """All of the report at once, then the sound method."""
        sizes = self.quick if quick else self.full
        sound = [Task(key=f"dp-syn {e:g}", run=partial(self._sound, sizes, epsilon=e)) for e in sizes.sound]
        return [Task(key=_KEY, run=partial(self._published, sizes)), *sound]

    def lines(self, found: Found) -> Sequence[Line]:
        """The report has two figures; which noise the second belongs to it does not say."""
        before, noisy, classifier = (found.percent(_KEY, n) for n in ("before", "noisy rows", "noisy classifier"))
        sound = "; ".join(f"`dp-syn` {found.percent(f'dp-syn {e:g}')} at {e:g}" for e in SOUND_EPSILONS)
        decoded = f"on decoded rows, weight noise {WEIGHT_NOISE:g}"
        later = f"classifier with weight noise {CLASSIFIER_NOISE:g}"
        return [
            Line(what="classifier on raw rows", published="93.6 %", here=before, honest="none"),
            Line(what=decoded, published="76.3 % after noise", here=noisy, honest="infinite", sound=sound),
            Line(what=later, published="the same figure, or none", here=classifier, honest="not bounded"),
        ]

    def story(self, found: Found, folder: Path) -> str:
        """What was done, and why it protects nobody."""
        error, run = found.get(_KEY, "mse"), [e for e in SOUND_EPSILONS if f"dp-syn {e:g}" in found]
        facts = {
            "found": found,
            "mse": found.words(_KEY, None if error is None else f"{error:.4f}"),
            "weight_noise": WEIGHT_NOISE,
            "classifier_noise": CLASSIFIER_NOISE,
            "sheets": "\n\n".join(f"![dp-syn at epsilon {e:g}](autoencoder-dp-syn-{e:g}.png)" for e in run),
        }
        return render("studies/autoencoder.md.jinja", facts)

    def _published(self, sizes: Sizes, folder: Path) -> Figures:
        train, test = self.digits[0].first(sizes.images), self.digits[1]
        coder = trained_autoencoder(train.rows, epochs=sizes.epochs, batch=sizes.batch)
        noisy = with_noisy_weights(coder, noise_stddev=WEIGHT_NOISE)
        seen, private = applied(coder, test.rows), applied(noisy, test.rows)
        plain = self._classifier(train.rows, train.labels, sizes)
        on_noisy = self._classifier(applied(noisy, train.rows), train.labels, sizes)
        noisy_plain = with_noisy_weights(plain, noise_stddev=CLASSIFIER_NOISE)
        some = train.first(_LINKED).rows
        released = applied(noisy, some)
        shown = {"real": test.rows, "decoded": seen, "with noise": private}
        sheet = {name: rows[:_SHOWN].reshape(-1, *test.images.shape[1:]) for name, rows in shown.items()}
        draw_sheet(folder / "autoencoder-published.png", sheet)
        return {
            "mse": round(float(((seen - test.rows) ** 2).mean()), 5),
            "before": round(accuracy(plain, test.rows, test.labels), 4),
            "noisy rows": round(accuracy(on_noisy, private, test.labels), 4),
            "noisy classifier": round(accuracy(noisy_plain, test.rows, test.labels), 4),
            "linked": round(linked_share(some, released, released), 4),
            "linked by the plain network": round(linked_share(some, released, applied(coder, some)), 4),
            "images": len(train),
        }

    def _sound(self, sizes: Sizes, folder: Path, *, epsilon: float) -> Figures:
        """`dp-syn`, and the report's classifier on as many of its rows as there are real ones."""
        benchmark, test = fewer_rows(self.benchmark, train=sizes.images), self.digits[1]
        budget = Budget(epsilon=epsilon, delta=_DELTA)
        made = sound_release(DPSyn(), benchmark, budget, synthetic_rows=benchmark.schema.rows)
        drawn = Digits(made.batch[benchmark.schema.images[0].name], made.label)
        classifier = self._classifier(drawn.rows, drawn.labels, sizes)
        draw_sheet(folder / f"autoencoder-dp-syn-{epsilon:g}.png", {f"dp-syn, {epsilon:g}": drawn.one_of_each()})
        return {"accuracy": round(accuracy(classifier, test.rows, test.labels), 4), "images": len(drawn)}

    def _classifier(self, rows: Any, labels: Any, sizes: Sizes) -> Any:
        epochs, batch = sizes.classifier_epochs, sizes.batch
        return trained_classifier(rows, labels, n_classes=self.n_classes, epochs=epochs, batch=batch)
