"""What private rows say of a rule: every row as long as the noise allows, none longer."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
import twins
from sfumato.mechanisms import ThreeATable
from sfumato.mechanisms.common.logistic import error_bound

LETTERS = tuple("abcdef")


@dataclass(frozen=True, kw_only=True)
class Watched(ThreeATable):
    """Keeps what rows say to the teacher."""

    name: ClassVar[str] = "watched-table"
    said: ClassVar[list[dict[str, np.ndarray]]] = []

    def measure(self, view, schema):
        said = self.said

        class Watching(twins.Through):
            def noisy_sum(self, step, per_record):
                def watched(batch):
                    rows = per_record(batch)
                    said.append({name: np.asarray(values) for name, values in rows.items()})
                    return rows

                return self.view.noisy_sum(step, watched if step == "teacher" else per_record)

        return super().measure(Watching(view), schema)


def table(n_classes: int) -> tuple[pd.DataFrame, sf.Schema]:
    rng = np.random.default_rng(0)
    rare = {f"rare{j}": rng.choice(LETTERS, 4_000, p=[0.8, 0.1, 0.04, 0.03, 0.02, 0.01]) for j in range(6)}
    x = rng.normal(size=4_000)
    noise = rng.gumbel(size=(4_000, n_classes))
    y = np.argmax(noise + np.outer(x, np.arange(n_classes)), axis=1)
    columns = [sf.Column(name=name, kind="categorical", categories=LETTERS) for name in rare]
    columns.append(sf.Column(name="x", kind="numeric", bounds=(-5, 5)))
    columns.append(sf.Column(name="y", kind="categorical", categories=tuple("ABCD"[:n_classes])))
    frame = pd.DataFrame({**rare, "x": x, "y": np.array(list("ABCD"))[y]})
    return frame, sf.Schema(columns=tuple(columns), target="y", rows=4_000)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_are_as_long_as_their_bound_where_the_rule_is_wrong_and_never_longer(n_classes: int) -> None:
    frame, schema = table(n_classes)
    Watched.said.clear()
    fitted = sf.fit(Watched(), sf.Sensitive.read(frame, schema), sf.Budget(epsilon=20.0, delta=1e-5), seed=0)
    (step,) = [step for step in fitted.plan.steps if step.name == "teacher"]
    bounds = {block.name: block.l2_bound for block in step.blocks}
    n_sets = 1 if n_classes == 2 else n_classes
    private = [rows for rows in Watched.said if len(rows["bins"]) > 1_000]  # not what doors try maps on
    assert private
    for rows in private:
        at = rows["bins"]
        if n_classes == 2:
            named = (at[:, :-1] >= 0).sum(axis=1)
            lengths = np.abs(at[:, -1]) * np.sqrt(named)
        else:
            named = np.count_nonzero(at[:, n_sets:], axis=1)
            lengths = np.linalg.norm(at[:, :n_sets], axis=1) * np.linalg.norm(at[:, n_sets:], axis=1)
        assert named.max() > 2 * named[named > 0].min()  # rows that name many bins, and few
        assert lengths.max() <= bounds["bins"] * (1 + 1e-9)
        # Whatever a row names, it is as long as its error: the rarest class makes it reach the bound.
        for n_named in np.unique(named[named > 0]):
            some = lengths[named == n_named]
            assert len(some) < 100 or some.max() > 0.95 * bounds["bins"]
        # What is summed over all rows is hardly clipped.
        longer = np.linalg.norm(rows["everywhere"], axis=1) > error_bound(n_sets) * (1 + 1e-9)
        assert longer.mean() < 0.1


@pytest.mark.slow
def test_rows_of_a_scarce_class_stay_so_however_labels_are_drawn() -> None:
    """The rule has seen nothing of twelve rows among 12,000, and would give their label to others."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 12_000, p=(0.6, 0.4, 0.0))
    y[:12] = 2
    frame = pd.DataFrame({f"x{j}": rng.normal(size=12_000) + (y == 1) for j in range(6)})
    frame["y"] = np.array(list("ABC"))[y]
    columns = [sf.Column(name=f"x{j}", kind="numeric", bounds=(-5, 5)) for j in range(6)]
    columns.append(sf.Column(name="y", kind="categorical", categories=tuple("ABC")))
    schema = sf.Schema(columns=tuple(columns), target="y", rows=12_000)
    model = sf.fit(ThreeATable(), sf.Sensitive.read(frame, schema), sf.Budget(epsilon=1.0, delta=1e-5), seed=0).model
    population, labels = model.fitted.population, model.fitted.labels
    for scores in (labels.generator, labels.corrected):
        likeliest = np.argmax(scores, axis=1)
        assert (likeliest[population.labels == 2] == 2).all()
        assert (likeliest[population.labels != 2] == 2).mean() < 0.01
