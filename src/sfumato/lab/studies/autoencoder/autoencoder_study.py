"""The study of the autoencoder report: reconstruction, noise in weights, classifiers, and `dp-syn` beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from sfumato.lab.benchmark.datasets import Benchmark, load
from sfumato.lab.studies.autoencoder.linking import linked_share
from sfumato.lab.studies.autoencoder.networks import (
    accuracy,
    applied,
    trained_autoencoder,
    trained_classifier,
    with_noisy_weights,
)
from sfumato.lab.studies.autoencoder.story import CLASSIFIER_NOISE, SOUND_EPSILONS, WEIGHT_NOISE, lines_of, story_of
from sfumato.lab.studies.digits import Digits, digits_of
from sfumato.lab.studies.drawing import draw_sheet
from sfumato.lab.studies.fewer import fewer_rows
from sfumato.lab.studies.sound import sound_release
from sfumato.lab.studies.task import Figures, Found, Line, Task
from sfumato.mechanisms.latent.dp_syn import DPSyn
from sfumato.public.budget import Budget

_SHOWN = 10
_LINKED = 1_000
_DELTA = 1e-5


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
class AutoencoderStudy:
    """`sfumato study autoencoder`."""

    dataset: str = "mnist"
    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "autoencoder"
    title: str = "Noise in the weights of an autoencoder"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """All of the report at once, then the sound method."""
        sizes = self.quick if quick else self.full
        return [
            Task(key="as published", run=partial(self._published, sizes)),
            *(
                Task(key=f"dp-syn {epsilon:g}", run=partial(self._sound, sizes, epsilon=epsilon))
                for epsilon in sizes.sound
            ),
        ]

    def lines(self, found: Found) -> Sequence[Line]:
        """Before noise, and after either noise."""
        return lines_of(found)

    def story(self, found: Found, folder: Path) -> str:
        """What was done, and why it protects nobody."""
        return story_of(found)

    def _published(self, sizes: Sizes, folder: Path) -> Figures:
        train, test = _digits(self.dataset)
        train = train.first(sizes.images)
        coder = trained_autoencoder(train.rows, epochs=sizes.epochs, batch=sizes.batch)
        noisy = with_noisy_weights(coder, noise_stddev=WEIGHT_NOISE)
        seen, private = applied(coder, test.rows), applied(noisy, test.rows)
        plain = self._classifier(train.rows, train.labels, sizes)
        on_noisy = self._classifier(applied(noisy, train.rows), train.labels, sizes)
        some = train.first(_LINKED).rows
        side = test.images.shape[1:]
        shown = {
            "real": test.images[:_SHOWN],
            "decoded": seen[:_SHOWN].reshape(-1, *side),
            "with noise": private[:_SHOWN].reshape(-1, *side),
        }
        draw_sheet(folder / "autoencoder-published.png", shown)
        return {
            "mse": round(float(((seen - test.rows) ** 2).mean()), 5),
            "before": round(accuracy(plain, test.rows, test.labels), 4),
            "noisy rows": round(accuracy(on_noisy, private, test.labels), 4),
            "noisy classifier": round(
                accuracy(with_noisy_weights(plain, noise_stddev=CLASSIFIER_NOISE), test.rows, test.labels), 4
            ),
            "linked": round(linked_share(some, applied(noisy, some), applied(noisy, some)), 4),
            "linked by the plain network": round(linked_share(some, applied(noisy, some), applied(coder, some)), 4),
            "images": len(train),
        }

    def _sound(self, sizes: Sizes, folder: Path, *, epsilon: float) -> Figures:
        """`dp-syn`, and the report's classifier on as many of its rows as there are real ones."""
        benchmark, (_, test) = fewer_rows(_benchmark(self.dataset), train=sizes.images), _digits(self.dataset)
        budget = Budget(epsilon=epsilon, delta=_DELTA)
        made = sound_release(DPSyn(), benchmark, budget, synthetic_rows=benchmark.schema.rows)
        images = made.batch[benchmark.schema.images[0].name]
        classifier = self._classifier(images.reshape(len(images), -1), made.label, sizes)
        draw_sheet(
            folder / f"autoencoder-dp-syn-{epsilon:g}.png",
            {f"dp-syn, {epsilon:g}": Digits(images, made.label).one_of_each()},
        )
        return {"accuracy": round(accuracy(classifier, test.rows, test.labels), 4), "images": len(images)}

    def _classifier(self, rows: Any, labels: Any, sizes: Sizes) -> Any:
        n_classes = _benchmark(self.dataset).schema.require_coded_target().size
        return trained_classifier(rows, labels, n_classes=n_classes, epochs=sizes.classifier_epochs, batch=sizes.batch)


@cache
def _benchmark(dataset: str) -> Benchmark:
    return load(dataset)


@cache
def _digits(dataset: str) -> tuple[Digits, Digits]:
    return digits_of(_benchmark(dataset), "train"), digits_of(_benchmark(dataset), "test")
