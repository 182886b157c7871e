"""The study of the report on Opacus: plain and private training as published, and the sound learner."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sfumato.lab.studies.common.digits import DigitStudy, fewer_rows
from sfumato.lab.studies.common.drawing import draw_curves, draw_sheet
from sfumato.lab.studies.common.study import Figures, Found, Line, Task, markdown_table
from sfumato.lab.studies.opacus_report import claims
from sfumato.lab.studies.opacus_report.claims import BATCH, DELTA, EPOCHS, NOISE_MULTIPLIER, PUBLISHED
from sfumato.lab.studies.opacus_report.shuffled_sgd import Trainer
from sfumato.mechanisms.learners.cnn import Cnn
from sfumato.present.pages import render
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import Budget
from sfumato.training import train

_SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done: images, passes over them, images in a batch, and what is tested on."""

    images: int | None = None
    epochs: int = EPOCHS
    batch: int = BATCH
    test_images: int | None = None
    learner: Cnn = field(default=Cnn())


_QUICK = Sizes(images=6_000, epochs=3, test_images=4_000, learner=Cnn(batch=400, epochs=3.0))


@dataclass(frozen=True, kw_only=True)
class OpacusStudy(DigitStudy):
    """`sfumato study opacus`."""

    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "opacus"
    title: str = "DP-SGD with shuffled batches: a report on Opacus"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """Plain, private as published, private and sound."""
        sizes = self.quick if quick else self.full
        return [
            Task(key="plain", run=partial(self._trained, sizes, noise_multiplier=None)),
            Task(key="private", run=partial(self._trained, sizes, noise_multiplier=NOISE_MULTIPLIER)),
            Task(key="sound", run=partial(self._sound, sizes)),
        ]

    def lines(self, found: Found) -> Sequence[Line]:
        """Both trainings."""
        published = f"{100 * claims.PUBLISHED_PLAIN:.1f} %"
        return [
            Line(what="plain", published=published, here=found.percent("plain"), honest="none"),
            Line(
                what="private",
                published=f"{100 * claims.PUBLISHED_ACCURACY:.1f} % at {PUBLISHED[-1]}",
                here=found.percent("private"),
                honest=f"{claims.lower_bound(EPOCHS):.2f} to {claims.upper_bound(EPOCHS):.1f}",
                sound=found.percent("sound"),
            ),
        ]

    def story(self, found: Found, folder: Path) -> str:
        """What was done, and what its epsilon is."""
        for figure, y in (("accuracies", "accuracy on test digits"), ("losses", "loss")):
            curves = found.curves({"private": "private", "plain": "plain"}, figure)
            if curves:
                draw_curves(folder / f"opacus-{figure}.png", curves, x="epoch", y=y)
        epochs = list(range(1, EPOCHS + 1))
        bounds = {"at least": claims.lower_bound, "claimed": claims.claimed_epsilon, "at most": claims.upper_bound}
        by_epoch = {name: (epochs, [bound(e) for e in epochs]) for name, bound in bounds.items()}
        draw_curves(folder / "opacus-epsilon.png", by_epoch, x="epoch", y="epsilon", log_y=True)
        columns = [PUBLISHED, *(by_epoch[name][1] for name in ("claimed", "at least", "at most"))]
        table = [(str(e), *(f"{column[e - 1]:.2f}" for column in columns)) for e in epochs]
        facts = {
            "between_epochs": _between_epochs(found),
            "least": [f"{least:.2f}" for least in by_epoch["at least"][1]],
            "with_coins": f"{claims.with_coins(EPOCHS):.2f}",
            "most": f"{claims.upper_bound(EPOCHS):.1f}",
            "table": markdown_table(("epoch", "printed", "claimed, computed here", "at least", "at most"), table),
        }
        return render("studies/opacus.md.jinja", facts)

    def _trained(self, sizes: Sizes, folder: Path, *, noise_multiplier: float | None) -> Figures:
        train_digits, test = self.digits[0].first(sizes.images), self.digits[1].first(sizes.test_images)
        trainer = Trainer(train_digits, batch=sizes.batch, noise_multiplier=noise_multiplier)
        losses, accuracies = [], []
        for _ in range(sizes.epochs):
            losses.append(round(trainer.epoch(), 4))
            accuracies.append(round(trainer.accuracy(test), 4))
        shown = test.images[:_SHOWN]
        one, two = trainer.activations(shown)
        name = "plain" if noise_multiplier is None else "private"
        sheet = {"digits": shown, "first convolution": one, "second convolution": two}
        draw_sheet(folder / f"opacus-{name}.png", sheet)
        return {"accuracy": accuracies[-1], "accuracies": accuracies, "losses": losses, "images": len(train_digits)}

    def _sound(self, sizes: Sizes, folder: Path) -> Figures:
        """`cnn` of this package: rows take part by coins of their own, and that is what is booked."""
        benchmark = fewer_rows(self.benchmark, train=sizes.images)
        schema, budget = benchmark.schema, Budget(epsilon=PUBLISHED[-1], delta=DELTA)
        trained = train(sizes.learner, Sensitive.read(benchmark.train, schema), budget, seed=0)
        test, image = self.digits[1].first(sizes.test_images), schema.images[0]
        pixels = {image.name: image.low + test.images * (image.high - image.low)}
        named = trained.classifier.probabilities(pixels).argmax(axis=1)
        return {"accuracy": round(float((named == test.labels).mean()), 4), "images": schema.rows}


def _between_epochs(found: Found) -> str:
    """The last epoch is what is told, and it may be a poor one."""
    each = found.get("plain", "accuracies")
    if not each:
        return ""
    return (
        f"The table has the accuracy after the last epoch. That of the plain network goes up and down between epochs, from "
        f"{100 * min(each):.1f} % to {100 * max(each):.1f} %."
    )
