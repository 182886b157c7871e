"""Frames come back as they went in: types, labels and order; and nothing of the rows is kept with them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import SourceError
from sfumato.frames.kinds import kind_of, witness

N = 60


def column(kind: str, **more) -> sf.Column:
    return sf.Column(name="x", kind=kind, **more)


WHOLE = column("integer", bounds=(0, 100))
GAPPY = column("integer", bounds=(0, 100), missing=True)
REAL = column("numeric", bounds=(-1, 2.5))
WARD = column("categorical", categories=("south", "north"))
CODE = column("categorical", categories=("3", "1", "2"))
TRUTH = column("boolean")
WHEN = column("datetime", bounds=(1.6e9, 1.7e9))


def rows_of(asked: sf.Column) -> pd.DataFrame:
    """Rows as a model gives them."""
    codes = np.arange(N) % asked.size if asked.is_coded else np.linspace(asked.low, asked.high, N)
    if asked.missing and not asked.is_coded:
        codes = np.where(np.arange(N) % 3 == 0, np.nan, codes)
    return asked.decode(codes).to_frame()


def dressed(frame, asked: sf.Column):
    return kind_of(frame).dress(rows_of(asked), sf.Schema(columns=(asked,)))


@pytest.mark.parametrize(
    ("values", "dtype", "asked"),
    [
        ([1, 2], "int64", WHOLE),
        ([1, 2], "uint8", WHOLE),
        ([1, None], "Int64", GAPPY),
        ([1, None], "float64", GAPPY),
        ([1, 2], "Int16", WHOLE),
        ([0.5], "float32", REAL),
        ([0.5], "Float64", REAL),
        (["south"], "object", WARD),
        (["south"], "string", WARD),
        (["south"], "str", WARD),
        ([1], "int8", CODE),
        ([1.0], "float64", CODE),
        ([True], "bool", TRUTH),
        ([True], "boolean", TRUTH),
        ([1], "int64", TRUTH),
        (["2021-01-01"], "datetime64[ns]", WHEN),
        (["2021-01-01"], "datetime64[ms]", WHEN),
        (["2021-01-01"], "datetime64[us, Europe/Rome]", WHEN),
        ([1], "int64[pyarrow]", WHOLE),
        (["south"], pd.ArrowDtype(pa.string()), WARD),
    ],
)
def test_types_of_pandas_come_back(values, dtype, asked) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype=dtype)})
    back = dressed(frame, asked)
    assert back["x"].dtype == frame["x"].dtype
    plain = rows_of(asked)["x"]
    if asked.is_coded and asked.kind != "boolean":
        assert [str(v) for v in back["x"]] == [str(v) if dtype != "float64" else f"{float(v)}" for v in plain]
    elif asked is WHEN:
        assert (pd.to_datetime(back["x"], utc=True).dt.tz_localize(None) == plain).all()
    else:
        same = np.asarray(back["x"].isna()) == np.asarray(plain.isna())
        assert same.all()
        assert np.allclose(back["x"].dropna().astype(float), plain.dropna().astype(float), atol=1e-6)


@pytest.mark.parametrize(
    ("values", "dtype", "asked", "instead"),
    [
        ([1, 2], "int8", column("integer", bounds=(0, 1000)), "int64"),  # would not hold 1000
        ([1, 2], "int64", REAL, "float64"),  # would cut what is behind the point
        ([1, 2], "int32", GAPPY, "Int32"),  # has no room for missing ones
        ([True], "bool", column("boolean", missing=True), "boolean"),
        (["7"], "str", WHOLE, "int64"),  # was read from texts, and the schema knows better
        (["2021-01-01"], "object", WHEN, "datetime64[s]"),
        ([1], "int64", WARD, "category"),
        (["2021-01-01"], "datetime64[ns]", column("datetime", bounds=(-1e11, 1e11)), "datetime64[s]"),
    ],
)
def test_a_type_that_cannot_hold_what_the_schema_allows_gives_way(values, dtype, asked, instead) -> None:
    assert dressed(pd.DataFrame({"x": pd.Series(values, dtype=dtype)}), asked)["x"].dtype == instead


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_are_those_of_the_schema_in_its_order(ordered) -> None:
    private = pd.Categorical(["north"], categories=["north", "the only one", "south"], ordered=ordered)
    frame = pd.DataFrame({"x": private})
    back = dressed(frame, WARD)["x"]
    assert back.cat.categories.tolist() == ["south", "north"]
    assert back.cat.ordered is ordered
    assert "the only one" not in repr(kind_of(frame))
    numbers = dressed(pd.DataFrame({"x": pd.Categorical([1, 2])}), CODE)["x"]
    assert numbers.cat.categories.tolist() == [3, 1, 2]


def test_labels_and_order_are_those_of_the_frame() -> None:
    schema = sf.Schema(columns=(sf.Column(name="7", kind="boolean"), sf.Column(name="a", kind="boolean")))
    frame = pd.DataFrame({"a": [True], 7: [True], "id": ["p1"]})
    rows = schema.decode({"7": np.array([0, 1]), "a": np.array([1, 1])})
    back = kind_of(frame).dress(rows, schema)
    assert back.columns.tolist() == ["a", 7]
    assert back[7].tolist() == [False, True]


def test_arrow_comes_back_as_arrow() -> None:
    types = {"x": pa.uint8()}
    for asked, kind in [
        (WHOLE, pa.uint8()),
        (REAL, pa.float32()),
        (WARD, pa.large_string()),
        (WARD, pa.dictionary(pa.int32(), pa.string())),
        (CODE, pa.int16()),
        (TRUTH, pa.bool_()),
        (WHEN, pa.date32()),
        (WHEN, pa.timestamp("us")),
    ]:
        types = pa.schema({"x": kind})
        assert dressed(types.empty_table(), asked).schema == types
    assert (
        dressed(pa.schema({"x": pa.int8()}).empty_table(), column("integer", bounds=(0, 999)))["x"].type == pa.int64()
    )
    assert dressed(pa.schema({"x": pa.int64()}).empty_table(), REAL)["x"].type == pa.float64()


def test_a_witness_shows_all_that_a_column_may_hold() -> None:
    assert witness(WARD).tolist() == ["south", "north"]
    assert witness(GAPPY).isna().sum() == 1
    assert not float(witness(REAL)[2]).is_integer()


def test_polars_goes_in_and_out_by_arrow() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed: pip install 'sfumato[dev]'")
    rng = np.random.default_rng(0)
    frame = polars.DataFrame(
        {
            "age": polars.Series(rng.integers(0, 100, 300), dtype=polars.UInt8),
            "ward": polars.Series(rng.choice(["north", "south"], 300), dtype=polars.Enum(["north", "south"])),
            "town": polars.Series(rng.choice(["rome", "pisa"], 300), dtype=polars.Categorical),
            "ill": rng.random(300) < 0.3,
        }
    )
    schema = sf.Schema.parse(
        '[dataset]\ntarget = "ill"\nrows = 300\n[columns.age]\ntype = "integer"\nbounds = [0, 100]\nmissing = true\n'
        '[columns.ward]\ntype = "categorical"\ncategories = ["south", "north"]\n'
        '[columns.town]\ntype = "categorical"\ncategories = ["rome", "pisa"]\n[columns.ill]\ntype = "boolean"\n'
    )
    back = sf.synthesize(frame, schema, epsilon=50, method="independent-histograms").table
    assert isinstance(back, polars.DataFrame)
    assert back.schema["ward"] == polars.Enum(["south", "north"])
    assert [back.schema[name] for name in ("age", "town", "ill")] == [polars.UInt8, polars.Categorical, polars.Boolean]
    assert abs(float(back["age"].mean()) - float(frame["age"].mean())) < 15  # 7 deviations
    fitted = sf.Synthesizer(schema, method="independent-histograms").fit(frame.drop("ill"), frame["ill"])
    X, y = fitted.sample(5, return_X_y=True)
    assert X.columns == ["age", "ward", "town"]
    assert len(y) == 5
    with pytest.raises(sf.SfumatoError, match="LazyFrame"):
        sf.synthesize(frame.lazy(), schema, epsilon=1)


class Speaks:
    """Whoever speaks Arrow, and is of no kind that is known here."""

    def __init__(self, table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        if self.table is None:
            raise ValueError("row 7 holds a secret")
        return self.table.__arrow_c_stream__(requested_schema)


def test_whoever_speaks_arrow_is_read() -> None:
    schema = sf.Schema(columns=(WARD,), rows=90)
    made = sf.synthesize(Speaks(pa.table({"x": ["north"] * 90})), schema, epsilon=50, method="independent-histograms")
    assert isinstance(made.table, pd.DataFrame)
    assert (made.table["x"] == "north").mean() > 0.9
    with pytest.raises(SourceError, match="by way of Arrow") as caught:
        sf.synthesize(Speaks(None), schema, epsilon=1)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
