"""The three curves within classes: published, run here with fitted epochs, run here with nothing fitted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfumato.lab.studies.drawing import Curve, draw_curves
from sfumato.lab.studies.page import markdown_table
from sfumato.lab.studies.task import Found
from sfumato.lab.studies.thesis import published
from sfumato.lab.studies.thesis.claims import N_CLASSES, Classwise
from sfumato.lab.studies.thesis.nearness import unfitted

#: Epochs of the curve over noise, and of those over l and T, at the main run's rate. The thesis names none: FITTED to what it prints.
NOISE_EPOCHS, OTHER_EPOCHS = 2, 6


@dataclass(frozen=True, kw_only=True)
class PublishedCurve:
    """One of Figures 4.3 to 4.5: `name` in tables and keys, `across` on the axis, `file` in the picture's name."""

    name: str
    across: str
    file: str
    accuracies: Mapping[float, float] | Mapping[int, float]

    def key(self, at: float) -> str:
        """Of the task that runs a point."""
        return f"{self.name} {at:g}" if self.name == "noise" else f"{self.name} {at:.0f}"

    def setting(self, at: float) -> Classwise:
        """What the point releases."""
        if self.name == "noise":
            return Classwise(noise_stddev=at)
        return Classwise(degree=int(at)) if self.name == "l" else Classwise(copies=int(at) // N_CLASSES)


CURVES = (
    PublishedCurve(name="noise", across="standard deviation of the noise", file="noise", accuracies=published.BY_NOISE),
    PublishedCurve(name="l", across="digits in a mixture (l)", file="degree", accuracies=published.BY_DEGREE),
    PublishedCurve(
        name="T", across="mixtures, all classes together (T)", file="mixtures", accuracies=published.BY_MIXTURES
    ),
)


def published_points() -> dict[str, float]:
    """What the thesis prints, by the key of the point that has fitted epochs."""
    return {curve.key(at): accuracy for curve in CURVES for at, accuracy in curve.accuracies.items()}


def table_of_points(found: Found) -> str:
    """Every point that was run, both ways, with both epsilons."""
    cells = []
    for curve in CURVES:
        for at, accuracy in curve.accuracies.items():
            key, setting = curve.key(at), curve.setting(at)
            if key in found or unfitted(key) in found:
                cells.append(
                    (
                        f"{curve.name} {at:g}",
                        f"{100 * accuracy:.1f} %",
                        found.percent(key),
                        found.percent(unfitted(key)),
                        f"{setting.claimed():.2f}",
                        f"{setting.honest():.1f}",
                    )
                )
    headings = ("within classes", "published", "here, epochs fitted", "here, nothing fitted")
    return markdown_table((*headings, "claimed epsilon", "honest epsilon"), cells)


def draw_the_curves(found: Found, folder: Path) -> None:
    """A picture for each, with both epsilons on the second axis."""
    for curve in CURVES:
        places = list(curve.accuracies)
        draw_curves(
            folder / f"dpmix-thesis-{curve.file}.png",
            {
                "here, epochs fitted": _here(found, {at: curve.key(at) for at in places}),
                "published": (places, list(curve.accuracies.values())),
                "here, nothing fitted": _here(found, {at: unfitted(curve.key(at)) for at in places}),
            },
            x=curve.across,
            y="accuracy",
            right={
                "epsilon, honest": (places, [curve.setting(at).honest() for at in places]),
                "epsilon, claimed": (places, [curve.setting(at).claimed() for at in places]),
            },
            log_x=curve.name == "l",
        )


def _here(found: Found, keys: Mapping[float, str]) -> Curve:
    run: Iterable[float] = [at for at, key in keys.items() if key in found]
    return list(run), [found.get(keys[at], "accuracy") for at in run]
