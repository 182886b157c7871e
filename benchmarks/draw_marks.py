"""Draw docs/images/marks.png: made-up pictures beside what is released of them, plain and varied, at three epsilons."""

from pathlib import Path
from typing import Any

import numpy as np
from marks import KINDS, Marks
from numpy.typing import NDArray
from PIL import Image, ImageDraw

import sfumato as sf
from sfumato.extending import NoiseSource
from sfumato.mechanisms import ThreeAImage

OUT = Path(__file__).parents[1] / "docs" / "images" / "marks.png"
ROWS, EPSILONS, ZOOM, GAP, MARGIN = 10_000, (0.3, 1.0, 10.0), 2, 4, 150


def strips(images: NDArray[Any], labels: NDArray[np.int64], lines: int) -> NDArray[Any]:
    """So many lines, one column for each class."""
    found = [images[np.flatnonzero(labels == c)[:lines]] for c in range(len(KINDS))]
    return np.stack([np.concatenate([column[line] for column in found], axis=1) for line in range(lines)])


def drawn() -> list[tuple[str, NDArray[Any]]]:
    marks = Marks()
    rows, schema = marks.draw(ROWS, seed=1), marks.schema(ROWS)
    label = np.array([KINDS.index(str(name)) for name in rows["label"]])
    lines = [("real", line) for line in strips(rows["image"], label, 2)]
    for epsilon in EPSILONS:
        source = NoiseSource(research_seed=1)
        data, budget = sf.Sensitive.read(rows, schema), sf.Budget(epsilon=epsilon, delta=1e-6)
        fitted = sf.fit("auto", data, budget, seed=1, source=source)
        for alpha, name in ((0.0, "plain"), (1.0, "varied")):
            mechanism = ThreeAImage(alpha=alpha)
            some = mechanism.build(fitted.measurements, schema, seed=1).sample(400, seed=1)
            shown = strips(np.asarray(some.images), np.asarray(some.labels), 2)
            lines += [(f"{name}, epsilon {epsilon:g}", line) for line in shown]
    return lines


def main() -> None:
    lines = drawn()
    height, width = lines[0][1].shape
    sheet = Image.new("L", (MARGIN + ZOOM * width, len(lines) * (ZOOM * height + GAP)), 255)
    pen = ImageDraw.Draw(sheet)
    for at, (name, line) in enumerate(lines):
        top = at * (ZOOM * height + GAP)
        sheet.paste(
            Image.fromarray(line).resize((ZOOM * width, ZOOM * height), Image.Resampling.NEAREST), (MARGIN, top)
        )
        if at % 2 == 0:
            pen.text((4, top + ZOOM * height // 2), name, fill=0)
    sheet.save(OUT, optimize=True)


if __name__ == "__main__":
    main()
