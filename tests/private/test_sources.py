"""Every format gives the same rows; every fault of a file has a message, and no message holds a row."""

import gzip
import os
import struct
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from sfumato.errors import SourceError
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.drafts import draft_schema
from sfumato.private.intake.sources import open_source
from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.schema import Column, Schema

SECRET = "zq7secret"
SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", bounds=(0, 100), missing=True),
        Column(name="pay", kind="numeric", bounds=(-10.0, 10.0), missing=True),
        Column(name="day", kind="datetime", bounds=(0.0, 4e9), missing=True),
        Column(name="sex", kind="categorical", categories=("f", "m"), missing=True),
        Column(name="code", kind="categorical", categories=("1", "2"), missing=True),
        Column(name="ill", kind="boolean"),
    ),
    target="ill",
)
IMAGES = Schema(
    columns=(
        Column(name="picture", kind="image", shape=(4, 5)),
        Column(name="digit", kind="categorical", categories=("0", "1", "2")),
    ),
    target="digit",
)


def frame(n=40):
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "ill": rng.integers(0, 2, n).astype(bool),
            "age": rng.integers(-5, 130, n),
            "pay": rng.normal(0, 8, n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s"),
            "sex": rng.choice(["f", "m", "other"], n),
            "code": rng.choice([1.0, 2.0, np.nan], n),
            "note": [f'{SECRET}, "x" {i}' for i in range(n)],
        }
    )
    table.loc[::7, "pay"] = np.nan
    return table


def read(data, schema=SCHEMA, rows=16):
    source = open_source(data, schema)
    batches = [conform(chunk, schema) for chunk in source.chunks([c.name for c in schema.columns], rows=rows)]
    again = [conform(chunk, schema) for chunk in source.chunks([c.name for c in schema.columns], rows=rows // 2 + 1)]
    out, twice = (join(part, schema) for part in (batches, again))
    same(out, twice)
    assert all(len(next(iter(batch.values()))) <= rows for batch in batches)
    return out


def join(batches, schema):
    empty = conform({c.name: np.zeros((0, *c.shape)) for c in schema.columns}, schema)
    return {c.name: np.concatenate([empty[c.name], *(batch[c.name] for batch in batches)]) for c in schema.columns}


def same(left, right):
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], strict=True)


def write_all(table, folder):
    """The same table in every format, as {name: what open_source takes}."""
    made = {
        "csv": folder / "t.csv",
        "gz": folder / "t.csv.gz",
        "tsv": folder / "t.tsv",
        "parquet": folder / "t.parquet",
    }
    table.to_csv(made["csv"], index=False)
    table.to_csv(made["gz"], index=False)
    table.to_csv(made["tsv"], index=False, sep="\t")
    table.to_csv(folder / "semicolon.csv", index=False, sep=";")
    table.to_parquet(made["parquet"], row_group_size=9)
    coded = table.astype({"sex": "category", "note": "category", "code": "Int64"})
    coded.to_parquet(folder / "coded.parquet")
    arrays = {name: table[name].to_numpy() for name in table if name not in ("sex", "note")}
    arrays["sex"] = table["sex"].to_numpy().astype("U")
    np.savez(folder / "t.npz", **arrays)
    np.savez_compressed(folder / "packed.npz", **arrays)
    made |= {
        "semicolon": folder / "semicolon.csv",
        "coded": folder / "coded.parquet",
        "npz": str(folder / "t.npz"),
    }
    made |= {"packed": folder / "packed.npz", "frame": table, "coded frame": coded, "arrays": arrays}
    made |= {"objects": table.astype(object), "table": pa.Table.from_pandas(table)}
    made |= {"lists": {name: table[name].tolist() for name in table}}
    made |= {"arrow": table.convert_dtypes(dtype_backend="pyarrow"), "masked": table.convert_dtypes()}
    return made


def test_every_format_gives_the_same_rows(tmp_path):
    made = write_all(frame(), tmp_path)
    expected = read(frame())
    assert len(expected["age"]) == 40
    assert expected["age"].max() == 100
    for name, data in made.items():
        try:
            same(read(data), expected)
        except AssertionError as error:
            raise AssertionError(f"{name} differs: {error}") from None


def test_no_rows_are_a_dataset(tmp_path):
    for data in write_all(frame()[:0], tmp_path).values():
        assert len(read(data)["age"]) == 0
    (tmp_path / "bare.csv").write_bytes(b"age,pay,day,sex,code,ill")
    assert len(read(tmp_path / "bare.csv")["age"]) == 0


def test_structured_and_plain_arrays():
    schema = Schema(columns=(SCHEMA["age"], SCHEMA["pay"]))
    plain = np.array([[1.0, 2.0], [300.0, np.nan]])
    expected = {"age": np.array([1.0, 100.0]), "pay": np.array([2.0, np.nan])}
    same(read(plain, schema), expected)
    same(read(np.array([(1, 2.0), (300, np.nan)], dtype=[("age", "i4"), ("pay", "f8")]), schema), expected)
    same(read({"age": np.ma.array([1, 300]), "pay": np.ma.array([2.0, 5.0], mask=[0, 1])}, schema), expected)


ODD = [
    b"NaN,inf,9999-99-99,\x00,\xff\xfe,maybe",
    b'"a ""quoted"" text",1e999,"two\nlines",f,1,true',
    b",,,,,",
    b"1,2",
    b"1,2,3,4,5,6,7,8,9",
    "９,１,2020-01-01,ｆ,'';--,\u202e".encode(),
    b"0x1F,1_000,-5,=cmd(),1.0,YES",
    b"5," + b"9" * 300_000 + b",2020-01-01," + b"x" * 300_000 + b",2,0",
]


def csv_bytes(rows):
    return b"\n".join([b"age,pay,day,sex,code,ill", *rows]) + b"\n"


def test_odd_rows_raise_nothing_and_leave_the_others_alone(tmp_path):
    path = tmp_path / "odd.csv"
    plain = b"40,1.5,2020-01-01,m,2,1"
    path.write_bytes(csv_bytes([plain]))
    expected = {name: values[0] for name, values in read(path).items()}
    for odd in ODD:
        path.write_bytes(csv_bytes([plain, odd, plain]))
        batch = read(path)
        assert len(batch["age"]) in (2, 3)
        for name, values in batch.items():
            assert values[0] == values[-1] == expected[name]
    path.write_bytes(csv_bytes(ODD))
    assert len(read(path)["age"]) == 5  # a value of two lines is none


def idx(path, array):
    kinds = {"u1": 8, "i4": 12, "f8": 14}
    code = kinds[array.dtype.str[1:]]
    content = bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    content += array.astype(array.dtype.newbyteorder(">")).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def pictures(n=20):
    rng = np.random.default_rng(3)
    return rng.integers(0, 256, (n, 4, 5), dtype=np.uint8), np.sort(rng.integers(0, 3, n)).astype(np.uint8)


def test_every_image_format_gives_the_same_rows(tmp_path):
    images, labels = pictures()
    expected = read({"picture": images, "digit": labels}, IMAGES)
    np.testing.assert_array_equal(expected["picture"], images.astype(np.float32))
    for end in ("", ".gz"):
        idx(tmp_path / f"train-images-idx3-ubyte{end}", images)
        idx(tmp_path / f"train-labels-idx1-ubyte{end}", labels)
        same(read(tmp_path / f"train-images-idx3-ubyte{end}", IMAGES), expected)
    np.savez(tmp_path / "a.npz", image=images, label=labels)
    np.savez(tmp_path / "b.npz", picture=np.asfortranarray(images), digit=labels.astype("U1"), other=np.zeros(3))
    folder = tmp_path / "folder"
    for at, (image, label) in enumerate(zip(images, labels, strict=True)):
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / str(label) / f"{at:04}.png")
    table = pa.table({"picture": pa.array(list(images.reshape(20, -1))), "digit": labels})
    pq.write_table(table, tmp_path / "t.parquet")
    for data in (
        tmp_path / "a.npz",
        tmp_path / "b.npz",
        folder,
        (images, labels),
        tmp_path / "t.parquet",
        table,
    ):
        same(read(data, IMAGES), expected)


def test_pictures_in_a_folder_are_mapped_and_never_refused(tmp_path):
    for label in ("0", "1", "unknown"):
        (tmp_path / label).mkdir()
    Image.new("RGB", (50, 30), (200, 200, 200)).save(tmp_path / "0" / "a.jpg")
    Image.fromarray(np.full((4, 5), 200 * 257, np.uint16)).save(tmp_path / "0" / "b.png")
    Image.new("RGBA", (5, 4), (200, 200, 200, 7)).save(tmp_path / "1" / "c.png")
    (tmp_path / "1" / "d.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    (tmp_path / "1" / "e.gif").write_bytes(b"")
    (tmp_path / "1" / "Thumbs.db").write_bytes(b"no picture")
    Image.new("P", (1, 1), 0).save(tmp_path / "unknown" / "f.bmp")
    batch = read(tmp_path, IMAGES)
    assert batch["digit"].tolist() == [0, 0, 1, 1, 1, 0]
    assert np.abs(batch["picture"][:3] - 200).max() <= 1
    assert not batch["picture"][3:].any()
    colour = Schema(columns=(Column(name="p", kind="image", shape=(2, 2, 3)), IMAGES["digit"]))
    assert read(tmp_path, colour)["p"].shape == (6, 2, 2, 3)


def faults(folder):
    """(data, schema, words of the message), each with the secret in its rows."""
    good = frame()
    text = good.to_csv(index=False)
    made = {
        "empty.csv": b"",
        "empty.parquet": b"",
        "blank.csv": b"\n\n\n",
        "binary.csv": b"PAR1" + text.encode(),
        "null.csv": b"age\0,pay\n" + text.encode(),
        "twice.csv": b"age,age,pay\n1,2,3\n",
        "notgz.csv.gz": text.encode(),
        "cut.csv.gz": gzip.compress(text.encode())[:-40],
        "text.parquet": text.encode(),
        "text.npz": text.encode(),
        "text-images-idx3-ubyte": text.encode(),
        "t.xlsx": text.encode(),
        "headless.csv": text.split("\n", 1)[1].encode(),
    }
    for name, content in made.items():
        (folder / name).write_bytes(content)
    good.drop(columns="pay").to_csv(folder / "short.csv", index=False)
    good.drop(columns="ill").to_parquet(folder / "targetless.parquet")
    good.to_parquet(folder / "cut.parquet")
    whole = (folder / "cut.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[:-20])
    hurt = bytearray(whole)
    hurt[8:900] = b"\xff" * 892
    (folder / "hurt.parquet").write_bytes(bytes(hurt))
    np.savez(folder / "uneven.npz", **{c.name: np.zeros(3 + (c.name == "pay")) for c in SCHEMA.columns})
    np.savez(folder / "pickled.npz", age=np.array([SECRET, None], dtype=object), allow_pickle=True)
    images, labels = pictures()
    idx(folder / "short-images-idx3-ubyte", images)
    with (folder / "short-images-idx3-ubyte").open("r+b") as file:
        file.truncate(100)
    idx(folder / "short-labels-idx1-ubyte", labels)
    idx(folder / "other-images-idx3-ubyte", images)
    idx(folder / "other-labels-idx1-ubyte", labels[:-1])
    idx(folder / "alone-images-idx3-ubyte", images)
    idx(folder / "flat-images-idx3-ubyte", images.reshape(20, 2, 10))
    idx(folder / "flat-labels-idx1-ubyte", labels)
    (folder / "hollow").mkdir()
    person = Schema(columns=SCHEMA.columns, unit=PrivacyUnit(person="who"))
    return [
        (folder / "absent.csv", SCHEMA, "does not exist"),
        (folder / "empty.csv", SCHEMA, "empty"),
        (folder / "empty.parquet", SCHEMA, "empty"),
        (folder / "blank.csv", SCHEMA, "no header line"),
        (folder / "binary.csv", SCHEMA, "not a CSV"),
        (folder / "null.csv", SCHEMA, "no header line"),
        (folder / "twice.csv", SCHEMA, "twice"),
        (folder / "notgz.csv.gz", SCHEMA, "not what its name says"),
        (folder / "cut.csv.gz", SCHEMA, "damaged"),
        (folder / "text.parquet", SCHEMA, "not a Parquet file"),
        (folder / "cut.parquet", SCHEMA, "not a Parquet file"),
        (folder / "hurt.parquet", SCHEMA, "not a readable Parquet file"),
        (folder / "text.npz", SCHEMA, "not a .npz file"),
        (folder / "uneven.npz", SCHEMA, "different lengths"),
        (folder / "pickled.npz", SCHEMA, "Python objects|not a .npz"),
        (folder / "text-images-idx3-ubyte", IMAGES, "not an IDX file"),
        (folder / "short-images-idx3-ubyte", IMAGES, "damaged"),
        (folder / "other-images-idx3-ubyte", IMAGES, "same number of rows"),
        (folder / "alone-images-idx3-ubyte", IMAGES, "the target 'digit'"),
        (folder / "flat-images-idx3-ubyte", IMAGES, "shape"),
        (folder / "t.xlsx", SCHEMA, r"Known: \.csv"),
        (folder / "headless.csv", SCHEMA, "is the header missing"),
        (folder / "short.csv", SCHEMA, "no column for 'pay' of the schema. It has: ill, age, day"),
        (folder / "targetless.parquet", SCHEMA, "the target 'ill'"),
        (good, person, "the person column 'who'"),
        (folder / "hollow", IMAGES, "the names of the subfolders"),
        (folder / "hollow", SCHEMA, "no image column"),
        ({"age": [1, 2], "pay": [SECRET]}, SCHEMA, "different lengths"),
        ({"age": SECRET}, SCHEMA, "no array"),
        ({"age": 5}, SCHEMA, "no array"),
        ({}, SCHEMA, "no arrays"),
        (np.zeros((3, 2)), SCHEMA, "in its order"),
        (5, SCHEMA, "type int"),
        (pd.concat([good, good], axis=1), SCHEMA, "twice"),
        (pa.table({c.name: [{"a": SECRET}] for c in SCHEMA.columns}), SCHEMA, "struct"),
    ]


def test_every_fault_has_its_message_and_no_message_holds_a_row(tmp_path):
    for data, schema, words in faults(tmp_path):
        with pytest.raises(SourceError, match=words) as caught:
            read(data, schema)
        shown = "".join(traceback.format_exception(caught.value))
        assert SECRET not in shown
        assert "During handling" not in shown
        assert "direct cause" not in shown
        assert "40" not in str(caught.value).replace(str(tmp_path), "")


def test_one_more_row_changes_no_name_and_no_message(tmp_path):
    texts = []
    for n in (30, 31):
        folder = tmp_path / "same"
        folder.mkdir(exist_ok=True)
        table = frame(31)[:n]
        for at, data in enumerate(write_all(table, folder).values()):
            texts.append((n, at, open_source(data, SCHEMA).names, message(data)))
    half = len(texts) // 2
    assert [t[1:] for t in texts[:half]] == [t[1:] for t in texts[half:]]


def message(data):
    lacking = Schema(columns=(*SCHEMA.columns, Column(name="nowhere", kind="boolean")))
    with pytest.raises(SourceError, match="'nowhere'") as caught:
        open_source(data, lacking)
    return str(caught.value)


def test_a_draft_loads_and_holds_nothing_from_the_rows(tmp_path):
    table = frame().assign(sex=SECRET)
    table["age"] = 987654
    kinds = {"ill": "boolean", "age": "integer", "pay": "numeric", "day": "datetime", "sex": "categorical"}
    for name, data in write_all(table, tmp_path).items():
        if isinstance(data, dict | pa.Table):
            continue
        text = draft_schema(data)
        assert SECRET not in text
        assert "987654" not in text
        schema = Schema.parse(text)
        assert {c.name for c in schema.columns} >= kinds.keys()
        if name in ("parquet", "coded", "frame", "npz"):
            assert {n: schema[n].kind for n in kinds} == kinds
        # What is not discovered was known from the name.
        told = {c.name for c in schema.columns if not c.discover and c.kind != "boolean"}
        assert told == {"age", "sex"} or (told < {"age", "sex"} and name in ("objects", "npz", "packed"))
    for n in (30, 31):
        frame(31)[:n].to_parquet(tmp_path / "n.parquet")
        assert draft_schema(tmp_path / "n.parquet") == draft_schema(tmp_path / "t.parquet")


def test_a_draft_of_images(tmp_path):
    images, labels = pictures()
    idx(tmp_path / "train-images-idx3-ubyte", images)
    idx(tmp_path / "train-labels-idx1-ubyte", labels)
    np.savez(tmp_path / "a.npz", x=images, y=labels, x_test=images)
    (tmp_path / "f" / SECRET).mkdir(parents=True)
    for data, shape in (("train-images-idx3-ubyte", (4, 5)), ("a.npz", (4, 5)), ("f", (28, 28))):
        text = draft_schema(tmp_path / data)
        schema = Schema.parse(text)
        assert SECRET not in text
        assert schema.images[0].shape == shape
        assert len(schema.columns) == 2


def test_odd_column_names_survive_a_draft(tmp_path):
    names = ['a "b"', "c\\d", "é.ü", "# no", "[x]"]
    pd.DataFrame({name: [1] for name in names}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(SourceError, match="may be a private row"):
        draft_schema(tmp_path / "t.csv")
    drafted = Schema.parse(draft_schema(tmp_path / "t.csv", header=True))
    assert [c.name for c in drafted.columns] == [n.strip() for n in names]


DATA = os.environ.get("SFUMATO_DATA")
with_data = pytest.mark.skipif(DATA is None, reason="set SFUMATO_DATA to a folder with the real datasets")


@with_data
def test_mnist_loads():
    schema = Schema(
        columns=(
            Column(name="image", kind="image", shape=(28, 28)),
            Column(name="label", kind="categorical", categories=tuple("0123456789")),
        ),
        target="label",
    )
    source = open_source(Path(DATA) / "mnist" / "train-images-idx3-ubyte.gz", schema)
    n_rows, total, labels = 0, 0.0, np.zeros(10)
    for chunk in source.chunks(["image", "label"], rows=16384):
        batch = conform(chunk, schema)
        n_rows += len(batch["image"])
        assert batch["image"].shape[1:] == (28, 28)
        total += batch["image"].sum(dtype=np.float64)
        labels += np.bincount(batch["label"], minlength=10)
    assert n_rows == 60000
    assert total / (n_rows * 784) == pytest.approx(33.3184, abs=1e-3)
    assert labels.tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]


@with_data
def test_adult_loads():
    path = Path(DATA) / "adult_train.parquet"
    schema = Schema(
        columns=(
            Column(name="age", kind="integer", bounds=(17, 90)),
            Column(name="workclass", kind="categorical", discover=True),
            Column(name="income", kind="categorical", categories=("<=50K", ">50K")),
        ),
        target="income",
    )
    batch = read(path, schema, rows=16384)
    assert len(batch["age"]) == 32561
    assert np.bincount(batch["income"]).tolist() == [24720, 7841]
    assert sum(value is None for value in batch["workclass"]) == 1836
    assert len(Schema.parse(draft_schema(path)).columns) == 15


def test_a_list_of_uneven_pictures_is_mapped():
    images, labels = pictures(3)
    batch = read({"picture": [images[0], images[1][:2], images[2].tolist()], "digit": list(labels)}, IMAGES)
    np.testing.assert_array_equal(batch["picture"][[0, 2]], images[[0, 2]])
    assert not batch["picture"][1].any()


def test_what_a_library_of_any_make_raises_is_not_repeated() -> None:
    class TheirError(Exception):
        """Of a class that nobody here knows."""

    class Theirs:
        def __arrow_c_stream__(self, requested_schema=None):
            raise TheirError("the value 'secret' is no number")

    with pytest.raises(SourceError, match="cannot be read by way of Arrow") as refusal:
        open_source(Theirs(), Schema(columns=(Column(name="x", kind="numeric", bounds=(0, 1)),)))
    assert "secret" not in str(refusal.value)
    assert refusal.value.__suppress_context__
