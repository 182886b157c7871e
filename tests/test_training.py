"""Trained models as releases: the folder, what verify sees of it, what predict gives, and the file of weights."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import schemas
import sfumato as sf
from sfumato.check.instruments.rows import made_up, read
from sfumato.errors import ModelError, SfumatoError, SourceError
from sfumato.folder.contents import sha256_of
from sfumato.folder.releasing import CERTIFICATE, REPORT, model_report_of
from sfumato.folder.tensors import WEIGHTS, weights_file, weights_of
from sfumato.public.certificate.certificate import Certificate

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)


@pytest.fixture(scope="module")
def trained() -> sf.Trained:
    return sf.train("logistic", read(made_up(schemas.TABLE, n_rows=300, seed=1), schemas.TABLE), BUDGET)


@pytest.fixture
def folder(trained: sf.Trained, tmp_path: Path) -> Path:
    return sf.release(trained.fitted, to=tmp_path / "model").path


def rewrite(folder: Path, **changes) -> None:
    """Change the certificate, and all that follows from it, as a careful forger would."""
    certificate = replace(Certificate.from_text((folder / CERTIFICATE).read_text()), **changes)
    released = sf.load_release(folder)
    (folder / REPORT).write_bytes(model_report_of(certificate, schema=released.schema, answers=released.answers))
    files = {name: sha256_of((folder / name).read_bytes()) for name in certificate.files or {}}
    (folder / CERTIFICATE).write_text(certificate.with_files(files).to_text())


class TestFolder:
    def test_it_holds_a_model_and_no_rows(self, folder: Path, trained: sf.Trained) -> None:
        assert {file.name for file in folder.iterdir()} == {CERTIFICATE, WEIGHTS, "answers.npz", "schema.toml", REPORT}
        certificate = sf.load_release(folder).certificate
        assert certificate.rows is None
        assert certificate.mechanism.name == "logistic"
        assert len(certificate.notes) == 1
        page = (folder / REPORT).read_text()
        assert "A differentially private model" in page
        assert "of training rows right" in page
        assert "synthetic rows" not in page
        with pytest.raises(ModelError, match="gives no rows"):
            trained.fitted.sample(10)

    def test_anyone_can_check_it(self, folder: Path) -> None:
        found = sf.verify(folder)
        assert found.ok, found.problems
        assert found.different == 0.0
        assert found.replayed_epsilon == pytest.approx(1.0, rel=1e-3)
        assert (
            "the weights are what the doors' integers give with the certificate's seed, to the last bit"
            in found.checked
        )
        skipped = sf.verify(folder, rebuild=False)
        assert skipped.ok
        assert any(sentence.startswith("the weights of the model") for sentence in skipped.declared)

    def test_a_signature_is_seen(self, trained: sf.Trained, tmp_path: Path) -> None:
        private, public = sf.new_keys(tmp_path / "office")
        path = sf.release(trained.fitted, to=tmp_path / "signed", sign=private).path
        assert sf.verify(path, signer=public).signature == "by the signer"

    def test_rows_are_refused(self, trained: sf.Trained, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="Leave out rows"):
            sf.release(trained.fitted, to=tmp_path / "model", rows=10)
        assert not (tmp_path / "model").exists()

    def test_what_is_no_number_is_not_released(self, trained: sf.Trained, tmp_path: Path) -> None:
        rule = trained.fitted.model
        broken = replace(trained.fitted, model=replace(rule, rule=np.full_like(rule.rule, np.nan)))
        with pytest.raises(ModelError, match="diverged"):
            sf.release(broken, to=tmp_path / "model")
        assert not list(tmp_path.iterdir())


class TestForgeries:
    def test_other_weights(self, folder: Path) -> None:
        weights = weights_of((folder / WEIGHTS).read_bytes())
        weights["weights"] += 0.5
        (folder / WEIGHTS).write_bytes(weights_file(weights))
        assert "differs from the file" in sf.verify(folder).problems[0]
        rewrite(folder)
        (problem,) = sf.verify(folder).problems
        assert "the weights are not what the doors' integers give" in problem

    def test_something_besides_the_weights(self, folder: Path) -> None:
        (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes() + b"a name")
        rewrite(folder)
        assert any("does not hold weights" in problem for problem in sf.verify(folder).problems)

    def test_a_better_note_and_no_warning(self, folder: Path) -> None:
        rewrite(folder, notes=("Of the training rows the model gets 99.9% right.",))
        assert sf.verify(folder).problems == ("the notes are not those that follow from the doors' integers.",)

    def test_rows_that_are_not_there(self, folder: Path) -> None:
        rewrite(folder, rows=100)
        assert any("speaks of 100 rows" in problem for problem in sf.verify(folder).problems)

    def test_a_report_that_was_edited(self, folder: Path) -> None:
        page = (folder / REPORT).read_text()
        certificate = Certificate.from_text((folder / CERTIFICATE).read_text())
        (folder / REPORT).write_text(page.replace("A differentially private model", "A perfect model"))
        files = {name: sha256_of((folder / name).read_bytes()) for name in certificate.files or {}}
        (folder / CERTIFICATE).write_text(certificate.with_files(files).to_text())
        assert any("it was edited" in problem for problem in sf.verify(folder).problems)

    def test_a_model_of_a_mechanism_that_gives_rows(self, folder: Path, tmp_path: Path) -> None:
        """Weights beside the certificate of another mechanism are no release of it."""
        rows = read(made_up(schemas.TABLE, n_rows=300, seed=1), schemas.TABLE)
        other = sf.release(sf.fit("independent-histograms", rows, BUDGET), to=tmp_path / "rows", rows=10).path
        (other / "synthetic.parquet").unlink()
        (other / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes())
        body = json.loads((other / CERTIFICATE).read_text())
        body["rows"] = None
        del body["files"]["synthetic.parquet"]
        body["files"][WEIGHTS] = "0" * 64
        certificate = Certificate.from_json(body)
        (other / CERTIFICATE).write_text(certificate.to_text())
        rewrite(other)
        assert any("releases rows and no trained model" in problem for problem in sf.verify(other).problems)


class TestPredict:
    def test_from_a_folder_as_from_memory(self, folder: Path, trained: sf.Trained) -> None:
        rows = pd.DataFrame(made_up(schemas.TABLE, n_rows=50, seed=2))
        here, there = trained.predict(rows), sf.load_model(folder).predict(rows.drop(columns="ill"))
        pd.testing.assert_frame_equal(here, there)
        assert list(here.columns) == ["ill", "ill=no", "ill=yes"]
        assert list(here["ill"].cat.categories) == ["no", "yes"]
        likeliest = here[["ill=no", "ill=yes"]].to_numpy().argmax(axis=1)
        assert (here["ill"].cat.codes == likeliest).all()

    def test_no_rows_and_odd_rows(self, trained: sf.Trained) -> None:
        rows = pd.DataFrame(made_up(schemas.TABLE, n_rows=5, seed=2))
        assert len(trained.predict(rows.head(0))) == 0
        rows["age"], rows["region"] = [1e300, -1e300, np.nan, 20, 30], "Atlantis"
        assert np.isfinite(trained.predict(rows)[["ill=no", "ill=yes"]].to_numpy()).all()

    def test_a_column_that_is_missing(self, trained: sf.Trained) -> None:
        with pytest.raises(SourceError, match="no column for 'age'"):
            trained.predict(pd.DataFrame(made_up(schemas.TABLE, n_rows=5, seed=2)).drop(columns="age"))

    def test_a_folder_of_rows_predicts_nothing(self, tmp_path: Path) -> None:
        rows = read(made_up(schemas.TABLE, n_rows=300, seed=1), schemas.TABLE)
        sf.release(sf.fit("independent-histograms", rows, BUDGET), to=tmp_path / "rows", rows=10)
        with pytest.raises(ModelError, match="predicts nothing"):
            sf.load_model(tmp_path / "rows")


class TestWarnings:
    @pytest.mark.slow
    def test_a_model_of_no_rows_is_said_to_be_of_little_use(self, tmp_path: Path) -> None:
        schema = replace(schemas.TABLE, rows=20_000)
        model = sf.train("logistic", read(made_up(schema, n_rows=0, seed=1), schema), BUDGET)
        certificate = sf.release(model.fitted, to=tmp_path / "model").certificate
        assert certificate.warnings
        assert certificate.warnings[0].startswith("This release is likely to be of little use")
        assert sf.verify(tmp_path / "model").ok


class TestWeightsFile:
    ARRAYS = (
        {},
        {"a": np.arange(6, dtype=np.int64).reshape(2, 3), "b": np.array([True, False])},
        {"x": np.zeros((0, 4), dtype=np.float32), "ü": np.array(1.5)},
    )

    @pytest.mark.parametrize("arrays", ARRAYS)
    def test_what_is_written_is_read(self, arrays) -> None:
        again = weights_of(weights_file(arrays))
        assert list(again) == list(arrays)
        for name, values in arrays.items():
            assert again[name].dtype == values.dtype
            assert np.array_equal(again[name], values)
        assert weights_file(again) == weights_file(arrays)

    def test_it_is_the_public_format(self) -> None:
        library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
        arrays = self.ARRAYS[1]
        again = library.load(weights_file(arrays))
        assert all(np.array_equal(again[name], values) for name, values in arrays.items())

    def test_its_first_bytes_are_those_of_the_format(self) -> None:
        content = weights_file({"w": np.array([1.0, 2.0], dtype=np.float32)})
        length = int.from_bytes(content[:8], "little")
        assert json.loads(content[8 : 8 + length]) == {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
        assert content[8 + length :] == np.array([1.0, 2.0], dtype="<f4").tobytes()

    def test_whatever_else_it_is_given_it_refuses(self) -> None:
        good = weights_file(self.ARRAYS[1])
        rng = np.random.default_rng(0)
        bad = [b"", good[:7], good[:-1], good + b"\0", b"\xff" * 8 + good[8:], good.replace(b'"I64"', b'"I32"')]
        bad += [good.replace(b"[2,3]", b"[3,2]").replace(b"[0,48]", b"[0,40]"), good.replace(b"[2,3]", b"[-2,-3]")]
        bad += [bytes(rng.integers(0, 256, 60, dtype=np.uint8)) for _ in range(50)]
        for content in bad:
            with pytest.raises((ValueError, LookupError, SfumatoError)):
                weights_of(content)
