"""An answer: for every group an estimate with its interval, beside what the synthetic rows say, or why nothing can be said."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

import pandas as pd

CANNOT = "cannot be said"
POPULATION = "the population that the private rows are a sample of"
ROWS = "the private rows themselves"


@dataclass(frozen=True)
class Estimate:
    """One number. `low` and `high` hold the true one with the promised probability; `naive` is that of the synthetic rows.

    `from_noise`, `from_model` and `from_sampling` are the shares of the squared error that each is expected to have. Where nothing
    can be said, `why` is a sentence and all numbers but the naive one are None.
    """

    group: tuple[str, ...]
    value: float | None
    low: float | None
    high: float | None
    naive: float | None
    why: str = ""
    from_noise: float | None = None
    from_model: float | None = None
    from_sampling: float | None = None


@dataclass(frozen=True, repr=False)
class Answer:
    """The answer to a question.

    Attributes:
        question: As it was asked.
        confidence: How often such intervals hold the truth.
        of: What the truth is: the private rows themselves, or the population that they are a sample of.
        by: The columns whose groups are told apart.
        estimates: One for every group.
    """

    question: str
    confidence: float
    of: str
    by: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    of_dates: bool = False

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __getitem__(self, at: int) -> Estimate:
        return self.estimates[at]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        facts = {"question": self.question, "confidence": self.confidence, "of": self.of, "by": list(self.by)}
        return {**facts, "estimates": [{**asdict(one), "group": list(one.group)} for one in self.estimates]}

    def to_frame(self) -> pd.DataFrame:
        """A row for every group."""
        groups = pd.DataFrame([dict(zip(self.by, one.group, strict=True)) for one in self.estimates])
        numbers = pd.DataFrame(
            [{k: getattr(one, k) for k in ("value", "low", "high", "naive", "why")} for one in self.estimates]
        )
        return pd.concat([groups, numbers], axis=1)

    def shown(self, number: float | None) -> str:
        """A number as people read it."""
        if number is None:
            return ""
        if self.of_dates:
            return datetime.fromtimestamp(number, UTC).strftime("%Y-%m-%d %H:%M")
        return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.4g}"

    def lines(self) -> list[tuple[str, str, str, str]]:
        """For every group its name, the estimate, the interval and the naive number, as texts."""
        out = []
        for one in self.estimates:
            name = ", ".join(one.group)
            if one.value is None:
                out.append((name, f"{CANNOT}: {one.why}", "", self.shown(one.naive)))
            else:
                out.append(
                    (
                        name,
                        self.shown(one.value),
                        f"{self.shown(one.low)} to {self.shown(one.high)}",
                        self.shown(one.naive),
                    )
                )
        return out

    def __repr__(self) -> str:
        told = "; ".join(
            f"{name + ': ' if name else ''}{value}{f' ({span})' if span else ''}"
            for name, value, span, _ in self.lines()
        )
        return f"<Answer: {self.question} = {told}>"

    def _repr_html_(self) -> str:
        words = (", ".join(self.by), "estimate", f"{self.confidence:.0%} interval", "synthetic rows")
        head = "".join(f"<th>{escape(word)}</th>" for word in words)
        body = "".join("<tr>" + "".join(f"<td>{escape(text)}</td>" for text in line) + "</tr>" for line in self.lines())
        return f"<p>{escape(self.question)}, of {escape(self.of)}</p><table><tr>{head}</tr>{body}</table>"
