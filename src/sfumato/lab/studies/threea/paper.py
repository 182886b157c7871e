"""What the paper prints: Table 1 (LightGBM; AUC, and accuracy for MNIST), and what is run here for each of its lines."""

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.lab.studies.threea.published_record import Published

COLUMNS = ("real", "dp-gan", "pate-gan", "ads-gan", "dp-merf", "clustmix")
TABLE_1: Mapping[str, tuple[float, ...]] = {
    "adult": (0.931, 0.511, 0.732, 0.821, 0.650, 0.863),
    "census": (0.952, 0.529, 0.544, 0.856, 0.686, 0.906),
    "credit": (0.973, 0.435, 0.739, 0.911, 0.772, 0.969),
    "isolet": (0.988, 0.618, 0.529, 0.924, 0.547, 0.903),
    "MIMIC-III mortality": (0.896, 0.632, 0.473, 0.530, 0.728, 0.749),
    "MIMIC-III length of stay": (0.728, 0.497, 0.501, 0.550, 0.508, 0.624),
    "mnist": (0.972, 0.403, 0.563, 0.710, 0.650, 0.818),
}
#: Its last line: the average difference to real.
DIFFERENCES = (0.0, 0.402, 0.337, 0.162, 0.271, 0.087)
#: Figure 3: accuracy at epsilon 0.2, with 20 digits in a mixture.
AT_A_FIFTH = 0.650


@dataclass(frozen=True, kw_only=True)
class PaperLine:
    """A figure of the paper, and what is run here for it.

    Attributes:
        name: As it is called here.
        published: What is run as published.
        sound: The dataset, and epsilon where it is not 1, of the sound methods beside it.
        printed: The figure of ClustMix; None where the paper's data are not public, and others stand in for them.
    """

    name: str
    published: Published
    sound: str
    printed: float | None


def _line(dataset: str, *, rounds: int = 30, seeds: int = 5) -> PaperLine:
    published = Published(dataset=dataset, rounds=rounds, seeds=seeds)
    printed = TABLE_1[dataset][-1] if dataset in TABLE_1 else None
    return PaperLine(name=dataset, published=published, sound=dataset, printed=printed)


LINES = (
    _line("adult"),
    _line("isolet"),
    _line("credit", rounds=8, seeds=1),
    _line("census", rounds=12),
    _line("diabetes130", rounds=6, seeds=3),
    _line("diabetes130-stay", rounds=12, seeds=3),
    PaperLine(
        name="mnist, mixtures of 118",
        published=Published(dataset="mnist", least=118, rounds=4, seeds=3),
        sound="mnist",
        printed=TABLE_1["mnist"][-1],
    ),
    PaperLine(
        name="mnist at 0.2, mixtures of 20",
        published=Published(dataset="mnist", epsilon=0.2, least=20, rounds=1, seeds=2),
        sound="mnist at 0.2",
        printed=AT_A_FIFTH,
    ),
)
#: What sound methods are run on.
DATASETS = tuple(dict.fromkeys(line.sound for line in LINES))
#: Here the default alone is run beside what was published.
DEFAULT_ALONE = ("diabetes130-stay", "mnist at 0.2")
