"""A careful forger: honest releases of several kinds, and the tools to change them without leaving a loose end."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.extending import FixedModel, NoiseSource
from sfumato.fitting import fit_with
from sfumato.folder.contents import archive_of, arrays_of, sha256_of
from sfumato.folder.releasing import ANSWERS, CERTIFICATE, REPORT, SCHEMA, answers_of, report_of
from sfumato.folder.rows import file_name, read_synthetic, rows_writer, settled
from sfumato.mechanism import mechanism_from
from sfumato.mechanisms import DPMix, IndependentHistograms, ThreeATable
from sfumato.model import notes_of
from sfumato.outlook.tally import Tally
from sfumato.outlook.warnings import release_warnings
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.accounting import event_to_json
from sfumato.public.certificate.certificate import Certificate, grid_of
from sfumato.public.certificate.claim import Claim, claim_of
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.discovery import plan_discovery
from sfumato.public.plan.plan import make_plan
from sfumato.public.schema.schema import Schema

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
TABLE = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(18, 90)),
        sf.Column(name="town", kind="categorical", categories=("Pisa", "Rome", "Siena"), missing=True),
        sf.Column(name="seen", kind="datetime", bounds=(1.5e9, 1.7e9)),
        sf.Column(name="ill", kind="categorical", categories=("no", "yes")),
    ),
    target="ill",
    rows=4000,
)
OPEN = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", discover=True),
        sf.Column(name="income", kind="numeric", discover=True),
        sf.Column(name="town", kind="categorical", discover=True),
        sf.Column(name="ill", kind="categorical", categories=("no", "yes")),
    ),
    target="ill",
)
PICTURES = sf.Schema(
    columns=(
        sf.Column(name="image", kind="image", shape=(6, 6)),
        sf.Column(name="label", kind="categorical", categories=("a", "b", "c")),
    ),
    target="label",
    rows=300,
)


def people(n_rows=4000, seed=0):
    """Made-up people who play the private rows."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, n_rows)
    return pd.DataFrame(
        {
            "age": age,
            "town": rng.choice(["Rome", "Pisa", "Siena"], n_rows, p=[0.5, 0.3, 0.2]),
            "seen": pd.to_datetime(rng.integers(15 * 10**8, 17 * 10**8, n_rows), unit="s"),
            "income": rng.lognormal(10, 1, n_rows),
            "ill": np.where(rng.random(n_rows) < 1 / (1 + np.exp(-(age - 55) / 8)), "yes", "no"),
        }
    )


def pictures(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    return {"image": rng.integers(0, 256, (n_rows, 6, 6), dtype=np.uint8), "label": rng.integers(0, 3, n_rows)}


REPLACED = replace(TABLE, unit=sf.PrivacyUnit(relation="replace_one"))
PERSONS = replace(TABLE, unit=sf.PrivacyUnit(person="name", max_rows=2))
COPIES = replace(TABLE, unit=sf.PrivacyUnit(person="name", max_rows=8))


def sensitive(schema):
    if schema.images:
        return sf.Sensitive.read(pictures(), schema)
    frame = people(8000 if schema is OPEN else 4000)
    if schema.unit.person:
        frame["name"] = np.arange(len(frame)) % 2500
    if schema is COPIES:  # everybody is shortened
        frame = pd.concat([people(500).assign(name=np.arange(500))] * 8)
    return sf.Sensitive.read(frame, schema)


#: The kinds of honest releases: a mechanism and a schema.
KINDS = {
    "table": (IndependentHistograms(), TABLE),
    "3a-table": (ThreeATable(), TABLE),
    "discovery": (IndependentHistograms(), OPEN),
    "poisson": (DPMix(mixtures=60, degree=30), PICTURES),
    "fixed size": (DPMix(mixtures=50, degree=40, sampling="without_replacement"), REPLACED),
    # A tenth of the rows in each mixture: the loss of a rarer one takes a finer grid, and ten times as long to account for.
    "persons": (DPMix(mixtures=50, degree=400), PERSONS),
    "persons together": (ThreeATable(), COPIES),
}


def file_of(rows):
    """Name and content of the file of some rows."""
    name, file = file_name(rows), io.BytesIO()
    with rows_writer({name: file}, len(rows)) as writer:
        writer.add(rows)
    return name, file.getvalue()


def make(kind, to, *, primitives=None, rows=60, **options):
    mechanism, schema = KINDS[kind]
    primitives = primitives or Primitives(NoiseSource())
    fitted = fit_with(primitives, mechanism, sensitive(schema), BUDGET, **options)
    rows = None if isinstance(fitted.model, FixedModel) else rows
    return Forged(sf.release(fitted, to=to, rows=rows).path)


class HalfNoise(Primitives):
    def noise(self, shape):
        return super().noise(shape) // 2


class NoNoise(Primitives):
    def noise(self, shape):
        return np.zeros(shape, dtype=np.int64)


class Forged:
    """A release folder that can be changed as its publisher could: every hash, page and sentence follows suit."""

    def __init__(self, path: Path):
        self.path = path

    def copy(self, to: Path) -> "Forged":
        shutil.copytree(self.path, to)
        return Forged(to)

    @property
    def body(self):
        return json.loads((self.path / CERTIFICATE).read_text())

    @property
    def schema(self):
        return Schema.load(self.path / SCHEMA)

    def write(self, body, **dumping):
        (self.path / CERTIFICATE).write_text(json.dumps(body, indent=2, ensure_ascii=False, **dumping) + "\n")

    def edit(self, change, *, words=True, report=True):
        """Change the certificate, then what follows from it: the claim in words, the report, the hashes."""
        body = self.body
        change(body)
        if words:
            claim = {key: value for key, value in body["claim"].items() if key != "in_words"}
            body["claim"]["in_words"] = Claim(**{**claim, "unit": sf.PrivacyUnit(**claim["unit"])}).in_words
        if report and "files" in body:
            certificate = Certificate.from_json(body)
            answers = self._answers()
            synthetic = read_synthetic(self.path)
            page = report_of(certificate, schema=self.schema, synthetic=synthetic, answers=answers)
            (self.path / REPORT).write_bytes(page)
            body["files"][REPORT] = sha256_of(page)
        if body.get("files"):
            body["files"] = dict(sorted(body["files"].items()))
        self.write(body)
        return self

    def _answers(self):
        """Those of the folder; none where they can no longer be read."""
        try:
            return answers_of((self.path / ANSWERS).read_bytes())
        except SfumatoError:
            return Answers()

    def put(self, name, content):
        """Exchange a file, and its hash."""
        (self.path / name).write_bytes(content)
        self.edit(lambda body: body["files"].update({name: sha256_of(content)}), report=name != REPORT)
        return self

    def put_schema(self, schema, *, text=None):
        content = (text or schema.to_toml()).encode()
        (self.path / SCHEMA).write_bytes(content)

        def follow(body):
            body["schema_sha256"] = schema.digest()
            body["files"][SCHEMA] = sha256_of(content)
            body["claim"]["unit"] = schema.unit.to_json()

        return self.edit(follow)

    @property
    def answers(self):
        return arrays_of((self.path / ANSWERS).read_bytes())

    def put_answers(self, change, *, rows=True):
        """Change the doors' integers; then build the rows that follow from them, as an honest publisher would."""
        answers = self.answers
        answers = change(answers) or answers
        self.put(ANSWERS, archive_of({key: values.astype(np.int64) for key, values in answers.items()}))
        tidy = sf.load_release(self.path).answers.to_arrays()
        self.put(ANSWERS, archive_of(tidy))
        return self.put_rows_of_the_model() if rows else self

    def put_rows_of_the_model(self):
        release = sf.load_release(self.path)
        model, certificate = release.model(), release.certificate
        synthetic = model.sample(release.n_rows, seed=certificate.seed)
        tally = Tally(release.schema, model)
        tally.add(settled(synthetic))
        warnings = release_warnings(
            schema=release.schema,
            plan=certificate.plan(),
            mechanism=mechanism_from(certificate.mechanism),
            model=model,
            tally=tally,
        )
        self.edit(lambda body: body.update(warnings=list(warnings), notes=list(notes_of(model))))
        return self.put_rows(synthetic)

    def put_rows(self, synthetic):
        name, content = file_of(settled(synthetic))
        (self.path / name).write_bytes(content)
        return self.edit(
            lambda body: (body.update(rows=len(synthetic)), body["files"].update({name: sha256_of(content)}))
        )

    def plan_again(self, *, epsilon=None, delta=None, prior=True):
        """All numbers of the certificate for another budget, as if the release had been planned with it."""
        body, schema = self.body, self.schema
        certificate = Certificate.from_json(body)
        budget = sf.Budget(epsilon=epsilon or certificate.epsilon, delta=delta or certificate.delta)
        event = discovery = None
        if certificate.discovery is not None and prior:
            names = {*certificate.discovery.numbers, *certificate.discovery.texts}
            columns = tuple(column for column in schema.columns if column.name in names)
            discovery = plan_discovery(schema, columns, budget=budget)
            event = discovery.event
        mechanism = mechanism_from(certificate.mechanism)
        with mock.patch.object(sf.Budget, "check_against"):  # no forger asks for leave
            plan = make_plan(mechanism.steps(schema, budget), budget=budget, unit=schema.unit, rows=None, prior=event)

        def follow(body):
            body["claim"] = claim_of(plan).to_json()
            body["event"] = event_to_json(plan.event)
            body["scale"] = plan.scale
            body["steps"] = [
                {**step.to_json(), "noise_multiplier": plan.noise_multiplier(step.name)} for step in plan.steps
            ]
            body["grid"] = grid_of(plan)
            if discovery is not None:
                body["discovery"] = json.loads(json.dumps(discovery.published))

        return self.edit(follow)
