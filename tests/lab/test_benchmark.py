"""The evaluation harness: datasets, fetching, learners, metrics, whole runs and the command."""

import argparse
import base64
import dataclasses
import errno
import gzip
import hashlib
import importlib.util
import io
import json
import multiprocessing
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from sfumato import Budget, Column, Schema, Synthetic
from sfumato.cli import app
from sfumato.errors import SourceError
from sfumato.lab.benchmark import BenchmarkError, datasets, load, run
from sfumato.lab.benchmark import fetching as fetch
from sfumato.lab.benchmark.child import _receive, release_in_child
from sfumato.lab.benchmark.datasets import (
    OTHER,
    Benchmark,
    documented_schema,
    make_benchmark,
    read_idx,
    schema_text,
    with_others,
)
from sfumato.lab.benchmark.examples import Examples, real_examples, synthetic_examples
from sfumato.lab.benchmark.fetching import ISOLET, published_names, uncompress
from sfumato.lab.benchmark.learners import TABLE_LEARNERS, train_and_predict
from sfumato.lab.benchmark.metrics import brier, class_rate_error, distances, utility
from sfumato.lab.benchmark.protocol import real_scores, summarise
from sfumato.mechanisms import DPMix, IndependentHistograms

_FIELDS = """dataset method epsilon delta seed learner metric value value_n real_value real_seed real_rows release_seconds
peak_memory_mb tvd_1way tvd_2way class_rate_error brier tvd_1way_n tvd_2way_n class_rate_error_n brier_n brier_real
synthetic_rows synthetic_rows_n schema"""
FIELDS = set(_FIELDS.split())


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """No test reads or leaves anything in the person's own cache."""
    monkeypatch.setenv("SFUMATO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def tiny_rows(n_rows, seed):
    rng = np.random.default_rng(seed)
    ill = rng.random(n_rows) < 0.4
    return pd.DataFrame(
        {
            "age": np.clip(rng.normal(40 + 25 * ill, 10), 0, 100).round(),
            "town": np.where(rng.random(n_rows) < 0.2 + 0.5 * ill, "rome", "milan"),
            "ill": ill,
        }
    )


TINY = Schema(
    columns=(
        Column(name="age", kind="integer", bounds=(0, 100)),
        Column(name="town", kind="categorical", categories=("milan", "rome")),
        Column(name="ill", kind="boolean"),
    ),
    target="ill",
)


def tiny() -> Benchmark:
    return make_benchmark("tiny", train=tiny_rows(3000, 1), test=tiny_rows(1000, 2), schema=TINY)


@pytest.fixture
def tiny_known(monkeypatch):
    monkeypatch.setitem(datasets._LOADERS, "tiny", tiny)


def tiny_images(n_rows, seed):
    """Squares at the top or at the bottom."""
    rng = np.random.default_rng(seed)
    label = rng.integers(2, size=n_rows)
    image = rng.integers(60, size=(n_rows, 20, 20))
    for at, low in enumerate(label):
        image[at, 10 * low + 1 : 10 * low + 8, 5:15] += 150
    return {"image": image.astype(np.uint8), "label": label.astype(np.uint8)}


PICTURES = Schema(
    columns=(
        Column(name="image", kind="image", shape=(20, 20)),
        Column(name="label", kind="categorical", categories=("0", "1")),
    ),
    target="label",
    rows=600,
)


# ---------------------------------------------------------------------------------------------------- real datasets


REAL = {
    # name: (training rows, test rows, features, rows of each class in training, declared rows)
    "mnist": (60_000, 10_000, 1, (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949), 60_000),
    "fashion-mnist": (60_000, 10_000, 1, (6000,) * 10, 60_000),
    "adult": (32_561, 16_281, 14, (24_720, 7_841), 33_000),
    "census": (199_523, 99_762, 40, (187_141, 12_382), None),
    "credit": (213_605, 71_202, 29, (213_236, 369), None),
    "isolet": (6_238, 1_559, 617, (5_038, 1_200), 6_200),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_datasets_are_as_documented(benchmark_data, name):
    n_train, n_test, n_features, counts, rows = REAL[name]
    found = load(name)
    train, test = real_examples(found.train, found.schema), real_examples(found.test, found.schema)
    assert (len(train), len(test), len(found.schema.features)) == (n_train, n_test, n_features)
    assert np.bincount(train.label).tolist() == list(counts)
    assert found.schema.rows == rows
    assert found.metric == ("accuracy" if found.schema.images else "auc")
    assert found.balanced == (name == "credit")
    assert found.positive == (None if found.schema.images else found.schema["income"].categories[-1]
                              if name in ("adult", "census") else "1")  # fmt: skip


def test_patients_are_in_one_part_only(benchmark_data):
    found = load("diabetes130")
    assert len(found.train) + len(found.test) == 101_766
    assert not set(found.train["patient_nbr"]) & set(found.test["patient_nbr"])
    assert (found.train["readmitted"].sum() + found.test["readmitted"].sum()) == 11_357
    assert found.schema.unit.person == "patient_nbr"
    assert found.schema.unit.max_rows == 1
    names = [column.name for column in found.schema.columns]
    assert len(names) == 48
    assert not {"encounter_id", "patient_nbr"} & set(names)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adult", "census", "diabetes130"])
def test_no_value_takes_the_place_of_another(benchmark_data, name):
    found = load(name)
    frame = pd.concat([found.train.astype(object), found.test.astype(object)])
    assert [key for key in frame if key != found.schema.unit.person] == [c.name for c in found.schema.columns]
    for column in found.schema.columns:
        if column.kind in ("categorical", "ordinal"):
            unlisted = set(map(str, frame[column.name].unique())) - set(column.categories)
            assert unlisted <= ({"?"} if column.missing else set()), column.name
        if OTHER in column.categories:
            assert (frame[column.name] == OTHER).mean() < 0.05, column.name


# ---------------------------------------------------------------------------------------------------- public schemas


@pytest.mark.parametrize("name", [*REAL, "diabetes130"])
def test_schemas_are_public(name, tmp_path, monkeypatch):
    """They load where there is no data at all, name their sources, and are the same whatever lies in the folder."""
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path))
    schema = documented_schema(name)
    assert "# source:" in schema_text(name)
    assert schema.target is not None
    assert not schema.unknown
    (tmp_path / "adult_train.parquet").write_bytes(b"not a table")
    assert documented_schema(name).digest() == schema.digest()
    rows = REAL[name][4] if name in REAL else 76_000
    assert schema.rows == rows


def test_schemas_do_not_follow_the_rows(published):
    """Two datasets with other values in their rows have the same schema."""
    values = ["39", "?", "77516", "Bachelors", "13", "Never-married", "Sales", "Wife", "White", "Male", "0", "0", "40",
              "Cuba", "<=50K"]  # fmt: skip
    digests = set()
    for country in ("Cuba", "Atlantis"):
        line = ", ".join([*values[:13], country, values[14]])
        archive = zipped({"adult.data": f"{line}\n", "adult.test": f"|\n{line}.\n"})
        published("adult", archive, counts={"adult_train.parquet": {"<=50K": 1}, "adult_test.parquet": {"<=50K": 1}})
        fetch.fetch("adult")
        digests.add(load("adult").schema.digest())
    assert digests == {documented_schema("adult").digest()}


def test_the_code_of_diagnoses_is_listed_by_its_structure():
    codes = set(documented_schema("diabetes130")["diag_1"].categories)
    assert {"1", "250", "250.01", "250.6", "250.93", "999", "V01", "V91", "E800", "E999", OTHER} <= codes
    assert not {"0", "001", "250.00", "250.94", "V92", "E799", "?"} & codes
    assert len(codes) == 999 + 39 + 91 + 200 + 1


def test_what_is_not_listed_has_a_place():
    listed = Column(name="diag", kind="categorical", categories=("1", "V01", OTHER), missing=True)
    schema = Schema(columns=(listed, Column(name="sex", kind="categorical", categories=("f", "m"))))
    frame = pd.DataFrame({"diag": ["1", "365.44", "?", "V01"], "sex": ["x", "f", "m", "f"]})
    found = with_others(frame, schema)
    assert found["diag"].tolist() == ["1", OTHER, "?", "V01"]
    assert found["sex"].tolist() == frame["sex"].tolist()
    assert real_examples(found, dataclasses.replace(schema, target="sex")).batch["diag"].tolist() == [0, 2, 3, 1]


def test_a_split_is_the_same_every_time(benchmark_data):
    one, other = load("credit"), load("credit")
    assert one.train.equals(other.train)
    assert one.schema.digest() == other.schema.digest()


def test_missing_datasets_are_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    with pytest.raises(SourceError, match="Set SFUMATO_DATA"):
        load("adult")
    with pytest.raises(SourceError, match="there is no dataset 'iris'"):
        load("iris")
    (tmp_path / "bad.gz").write_bytes(gzip.compress(b"\0\0\x08\x01\0\0\0\x09abc"))
    with pytest.raises(SourceError, match="no IDX file"):
        read_idx(tmp_path / "bad.gz")


# --------------------------------------------------------------------------------------------------------- fetching


def idx(array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(side.to_bytes(4, "big") for side in array.shape)
    return gzip.compress(header + array.tobytes())


def stored(content):
    """A .Z file that compresses nothing: each byte as a code of 9 bits, the table cleared before it is full."""
    out = bytearray(b"\x1f\x9d\x90")
    for at in range(0, len(content), 200):
        codes = [*content[at : at + 200], 256]
        codes += [0] * (-len(codes) % 8)  # padding of the last group
        out += sum(code << 9 * place for place, code in enumerate(codes)).to_bytes(len(codes) * 9 // 8, "little")
    return bytes(out)


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Put files where a dataset is fetched from, and fetch into an empty folder."""
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path / "data"))
    originals = dict(fetch.SOURCES)

    def publish(name, content, **changed):
        source = originals[name]
        (tmp_path / "original").write_bytes(content)
        changed |= {"url": (tmp_path / "original").as_uri()}
        monkeypatch.setitem(fetch.SOURCES, name, dataclasses.replace(source, **changed))

    return publish


def test_images_are_fetched_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_DATA", str(tmp_path / "data"))
    source = fetch.SOURCES["mnist"]
    hashes = {}
    for file in source.hashes:
        n_rows = 40 if "train" in file else 10
        array = np.zeros((n_rows, 28, 28) if "images" in file else (n_rows,), dtype=np.uint8)
        array[:] = np.arange(n_rows).reshape(-1, *(1,) * (array.ndim - 1)) % 10
        place = tmp_path / file.rpartition("/")[2]
        place.write_bytes(idx(array))
        hashes[file] = hashlib.sha256(place.read_bytes()).hexdigest()
    put_there = dataclasses.replace(source, url=tmp_path.as_uri(), hashes=hashes)
    monkeypatch.setitem(fetch.SOURCES, "mnist", put_there)
    assert all(path.is_file() for path in fetch.fetch("mnist"))
    found = load("mnist")
    assert found.train["image"].shape == (40, 28, 28)
    assert found.test["label"].tolist() == list(range(10))
    # A file that was changed on the way is refused, and does not replace the good one.
    changed = dataclasses.replace(put_there, hashes=dict.fromkeys(hashes, "0"))
    monkeypatch.setitem(fetch.SOURCES, "mnist", changed)
    with pytest.raises(SourceError, match="is not the published file: its SHA-256"):
        fetch.fetch("mnist")
    assert load("mnist").train["image"].shape == (40, 28, 28)


def test_what_cannot_be_reached_is_refused(tmp_path):
    with pytest.raises(SourceError, match="cannot be fetched"):
        fetch.download((tmp_path / "nowhere").as_uri())


def test_adult_is_converted(published):
    values = ["39", "?", "77516", "Bachelors", "13", "Never-married", "Sales", "Wife", "White", "Male", "0", "0", "40",
              "Cuba"]  # fmt: skip
    line, dotted = ", ".join([*values, "<=50K"]), ", ".join([*values, ">50K."])
    archive = zipped({"adult.data": f"{line}\n{line}\n\n", "adult.test": f"|1x3 Cross validator\n{dotted}\n"})
    counts = {"adult_train.parquet": {"<=50K": 2}, "adult_test.parquet": {">50K": 1}}
    published("adult", archive, counts=counts)
    fetch.fetch("adult")
    found = load("adult")
    assert list(found.train.columns) == published_names("adult")
    assert found.train["workclass"].tolist() == ["?", "?"]
    assert found.schema["income"].categories == ("<=50K", ">50K")
    published("adult", archive)  # the real counts
    with pytest.raises(SourceError, match="is not the documented dataset"):
        fetch.fetch("adult")
    published("adult", b"not a zip")
    with pytest.raises(SourceError, match=r"the archive does not hold adult\.data"):
        fetch.fetch("adult")


def test_census_is_converted(published):
    values = {name: "NA" if name == "hispanic_origin" else "0" for name in published_names("census")}
    lines = [", ".join([*[*values.values()][:-1], income]) + "\n" for income in ("- 50000.", " 50000+.")]
    inner = tarred({"census-income.data": "".join(lines).encode(), "census-income.test": lines[0].encode()})
    counts = {
        "census_income_kdd_train.parquet": {"-50000": 1, "50000+": 1},
        "census_income_kdd_test.parquet": {"-50000": 1},
    }
    published("census", zipped({"census.tar.gz": inner}), counts=counts)
    fetch.fetch("census")
    found = load("census")
    assert "instance_weight" not in found.train.columns
    assert found.train["hispanic_origin"].tolist() == ["NA", "NA"]
    assert found.schema.rows is None


def test_isolet_is_converted(published):
    line = ", ".join(["-0.4394"] * 617)
    parts = {"isolet1+2+3+4.data.Z": stored(f"{line}, 1.\n{line}, 2.\n".encode()),
             "isolet5.data.Z": stored(f"{line}, 21.\n".encode())}  # fmt: skip
    counts = {"isolet_train.parquet": {"0": 1, "1": 1}, "isolet_test.parquet": {"1": 1}}
    published("isolet", zipped(parts), counts=counts)
    fetch.fetch("isolet")
    found = load("isolet")
    assert list(found.train.columns) == [*ISOLET[:-1], "vowel"]
    assert found.train["vowel"].tolist() == [1, 0]
    assert found.train["f617"].iloc[0] == np.float32(-0.4394)


def test_credit_and_diabetes_are_converted(published):
    columns = ["Time", *(f"V{at}" for at in range(1, 29)), "Amount", "Class"]
    rows = "".join(",".join([*["1"] * 30, f'"{at % 2}"']) + "\n" for at in range(8))
    content = (",".join(columns) + "\n" + rows).encode()
    digest = hashlib.sha256(content).hexdigest()
    published("credit", content, sha256=digest, counts={"creditcard.parquet": {"0": 4, "1": 4}})
    fetch.fetch("credit")
    assert len(load("credit").train) == 6
    published("credit", content + b" ", sha256=digest)
    with pytest.raises(SourceError, match="is not the published file"):
        fetch.fetch("credit")

    columns = ["encounter_id", "patient_nbr", *(c.name for c in documented_schema("diabetes130").columns)]
    value = dict.fromkeys(columns, "1") | {
        "max_glu_serum": "None", "medical_specialty": "Surgery-General", "payer_code": "ZZ", "diag_1": "250.01"
    }  # fmt: skip
    header = ",".join(columns).replace("glyburide_metformin", "glyburide-metformin")
    lines = [
        value | {"encounter_id": str(at), "patient_nbr": str(at // 2), "readmitted": "<30" if at % 2 else "NO"}
        for at in range(8)
    ]
    diabetes = "".join(f"{line}\n" for line in [header, *(",".join(each.values()) for each in lines)])
    counts = {"diabetes130.parquet": {"NO": 4, "<30": 4}}
    published("diabetes130", zipped({"dataset_diabetes/diabetic_data.csv": diabetes}), counts=counts)
    fetch.fetch("diabetes130")
    found = load("diabetes130")
    assert set(found.train["medical_specialty"]) == {"Surgery"}
    assert set(found.train["payer_code"]) == {OTHER}
    assert set(found.train["diag_1"]) == {"250.01"}
    assert set(found.train["max_glu_serum"]) == {"None"}
    assert found.schema["glyburide_metformin"].size == 4
    assert found.train["readmitted"].dtype == bool


def test_a_file_of_compress_is_read():
    # Made so that gzip reads it too; it goes past the first change of width.
    content = base64.b64decode(
        """H52QMFjEYEGDRQ6BNljIqMFiRkIaB20UxDFwhsKCNG6wuCFDYcOBNjrmYDjD4o2AMTrWsJjjYcEcA2mwLFgjIA4WNhjK0IjjZo2CMjri
        iFiRYYyBOBLaeHhzRscYNxPmsIiD4Y2DN6yaNGn1YFWDFhNCbdiRRtSESQUWxYn0YFAWP1n0VKgxp1y4AXNgZBnzZcKVAjuebMiSYciPHj
        kS1CijIFWQGA86VGhUKkGBLFBePhgj4cKGDyNOrHhx8caOHWeAFEnSJEqVLF0ajDkT7127O+X6BCqUaEOjSJUyJSswKli5XTdq3ch1o1eG
        U3EWJ24WJ1qxa220Vahy4s3cdn3m3TuboF+4FlNuDFjSoOHUAwWXZexYLmSCkj1XNnh5oOaXCFEGGn44jdZQaRmd5pFqOLFG2HqBoWeQbD
        ARVFtNt+nE027cyeXbDMDJJRxBTT1lXHRfXaUccyxm5Rxyx4lVIonWiajWb2x52GFcc4HHkHgGkVchDecBpt5g7Y3UIGLymdbYgRQVSOBk
        n3XGX0H+YQaglZ9NBpGUUVr0ZIKKwbekku0Nph5gLZlXnkxB2haVhrrBxZuO2uF4lI1L0ejUdFJRlZyLN2y1oopfRScjdWfZuCeIOQ61o3
        d04fSjbXpZ+GaR6QnGXmFLMthkgk8+JuWXVO53EJaZackflySFBiZpTwI="""
    )
    assert uncompress(content) == "".join(f"{at * at % 97}," for at in range(400)).encode()
    with pytest.raises(SourceError, match=r"no \.Z file"):
        uncompress(b"PK..")


# ------------------------------------------------------------------------------------------- learners and metrics


@pytest.mark.parametrize("learner", TABLE_LEARNERS)
def test_learners_learn_tables(learner):
    found = tiny()
    train, test = real_examples(found.train, TINY), real_examples(found.test, TINY)
    probabilities = train_and_predict(learner, train, test, TINY)
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert utility("auc", probabilities, test.label) > 0.9
    nobody = Examples({name: values[train.label == 0] for name, values in train.batch.items()}, np.zeros(5, int))
    assert train_and_predict(learner, nobody, test, TINY)[:, 0].min() == 1


@pytest.mark.slow
def test_learners_learn_pictures_and_soft_labels():
    pytest.importorskip("torch")
    train, test = (real_examples(tiny_images(n, seed), PICTURES) for n, seed in ((600, 1), (200, 2)))
    assert 0 <= train.batch["image"].min() <= train.batch["image"].max() <= 1
    for learner in ("cnn", "lightgbm", "logistic"):
        probabilities = train_and_predict(learner, train, test, PICTURES)
        assert utility("accuracy", probabilities, test.label) > 0.95, learner
    # Soft labels that say the opposite of the hard ones: the network believes the soft ones.
    soft = np.eye(2, dtype=np.float32)[1 - train.label]
    turned = train_and_predict("cnn", dataclasses.replace(train, soft=soft), test, PICTURES)
    assert utility("accuracy", turned, test.label) < 0.05
    with pytest.raises(BenchmarkError, match="no learner 'forest' for images"):
        train_and_predict("forest", train, test, PICTURES)


def test_the_network_is_refused_without_torch(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = make_benchmark("squares", train=tiny_images(20, 1), test=tiny_images(20, 2), schema=PICTURES)
    with pytest.raises(BenchmarkError, match="cnn needs torch"):
        next(run(found, epsilon=1, method="dpmix", seeds=1))


def test_synthetic_pictures_come_to_the_unit_box():
    images = 255 * np.array([[[0.0, 2.0], [-1.0, 0.5]]], dtype=np.float32).repeat(2, axis=0)
    schema = dataclasses.replace(
        PICTURES, columns=(Column(name="image", kind="image", shape=(2, 2)), PICTURES.columns[1])
    )
    soft = np.array([[3.0, 1.0], [-2.0, -1.0]], dtype=np.float32)
    found = synthetic_examples(Synthetic(images=images, soft_labels=soft, classes=("0", "1")), schema)
    assert found.batch["image"][0].tolist() == [[0, 1], [0, 0.5]]
    assert found.soft.tolist() == [[0.75, 0.25], [0.5, 0.5]]
    assert found.label.tolist() == [0, 0]
    whole = Synthetic(images=np.full((1, 2, 2), 51, np.uint8), labels=np.array([1]), classes=("0", "1"))
    assert synthetic_examples(whole, schema).batch["image"] == pytest.approx(0.2)
    with pytest.raises(BenchmarkError, match="no labelled pictures"):
        synthetic_examples(Synthetic(images=images), schema)
    with pytest.raises(BenchmarkError, match="holds encoded features and no rows"):
        synthetic_examples(Synthetic(table=pd.DataFrame({"age": [1.0], "town=rome": [0.5]})), TINY)


def test_metrics_by_hand():
    p = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.3, 0.4, 0.3]])
    truth = np.array([0, 1, 2])
    assert utility("accuracy", p, truth) == pytest.approx(2 / 3)
    # Pairs (positive, negative): 0-1, 0-2, 1-0, 1-2 and 2-0 are right, and 2-1 is a tie.
    assert utility("auc_ovo", p, truth) == pytest.approx(5.5 / 6)
    assert brier(p, truth) == pytest.approx((0.09 + 0.04 + 0.01 + 0.04 + 0.25 + 0.09 + 0.09 + 0.16 + 0.49) / 3)
    assert class_rate_error(truth, np.array([0, 0, 0]), n_classes=3) == pytest.approx(2 / 3)
    with pytest.raises(BenchmarkError, match="all of one class"):
        utility("auc", p[:, :2], np.zeros(3, int))


def test_distances_by_hand():
    def examples(age, town, ill):
        batch = {"age": np.array(age, float), "town": np.array(town), "ill": np.array(ill)}
        return Examples(batch, batch["ill"])

    real = examples([0, 20, 20, 0], [0, 1, 0, 1], [0, 0, 1, 1])
    assert distances(real, real, TINY) == (0, 0)
    other = examples([0, 20, 20, 21], [0, 1, 0, 1], [0, 0, 1, 1])  # 21 is beyond what is real
    assert distances(real, other, TINY) == pytest.approx((0.25 / 3, 0.5 / 3))


# --------------------------------------------------------------------------------------------------------- whole runs


@pytest.mark.slow
def test_a_run_of_the_protocol(tiny_known, cache):
    said = []
    records = list(
        run(
            "tiny",
            epsilon=2,
            method="independent-histograms",
            learner=["lightgbm", "forest"],
            seeds=2,
            on_step=said.append,
        )
    )
    assert [(record["seed"], record["learner"]) for record in records] == [
        (0, "lightgbm"), (0, "forest"), (1, "lightgbm"), (1, "forest")
    ]  # fmt: skip
    for record in records:
        assert set(record) >= FIELDS
        assert 0.85 < record["value"] <= 1
        assert record["value"] < record["real_value"] + 0.05
        assert record["release_seconds"] > 0
        assert 50 < record["peak_memory_mb"] < 2000
        assert 0 < record["tvd_1way"] < record["tvd_2way"] < 0.2
        assert record["class_rate_error"] < 0.05
        assert record["delta"] == 1e-5
        assert 0.85 < record["value_n"] <= 1
        assert record["synthetic_rows_n"] == record["real_rows"] == 3000
        assert record["real_seed"] == record["seed"]
    # Both learners were trained on the same release, and another seed is another release.
    assert records[0]["tvd_2way"] == records[1]["tvd_2way"] != records[2]["tvd_2way"]
    assert any("histograms" in step for step in said)
    assert len(list(cache.glob("real/tiny-*.json"))) == 4  # for each learner and seed
    # The forest has randomness of its own, so the anchors of two seeds differ, and their mean is the anchor.
    forest = [record for record in records if record["learner"] == "forest"]
    anchors = [record["real_value"] for record in forest]
    assert anchors[0] != anchors[1]
    line = summarise(forest)
    assert line.real.mean == pytest.approx(np.mean(anchors))
    assert line.real.deviation == pytest.approx(np.std(anchors, ddof=1))
    assert line.gap == pytest.approx(np.mean(anchors) - np.mean([record["value"] for record in forest]))
    assert line.gap_n == pytest.approx(np.mean(anchors) - np.mean([record["value_n"] for record in forest]))


def test_runs_without_n_rows_or_seeds_of_the_anchor_are_summed_up():
    old = [{"value": 0.9, "real_value": 0.95}, {"value": 0.92, "real_value": 0.95}]
    line = summarise(old)
    assert line.utility_n is None
    assert line.gap_n is None
    assert (line.real.mean, line.real.count) == (0.95, 1)
    assert str(line.utility) == "0.9100 ± 0.0141"
    assert summarise([*old, {"value": 0.9, "real_value": 0.95, "value_n": 0.8}]).utility_n is None


@pytest.mark.slow
def test_the_score_on_real_rows_is_kept_for_each_seed(cache):
    found = tiny()
    train, test = real_examples(found.train, TINY), real_examples(found.test, TINY)
    by_seed = [real_scores("forest", train, test, found, seed=seed).value for seed in range(3)]
    assert len(set(by_seed)) > 1
    assert len(list(cache.glob("real/*.json"))) == 3
    (kept,) = cache.glob("real/*-seed1.json")
    kept.write_text(json.dumps({"value": 0.123, "brier": 0.4}))
    assert real_scores("forest", train, test, found, seed=1).value == 0.123
    assert real_scores("forest", train, test, found, seed=0).value == by_seed[0]
    kept.write_text("{")
    assert real_scores("forest", train, test, found, seed=1).value == by_seed[1]


def test_another_value_is_another_anchor(cache):
    """The labels alone do not name the data: one other feature value, and the score is computed anew."""
    found = tiny()
    train, test = real_examples(found.train, TINY), real_examples(found.test, TINY)
    real_scores("logistic", train, test, found)
    changed = train.batch["age"].copy()
    changed[0] += 1
    real_scores("logistic", dataclasses.replace(train, batch={**train.batch, "age": changed}), test, found)
    assert len(list(cache.glob("real/*.json"))) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("_releases_here")
def test_pictures_run_too(monkeypatch):
    found = make_benchmark("squares", train=tiny_images(600, 1), test=tiny_images(200, 2), schema=PICTURES)
    mechanism = DPMix(mixtures=100, degree=10)
    (record,) = run(found, epsilon=50, delta=1e-4, method=mechanism, learner="logistic", seeds=1)
    assert record["tvd_1way"] is None
    assert record["metric"] == "accuracy"
    assert record["synthetic_rows"] == 100
    # Mixtures are what they are: there are no 600 of them.
    assert record["value_n"] is record["synthetic_rows_n"] is None


@pytest.mark.slow
def test_a_refusal_in_the_child_is_a_refusal_here():
    with pytest.raises(SourceError, match="has no column for 'town'"):
        release_in_child(
            IndependentHistograms(),
            tiny_rows(10, 0).drop(columns="town"),
            TINY,
            Budget(1.0, 1e-5),
            seed=0,
            on_step=lambda step: None,
        )


# -------------------------------------------------------------------------------------------------------- the command


def bench(*words):
    return CliRunner().invoke(app, ["bench", *map(str, words)])


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_so(tmp_path):
    """A fresh process imports the script again, and would start releases of its own: it dies before it reads a row."""
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import pandas as pd\n"
        "import sfumato as sf\n"
        "from sfumato.lab.benchmark.child import release_in_child\n"
        "from sfumato.mechanisms import IndependentHistograms\n"
        "rows = pd.DataFrame({'age': range(100_000)})  # more than a pipe holds\n"
        "schema = sf.Schema(columns=(sf.Column(name='age', kind='numeric', bounds=(0, 100_000)),))\n"
        "budget = sf.Budget(epsilon=1, delta=1e-6)\n"
        "release_in_child(IndependentHistograms(), rows, schema, budget, seed=0, on_step=print)\n",
        encoding="utf-8",
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 1
    here, there = (
        f"BenchmarkError: {said}" for said in ("the process of the release ended with code 1", "no process can be")
    )
    assert here in ended.stderr
    assert there in ended.stderr  # of the process that was to be fresh, and would have started another
    assert ended.stderr.count("below `if __name__ == '__main__':`") == 2


def one_release():
    return release_in_child(
        IndependentHistograms(), tiny_rows(10, 0), TINY, Budget(1.0, 1e-5), seed=0, on_step=lambda step: None
    )


def test_a_process_that_cannot_be_started_says_why(monkeypatch):
    def full(self):
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", full)
    with pytest.raises(BenchmarkError, match=r"Resource temporarily unavailable\. Run fewer at once"):
        one_release()


def test_a_process_that_is_killed_says_so(monkeypatch):
    def killed(self):
        start(self)
        self.kill()
        self.join()

    start = multiprocessing.context.SpawnProcess.start
    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", killed)
    with pytest.raises(
        BenchmarkError, match=r"ended with code -9 and no result: the machine may have run out of memory"
    ):
        one_release()


def test_a_message_that_was_cut_is_none():
    ours, theirs = multiprocessing.Pipe()
    os.write(theirs.fileno(), (1_000).to_bytes(4, "big") + b"half of it")
    theirs.close()
    assert _receive(ours) is None
    ours.close()


@pytest.mark.slow
@pytest.mark.usefixtures("_releases_here")
def test_the_command_gives_json_lines(tiny_known):
    result = bench(
        "tiny", "--epsilon", 1, "--method", "independent-histograms", "--set", "bins=8", "--seeds", 2, "--json"
    )
    assert result.exit_code == 0, result.output
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert [record["seed"] for record in records] == [0, 1]
    assert all(set(record) >= FIELDS for record in records)
    assert records[0]["settings"] == {"bins": 8}


@pytest.mark.slow
@pytest.mark.usefixtures("_releases_here")
def test_the_command_gives_a_table(tiny_known):
    result = bench("tiny", "--epsilon", 1, "--method", "independent-histograms", "--seeds", 1)
    assert result.exit_code == 0, result.output
    assert "lightgbm" in result.stdout
    assert "two-way TVD" in result.stdout
    assert "lightgbm on 3,000 real rows: 0." in result.stdout
    assert "on 3,000 synthetic rows (as many as real): 0." in result.stdout
    assert "(as recommended): 0." in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["iris", "--epsilon", 1], "there is no dataset 'iris'"),
        (["iris", "--epsilon", 1, "--fetch"], "there is no dataset 'iris'"),
        (["adult", "--epsilon", 1], "Set SFUMATO_DATA"),
        (["tiny", "--epsilon", 1, "--learner", "oracle"], "there is no learner 'oracle'"),
        (["tiny", "--epsilon", 1, "--learner", "cnn"], "no learner 'cnn' for tables"),
        (["tiny", "--epsilon", 1, "--method", "magic"], "there is no mechanism 'magic'"),
        (["tiny", "--epsilon", 1, "--set", "bins=many"], "must be a whole number"),
        (["tiny", "--epsilon", 0], "epsilon = 0.0 must be"),
    ],
)
def test_the_command_refuses(tiny_known, monkeypatch, words, said):
    monkeypatch.delenv("SFUMATO_DATA", raising=False)
    words = [*words, "--method", "independent-histograms"] if "--set" in words else words
    result = bench(*words, "--json")
    assert result.exit_code == 1
    assert said in json.loads(result.stdout.splitlines()[-1])["error"]


# ---------------------------------------------------------------------------------------------------------- the table


@pytest.fixture
def script(tmp_path, monkeypatch):
    """benchmarks/utility.py with results of its own."""
    path = Path(__file__).parents[2] / "benchmarks" / "utility.py"
    spec = importlib.util.spec_from_file_location("utility_script", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "utility_script", module)  # where its dataclasses look for their own module
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(module, "RUNS", tmp_path / "utility.jsonl")
    monkeypatch.setattr(module, "TABLE", tmp_path / "utility.md")
    return module


def utility_run(dataset, seed, value, **more):
    return {
        "asked": "auto", "dataset": dataset, "method": "m", "epsilon": 1.0, "learner": "lightgbm", "metric": "auc",
        "seed": seed, "value": value, "real_value": 0.95, "release_seconds": 1.0, "peak_memory_mb": 10.0, "tvd_1way": 0.1,
        "tvd_2way": 0.2, "class_rate_error": 0.0, "brier": 0.1, "brier_real": 0.05, "synthetic_rows": 800, **more,
    }  # fmt: skip


def test_the_table_of_utility_names_both_row_counts_and_what_was_chosen_where(script):
    at_n = {f"{key}_n": 0.25 for key in ("tvd_1way", "tvd_2way", "class_rate_error", "brier")}
    for seed, (value, real) in enumerate([(0.93, 0.955), (0.95, 0.975)]):
        new = {"value_n": value - 0.02, "real_value": real, "real_seed": seed, "synthetic_rows_n": 100, **at_n}
        script.append(utility_run("credit", seed, value, **new))
    script.append(utility_run("adult", 0, 0.91))  # from before there were two row counts
    script.write_table("auto")
    text = script.TABLE.read_text(encoding="utf-8")
    credit, adult = (next(x for x in text.splitlines() if x.startswith(f"| {name} |")) for name in ("credit", "adult"))
    assert "| 0.9400 ± 0.0141 | 0.9200 ± 0.0141 | 0.9650 ± 0.0141 | 0.0250 | 0.0450 |" in credit
    assert credit.endswith("| 2 | t c s b few |")
    assert "| 0.9100 | - | 0.9500 | 0.0400 | - |" in adult
    assert adult.endswith("| 1 | t b few old |")
    assert "chosen on Credit itself" in text
    assert "chosen on ISOLET itself" in text
    assert "chosen with the test scores known" in text
    assert "credit ε 1 lightgbm" in text  # by name among those with few seeds


def test_runs_of_utility_go_on_where_they_were(script, monkeypatch):
    asked = []

    def one(benchmark, *, epsilon, method, learner, seeds, on_step):
        asked.extend((benchmark.name, seed) for seed in seeds)
        return [utility_run(benchmark.name, seed, 0.9) for seed in seeds]

    monkeypatch.setattr(script, "load", lambda name: dataclasses.replace(tiny(), name=name))
    monkeypatch.setattr(script, "run", one)
    options = argparse.Namespace(only=["adult"], epsilon=None, learner=None, method="auto", seeds=3)
    script.append(utility_run("adult", 1, 0.9))
    script.run_all(options)
    assert asked == [("adult", 0), ("adult", 2)]
    script.run_all(options)
    assert len(asked) == 2
    script.append(utility_run("census", 0, 0.9))
    script.forget(options)
    assert [record["dataset"] for record in script.read_runs()] == ["census"]
