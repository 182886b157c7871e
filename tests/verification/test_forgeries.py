"""Forged releases: what a careful publisher of lies can do to every field and file, and what `verify` says of it.

Each forgery changes an honest release in place and puts right whatever follows from the change: hashes, the claim in
words, the report. Those in REFUSED must be refused, each for its reason. Those in DECLARED cannot be seen in any folder:
they pass, and the sentence that they break must be among those that the publisher declares.
"""

import io
import os
import re
import zipfile
import zlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import forger
import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.extending import NoiseSource
from sfumato.folder.contents import archive_of
from sfumato.folder.releasing import ANSWERS, CERTIFICATE, REPORT, SCHEMA
from sfumato.folder.rows import read_synthetic
from sfumato.model import Synthetic
from sfumato.private.kernel.primitives import Primitives
from sfumato.public.accounting import epsilon_of, event_from_json, event_to_json
from sfumato.public.certificate.randomness import SECRET_RANDOMNESS
from sfumato.public.plan.grid import NOISE_STDDEV
from sfumato.public.plan.plan import event_of
from sfumato.public.plan.step import step_from_json

KEY = "histograms/0/counts"


# ------------------------------------------------------------------------------- the twelve of the review of version 0.1


def claim_in_words(folder):
    folder.edit(
        lambda b: b["claim"].update(in_words=b["claim"]["in_words"].replace("1", "0.1")), words=False, report=False
    )


def private_rows(folder):
    rows = forger.people()[["age", "town", "seen", "ill"]].head(60)
    folder.put_rows(Synthetic(table=rows))


def edited_report(folder):
    page = (folder.path / REPORT).read_text()
    folder.put(REPORT, page.replace("What is not promised", "Everything is promised").encode())


def certified_with_a_known_seed(folder):
    folder.edit(lambda b: b.update(randomness="AES-256-CTR with a known seed"))


def deleted_assumptions(folder):
    folder.edit(lambda b: b.update(assumptions=[]))


def delta_of_nine_tenths(folder):
    folder.plan_again(delta=0.9)
    folder.put_rows_of_the_model()


def infinite_epsilon(folder):
    folder.edit(lambda b: b["claim"].update(epsilon=float("inf")), words=False, report=False)


def free_discovery(folder):
    folder.plan_again(prior=False)
    folder.put_rows_of_the_model()


def understated(folder):
    folder.edit(lambda b: b["claim"].update(epsilon=b["claim"]["epsilon"] * (1 - 0.0019)))


def false_spent_epsilon(folder):
    folder.edit(lambda b: b["claim"].update(spent_epsilon=0.5))


def rounded_answers(folder):
    unit = folder.body["grid"]["histograms/counts"]
    folder.put_answers(lambda a: {KEY: np.round(a[KEY] / unit) * unit})


def listed_folder(folder):
    (folder.path / REPORT).unlink()
    (folder.path / REPORT).mkdir()


# ------------------------------------------------------------------------------------------------------ the certificate


def change(**fields):
    return lambda folder: folder.edit(lambda body: body.update(fields))


def change_claim(**fields):
    return lambda folder: folder.edit(lambda body: body["claim"].update(fields))


def raw(change):
    """An edit without anything put right, for what could not be read again."""
    return lambda folder: folder.edit(change, words=False, report=False)


def replace_text(old, new):
    def forge(folder):
        text = (folder.path / CERTIFICATE).read_text()
        assert old in text
        (folder.path / CERTIFICATE).write_text(text.replace(old, new, 1))

    return forge


def rebook(body):
    """Events and epsilon as the accountant would have them for the steps as they now stand."""
    steps = [step_from_json({k: v for k, v in step.items() if k != "noise_multiplier"}) for step in body["steps"]]
    event = event_of(steps, scale=body["scale"], unit=sf.PrivacyUnit(**body["claim"]["unit"]), prior=None)
    spent = epsilon_of(event, delta=body["claim"]["delta"], relation="add_or_remove").epsilon
    body.update(event=event_to_json(event))
    body["claim"].update(epsilon=spent, spent_epsilon=spent)


def bound_of_persons(change):
    """A bound for persons that is not what the doors kept, in all steps that have one; everything follows from it."""

    def follow(body):
        for step in body["steps"]:
            step["person_bound"] = step["person_bound"] and change(step["person_bound"])
        rebook(body)

    return lambda folder: folder.edit(follow)


def bound_for_rows(folder):
    """A step has a bound for persons, and the unit is a row: nothing is cheaper by it."""
    folder.edit(lambda body: (body["steps"][0].update(person_bound=2.0), rebook(body)))


def set_bound(bound):
    """A bound that no step can have, in the first step that has one."""

    def put(body):
        next(step for step in body["steps"] if step["person_bound"]).update(person_bound=bound)

    return raw(put)


def lost_bound(body):
    del body["steps"][0]["person_bound"]


def understated_a_little(folder):
    """By what calibration and grid leave unused, and a ten-thousandth more."""
    spent = folder.body["claim"]["spent_epsilon"]
    folder.edit(lambda b: b["claim"].update(epsilon=spent * (1 - 1e-4)))


def cheaper_event(folder):
    """Everything follows from an event with a tenth more noise than the steps have."""
    event = folder.body["event"]
    event["noise_multiplier"] *= 1.1
    spent = epsilon_of(event_from_json(event), delta=1e-6, relation="add_or_remove").epsilon
    folder.edit(lambda b: (b.update(event=event), b["claim"].update(epsilon=spent, spent_epsilon=spent)))


def louder_step(folder):
    folder.edit(lambda b: b["steps"][0].update(noise_multiplier=99.0))


def dropped_step(folder):
    def drop(body):
        gone = body["steps"].pop()
        body["event"]["events"].pop()
        body["grid"] = {key: units for key, units in body["grid"].items() if not key.startswith(f"{gone['name']}/")}

    folder.edit(drop)


def fewer_uses(folder):
    step = next(at for at, step in enumerate(folder.body["steps"]) if step["uses"] > 1)
    folder.edit(lambda b: b["steps"][step].update(uses=1))


def more_rows_than_delta_allows(folder):
    folder.put_schema(replace(folder.schema, rows=20_000_000))


def other_bounds(folder):
    age = replace(folder.schema["age"], bounds=(0.0, 90.0))
    folder.put_schema(folder.schema.with_columns({"age": age}))


def another_unit(folder):
    folder.put_schema(replace(folder.schema, unit=sf.PrivacyUnit(relation="replace_one")))


def row_in_a_comment(folder):
    row = forger.people().iloc[0].to_json()
    folder.put_schema(folder.schema, text=(folder.path / SCHEMA).read_text() + f"# {row}\n")


def edit_assumption(change):
    return lambda folder: folder.edit(lambda body: change(body["assumptions"]))


# ------------------------------------------------------------------------------------------------------------- the files


def other_seed(folder):
    release = sf.load_release(folder.path)
    folder.put_rows(release.model().sample(60, seed=release.certificate.seed + 1))


def one_row_more(folder):
    rows = sf.load_release(folder.path).synthetic().table
    folder.put_rows(Synthetic(table=pd.concat([rows, rows.head(1)], ignore_index=True)))


def one_cell_changed(folder):
    rows = sf.load_release(folder.path).synthetic().table.copy()
    rows.loc[7, "age"] = 55 if rows.loc[7, "age"] != 55 else 56
    folder.put_rows(Synthetic(table=rows))


def parquet_stowaway(folder):
    table = pq.read_table(folder.path / "synthetic.parquet")
    table = table.replace_schema_metadata({**table.schema.metadata, b"note": forger.people().to_csv().encode()})
    file = io.BytesIO()
    pq.write_table(table, file)
    folder.put("synthetic.parquet", file.getvalue())


def attribute_of_the_table(folder):
    """pandas writes it into the file, and reads it back."""
    table, file = read_synthetic(folder.path).table, io.BytesIO()
    table.attrs["note"] = "Anna, 41"
    table.to_parquet(file, index=False)
    folder.put("synthetic.parquet", file.getvalue())


def category_that_no_row_has(folder):
    table = read_synthetic(folder.path).table
    folder.put_rows(Synthetic(table=table.assign(town=table["town"].cat.add_categories(["Anna, 41"]))))


def message_below_the_second(folder):
    table = read_synthetic(folder.path).table
    hidden = pd.to_timedelta(np.arange(len(table)), unit="ms")
    folder.put_rows(Synthetic(table=table.assign(seen=table["seen"] + hidden)))


def message_in_the_last_digits(folder):
    rows = read_synthetic(folder.path)
    folder.put_rows(replace(rows, images=rows.images + np.float32(1e-3)))


def archive_stowaway(folder):
    with zipfile.ZipFile(folder.path / ANSWERS, "a") as archive:
        archive.comment = b"Anna, 41, Rome"
    folder.put(ANSWERS, (folder.path / ANSWERS).read_bytes())


def pickled_answers(folder):
    file = io.BytesIO()
    np.savez(file, **{KEY: np.array([{"a": 1}], dtype=object)})
    folder.put(ANSWERS, file.getvalue())


def swollen_archive(folder):
    """An array that says to be far larger than its file."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<i8", "fortran_order": False, "shape": (10**15,)})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(f"{KEY}.npy", file.getvalue())
    folder.put(ANSWERS, out.getvalue())


def float_answers(folder):
    folder.put(ANSWERS, archive_of({key: values + 0.5 for key, values in folder.answers.items()}))


def in_place_of(name, how):
    def forge(folder):
        path = folder.path / name
        path.rename(folder.path.parent / "elsewhere")
        how(path)

    return forge


def listed(name):
    def forge(folder):
        folder.edit(lambda body: body["files"].update({name: "0" * 64}), report=False)

    return forge


def unlist_report(folder):
    (folder.path / REPORT).unlink()
    folder.edit(lambda body: body["files"].pop(REPORT), report=False)


def drawing_with_a_message(folder):
    page = (folder.path / REPORT).read_text()
    folder.put(REPORT, page.replace("</svg>", "<text>Anna, 41, Rome</text></svg>", 1).encode())


def drawing_too_many(folder):
    """Where other software is said to have drawn, drawings are declared. That is no leave to add one."""
    folder.edit(lambda b: b["software"].update(matplotlib="1.0"))
    page = (folder.path / REPORT).read_text()
    folder.put(REPORT, page.replace("<h1", "<svg><text>epsilon 0.001</text></svg><h1", 1).encode())


def extra_file(folder):
    (folder.path / "private.csv").write_text("Anna,41,Rome\n")


# -------------------------------------------------------------------------------------------------- the doors' integers


def remake(kind, primitives):
    """A release with other noise, dressed up as an honest one."""

    def forge(folder):
        other = forger.make(kind, folder.path.parent / "other", primitives=primitives(NoiseSource()))
        other.edit(lambda b: b.update(status="certified", randomness=SECRET_RANDOMNESS))
        for file in other.path.iterdir():
            (folder.path / file.name).write_bytes(file.read_bytes())

    return forge


def a_few_exact(folder):
    unit = int(folder.body["grid"]["histograms/counts"])

    def change(answers):
        counts = answers[KEY].astype(np.int64)
        counts[:6] = np.round(counts[:6] / unit).astype(np.int64) * unit
        return {KEY: counts}

    folder.put_answers(change)


def constant_answers(folder):
    folder.put_answers(lambda a: {KEY: np.full_like(a[KEY], 12_345_679)})


def even_answers(folder):
    folder.put_answers(lambda a: {key: values // 2 * 2 for key, values in a.items()})


def coarse_answers(folder):
    """Counts to one digit after the point: fewer digits than the noise has."""
    unit = folder.body["grid"]["histograms/counts"]
    folder.put_answers(lambda a: {KEY: np.round(np.round(a[KEY] / unit, 1) * unit)})


def huge_answer(folder):
    def change(answers):
        counts = answers[KEY].astype(np.int64)
        counts[0] = np.iinfo(np.int64).min
        return {KEY: counts}

    folder.put_answers(change, rows=False)


def swap_key(old, new):
    return lambda folder: folder.put_answers(
        lambda a: {key.replace(old, new): values for key, values in a.items()}, rows=False
    )


def overlapping_archive(folder):
    """A member inside the bytes of another: a file of n bytes could unpack to the square of that."""
    inner = archive_of({"b": np.arange(100)})
    inner = inner[: inner.index(b"PK\x01\x02")]
    file = io.BytesIO(archive_of({"a": np.frombuffer(inner, dtype=np.uint8)}))
    with zipfile.ZipFile(file, "a") as archive:
        member = zipfile.ZipInfo("b.npy")
        member.header_offset = file.getvalue().index(inner)
        member.file_size = member.compress_size = len(inner) - 30 - len("b.npy")
        member.CRC = zlib.crc32(inner[-member.file_size :])
        archive.filelist.append(member)
        archive.NameToInfo[member.filename] = member
        archive.comment = b""  # marks the directory as changed
    folder.put(ANSWERS, file.getvalue())


def add_answer(folder):
    folder.put_answers(lambda a: {**a, "histograms/1/counts": a[KEY]})


def shorter_answer(folder):
    folder.put_answers(lambda a: {KEY: a[KEY][:-1]}, rows=False)


# ---------------------------------------------------------------------------------------------------------- a discovery


def hidden_discovery(folder):
    """Drop the record, its answers and its cost: the bounds then look declared, and the answers are on another grid."""
    folder.edit(lambda b: b.update(discovery=None))
    folder.put_answers(lambda a: {key: v for key, v in a.items() if not key.startswith("discovered")}, rows=False)
    folder.plan_again()
    folder.put_rows_of_the_model()


def half_hidden_discovery(folder):
    folder.edit(lambda b: b.update(discovery=None))
    folder.plan_again()
    folder.put_rows_of_the_model()


def discovery_without_texts(folder):
    folder.edit(lambda b: b["discovery"].update(texts=[]))
    folder.plan_again()
    folder.put_rows_of_the_model()


def discovered_other_bounds(folder):
    age = folder.schema["age"]
    folder.put_schema(folder.schema.with_columns({"age": replace(age, bounds=(age.low, 2 * age.high))}))
    folder.put_rows_of_the_model()


def unsorted_categories(folder):
    town = folder.schema["town"]
    folder.put_schema(folder.schema.with_columns({"town": replace(town, categories=town.categories[::-1])}))
    folder.put_rows_of_the_model()


def renamed_category(folder):
    """A category that nobody holds in the place of one that passed."""
    town = folder.schema["town"]
    renamed = tuple(sorted(["Anna lives here", *town.categories[1:]]))
    folder.put_schema(folder.schema.with_columns({"town": replace(town, categories=renamed)}))
    folder.put_rows_of_the_model()


# --------------------------------------------------------------------------------------------- what no folder can show


def another_scale(folder):
    """Claim a tenth of epsilon: the integers are the same, and stand for ten times as many rows."""
    folder.plan_again(epsilon=0.1)
    folder.put_rows_of_the_model()


def noise_with_a_known_seed(folder):
    remake("table", lambda source: Primitives(NoiseSource(research_seed=1)))(folder)


def invented_rows(folder):
    rng = np.random.default_rng(1)
    folder.put_answers(lambda a: {KEY: np.rint(rng.normal(0, NOISE_STDDEV, a[KEY].shape)).astype(np.int64)})


def other_software(folder):
    folder.edit(lambda b: b["software"].update({"dp-accounting": "0.6.9"}))


THE_TWELVE = {
    "a claim in words that is not the claim in numbers": ("table", claim_in_words, "not the claim in numbers"),
    "private rows in the place of the synthetic ones": (
        "table",
        private_rows,
        "another type than the schema|other categories than the schema",
    ),
    "an edited report": ("table", edited_report, "report.html is not the page"),
    "certified beside a known seed": ("table", certified_with_a_known_seed, "beside the randomness"),
    "deleted assumptions": ("table", deleted_assumptions, "leaves out or edits the assumption"),
    "a delta of .9": ("table", delta_of_nine_tenths, "promises nothing"),
    "an infinite epsilon": ("table", infinite_epsilon, "holds Infinity"),
    "a discovery at no cost": ("discovery", free_discovery, "accounted events differ"),
    "epsilon understated by .19 %": ("table", understated, "its own events amount to"),
    "a false spent_epsilon": ("table", false_spent_epsilon, "epsilon 0.5 was spent, and its events cost 1"),
    "rounded answers": ("table", rounded_answers, "hold no noise"),
    "a listed folder": ("table", listed_folder, "report.html is a folder and should be a plain file"),
}

REFUSED = {
    **THE_TWELVE,
    # the claim
    "epsilon understated by .19 %, Poisson sampling": ("poisson", understated, "its own events amount to"),
    "epsilon understated by .19 %, fixed-size sampling": ("fixed size", understated, "its own events amount to"),
    "epsilon understated by .19 %, persons": ("persons", understated, "its own events amount to"),
    "a lower bound for persons": (
        "persons together",
        bound_of_persons(lambda bound: max(1.0, 0.9 * bound)),
        "listed steps are not those",
    ),
    "a raised bound for persons": (
        "persons together",
        bound_of_persons(lambda bound: 1.1 * bound),
        "listed steps are not those",
    ),
    "no bound for persons": ("persons together", bound_of_persons(lambda bound: None), "listed steps are not those"),
    "a bound for persons where the unit is a row": ("table", bound_for_rows, "listed steps are not those"),
    "a bound for persons of less than a row": ("persons together", set_bound(0.5), "must be a finite number of at least 1"),
    "a bound for persons in words": ("persons together", set_bound("short"), "not of the type float"),
    "a step that says nothing of persons": ("persons together", raw(lost_bound), "lacks 'person_bound'"),
    "epsilon understated by .01 %": ("table", understated_a_little, "its own events amount to"),
    "epsilon understated by .01 %, sampling": ("fixed size", understated_a_little, "its own events amount to"),
    "a smaller delta": ("table", change_claim(delta=1e-9), "its events cost|its own events amount to"),
    "another unit": ("table", another_unit, "accounted events differ|listed steps"),
    "another unit in the claim alone": (
        "table",
        raw(lambda b: b["claim"]["unit"].update(person="name", max_rows=1)),
        "not the claim in numbers",
    ),
    "another accountant": ("table", change_claim(accountant="rdp"), "accountant of these events is 'gdp'"),
    "an unknown accountant": ("table", raw(lambda b: b["claim"].update(accountant="trust me")), "no accountant"),
    "a numeric error": ("table", change_claim(numeric_error=1e-9), "accountant of these events"),
    "a negative epsilon": ("table", raw(lambda b: b["claim"].update(epsilon=-1.0)), "above 0"),
    "an epsilon in words": ("table", raw(lambda b: b["claim"].update(epsilon="small")), "not of the type float"),
    "an epsilon of 1e999": ("table", replace_text('"epsilon": 1.0', '"epsilon": 1e999'), "too large to be one"),
    "an epsilon of NaN": ("table", replace_text('"epsilon": 1.0', '"epsilon": NaN'), "holds NaN"),
    # status and randomness
    "research": ("table", change(status="research"), "marked 'research'"),
    "non_private": ("table", change(status="non_private"), "marked 'non_private'"),
    "an unknown status": ("table", raw(lambda b: b.update(status="excellent")), "status is 'excellent'"),
    "made-up randomness": ("table", change(randomness="a quantum computer"), "beside the randomness"),
    # event, scale, noise, grid, steps
    "a cheaper event": ("table", cheaper_event, "accounted events differ"),
    "an unknown event": ("table", raw(lambda b: b["event"].update(event="magic")), "'magic' is unknown"),
    "an event with a note": ("table", raw(lambda b: b["event"].update(note="Anna")), "fields that it should not have"),
    "a louder step": ("table", louder_step, "noise multiplier of step 'histograms'"),
    "a larger scale": ("table", change(scale=50.0), "does not follow from the scale"),
    "a scale of 0": ("table", raw(lambda b: b.update(scale=0)), "scale must be a finite number above 0"),
    "a finer grid": ("table", lambda f: f.edit(lambda b: b["grid"].update({"histograms/counts": 1.0})), "grid does not fit"),
    "a dropped step": ("3a-table", dropped_step, "listed steps are not those"),
    "fewer uses": ("3a-table", fewer_uses, "listed steps are not those"),
    "a wider block": (
        "table",
        raw(lambda b: b["steps"][0]["blocks"][0].update(width=10)),
        "listed steps are not those",
    ),
    "a block of no kind": ("table", raw(lambda b: b["steps"][0]["blocks"][0].update(kind="Free")), "of no kind"),
    "a step that is a text": ("table", raw(lambda b: b.update(steps=["histograms"])), "noise multiplier of a step"),
    # mechanism and seed
    "another mechanism": ("table", raw(lambda b: b["mechanism"].update(name="3a-table")), "plan cannot be made again"),
    "a baseline with an epsilon": (
        "table", lambda f: f.edit(lambda b: b["mechanism"].update(name="ads-gan")), "a baseline that is not private"
    ),
    "a claim in the format of a baseline": ("table", raw(lambda b: b.update(format="sfumato-non-private/1")), "claims nothing"),
    "an unknown mechanism": ("table", raw(lambda b: b["mechanism"].update(name="magic")), "no mechanism 'magic'"),
    "another setting": ("table", lambda f: f.edit(lambda b: b["mechanism"]["parameters"].update(bins=7)), "listed steps"),
    "a setting too many": (
        "table",
        lambda f: f.edit(lambda b: b["mechanism"]["parameters"].update(note="Anna")),
        "a key that it should not have: 'note'",
    ),
    "a setting too few": ("table", lambda f: f.edit(lambda b: b["mechanism"]["parameters"].clear()), "lacks 'bins'"),
    "a setting of another type": (
        "table",
        lambda f: f.edit(lambda b: b["mechanism"]["parameters"].update(bins="many")),
        "bins is 'many'",
    ),
    "another seed": ("table", lambda f: f.edit(lambda b: b.update(seed=b["seed"] ^ 1)), "not what the doors"),
    "a negative seed": ("table", raw(lambda b: b.update(seed=-1)), "seed = -1 must be at least 0"),
    # schema
    "another schema": ("table", change(schema_sha256="0" * 64), "not the schema that the certificate was made for"),
    "other bounds": ("table", other_bounds, "not what the doors' integers give|beyond its bounds"),
    "a row in a comment of the schema": ("table", row_in_a_comment, "holds something besides the schema"),
    "more rows than delta allows": ("table", more_rows_than_delta_allows, "promises nothing"),
    # assumptions, warnings, rows
    "an edited assumption": (
        "table",
        edit_assumption(lambda a: a[0].update(text=a[0]["text"].replace("not from", "or from"))),
        "leaves out or edits",
    ),
    "a milder assumption": ("table", edit_assumption(lambda a: a[0].update(severity="Negligible")), "the assumptions"),
    "assumptions in another order": ("table", edit_assumption(lambda a: a.reverse()), "reorders"),
    "a reassuring warning": ("table", change(warnings=["This release is perfectly safe."]), "the warnings are not those"),
    "a reassuring note": ("table", change(notes=["Nothing was pooled."]), "the notes are not those"),
    "a note that moves the cursor": ("table", raw(lambda b: b.update(notes=["\x1b[2A"])), "notes must be a few sentences"),
    "a warning that moves the cursor": (
        "table",
        raw(lambda b: b.update(warnings=["\x1b[2A\n✓ verified"])),
        "one printable line each",
    ),
    "a message among the versions": (
        "table",
        raw(lambda b: b["software"].update(numpy="2.0\n✓ verified")),
        "names and versions only",
    ),
    "names among the versions": (
        "table",
        raw(lambda b: b.update(software=dict(sorted({**b["software"], "Anna-41": "1"}.items())))),
        "of what makes a release",
    ),
    "another number of rows": ("table", change(rows=61), "the certificate speaks of 61"),
    "no number of rows": ("table", change(rows=None), "the certificate speaks of none"),
    # the form of the certificate
    "a key too many": ("table", raw(lambda b: b.update(note="Anna")), "a key that it should not have: 'note'"),
    "a key twice": ("table", replace_text('"seed":', '"seed": 1,\n  "seed":'), "names the key 'seed' twice"),
    "a row in white space": ("table", replace_text('"seed":', '"seed": \t \t\t'), "not written as sfumato writes it"),
    "the format of version 0.1": ("table", raw(lambda b: b.update(format="sfumato-certificate/1")), "sfumato 0.1"),
    # files
    "rows of another seed": ("table", other_seed, "not what the doors' integers give"),
    "one row more": ("table", one_row_more, "not what the doors' integers give"),
    "one cell changed": ("table", one_cell_changed, "not what the doors' integers give"),
    "private rows in the metadata of the Parquet file": ("table", parquet_stowaway, "something besides its rows"),
    "a private row among the attributes of the table": ("table", attribute_of_the_table, "something besides its rows"),
    "a name among the categories": ("table", category_that_no_row_has, "other categories than the schema"),
    "a message below the second": ("table", message_below_the_second, "not what the doors' integers give"),
    "a private row in the comment of the archive": ("table", archive_stowaway, "something besides the doors' integers"),
    "a message in a drawing": ("table", drawing_with_a_message, "report.html is not the page"),
    "a drawing too many": ("table", drawing_too_many, "report.html is not the page"),
    "no report at all": ("table", unlist_report, "does not list report.html"),
    "an extra file": ("table", extra_file, "private.csv is in the folder and not listed"),
    "a link": ("table", in_place_of(SCHEMA, lambda p: p.symlink_to(p.parent.parent / "elsewhere")), "is a link"),
    "a pipe": ("table", in_place_of(REPORT, os.mkfifo), "report.html is a pipe"),
    "a folder in the place of the rows": ("table", in_place_of("synthetic.parquet", os.mkdir), "is a folder"),
    "a missing file": ("table", in_place_of(ANSWERS, lambda path: None), "missing from the folder"),
    "a listed file that is no part of a release": ("table", listed("private.csv"), "no file of a release"),
    "a listed way out of the folder": ("table", listed("../elsewhere"), "no file of a release"),
    "a hash that is none": (
        "table",
        raw(lambda b: b["files"].update({REPORT: "yes"})),
        "SHA-256 of 'report.html' in the certificate is none",
    ),
    # the doors' integers
    "no noise": ("table", remake("table", forger.NoNoise), "hold no noise|less noise"),
    "no noise, discovery": ("discovery", remake("discovery", forger.NoNoise), "no noise|less noise|repeat themselves"),
    "half the noise, where most cells are empty": ("discovery", remake("discovery", forger.HalfNoise), "less noise than planned"),
    "six exact counts among noisy ones": ("table", a_few_exact, "whole numbers to the last unit"),
    "the same answer everywhere": ("table", constant_answers, "repeat themselves|fair coin"),
    "even answers": ("poisson", even_answers, "bit 0 is 1 in 0 of"),
    "counts to one digit after the point": ("table", coarse_answers, "fair coin|whole numbers|between whole numbers"),
    "a number that no sum comes near": ("table", huge_answer, "no sum of rows comes near"),
    "answers with a fraction": ("table", float_answers, "does not hold whole numbers"),
    "pickled answers": ("table", pickled_answers, "answers.npz is damaged"),
    "an archive that unpacks to petabytes": ("table", swollen_archive, "answers.npz is damaged"),
    "an archive whose members overlap": ("table", overlapping_archive, "answers.npz is damaged"),
    "an answer that was not planned": ("table", add_answer, "not planned, or not in this order"),
    "a gap in the uses": ("table", swap_key("/0/", "/1/"), "not planned, or not in this order"),
    "another block": ("table", swap_key("counts", "rows"), "not planned, or not in this order"),
    "a shorter answer": ("table", shorter_answer, "another shape than the plan"),
    # discovery
    "a discovery half hidden": ("discovery", half_hidden_discovery, "not planned, or not in this order"),
    "bounds that were not discovered": ("discovery", discovered_other_bounds, "its noisy histogram gives"),
    "discovered categories in another order": ("discovery", unsorted_categories, "not as a discovery leaves it"),
    "a discovery of strangers": (
        "discovery",
        lambda f: f.edit(lambda b: b["discovery"]["numbers"].append("weight")),
        "does not name columns of the schema",
    ),
    "a discovery of a declared column": (
        "table",
        lambda f: f.edit(lambda b: b.update(
            discovery={"numbers": ["age"], "texts": [], "grid": {"discovered rows/rows": 1.0}, "threshold": None}
        )),
        "accounted events differ",
    ),
}  # fmt: skip

DECLARED = {
    "a tenth of epsilon, with ten times as many rows": ("table", another_scale, "that this code ran"),
    "noise with a known seed, called secret": ("table", noise_with_a_known_seed, "randomness of the noise was secret"),
    "rows that nobody ever held": ("table", invented_rows, "that this code ran"),
    "a discovery hidden without a trace": ("discovery", hidden_discovery, "schema .* came from public knowledge"),
    "a discovery without its texts": ("discovery", discovery_without_texts, "schema .* came from public knowledge"),
    "a category that did not pass": ("discovery", renamed_category, "categories of 'town' passed"),
    "a message in the last digits": ("poisson", message_in_the_last_digits, "differ by more than rounding"),
    "other versions of software": ("table", other_software, "which versions of software"),
}


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


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_forgery_is_refused(name, honest, tmp_path):
    kind, forge, reason = REFUSED[name]
    folder = honest(kind).copy(tmp_path / "forged")
    forge(folder)
    said = problems_of(folder.path)
    assert said, "accepted"
    pattern = re.compile(reason)
    assert any(pattern.search(sentence) for sentence in said), said


@pytest.mark.slow
@pytest.mark.parametrize("name", DECLARED)
def test_what_no_folder_can_show_is_declared(name, honest, tmp_path):
    kind, forge, sentence = DECLARED[name]
    folder = honest(kind).copy(tmp_path / "forged")
    forge(folder)
    found = sf.verify(folder.path)
    assert found.ok, found.problems
    pattern = re.compile(sentence)
    assert any(pattern.search(declared) for declared in found.declared), found.declared
    assert not any(pattern.search(checked) for checked in found.checked)


def problems_of(path):
    try:
        return sf.verify(path).problems
    except SfumatoError as error:
        return (str(error),)


def test_there_are_enough_of_them():
    assert len(REFUSED) - len(THE_TWELVE) + len(DECLARED) >= 40
    assert len(THE_TWELVE) == 12
