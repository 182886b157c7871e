"""The study of the autoencoder report: its program as it is, the groups that it names, and `dp-syn` beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from sfumato.lab.benchmark.examples import real_examples
from sfumato.lab.benchmark.learners import train_and_predict
from sfumato.lab.studies.autoencoder.clusters import kmeans_groups
from sfumato.lab.studies.autoencoder.listing import CLASSIFIER_NOISE, WEIGHT_NOISE, Program, run_listing
from sfumato.lab.studies.autoencoder.story import (
    CEILING,
    ERROR,
    LISTING,
    MOST_EPSILON,
    accuracy,
    each,
    facts_of,
    is_drawn,
    picture,
    reconstruction,
)
from sfumato.lab.studies.common.digits import Digits, DigitStudy, fewer_rows, sound_release
from sfumato.lab.studies.common.drawing import draw_curves, draw_sheet
from sfumato.lab.studies.common.study import Figures, Found, Line, Task
from sfumato.mechanisms.latent.dp_syn import DPSyn
from sfumato.present.pages import render
from sfumato.public.budget import Budget

#: The report names no epsilon, so the sound method is run at these.
SOUND_EPSILONS = (1.0, MOST_EPSILON)
_DELTA = 1e-5
#: What the report describes, by the name of its points: the linear autoencoder, a network, a variational one, groups by k-means.
SOUND: Mapping[str, DPSyn] = {
    "dp-syn": DPSyn(),
    "dp-syn, network": DPSyn(encoder="network"),
    "dp-syn, variational": DPSyn(encoder="variational"),
    "dp-syn, clusters": DPSyn(groups="clusters"),
}


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is done: the program, clusters of so many seeds, and releases with so many seeds and steps of a network.

    `seeds` are those of `dp-syn` itself, `others` those of its other encoders and groups.
    """

    program: Program = field(default=Program())
    clusterings: int = 5
    epsilons: tuple[float, ...] = SOUND_EPSILONS
    sound: tuple[str, ...] = tuple(SOUND)
    seeds: int = 5
    others: int = 1
    n_steps: int | None = None
    ceiling: bool = True


_QUICK = Sizes(
    program=Program(images=4_000, epochs=6, classifier_epochs=2, runs=1, draws=2),
    clusterings=1,
    sound=("dp-syn", "dp-syn, clusters"),
    seeds=1,
    ceiling=False,
)


@dataclass(frozen=True, kw_only=True)
class AutoencoderStudy(DigitStudy):
    """`sfumato study autoencoder`."""

    full: Sizes = field(default=Sizes())
    quick: Sizes = field(default=_QUICK)
    name: str = "autoencoder"
    title: str = "Noise in the weights of an autoencoder"

    def tasks(self, *, quick: bool) -> Sequence[Task]:
        """The program at once, k-means, then the sound method."""
        sizes = self.quick if quick else self.full
        sound = [
            Task(key=f"{name} at {e:g}, seed {seed}", run=partial(self._sound, sizes, name, epsilon=e, seed=seed))
            for name in sizes.sound
            for e in sizes.epsilons
            for seed in range(sizes.seeds if name == "dp-syn" else sizes.others)
        ]
        real = Task(key="real rows", run=partial(self._real, sizes))
        clusters = Task(key="k-means", run=partial(self._clusters, sizes))
        if sizes.ceiling:
            most = partial(self._sound, sizes, "dp-syn", epsilon=CEILING, seed=0)
            sound.append(Task(key=f"dp-syn at {CEILING:g}, seed 0", run=most))
        return [Task(key=LISTING, run=partial(self._published, sizes)), clusters, real, *sound]

    def lines(self, found: Found) -> Sequence[Line]:
        """The report has three figures; which model and which noise the accuracies belong to it does not say."""
        sound = "; ".join(f"{found.percent(f'dp-syn at {e:g}')} at {e:g}" for e in SOUND_EPSILONS)
        clusters = "; ".join(f"{found.percent(f'dp-syn, clusters at {e:g}')} at {e:g}" for e in SOUND_EPSILONS)
        decoded = f"`testmodel`, of rows decoded with noise {WEIGHT_NOISE:g}"
        later = f"with noise {CLASSIFIER_NOISE:g}"
        return [
            Line("reconstruction error", f"{ERROR:g}", reconstruction(found), "none"),
            Line(decoded, "93.6 %", accuracy(found, "noisy"), "infinite", sound),
            Line(
                f"the same, {later} in the three layers that are set",
                "none",
                accuracy(found, "noisy", "three layers"),
                "infinite",
            ),
            Line(
                f"the same, {later} in all five",
                "76.27 %, or none",
                accuracy(found, "noisy", "five layers"),
                "infinite",
            ),
            Line("`truemodel`, of raw rows", "none", accuracy(found, "raw"), "none"),
            Line(
                f"the same, {later} in all five layers",
                "76.27 %, or none",
                accuracy(found, "raw", "five layers"),
                "not bounded",
            ),
            Line(
                "rows with the digit of their k-means group",
                "none",
                each(found, "k-means", "pure"),
                "infinite",
                clusters,
            ),
        ]

    def story(self, found: Found, folder: Path) -> str:
        """What was done, and why it protects nobody."""
        losses = found.get(LISTING, "mse by epoch")
        if losses:
            epochs = list(range(1, 1 + len(losses)))
            curves = {
                "test rows, mean of all runs": (epochs, losses),
                "the report's last line": (epochs, [ERROR] * len(epochs)),
            }
            draw_curves(folder / "autoencoder-losses.png", curves, x="epoch", y="mean squared error")
        return render("studies/autoencoder.md.jinja", facts_of(found, sound=SOUND, epsilons=SOUND_EPSILONS))

    def _published(self, sizes: Sizes, folder: Path) -> Figures:
        return run_listing(sizes.program, *self.digits, n_classes=self.n_classes, folder=folder)

    def _clusters(self, sizes: Sizes, folder: Path) -> Figures:
        train = self.digits[0].first(sizes.program.images)
        return kmeans_groups(train, n_groups=self.n_classes, seeds=sizes.clusterings)

    def _real(self, sizes: Sizes, folder: Path) -> Figures:
        """Logistic regression on the rows themselves: what a release could reach at most."""
        benchmark = fewer_rows(self.benchmark, train=sizes.program.images)
        train, test = (real_examples(part, benchmark.schema) for part in (benchmark.train, benchmark.test))
        said = train_and_predict("logistic", train, test, benchmark.schema).argmax(axis=1)
        return {"accuracy": round(float((said == test.label).mean()), 4), "images": len(train.label)}

    def _sound(self, sizes: Sizes, name: str, folder: Path, *, epsilon: float, seed: int) -> Figures:
        """A release, and logistic regression on as many of its rows as there are real ones."""
        benchmark = fewer_rows(self.benchmark, train=sizes.program.images)
        mechanism = SOUND[name] if sizes.n_steps is None else replace(SOUND[name], n_steps=sizes.n_steps)
        budget = Budget(epsilon=epsilon, delta=_DELTA)
        made = sound_release(mechanism, benchmark, budget, synthetic_rows=benchmark.schema.rows, seed=seed)
        test = real_examples(benchmark.test, benchmark.schema)
        said = train_and_predict("logistic", made, test, benchmark.schema, seed=seed).argmax(axis=1)
        if seed == 0 and epsilon in SOUND_EPSILONS and is_drawn(name, epsilon):
            drawn = Digits(made.batch[benchmark.schema.images[0].name], made.label)
            draw_sheet(folder / picture(name, epsilon), {f"epsilon {epsilon:g}": drawn.one_of_each()})
        return {"accuracy": round(float((said == test.label).mean()), 4), "images": len(made.label)}
