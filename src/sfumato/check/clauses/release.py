"""What is handed on: it survives any rows, holds none of them, and works without the data."""

import contextlib
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.check.instruments import rows as made
from sfumato.check.instruments.canonical import arrays_in, leaves
from sfumato.check.instruments.files import holding, no_files, own_folders, seen_in, shared_places
from sfumato.check.instruments.outcome import cached_by
from sfumato.check.instruments.recorder import Record
from sfumato.check.instruments.setting import Setting
from sfumato.check.instruments.watch import watched
from sfumato.errors import ContractError
from sfumato.folder.releasing import load_release, release
from sfumato.mechanism import registered_names
from sfumato.model import Classifier, Product
from sfumato.private.doors_only import doors_of
from sfumato.private.intake.quiet import silence
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.plan.probe import random_batch
from sfumato.public.schema.one_of import is_yes_or_no
from sfumato.public.schema.schema import Schema
from sfumato.verification.verifying import verify


def nasty_rows_survive(setting: Setting) -> None:
    """Values that are missing, infinite or unknown are clipped or mapped, and nothing not finite comes out."""
    nasty = made.nasty(setting.schema, n_rows=setting.n_rows)
    measurements = setting.run_well(nasty, seed=4).outcome.measurements
    if any(not np.isfinite(values).all() for values in arrays_in(measurements)):
        raise ContractError("a measurement is not finite for nasty rows.")
    setting.fit(nasty)


def nothing_travels(setting: Setting) -> None:
    """No run of private values stands in the answers, the model, the mechanism, the certificate or the logs."""
    raw = setting.ordinary()
    with watched() as heard:
        fitted = setting.fit(raw)
    kept = (fitted.answers, fitted.model, vars(fitted.mechanism), fitted.certificate, cached_by(fitted.mechanism))
    haystack = b"\n".join(part for _, part in (*leaves(kept), *heard.said))
    for name, needle in _needles(setting, raw):
        if needle in haystack:
            raise ContractError(f"private values of column {name!r} travel with the model or its logs.")


def _needles(setting: Setting, raw: made.Raw) -> list[tuple[str, bytes]]:
    """Runs of private values that no honest output holds by chance, as bytes in several widths and as text."""
    found, encoded = [], made.encoded(raw, setting.schema)
    for name, column, _ in setting.schema.slots:
        # Three zeros and ones in a row stand in every model, whether the schema calls them boolean or integer; and so do
        # three small numbers of events.
        run = _marked_run(
            encoded[name], length=40 if column.is_coded or is_yes_or_no(column) or name.endswith(".#") else 3
        )
        if len(np.unique(run)) < 2:
            continue
        for kind in (np.float64, np.float32, np.int64):
            cast = np.asarray(run, dtype=kind)
            if len(np.unique(cast)) > 1:  # a run of zeros stands in every model
                found.append((name, cast.tobytes()))
        if not column.is_coded and not float(run[0]).is_integer():
            found.append((name, repr(float(run[0])).encode()))
    return found


def _marked_run(values: NDArray[np.generic], *, length: int) -> NDArray[np.generic]:
    """The first `length` rows in a row that hold a value."""
    there = np.isfinite(values.reshape(len(values), -1).astype(np.float64).sum(axis=1))
    starts = [at for at in range(len(values) - length + 1) if there[at : at + length].all()]
    return values[starts[0] : starts[0] + length].ravel()[:64] if starts else values[:0]


def nothing_is_left_on_the_machine(setting: Setting) -> None:
    """No file is written while `measure` runs, by native code either, and nowhere in this machine are private values left."""
    nasty, ordinary = made.nasty(setting.schema, n_rows=setting.n_rows), setting.ordinary()
    module = getattr(sys.modules.get(type(setting.mechanism).__module__), "__file__", None)
    places = shared_places(*([Path(module).parent] if module else []))
    before = seen_in(places)
    with own_folders() as written:
        for raw in (ordinary, nasty):
            setting.run(raw, seed=4)
    found = holding([needle for _, needle in _needles(setting, ordinary)], before=before, after=seen_in(places))
    written += [f"{Path(path).name}, with private values in it" for path in found]
    doors = doors_of(setting.view(nasty, record=Record(), seed=4))
    with silence(), contextlib.suppress(Exception, SystemExit), own_folders(), no_files() as tries:
        setting.mechanism.measure(doors, setting.schema)
    if written or tries:
        raise ContractError(
            f"measure writes files ({'; '.join(written) or 'by native code'}). A line that was forgotten there leaves rows "
            "on the disk, without noise. Take it out."
        )


def works_without_data(setting: Setting) -> None:
    """A release folder loads, samples the same rows for the same seed (or predicts the same), and verifies."""
    if setting.mechanism.name not in registered_names():
        raise ContractError(
            "no mechanism is known by this name, so a release could not be loaded. Write @sf.register above it."
        )
    fitted = setting.fit(setting.ordinary())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release"
        if isinstance(fitted.model, Classifier):
            release(fitted, to=path)
            _predicts_the_same(fitted.model, load_release(path).classifier(), setting.schema)
        else:
            release(fitted, to=path, rows=min(20, fitted.model.default_rows))
            _samples_the_same(load_release(path).model())
        found = verify(path, rebuild=True)
        # Broken primitives are stamped for what they are; what else is wrong with them is for the other clauses.
        problems = [p for p in found.problems if setting.primitives is Primitives or "non_private" not in p]
        if problems:
            raise ContractError(problems[0])


def _samples_the_same(model: Product) -> None:
    if isinstance(model, Classifier):
        raise ContractError("a model that gave rows was built again, and predicts.")
    few = min(3, model.default_rows)  # a model of fixed rows may hold less
    one, two = model.sample(few, seed=1), model.sample(few, seed=1)
    same_events = all(events.equals(two.tables[name]) for name, events in one.tables.items())
    if one.table is not None and two.table is not None and not (one.table.equals(two.table) and same_events):
        raise ContractError("the same seed gives other rows.")


def _predicts_the_same(trained: Classifier, loaded: Classifier, schema: Schema) -> None:
    """The classifier that the file of weights gives says what the trained one says."""
    public = random_batch(schema, n_rows=20, seed=1)
    said, read = trained.probabilities(public), loaded.probabilities(public)
    if not np.array_equal(said, read):
        raise ContractError("the weights do not hold all of the model: read from its file, it predicts otherwise.")
    if not (np.isfinite(said).all() and np.allclose(said.sum(axis=1), 1.0)):
        raise ContractError("what the model gives are no probabilities of the classes.")
