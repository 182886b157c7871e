"""A bucket on a real server of S3: the same rows as from a disk, one object at a time, and no key in a sentence."""

import logging
import pickle
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pyarrow.fs as fs
import pytest
from test_engines import COLUMNS, HERE, Parts, rows_of, sums_of

import sfumato as sf
from sfumato.errors import MissingLibraryError, SourceError
from sfumato.private.intake import remote
from sfumato.private.intake.places import list_files
from sfumato.private.intake.sensitive import open_batches

pytestmark = pytest.mark.slow
ArrowFSWrapper = pytest.importorskip("fsspec.implementations.arrow", reason="fsspec is not installed").ArrowFSWrapper
SCHEMA = sf.Schema(columns=COLUMNS)
FACTS = {"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """HOST:PORT of a server that lives as long as these tests."""
    served = pytest.importorskip("moto.server", reason="no S3 server is installed (moto): buckets are not tested")
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = served.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(address: str, monkeypatch: pytest.MonkeyPatch):
    for name, value in {**FACTS, "AWS_ENDPOINT_URL": f"http://{address}", "AWS_EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(name, value)
    system = fs.S3FileSystem(endpoint_override=address, scheme="http", allow_bucket_creation=True)
    system.create_dir("clinic")
    for at, rows in enumerate(np.array_split(np.arange(900), 3)):
        put(system, f"clinic/visits/part-{at}.parquet", pd.DataFrame(rows_of(900)).iloc[rows])
    yield system
    system.delete_dir_contents("clinic")


def put(system, path: str, frame: pd.DataFrame) -> None:
    with system.open_output_stream(path) as file:
        frame.to_parquet(file, index=False) if path.endswith("parquet") else frame.to_csv(file, index=False)


def read(url: object) -> np.ndarray:
    return np.concatenate([batch["x"] for batch in open_batches(sf.Sensitive.read(url, SCHEMA), rows=400)])


@pytest.mark.parametrize("place", ["s3://clinic", "s3://clinic/visits/", "s3://clinic/visits/part-?.parquet"])
def test_a_bucket_a_folder_of_it_and_a_pattern(bucket, place: str) -> None:
    np.testing.assert_array_equal(read(place), rows_of(900)["x"])


def test_the_server_may_stand_in_the_url(bucket, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    url = f"s3://clinic/visits?endpoint_override={address}&scheme=http"
    np.testing.assert_array_equal(read(url), rows_of(900)["x"])
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    data = sf.Sensitive.read(f"s3://me:hunter2@clinic/visits?endpoint_override={address}&scheme=http", SCHEMA)
    bucket.delete_file("clinic/visits/part-1.parquet")
    with pytest.raises(SourceError, match="a file came or went") as refusal:
        list(open_batches(data, rows=100))
    assert "hunter2" not in repr(refusal.value)


def test_workers_read_objects_by_themselves(bucket) -> None:
    found = sums_of(Parts(), sf.Sensitive.read("s3://clinic/visits", SCHEMA))
    np.testing.assert_array_equal(found, sums_of(HERE, rows_of(900)))


def test_folders_of_keys_are_columns_to_the_letter(bucket) -> None:
    put(bucket, "clinic/v/c=a/ward=north%20wing/1.csv", pd.DataFrame({"x": [0.5]}))
    (file,) = list_files(["s3://clinic/v"])
    assert dict(file.partition) == {"c": "a", "ward": "north wing"}
    assert read("s3://clinic/v").tolist() == [0.5]
    stream = pickle.loads(pickle.dumps(file)).path.open()  # as a worker gets it
    assert stream.read() == b"x\n0.5\n"


@pytest.mark.parametrize("has_tags", [True, False], ids=["tags", "twin"])
def test_an_object_of_the_same_size_and_second_is_another_by_its_tag(bucket, has_tags, monkeypatch) -> None:
    """The broken twin has sizes and times alone, and does not see a row in the middle of a large object."""
    times, real = {"mtime", "Last-Modified"}, remote.RemotePath._tag
    monkeypatch.setattr(
        remote.RemotePath, "_tag", lambda path: [fact for fact in real(path) if has_tags and fact[0] not in times]
    )
    info = ArrowFSWrapper.info
    monkeypatch.setattr(
        ArrowFSWrapper, "info", lambda *of: {name: fact for name, fact in info(*of).items() if name not in times}
    )
    before, after = (pd.DataFrame({"x": [0.1] * 20_000 + [x] + [0.1] * 20_000, "c": "a"}) for x in (0.2, 0.3))
    put(bucket, "clinic/w/1.csv", before)
    data = sf.Sensitive.read("s3://clinic/w", SCHEMA)
    put(bucket, "clinic/w/1.csv", after)
    with pytest.raises(SourceError, match="was changed while it was read") if has_tags else nullcontext():
        list(open_batches(data, rows=50_000))


def test_what_is_not_there_is_a_sentence(bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    for url, words in (
        ("s3://nobody/visits/", "s3://nobody/visits/ cannot be read"),
        ("s3://clinic/visits/none.parquet", "cannot be read"),
        ("s3://clinic/none/*", "there is no file at s3://clinic/none/"),
        ("s3://clinic/visits?endpoint=x", "cannot be listed"),
        ("abfs://me:hunter2@clinic/visits", "a file system that is not installed. Install adlfs"),
    ):
        with pytest.raises((SourceError, MissingLibraryError), match=words) as refusal:
            sf.Sensitive.read(url, SCHEMA)
        assert "hunter2" not in repr(refusal.value)
        assert refusal.value.__context__ is None or isinstance(refusal.value, MissingLibraryError)
