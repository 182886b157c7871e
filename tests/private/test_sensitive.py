"""A Sensitive shows its schema and nothing else; a person has no more rows than the limit."""

import copy
import json
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato.errors import PrivacyError, SourceError
from sfumato.private.intake.persons import LimitedSource
from sfumato.private.intake.sensitive import Sensitive, count_rows, open_batches
from sfumato.private.intake.sources import open_source
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.schema import Column, Schema

ROW = Column(name="row", kind="integer", bounds=(0, 10_000_000))
SCHEMA = Schema(columns=(ROW,))
SECRET = 7654321


def held(n=3, schema=SCHEMA):
    return Sensitive.read({"row": np.r_[np.arange(n - 1), SECRET], "who": np.arange(n) % 2}, schema)


def rows_of(sensitive, rows=16384):
    return np.concatenate([np.zeros(0), *(batch["row"] for batch in open_batches(sensitive, rows=rows))]).astype(int)


PROBES = {
    "len": len,
    "bool": bool,
    "iter": iter,
    "list": list,
    "index": lambda s: s[0],
    "slice": lambda s: s[:1],
    "contains": lambda s: SECRET in s,
    "equal": lambda s: s == held(),
    "unequal": lambda s: s != held(),
    "less": lambda s: s < held(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "reversed": reversed,
    "asarray": np.asarray,
    "dataframe": lambda s: s.__dataframe__(),
    "interchange": lambda s: pd.api.interchange.from_dataframe(s),
    "arrow": lambda s: pa.table(s),
    "vars": vars,
    "dict": lambda s: s.__dict__,
    "getstate": lambda s: s.__getstate__(),
    "pandas": lambda s: s.to_pandas(),
    "unpack": lambda s: [*s],
    "schema change": lambda s: setattr(s, "schema", SCHEMA),
    "new attribute": lambda s: setattr(s, "rows", 1),
}


@pytest.mark.parametrize("name", PROBES)
def test_every_probe_is_refused_with_the_same_words(name):
    messages = set()
    for n in (3, 4):
        with pytest.raises(PrivacyError) as caught:
            PROBES[name](held(n))
        messages.add(str(caught.value))
    (text,) = messages
    assert "sfumato.fit" in text or "Read the data again" in text
    assert str(SECRET) not in text


def test_texts_about_it_are_constant():
    for show in (repr, str, "{}".format, lambda s: f"{s}"):
        assert show(held(3)) == show(held(4)) == "<Sensitive: rows withheld>"
    assert held().schema is SCHEMA
    with pytest.raises(TypeError):
        json.dumps(held())
    one = held()
    assert {one: 1}[one] == 1
    assert dir(one) == ["read", "schema"]


def test_batches_are_conformed_and_chunked():
    sensitive = held(10)
    assert rows_of(sensitive).tolist() == [*range(9), SECRET]
    assert rows_of(sensitive, rows=3).tolist() == [*range(9), SECRET]
    assert [len(b["row"]) for b in open_batches(sensitive, rows=4)] == [4, 4, 2]
    assert set(next(open_batches(sensitive))) == {"row"}
    assert list(open_batches(Sensitive.read({"row": np.zeros(0)}, SCHEMA))) == []


def test_a_missing_column_is_told_when_the_data_is_opened():
    with pytest.raises(SourceError, match="'row'"):
        Sensitive.read({"other": [1]}, SCHEMA)


def test_the_number_of_rows_is_public_under_replace_one_only():
    with pytest.raises(PrivacyError, match="replace_one") as caught:
        count_rows(held(5))
    assert "5" not in str(caught.value)
    replace = Schema(columns=(ROW,), unit=PrivacyUnit(relation="replace_one"))
    assert count_rows(held(5, replace)) == 5
    limited = Schema(columns=(ROW,), unit=PrivacyUnit(relation="replace_one", person="who", max_rows=2))
    assert count_rows(held(9, limited)) == 4


def people(who, max_rows):
    schema = Schema(columns=(ROW,), unit=PrivacyUnit(person="who", max_rows=max_rows))
    return Sensitive.read({"row": np.arange(len(who)), "who": who}, schema)


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_nobody_has_more_rows_than_the_limit(max_rows, rows):
    who = np.random.default_rng(1).integers(0, 40, 500)
    sensitive = people(who, max_rows)
    kept = rows_of(sensitive, rows=rows)
    assert Counter(who[kept].tolist()) == {p: min(c, max_rows) for p, c in Counter(who.tolist()).items()}
    assert (np.diff(kept) > 0).all()
    # One draw holds for every reading, whatever the chunks.
    assert rows_of(sensitive, rows=13).tolist() == kept.tolist()


def test_ids_of_every_make_are_the_same_person():
    texts = np.array(["1", "2", " 1", "1.5", "2 "], dtype=object)
    assert len(rows_of(people(texts, 1))) == 3
    mixed = np.array([1, "1", 1.0, b"1"], dtype=object)
    assert len(rows_of(people(mixed, 1))) == 1
    assert len(rows_of(people(pa.array(["x", "y", "x"]).dictionary_encode(), 1))) == 2


def test_rows_without_an_id_are_dropped():
    who = np.array([None, "", "NA", float("nan"), "7", "?"], dtype=object)
    assert rows_of(people(who, 2)).tolist() == [4]


def test_the_kept_rows_are_drawn_evenly_and_anew():
    who = np.repeat([1, 2], [4, 1])
    counts = Counter(int(rows_of(people(who, 1))[0]) for _ in range(2000))
    # Each of four rows is kept with probability 1/4: 500 +- 19.4. Six deviations: false alarm below 1e-8.
    assert all(abs(counts[row] - 500) < 117 for row in range(4))


@pytest.mark.slow
def test_a_persons_rows_are_drawn_the_same_way_whoever_else_is_there():
    counts = [Counter(), Counter()]
    for which, others in enumerate((0, 50)):
        who = np.r_[np.full(3, 1), np.full(others, 2)]
        for _ in range(1500):
            counts[which][int(rows_of(people(who, 1))[0])] += 1
    assert all(abs(counts[0][row] - counts[1][row]) < 6.5 * np.sqrt(2 * 1500 * 2 / 9) for row in range(3))


def test_a_known_seed_repeats_the_draw_for_studies():
    schema = Schema(columns=(ROW,))
    source = open_source({"row": np.arange(50), "who": np.zeros(50)}, schema)

    def draw(seed):
        limited = LimitedSource(source, person="who", max_rows=5, key=NoiseSource(research_seed=seed).key())
        return next(limited.chunks(["row"], rows=50))["row"].tolist()

    assert draw(1) == draw(1) != draw(2)


def test_a_file_that_grew_after_the_draw_is_given_up(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("row,who\n" + "".join(f"{n},{n}\n" for n in range(10)))
    sensitive = Sensitive.read(path, Schema(columns=(ROW,), unit=PrivacyUnit(person="who")))
    assert len(rows_of(sensitive)) == 10
    with path.open("a") as file:
        file.write("".join(f"{n},{n}\n" for n in range(10, 40)))
    with pytest.raises(SourceError, match="was changed while it was read"):
        rows_of(sensitive)


def test_all_columns_are_cut_alike(tmp_path):
    table = pd.DataFrame({"row": np.arange(200), "text": np.arange(200).astype(str), "who": np.arange(200) % 20})
    table["text"] = table["text"].astype("category")
    columns = (ROW, Column(name="text", kind="categorical", categories=tuple(map(str, range(200)))))
    schema = Schema(columns=columns, unit=PrivacyUnit(person="who", max_rows=3))
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    for data in (table, tmp_path / "t.csv", tmp_path / "t.parquet"):
        batches = list(open_batches(Sensitive.read(data, schema), rows=64))
        assert sum(len(b["row"]) for b in batches) == 60
        for batch in batches:
            np.testing.assert_array_equal(batch["row"], batch["text"])
