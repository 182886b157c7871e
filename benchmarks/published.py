"""Ours beside published figures, at their delta and by their rule: the mean of three classifiers, or XOR of several columns.

    python benchmarks/published.py --only mnist fashion-mnist --epsilon .2 1 10 > results/published.jsonl
    python benchmarks/published.py --only xor --seeds 5 >> results/published.jsonl

Pictures: delta is 1 / (n ln n) for n training pictures. The benchmark that the published figures come from trains a residual
network, a wide one and one of grouped convolutions on n released pictures and gives the mean of their accuracies on the real test
set; so does this, with smaller networks of the same three kinds, and once more on all pictures that a release has by default, in
training that looks at as many. Columns: the target is the XOR of 3 to 7 of ten yes-or-no columns with one label in twenty flipped,
20,000 rows, delta 1e-5, LightGBM. Prints one JSON object a line.
"""

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sfumato as sf
from sfumato.lab.benchmark import load
from sfumato.learn.boosted_trees import need_lightgbm
from sfumato.public.machine.torch_extra import default_device, need_torch

#: Pictures that training looks at, however many there are: 15 times each of 60,000, 3 times each of 300,000.
LOOKS, BATCH, RATE = 900_000, 512, 3e-3
#: Channels of the first stage, and groups of a convolution.
NETWORKS = {"residual": (32, 1), "wide": (64, 1), "grouped": (64, 8)}
XOR_ROWS, XOR_COLUMNS, FLIPPED = 20_000, 10, 0.05


def network(torch: Any, *, width: int, groups: int, channels: int, classes: int) -> Any:
    """Three stages of two residual blocks each, every stage with twice the channels and half the side of the one before."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.way = nn.Sequential(
                nn.BatchNorm2d(before), nn.ReLU(), nn.Conv2d(before, after, 3, stride, 1, bias=False),
                nn.BatchNorm2d(after), nn.ReLU(), nn.Conv2d(after, after, 3, 1, 1, groups=groups, bias=False),
            )  # fmt: skip
            self.past = nn.Identity() if before == after else nn.Conv2d(before, after, 1, stride, bias=False)

        def forward(self, x: Any) -> Any:
            return self.past(x) + self.way(x)

    sizes = [width, 2 * width, 4 * width]
    blocks, before = [nn.Conv2d(channels, width, 3, 1, 1, bias=False)], width
    for stage, after in enumerate(sizes):
        blocks += [Block(before, after, 1 if stage == 0 else 2), Block(after, after, 1)]
        before = after
    return nn.Sequential(
        *blocks, nn.BatchNorm2d(before), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)
    )


def accuracy(
    kind: str, images: NDArray[Any], soft: NDArray[Any], test: NDArray[Any], truth: Any, *, seed: int
) -> float:
    """Of one of the networks, trained on released pictures with their soft labels."""
    torch, device = need_torch("published figures"), default_device()
    torch.manual_seed(seed)
    width, groups = NETWORKS[kind]
    model = network(torch, width=width, groups=groups, channels=1, classes=soft.shape[1]).to(device)
    model = model.to(memory_format=torch.channels_last)  # twice as fast on a GPU
    pictures, asked = (
        torch.from_numpy(np.array(part)).to(device).float().div(255).unsqueeze(1) for part in (images, test)
    )
    targets = torch.from_numpy(soft).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    epochs = max(1, round(LOOKS / len(pictures)))
    steps = epochs * -(-len(pictures) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=RATE, total_steps=steps)
    for _ in range(epochs):
        for chosen in torch.randperm(len(pictures), device=device).split(BATCH):
            optimiser.zero_grad()
            with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(model(pictures[chosen]), targets[chosen])
            loss.backward()
            optimiser.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        said = torch.cat([model(part).argmax(dim=1) for part in asked.split(1024)]).cpu().numpy()
    return float((said == truth).mean())


def of_pictures(name: str, epsilon: float, seed: int, *, rows: int | None = None) -> Iterator[dict[str, Any]]:
    """Twice for a release: as many pictures as there were, and as many as it has by default."""
    data = load(name)
    n = rows or len(data.train["label"])
    train = {key: np.asarray(values)[:n] for key, values in data.train.items()}
    delta = 1 / (n * math.log(n))
    schema = replace(data.schema, rows=n)
    fitted = sf.fit("auto", sf.Sensitive.read(train, schema), sf.Budget(epsilon=epsilon, delta=delta), seed=seed)
    test, truth = np.asarray(data.test["image"]), np.asarray(data.test["label"]).astype(np.int64)
    for asked in (n, None):
        start, got = time.perf_counter(), fitted.sample(asked, seed=seed)
        images, soft = np.asarray(got.images), got.soft_labels
        found = {kind: round(accuracy(kind, images, soft, test, truth, seed=seed), 4) for kind in NETWORKS}
        mean, taken = round(float(np.mean(list(found.values()))), 4), round(time.perf_counter() - start)
        of = {"data": name, "epsilon": epsilon, "delta": delta, "rows": n, "released": len(images), "seed": seed}
        yield {**of, **found, "mean": mean, "seconds": taken}


def of_xor(seed: int, *, epsilon: float = 1.0) -> Iterator[dict[str, Any]]:
    for among in range(3, 8):
        rng = np.random.default_rng([among, 0])
        x = rng.random((XOR_ROWS + 5_000, XOR_COLUMNS)) < 0.5
        y = (x[:, :among].sum(axis=1) % 2 == 1) ^ (rng.random(len(x)) < FLIPPED)
        columns = [sf.Column(name=f"x{j}", kind="boolean") for j in range(XOR_COLUMNS)]
        schema = sf.Schema(columns=(*columns, sf.Column(name="y", kind="boolean")), target="y", rows=XOR_ROWS)
        values = {f"x{j}": x[:XOR_ROWS, j] for j in range(XOR_COLUMNS)} | {"y": y[:XOR_ROWS]}
        fitted = sf.fit("auto", sf.Sensitive.read(values, schema), sf.Budget(epsilon=epsilon, delta=1e-5), seed=seed)
        got = fitted.sample(XOR_ROWS, seed=seed).table
        learner = need_lightgbm().LGBMClassifier(verbose=-1, n_jobs=1, random_state=seed)
        learner.fit(got.drop(columns="y").to_numpy(dtype=float), got["y"].to_numpy(dtype=bool))
        said = learner.predict(x[XOR_ROWS:].astype(float))
        score = round(float((said == y[XOR_ROWS:]).mean()), 4)
        yield {"data": "xor", "columns": among, "epsilon": epsilon, "delta": 1e-5, "seed": seed, "accuracy": score}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["mnist", "fashion-mnist", "xor"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[1.0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    for seed in range(options.first, options.first + options.seeds):
        for name in options.only:
            runs = of_xor(seed) if name == "xor" else (r for e in options.epsilon for r in of_pictures(name, e, seed))
            for run in runs:
                print(json.dumps(run), flush=True)


if __name__ == "__main__":
    main()
