"""Train a classifier on private rows, and predict with it: from private rows to a model that is itself released."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sfumato.errors import ModelError
from sfumato.fitted import Fitted
from sfumato.fitting import fit
from sfumato.folder.releasing import load_release
from sfumato.mechanism import Learner, Mechanism, learner_for
from sfumato.model import Classifier
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.sensitive import opened
from sfumato.private.intake.sources import open_source
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.schema.schema import Schema

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, repr=False)
class TrainedModel:
    """A classifier and the schema of the rows that it reads."""

    schema: Schema
    classifier: Classifier

    def __repr__(self) -> str:
        return f"<TrainedModel: predicts {self.schema.target!r} from {len(self.schema.features)} columns>"

    def predict(self, data: Any) -> pd.DataFrame:
        """For each row the likeliest class, under the name of the target, and the probability of every class.

        Args:
            data: A path, a frame, a table or a dict of arrays with the columns of the schema, as for `Sensitive.read`. The
                target need not be there, nor a person column. Nobody charges for these rows: they are the caller's own.
        """
        # Whoever predicts may not know the target, and protects nobody from himself.
        features = replace(self.schema.without_rules(), columns=self.schema.features, target=None, unit=PrivacyUnit())
        chunks = open_source(data, features).chunks([c.name for c in features.columns], rows=_ROWS_AT_ONCE)
        parts = [self.classifier.probabilities(conform(raw, features)) for raw in chunks]
        target = self.schema.require_coded_target()
        probabilities = np.concatenate([np.zeros((0, target.size)), *parts])
        likeliest = target.decode(probabilities.argmax(axis=1))
        names = (*target.categories, *(("(missing)",) if target.missing else ()))
        columns = {f"{target.name}={name}": column for name, column in zip(names, probabilities.T, strict=True)}
        return pd.DataFrame({target.name: likeliest, **columns})


@dataclass(frozen=True, repr=False)
class Trained(TrainedModel):
    """A model that was trained here: `fitted` has what `sfumato.release` writes."""

    fitted: Fitted

    def __repr__(self) -> str:
        return f"<Trained: {self.fitted.certificate.summary}>"

    def _repr_html_(self) -> str:
        return self.fitted.certificate._repr_html_()


def train(
    learner: Mechanism | str,
    data: Any,
    budget: Budget | float,
    *,
    schema: Schema | str | Path | None = None,
    seed: int | None = None,
    source: NoiseSource | None = None,
    engine: Any = None,
    ledger: Any = None,
    dataset: str | None = None,
    on_step: Callable[[str], None] = lambda name: None,
) -> Trained:
    """Train a classifier of the schema's target within the budget.

    The learner may be a name: `logistic`, `scattering`, `cnn`, or `auto` for the one that suits the schema. All else is as in
    `sfumato.fit`.
    """
    private = opened(data, schema)
    chosen = learner_for(learner, private.schema) if isinstance(learner, str) else learner
    if not isinstance(chosen, Learner):
        raise ModelError(f"{chosen.name} releases rows and trains no model. Use sfumato.fit.")
    fitted = fit(
        chosen,
        private,
        budget,
        seed=seed,
        source=source,
        engine=engine,
        ledger=ledger,
        dataset=dataset,
        on_step=on_step,
    )
    if not isinstance(fitted.model, Classifier):
        raise ModelError(f"{chosen.name} has built no classifier, though it is a learner.")
    return Trained(fitted.schema, fitted.model, fitted)


def load_model(path: str | Path) -> TrainedModel:
    """Read a trained model from its folder. It says nothing of whether the folder is to be believed: `verify` does."""
    released = load_release(path)
    return TrainedModel(released.schema, released.classifier())
