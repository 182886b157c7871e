"""Synthesizer keeps the manners of scikit-learn: its own checks say so, but for the one that would tell of rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import sfumato as sf
from command_line import SCHEMA, patients
from sfumato.errors import SchemaError
from sfumato.estimator import InputError

SCHEMA_OBJECT = sf.Schema.parse(SCHEMA)


class AnyArray(sf.Synthesizer):
    """The checks make up arrays of many shapes; here the schema is written to fit each of them, from its shape alone."""

    def fit(self, X, y=None):
        self.set_params(schema=_schema_of(X, with_target=y is not None))
        try:
            return super().fit(X, y)
        finally:
            self.set_params(schema=None)


def _schema_of(X, *, with_target: bool) -> sf.Schema:
    width = np.shape(X)[1] if np.ndim(X) == 2 else 1
    names = [str(name) for name in getattr(X, "columns", range(width))]
    columns = [sf.Column(name=name, kind="numeric", bounds=(-100, 100)) for name in names]
    grades = tuple(map(str, range(-3, 11)))
    target = [sf.Column(name="target", kind="ordinal", categories=grades, missing=True)] if with_target else []
    return sf.Schema(columns=(*columns, *target), target="target" if with_target else None)


def not_applicable(estimator) -> dict[str, str]:
    return {"check_estimators_empty_data_messages": "how many rows there are is private, so none are no error"}


@parametrize_with_checks(
    [AnyArray(method="independent-histograms")], expected_failed_checks=not_applicable, xfail_strict=True
)
def test_the_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


def synthesizer(**more) -> sf.Synthesizer:
    return sf.Synthesizer(schema=SCHEMA_OBJECT, epsilon=1, method="independent-histograms", **more)


def test_fit_and_sample_give_back_what_came_in() -> None:
    people = patients()
    fitted = synthesizer().fit(people.drop(columns="ill"), people["ill"])
    rows = fitted.sample(7)
    assert rows.columns.tolist() == people.columns.tolist()
    assert rows.dtypes.equals(people.dtypes)
    X, y = fitted.sample(7, return_X_y=True)
    pd.testing.assert_frame_equal(X.assign(ill=y), rows)
    assert fitted.certificate_.epsilon == 1.0
    assert fitted.feature_names_in_.tolist() == ["age", "weight", "town"]
    assert fitted.n_features_in_ == 3
    assert len(synthesizer().fit(people).sample()) == 400
    assert len(synthesizer().fit(people.drop(columns="ill").to_numpy(), people["ill"].to_numpy()).sample(2)) == 2


def test_parameters_are_read_set_and_cloned_without_what_was_fitted() -> None:
    fitted = synthesizer(random_state=3).fit(patients())
    assert fitted.certificate_.seed == 3
    other = clone(fitted).set_params(epsilon=4.0)
    assert other.get_params()["schema"] == SCHEMA_OBJECT
    assert (fitted.epsilon, other.epsilon) == (1, 4.0)
    with pytest.raises(NotFittedError):
        other.sample(1)
    assert len(repr(fitted)) < 200


def test_two_fits_have_noise_of_their_own() -> None:
    one, two = (synthesizer(random_state=3).fit(patients()).sample(50) for _ in range(2))
    assert not one.equals(two), "random_state must not fix the noise"


def test_what_cannot_be_fitted_is_said() -> None:
    with pytest.raises(SchemaError, match="needs a schema"):
        sf.Synthesizer().fit(patients())
    without = sf.Schema(columns=SCHEMA_OBJECT.columns)
    with pytest.raises(SchemaError, match="has no target"):
        sf.Synthesizer(without).fit(patients(), patients()["ill"])
    with pytest.raises(InputError, match="3 columns"):
        synthesizer().fit(np.zeros((5, 2)), np.zeros(5))
    fitted = sf.Synthesizer(without, method="independent-histograms").fit(patients())
    with pytest.raises(SchemaError, match="no target to give"):
        fitted.sample(1, return_X_y=True)
