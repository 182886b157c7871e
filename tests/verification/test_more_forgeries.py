"""A second round of forgeries: carriers in files, pages and numbers, under whatever versions of software a certificate names.

Those in REFUSED are refused for their reason, and those in MARKED pass with a sentence that names what nobody can see. All of
them are tried on a machine that has other versions than the certificate names: a version string switches no check off.
"""

import base64
import io
import json
import os
import re
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forger
import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.folder.contents import archive_of, sha256_of
from sfumato.folder.releasing import CERTIFICATE, REPORT, SCHEMA
from sfumato.folder.rows import ARRAYS, TABLE, read_synthetic
from sfumato.folder.signing import SIGNATURE, load_signing_key
from sfumato.folder.tensors import WEIGHTS, weights_file, weights_of
from sfumato.model import Synthetic
from sfumato.public.certificate.software import installed_software
from sfumato.verification.parquet_structure import holds_more, structure_of
from sfumato.verification.shape_checks import misfits

ANNA = b"Anna, 41, Rome, ill"


# ------------------------------------------------------------------------------------------------------ files, as bytes


def in_file(name, change):
    """Change the bytes of a file; its hash follows, and its report."""
    return lambda folder: folder.put(name, change((folder.path / name).read_bytes()))


def in_page(old, new):
    def forge(folder):
        page = (folder.path / REPORT).read_bytes()
        assert old in page
        folder.put(REPORT, page.replace(old, new, 1))

    return forge


def beside(name, content=ANNA):
    def forge(folder):
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return forge


def linked(name):
    def forge(folder):
        content = (folder.path / name).read_bytes()
        elsewhere = folder.path.parent / f"elsewhere-{name}"
        elsewhere.write_bytes(content)
        (folder.path / name).unlink()
        (folder.path / name).symlink_to(elsewhere)

    return forge


def before_the_footer(content):
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return content[:start] + ANNA + content[start:]


def field_of_the_footer(content):
    """A field with a number that no reader knows, with the row in it."""
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:-9] + b"\x08\x62" + bytes([len(ANNA)]) + ANNA + b"\x00"  # field 49, of bytes
    return content[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def written_by_anna(content):
    (version,) = re.findall(rb"parquet-cpp-arrow version ([\d.]+)", content)
    return content.replace(b"arrow version " + version, b"arrow version " + ANNA[: len(version)])


def rewritten(**options):
    """The same rows, written in another way: what that says may be a message."""

    def change(content):
        file = io.BytesIO()
        pq.write_table(pq.read_table(io.BytesIO(content)), file, **options)
        return file.getvalue()

    return in_file(TABLE, change)


def with_note(key, value):
    def change(content):
        table, file = pq.read_table(io.BytesIO(content)), io.BytesIO()
        note = {**table.schema.metadata}
        if key in note:
            value_of = json.loads(note[key])
            value_of["attributes"] = {"note": value.decode()}
            note[key] = json.dumps(value_of).encode()
        else:
            note[key] = value
        pq.write_table(table.replace_schema_metadata(note), file)
        return file.getvalue()

    return in_file(TABLE, change)


def note_of_a_field(content):
    table, file = pq.read_table(io.BytesIO(content)), io.BytesIO()
    fields = [table.schema.field(0).with_metadata({b"note": ANNA}), *list(table.schema)[1:]]
    pq.write_table(table.cast(pa.schema(fields, metadata=table.schema.metadata)), file)
    return file.getvalue()


def many_rows(folder):
    """A file of some kilobytes that says to hold forty million rows."""
    file, table = io.BytesIO(), pa.table({"age": pa.array(np.zeros(1_000_000, dtype=np.int64))})
    with pq.ParquetWriter(file, table.schema) as writer:
        for _ in range(40):
            writer.write_table(table)
    (folder.path / TABLE).write_bytes(file.getvalue())
    folder.edit(lambda body: body["files"].update({TABLE: sha256_of(file.getvalue())}), report=False)


def members(change):
    """The archive of rows with other members."""

    def forge(folder):
        with zipfile.ZipFile(folder.path / ARRAYS) as archive:
            held = {info.filename: archive.read(info) for info in archive.infolist()}
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            change(archive, held)
        (folder.path / ARRAYS).write_bytes(file.getvalue())
        folder.edit(lambda body: body["files"].update({ARRAYS: sha256_of(file.getvalue())}), report=False)

    return forge


def one_more(archive, held):
    for name, content in {**held, "private.npy": held["images.npy"]}.items():
        archive.writestr(zipfile.ZipInfo(name), content)


def packed(archive, held):
    for name, content in held.items():
        archive.writestr(name, content, compress_type=zipfile.ZIP_DEFLATED)


def with_comments(archive, held):
    for name, content in held.items():
        info = zipfile.ZipInfo(name)
        info.comment = ANNA
        archive.writestr(info, content)


def with_a_note_in_its_header(archive, held):
    for name, content in held.items():
        archive.writestr(zipfile.ZipInfo(name), content.replace(b" " * 20, b" " * 19 + b"\t", 1))


def other_bytes(kind):
    """The same numbers in another type or order of bytes: room for something else, or a sign."""

    def forge(folder):
        rows = read_synthetic(folder.path)
        arrays = {"images": rows.images, "labels": rows.labels, "soft_labels": rows.soft_labels}
        arrays["classes"] = np.array(rows.classes)
        arrays["images"] = kind(arrays["images"])
        folder.put(ARRAYS, archive_of(arrays))

    return forge


# --------------------------------------------------------------------------------------------------- rows and their cells


def rows_of(change):
    def forge(folder):
        table = sf.load_release(folder.path).synthetic().table.copy()
        folder.put_rows(Synthetic(table=change(table)))

    return forge


def shuffled(table):
    return table.sample(frac=1, random_state=1).reset_index(drop=True)


def swapped(table):
    table.iloc[[0, 1]] = table.iloc[[1, 0]].to_numpy()
    return table


def one_more_column(table):
    return table.assign(name="Anna")


def in_the_last_bits(table):
    return table.assign(income=np.nextafter(table["income"].to_numpy(), np.inf))


def in_middle_bits(table):
    return table.assign(income=table["income"] + 1e-8 * np.ptp(table["income"]))


def pictures_moved(by):
    def forge(folder):
        rows = read_synthetic(folder.path)
        folder.put_rows(replace(rows, images=rows.images + np.float32(by)))

    return forge


def a_picture_among_them(folder):
    rows = read_synthetic(folder.path)
    images = rows.images.copy()
    images[7] = forger.pictures()["image"][0]
    folder.put_rows(replace(rows, images=images))


# -------------------------------------------------------------------------------------------------------------- pictures


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def picture(change):
    """Change the first PNG of the page."""

    def forge(folder):
        page = (folder.path / REPORT).read_bytes()
        (old, *_) = re.findall(rb"data:image/png;base64,([A-Za-z0-9+/=]+)", page)
        new = base64.b64encode(change(base64.b64decode(old)))
        folder.put(REPORT, page.replace(old, new, 1))

    return forge


def with_text(png):
    return png[:33] + chunk(b"tEXt", b"note\x00" + ANNA) + png[33:]


def enormous(png):
    return png[:8] + chunk(b"IHDR", struct.pack(">II", 60_000, 60_000) + png[24:29]) + png[33:]


def inverted(png):
    from PIL import Image, ImageOps

    file = io.BytesIO()
    ImageOps.invert(Image.open(io.BytesIO(png)).convert("L")).save(file, format="PNG", optimize=True)
    return file.getvalue()


def packed_otherwise(png):
    """The same pixels by another setting of the library, as its next version may have it."""
    from PIL import Image

    file = io.BytesIO()
    Image.open(io.BytesIO(png)).save(file, format="PNG", compress_level=1)
    return file.getvalue()


# ------------------------------------------------------------------------------------------------------- the certificate


def in_text(old, new):
    def forge(folder):
        text = (folder.path / CERTIFICATE).read_text()
        assert old in text, old
        (folder.path / CERTIFICATE).write_text(text.replace(old, new, 1))

    return forge


def appended(folder):
    path = folder.path / CERTIFICATE
    path.write_bytes(path.read_bytes() + ANNA)


def with_a_mark(folder):
    path = folder.path / CERTIFICATE
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())


def other_lines(folder):
    path = folder.path / CERTIFICATE
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def former_format(folder):
    folder.edit(lambda body: body.update(format="sfumato-certificate/2"), words=False, report=False)


def edit(change, **options):
    return lambda folder: folder.edit(change, **options)


def discovery(**fields):
    return edit(lambda body: body["discovery"].update(fields))


def lower_threshold(folder):
    folder.edit(lambda body: body["discovery"].update(threshold=body["discovery"]["threshold"] // 2))


def finer_counts(folder):
    folder.edit(lambda body: body["discovery"]["grid"].update({"discovered categories/town": 1e6}))


def finer_histograms(folder):
    folder.edit(lambda body: body["discovery"]["grid"].update({"discovered bounds/age": 1e6}))


def another_relation(folder):
    folder.put_schema(replace(folder.schema, unit=sf.PrivacyUnit(relation="replace_one")))


def rows_instead_of_persons(folder):
    folder.put_schema(replace(folder.schema, unit=sf.PrivacyUnit()))


def fewer_rows_of_a_person(folder):
    folder.put_schema(replace(folder.schema, unit=sf.PrivacyUnit(person="name", max_rows=1)))


def rarer_sampling(folder):
    def change(body):
        for step in body["steps"]:
            step["sampling"] = {
                **step["sampling"],
                **{key: value / 2 for key, value in step["sampling"].items() if key == "rate"},
            }

    folder.edit(change, words=False, report=False)


def another_target(folder):
    folder.put_schema(replace(folder.schema, target=None))


def another_name(folder):
    schema = folder.schema
    folder.put_schema(replace(schema, columns=(replace(schema.columns[0], name="age of Anna"), *schema.columns[1:])))


def another_category(folder):
    schema = folder.schema
    town = replace(schema["town"], categories=("Anna", "Rome", "Siena"))
    folder.put_schema(schema.with_columns({"town": town}))


def shifted_answers(folder):
    """All counts a thousand higher, and the rows that follow from it: a folder of another dataset."""
    unit = int(folder.body["grid"]["histograms/counts"])
    folder.put_answers(lambda answers: {"histograms/0/counts": answers["histograms/0/counts"] + 1000 * unit + 17})


def chosen_seed(folder):
    folder.edit(lambda body: body.update(seed=41))
    folder.put_rows_of_the_model()


def marked_files(folder):
    """What a copy drops: times and rights."""
    os.utime(folder.path / REPORT, (41, 41))
    (folder.path / SCHEMA).chmod(0o641)


def other_key(folder):
    """A signature of other bytes."""
    keys = sf.new_keys(folder.path.parent / "office")
    (folder.path / SIGNATURE).write_bytes(load_signing_key(keys[0]).sign(b"something else"))


def noted_signature(folder):
    keys = sf.new_keys(folder.path.parent / "office")
    signed = load_signing_key(keys[0]).sign((folder.path / CERTIFICATE).read_bytes())
    (folder.path / SIGNATURE).write_bytes(signed + b" " * 41)


SVG = b"</svg>"
REFUSED = {
    # the folder
    "a file beside the others whose name differs in case": ("table", beside("REPORT.html"), "not listed"),
    "a file whose name looks alike": ("table", beside("rep\u043ert.html"), r"rep\\u043ert.html is in the folder"),
    "a hidden file": ("table", beside(".DS_Store"), "not listed"),
    "a file in a folder in the folder": ("table", beside("more/private.csv"), "more is in the folder"),
    "an empty folder": ("table", lambda f: (f.path / "Anna-41-Rome").mkdir(), "Anna-41-Rome is in the folder"),
    "a private key": ("table", beside("office.key"), "office.key is in the folder"),
    "a certificate that is a link": ("table", linked(CERTIFICATE), "no certificate.json that is a plain file"),
    "rows that are a link": ("table", linked(TABLE), "synthetic.parquet is a link"),
    "a signature of something else": ("table", other_key, "signature"),
    "a signature with something behind it": ("table", noted_signature, "signature"),
    # the certificate
    "something behind the certificate": ("table", appended, "is not JSON"),
    "a byte order mark": ("table", with_a_mark, "not JSON|not written as"),
    "a whole number for a decimal one": ("table", in_text('"epsilon": 1.0', '"epsilon": 1'), "not written as sfumato"),
    "an exponent": ("table", in_text('"epsilon": 1.0', '"epsilon": 1e0'), "not written as sfumato"),
    "a comma for a point": ("table", in_text('"epsilon": 1.0', '"epsilon": "1,0"'), "not of the type float"),
    "minus nothing": ("table", in_text('"numeric_error": 0.0', '"numeric_error": -0.0'), "minus zero"),
    "letters as numbers": ("table", in_text('"certified"', '"\\u0063ertified"'), "not written as sfumato"),
    "lines of another system": ("table", other_lines, "not written as sfumato"),
    "a certificate of version 0.1": ("table", former_format, "Install sfumato 0.1"),
    "a whole number beyond all": ("table", in_text('"rows": 60', '"rows": 9223372036854775809'), "above 2\\^63"),
    "a version that is a row": ("table", edit(lambda b: b["software"].update(numpy="Anna,41"), report=False), "names and versions only"),
    "another relation": ("table", another_relation, "accounted events|plan cannot|listed steps"),
    "rows where persons were promised": ("persons", rows_instead_of_persons, "accounted events|plan cannot|listed steps"),
    "persons of fewer rows": ("persons", fewer_rows_of_a_person, "accounted events|plan cannot|listed steps"),
    "rarer sampling": ("poisson", rarer_sampling, "listed steps are not those"),
    "no target": ("table", another_target, "listed steps|plan cannot|cannot be built|not what the doors"),
    "a name of a column as a message": ("table", another_name, "other columns than the schema"),
    "a category as a message": ("table", another_category, "other categories than the schema"),
    # discovery
    "a threshold that is half": ("discovery", lower_threshold, "threshold of the discovery"),
    "no threshold": ("discovery", discovery(threshold=None), "needs a threshold|threshold of the discovery"),
    "texts that count more": ("discovery", finer_counts, "moves farther|grid or the threshold"),
    "histograms that count more": ("discovery", finer_histograms, "moves farther|grid or the threshold"),
    "a discovery without its grid": ("discovery", discovery(grid={}), "grid of the discovery|grid or the threshold"),
    # Parquet
    "bytes before the footer": ("table", in_file(TABLE, before_the_footer), "besides its rows: .* before the footer"),
    "an unknown field of the footer": ("table", in_file(TABLE, field_of_the_footer), "besides its rows: .* or unknown"),
    "a row in the name of the writer": ("table", in_file(TABLE, written_by_anna), "names another writer"),
    "a note of one's own": ("table", with_note(b"note", ANNA), "notes for readers"),
    "a note in the note of pandas": ("table", with_note(b"pandas", ANNA), "notes for readers"),
    "a note of a column": ("table", in_file(TABLE, note_of_a_field), "besides its rows"),
    "row groups as a message": ("table", rewritten(row_group_size=7), "besides its rows"),
    "other statistics": ("table", rewritten(write_page_index=True), "besides its rows"),
    "another column": ("table", rows_of(one_more_column), "other columns than the schema"),
    "forty million rows in a small file": ("table", many_rows, "holds 40,000,000 rows, and the certificate speaks of 60"),
    # rows
    "rows in another order": ("table", rows_of(shuffled), "not what the doors"),
    "two rows in another order": ("table", rows_of(swapped), "not what the doors"),
    "a real picture among the others": ("poisson", a_picture_among_them, "not what the doors"),
    # arrays
    "an array of private pictures": ("poisson", members(one_more), "besides its rows"),
    "packed arrays": ("poisson", members(packed), "synthetic.npz cannot be read"),
    "comments of arrays": ("poisson", members(with_comments), "besides its rows"),
    "a mark in the header of an array": ("poisson", members(with_a_note_in_its_header), "besides its rows|cannot be read"),
    "something behind the archive": ("poisson", in_file(ARRAYS, lambda c: c + ANNA), "besides its rows|cannot be read"),
    "something before the archive": ("poisson", in_file(ARRAYS, lambda c: ANNA + c), "besides its rows|cannot be read"),
    "pictures of twice the bits": ("poisson", other_bytes(lambda x: x.astype(np.float64)), "another size or type"),
    "pictures with their bytes turned round": ("poisson", other_bytes(lambda x: x.astype(">f4")), "another size or type"),
    # the page
    "a script in a drawing": ("table", in_page(SVG, b"<script>alert(41)</script></svg>"), "not the page"),
    "a style that hides the page": ("table", in_page(SVG, b"<style>body{display:none}</style></svg>"), "not the page"),
    "a page inside of a drawing": ("table", in_page(SVG, b"<foreignObject>epsilon 0.001</foreignObject></svg>"), "not the page"),
    "a drawing that loads another": ("table", in_page(SVG, b'<image href="https://example.org/a.png"/></svg>'), "not the page"),
    "a drawing that does something": ("table", in_page(b"<svg ", b'<svg onload="alert(41)" '), "not the page"),
    "a comment in the page": ("table", in_page(b"</body>", b"<!-- Anna --></body>"), "not the page"),
    "spaces in the page": ("table", in_page(b"</body>\n", b"</body> \t \n"), "not the page"),
    "a text in a picture": ("poisson", picture(with_text), "not the page"),
    "something behind a picture": ("poisson", picture(lambda png: png + ANNA), "not the page"),
    "a picture of other pixels": ("poisson", picture(inverted), "not the page"),
    "an enormous picture": ("poisson", picture(enormous), "not the page"),
    "something that is no picture": ("poisson", picture(lambda png: ANNA), "not the page"),
}  # fmt: skip

MARKED = {
    "a message in the last bits of decimals": ("discovery", rows_of(in_the_last_bits), "last digits of the synthetic rows"),
    "a message in the middle bits of decimals": ("discovery", rows_of(in_middle_bits), "differ by more than rounding"),
    "a message in the last bits of pictures": ("poisson", pictures_moved(1e-5), "last digits of the synthetic rows"),
    "a message in the middle bits of pictures": ("poisson", pictures_moved(1e-2), "differ by more than rounding"),
    "a picture that is packed otherwise": ("poisson", picture(packed_otherwise), "how the pictures in report.html are packed"),
    "answers of another dataset": ("table", shifted_answers, "that this code ran"),
    "a seed as a message": ("table", chosen_seed, "nobody chose the mechanism"),
    "times and rights of files": ("table", marked_files, "that this code ran"),
}  # fmt: skip


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Honest releases, each made once."""
    made = {}

    def of(kind):
        if kind not in made:
            made[kind] = forger.make(kind, tmp_path_factory.mktemp("honest") / "release")
            assert sf.verify(made[kind].path).ok
        return made[kind]

    return of


@pytest.fixture(autouse=True)
def other_versions_here():
    """Whoever verifies has none of the versions that the certificate names."""
    others = dict.fromkeys(installed_software(), "99.0")
    with mock.patch("sfumato.public.certificate.software.installed_software", return_value=others):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["table", "discovery", "poisson"])
def test_an_honest_release_is_borne_out_under_other_versions(kind, honest):
    found = sf.verify(honest(kind).path)
    assert found.ok, found.problems
    assert found.different == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_forgery_is_refused_whatever_versions_it_names(name, honest, tmp_path):
    kind, forge, reason = REFUSED[name]
    folder = honest(kind).copy(tmp_path / "forged")
    forge(folder)
    try:
        said = sf.verify(folder.path).problems
    except SfumatoError as error:
        said = (str(error),)
    assert any(re.search(reason, sentence) for sentence in said), said or "accepted"


@pytest.mark.slow
@pytest.mark.parametrize("name", MARKED)
def test_what_passes_is_marked(name, honest, tmp_path):
    kind, forge, sentence = MARKED[name]
    folder = honest(kind).copy(tmp_path / "forged")
    forge(folder)
    found = sf.verify(folder.path)
    assert found.ok, found.problems
    assert any(re.search(sentence, declared) for declared in found.declared), found.declared
    if "more than rounding" in sentence:
        assert found.different > 0
        assert not any("synthetic rows are what" in checked for checked in found.checked)
        assert "came out otherwise" in found.verdict


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (one_more_column, "other columns than the schema"),
        (lambda table: table.assign(town=table["town"].cat.add_categories(["Anna"])), "other categories"),
        (lambda table: table.assign(age=table["age"] + 1000 * (table.index == 7)), "beyond its bounds"),
        (lambda table: table.assign(age=table["age"].astype("float64") + 0.41), "another type"),
        (lambda table: table.assign(ill=table["ill"].where(table.index != 7)), "lacks values"),
    ],
    ids=["a column", "a category", "a number", "a type", "a gap"],
)
def test_rows_that_are_not_built_again_are_rows_of_the_schema(honest, change, reason, tmp_path):
    folder = honest("table").copy(tmp_path / "forged")
    rows_of(change)(folder)
    said = sf.verify(folder.path, rebuild=False).problems
    assert any(reason in sentence for sentence in said), said or "accepted"


def test_pictures_that_are_not_built_again_are_pictures_of_the_schema(honest, tmp_path):
    rows = read_synthetic(honest("poisson").path)
    schema = honest("poisson").schema
    assert misfits(rows, schema) == []
    for change in (
        {"images": rows.images.astype(np.float64)},
        {"images": np.concatenate([rows.images, rows.images], axis=1)},
        {"labels": rows.labels + 40},
        {"classes": (*rows.classes, "Anna")},
        {"soft_labels": np.zeros((len(rows), 9), dtype=np.float32)},
    ):
        assert misfits(replace(rows, **change), schema), change


def test_a_certificate_that_version_0_1_wrote_is_refused_with_a_remedy(tmp_path):
    former = Path(__file__).with_name("certificate-0.1.json").read_bytes()
    (tmp_path / CERTIFICATE).write_bytes(former)
    with pytest.raises(SfumatoError, match=r"made by sfumato 0\.1 .*Install sfumato 0\.1"):
        sf.verify(tmp_path)


def test_rows_are_counted_before_they_are_read(honest, tmp_path):
    folder = honest("table").copy(tmp_path / "forged")
    many_rows(folder)
    with mock.patch("sfumato.verification.product_checks.read_pieces", side_effect=AssertionError("read")):
        assert any("holds 40,000,000 rows" in sentence for sentence in sf.verify(folder.path).problems)


def test_a_file_of_other_versions_passes_by_its_structure(tmp_path):
    """The same rows without statistics of pages, as older versions of Arrow write them, and with the versions that it names."""
    table = forger.people(500)
    ours = io.BytesIO()
    table.to_parquet(ours, index=False)
    software = {"pandas": pd.__version__, "pyarrow": pa.__version__}
    theirs = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), theirs, write_statistics=False)
    assert theirs.getvalue() != ours.getvalue()
    assert holds_more(theirs.getvalue(), ours.getvalue(), software=software) is None
    assert "names another writer" in holds_more(
        theirs.getvalue(), ours.getvalue(), software={**software, "pyarrow": "1.0"}
    )
    assert holds_more(b"PAR1", ours.getvalue(), software=software) is not None


def test_numbers_of_another_type_are_mixtures_only_where_rows_are_mixed() -> None:
    schema = sf.Schema(columns=(sf.Column(name="age", kind="integer", bounds=(0, 100)),))
    rows = sf.Synthetic(table=pd.DataFrame({"age": np.array([0.4, 7e6], dtype=np.float32)}))
    assert misfits(rows, schema, mechanism="dpmix") == []
    assert misfits(rows, schema, mechanism="3a-table")
    assert misfits(rows, schema)


def test_statistics_are_those_of_the_rows() -> None:
    """The largest value of a column stands in the footer: a word of the same length there would be read by nobody."""
    file = io.BytesIO()
    pd.DataFrame({"city": ["Aachen", "Zagreb"] * 50}).to_parquet(file, index=False)
    content = file.getvalue()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    forged = content[:footer] + content[footer:].replace(b"Zagreb", b"Secret")
    software = {"pandas": pd.__version__, "pyarrow": pa.__version__}
    assert forged != content
    assert holds_more(content, content, software=software) is None
    assert holds_more(forged, content, software=software) is not None


def test_random_bytes_are_no_structure():
    file = io.BytesIO()
    forger.people(50).to_parquet(file, index=False)
    content, rng = file.getvalue(), np.random.default_rng(0)
    assert structure_of(content).around < len(content)
    for _ in range(300):
        broken = bytearray(content)
        broken[rng.integers(len(content) - 1200, len(content))] ^= 1 << rng.integers(8)
        holds_more(bytes(broken), content, software={})  # a sentence or none: no other error comes out


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    data = forger.sensitive(forger.TABLE)
    path = tmp_path_factory.mktemp("model") / "release"
    trained = sf.train("logistic", data, forger.BUDGET)
    return forger.Forged(sf.release(trained.fitted, to=path).path)


def header(change):
    def to(content):
        length = int.from_bytes(content[:8], "little")
        text = change(content[8 : 8 + length])
        return len(text).to_bytes(8, "little") + text + content[8 + length :]

    return to


def far_weight(content):
    weights = {name: values.copy() for name, values in weights_of(content).items()}
    largest = max(weights, key=lambda name: weights[name].size)
    weights[largest].flat[0] += 1
    return weights_file(weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (header(lambda text: b'{"__metadata__":{"note":"Anna"},' + text[1:]), "lacks|weights"),
        (header(lambda text: text + b" " * 8), "holds something besides"),
        (header(lambda text: text.rstrip()[:-1] + b"," + text.rstrip()[1:]), "twice"),
        (lambda content: content + ANNA, "does not hold weights"),
        (far_weight, "are not what the doors' integers give"),
    ],
    ids=["metadata", "spaces", "a name twice", "trailing bytes", "one weight"],
)
def test_a_forged_model_is_refused(model, change, reason, tmp_path):
    folder = model.copy(tmp_path / "forged")
    content = change((folder.path / WEIGHTS).read_bytes())
    (folder.path / WEIGHTS).write_bytes(content)
    folder.edit(lambda body: body["files"].update({WEIGHTS: sha256_of(content)}), report=False)
    said = sf.verify(folder.path).problems
    assert any(re.search(reason, sentence) for sentence in said), said or "accepted"


def test_there_are_forty_of_them_and_more():
    assert len(REFUSED) + len(MARKED) >= 60
